#!/usr/bin/env python3
"""submix.opacus beside Opacus and torch: gradients of users, clipped sums, epsilon; a private training from end to end.

    opacus_test.py BUILD_DIR SOURCE_DIR
"""

import json
import math
import os
import pathlib
import random
import re
import shutil
import sys
import tempfile
import unittest

from peers import BUILD, BUNDLED, SOURCE, compared, main
from peers import submix as run_program

sys.path.insert(0, str(BUILD / "python"))
import numpy
import opacus.accountants
import submix.opacus
import torch

OPTIONS = {"public": BUNDLED, "steps": 4, "epsilon": 8, "delta": 1e-5, "learning_rate": 0.002, "progress": False}


def rows():
    lines = [json.loads(line) for line in (SOURCE / "data/shakespeare.jsonl").read_text(encoding="utf-8").splitlines()]
    users = sorted({row["user"] for row in lines})
    chosen = set(random.Random(54).sample(users, 40))
    return [row for row in lines if row["user"] in chosen][:300]


class OpacusTest(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="submix_opacus_"))
        self.addCleanup(shutil.rmtree, self.work)

    def steps(self, name="account", training="tests", **numbers):
        return submix.PrivateSteps(str(self.work / name), training, **{
            "parameters": 1000, "units": 50, "expected_batch": 25, "steps": 10, "clip": 1.0, "epsilon": 8, "delta": 1e-5, **numbers})

    def test_epsilon_is_that_of_opacus(self):
        rng, apart = random.Random(54), 0.0
        for _ in range(100):
            q, noise, steps, delta = 10 ** rng.uniform(-3, -0.3), rng.uniform(0.6, 4), rng.randint(1, 2000), 10 ** rng.uniform(-8, -4)
            accountant = opacus.accountants.RDPAccountant()
            accountant.history = [(noise, q, steps)]
            theirs = accountant.get_epsilon(delta)
            ours = submix.accounting.dp_sgd(q, noise).epsilon(steps, delta).epsilon
            self.assertLess(ours / theirs, 1.01)  # either looks at orders that the other has not
            divergence = opacus.accountants.analysis.rdp.compute_rdp(q=q, noise_multiplier=noise, steps=steps, orders=[16])[0]
            self.assertAlmostEqual(submix.accounting.dp_sgd(q, noise).rdp(16, steps) / divergence, 1, delta=1e-6)
            apart = max(apart, 1 - ours / theirs)
        compared(f"epsilon of 100 random trainings: that of Opacus, or up to {apart:.1%} less, by more orders; at order 16 the same")

    def test_sums_are_those_of_opacus(self):
        """Of the same gradients, clipped as its optimiser clips; a little noise between them."""
        from opacus.optimizers import DPOptimizer
        gradients = numpy.random.default_rng(54).normal(size=(50, 1000)).astype(numpy.float32) * numpy.float32(0.05)
        gradients[::3] *= 0.3  # these are not clipped
        parameter = torch.nn.Parameter(torch.zeros(1000))
        parameter.grad_sample = torch.from_numpy(gradients)
        DPOptimizer(torch.optim.SGD([parameter], lr=1.0), noise_multiplier=0.0, max_grad_norm=1.0, expected_batch_size=25).pre_step()
        private = self.steps(noise_multiplier=0.03, epsilon=8000, delta=0.5, expected_batch=50, steps=1)
        batch = private.draw(50)
        self.assertEqual(batch, list(range(50)))  # each with probability 1
        for unit in batch:
            private.add(unit, gradients[unit])
        ours = private.release() * 2  # over 50
        apart = numpy.abs(ours - parameter.grad.numpy()).max()
        self.assertLess(apart, 6 * 0.03 / 25)
        spread = (ours - parameter.grad.numpy()).std() / (0.03 / 25)
        self.assertAlmostEqual(spread, 1, delta=0.15)  # of 1,000 numbers
        compared(f"clipped sums of 50 gradients: apart by the noise alone, {spread:.2f} of what was declared")

    def test_gradients_of_users_are_those_of_torch(self):
        import peft
        import transformers
        from submix.peft import begin_adapter, padded
        model = peft.get_peft_model(transformers.AutoModelForCausalLM.from_pretrained(BUNDLED, dtype=torch.float32),
                                    peft.LoraConfig(r=4, target_modules="all-linear"))
        begin_adapter(model, 1)
        with torch.no_grad():  # so that A has a gradient, too
            for name, parameter in model.named_parameters():
                if "lora_B" in name:
                    parameter.normal_(0, 0.01, generator=torch.Generator().manual_seed(1))
        with submix.opacus.corpus_file(rows()) as corpus:
            users = submix.read_users(corpus, str(BUNDLED))
        plain = []
        model.eval()
        for user in users[:12]:
            ids, labels = padded(user)
            logits = model(input_ids=ids).logits
            model.zero_grad()
            torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100).backward()
            plain.append(torch.cat([one.grad.flatten() for one in model.parameters() if one.requires_grad]).numpy())
        model = submix.opacus.gradients_of_rows(model)
        training = submix.opacus._Training(model, [one for one in model.parameters() if one.requires_grad], None, users, self.work,
                                           0.001, 7, "f32")
        found = dict(training._gradients(list(range(12))))
        self.assertEqual(sorted(found), list(range(12)))
        apart = max(numpy.abs(found[unit] - plain[unit]).max() / numpy.abs(plain[unit]).max() for unit in found)
        self.assertLess(apart, 1e-4)
        compared(f"gradients of 12 users' mean losses, by rows of Opacus and one by one: {apart:.1e} apart (relative)")

    def test_a_training_from_end_to_end(self):
        trained = submix.opacus.train(rows(), self.work / "mine", **OPTIONS)
        promised = re.search(r"\(([0-9.]+), 1e-05\)-differentially private for one user", " ".join(trained.statement.split()))
        self.assertLessEqual(float(promised[1]), 8)
        cost = json.loads((pathlib.Path(trained.model) / "private_training.json").read_text())
        self.assertEqual((cost["mechanism"], cost["unit"], cost["steps"]), ("dp-sgd", "user", 4))
        self.assertAlmostEqual(cost["epsilon"], float(promised[1]), delta=0.01)
        # What is made above it counts it: the same users are in both.
        text = self.work / "text.jsonl"
        text.write_text("".join(json.dumps(row) + "\n" for row in rows()))
        done = run_program("train", text, self.work / "above", "--public", trained.model, "--parts", 2, "--epochs", 1, program="submix-train")
        self.assertEqual(done.returncode, 0, done.stderr)
        said = submix.deploy(str(self.work / "above"), str(self.work / "deployment"), epsilon=1, queries=64)
        self.assertIn("all answers and the public model together", " ".join(said.split()))
        self.assertEqual(submix.opacus.train(rows(), self.work / "mine", **OPTIONS), trained)  # nothing is trained or paid again

    def test_a_step_that_is_lost_stays_paid(self):
        save = submix.opacus.save_checkpoint

        def dies(path, step, *state):
            if step == 2:
                raise KeyboardInterrupt
            save(path, step, *state)

        submix.opacus.save_checkpoint = dies
        try:
            with self.assertRaises(KeyboardInterrupt):
                submix.opacus.train(rows(), self.work / "cut", **OPTIONS)
        finally:
            submix.opacus.save_checkpoint = save
        trained = submix.opacus.train(rows(), self.work / "cut", **OPTIONS)
        cost = json.loads((pathlib.Path(trained.model) / "private_training.json").read_text())
        self.assertEqual(cost["steps"], 4)  # those that the budget pays for; three are in the weights
        with self.assertRaisesRegex(submix.Error, "another"):
            submix.opacus.train(rows(), self.work / "cut", **{**OPTIONS, "learning_rate": 0.001})

    def test_what_is_in_the_weights_is_in_the_account(self):
        trained = submix.opacus.train(rows(), self.work / "mine", **OPTIONS)
        with self.assertRaisesRegex(submix.Error, "trained"):  # its cost would be forgotten
            submix.opacus.train(rows(), self.work / "again", **{**OPTIONS, "public": trained.model})
        shutil.rmtree(self.work / "mine/account")
        with self.assertRaisesRegex(submix.Error, "fewer steps than the weights"):
            submix.opacus.train(rows(), self.work / "mine", **OPTIONS)

    def test_a_fork_takes_no_step(self):
        private = self.steps()
        private.draw(50)
        process = os.fork()
        if process == 0:
            try:
                private.release()
            except submix.Error:
                os._exit(7)
            os._exit(0)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), 7)
        self.assertIsNotNone(private.release())

    def test_steps_refuse_what_would_not_be_private(self):
        private = self.steps()
        zeros = numpy.zeros(1000, numpy.float32)
        with self.assertRaisesRegex(ValueError, "no batch was drawn"):
            private.release()
        with self.assertRaisesRegex(ValueError, "not of the batch"):
            private.add(0, zeros)
        batch = private.draw(50)
        private.add(batch[0], zeros)
        with self.assertRaisesRegex(ValueError, "added already"):
            private.add(batch[0], zeros)
        for wrong in numpy.zeros(999, numpy.float32), numpy.zeros(1000), numpy.zeros((1, 1000), numpy.float32), zeros[::2]:
            with self.assertRaisesRegex(ValueError, "gradient: expected float32"):
                private.add(batch[1], wrong)
        private.add(batch[1], numpy.full(1000, math.nan, numpy.float32))
        self.assertTrue(numpy.isfinite(private.release()).all())
        self.assertEqual((private.charged, private.left >= 9), (1, True))
        with self.assertRaisesRegex(ValueError, "no batch was drawn"):
            private.release()
        for numbers, said in (({"clip": 0}, "clip: expected"), ({"expected_batch": 51}, "expected_batch: expected"),
                              ({"noise_multiplier": -1}, "noise multiplier: expected"), ({"noise_multiplier": math.nan}, "noise multiplier: expected"),
                              ({"epsilon": 1e-9}, ""), ({"delta": 0}, ""), ({"steps": 0}, "steps: expected")):
            with self.subTest(numbers), self.assertRaisesRegex(ValueError, said):
                self.steps(name="other", **numbers)
        while private.left:
            private.draw(50)
            self.assertIsNotNone(private.release())
        private.draw(50)
        self.assertIsNone(private.release())


if __name__ == "__main__":
    main()
