#!/usr/bin/env python3
"""`submix synthesize`: documents of an ensemble and of a privately trained model; killed with -9 it goes on, and no
token is unpaid or written twice; what a budget does not cover is refused before the first token.

    synthesize_test.py BUILD_DIR SOURCE_DIR
"""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from submix_process import SOURCE, SUBMIX, WorkFolderTest, make_ensemble, run  # noqa: E402


def documents(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def left(deployment):
    """Tokens that the deployment can still pay; of all parts alike where the charge is constant."""
    parts = json.loads(run("budget", deployment, "--verify", "--json").stdout)["parts"]
    return min(part["sure_answers"] for part in parts)


class SynthesizeTest(WorkFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ensemble = make_ensemble(cls.work)

    def deploy(self, name, *options):
        """A deployment of its own copy of the ensemble: each has one budget."""
        shutil.copytree(self.ensemble, self.work / f"{name}_ensemble")
        run("deploy", self.work / f"{name}_ensemble", self.work / name, "--epsilon", 2, *options)
        return self.work / name

    def write(self, deployment, out, *options):
        return json.loads(run("synthesize", deployment, out, "--threads", 1, "--json", *options).stdout)

    def refused(self, reason, *arguments, expect=1):
        error = run("synthesize", *arguments, expect=expect).stderr
        self.assertEqual(error.count("\n"), 1, error)
        self.assertIn(reason, error)

    def test_every_line_is_a_document_whose_tokens_are_paid(self):
        deployment, out = self.deploy("paid", "--mechanism", "dclip", "--queries", 1000), self.work / "paid.jsonl"
        self.assertEqual(left(deployment), 1000)
        prompts = self.work / "prompts.txt"
        prompts.write_text("The sea\n\nThe hill \u2603\n")
        summary = self.write(deployment, out, "--prompts", prompts, "--documents", 7, "--max-tokens", 9,
                             "--at-a-time", 3)
        written = documents(out)
        self.assertEqual(sorted(int(document["id"]) for document in written), list(range(7)))
        for document in written:
            self.assertEqual(document["prompt"], ("The sea", "The hill \u2603")[int(document["id"]) % 2])
            self.assertIn(document["finish_reason"], ("stop", "length"))
            self.assertTrue(document["tokens"] == 9 or document["finish_reason"] == "stop", document)
        tokens = sum(document["tokens"] for document in written)
        self.assertEqual((summary["documents"], summary["written_now"]), (7, 7))
        self.assertEqual((summary["tokens"], summary["tokens_now"]), (tokens, tokens))
        self.assertEqual(left(deployment), 1000 - tokens)
        statement = json.loads((self.work / "paid.jsonl.statement.json").read_text())
        self.assertEqual(statement["promise"], json.loads(run("budget", deployment, "--json").stdout)["promise"])
        self.assertIn("all other answers of their deployment", statement["covers"])
        # A corpus for other programs, and for this one.
        run("train", out, self.work / "tuned", "--user-column", "id", "--public", SOURCE / "data/public_model",
            "--parts", 1, "--rank", 2, "--targets", "c_attn", "--top-layers", 1, "--block-tokens", 32,
            "--batch-size", 2, "--threads", 1, "--heldout-fraction", 0)

    def test_killed_it_goes_on_behind_what_is_written(self):
        deployment, out = self.deploy("killed", "--mechanism", "dclip", "--queries", 9000), self.work / "killed.jsonl"
        asked = ("--documents", 40, "--max-tokens", 30, "--at-a-time", 4)
        kills = 0
        for lines in (1, 7, 13):
            process = subprocess.Popen([SUBMIX, "synthesize", str(deployment), str(out), "--threads", "1",
                                        *map(str, asked)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while process.poll() is None and not (out.exists() and out.read_text().count("\n") >= lines):
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            kills += process.wait() == -signal.SIGKILL
        self.assertGreater(kills, 0)
        before = out.read_text()
        self.assertEqual(before[-1], "\n")
        with open(out, "a") as file:
            file.write('{"id": "39", "text": "cut sho')
        summary = self.write(deployment, out, *asked)
        self.assertTrue(out.read_text().startswith(before))
        written = documents(out)
        self.assertEqual(sorted(int(document["id"]) for document in written), list(range(40)))
        tokens = sum(document["tokens"] for document in written)
        self.assertEqual((summary["tokens"], summary["documents"]), (tokens, 40))
        kept = sum(json.loads(line)["tokens"] for line in before.splitlines())
        self.assertEqual(summary["tokens_now"], tokens - kept)
        # What had not ended is paid for and lost: at most four documents each time.
        lost = 9000 - left(deployment) - tokens
        self.assertGreaterEqual(lost, 0)
        self.assertLessEqual(lost, 3 * 4 * 30)

        whole = out.read_text()
        again = self.write(deployment, out, *asked)
        self.assertEqual((again["written_now"], again["tokens_now"], out.read_text()), (0, 0, whole))
        more = self.write(deployment, out, "--documents", 42, "--max-tokens", 30)
        self.assertEqual((more["written_now"], more["documents"]), (2, 42))

    def test_a_budget_that_does_not_cover_it_is_refused_before_the_first_token(self):
        constant = self.deploy("constant", "--mechanism", "dclip", "--queries", 100)
        out = self.work / "refused.jsonl"
        asked = (out, "--threads", 1, "--max-tokens", 10)
        self.refused("covers 100 more tokens, and 11 documents of 10 tokens may need more: --documents 10 is",
                     constant, *asked, "--documents", 11)
        run("synthesize", constant, *asked, "--documents", 4)
        tokens = sum(document["tokens"] for document in documents(out))
        most = 4 + (100 - tokens) // 10
        for reason in (f"covers {100 - tokens} more tokens, and {most - 3} documents",
                       f"--documents {most} is the most"):
            self.refused(reason, constant, *asked, "--documents", most + 1)
        self.assertEqual(left(constant), 100 - tokens)
        # With charges of its own each part has something else left, and nobody is told: what was declared counts.
        filtered, other = self.deploy("filtered", "--queries", 100), self.work / "filtered.jsonl"
        run("generate", filtered, "The sea", "--max-tokens", 30, "--threads", 1)
        self.refused("covers 100 tokens, and 11 documents", filtered, other, "--documents", 11, "--max-tokens", 10)
        for name in ("filtered.jsonl", "filtered.jsonl.statement.json"):
            self.assertFalse((self.work / name).exists())
        run("synthesize", filtered, other, "--documents", 10, "--max-tokens", 10, "--threads", 1)

    def test_labels_take_turns_and_are_written_beside_the_text(self):
        deployment, out = self.deploy("labelled", "--queries", 1000), self.work / "labelled.jsonl"
        shown = run("synthesize", deployment, out, "--template", "A {label} text: ", "--labels", "go:od:3,bad:1",
                    "--max-tokens", 5, "--threads", 1)
        self.assertIn("4 documents of ", shown.stdout)
        self.assertIn("all answers together", " ".join(shown.stdout.split()))
        found = {document["id"]: (document["label"], document["prompt"]) for document in documents(out)}
        self.assertEqual([found[str(number)] for number in range(4)],
                         [(label, f"A {label} text: ") for label in ("go:od", "bad", "go:od", "go:od")])

    def test_a_label_fills_every_place_of_its_template_and_none_of_its_own(self):
        deployment, out = self.deploy("twice", "--queries", 1000), self.work / "twice.jsonl"
        run("synthesize", deployment, out, "--template", "{label}{label}: a {label} text", "--labels", "{label}x:1,y:1",
            "--max-tokens", 5, "--threads", 1)
        self.assertEqual({document["label"]: document["prompt"] for document in documents(out)},
                         {"{label}x": "{label}x{label}x: a {label}x text", "y": "yy: a y text"})

    def test_a_privately_trained_model_writes_any_number_for_nothing(self):
        model = self.work / "model"
        run("train", self.work / "text.jsonl", model, "--public", SOURCE / "data/public_model", "--private", "dp-sgd",
            "--steps", 2, "--block-tokens", 16, "--rank", 2, "--top-layers", 1, "--threads", 1)
        run("deploy", model / "released", self.work / "free", "--mechanism", "public", "--queries", 1)
        out = self.work / "free.jsonl"
        summary = self.write(self.work / "free", out, "--documents", 20, "--max-tokens", 8)
        self.assertEqual((summary["documents"], len(documents(out))), (20, 20))
        self.assertIn("all answers and the public model together are (", summary["promise"]["sentence"])
        parts = json.loads(run("budget", self.work / "free", "--json").stdout)["parts"]
        self.assertEqual([part["spent"] for part in parts], [0])

    def test_documents_of_another_run_are_refused_and_stay(self):
        deployment, out = self.deploy("first", "--queries", 1000), self.work / "first.jsonl"
        asked = ("--documents", 3, "--max-tokens", 5, "--threads", 1)
        run("synthesize", deployment, out, *asked)
        whole = out.read_text()
        for other, options in (("max_tokens", ("--documents", 3, "--max-tokens", 6)),
                               ("temperature", (*asked, "--temperature", 0.5)), ("top_k", (*asked, "--top-k", 5)),
                               ("stop", (*asked, "--stop", "x")),
                               ("prompts", ("--template", "{label}", "--labels", "a:3", "--max-tokens", 5))):
            self.refused(f"first.jsonl: holds the documents of another run (other {other})", deployment, out, *options)
        self.refused("(other deployment)", self.deploy("second", "--queries", 1000), out, *asked)
        statement = self.work / "first.jsonl.statement.json"
        statement.rename(self.work / "aside")
        self.refused("first.jsonl: is there already, and", deployment, out, *asked)
        (self.work / "aside").rename(statement)
        for damaged, where in (("{}\n", "first.jsonl:4: field \"id\""), (whole.splitlines()[0] + "\n", "twice"),
                               ('{"id": "-1", "tokens": 1}\n', "a number from 0"), ("\0\n", "first.jsonl:4")):
            out.write_text(whole + damaged)
            self.refused(where, deployment, out, *asked)
            self.assertEqual(out.read_text(), whole + damaged)

    def test_wrong_use_is_one_line_and_leaves_nothing(self):
        deployment = self.deploy("wrong", "--queries", 100000)
        files = {name: self.work / name for name in ("empty.txt", "bad.jsonl", "latin.txt", "long.txt")}
        files["empty.txt"].write_text("\n \n")
        files["bad.jsonl"].write_text('{"prompt": "good"}\n{"text": "no prompt"}\n')
        files["latin.txt"].write_bytes(b"good\n\xe9t\xe9\n")
        files["long.txt"].write_text("short\n" + "word " * 600 + "\n")
        out = self.work / "wrong.jsonl"
        for reason, code, options in (
                ("say how many", 1, ()),
                ("no prompt", 1, ("--prompts", files["empty.txt"])),
                ("bad.jsonl:2", 1, ("--prompts", files["bad.jsonl"])),
                ("latin.txt:2", 1, ("--prompts", files["latin.txt"])),
                ("ask for fewer tokens (prompt 2)", 1, ("--prompts", files["long.txt"])),
                ("{label}", 1, ("--template", "no place", "--labels", "a:1")),
                ("such as good:120", 1, ("--template", "{label}", "--labels", "a:0")),
                ("such as good:120", 1, ("--template", "{label}", "--labels", "a")),
                ("--labels", 2, ("--template", "{label}")),
                ("--template", 2, ("--labels", "a:1", "--documents", 2)),
                ("--documents", 2, ("--documents", 0)),
                ("--temperature", 2, ("--documents", 1, "--temperature", 0)),
                ("--max-tokens", 2, ("--documents", 1, "--max-tokens", 0))):
            self.refused(reason, deployment, out, *options, expect=code)
        self.refused("nowhere", deployment, self.work / "nowhere/out.jsonl", "--documents", 1)
        self.assertFalse(out.exists())
        self.assertFalse((self.work / "wrong.jsonl.statement.json").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
