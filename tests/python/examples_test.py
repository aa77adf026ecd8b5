"""examples/python as they stand: gpt2.py says what `submix score` says and its tokens have the declared law; train_members.py goes
from two files to text that is paid for.

    examples_test.py BUILD_DIR SOURCE_DIR
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from submix_process import BUILD, SOURCE, WorkFolderTest, make_ensemble, run

sys.path[:0] = [str(BUILD / "python"), str(SOURCE / "examples/python")]
import submix

try:
    import torch
except ImportError:
    torch = None
else:
    import gpt2
    import train_members

TOKENS = [8191, 10, 200, 3000, 45, 7, 7, 1999]
needs_torch = unittest.skipUnless(torch, "no torch for this Python (Debian: python3-torch)")


def log_softmax(logits):
    shifted = logits.astype(numpy.float64) - logits.max(-1, keepdims=True)
    return shifted - numpy.log(numpy.exp(shifted).sum(-1, keepdims=True))


class ExamplesTest(WorkFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.directory = str(cls.work / "tales")
        # A fixed number of answers, whose law is a formula.
        submix.deploy(str(make_ensemble(cls.work)), cls.directory, mechanism="dclip", epsilon=100, queries=16384, delta=1e-9)
        cls.declared = json.loads((cls.work / "tales/deployment.json").read_text())["options"]

    def setUp(self):
        self.deployment = submix.open(self.directory)
        self.addCleanup(self.deployment.close)

    def spent(self):
        return self.deployment.budget[0].spent


@needs_torch
class Gpt2Test(ExamplesTest):
    def setUp(self):
        super().setUp()
        self.ensemble = gpt2.Ensemble(self.deployment.public_model, self.deployment.members)

    def test_it_says_what_submix_score_says(self):
        adapters = [argument for member in self.deployment.members for argument in ("--adapter", member)]
        scored = json.loads(run("score", self.deployment.public_model, *adapters, "--tokens",
                                ",".join(map(str, TOKENS)), "--precision", "f32", "--json").stdout)["models"]
        ours = log_softmax(self.ensemble.logits(TOKENS).numpy())
        for row, model in zip(ours, scored, strict=True):
            of_tokens = [row[position, token] for position, token in enumerate(TOKENS[1:])]
            numpy.testing.assert_allclose(of_tokens, model["log_probabilities"], atol=1e-3)
        self.assertGreater(numpy.abs(ours[0] - ours[1]).max(), 0.01)  # the adapters do something

    def law(self, logits, top_k):
        """dclip's by its definition: public pmf times e to the mean of the clipped log ratios, on the top tokens."""
        options, clip_options = self.declared, self.declared["clip"]
        low, high = 0.0, 100.0
        for _ in range(60):
            clip = (low + high) / 2
            cost = submix.accounting.dclip(2, clip).rdp(float(options["order"]))
            low, high = (clip, high) if cost <= options["target_leakage"] else (low, clip)
        kept = numpy.argsort(-logits[0])[:top_k]
        logs = log_softmax(logits[:, kept])
        ratios = clip_options["stretch"] * (logs[1:] - logs[0])
        clipped = numpy.clip(ratios, -(1 - clip_options["centre"]) * low, (1 + clip_options["centre"]) * low)
        self.assertGreater(numpy.abs(clipped.mean(0)).max(), 0.05)  # not just the public law
        return kept, numpy.exp(log_softmax(logs[0] + clipped.mean(0)))

    def test_tokens_have_the_declared_law(self):
        draws, top_k = 8000, 8
        logits = self.ensemble.logits(TOKENS)[:, -1].contiguous()
        kept, law = self.law(logits.numpy(), top_k)
        options, sampler = submix.SamplingOptions(top_k=top_k), self.deployment.sampler()
        tokens = [sampled.token for _ in range(draws // 200) for sampled in sampler.sample_batch([logits] * 200, options)]
        counts = numpy.array([tokens.count(token) for token in kept])
        self.assertEqual(counts.sum(), draws)
        chi_square = ((counts - draws * law) ** 2 / (draws * law)).sum()
        self.assertLess(chi_square, 45)  # 7 degrees of freedom: once in ten million runs

    def test_every_token_is_paid_for_and_is_text(self):
        before, vocabulary = self.spent(), gpt2.read_vocabulary(self.deployment.public_model)
        tokens = list(gpt2.generate(self.deployment, self.ensemble, 5, submix.SamplingOptions()))
        answer_cost = self.declared["target_leakage"]
        self.assertLessEqual(self.spent() - before, 5 * answer_cost * 1.001)
        self.assertGreater(self.spent() - before, len(tokens) * answer_cost * 0.5)
        self.assertEqual(len(vocabulary), self.ensemble.vocabulary)
        self.assertTrue(all(vocabulary[token] for token in tokens))


@needs_torch
class TrainMembersTest(WorkFolderTest):
    def setUp(self):
        self.users = [(user, f"{user}{user}{user} " * 10) for user in "abcdefghijkl"]

    def test_a_member_has_read_its_own_part_alone(self):
        torch.manual_seed(1)
        key, text = b"k" * 32, "the sea and the hill " * 5
        models = train_members.train_all(text, self.users, 3, key)
        parts = train_members.parts_of(self.users, 3, key)
        self.assertEqual(sorted(text for part in parts for text in part), [text for _, text in self.users])
        changed = [(user, "x" if text in parts[0] else text) for user, text in self.users]
        torch.manual_seed(1)
        others = train_members.train_all(text, changed, 3, key)
        same = [bool((train_members.logits([one], [1, 2]) == train_members.logits([other], [1, 2])).all())
                for one, other in zip(models, others, strict=True)]
        self.assertEqual(same, [True, False, True, True])
        self.assertNotEqual(train_members.digest_of(models), train_members.digest_of(others))

    def test_from_two_files_to_text_that_is_paid_for(self):
        (self.work / "public.txt").write_text("the sea and the hill " * 5)
        (self.work / "text.jsonl").write_text("".join(json.dumps({"user": u, "text": t}) + "\n" for u, t in self.users))
        done = subprocess.run([sys.executable, SOURCE / "examples/python/train_members.py", "public.txt", "text.jsonl", "models",
                               "--parts", "3", "--tokens", "20"], cwd=self.work, capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "PYTHONPATH": str(BUILD / "python")})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("The models run outside Submix", " ".join(done.stdout.split()))
        with submix.open(str(self.work / "models/deployment")) as deployment:
            self.assertEqual(len(deployment.budget), 3)
            self.assertGreater(min(account.spent for account in deployment.budget), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
