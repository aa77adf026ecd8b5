#!/usr/bin/env python3
"""README's commands on the bundled Shakespeare, as a reader would run them: they promise one user what README
says, and their models are as good as ever, within 5 %.

    readme_test.py BUILD_DIR SOURCE_DIR

Added to them is only the demo's partition key, since perplexities of other held-out speakers do not compare.
Every thirtieth line is trained on and 512 answers are scored, against numbers kept here. With SUBMIX_WHOLE_README
set it is all lines and all answers, against README's own: minutes of computing.
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
README = (SOURCE / "README.md").read_text()
IS_WHOLE = "SUBMIX_WHOLE_README" in os.environ
# Of every thirtieth line; a change of recipe or mechanism that moves them moves README's, which are then drawn anew.
OF_FEW_LINES = {"public": 248.4, "ensemble": 152.2, "filtered-submix": 193.2}


def expected_perplexity(model):
    """As README quotes the demo, or of a thirtieth."""
    return float(re.search(rf"^{model} .*?(\d+\.\d\d)(?: |$)", README, re.M).group(1)) if IS_WHOLE else OF_FEW_LINES[model]


def commands():
    """The block of README's own-text section that trains, deploys and asks."""
    section = README.split("\n## Your own text\n")[1].split("\n## ")[0]
    block = next(block for block in re.findall(r"^```\n(.*?)^```$", section, re.M | re.S) if "submix train" in block)
    key = f" --partition-key {SOURCE}/data/demo_partition.key"
    block = re.sub(r"^(submix train .*?)( *#.*)?$", lambda match: match.group(1) + key, block, flags=re.M)
    return block.replace("alias submix=build/release/submix\n", "")


class ReadmeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.work = pathlib.Path(folder.name)
        lines = (SOURCE / "data/shakespeare.jsonl").read_text().splitlines(keepends=True)
        (cls.work / "text.jsonl").write_text("".join(lines if IS_WHOLE else lines[::30]))
        (cls.work / "data").symlink_to(SOURCE / "data")
        cls.output = cls.run_shell(commands())

    @classmethod
    def run_shell(cls, script):
        done = subprocess.run(["bash", "-e", "-c", script], cwd=cls.work, capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"})
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def test_the_promise_is_the_default_and_not_weak(self):
        self.assertIn("all answers together are (7.804, 1e-06)-differentially private for one", " ".join(self.output.split()))
        self.assertNotIn("That is weak", self.output)
        self.assertIn("is whole, and its sums are the accounts'", self.output)

    def test_the_models_are_as_good_as_ever(self):
        # The held-out speakers are the same, with all their lines.
        runs = "" if IS_WHOLE else "--runs 1 --queries 512"
        scored = json.loads(self.run_shell(f"submix evaluate my_ensemble --corpus data/shakespeare.jsonl {runs} --json"))
        baselines, private = scored["baselines"][0], scored["settings"][0]
        found = {"public": baselines["public_perplexity"],
                 "ensemble": baselines["ensemble_perplexity"],
                 "filtered-submix": private["perplexity"]}
        for model, perplexity in found.items():
            with self.subTest(model):
                self.assertAlmostEqual(perplexity / expected_perplexity(model), 1, delta=0.05)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
