#!/usr/bin/env python3
"""A real Llama from llama2.c's files to text: converted by scripts/convert_llama2c.py, it says what llama2.c's
definition says, here in plain Python, and its most likely story is told by a deployment.

    stories_test.py BUILD_DIR SOURCE_DIR    (exit code 77 without ../shared/data/models/stories260K)
"""

import array
import hashlib
import json
import math
import operator
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
STORIES = SOURCE.parent / "shared/data/models/stories260K"
CONVERT = SOURCE / "scripts/convert_llama2c.py"
sys.path.insert(0, str(CONVERT.parent))
import convert_llama2c  # noqa: E402
# What llama2.c tells at temperature 0.
STORY = ("Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One day, "
         "she saw a big, red ball.")


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def dot(a, b):
    return sum(map(operator.mul, a, b))


class Llama:
    """llama2.c's forward pass, one token at a time."""

    def __init__(self, path):
        data = path.read_bytes()
        self.width, mlp, self.layers, self.heads, self.groups, vocabulary, _ = struct.unpack("<7i", data[:28])
        self.head = self.width // self.heads
        values, at = array.array("f", data[28:]), 0

        def matrices(count, rows, columns):
            nonlocal at
            found = []
            for _ in range(count):
                found.append([values[at + row * columns:at + (row + 1) * columns].tolist() for row in range(rows)])
                at += rows * columns
            return found

        width, keys = self.width, self.groups * self.head
        self.embedding = matrices(1, vocabulary, width)[0]
        self.norm_1 = matrices(self.layers, 1, width)
        self.q, self.k = matrices(self.layers, width, width), matrices(self.layers, keys, width)
        self.v, self.o = matrices(self.layers, keys, width), matrices(self.layers, width, width)
        self.norm_2 = matrices(self.layers, 1, width)
        self.gate, self.down = matrices(self.layers, mlp, width), matrices(self.layers, width, mlp)
        self.up = matrices(self.layers, mlp, width)
        self.norm = matrices(1, 1, width)[0]
        self.past = [([], []) for _ in range(self.layers)]

    def turned(self, x, position):
        out = list(x)
        for i in range(0, len(x), 2):
            angle = position * 10000.0 ** (-(i % self.head) / self.head)
            c, s = math.cos(angle), math.sin(angle)
            out[i], out[i + 1] = x[i] * c - x[i + 1] * s, x[i] * s + x[i + 1] * c
        return out

    def normed(self, x, gain):
        scale = 1 / math.sqrt(dot(x, x) / self.width + 1e-5)
        return [value * scale * g for value, g in zip(x, gain[0])]

    def attended(self, query, keys, values):
        out = []
        for h in range(self.heads):
            at = h // (self.heads // self.groups) * self.head
            own = query[h * self.head:(h + 1) * self.head]
            weights = [math.exp(dot(own, key[at:at + self.head]) / math.sqrt(self.head)) for key in keys]
            total = sum(weights)
            out += [sum(w * value[at + i] for w, value in zip(weights, values)) / total for i in range(self.head)]
        return out

    def logits(self, token):
        x = self.embedding[token]
        for layer, (keys, values) in enumerate(self.past):
            n = self.normed(x, self.norm_1[layer])
            position = len(keys)
            keys.append(self.turned([dot(row, n) for row in self.k[layer]], position))
            values.append([dot(row, n) for row in self.v[layer]])
            out = self.attended(self.turned([dot(row, n) for row in self.q[layer]], position), keys, values)
            x = [a + dot(row, out) for a, row in zip(x, self.o[layer])]
            n = self.normed(x, self.norm_2[layer])
            gates = [dot(row, n) for row in self.gate[layer]]
            inner = [g / (1 + math.exp(-g)) * dot(row, n) for g, row in zip(gates, self.up[layer])]
            x = [a + dot(row, inner) for a, row in zip(x, self.down[layer])]
        n = self.normed(x, self.norm)
        return [dot(row, n) for row in self.embedding]


@unittest.skipUnless(STORIES.is_dir(), "no ../shared/data/models/stories260K")
class StoriesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.model = pathlib.Path(cls.folder.name) / "stories"
        run(sys.executable, CONVERT, STORIES / "stories260K.bin", STORIES / "tok512.bin", cls.model)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def score(self, *words):
        return json.loads(run(BUILD / "submix", "score", self.model, "--precision", "f32", "--json", *words))

    def test_it_is_the_model_that_it_was(self):
        story = pathlib.Path(self.folder.name) / "story.txt"
        story.write_text(STORY)
        tokens = [1] + self.score("--text", story)["tokens"][1:]
        found = self.score("--tokens", ",".join(map(str, tokens)))["models"][0]["log_probabilities"]
        llama = Llama(STORIES / "stories260K.bin")
        for token, following, log_probability in zip(tokens, tokens[1:], found):
            logits = llama.logits(token)
            self.assertEqual(max(range(len(logits)), key=logits.__getitem__), following)
            right = logits[following] - math.log(sum(map(math.exp, logits)))
            self.assertAlmostEqual(log_probability, right, delta=1e-4)

    def ensemble(self):
        """Two members that nobody trained: adapters that add nothing."""
        ensemble = pathlib.Path(self.folder.name) / "ensemble"
        shutil.copytree(self.model, ensemble / "public")
        names = ("members/00", "members/01")
        for name in names:
            (ensemble / name).mkdir(parents=True)
            (ensemble / name / "adapter_config.json").write_text(json.dumps(
                {"peft_type": "LORA", "r": 1, "lora_alpha": 1, "target_modules": ["q_proj"], "bias": "none",
                 "fan_in_fan_out": False, "layers_to_transform": [4], "layers_pattern": "layers"}))
            prefix = "base_model.model.model.layers.4.self_attn.q_proj.lora_"
            convert_llama2c.write_safetensors(ensemble / name / "adapter_model.safetensors", {
                prefix + "A.weight": ([1, 64], array.array("f", [0] * 64)),
                prefix + "B.weight": ([64, 1], array.array("f", [0] * 64))})
        files = sorted(path for path in ensemble.rglob("*") if path.is_file())
        (ensemble / "manifest.json").write_text(json.dumps({
            "format": 1, "generation": 1, "parent_sha256": "", "partition_key_id": "0123456789abcdef",
            "num_parts": 2, "halves": 1, "heldout_fraction": 0, "hyper_parameters": {}, "users": 0,
            "members": [{"directory": name, "generation": 1, "steps": 0, "complete": True, "recipe_sha256": ""}
                        for name in names],
            "deployments": [], "forgotten": [],
            "file_sha256": {str(path.relative_to(ensemble)): hashlib.sha256(path.read_bytes()).hexdigest()
                            for path in files}}))
        return ensemble

    def test_it_tells_its_story_through_a_deployment(self):
        deployment = pathlib.Path(self.folder.name) / "deployment"
        run(BUILD / "submix", "deploy", self.ensemble(), deployment, "--mechanism", "dclip", "--queries", 256)
        told = run(BUILD / "submix", "generate", deployment, "Once upon a time,", "--top-k", 1, "--max-tokens", 60,
                   "--precision", "f32")
        self.assertTrue(told.startswith(STORY[:STORY.index(" outside")]), told)

    def test_damaged_files_are_named(self):
        cut = pathlib.Path(self.folder.name) / "cut.bin"
        cut.write_bytes((STORIES / "stories260K.bin").read_bytes()[:-4])
        for model, tokenizer in ((cut, STORIES / "tok512.bin"), (STORIES / "tok512.bin", STORIES / "tok512.bin"),
                                 (STORIES / "stories260K.bin", cut)):
            done = subprocess.run([sys.executable, CONVERT, model, tokenizer, pathlib.Path(self.folder.name) / "none"],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    program = unittest.main(argv=sys.argv[:1], exit=False)
    sys.exit(77 if program.result.skipped else not program.result.wasSuccessful())
