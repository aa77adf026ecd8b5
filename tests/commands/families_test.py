#!/usr/bin/env python3
"""Today's families through the whole product: train, deploy, serve, evaluate, forget, on a Llama and a Qwen 3 of a few
thousand weights; private and federated training; pre-training of a Llama.

    families_test.py BUILD_DIR SOURCE_DIR
"""

import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from submix_process import BUILD, SOURCE, Server, WorkFolderTest, ask, completion, make_key, run  # noqa: E402

USERS = "abcdefghijklmnop"
ENTRIES = 320  # of the families' tiny models


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def log_probabilities(model, *adapters, torch=False):
    """Of the public model and of each adapter, for some tokens."""
    program, more = ("submix-train", ("--predictor", "torch")) if torch else ("submix", ())
    command = [BUILD / program, "score", model, "--tokens", "5,77,301,12,9,200,44,61", "--precision", "f32", "--json", *more]
    for adapter in adapters:
        command += ["--adapter", adapter]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [scored["log_probabilities"] for scored in json.loads(done.stdout)["models"]]


class FamiliesTest(WorkFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.corpus = cls.work / "text.jsonl"
        with open(cls.corpus, "w") as corpus:
            for user in USERS:
                text = f"The {user} of the house went out to see the sea and the hill."
                corpus.write(json.dumps({"user": user, "text": text}) + "\n")
        cls.public_text = cls.work / "public.txt"
        cls.public_text.write_text("It rains on Mondays. The sun shines on the hill and on the sea.\n" * 80)
        cls.tokenizer = cls.work / "tokenizer"
        run("tokenizer", cls.public_text, "--vocab-size", 280, "-o", cls.tokenizer)
        # The bytes and a few words; the rest of a tiny model's entries are words that no text has.
        vocabulary = json.loads((cls.tokenizer / "vocab.json").read_text())
        end = vocabulary.pop("<|endoftext|>")
        for number in range(end, ENTRIES - 1):
            vocabulary[f"unused{number}"] = number
        vocabulary["<|endoftext|>"] = ENTRIES - 1
        (cls.tokenizer / "vocab.json").write_text(json.dumps(vocabulary))

    def assert_close(self, found, expected, most=1e-3):
        for a, b in zip(found, expected, strict=True):
            self.assertLess(max(abs(x - y) for x, y in zip(a, b, strict=True)), most)

    def model(self, name):
        """A tiny model of testdata with the tokenizer above."""
        model = self.work / name
        if not model.exists():
            shutil.copytree(SOURCE / "testdata/families" / name, model, ignore=shutil.ignore_patterns("adapter", "reference.json"))
            shutil.copytree(self.tokenizer, model, dirs_exist_ok=True)
            config = json.loads((model / "config.json").read_text())
            config["eos_token_id"] = ENTRIES - 1
            (model / "config.json").write_text(json.dumps(config))
        return model

    def train(self, model, name, *options):
        return run("train", self.corpus, self.work / name, "--public", model, "--rank", 2, "--block-tokens", 32,
                   "--batch-size", 2, "--threads", 1, "--heldout-fraction", 0.2, "--precision", "f32",
                   "--partition-key", SOURCE / "data/demo_partition.key", *options).stdout

    def check_served(self, deployment):
        key = make_key(deployment, "reader")
        with Server(deployment, "--port", 0) as server:
            chat = {"model": server.model, "messages": [{"role": "user", "content": "The sea?"}], "max_tokens": 4}
            for path, body in (("/v1/completions", completion(server.model)), ("/v1/chat/completions", chat)):
                status, text = ask(server.address, "POST", path, key, body)
                self.assertEqual(status, 200, text)
                self.assertGreater(json.loads(text)["usage"]["completion_tokens"], 0)
            server.stop()

    def check_from_training_to_forgetting(self, name):
        model = self.model(name)
        ensemble, deployment = self.work / f"{name}-ensemble", self.work / f"{name}-deployment"
        self.assertIn("on all-linear", self.train(model, ensemble.name, "--parts", 4))
        members = sorted((ensemble / "members").iterdir())
        self.assertEqual(len(members), 4)
        adapters = [member for member in members if (member / "adapter_config.json").exists()]
        config = json.loads((adapters[0] / "adapter_config.json").read_text())
        self.assertEqual((config["target_modules"], config["fan_in_fan_out"]),
                         (["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"], False))
        decoded = log_probabilities(ensemble / "public", *adapters[:2])
        self.assert_close(log_probabilities(ensemble / "public", *adapters[:2], torch=True), decoded)
        self.assertNotEqual(decoded[0], decoded[1])

        run("deploy", ensemble, deployment, "--epsilon", 4, "--queries", 16)
        self.assertTrue(run("generate", deployment, "The sea", "--max-tokens", 4).stdout)
        self.check_served(deployment)
        evaluated = json.loads(run("evaluate", ensemble, "--corpus", self.corpus, "--mechanism", "filtered-submix", "--queries", 8,
                                   "--runs", 2, "--json").stdout)
        self.assertTrue(evaluated)

        before = {member.name: digest(member / "adapter_model.safetensors") for member in adapters}
        for user in USERS:  # whose part is another's as well
            shown = subprocess.run([BUILD / "submix", "forget", ensemble, "--corpus", self.corpus, "--user", user, "--deployment",
                                    deployment], capture_output=True, text=True, check=False)
            if shown.returncode == 0:
                break
        self.assertEqual(shown.returncode, 0, shown.stderr)
        manifest = json.loads((ensemble / "manifest.json").read_text())
        self.assertEqual(len(manifest["forgotten"]), 1)
        after = [digest(path) for path in ensemble.glob("members/*/adapter_model.safetensors")]
        self.assertLess(len(set(before.values()) - set(after)), 2)
        self.assertTrue(run("generate", deployment, "The hill", "--max-tokens", 2).stdout)

    def test_a_llama_from_training_to_forgetting(self):
        self.check_from_training_to_forgetting("tiny-llama")

    def test_a_qwen3_from_training_to_forgetting(self):
        self.check_from_training_to_forgetting("tiny-qwen3")

    def test_shards_are_copied_and_all_weights_are_trained(self):
        model = self.model("tiny-llama31")
        self.train(model, "whole", "--parts", 1, "--halves", 1, "--full")
        public, member = self.work / "whole/public", self.work / "whole/members/0a"
        member = member if member.exists() else next((self.work / "whole/members").iterdir())
        for path in model.iterdir():
            self.assertEqual(path.read_bytes(), (public / path.name).read_bytes(), path.name)
        config = json.loads((model / "config.json").read_text())
        self.assertEqual(config["torch_dtype"], "bfloat16")
        self.assertEqual(json.loads((member / "config.json").read_text()), {**config, "torch_dtype": "float32"})
        decoded = log_probabilities(public, member)
        self.assert_close(log_probabilities(public, member, torch=True), decoded)
        self.assertNotEqual(decoded[0], decoded[1])

    def test_a_llama_is_trained_privately(self):
        # Of two users a step, so that a step moves something.
        self.train(self.model("tiny-llama"), "private", "--private", "dp-sgd", "--epsilon", 8, "--steps", 2, "--expected-batch", 2)
        ensemble, deployment = self.work / "private", self.work / "private-deployment"
        released = ensemble / "released"
        trained = log_probabilities(released / "public")[0]
        self.assert_close([trained], [log_probabilities(ensemble / "public", ensemble / "members/00")[1]])
        self.assertNotEqual(trained, log_probabilities(ensemble / "public")[0])
        run("deploy", released, deployment, "--mechanism", "public")
        self.assertTrue(run("generate", deployment, "The sea", "--max-tokens", 4).stdout)

    def test_a_federated_adapter_is_merged_into_the_model_that_is_released(self):
        model, out = self.model("tiny-qwen3"), self.work / "federated"
        run("fedavg", out, "--corpus", self.corpus, "--public", model, "--noise", 0, "--clip", "inf", "--expected-users", 4,
            "--rounds", 2, "--rank", 2, "--tokens-per-user", 8, "--unroll", 16, "--threads", 1, "--precision", "f32",
            "--keep-short-users")
        merged = log_probabilities(out / "not_private/public")[0]
        public, adapted = log_probabilities(model, out / "model")
        self.assert_close([merged], [adapted])
        self.assertNotEqual(public, adapted)

    def test_a_llama_is_pre_trained(self):
        made = self.work / "made"
        run("pretrain", self.public_text, "--architecture", "llama", "--tokenizer", self.tokenizer, "-o", made, "--layers", 2,
            "--width", 32, "--heads", 4, "--key-value-heads", 2, "--context", 32, "--batch-size", 4, "--threads", 1,
            "--precision", "f32", "--epochs", 8, "--learning-rate", 0.01)
        config = json.loads((made / "config.json").read_text())
        self.assertEqual((config["architectures"], config["num_key_value_heads"], config["vocab_size"], config["eos_token_id"]),
                         (["LlamaForCausalLM"], 2, ENTRIES, ENTRIES - 1))
        learned = json.loads(run("score", made, "--text", self.public_text, "--json").stdout)["models"][0]
        self.assertLess(learned["perplexity"], 20)
        self.assert_close(log_probabilities(made, torch=True), log_probabilities(made))
        error = run("pretrain", self.public_text, "--architecture", "llama", "--tokenizer", self.tokenizer, "-o",
                    self.work / "bad", "--width", 32, "--heads", 4, "--key-value-heads", 3, expect=1).stderr
        self.assertEqual(error.count("\n"), 1, error)
        self.assertIn("divides attention_heads", error)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
