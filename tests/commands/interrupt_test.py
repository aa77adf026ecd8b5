#!/usr/bin/env python3
"""A long command says at once what it does, into a pipe too, and at Ctrl-C that it goes on; an answer that breaks off
leaves the error a line of its own.

    interrupt_test.py BUILD_DIR SOURCE_DIR
"""

import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from submix_process import PUBLIC, SOURCE, SUBMIX, WorkFolderTest, make_deployment, run  # noqa: E402


class InterruptTest(WorkFolderTest):
    def test_the_recipe_comes_first_and_ctrl_c_says_that_it_goes_on(self):
        command = (SUBMIX, "train", SOURCE / "data/shakespeare.jsonl", self.work / "ensemble", "--public", PUBLIC,
                   "--threads", 1, "--epochs", 1000)
        process = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        self.assertTrue(process.stdout.readline().startswith("Recipe: "))
        self.assertIsNone(process.poll())  # the line was not kept back until the end, hours away
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertIn("submix: interrupted; the same command goes on\n", stderr)

    def test_an_answer_that_breaks_off_ends_its_line(self):
        deployment = make_deployment(self.work, "--mechanism", "dclip", "--target-leakage", 0.5, "--when-exhausted", "refuse")
        done = run("generate", deployment, "Once", "--max-tokens", 40, expect=1)
        self.assertTrue(done.stdout.startswith("Once") and done.stdout.endswith("\n"), done.stdout)
        self.assertTrue(done.stderr.startswith("submix generate: "), done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
