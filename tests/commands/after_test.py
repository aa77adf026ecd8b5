#!/usr/bin/env python3
"""A budget belongs to the data: the same users trained again say so, and go on with `deploy --after`.

    after_test.py BUILD_DIR SOURCE_DIR
"""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from submix_process import SOURCE, WorkFolderTest, make_ensemble, run  # noqa: E402

ADD_UP = "udgets over the same users add up"


class AfterTest(WorkFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.old = make_ensemble(cls.work)

    def train_again(self, name, *options):
        """The same users in a new ensemble, under a key of its own; returns its directory and the output."""
        with open(self.work / "more.jsonl", "w") as corpus:
            for user in "abcdefghijklmnopqrstuvwxyz":
                text = f"The {user} of the house went out to see the sea and the hill."
                corpus.write(json.dumps({"user": user, "text": text}) + "\n")
        made = self.work / name
        shown = run("train", self.work / "more.jsonl", made, "--public", SOURCE / "data/public_model", "--parts", 2, "--rank", 2,
                    "--targets", "c_attn", "--top-layers", 1, "--block-tokens", 32, "--batch-size", 2, "--threads", 1,
                    "--heldout-fraction", 0, *options)
        return made, shown.stdout

    def test_the_same_users_go_on_with_what_is_spent(self):
        old, new = self.work / "first", self.work / "second"
        self.assertNotIn(ADD_UP, self.train_again("before")[1], "nothing is deployed yet")
        options = ("--mechanism", "dclip", "--order", 8, "--queries", 16)
        shown = run("deploy", self.old, old, "--epsilon", 2, *options).stdout
        self.assertIn(ADD_UP, shown)
        run("generate", old, "The sea", "--max-tokens", 3)
        spent = {part["spent"] for part in json.loads(run("budget", old, "--json").stdout)["parts"]}
        self.assertEqual(len(spent), 1)
        self.assertGreater(min(spent), 0)

        ensemble, shown = self.train_again("retrained")
        self.assertEqual(shown.count(ADD_UP), 1, shown)
        self.assertIn(f"{old} (12 of these 26 users)", " ".join(shown.split()))
        away, shown = self.train_again("elsewhere/retrained", "--after", old)
        self.assertIn(f"{old} (12 of these 26 users)", " ".join(shown.split()))

        error = run("deploy", ensemble, new, "--epsilon", 4, "--mechanism", "dclip", "--order", 2, "--after", old,
                    expect=1).stderr
        self.assertEqual(error.count("\n"), 1, error)
        self.assertIn("give --order 8", error)
        error = run("deploy", ensemble, new, "--epsilon", min(spent) / 2, *options, "--after", old, expect=1).stderr
        self.assertEqual(error.count("\n"), 1, error)
        self.assertIn("leaves nothing", error)
        self.assertFalse(new.exists())

        shown = run("deploy", ensemble, new, "--epsilon", 2, *options, "--after", old).stdout
        self.assertIn("1 earlier deployment(s) are counted in", " ".join(shown.split()))
        begun = json.loads(run("budget", new, "--verify", "--json").stdout)
        self.assertEqual({part["spent"] for part in begun["parts"]}, spent)
        self.assertIn("earlier answers", " ".join(" ".join(begun["statement"]).split()))
        for command in (("generate", old, "The sea"), ("serve", old, "--check")):
            self.assertIn("ended", run(*command, expect=1).stderr)
        looked_at = run("budget", old, "--verify").stdout
        self.assertIn("It has ended", " ".join(looked_at.split()))
        self.assertIn("is whole", looked_at)
        # What the second counts in is said of the second alone.
        said = " ".join(self.train_again("afterwards")[1].split())
        self.assertEqual(said.count(ADD_UP), 1)
        self.assertIn(f"{new} (26 of these 26 users)", said)
        self.assertNotIn(f"{old} ", said)

        # A promise to users counts the earlier answers in, at the one order that is known of them.
        third = self.work / "third"
        run("deploy", away, third, "--unit", "user", "--epsilon", 8, "--mechanism", "dclip", "--queries", 16, "--after", new)
        promise = json.loads(run("budget", third, "--json").stdout)["promise"]
        of_user = next(row["user"] for row in promise["table"] if row["label"] == "(epsilon, delta)")
        epsilon = float(of_user.strip("(").split(",")[0])
        self.assertLessEqual(epsilon, 8)
        self.assertGreater(epsilon, 7.9)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
