"""A deployment whose models run in another process: what `submix deploy --external` makes, and `submix serve` with the
logits of `submix.serve_logits`; the law and the charges of its tokens, and what follows when the process breaks.

    external_predictor_test.py BUILD_DIR SOURCE_DIR
"""

import hashlib
import json
import pathlib
import signal
import socket
import subprocess
import sys
import threading

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from streaming_clients import Answer, FaultTest, main, releases
from submix_process import BUILD, SOURCE, ask, completion, make_key, make_private_model, promised_epsilon, run

sys.path.insert(0, str(BUILD / "python"))
import submix

MODEL = SOURCE / "data/public_model"
LETTERS = "abcd"
TOKENS = [json.loads((MODEL / "vocab.json").read_text())[letter] for letter in LETTERS]
VOCABULARY = 8192
# Of each letter: the public model's probability, then the two members'.
LAWS = dict(zip(TOKENS, [[0.4, 0.7, 0.4], [0.3, 0.1, 0.2], [0.2, 0.1, 0.1], [0.1, 0.1, 0.3]]))
CONFIG = """
[timeouts]
step = 0.5
"""


def digest_of(name):
    return hashlib.sha256(name.encode()).hexdigest()


def spent(deployment):
    parts = json.loads(run("budget", deployment, "--json").stdout)["parts"]
    return [part["spent"] for part in parts]


class Computing:
    """A running computing_process.py."""

    def __init__(self, socket, digest, fault="", laws=None, dtype="float32"):
        process = pathlib.Path(__file__).with_name("computing_process.py")
        # Alone, as where no other part of Submix is.
        self.process = subprocess.Popen(
            [sys.executable, str(process), str(SOURCE / "submix/python"), str(socket), digest,
             json.dumps(laws or LAWS), fault, dtype], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.calls = []
        self._reader = threading.Thread(target=lambda: self.calls.extend(self.process.stdout))
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.process.stdout.close()
        self.process.stderr.close()

    def stop(self, number=signal.SIGKILL):
        """Returns the calls that it answered, a list of the sequences' lengths for each."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait()
        self._reader.join()
        return [[int(number) for number in call.split()[1:]] for call in self.calls]


class ExternalTest(FaultTest):
    def setUp(self):
        self.name = self.id().rsplit(".", 1)[-1]
        self.folder = self.work / self.name
        self.folder.mkdir()
        self.digest = digest_of(self.name)
        self.socket = self.folder / "logits.sock"

    def deploy(self, *options, name="tales", digest=None, ensemble="ensemble"):
        run("deploy", self.folder / ensemble, self.folder / name, "--external", digest or self.digest, "--parts", 2,
            "--vocabulary", VOCABULARY, "--tokenizer", MODEL, *options)
        return self.folder / name

    def compute(self, fault="", **options):
        computing = self.enterContext(Computing(self.socket, self.digest, fault, **options))
        self.eventually(self.listens, "it listens")
        return computing

    def listens(self):
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(self.socket)) == 0

    def serve_external(self, deployment, *arguments):
        self.key = make_key(deployment, "test")
        return self.serve(deployment, "--predictor", f"external:{self.socket}", *arguments)

    def ask(self, server, **fields):
        status, text = ask(server.address, "POST", "/v1/completions", self.key, completion(server.model, **fields))
        return status, json.loads(text)


class ServingTest(ExternalTest):
    def assert_law(self, text, law):
        """Pearson's statistic, at three degrees of freedom above 32 once in two million."""
        self.assertEqual(set(text) - set(LETTERS), set())
        expected = [len(text) * probability for probability in law]
        self.assertLess(sum((text.count(letter) - e) ** 2 / e for letter, e in zip(LETTERS, expected)), 32)

    def test_tokens_have_the_law_and_the_charges_of_the_logits(self):
        # So much budget that every member has its largest weight.
        options = ["--epsilon", 8000, "--target-leakage", 2, "--max-mixing-weight", 0.5, "--order", 2]
        law = [0.5 * row[0] + 0.25 * (row[1] + row[2]) for row in LAWS.values()]
        for dtype in "float32", "float16":
            self.digest = digest_of(dtype)
            deployment = self.deploy(*options, name=dtype, ensemble=dtype + "_ensemble")
            computing = self.compute(dtype=dtype)
            server = self.serve_external(deployment)
            answers = [self.ask(server, prompt="The sea", max_tokens=200) for _ in range(4)]
            self.assertEqual([status for status, _ in answers], [200] * 4)
            text = "".join(answer["choices"][0]["text"] for _, answer in answers)
            self.assertEqual(len(text), 800)
            self.assert_law(text, law)
            server.stop()
            lengths = computing.stop()
            self.assertEqual(len(lengths), 800)
            prompt = lengths[0][0]
            self.assertEqual([call[0] for call in lengths[:200]], list(range(prompt, prompt + 200)))
            self.assertEqual(releases(deployment), 800)
            self.assert_charged_as_in_one_process(deployment, options, dtype)

    def assert_charged_as_in_one_process(self, deployment, options, dtype):
        logits = numpy.full((3, VOCABULARY), -60, numpy.float32)
        for token, probabilities in LAWS.items():
            logits[:, token] = numpy.log(probabilities)
        logits = logits.astype(dtype).astype(numpy.float32)
        beside = self.deploy(*options, name=dtype + "_beside", digest=digest_of(dtype + "beside"),
                             ensemble=dtype + "_beside_ensemble")
        with submix.open(str(beside)) as opened:
            sampler = opened.sampler()
            for _ in range(800):
                sampler.sample(logits)
        self.assertEqual(spent(deployment), spent(beside))
        self.assertGreater(min(spent(beside)), 0)

    def test_many_clients_share_steps_and_streams_are_whole(self):
        deployment = self.deploy()
        computing = self.compute()
        server = self.serve_external(deployment)
        answers = [Answer() for _ in range(8)]
        threads = [threading.Thread(target=answer.read, args=(server.address, self.key), kwargs={"prompt": "The sea " * 20})
                   for answer in answers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([(answer.tokens, answer.is_whole) for answer in answers], [(60, True)] * 8)
        server.stop()
        self.assertGreater(max(len(call) for call in computing.stop()), 1)
        self.assert_sound(deployment, 480)

    def test_generate_asks_it_too(self):
        deployment = self.deploy()
        self.compute()
        shown = run("generate", deployment, "The sea", "--max-tokens", 5, "--predictor", f"external:{self.socket}")
        self.assertRegex(shown.stdout, "^The sea[abcd]{5}\n$")
        self.assertEqual(releases(deployment), 5)


class FaultyProcessTest(ExternalTest):
    """FAULTY_CALL - 1 tokens are answered, and charged; nothing of the call that breaks is."""

    ANSWERED = 3

    def start(self, fault):
        self.deployment = self.deploy()
        (self.folder / "serve.toml").write_text(CONFIG)
        computing = self.compute(fault)
        return computing, self.serve_external(self.deployment, "--config", self.folder / "serve.toml")

    def assert_well_again(self, server, computing):
        computing.stop()
        self.assertFalse(self.eventually_not_ready(server))
        self.assertEqual(self.ask(server)[0], 503)
        self.compute()
        self.eventually(lambda: self.is_ready(server), "it is well again")
        before = releases(self.deployment)
        self.assertEqual(self.ask(server)[0], 200)
        self.assertEqual(releases(self.deployment), before + 4)
        server.stop()
        self.assert_sound(self.deployment, 0)

    def eventually_not_ready(self, server):
        self.eventually(lambda: not self.is_ready(server), "it is noticed")
        return self.is_ready(server)

    def breaks_a_step(self, fault):
        computing, server = self.start(fault)
        status, answer = self.ask(server, max_tokens=20)
        self.assertEqual(status, 503, answer)
        self.assertIn("a step failed", answer["error"]["message"])
        self.assertEqual(releases(self.deployment), self.ANSWERED)
        return computing, server

    def test_it_dies_in_a_step(self):
        computing, server = self.breaks_a_step("dies")
        self.assert_well_again(server, computing)

    def test_it_raises(self):
        computing, server = self.breaks_a_step("raises")
        self.assert_well_again(server, computing)

    def test_it_answers_in_another_shape(self):
        computing, server = self.breaks_a_step("shape")
        self.assert_well_again(server, computing)

    def test_it_is_late(self):
        computing, server = self.breaks_a_step("late")
        self.assert_well_again(server, computing)

    def test_streams_end_with_the_error_after_what_was_paid_for(self):
        _, server = self.start("dies")
        answer = Answer().read(server.address, self.key)
        self.assertEqual((answer.status, answer.tokens), (200, self.ANSWERED))
        self.assertIsNotNone(answer.error)
        self.assertEqual(releases(self.deployment), self.ANSWERED)

    def test_a_public_row_that_is_not_finite_costs_nothing(self):
        _, server = self.start("public_nan")
        self.assertEqual(self.ask(server, max_tokens=20)[0], 500)
        self.assertEqual(releases(self.deployment), self.ANSWERED)
        self.assertTrue(self.is_ready(server))

    def test_a_member_that_is_not_finite_is_silent(self):
        _, server = self.start("member_nan")
        status, answer = self.ask(server, max_tokens=20)
        self.assertEqual((status, len(answer["choices"][0]["text"])), (200, 20))

    def test_it_goes_while_nobody_asks(self):
        computing, server = self.start("")
        self.assertEqual(self.ask(server)[0], 200)
        self.assert_well_again(server, computing)

    def test_another_ensemble_is_refused(self):
        deployment = self.deploy()
        self.digest = digest_of("another")
        self.compute()
        for command in ["serve", deployment, "--port", 0], ["generate", deployment, "The sea"]:
            refused = run(*command, "--predictor", f"external:{self.socket}", expect=1)
            self.assertRegex(refused.stderr, r"^[^\n]*computes the ensemble[^\n]*\n$")

    def test_nobody_there_is_said_at_the_start(self):
        deployment = self.deploy()
        refused = run("serve", deployment, "--port", 0, "--predictor", f"external:{self.socket}", expect=1)
        self.assertRegex(refused.stderr, r"^[^\n]*start it\n$")


class DeploymentTest(ExternalTest):
    def refused(self, *command, code=1):
        stderr = run(*command, expect=code).stderr
        if code == 1:
            self.assertEqual(stderr.count("\n"), 1, stderr)
        return stderr

    def deploy_command(self, ensemble, deployment, *options):
        return ["deploy", self.folder / ensemble, self.folder / deployment, "--external", self.digest, "--parts", 2,
                "--vocabulary", VOCABULARY, *options]

    def test_one_ensemble_has_one_budget(self):
        deployment = self.deploy()
        again = self.deploy_command("ensemble", "second", "--tokenizer", MODEL)
        self.assertIn("already deployed as tales", self.refused(*again))
        self.assertIn("not the external ensemble", self.refused(*self.deploy_command("ensemble", "second")))
        elsewhere = self.deploy_command("elsewhere", "second")
        self.assertIn("the same external ensemble, deployed as tales", self.refused(*elsewhere))
        self.assertFalse((self.folder / "elsewhere").exists())
        promise = run(*elsewhere, "--epsilon", 4, "--after", deployment).stdout
        self.assertIn("1 earlier deployment", " ".join(promise.split()))
        self.assertIn("ended", self.refused("generate", deployment, "The sea"))

    def test_parts_of_one_partition_go_on_with_what_they_have_spent(self):
        deployment = self.deploy("--partition", "users")
        self.compute()
        run("generate", deployment, "The sea", "--max-tokens", 5, "--predictor", f"external:{self.socket}")
        old = spent(deployment)
        self.assertGreater(min(old), 0)
        retrained = digest_of("without somebody")
        later = self.deploy("--partition", "users", "--after", deployment, name="later", digest=retrained, ensemble="new")
        self.assertEqual(spent(later), old)

    def test_a_promise_to_users_counts_what_the_public_model_cost(self):
        promise = run(*self.deploy_command("ensemble", "tales", "--tokenizer", make_private_model(self.folder / "model")),
                      "--unit", "user", "--epsilon", 8, "--delta", 1e-5).stdout
        self.assertLessEqual(promised_epsilon(promise, 1e-5), 8)

    def test_what_does_not_fit_is_refused(self):
        wrong = self.deploy_command("ensemble", "tales", "--tokenizer", MODEL)
        wrong[wrong.index(VOCABULARY)] = 9000
        self.assertIn("8192 entries, fewer than", self.refused(*wrong))
        wrong[wrong.index(9000)] = 100
        self.assertIn("does not belong to this model", self.refused(*wrong))
        wrong[wrong.index(self.digest)] = "weights"
        self.assertIn("64 hex digits", self.refused(*wrong))
        self.assertIn("--external", self.refused("deploy", self.folder / "e", self.folder / "d", "--parts", 2, code=2))
        self.assertIn("--vocabulary", self.refused("deploy", self.folder / "e", self.folder / "d", "--external",
                                                   self.digest, "--parts", 2, code=2))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_every_reader_of_a_deployment_works_or_says_why_not(self):
        deployment, ensemble = self.deploy(), self.folder / "ensemble"
        for shown in run("budget", deployment).stdout, run("serve", deployment, "--check").stdout:
            self.assertIn("The models run outside Submix", " ".join(shown.split()))
        run("budget", "verify", deployment)
        run("report", deployment, "--out", self.folder / "report.html")
        self.assertIn("outside Submix", (self.folder / "report.html").read_text())
        (self.folder / "text.jsonl").write_text('{"user": "a", "text": "The sea and the hill."}\n')
        text = self.folder / "text.jsonl"
        for command in (["generate", deployment, "The sea"], ["serve", deployment, "--port", 0],
                        ["evaluate", ensemble, "--heldout", text], ["audit", "timing", deployment],
                        ["attack", "membership", deployment, "--text", text]):
            with self.subTest(command[0]):
                self.assertIn("its models run outside Submix", self.refused(*command))

    def test_training_and_forgetting_leave_it_alone(self):
        deployment, ensemble = self.deploy(), self.folder / "ensemble"
        text = self.folder / "text.jsonl"
        text.write_text('{"user": "a", "text": "The sea and the hill."}\n')
        before = (ensemble / "manifest.json").read_bytes()
        self.assertIn("its models run outside Submix", self.refused("forget", ensemble, "--corpus", text, "--user", "a",
                                                                    "--deployment", deployment))
        self.assertIn("other options", self.refused("train", text, ensemble, "--public", MODEL, "--parts", 2))
        self.assertEqual((ensemble / "manifest.json").read_bytes(), before)

    def test_python_needs_no_tokenizer_and_the_server_does(self):
        run(*self.deploy_command("ensemble", "tales", "--halves", 2))
        self.assertIn("has no tokenizer", self.refused("serve", self.folder / "tales", "--port", 0))
        with submix.open(str(self.folder / "tales")) as deployment:
            self.assertEqual((deployment.rows, deployment.members), (5, []))
            logits = numpy.zeros((5, VOCABULARY), numpy.float32)
            self.assertIn(deployment.sampler().sample(logits), range(VOCABULARY))
            with self.assertRaisesRegex(ValueError, r"expected \[5, 8192\]"):
                deployment.sampler().sample(logits[:, 1:].copy())


class ServeLogitsTest(ExternalTest):
    def test_a_socket_left_by_the_dead_is_replaced_and_one_of_the_living_is_not(self):
        self.compute().stop()
        self.assertTrue(self.socket.exists())
        living = self.compute()
        with self.assertRaisesRegex(OSError, "another process listens"):
            submix.serve_logits(None, str(self.socket), rows=3, vocabulary=2, context=2, digest=self.digest)
        living.stop(signal.SIGINT)
        self.assertFalse(self.socket.exists())

    def test_wrong_types_are_refused(self):
        with self.assertRaisesRegex(ValueError, "float64"):
            submix.serve_logits(None, str(self.socket), rows=3, vocabulary=2, context=2, digest="", dtype="float64")


if __name__ == "__main__":
    main()
