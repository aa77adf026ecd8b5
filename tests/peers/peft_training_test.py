#!/usr/bin/env python3
"""submix.peft: ensembles that PEFT trains are ensembles, and as good as those of `submix train`.

    peft_training_test.py BUILD_DIR SOURCE_DIR
"""

import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import datasets
import pandas

from peers import BUILD, BUNDLED, SOURCE, compared, main
from peers import submix as run_program

sys.path.insert(0, str(BUILD / "python"))
import submix.peft

KEY = SOURCE / "data/demo_partition.key"
TEXTS = SOURCE / "data/shakespeare.jsonl"
OPTIONS = {"parts": 4, "heldout_fraction": 0.25, "partition_key": str(KEY), "epochs": 2, "precision": "f32", "learning_rate": 0.0005}


def records():
    rows = [json.loads(line) for line in TEXTS.read_text(encoding="utf-8").splitlines()]
    users = sorted({row["user"] for row in rows})
    chosen = set(random.Random(54).sample(users, 24))
    return [row for row in rows if row["user"] in chosen][:300]


def manifest(ensemble):
    return json.loads((pathlib.Path(ensemble) / "manifest.json").read_text())


class PeftTrainingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix="submix_peft_"))
        cls.addClassCleanup(shutil.rmtree, cls.work)
        cls.rows = records()
        cls.file = cls.work / "texts.jsonl"
        cls.file.write_text("".join(json.dumps(row) + "\n" for row in cls.rows))
        begin = time.monotonic()
        cls.ensemble = submix.peft.train(str(cls.file), str(cls.work / "peft"), public=BUNDLED, progress=False, **OPTIONS)
        cls.seconds = time.monotonic() - begin

    def run_submix(self, *words, program="submix-train"):
        done = run_program(*words, program=program)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def perplexities(self, ensemble):
        found = json.loads(self.run_submix("evaluate", ensemble, "--heldout", self.file, "--epsilon", 8, "--tokens", 400,
                                           "--runs", 1, "--json"))
        return found["baselines"][0]

    def ours(self, name, *flags):
        ensemble = self.work / name
        self.run_submix("train", self.file, ensemble, "--public", BUNDLED, "--parts", 4, "--heldout-fraction", 0.25,
                        "--partition-key", KEY, "--epochs", 2, "--precision", "f32", "--learning-rate", 0.0005, *flags)
        return ensemble

    def test_it_is_as_good_as_our_own(self):
        begin = time.monotonic()
        other = self.ours("ours")
        seconds = time.monotonic() - begin
        ours, theirs = self.perplexities(other), self.perplexities(self.ensemble)
        self.assertEqual(ours["public_perplexity"], theirs["public_perplexity"])
        self.assertLess(theirs["ensemble_perplexity"], theirs["public_perplexity"])
        self.assertAlmostEqual(theirs["ensemble_perplexity"] / ours["ensemble_perplexity"], 1, delta=0.02)
        a, b = manifest(other), manifest(self.ensemble)
        for field in "num_parts", "heldout_fraction", "partition_key_id", "users":
            self.assertEqual(a[field], b[field])
        self.assertEqual([member["steps"] for member in a["members"]], [member["steps"] for member in b["members"]])
        self.assertEqual({**a["hyper_parameters"], "trainer": "peft"}, b["hyper_parameters"])
        self.assertNotEqual(a["members"][0]["recipe_sha256"], b["members"][0]["recipe_sha256"])
        compared(f"4 members by PEFT and by submix train: held-out perplexity {theirs['ensemble_perplexity']:.2f} and "
                 f"{ours['ensemble_perplexity']:.2f} (public {ours['public_perplexity']:.2f}); {self.seconds:.0f} and {seconds:.0f} s")

    def test_records_of_every_kind_train_the_same(self):
        pairs = [(row["user"], row["text"]) for row in self.rows]

        named = {"user_column": "who", "text_column": "says"}
        columns = {"who": [user for user, _ in pairs], "says": [text for _, text in pairs]}
        for name, texts, columns in (("pairs", iter(pairs), {}), ("rows", iter(self.rows), {}), ("pandas", pandas.DataFrame(columns), named),
                                     ("datasets", datasets.Dataset.from_dict(columns), named)):
            with self.subTest(name), submix.peft.corpus_file(texts, **columns) as corpus:
                with submix.EnsembleTraining(corpus, str(self.work / name), public=str(BUNDLED), trainer="peft", **OPTIONS):
                    pass
                self.assertEqual([member["recipe_sha256"] for member in manifest(self.work / name)["members"]],
                                 [member["recipe_sha256"] for member in manifest(self.ensemble)["members"]])

    def test_interrupted_it_goes_on_to_the_same_weights(self):
        import torch
        cut = self.work / "cut"
        updates, update = 0, submix.peft._Member._update

        def dies(member):
            nonlocal updates
            updates += 1
            if updates == 7:
                raise KeyboardInterrupt
            update(member)

        submix.peft._Member._update = dies
        try:
            with self.assertRaises(KeyboardInterrupt):
                submix.peft.train(str(self.file), str(cut), public=BUNDLED, progress=False, checkpoint_every=2, **OPTIONS)
        finally:
            submix.peft._Member._update = update
        submix.peft.train(str(self.file), str(cut), public=BUNDLED, progress=False, checkpoint_every=2, **OPTIONS)
        threads = torch.get_num_threads()
        for member in manifest(cut)["members"]:
            a, b = (pathlib.Path(ensemble) / member["directory"] / "adapter_model.safetensors" for ensemble in (cut, self.ensemble))
            self.assertEqual(a.read_bytes(), b.read_bytes(), f"{member['directory']}, {threads} threads")
        self.assertEqual(list((cut / "members").glob("*.partial")), [])

    def test_a_member_knows_its_own_part_alone(self):
        fewer = self.work / "fewer"
        gone = self.rows[0]["user"]
        submix.peft.train((row for row in self.rows if row["user"] != gone), str(fewer), public=BUNDLED, progress=False, **OPTIONS)
        other = [a["directory"] for a in manifest(self.ensemble)["members"]
                 if (fewer / a["directory"] / "adapter_model.safetensors").read_bytes()
                 != (pathlib.Path(self.ensemble) / a["directory"] / "adapter_model.safetensors").read_bytes()]
        self.assertLessEqual(len(other), 1)  # none where the user was held out

    def test_deploy_and_generate_take_it(self):
        ensemble = shutil.copytree(self.ensemble, self.work / "served")
        submix.deploy(str(ensemble), str(self.work / "deployment"), epsilon=8, mechanism="dclip")
        self.run_submix("generate", self.work / "deployment", "The", "--max-tokens", 5, program="submix")

    def test_forget_takes_it(self):
        ensemble = shutil.copytree(self.ensemble, self.work / "forgetting")
        before = manifest(ensemble)["members"]
        for user in sorted({row["user"] for row in self.rows}):
            self.run_submix("forget", ensemble, "--corpus", self.file, "--user", user)
            if manifest(ensemble)["generation"] == 2:  # else held out
                break
        after = manifest(ensemble)
        self.assertEqual(len([b for a, b in zip(before, after["members"]) if a != b]), 1)
        self.assertEqual(len(after["forgotten"]), 1)

    def test_readme_runs_as_it_stands(self):
        code = re.search(r"^```python\n(.*?)^```$", (SOURCE / "README.md").read_text(), re.M | re.S)[1]
        place = self.work / "reader"
        place.mkdir()
        (place / "data").symlink_to(SOURCE / "data")
        done = subprocess.run([sys.executable, "-c", code], cwd=place, capture_output=True, text=True, check=False,
                              env={"PYTHONPATH": str(BUILD / "python"), "HF_HUB_OFFLINE": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("differentially private for one user's text", " ".join(done.stdout.split()))

    def test_what_cannot_be_is_refused(self):
        def refused(kind, said, **options):
            with self.assertRaisesRegex(kind, said):
                submix.peft.train(str(self.file), str(self.work / "no"), public=BUNDLED, progress=False, **{**OPTIONS, **options})
        refused(ValueError, "top layers: expected 0 to 6", top_layers=99)
        refused(ValueError, "parts: expected 1 to", parts=0)
        refused(ValueError, "epochs: expected a whole number, found 1.5", epochs=1.5)
        refused(ValueError, "rank: expected 1 to", rank=0)
        refused(ValueError, "loss: expected answers or all", loss="some")
        refused(TypeError, "unexpected keyword argument 'epoch'", epoch=1)
        with self.assertRaises(FileNotFoundError):
            submix.peft.train(str(self.work / "nothing.jsonl"), str(self.work / "no"), public=BUNDLED, progress=False)
        with self.assertRaisesRegex(submix.Error, "other options"):
            submix.peft.train(str(self.file), self.ensemble, public=BUNDLED, progress=False, **{**OPTIONS, "epochs": 3})
        with self.assertRaisesRegex(ValueError, "user"):
            submix.peft.train([{"text": "nobody's"}], str(self.work / "no"), public=BUNDLED, progress=False)


if __name__ == "__main__":
    main()
