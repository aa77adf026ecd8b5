#!/usr/bin/env python3
"""`submix score` against PyTorch's log-probabilities, and what it makes of a text and of adapters.

    score_test.py BUILD_DIR SOURCE_DIR
"""

import contextlib
import fcntl
import json
import math
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

BUILD, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
MODEL = SOURCE / "data/public_model"
SHARED_MODEL = SOURCE.parent / "shared/data/models/base-8k"


def run(*words, program="submix"):
    return subprocess.run([BUILD / program, "score", *map(str, words)], capture_output=True, text=True, check=False)


def score(*words, program="submix"):
    done = run(*words, "--json", program=program)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def write_byte_tokenizer(folder, prefix, more=0):
    """One entry a byte, whose id is the byte; then words that no merge makes, then <s> and </s>."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {byte: chr(byte) for byte in plain}
    for byte in sorted(set(range(256)) - set(plain)):
        letters[byte] = chr(256 + len(letters) - len(plain))
    vocabulary = {letters[byte]: byte for byte in range(256)}
    vocabulary.update({f"word{i}": 256 + i for i in range(more)})
    file = {
        "added_tokens": [{"id": 256 + more + i, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True} for i, content in enumerate(("<s>", "</s>"))],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []}}
    if prefix:
        file["post_processor"] = {
            "type": "TemplateProcessing", "pair": [],
            "single": [{"SpecialToken": {"id": prefix, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "special_tokens": {prefix: {"id": prefix, "ids": [256], "tokens": [prefix]}}}
    (folder / "tokenizer.json").write_text(json.dumps(file))


def said_on_a_terminal(columns, *words):
    """What `submix score` writes to a terminal of so many columns, with what it overwrites."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    with subprocess.Popen([BUILD / "submix", "score", *map(str, words)], stdout=subprocess.DEVNULL, stderr=its,
                          env={**os.environ, "TERM": "xterm"}) as scoring:
        os.close(its)
        said = b""
        with contextlib.suppress(OSError):  # the terminal's end
            while piece := os.read(ours, 4096):
                said += piece
        scoring.wait()
    os.close(ours)
    return said.decode()


class ScoreTest(unittest.TestCase):
    def test_progress_keeps_within_the_terminal(self):
        for columns in (40, 80):
            said = said_on_a_terminal(columns, MODEL, "--text", SOURCE / "VERSION")
            lines = re.split("[\r\n]", said.replace("\x1b[K", ""))
            self.assertIn("100 %", said)
            self.assertLess(max(map(len, lines)), columns, lines)
            self.assertTrue("█" in said or columns < 80, said)

    def assert_equals_reference(self, model, reference, most, *flags, program="submix"):
        for case in json.loads(reference.read_text())["cases"]:
            expected = case["next_token_log_probabilities"]
            if not expected:
                continue
            scored = score(model, "--tokens", ",".join(map(str, case["token_ids"])), *flags, program=program)
            self.assertEqual(scored["tokens"], case["token_ids"])
            found = scored["models"][0]["log_probabilities"]
            self.assertEqual(len(found), len(expected))
            self.assertLess(max(abs(a - b) for a, b in zip(found, expected)), most, case["name"])
            self.assertAlmostEqual(scored["models"][0]["perplexity"],
                                   math.exp(-sum(found) / len(found)), delta=1e-6 * math.exp(-sum(found) / len(found)))

    def test_equals_pytorch(self):
        # Of the bundled model up to its weights' half floats.
        self.assert_equals_reference(MODEL, SOURCE / "testdata/base_8k_reference.json", 3e-2, "--precision", "f32")
        self.assert_equals_reference(MODEL, SOURCE / "testdata/base_8k_reference.json", 3e-2,
                                     "--precision", "f32", "--predictor", "torch", program="submix-train")

    def test_equals_another_implementation_on_todays_families(self):
        for name in ("tiny-llama31", "tiny-qwen3", "tiny-gemma2"):
            model = SOURCE / "testdata/families" / name
            reference = json.loads((model / "reference.json").read_text())
            adapters = [model / "adapter"] if (model / "adapter").is_dir() else []
            scored = score(model, "--tokens", ",".join(map(str, reference["tokens"])), "--precision", "f32",
                           *[word for adapter in adapters for word in ("--adapter", adapter)])
            expected = [reference["next_log_probs"], reference.get("adapter_next_log_probs")]
            self.assertEqual(len(scored["models"]), 1 + len(adapters))
            for found, right in zip(scored["models"], expected):
                self.assertLess(max(abs(a - b) for a, b in zip(found["log_probabilities"], right)), 1e-3, name)

    @unittest.skipUnless(SHARED_MODEL.is_dir(), "no ../shared/data/models/base-8k")
    def test_equals_pytorch_on_a_model_in_float32(self):
        self.assert_equals_reference(SHARED_MODEL, SHARED_MODEL / "reference.json", 1e-3, "--precision", "f32")

    def test_scores_every_byte_of_a_text(self):
        with tempfile.TemporaryDirectory() as folder:
            text = pathlib.Path(folder) / "text.txt"
            text.write_text("The queen looked at the sea. \u00e9t\u00e9 \u2603\n" * 100)  # longer than the context
            scored = score(MODEL, "--text", text, "--adapter", MODEL)
            public, same = scored["models"]
            self.assertEqual(len(public["log_probabilities"]), len(scored["tokens"]) - 1)
            bits = -sum(public["log_probabilities"]) / math.log(2)
            self.assertAlmostEqual(public["bits_per_byte"], bits / len(text.read_bytes()), places=9)
            # A whole model may stand for an adapter; in bfloat16 a row may round with the number of rows.
            self.assertAlmostEqual(same["perplexity"] / public["perplexity"], 1, delta=1e-3)
            header, row = run(MODEL, "--text", text).stdout.splitlines()[:2]  # where the model's path is long, it wraps
            shown = dict(zip(header.split(), row.split()))
            self.assertEqual(shown["tokens"], str(len(scored["tokens"]) - 1))
            # With one model a product has fewer rows, and may round otherwise.
            self.assertAlmostEqual(float(shown["perplexity"]) / public["perplexity"], 1, delta=1e-3)
            self.assertAlmostEqual(float(shown["bits/byte"]) / public["bits_per_byte"], 1, delta=1e-3)

    def test_keys_and_values_in_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            text = pathlib.Path(folder) / "text.txt"
            text.write_text("The queen looked at the sea, and the sea did not look back at the queen. " * 20)
            exact = score(MODEL, "--text", text, "--precision", "f32")["models"][0]
            rounded = score(MODEL, "--text", text, "--precision", "f32", "--kv-cache", "int8")["models"][0]
            self.assertNotEqual(exact["log_probabilities"], rounded["log_probabilities"])
            self.assertAlmostEqual(rounded["perplexity"] / exact["perplexity"], 1, delta=1e-2)
            done = run(MODEL, "--text", text, "--kv-cache", "int8", "--predictor", "torch", program="submix-train")
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, "submix score: --kv-cache int8: only --predictor cpu has such a cache, not torch\n")

    def test_a_text_begins_as_the_tokenizer_says(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "model"
            shutil.copytree(SOURCE / "testdata/families/tiny-llama", model, copy_function=shutil.copyfile)
            write_byte_tokenizer(model, prefix="<s>")
            text = pathlib.Path(folder) / "text.txt"
            text.write_text("ab")
            self.assertEqual(score(model, "--text", text)["tokens"], [256, 97, 98])
            write_byte_tokenizer(model, prefix=None)
            self.assertEqual(score(model, "--text", text)["tokens"], [257, 97, 98])
            write_byte_tokenizer(model, prefix=None, more=100)
            done = run(model, "--text", text)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            for named in ("tokenizer.json", "357", '"vocab_size" is 320'):
                self.assertIn(named, done.stderr)

    def test_models_beyond_the_memory_are_refused_before_their_weights_are_read(self):
        # A Llama of a terabyte, in a file without content.
        width, layers, vocabulary = 65536, 16, 262144
        tensors = {"model.embed_tokens.weight": [vocabulary, width], "model.norm.weight": [width]}
        for layer in range(layers):
            prefix = f"model.layers.{layer}."
            for name, shape in (("input_layernorm", [width]), ("post_attention_layernorm", [width]),
                                ("self_attn.q_proj", [width, width]), ("self_attn.k_proj", [width, width]),
                                ("self_attn.v_proj", [width, width]), ("self_attn.o_proj", [width, width]),
                                ("mlp.gate_proj", [width, width]), ("mlp.up_proj", [width, width]),
                                ("mlp.down_proj", [width, width])):
                tensors[f"{prefix}{name}.weight"] = shape
        header, end = {}, 0
        for name, shape in tensors.items():
            size = 2 * math.prod(shape)
            header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + size]}
            end += size
        head = json.dumps(header).encode()
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder)
            with open(model / "model.safetensors", "wb") as file:
                file.write(struct.pack("<Q", len(head)) + head)
                file.truncate(8 + len(head) + end)
            (model / "config.json").write_text(json.dumps({
                "model_type": "llama", "hidden_act": "silu", "hidden_size": width, "intermediate_size": width,
                "num_hidden_layers": layers, "num_attention_heads": 512, "num_key_value_heads": 512,
                "vocab_size": vocabulary, "max_position_embeddings": 4096, "rms_norm_eps": 1e-5,
                "rope_theta": 10000.0, "tie_word_embeddings": True, "bos_token_id": 1, "eos_token_id": 2}))
            for precision, least in (("bf16", 950272), ("f32", 1900544)):
                done = run(model, "--tokens", "1,2", "--precision", precision)
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertGreaterEqual(int(done.stderr.split("weights ")[1].split(" MiB")[0]), least)
                self.assertIn("take a smaller --precision", done.stderr)

    def test_bad_input_is_one_line(self):
        for words, reason in (
                ((MODEL,), "give either --text FILE or --tokens"),
                ((MODEL, "--tokens", "1,2", "--text", MODEL / "config.json"), "give either --text"),
                ((MODEL, "--tokens", "5"), "expected at least two"),
                ((MODEL, "--tokens", "5,-1"), "-1 is no token of this model"),
                ((MODEL, "--tokens", "5,8192"), "at least 0 and below 8192"),
                ((SOURCE / "data", "--tokens", "5,6"), "config.json")):
            done = run(*words)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertIn(reason, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
