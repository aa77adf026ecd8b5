"""`import submix` against a real deployment: logits of anybody's, tokens that the ledger of `submix budget` shows as paid.

    sampler_test.py BUILD_DIR SOURCE_DIR
"""

import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import threading
import unittest

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from submix_process import BUILD, WorkFolderTest, make_deployment, run

sys.path.insert(0, str(BUILD / "python"))
import submix

PARTS = 2
VOCABULARY = 8192  # of the bundled public model


class Foreign:
    """Another library's array."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def spent(deployment):
    parts = json.loads(run("budget", deployment, "--json").stdout)["parts"]
    return [part["spent"] for part in parts]


def letters():
    """A vocabulary of which the first 256 tokens are bytes and the last one ends an answer."""
    return [bytes([token]) for token in range(256)] + [b""] * (VOCABULARY - 256)


class SamplerTest(WorkFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.directory = make_deployment(cls.work)

    def setUp(self):
        self.deployment = submix.open(str(self.directory))
        self.addCleanup(self.deployment.close)
        self.sampler = self.deployment.sampler()
        self.rows = 1 + len(self.deployment.members)
        self.logits = numpy.zeros((self.rows, VOCABULARY), numpy.float32)
        self.logits[0, :50] = 2
        self.logits[1:, 7] = 5

    def test_it_says_what_is_promised_and_where_the_models_are(self):
        self.assertIn("differentially private", " ".join(self.deployment.statement.split()))
        self.assertEqual(len(self.deployment.budget), PARTS)
        for directory in [self.deployment.public_model, *self.deployment.members]:
            self.assertTrue(os.path.isdir(directory), directory)

    def test_a_token_costs_what_the_ledger_shows(self):
        before = [account.spent for account in self.deployment.budget]
        for _ in range(3):
            self.assertIn(self.sampler.sample(self.logits), range(VOCABULARY))
        after = [account.spent for account in self.deployment.budget]
        self.assertTrue(all(a < b for a, b in zip(before, after)), (before, after))
        for shown, account in zip(spent(self.directory), self.deployment.budget):
            self.assertAlmostEqual(shown, account.spent)

    def test_options_are_the_servers(self):
        first = submix.SamplingOptions(top_k=1)
        self.logits[0, 42] = 9
        self.assertEqual([self.sampler.sample(self.logits, first) for _ in range(5)], [42] * 5)
        tokens = self.sampler.sample_batch([self.logits] * 4, [first] * 2 + [submix.SamplingOptions()] * 2)
        self.assertEqual([sampled.token for sampled in tokens[:2]], [42, 42])
        with self.assertRaisesRegex(ValueError, "temperature"):
            submix.SamplingOptions(temperature=0)
        with self.assertRaisesRegex(ValueError, "one for each of the 2"):
            self.sampler.sample_batch([self.logits] * 2, [first])

    def test_without_a_public_row_nothing_is_charged(self):
        before = spent(self.directory)
        broken = self.logits.copy()
        broken[0, 3] = math.nan
        sampled = self.sampler.sample_batch([broken])[0]
        self.assertEqual((sampled.outcome, sampled.token), (submix.SampleOutcome.NO_PREDICTION, None))
        with self.assertRaisesRegex(ValueError, "not finite"):
            self.sampler.sample(broken)
        self.assertEqual(spent(self.directory), before)

    def test_a_broken_member_is_silent(self):
        self.logits[1, 0] = math.nan
        self.assertIn(self.sampler.sample(self.logits), range(VOCABULARY))

    def test_other_arrays_come_by_dlpack(self):
        self.assertIn(self.sampler.sample(Foreign(self.logits)), range(VOCABULARY))

    def test_arrays_that_do_not_fit_are_refused(self):
        before = spent(self.directory)
        for wrong, kind in [(self.logits.astype(numpy.float64), TypeError), (self.logits[:, ::2], TypeError),
                            (self.logits[1:], ValueError), (self.logits[0], ValueError), ("logits", TypeError),
                            (self.logits[:, :0], ValueError),
                            (numpy.ascontiguousarray(self.logits[:, :100]), ValueError),
                            (numpy.pad(self.logits, ((0, 0), (0, 1))), ValueError)]:
            with self.assertRaisesRegex(kind, "logits: expected"):
                self.sampler.sample(wrong)
        with self.assertRaisesRegex(ValueError, rf"expected \[{self.rows}, {VOCABULARY}\]"):
            self.sampler.sample_batch([self.logits, numpy.ascontiguousarray(self.logits[:, :100])])
        self.assertEqual(spent(self.directory), before)

    def test_threads_take_turns(self):
        before = self.deployment.budget[0].spent
        one = self.sampler.sample(self.logits)
        cost = self.deployment.budget[0].spent - before
        threads = [threading.Thread(target=self.sampler.sample, args=(self.logits,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertIn(one, range(VOCABULARY))
        self.assertGreater(self.deployment.budget[0].spent - before, 8 * cost * 0.99)

    def test_a_fork_must_open_its_own(self):
        self.sampler.sample(self.logits)
        before = spent(self.directory)
        child = os.fork()
        if child == 0:
            refusals = 0
            for use in (lambda: self.sampler.sample(self.logits), lambda: self.deployment.statement,
                        lambda: self.deployment.sampler(), lambda: self.deployment.budget):
                try:
                    use()
                except submix.Error as error:
                    refusals += "forked" in str(error)
            self.deployment.close()
            os._exit(refusals)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 4)
        self.assertEqual(spent(self.directory), before)
        self.sampler.sample(self.logits)
        self.assertGreater(spent(self.directory)[0], before[0])

    def test_one_process_charges_a_file(self):
        with self.assertRaisesRegex(submix.Error, "another process|in use|holds"):
            submix.open(str(self.directory))
        self.deployment.close()
        with self.assertRaisesRegex(submix.Error, "closed"):
            self.sampler.sample(self.logits)
        with submix.open(str(self.directory)) as again:
            self.assertEqual(len(again.members), self.rows - 1)
        with self.assertRaisesRegex(submix.Error, "closed"):
            again.statement
        with self.assertRaises(FileNotFoundError):
            submix.open(str(self.work / "nowhere"))

    def test_an_answer_has_its_shape_and_what_is_forced_is_free(self):
        self.logits[1:, ord("g")] = 5  # members differ from the public model, so a choice costs
        shape = submix.Shape(letters(), regex="(good|bad) end")
        answer, text, paid = shape.answer(max_tokens=20, end_tokens=[VOCABULARY - 1]), b"", 0
        while not answer.ended:
            before = spent(self.directory)
            token = self.sampler.sample(self.logits, submix.SamplingOptions(), answer.support)
            self.assertIn(token, answer.support)
            moved = spent(self.directory) != before
            self.assertEqual(moved, len(answer.support) > 1)
            paid += moved
            answer.accept(token)
            text += bytes([token])
        self.assertIn(text, (b"good end", b"bad end"))
        self.assertEqual((paid, answer.complete, answer.support), (1, True, []))

    def test_wrong_shapes_and_supports_are_refused(self):
        for wrong in (dict(regex="("), dict(), dict(regex="a", choice=["a"]), dict(choice=[""]),
                      dict(json_schema='{"minimum": 1}')):
            with self.assertRaises(ValueError):
                submix.Shape(letters(), **wrong)
        shape = submix.Shape(letters(), json_schema='{"type": "string", "minLength": 9}')
        with self.assertRaises(ValueError):
            shape.answer(10, [VOCABULARY - 1])
        with self.assertRaises(ValueError):
            shape.answer(20, [ord("a")])
        with self.assertRaises(ValueError):
            shape.answer(20, []).accept(ord("a"))
        before = spent(self.directory)
        for support in ([], [3, 2], [2, 2], [-1], [VOCABULARY]):
            with self.assertRaises(ValueError):
                self.sampler.sample(self.logits, submix.SamplingOptions(), support)
        self.assertEqual(spent(self.directory), before)


KILLED = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy, submix
with submix.open(sys.argv[2]) as deployment:
    sampler = deployment.sampler()
    logits = numpy.zeros((deployment.rows, 8192), numpy.float32)
    logits[1:, 7] = 3
    while True:
        sampler.sample(logits)
        print(deployment.budget[0].spent, flush=True)
"""


class KilledTest(WorkFolderTest):
    def test_no_charge_is_lost(self):
        directory = make_deployment(self.work)
        for tokens in range(1, 8):
            process = subprocess.Popen([sys.executable, "-c", KILLED, str(BUILD / "python"), str(directory)],
                                       stdout=subprocess.PIPE, text=True)
            with process.stdout:
                seen = [float(process.stdout.readline()) for _ in range(tokens)]
                process.send_signal(signal.SIGKILL)
                seen += [float(line) for line in process.stdout if line.endswith("\n")]
            process.wait()
            self.assertGreaterEqual(spent(directory)[0], seen[-1] - 1e-9)
        run("budget", directory)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
