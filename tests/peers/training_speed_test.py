#!/usr/bin/env python3
"""How fast a real model is trained, beside PEFT in torch's own loop and beside Opacus, in float32 on the same processors.

    training_speed_test.py BUILD_DIR SOURCE_DIR
"""

import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

from peers import BUILD, compared, main, real_model
from peers import submix as run_program

sys.path.insert(0, str(BUILD / "python"))
import submix.opacus

RANK, BATCH, BLOCK, STEPS = 16, 8, 128, 3
USERS, FEW, MANY = 16, 1, 3  # steps of two trainings, whose difference is without reading the model
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def seconds_of_peft(model, adapter):
    """Median of an update's."""
    import peft
    import torch
    from transformers import AutoModelForCausalLM
    trained = peft.get_peft_model(AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32), adapter)
    optimiser = torch.optim.AdamW([one for one in trained.parameters() if one.requires_grad], lr=1e-4)
    seconds = []
    for _ in range(STEPS):
        ids = torch.randint(0, trained.config.vocab_size, (BATCH, BLOCK))
        begin = time.monotonic()
        trained(input_ids=ids, labels=ids, use_cache=False).loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        seconds.append(time.monotonic() - begin)
    return statistics.median(seconds)


class TrainingSpeedTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="submix_speed_")
        self.addCleanup(directory.cleanup)
        self.work, self.model = pathlib.Path(directory.name), real_model("smollm2-135m-instruct")

    def test_adapters(self):
        import peft
        done = subprocess.run([BUILD / "fine_tune_benchmark", "--model", self.model, "--methods", "lora", "--precisions", "f32", "--members", "1",
                               "--batch-size", str(BATCH), "--block-tokens", str(BLOCK), "--rank", str(RANK), "--steps", str(STEPS), "--json"],
                              capture_output=True, text=True, check=True)
        ours = json.loads(done.stdout.splitlines()[-1])["tokens_per_second"]
        theirs = BATCH * BLOCK / seconds_of_peft(self.model, peft.LoraConfig(
            r=RANK, lora_alpha=RANK, target_modules=TARGETS, task_type="CAUSAL_LM"))
        compared(f"adapters of rank {RANK} on all products of SmolLM2-135M-Instruct, {BATCH} blocks of {BLOCK} tokens: {ours:.0f} tokens/s, "
                 f"{theirs:.0f} by PEFT ({ours / theirs:.2f} times)")

    def users_a_second(self, train):
        seconds = []
        for steps in FEW, MANY:
            begin = time.monotonic()
            train(steps)
            seconds.append(time.monotonic() - begin)
        return USERS * (MANY - FEW) / (seconds[1] - seconds[0])

    def test_private_steps(self):
        """Every user in every step, so that both do the same work."""
        text, rng = self.work / "text.jsonl", random.Random(5)
        words = pathlib.Path(__file__).read_text().split()
        text.write_text("".join(json.dumps({"user": f"user {n}", "text": " ".join(rng.choices(words, k=2 * BLOCK))}) + "\n"
                                for n in range(USERS)))

        def ours(steps):
            done = run_program("train", text, self.work / f"ours{steps}", "--public", self.model, "--private", "dp-sgd", "--epsilon", 100,
                               "--delta", 1e-5, "--steps", steps, "--expected-batch", USERS, "--rank", RANK, "--targets", "all-linear",
                               "--precision", "f32", "--block-tokens", BLOCK, "--tokens-per-user", BLOCK, "--heldout-fraction", 0,
                               program="submix-train")
            self.assertEqual(done.returncode, 0, done.stderr)

        def theirs(steps):
            import peft
            submix.opacus.train(str(text), self.work / f"theirs{steps}", public=str(self.model), steps=steps, epsilon=100, delta=1e-5,
                                expected_batch=USERS, adapter=peft.LoraConfig(r=RANK, lora_alpha=RANK, target_modules=TARGETS, task_type="CAUSAL_LM"),
                                block_tokens=BLOCK, tokens_per_user=BLOCK, precision="f32", progress=False)

        fast, slow = self.users_a_second(ours), self.users_a_second(theirs)
        compared(f"DP-SGD of SmolLM2-135M-Instruct, rank {RANK} on all products, users of {BLOCK} tokens: {fast:.2f} users/s, {slow:.2f} by "
                 f"Opacus' gradients ({fast / slow:.2f} times)")


if __name__ == "__main__":
    main()
