#!/usr/bin/env python3
"""A deployment and its ensemble can be moved, and a copy of a deployment never answers.

    relocate_test.py BUILD_DIR SOURCE_DIR
"""

import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from submix_process import WorkFolderTest, make_ensemble, run  # noqa: E402


class RelocateTest(WorkFolderTest):
    def test_moved_and_copied(self):
        home = self.work / "home"
        home.mkdir()
        ensemble = make_ensemble(home)
        deployment = home / "deployment"
        run("deploy", ensemble, deployment, "--mechanism", "dclip", "--epsilon", 2, "--queries", 50)
        twin = home / "twin"
        shutil.copytree(deployment, twin)
        for command in (("generate", twin, "The sea"), ("serve", twin, "--check")):
            error = run(*command, expect=1).stderr
            self.assertEqual(error.count("\n"), 1, error)
            self.assertIn(f"a copy of the deployment {deployment}", error)
        run("budget", "verify", twin)
        run("generate", deployment, "The sea", "--max-tokens", 1)
        shutil.rmtree(twin)

        home.rename(self.work / "moved")
        home, deployment, ensemble = (self.work / "moved", self.work / "moved/deployment",
                                      self.work / "moved" / ensemble.name)
        run("generate", deployment, "The sea", "--max-tokens", 1)

        elsewhere = self.work / "models"
        ensemble.rename(elsewhere)
        error = run("generate", deployment, "The sea", expect=1).stderr
        self.assertEqual(error.count("\n"), 1, error)
        self.assertIn(f"submix relocate {deployment} --ensemble DIRECTORY", error)
        self.assertIn("name each other", run("relocate", deployment, "--ensemble", elsewhere).stdout)
        run("generate", deployment, "The sea", "--max-tokens", 1)
        self.assertIn("is whole", run("budget", "verify", deployment).stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
