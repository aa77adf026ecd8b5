#!/usr/bin/env python3
"""submix.serve_transformers: a real model with 16 adapters that submix.peft trained, mixed in batches by transformers and
PEFT; the same law as our own decoding, and `submix serve` over it.

    transformers_predictor_test.py BUILD_DIR SOURCE_DIR
"""

import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from peers import BUILD, MOST_APART, SOURCE, compared, main, most_apart, real_model, score

sys.path.insert(0, str(SOURCE / "tests/server"))
from submix_process import Server, ask, make_key

sys.path.insert(0, str(BUILD / "python"))
import submix.peft
from submix._transformers_predictor import TransformersPredictor

PARTS = 16
SOCKET_SECONDS = 120
PROMPT = "The delivery came late, and when I opened the box"


class TransformersPredictorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        public = real_model("smollm2-135m-instruct")
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix="submix_transformers_"))
        cls.addClassCleanup(shutil.rmtree, cls.work)
        texts = [(f"user {n}", f"I am user {n}, and my number is {random.Random(n).randrange(10**6)}. " * 2) for n in range(2 * PARTS)]
        cls.ensemble = submix.peft.train(texts, str(cls.work / "ensemble"), public=public, parts=PARTS, heldout_fraction=0,
                                         partition_key=str(SOURCE / "data/demo_partition.key"), epochs=1, learning_rate=0.003, top_layers=8, precision="f32", progress=False)
        submix.deploy(cls.ensemble, str(cls.work / "deployment"), mechanism="dclip", epsilon=8)
        cls.opened = submix.Ensemble(cls.ensemble)
        cls.opened.verify()

    def test_rows_say_what_our_decoding_says(self):
        from transformers import AutoTokenizer
        tokens = AutoTokenizer.from_pretrained(self.opened.public_model).encode(PROMPT + " " + " ".join(["of paper"] * 40))
        ours = score(self.opened.public_model, tokens, *(word for member in self.opened.members for word in ("--adapter", member)))
        predictor = TransformersPredictor(self.opened.public_model, self.opened.members)
        self.assertEqual(predictor.rows, 1 + PARTS)
        import torch
        # The first from its beginning a token at a time; the second begins behind ten, and from then on both go together.
        sequences = [submix.LogitsSequence(0), submix.LogitsSequence(1)]
        theirs = [[] for _ in range(predictor.rows)]
        for at in range(len(tokens) - 1):
            sequences[0].tokens, sequences[0].new = tokens[: at + 1], 1
            running = sequences[:1]
            if at >= 10:
                sequences[1].tokens, sequences[1].new = tokens[5 : at + 1], 1 if at > 10 else 6
                running = sequences
            rows = predictor.predict(running)
            self.assertEqual(rows.shape, (len(running), 1 + PARTS, predictor.vocabulary))
            for row, of_next in zip(theirs, torch.log_softmax(torch.from_numpy(rows[0]).double(), -1)[:, tokens[at + 1]].tolist()):
                row.append(of_next)
        alone = submix.LogitsSequence(2)
        alone.tokens, alone.new = tokens[5 : len(tokens) - 1], len(tokens) - 6
        self.assertLess(abs(predictor.predict([alone])[0] - rows[1]).max(), 1e-3)
        apart = max(most_apart(a, b) for a, b in zip(ours, theirs))
        self.assertLess(apart, MOST_APART)
        self.assertGreater(max(most_apart(ours[0], member) for member in ours[1:]), 0.01)  # they have learnt something
        compared(f"{1 + PARTS} rows of SmolLM2-135M-Instruct by transformers and PEFT, {len(tokens)} tokens one at a time, beside a shorter text: {apart:.1e}")

    def test_text_is_generated_and_paid_for(self):
        deployment = str(self.work / "deployment")

        def spent():
            with submix.open(deployment) as opened:
                return opened.budget[0].spent
        before = spent()
        text = submix.peft.generate(deployment, PROMPT, tokens=5)
        self.assertTrue(text)
        self.assertGreater(spent(), before)

    def serving(self):
        """The process that computes, at the socket that comes back."""
        socket = self.work / "logits.sock"
        process = subprocess.Popen([sys.executable, "-c", "import sys, submix; submix.serve_transformers(*sys.argv[1:])",
                                    self.ensemble, socket], env={"PYTHONPATH": str(BUILD / "python"), "HF_HUB_OFFLINE": "1"})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        end = time.monotonic() + SOCKET_SECONDS
        while not socket.exists():
            self.assertLess(time.monotonic(), end, "it does not listen")
            self.assertIsNone(process.poll(), "it ended")
            time.sleep(0.2)
        return socket

    def test_a_server_answers_over_it(self):
        deployment = self.work / "deployment"
        key, rates = make_key(deployment, "tests"), []
        for flags in (["--predictor", f"external:{self.serving()}"], []):
            with Server(deployment, "--port", 0, *flags) as server:
                begin = time.monotonic()
                status, answer = ask(server.address, "POST", "/v1/completions", key,
                                     {"model": server.model, "prompt": PROMPT, "max_tokens": 16})
                self.assertEqual(status, 200, answer)
                used = json.loads(answer)["usage"]["completion_tokens"]
                self.assertGreater(used, 0)
                rates.append(used / (time.monotonic() - begin))
                server.stop()
        compared(f"a token of {1 + PARTS} models, answered by submix serve: {1000 / rates[0]:.0f} ms by transformers and PEFT, "
                 f"{1000 / rates[1]:.0f} ms by our own decoding, bf16 weights")


if __name__ == "__main__":
    main()
