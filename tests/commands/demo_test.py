#!/usr/bin/env python3
"""`submix demo` is a script of the commands that it shows: what it prints is what runs, and what a reader can type.

    demo_test.py BUILD_DIR SOURCE_DIR

The commands themselves are tested elsewhere; here a program that only notes what it is asked stands for them.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
NOTES = """#!/usr/bin/env python3
import json, os, sys
open(os.environ["NOTED"], "a").write(json.dumps(sys.argv[1:]) + "\\n")
sys.exit(os.environ.get("FAILS") in sys.argv)
"""


class DemoTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        (self.work / "submix").write_text(NOTES)
        (self.work / "submix").chmod(0o755)

    def bash(self, *command, noted, **environment):
        """Runs it where `submix` notes what it is asked; returns the run, and the notes."""
        notes = self.work / noted
        done = subprocess.run(["bash", *map(str, command)], capture_output=True, text=True, check=False, cwd=self.work,
                              env={**os.environ, "PATH": f"{self.work}:{os.environ['PATH']}", "NOTED": str(notes), **environment})
        return done, [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []

    def demo(self, *options, **environment):
        return self.bash(SOURCE / "scripts/demo.sh", *options, noted="ran", **environment)

    def test_what_it_shows_is_what_runs(self):
        # Whatever a shell would make of the names.
        done, ran = self.demo("--output", "it's a $HOME", "--parts=3", "--plant", 7, "--runs", 2)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        shown, on = [], False
        for line in lines:
            on = on or line.startswith("$ ")
            if on:
                shown.append(line.removeprefix("$ "))
            on = on and line.endswith(("\\", "{ cat " + str(SOURCE / "data/shakespeare.jsonl"))) or on and line.startswith("  yes ")
        out = self.work / "it's a $HOME"
        planted = (out / "planted.jsonl").read_text()
        typed, again = self.bash("-ec", "\n".join(shown), noted="typed")
        self.assertEqual(typed.returncode, 0, typed.stderr)
        self.assertEqual(again, ran)
        self.assertEqual((out / "planted.jsonl").read_text(), planted)
        corpus = (SOURCE / "data/shakespeare.jsonl").read_text()
        self.assertTrue(planted.startswith(corpus))
        secrets = [json.loads(line) for line in planted[len(corpus):].splitlines()]
        self.assertEqual(len(secrets), 7)
        self.assertIn(f'"user": "{secrets[0]["user"]}"', corpus)
        code = json.loads((out / "codes.jsonl").read_text())
        self.assertEqual(code["prompt"] + code["secret"] + ".", secrets[0]["text"])
        self.assertIn(["--parts", "3"], [words[3:5] for words in ran])
        self.assertIn("--runs", next(words for words in ran if words[0] == "evaluate"))

    def test_the_program_has_every_command_and_option(self):
        _, ran = self.demo()
        self.assertEqual([words[0] for words in ran], ["train"] * 2 + ["deploy"] + ["generate"] * 3 +
                         ["evaluate", "train", "attack", "budget"])
        for words in ran:
            command = words[:2] if words[0] == "attack" else words[:1]
            said = subprocess.run([BUILD / "submix", *command, "--help"], capture_output=True, text=True, check=True).stdout
            for option in re.findall(r"--[a-z-]+", " ".join(words)):
                self.assertRegex(said, rf"(?m)^  (?:  )?(?:-\w,)?{option}\b", words)

    def test_another_model_reads_less_text(self):
        _, ran = self.demo("--public", "my model", "--every", 30)
        trained = [words for words in ran if words[0] == "train"]
        self.assertEqual([words[words.index("--public") + 1] for words in trained], ["my model"] * 3)
        text = (self.work / "build/demo/text.jsonl").read_text()
        corpus = (SOURCE / "data/shakespeare.jsonl").read_text().splitlines(keepends=True)
        self.assertEqual(text, "".join(corpus[29::30]))
        self.assertTrue((self.work / "build/demo/planted.jsonl").read_text().startswith(text))

    def test_a_command_that_fails_ends_it(self):
        done, ran = self.demo(FAILS="deploy")
        self.assertEqual((done.returncode, ran[-1][0]), (1, "deploy"))

    def test_it_starts_over_only_in_a_directory_of_its_own(self):
        (self.work / "mine").mkdir()
        done, ran = self.demo("-o", "mine")
        self.assertEqual((done.returncode, ran), (1, []))
        self.assertIn("was not made by `submix demo`", done.stderr)
        self.assertEqual(self.demo("-o", "its")[0].returncode, 0)
        (self.work / "its/ensemble").mkdir()
        self.assertEqual(self.demo("-o", "its")[0].returncode, 0)
        self.assertFalse((self.work / "its/ensemble").exists())

    def test_wrong_use_is_one_line_before_anything_is_done(self):
        for options in (["--parts", 0], ["--parts=201"], ["--plant", "x"], ["--runs"], ["--nope"], ["x"], ["--data="]):
            done, ran = self.demo(*options)
            self.assertEqual((done.returncode, done.stderr.count("\n"), ran), (2, 1, []), done)
            self.assertIn("--help", done.stderr)
        self.assertFalse((self.work / "build").exists())

    def test_both_programs_run_it(self):
        for program in ("submix", "submix-train"):
            said = subprocess.run([BUILD / program, "demo", "--help"], capture_output=True, text=True, check=True).stdout
            self.assertIn("Usage: submix demo", said)
            wrong = subprocess.run([BUILD / program, "demo", "--nope"], capture_output=True, text=True, check=False)
            self.assertEqual(wrong.returncode, 2, wrong)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
