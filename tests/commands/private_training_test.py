#!/usr/bin/env python3
"""`submix train --private dp-sgd`, killed and started again, and what the other commands make of it.

Usage: private_training_test.py BUILD_DIR SOURCE_DIR
"""

import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
USERS = 30
BATCH = 13


def submix(*arguments, code=0, stderr=""):
    """Runs the program; returns stdout. Anything but this exit code and this word is a failure."""
    done = subprocess.run([BUILD / "submix", *map(str, arguments)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == code, f"{arguments}: code {done.returncode}\n{done.stderr}"
    assert stderr in done.stderr, f"{arguments}: {done.stderr}"
    return done.stdout


def training(work, ensemble, *more):
    return ["train", work / "text.jsonl", work / ensemble, "--public", SOURCE / "data/public_model",
            "--private", "dp-sgd", "--epsilon", 8, "--delta", 1e-5, "--expected-batch", BATCH,
            "--heldout-fraction", 0.1, "--partition-key", SOURCE / "data/demo_partition.key",
            "--recipe", "paper", "--rank", 4, "--lora-alpha", 16, "--top-layers", 3, "--block-tokens", 16, "--learning-rate", 5e-3,
            "--threads", 1, "--precision", "f32", *more]


class PrivateTrainingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.work = pathlib.Path(cls.folder.name)
        draws = random.Random(1)
        with open(cls.work / "text.jsonl", "w", encoding="utf-8") as file:
            for user in range(USERS):
                for _ in range(2):
                    text = f"The tide comes in at {draws.randrange(10)} and nobody sees it."
                    file.write(json.dumps({"user": f"u{user}", "text": text}) + "\n")
        cls.report = json.loads(submix(*training(cls.work, "model", "--epochs", 4, "--json")))

    def test_epsilon_is_that_of_the_calculator(self):
        report = self.report
        self.assertEqual((report["unit"], report["adjacency"]), ("user", "present or absent"))
        self.assertLess(0.9 * 8, report["epsilon"])
        self.assertLessEqual(report["epsilon"], 8)
        self.assertEqual(report["steps"], report["steps_wanted"])
        rows = json.loads(submix(
            "account", "dp-sgd", "--sampling-probability", repr(report["sampling_probability"]),
            "--noise-multiplier", report["noise_multiplier"], "--steps", report["steps_charged"],
            "--delta", 1e-5, "--json"))["rows"]
        self.assertAlmostEqual(rows[0]["epsilon"], report["epsilon"], places=9)
        self.assertIn("-differentially private for one user's text.", report["promise"]["sentence"])
        promised = {row["label"]: row["user"] for row in report["promise"]["table"]}
        self.assertEqual((promised["unit"], promised["neighbours"], promised["holds for"]),
                         ("all text of one user key", "present or absent", "every data set"))
        self.assertIn(report["promise"]["sentence"], " ".join(report["statement"]))
        self.assertIn("counts as public", " ".join(report["assumptions"]))

    def test_the_same_command_again_spends_nothing(self):
        text = submix(*training(self.work, "model", "--epochs", 4))
        for row in ("unit              all text of one user key", "neighbours        present or absent"):
            self.assertIn(row, text)
        again = json.loads(submix(*training(self.work, "model", "--epochs", 4, "--json")))
        self.assertEqual(again, self.report)
        submix(*training(self.work, "model", "--epochs", 5), code=1, stderr="other options")
        submix("forget", self.work / "model", "--corpus", self.work / "text.jsonl", "--user", "u1",
               code=1, stderr="differential privacy")

    def test_a_step_has_an_eighth_of_the_users_where_nobody_says(self):
        report = json.loads(submix(
            "train", self.work / "text.jsonl", self.work / "unsaid", "--public", SOURCE / "data/public_model",
            "--private", "dp-sgd", "--steps", 2, "--block-tokens", 16, "--rank", 2, "--top-layers", 1, "--json"))
        self.assertEqual(report["sampling_probability"], 0.125)
        self.assertEqual(report["expected_batch"], 0.125 * report["public_units"])
        self.assertEqual((report["steps"], report["delta"]), (2, 1e-6))

    def test_other_commands_take_it(self):
        model = self.work / "model"
        scored = json.loads(submix("evaluate", model, "--corpus", self.work / "text.jsonl",
                                   "--fine-tuned", model, "--mechanism", "public", "--epsilon", 1,
                                   "--order", 2, "--queries", 32, "--json"))["baselines"][0]
        self.assertLess(scored["fine_tuned_perplexity"], 0.8 * scored["public_perplexity"])
        # Served: the released model is the public one of its ensemble.
        served = json.loads(submix("evaluate", model / "released", "--heldout",
                                   self.work / "text.jsonl", "--mechanism", "public", "--epsilon",
                                   1, "--order", 2, "--queries", 32, "--precision", "f32",
                                   "--json"))["baselines"][0]
        self.assertAlmostEqual(served["public_perplexity"] / served["single_perplexity"], 1, 6)
        promised = submix("deploy", model / "released", self.work / "deployment", "--mechanism",
                          "public")
        self.assertIn("all answers and the public model together are (", promised)
        table = {row["label"]: row for row in
                 json.loads(submix("budget", self.work / "deployment", "--json"))["promise"]["table"]}
        self.assertIn("above a public model trained by dp-sgd", table["mechanism"]["user"])
        self.assertEqual((table["unit"]["user"], table["neighbours"]["user"]),
                         ("all text of one user key", "present or absent"))
        self.assertEqual(served["promised_to_one_user"]["public"], table["(epsilon, delta)"]["user"])
        self.assertEqual(table["(epsilon, delta)"]["part"],
                         "nothing follows: the public model has read its users' text too")
        self.assertEqual(table["Renyi divergence"]["part"], "-")
        text = submix("generate", self.work / "deployment", "The tide", "--max-tokens", 8)
        self.assertGreater(len(text), len("The tide\n"))
        # What it cost is no part of what an attack on the ensemble above it measures.
        attack = ["attack", "membership", "--text", self.work / "text.jsonl", "--queries", 4,
                  "--transcripts", 50, "--against", "dclip"]
        self.assertIn("itself trained on private text", submix(*attack, model / "released"))
        self.assertNotIn("itself trained on private text", submix(*attack, model))

    def test_kill_at_any_moment_spends_no_less_than_was_used(self):
        more = ["--steps", 8, "--noise-multiplier", 2]
        command = [BUILD / "submix", *map(str, training(self.work, "killed", *more))]
        anchor = self.work / "killed/training/anchor"
        draws = random.Random(2)
        for _ in range(3):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            while not anchor.exists():
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            before = anchor.read_bytes()
            while anchor.read_bytes() == before:  # it moves with every step that is paid for
                self.assertIsNone(process.poll())
                time.sleep(0.01)
            time.sleep(draws.uniform(0, 0.3))
            process.send_signal(signal.SIGKILL)
            process.wait()
        report = json.loads(submix(*training(self.work, "killed", *more, "--json")))
        self.assertEqual(report["steps"], 8)
        # Each kill lost a step at least: paid for, and drawn anew.
        self.assertGreaterEqual(report["steps_charged"], 8 + 3)
        rows = json.loads(submix(
            "account", "dp-sgd", "--sampling-probability", repr(report["sampling_probability"]),
            "--noise-multiplier", 2, "--steps", report["steps_charged"], "--delta", 1e-5,
            "--json"))["rows"]
        self.assertAlmostEqual(rows[0]["epsilon"], report["epsilon"], places=9)
        self.assertIn("lost to interruptions", submix(*training(self.work, "killed", *more)))

    def test_an_interrupt_leaves_a_checkpoint(self):
        more = ["--steps", 400, "--noise-multiplier", 6]
        process = subprocess.Popen([BUILD / "submix", *map(str, training(self.work, "stopped", *more))],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while not (self.work / "stopped/training/ledger.sqlite").exists():
            self.assertIsNone(process.poll())
            time.sleep(0.1)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate()
        self.assertEqual(process.returncode, 1, stderr)
        self.assertIn("started again, it goes on", stderr)
        partial = self.work / "stopped/members/00.partial/checkpoint.safetensors"
        self.assertTrue(partial.exists())

    def test_wrong_use_is_refused(self):
        base = training(self.work, "refused")
        submix(*base, "--parts", 4, code=2, stderr="--parts")
        submix("train", self.work / "text.jsonl", self.work / "refused", "--public",
               SOURCE / "data/public_model", "--clip", 1, code=2, stderr="--private")
        submix(*base, "--noise-multiplier", 0, code=2, stderr="above 0")
        submix(*base, "--noise-multiplier", 0.01, code=1, stderr="one step costs more")
        small = [a if a != BATCH else 1000 for a in base]
        submix(*small, code=1, stderr="at most the number of users")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
