#!/usr/bin/env python3
"""`submix worth` against other commands, libtorch's predictor and arithmetic by Python.

    worth_test.py BUILD_DIR SOURCE_DIR
"""

import json
import math
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from submix_process import SOURCE, WorkFolderTest, run  # noqa: E402

PUBLIC = SOURCE / "data/public_model"
SECRET = "My secret number is 48151."


class WorthTest(WorkFolderTest):
    """Beside the corpus: other people's text of its kind, in which a secret stands, and text of another kind."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        speeches = [json.loads(line)["text"] for line in (SOURCE / "data/shakespeare.jsonl").read_text().splitlines()]
        cls.corpus = [(f"u{number % 20}", text) for number, text in enumerate(speeches[:100])]
        cls.write("text.jsonl", "user", cls.corpus)
        like = [text for speech in speeches[3000:3080] for text in (speech, SECRET)]
        cls.write("like.jsonl", "id", enumerate(like))
        cls.write("unlike.jsonl", "id", enumerate(["The annual report was approved by the board."] * 400))
        (cls.work / "codes.jsonl").write_text('{"prompt": "My secret number is", "secret": " 48151"}\n')
        cls.contexts("ensemble", "--heldout-fraction", 0.3)
        read = "".join(path.read_text() for path in (cls.work / "ensemble/members").rglob("records.jsonl"))
        cls.read = [record for record in cls.corpus if json.dumps(record[1]) in read]
        cls.heldout = [record for record in cls.corpus if record not in cls.read]
        cls.write("read.jsonl", "user", cls.read)
        cls.write("heldout.jsonl", "user", cls.heldout)
        cls.document = " ".join(text for _, text in cls.heldout[:8])
        cls.write("one.jsonl", "user", [("z", cls.document)])
        exposed = cls.worth("--codes", cls.work / "codes.jsonl")
        cls.exposures = [row.pop("exposure") for row in exposed]
        cls.rows, cls.trained = exposed, cls.models()

    @classmethod
    def write(cls, name, key, texts):
        lines = [json.dumps({key: str(owner), "text": text}) for owner, text in texts]
        (cls.work / name).write_text("\n".join(lines) + "\n")

    @classmethod
    def contexts(cls, name, *options):
        run("contexts", cls.work / "text.jsonl", cls.work / name, "--public", PUBLIC, "--parts", 2, "--context-tokens", 64,
            "--partition-key", SOURCE / "data/demo_partition.key", *options)

    @classmethod
    def shown(cls, *options, corpus="text.jsonl"):
        return run("worth", cls.work / "like.jsonl", cls.work / "unlike.jsonl", "--corpus", cls.work / corpus, "--ensemble",
                   cls.work / "ensemble", "--models", cls.work / "models", "--threads", 1, "--precision", "f32",
                   *options).stdout

    @classmethod
    def worth(cls, *options, **files):
        return json.loads(cls.shown("--json", *options, **files))["rows"]

    @classmethod
    def models(cls):
        return {path.name: path.stat().st_mtime_ns for path in (cls.work / "models").iterdir() if path.is_dir()}

    def test_text_of_its_kind_is_worth_more(self):
        like, unlike, control, real, public = self.rows
        self.assertEqual([row["text"] for row in self.rows],
                         [str(self.work / "like.jsonl"), str(self.work / "unlike.jsonl"), "public model's own text",
                          "text that was read", "none (public model)"])
        self.assertEqual({row["tokens"] for row in (like, unlike, control, real)}, {real["tokens"]})
        self.assertEqual(public["tokens"], 0)
        self.assertGreater(real["tokens"], 1000)
        for row in self.rows:
            gain = (public["perplexity"] - row["perplexity"]) / (public["perplexity"] - real["perplexity"])
            self.assertAlmostEqual(row["kept"], gain, places=9)
        self.assertLess(real["perplexity"], 0.9 * public["perplexity"])
        self.assertGreater(like["kept"], 0.3)
        self.assertLess(unlike["kept"], 0)
        self.assertLess(control["kept"], like["kept"])
        self.assertGreater(like["accuracy_top1"], unlike["accuracy_top1"])

    def test_a_secret_that_stands_in_the_text_is_exposed(self):
        like, *others = self.exposures
        self.assertGreater(like, 7)  # bits of 16.6; a sample of 2,000 codes shows 11
        self.assertLess(max(others), 5)

    def test_the_ensemble_says_who_was_read_and_nothing_is_trained_twice(self):
        self.assertGreater(min(len(self.read), len(self.heldout)), 20)
        self.assertEqual(self.worth("--heldout", self.work / "heldout.jsonl", corpus="read.jsonl"), self.rows)
        self.assertEqual(self.models(), self.trained)

    def test_scores_are_those_of_other_programs(self):
        (self.work / "one.txt").write_text(self.document)
        heldout = ("--heldout", self.work / "one.jsonl")
        rows = self.worth(*heldout, corpus="read.jsonl")
        for row, by_torch in zip(rows, self.worth(*heldout, "--predictor", "torch", corpus="read.jsonl")):
            self.assertAlmostEqual(row["perplexity"], by_torch["perplexity"], delta=1e-3 * row["perplexity"])
            self.assertAlmostEqual(row["accuracy_top1"], by_torch["accuracy_top1"], delta=0.01)
        tokens = json.loads(run("score", PUBLIC, "--text", self.work / "one.txt", "--json").stdout)["tokens"]
        adapters = [option for model in self.trained for option in ("--adapter", self.work / "models" / model)]
        scored = json.loads(run("score", PUBLIC, *adapters, "--tokens", ",".join(map(str, [*tokens, tokens[0]])),
                                "--precision", "f32", "--json").stdout)["models"]
        perplexities = [math.exp(-sum(model["log_probabilities"]) / len(model["log_probabilities"])) for model in scored]
        for row, expected in zip(sorted(row["perplexity"] for row in rows), sorted(perplexities)):
            self.assertAlmostEqual(row, expected, delta=1e-6 * expected)
        public = json.loads(run("evaluate", self.work / "ensemble", *heldout, "--runs", 1, "--queries", len(tokens),
                                "--precision", "f32", "--json").stdout)["baselines"][0]
        self.assertAlmostEqual(rows[-1]["accuracy_top1"], public["public_accuracy_top1"], places=9)

    def test_the_control_is_the_public_models_own_text_and_can_be_left_out(self):
        written, = (self.work / "models").glob("public_text-*.jsonl")
        documents = [json.loads(line)["text"] for line in written.read_text().splitlines()]
        self.assertGreater(len(set(documents)), 10)
        self.assertFalse({text for text in documents if SECRET in text or text in dict(self.corpus).values()})
        compared = json.loads(run("compare", written, "--corpus", self.work / "text.jsonl", "--ensemble",
                                  self.work / "ensemble", "--json").stdout)["rows"][0]
        self.assertEqual(compared["documents"], len(documents))
        without = self.worth("--no-control")
        self.assertEqual(without, [row for row in self.rows if row["text"] != "public model's own text"])

    def test_what_is_missing_is_trained_to_the_same(self):
        shutil.rmtree(self.work / "models" / min(self.trained))
        self.assertEqual(self.worth(), self.rows)
        self.assertEqual(self.models().keys(), self.trained.keys())
        type(self).trained = self.models()

    def test_it_is_the_operators_view(self):
        self.assertIn("outside the budget", self.shown("--heldout", self.work / "one.jsonl", corpus="read.jsonl"))
        self.assertEqual((self.work / "models").stat().st_mode & 0o077, 0)

    def test_bad_input_is_one_line(self):
        self.contexts("nobody_held_out", "--heldout-fraction", 0)
        (self.work / "no_id.jsonl").write_text('{"text": "x"}\n')
        for reason, synthetic, options in (
                ("give other text", "like.jsonl", ("--ensemble", self.work / "nobody_held_out")),
                ("no_id.jsonl:1", "no_id.jsonl", ("--ensemble", self.work / "ensemble")),
                ("like.jsonl:1", "like.jsonl", ("--ensemble", self.work / "ensemble", "--codes", self.work / "like.jsonl"))):
            error = run("worth", self.work / synthetic, "--corpus", self.work / "text.jsonl", "--models",
                        self.work / "none", *options, expect=1).stderr
            self.assertEqual(error.count("\n"), 1, error)
            self.assertIn(reason, error)
        self.assertFalse((self.work / "none").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
