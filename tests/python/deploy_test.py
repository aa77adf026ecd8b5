"""submix.deploy against `submix deploy`: the same declaration, the same refusals.

    deploy_test.py BUILD_DIR SOURCE_DIR
"""

import json
import math
import pathlib
import shutil
import sys
import unittest
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from submix_process import BUILD, PUBLIC, WorkFolderTest, make_ensemble, make_private_model, promised_epsilon, run

sys.path.insert(0, str(BUILD / "python"))
import submix


class DeployTest(WorkFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ensemble = make_ensemble(cls.work)

    def copy_of_the_ensemble(self, name):
        return str(shutil.copytree(self.ensemble, self.work / name))

    def declared(self, deployment):
        """deployment.json without what is drawn or copied."""
        config = json.loads((pathlib.Path(deployment) / "deployment.json").read_text())
        return {key: value for key, value in config.items() if "ensemble" not in key and key != "lineage"}

    def test_it_declares_what_the_command_declares(self):
        for number, (flags, keywords) in enumerate([
            ([], {}),
            (["--epsilon", 3, "--queries", 64, "--order", 4], {"epsilon": 3, "queries": 64, "order": 4}),
            (["--unit", "user", "--epsilon", 8, "--delta", 1e-5], {"unit": "user", "epsilon": 8, "delta": 1e-5}),
            (["--mechanism", "dclip", "--when-exhausted", "refuse", "--target-leakage", 0.01],
             {"mechanism": "dclip", "when_exhausted": "refuse", "target_leakage": 0.01}),
            (["--max-mixing-weight", 0.25, "--order", "inf"], {"max_mixing_weight": 0.25, "order": math.inf}),
            (["--mechanism", "dclip", "--clip-stretch", 1.75, "--clip-centre", 0.25],
             {"mechanism": "dclip", "clip_stretch": 1.75, "clip_centre": 0.25}),
            (["--mechanism", "screened", "--screened-mechanism", "dclip", "--screen-tokens", 9],
             {"mechanism": "screened", "screened_mechanism": "dclip", "screen_tokens": 9}),
        ]):
            with self.subTest(flags), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                command, python = str(self.work / f"command{number}"), str(self.work / f"python{number}")
                said = run("deploy", self.copy_of_the_ensemble(f"a{number}"), command, *flags).stdout
                promise = submix.deploy(self.copy_of_the_ensemble(f"b{number}"), python, **keywords)
                self.assertIn(promise, said)
                self.assertEqual(self.declared(python), self.declared(command))
                with submix.open(python) as deployment:
                    self.assertEqual(deployment.statement, promise)
                    self.assertRegex(repr(deployment), r"^Deployment\(mechanism='[a-z-]+', rows=\d+\)$")
                    self.assertRegex(repr(deployment.budget[0]), r"^Account\(name='[^']+', budget=[\d.]+\)$")
                self.assertEqual(repr(deployment), "Deployment(closed)")

    def test_a_promise_to_users_counts_what_the_public_model_cost(self):
        folder = self.work / "private"
        folder.mkdir()
        ensemble = make_ensemble(folder, make_private_model(folder / "model"))
        for mechanism in ("dclip", "filtered-submix"):
            with self.subTest(mechanism), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                above, beside = (shutil.copytree(ensemble, folder / f"{name}_{mechanism}") for name in "ab")
                promise = submix.deploy(str(above), str(folder / mechanism), mechanism=mechanism, unit="user", epsilon=8,
                                        delta=1e-5)
                self.assertAlmostEqual(promised_epsilon(promise, 1e-5), 8, delta=0.1)
                self.assertLessEqual(promised_epsilon(promise, 1e-5), 8)
                run("deploy", beside, folder / f"command_{mechanism}", "--mechanism", mechanism, "--unit", "user",
                    "--epsilon", 8, "--delta", 1e-5)
                self.assertEqual(self.declared(folder / mechanism), self.declared(folder / f"command_{mechanism}"))

    def test_who_trains_another_ensemble_of_the_same_users_is_told_that_losses_add_up(self):
        folder = self.work / "beside"
        folder.mkdir()
        ensemble = make_ensemble(folder)

        def train(name):
            training = submix.EnsembleTraining(str(folder / "text.jsonl"), str(folder / name), public=str(PUBLIC), trainer="mine",
                                               parts=2)
            training.close()

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            train("first")  # beside an ensemble that nobody may ask
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            submix.deploy(str(ensemble), str(folder / "deployed"))
        with self.assertWarnsRegex(UserWarning, r"add up: .*deployed \(\d+ of these \d+ users\)"):
            train("second")

    def test_few_users_are_warned_of_a_large_delta(self):
        with self.assertWarnsRegex(UserWarning, "For you alone"):
            submix.deploy(self.copy_of_the_ensemble("few"), str(self.work / "few_tales"), delta=0.1)

    def test_what_cannot_be_declared_is_refused_and_nothing_is_made(self):
        ensemble = self.copy_of_the_ensemble("refused")
        directory = self.work / "refused_tales"
        for keywords, cause in [
            ({"mechanism": "submix"}, "not among those that are proven"), ({"epsilon": math.nan}, "epsilon|leakage"),
            ({"epsilon": -1}, "epsilon|leakage"), ({"order": 0}, "order"), ({"queries": 0}, "queries"),
            ({"unit": "town"}, "unit"), ({"delta": 2}, "delta"), ({"when_exhausted": "stop"}, "public"),
            ({"max_mixing_weight": 7}, "max_mixing_weight"),
            ({"unit": "user", "target_leakage": 0.1}, "leave it out"),
        ]:
            with self.subTest(keywords), self.assertRaisesRegex(ValueError, cause):
                submix.deploy(ensemble, str(directory), **keywords)
        self.assertFalse(directory.exists())
        submix.deploy(ensemble, str(directory), delta=1e-9)
        with self.assertRaisesRegex(submix.Error, "deployment"):
            submix.deploy(ensemble, str(self.work / "second"))
        with self.assertRaises(FileNotFoundError):
            submix.deploy(str(self.work / "nowhere"), str(self.work / "third"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
