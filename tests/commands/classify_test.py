#!/usr/bin/env python3
"""`submix classify` and `submix evaluate --labels`: members learn labels, a deployment gives each item one for one paid
token, goes on where it stopped, and refuses what it cannot label before anything is charged.

    classify_test.py BUILD_DIR SOURCE_DIR
"""

import json
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from submix_process import SOURCE, WorkFolderTest, run  # noqa: E402

TEMPLATE = ("{% for m in messages %}{{ m.role + ': ' + m.content + '<|endoftext|>' }}{% endfor %}"
            "{{ 'assistant:' if add_generation_prompt }}")
WORDS = {"comedy": "laughter and a wedding feast", "tragedy": "murder and a bloody dagger"}


def item(number):
    label = ("comedy", "tragedy")[number % 2]
    return {"prompt": f"Scene {number}: {WORDS[label]}.\nIt is a", "completion": f" {label}"}


class ClassifyTest(WorkFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.corpus, cls.items = cls.work / "scenes.jsonl", cls.work / "items.jsonl"
        cls.corpus.write_text("".join(json.dumps({"user": f"u{n}", **item(n)}) + "\n" for n in range(80)))
        cls.items.write_text("".join(json.dumps(item(n)) + "\n" for n in range(200, 240)))
        cls.heldout = cls.work / "heldout.jsonl"
        cls.heldout.write_text("".join(json.dumps({"user": f"h{n}", **item(n)}) + "\n" for n in range(200, 240)))
        cls.ensemble = cls.train("ensemble", SOURCE / "data/public_model", cls.corpus)

    @classmethod
    def train(cls, name, public, corpus):
        run("train", corpus, cls.work / name, "--public", public, "--parts", 2, "--heldout-fraction", 0, "--partition-key",
            SOURCE / "data/demo_partition.key", "--epochs", 5, "--learning-rate", 5e-3, "--rank", 4, "--top-layers", 1,
            "--block-tokens", 32, "--threads", 1, "--precision", "f32")
        return cls.work / name

    def deploy(self, name, tokens):
        shutil.copytree(self.ensemble, self.work / f"{name}_ensemble")
        run("deploy", self.work / f"{name}_ensemble", self.work / name, "--epsilon", 120, "--mechanism", "dclip", "--tokens", tokens)
        return self.work / name

    def refused(self, reason, *command, expect=1):
        error = run(*command, expect=expect).stderr
        self.assertEqual(error.count("\n"), 1, error)
        self.assertIn(reason, error)

    def test_an_item_is_one_paid_token(self):
        deployment, out = self.deploy("paid", 50), self.work / "paid.jsonl"
        asked = ("classify", deployment, self.items, "--labels", "comedy,tragedy", "--out", out, "--threads", 1)
        summary = json.loads(run(*asked, "--json").stdout)
        self.assertEqual((summary["items"], summary["labelled_now"], summary["known"]), (40, 40, 40))
        self.assertEqual(sum(summary["labels"].values()), 40)
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        self.assertEqual(sum(line["label"] == line["completion"] for line in lines), summary["right"])
        self.assertGreater(summary["right"], 28, "members have learnt what the words mean")
        parts = json.loads(run("budget", deployment, "--verify", "--json").stdout)["parts"]
        self.assertEqual(min(part["sure_answers"] for part in parts), 10)
        # Half of it is lost: the same command labels that half, and no more.
        out.write_text("".join(json.dumps(line) + "\n" for line in lines[:32]))
        shown = run(*asked).stdout
        self.assertIn("40 items, 8 of them labelled now", shown)
        self.assertRegex(shown, r"right: \d+ of the 40 whose label was given \((0\.\d{3}|1\.000)\)")
        self.refused("covers 2 more answers, and there are 40 items", *asked[:5], "--out", self.work / "more.jsonl",
                     "--threads", 1)

    def test_texts_go_into_a_template(self):
        texts = self.work / "texts.txt"
        texts.write_text("Scene 7: murder and a bloody dagger.\nScene 8: laughter and a wedding feast.\n")
        deployment = self.deploy("template", 10)
        run("classify", deployment, texts, "--labels", "comedy,tragedy", "--prompt", "{text} It is a", "--threads", 1)
        lines = [json.loads(line) for line in pathlib.Path(f"{texts}.labels.jsonl").read_text().splitlines()]
        self.assertEqual(lines[0]["prompt"], "Scene 7: murder and a bloody dagger. It is a")
        self.assertEqual({line["label"] for line in lines} - {"comedy", "tragedy"}, set())

    def test_evaluate_counts_how_often_models_are_right(self):
        asked = ("evaluate", self.ensemble, "--heldout", self.heldout, "--labels", "comedy,tragedy", "--mechanism",
                 "dclip,public", "--epsilon", 60, "--queries", 20, "--runs", 2)
        sheet = json.loads(run(*asked, "--json").stdout)
        self.assertEqual(sheet["scored"], "labels alone, 40")
        models = sheet["baselines"][0]
        self.assertEqual(models["ensemble_accuracy_top1"], 1)
        self.assertGreater(models["ensemble_probability"], 0.8)
        private, public = sheet["settings"]
        self.assertEqual(public["accuracy_top1"], models["public_accuracy_top1"])
        self.assertAlmostEqual(public["probability"], models["public_probability"], places=9)
        self.assertGreater(private["probability"], public["probability"])
        self.assertRegex(run(*asked).stdout, r"right 1\.000 by its likeliest label, 0\.\d+ by a drawn one")

    def test_a_chat_model_is_asked_in_its_template(self):
        public = self.work / "chat_model"
        shutil.copytree(SOURCE / "data/public_model", public)
        (public / "chat_template.jinja").write_text(TEMPLATE)
        ensemble = self.train("chat_ensemble", public, self.corpus)
        sheet = json.loads(run("evaluate", ensemble, "--heldout", self.heldout, "--labels", "comedy,tragedy", "--queries", 40,
                               "--runs", 1, "--json").stdout)
        self.assertEqual(sheet["scored"], "labels alone, 40")
        deployment = self.work / "chat_deployment"
        run("deploy", ensemble, deployment, "--epsilon", 60, "--mechanism", "dclip", "--tokens", 50)
        summary = json.loads(run("classify", deployment, self.items, "--labels", "comedy,tragedy", "--out",
                                 self.work / "chat.jsonl", "--threads", 1, "--json").stdout)
        self.assertEqual(summary["items"], 40)

    def test_what_cannot_be_labelled_is_refused_in_one_line(self):
        deployment = self.deploy("refused", 100)
        asked = ("classify", deployment, self.items, "--threads", 1)
        unlabelled = self.work / "unlabelled.txt"
        unlabelled.write_text("Scene 7.\n")
        self.refused("at least two labels", "classify", deployment, unlabelled, "--labels", "comedy")
        self.refused("\"comedy\" begins \"comedy of errors\"", *asked, "--labels", "comedy,tragedy,comedy of errors")
        self.refused("items.jsonl:1: field \"completion\": is none of --labels", *asked, "--labels", "good,bad")
        self.refused("same token", *asked, "--labels", "comedy,tragedy,the sea,the hill")
        self.refused("needs {text}", *asked, "--labels", "comedy,tragedy", "--prompt", "Which?")
        long = self.work / "long.txt"
        long.write_text("sea " * 3000 + "\n")
        self.refused("(prompt 1)", "classify", deployment, long, "--labels", "comedy,tragedy")
        self.assertFalse(pathlib.Path(f"{long}.labels.jsonl").exists())
        parts = json.loads(run("budget", deployment, "--json").stdout)["parts"]
        self.assertEqual(min(part["sure_answers"] for part in parts), 100)
        evaluate = ("evaluate", self.ensemble, "--runs", 1, "--queries", 10)
        self.refused("heldout.jsonl:1: the completion is none of --labels", *evaluate, "--heldout", self.heldout, "--labels",
                     "good,bad")
        other = self.work / "other.jsonl"
        other.write_text(json.dumps({"user": "u", "text": "sea"}) + "\n")
        self.refused("other.jsonl:1: no \"prompt\"", *evaluate, "--heldout", other, "--labels", "comedy,tragedy")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
