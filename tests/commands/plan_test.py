#!/usr/bin/env python3
"""`submix plan` as a user meets it: its epsilons are those of `submix account` and what `submix deploy` promises, and
the commands that it prints do what it says.

    plan_test.py BUILD_DIR SOURCE_DIR
"""

import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

BUILD, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
BOTH = ["--users", "3600", "--tokens-per-user", "400", "--epsilon", "8", "--answers", "1024"]
ASKED = ["--users", "3600", "--tokens-per-user", "2400", "--epsilon", "8", "--answers", "10240"]
ROW = re.compile(r" +(?:\d+ +)?(dclip|filtered-submix|dp-sgd) ")


def run(*arguments, work=None):
    return subprocess.run(["submix", *map(str, arguments)], capture_output=True, text=True, check=False, cwd=work,
                          env={**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"})


@functools.cache
def answer(*arguments):
    result = run(*arguments, "--json")
    assert result.returncode == 0, result
    return json.loads(result.stdout)["rows"]


class PlanTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.public = pathlib.Path(folder.name) / "everybody's model"  # which a shell reads only if it is quoted
        cls.public.symlink_to(SOURCE / "data/public_model")

    def test_epsilons_are_those_of_account_or_what_deploy_promises(self):
        seen = set()
        for row in answer("plan", *ASKED):
            delta = ["--delta", row["delta"]]
            if row["mechanism"] == "dclip":
                (cost,) = answer("account", "plan", "dclip", "--parts", row["parts"], "--clip", row["clip"], "--answers",
                                 row["answers"], *delta)
                part, user = cost["epsilon"], cost["user_epsilon"]
            elif row["mechanism"] == "filtered-submix":
                (cost,) = answer("account", "plan", "filtered-submix", "--order", row["order"], "--target-leakage",
                                 row["charge_rdp"], "--answers", row["answers"], *delta)
                _, of_user = answer("account", "convert", "--order", row["order"], "--rdp",
                                    row["charge_rdp"] * row["answers"], *delta)
                part, user = cost["epsilon"], of_user["epsilon"]
            else:
                (cost,) = answer("account", "plan", "dp-sgd", "--sampling-probability", row["sampling_probability"],
                                 "--noise-multiplier", row["noise_multiplier"], "--steps", row["steps"], *delta)
                part, user = None, cost["epsilon"]
            # The orders of a calculator are not all of those at which a deployment is stated.
            tolerance = 0.01 if row["mechanism"] == "dclip" else 1e-9
            for said, counted in ((row["part_epsilon"], part), (row["user_epsilon"], user)):
                self.assertEqual(said is None, counted is None)
                if counted:
                    self.assertAlmostEqual(said / counted, 1, delta=tolerance, msg=row)
            self.assertLessEqual(row["user_epsilon"], 8)
            seen.add(row["mechanism"])
        self.assertEqual(seen, {"dclip", "filtered-submix", "dp-sgd"})

    def test_no_more_is_shown_than_was_asked_for(self):
        text = run("plan", "--users", 80, "--tokens-per-user", 2400, "--epsilon", 8, "--answers", 1024).stdout
        rows = [line.split() for line in text.splitlines() if ROW.match(line)]
        self.assertIn("epsilon  tokens  kept\n", text)  # the end of the second table
        shown = [float(row[-3]) for row in rows[len(rows) // 2:]]
        self.assertEqual(shown[1:3], [8, 8], text)  # the first is private training, whose noise is of whole hundredths
        self.assertLessEqual(max(shown), 8, text)

    def test_people_read_the_same_rows_the_statements_and_the_commands(self):
        rows, text = answer("plan", *ASKED), run("plan", *ASKED).stdout
        table = [line.split() for line in text.splitlines() if ROW.match(line)]
        self.assertEqual([line[1] for line in table[:len(rows)]], [row["mechanism"] for row in rows])
        for command in rows[0]["commands"] + rows[1]["commands"]:
            self.assertIn(f"\n  {command}\n", text)
        private = next(row for row in rows if row["mechanism"] == "dp-sgd")
        self.assertIn(f"\n  {private['commands'][0]}\n", text)
        self.assertEqual(private["answers"], "unlimited")
        for words in ("one user key", "replaced by the public", "outside what was measured", "not a promise"):
            self.assertIn(words, text)
        self.assertIsNone(next(row for row in rows if row["parts"] == 512)["kept"])

    def test_a_question_left_open_is_answered(self):
        by_epsilon = answer("plan", "--users", 3600, "--tokens-per-user", 2400, "--answers", 10240, "--kept", 0.6)
        self.assertLessEqual(by_epsilon[0]["user_epsilon"], 8)  # 0.7 is kept at 8
        self.assertGreaterEqual(by_epsilon[0]["kept"], 0.6)
        by_answers = answer("plan", "--users", 3600, "--tokens-per-user", 2400, "--epsilon", 8, "--kept", 0.6)
        self.assertGreater(by_answers[0]["answers"], 10240)
        by_users = answer("plan", "--tokens-per-user", 2400, "--epsilon", 8, "--answers", 10240)
        self.assertLess(by_users[0]["users"], 3600)
        self.assertGreaterEqual(by_users[0]["kept"], 0.5)

    def test_another_public_model_was_not_measured(self):
        rows = answer("plan", *BOTH, "--public", self.public)  # its shape is the measured one's
        self.assertIsNotNone(rows[0]["kept"])
        config = (SOURCE / "data/public_model/config.json").read_text()
        with tempfile.TemporaryDirectory() as deeper:
            (pathlib.Path(deeper) / "config.json").write_text(config.replace('"n_layer": 6', '"n_layer": 12'))
            rows = answer("plan", *ASKED, "--public", deeper)
            text = run("plan", *ASKED, "--public", deeper).stdout
        self.assertEqual({row["kept"] for row in rows}, {None})
        self.assertIn("none is called best", text)
        self.assertNotIn("The first:", text)

    def test_speaks_from_the_measured_model_that_the_public_one_is_like(self):
        config = json.loads((SOURCE / "testdata/families/tiny-llama/config.json").read_text())
        config.update(hidden_size=576, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3, head_dim=64)
        asked = ["plan", "--users", 726, "--tokens-per-user", 440, "--epsilon", 8, "--delta", 1e-6, "--answers", 1024]
        with tempfile.TemporaryDirectory() as public:
            (pathlib.Path(public) / "config.json").write_text(json.dumps(config))
            rows, text = answer(*asked, "--public", public), run(*asked, "--public", public).stdout
        self.assertIsNotNone(rows[0]["kept"])
        self.assertIn("with SmolLM2-135M-Instruct", " ".join(text.split()))
        by_name = {row["mechanism"]: row for row in reversed(rows)}
        self.assertIn("--epochs 3 --learning-rate 0.001", by_name["dclip"]["commands"][0])  # as it was measured
        self.assertIn("--steps 16", by_name["dp-sgd"]["commands"][0])
        self.assertEqual({row["kept"] for row in answer(*asked)}, {None})  # the small model knows no corpus like it

    def test_times_are_measured_once_and_what_takes_too_long_is_left_out(self):
        cache = tempfile.TemporaryDirectory()
        self.addCleanup(cache.cleanup)
        self.enterContext(unittest.mock.patch.dict(os.environ, XDG_CACHE_HOME=cache.name))
        asked = ["plan", *ASKED, "--public", SOURCE / "testdata/families/tiny-llama", "--minutes"]
        rows = answer(*asked, 1e9)
        self.assertEqual({row["mechanism"] for row in rows}, {"dclip", "filtered-submix", "dp-sgd"})
        # How long it takes is the machine's; what more members and more passes add to it is not.
        by_parts = sorted((row["parts"] or 0, row["ms_per_answer"]) for row in rows)
        times = [milliseconds for _, milliseconds in by_parts]
        self.assertGreater(times[0], 0)  # the privately trained model's
        self.assertEqual(times, sorted(times))
        minutes = {row["passes"]: row["train_minutes"] for row in rows if row["mechanism"] == "dclip"}
        self.assertAlmostEqual(minutes[3] / minutes[1], 3, delta=0.4)  # two digits
        self.assertEqual(answer(*asked, 1e9), rows)  # measured anew, they would differ
        slow = run(*asked, 1e-6)
        self.assertEqual((slow.returncode, slow.stderr), (0, ""), "it measured again")
        self.assertIn("nothing is trained within 1e-06 minutes", " ".join(slow.stdout.split()))
        self.assertEqual(answer(*asked, 1e-6), rows)
        shown = run("cache")
        self.assertRegex(shown.stdout, r"MiB  [0-9a-f]{32}\.times\n")
        self.assertRegex(run("cache", "--empty").stdout, r"^ +0\.0 MiB of at most 8192 in ")
        self.assertEqual(json.loads(run("cache", "--json").stdout)["files"], [])
        self.assertEqual(run("plan", *ASKED, "--minutes", 60).returncode, 2)  # of which model?

    def test_needs_the_other_program_only_to_measure(self):
        with tempfile.TemporaryDirectory() as alone:
            program = shutil.copy(BUILD / "submix", alone)
            asked = [program, "plan", *ASKED]
            planned = subprocess.run([*asked, "--json"], capture_output=True, text=True, check=True)
            self.assertEqual(json.loads(planned.stdout)["rows"], answer("plan", *ASKED))
            measured = subprocess.run([*asked, "--public", self.public, "--minutes", "60"], capture_output=True, text=True,
                                      check=False)
            self.assertEqual(measured.returncode, 1)
            self.assertRegex(measured.stderr, rf"^submix: cannot run {alone}/submix-train: .*; this command needs it "
                                              "beside this program\n$")

    def test_wrong_questions_end_in_one_line(self):
        for words, *arguments in (("find the third", "--users", 3600, "--tokens-per-user", 2400),
                                  ("--kept asks", *ASKED, "--kept", 0.5),
                                  ("nothing that was measured", *ASKED[:6], "--kept", 0.99),
                                  ("nothing that was measured", *ASKED[:2], "--tokens-per-user", 20, "--epsilon", 8)):
            result = run("plan", *arguments)
            self.assertEqual(result.returncode, 1, result)
            self.assertEqual(len(result.stderr.splitlines()), 1, result)
            self.assertIn(words, result.stderr)
        self.assertEqual(run("plan", *ASKED, "--epsilon", "nan").returncode, 2)
        self.assertEqual(run("plan", "--users", 10, "--epsilon", 1).returncode, 2)

    def test_the_commands_do_what_the_table_says(self):
        """On some of Shakespeare's lines: too few to expect anything of, but enough to run."""
        lines = (SOURCE / "data/shakespeare.jsonl").read_text().splitlines(keepends=True)[:4]
        lines += [json.dumps({"user": f"another {user}", "text": "The sea and the hill."}) + "\n" for user in range(80)]
        few = answer("plan", "--users", 100, "--tokens-per-user", 2400, "--epsilon", 8, "--answers", 64, "--public", self.public)
        many = answer("plan", *BOTH, "--public", self.public)

        @functools.cache
        def train(*trainings):
            """Where they have run, and what the last one said."""
            folder = tempfile.TemporaryDirectory()
            self.addCleanup(folder.cleanup)
            (pathlib.Path(folder.name) / "text.jsonl").write_text("".join(lines))
            for training in trainings:
                trained = run(*shlex.split(training)[1:], work=folder.name)
                self.assertEqual(trained.returncode, 0, trained)
            return folder.name, trained

        for rows, name in ((few, "dclip"), (few, "filtered-submix"), (many, "dp-sgd"), (many, "dclip over dp-sgd")):
            row = next(row for row in rows if row["mechanism"] == name)
            with self.subTest(name), tempfile.TemporaryDirectory() as work:
                *trainings, deploy = row["commands"]
                folder, trained = train(*trainings)
                shutil.copytree(folder, work, dirs_exist_ok=True)  # an ensemble has one budget
                if name != "dp-sgd":
                    self.assertIn(f"{row['passes']} pass", trained.stdout)
                deployed = run(*shlex.split(deploy)[1:], work=work)
                self.assertEqual(deployed.returncode, 0, deployed)
                promised = re.search(r"\(([0-9.]+), ([0-9e.-]+)\)-differentially private for one",
                                     " ".join((deployed.stdout + trained.stdout).split()))
                self.assertIsNotNone(promised, (trained, deployed))
                self.assertEqual(float(promised[2]), row["delta"])
                self.assertLessEqual(float(promised[1]), 8)
                self.assertAlmostEqual(float(promised[1]), row["user_epsilon"], delta=0.0011)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
