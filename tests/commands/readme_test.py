#!/usr/bin/env python3
"""README's commands on the bundled Shakespeare, as a reader would run them: they end where README's demo
ends, within 5 %, and promise one user what README says.

    readme_test.py BUILD_DIR SOURCE_DIR

Added to them is only the demo's partition key, since perplexities of other held-out speakers do not compare.
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


def demo_perplexity(model):
    """As README quotes the demo."""
    return float(re.search(rf"^  {model} +([0-9.]+)  ", README, re.M).group(1))


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
        (cls.work / "text.jsonl").symlink_to(SOURCE / "data/shakespeare.jsonl")
        (cls.work / "data").symlink_to(SOURCE / "data")
        cls.output = cls.run_shell(commands())

    @classmethod
    def run_shell(cls, script):
        done = subprocess.run(["bash", "-e", "-c", script], cwd=cls.work, capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"})
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def test_the_promise_is_the_default_and_not_weak(self):
        self.assertIn("all answers together are (7.804, 1e-06)-differentially private for one", self.output)
        self.assertNotIn("That is weak", self.output)
        self.assertIn("is whole, and its sums are the accounts'", self.output)

    def test_the_models_are_as_good_as_the_demos(self):
        scored = json.loads(self.run_shell("submix evaluate my_ensemble --corpus text.jsonl --json"))
        baselines, private = scored["baselines"][0], scored["settings"][0]
        found = {"public model": baselines["public_perplexity"],
                 "ensemble of all members": baselines["ensemble_perplexity"],
                 "filtered-submix": private["perplexity"]}
        for model, perplexity in found.items():
            with self.subTest(model):
                self.assertAlmostEqual(perplexity / demo_perplexity(model), 1, delta=0.05)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
