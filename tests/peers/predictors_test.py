#!/usr/bin/env python3
"""submix.serve_transformers and submix.serve_vllm: a real model with 16 adapters that submix.peft trained, all in one
batch; the same law as our own decoding, and `submix serve` over them.

    predictors_test.py BUILD_DIR SOURCE_DIR
"""

import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy

from peers import BUILD, MOST_APART, SOURCE, compared, main, most_apart, python_of, real_model, score

sys.path.insert(0, str(SOURCE / "tests/server"))
from submix_process import Server, ask, make_key

sys.path.insert(0, str(BUILD / "python"))
import submix.peft

PARTS = 16
START_SECONDS = 180
PROMPT = "The delivery came late, and when I opened the box"
HERE = pathlib.Path(__file__).parent
key_numbers = itertools.count()


def setUpModule():
    """An ensemble over SmolLM2-135M-Instruct, and a deployment of it."""
    global work, ensemble, deployment
    public = real_model("smollm2-135m-instruct")
    work = pathlib.Path(tempfile.mkdtemp(prefix="submix_predictors_"))
    unittest.addModuleCleanup(shutil.rmtree, work)
    texts = [(f"user {n}", f"I am user {n}, and my number is {random.Random(n).randrange(10**6)}. " * 2) for n in range(2 * PARTS)]
    ensemble = submix.peft.train(texts, str(work / "ensemble"), public=public, parts=PARTS, heldout_fraction=0,
                                 partition_key=str(SOURCE / "data/demo_partition.key"), epochs=1, learning_rate=0.003,
                                 top_layers=8, precision="f32", progress=False)
    deployment = work / "deployment"
    submix.deploy(ensemble, str(deployment), mechanism="dclip", epsilon=8)


def milliseconds_a_token(*flags):
    """Of an answer by `submix serve`."""
    key = make_key(deployment, f"key {next(key_numbers)}")
    with Server(deployment, "--port", 0, *flags) as server:
        wish = {"model": server.model, "prompt": PROMPT}
        for tokens in 1, 16:  # the first is slower: weights are read, memory is taken
            begin = time.monotonic()
            status, answer = ask(server.address, "POST", "/v1/completions", key, {**wish, "max_tokens": tokens})
            seconds = time.monotonic() - begin
            assert status == 200, answer
        server.stop()
    return 1000 * seconds / json.loads(answer)["usage"]["completion_tokens"]


class PredictorTest:
    """What both do."""

    def environment(self):
        return {**os.environ, "PYTHONPATH": str(BUILD / "python"), "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}

    def test_rows_say_what_our_decoding_says(self):
        from transformers import AutoTokenizer
        opened = submix.Ensemble(ensemble)
        tokens = AutoTokenizer.from_pretrained(opened.public_model).encode(PROMPT + " " + " ".join(["of paper"] * 40))
        ours = score(opened.public_model, tokens, *(word for member in opened.members for word in ("--adapter", member)))
        self.assertGreater(max(most_apart(ours[0], member) for member in ours[1:]), 0.01)  # they have learnt something
        (work / "tokens.json").write_text(json.dumps(tokens))
        done = subprocess.run([python_of(self.folder), HERE / "predict_rows.py", self.kind, ensemble, work / "tokens.json", work / "rows.npy"],
                              env=self.environment(), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        theirs = numpy.load(work / "rows.npy")
        apart = max(most_apart(a, b) for a, b in zip(ours, theirs.tolist()))
        self.assertLess(apart, MOST_APART)
        self.assertLess(json.loads(done.stdout.splitlines()[-1]), MOST_APART)
        compared(f"{1 + PARTS} rows of SmolLM2-135M-Instruct by {self.kind}, {len(tokens)} tokens one at a time, beside a shorter text: {apart:.1e}")

    def serving(self):
        """A process that computes, at the socket that comes back."""
        socket = work / f"{self.kind}.sock"
        with open(work / f"{self.kind}.log", "w") as log:
            process = subprocess.Popen([python_of(self.folder), HERE / "serve_rows.py", self.kind, ensemble, socket],
                                       env=self.environment(), stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.send_signal, signal.SIGINT)
        end = time.monotonic() + START_SECONDS
        while not socket.exists():
            self.assertLess(time.monotonic(), end, "it does not listen")
            self.assertIsNone(process.poll(), (work / f"{self.kind}.log").read_text()[-2000:])
            time.sleep(0.2)
        return socket

    def test_a_server_answers_over_it(self):
        theirs = milliseconds_a_token("--predictor", f"external:{self.serving()}")
        compared(f"a token of {1 + PARTS} models, answered by submix serve: {theirs:.0f} ms by {self.kind} in float32, "
                 f"{milliseconds_a_token():.0f} ms by our own decoding with bf16 weights")


class TransformersTest(PredictorTest, unittest.TestCase):
    kind, folder = "transformers", "current"

    def test_text_is_generated_and_paid_for(self):
        def spent():
            with submix.open(str(deployment)) as opened:
                return opened.budget[0].spent
        before = spent()
        self.assertTrue(submix.peft.generate(str(deployment), PROMPT, tokens=5))
        self.assertGreater(spent(), before)


class VllmTest(PredictorTest, unittest.TestCase):
    kind, folder = "vllm", "vllm"


if __name__ == "__main__":
    main()
