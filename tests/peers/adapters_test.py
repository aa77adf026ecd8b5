#!/usr/bin/env python3
"""Adapters both ways: what PEFT writes is applied as PEFT applies it, or refused by the name of a field; what
`submix-train` writes says the same in PEFT.

    adapters_test.py BUILD_DIR SOURCE_DIR
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

from peers import (BUNDLED, MOST_APART, SOURCE, compared, log_probabilities, main, most_apart, score, submix, tokens_of_prose)

TOKENS = 200
SEED = int(os.environ.get("SUBMIX_PEERS_SEED", "49"))
ADAPTERS_A_FAMILY = int(os.environ.get("SUBMIX_PEERS_ADAPTERS", "24"))
LAYERS = 3
ENDS = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
SHAPE = {"vocab_size": 8192, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": LAYERS, "num_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 1024, **ENDS}
BASES = {
    "gpt2": ("GPT2LMHeadModel", {"vocab_size": 8192, "n_positions": 1024, "n_embd": 64, "n_layer": LAYERS, "n_head": 4, **ENDS}),
    "llama": ("LlamaForCausalLM", SHAPE),
    "qwen2": ("Qwen2ForCausalLM", {name: value for name, value in SHAPE.items() if name != "head_dim"}),
    "gemma3": ("Gemma3ForCausalLM", {**SHAPE, "sliding_window": 60}),
}
# An attention layer's first target of each family, and a module that other features name.
MODULES = {"gpt2": ["c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"]}
OTHER_MODULES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def modules_of(family):
    return MODULES.get(family, OTHER_MODULES)


def targets(rng, family):
    modules = modules_of(family)
    kind = rng.choice(["list", "list", "all", "regex", "full"])
    if kind == "all":
        return "all-linear"
    if kind == "full":
        prefix = "transformer.h.1." if family == "gpt2" else "model.layers.1."
        module = {"gpt2": "attn.c_attn"}.get(family, "self_attn.q_proj")
        return [prefix + module, modules[-1]]
    chosen = rng.sample(modules, rng.randint(1, len(modules)))
    if kind == "regex":
        return r".*\.[01]\..*(" + "|".join(name.replace(".", r"\.") for name in chosen) + ")"
    return chosen


def rare(rng, family):
    """In every other adapter a feature beyond the usual ones."""
    modules = modules_of(family)
    if rng.random() < 0.5:
        return {}
    return rng.choice([
        {"use_rslora": True}, {"use_dora": True}, {"lora_bias": True}, {"bias": "lora_only"}, {"bias": "all"},
        {"rank_pattern": {modules[0]: 2}}, {"alpha_pattern": {modules[0]: 3}},
        {"rank_pattern": {modules[0]: 2, modules[-1]: 16}, "alpha_pattern": {modules[-1]: 7}},
        {"rank_pattern": {rf"^.*\.1\..*{modules[0]}$": 5}, "alpha_pattern": {modules[-1]: 1}},
        {"exclude_modules": [modules[-1]]}, {"exclude_modules": r".*\.0\..*"},
        {"modules_to_save": ["lm_head"]}, {"modules_to_save": ["wte" if family == "gpt2" else "embed_tokens"]},
        {"trainable_token_indices": [1, 5, 100]}, {"init_lora_weights": "gaussian"}, {"init_lora_weights": "orthogonal"},
        {"init_lora_weights": "pissa"}, {"init_lora_weights": "olora"}, {"init_lora_weights": False},
        {"layer_replication": [[0, 2], [1, 3]]} if family == "llama" else {"use_rslora": True},
        {"target_parameters": []}])


def lora_config(rng, family):
    wanted = {"r": rng.choice([1, 2, 4, 8]), "lora_alpha": rng.choice([1, 4, 16, 2.5]), "lora_dropout": rng.choice([0.0, 0.1]),
              "target_modules": targets(rng, family), "fan_in_fan_out": family == "gpt2", "task_type": "CAUSAL_LM"}
    if isinstance(wanted["target_modules"], list) and rng.random() < 0.4:
        wanted["layers_to_transform"] = rng.choice([0, [1], [0, 2], [LAYERS - 1]])
        if rng.random() < 0.5:
            wanted["layers_pattern"] = "h" if family == "gpt2" else "layers"
    return {**wanted, **rare(rng, family)}


def randomise(model):
    """As if trained: the factor B, zero at first, and whatever else is saved."""
    import torch
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            weight.data.add_(torch.randn_like(weight), alpha=0.05)
        if "lora_B" in name or "lora_A" in name:
            weight.data.normal_(0, 0.1)


class PeftWritesTest(unittest.TestCase):
    """Every configuration is applied, or refused by the name of a field that it sets."""

    def make_base(self, family, folder):
        model_class, config = BASES[family]
        (folder / "case.json").write_text(json.dumps([{
            "class": model_class, "config": config, "seed": 7, "dtype": "float32", "shard": "5GB",
            "tokens": tokens_of_prose(TOKENS), "directory": str(folder / "base")}]))
        subprocess.run([sys.executable, SOURCE / "tests/peers/save_models.py", folder / "case.json"],
                       capture_output=True, text=True, check=True)
        return folder / "base"

    def says(self, base, wanted, seed, dtype, folder):
        """Log-probabilities by PEFT of an adapter that it saves in `folder` and reads back."""
        import torch
        from peft import LoraConfig, PeftModel, get_peft_model
        from transformers import AutoModelForCausalLM
        torch.manual_seed(seed)
        peft = get_peft_model(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), LoraConfig(**wanted))
        randomise(peft)
        if dtype == "bfloat16":
            peft = peft.to(torch.bfloat16)
        peft.save_pretrained(folder)
        read_back = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), folder)
        return log_probabilities(read_back.float().eval(), tokens_of_prose(TOKENS))

    def compare_family(self, family):
        applied, refused, impossible, worst = 0, {}, 0, 0
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            base = self.make_base(family, folder)
            alone = score(base, tokens_of_prose(TOKENS))[0]
            for number in range(ADAPTERS_A_FAMILY):
                rng = random.Random(f"{SEED} {family} {number}")
                wanted, adapter = lora_config(rng, family), folder / str(number)
                with self.subTest(family=family, **wanted):
                    try:
                        theirs = self.says(base, wanted, rng.randrange(2**31), rng.choice(["float32", "bfloat16"]), adapter)
                    except (ValueError, RuntimeError) as error:  # PEFT's own refusals.
                        print(f"{wanted}: {error}")
                        impossible += 1
                        continue
                    done = submix("score", base, "--adapter", adapter, "--tokens", ",".join(map(str, tokens_of_prose(TOKENS))),
                                  "--precision", "f32", "--json")
                    if done.returncode != 0:
                        line = done.stderr.strip().splitlines()[-1]
                        named = [name for name in wanted if f'"{name}"' in line]
                        self.assertTrue(named, f"refused, but not by the name of what is set: {line}")
                        refused[named[0]] = refused.get(named[0], 0) + 1
                        continue
                    ours = json.loads(done.stdout)["models"][1]["log_probabilities"]
                    apart = most_apart(ours, theirs)
                    self.assertGreater(most_apart(alone, theirs), 0.01, "the adapter changes nothing")
                    self.assertLess(apart, MOST_APART)
                    applied, worst = applied + 1, max(worst, apart)
        compared(f"{family}: {applied} of {ADAPTERS_A_FAMILY} adapters by PEFT applied, {worst:.1e}; refused by name: {refused}; "
                 f"by PEFT itself: {impossible}")
        self.assertGreater(applied, ADAPTERS_A_FAMILY // 4)


def add_tests():
    for family in BASES:
        def of_family(self, family=family):
            self.compare_family(family)
        setattr(PeftWritesTest, f"test_{family}", of_family)


class WeWriteTest(unittest.TestCase):
    def test_peft_reads_what_is_trained(self):
        """Over the bundled GPT-2: every way to choose what is adapted."""
        import torch
        from peft import PeftModel
        from transformers import AutoModelForCausalLM
        tokens = tokens_of_prose(TOKENS)
        worst, count = 0, 0
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            corpus = folder / "text.jsonl"
            prose = (SOURCE / "docs/using.md").read_text()
            corpus.write_text("".join(json.dumps({"user": f"u{i}", "text": prose[300 * i:300 * i + 300]}) + "\n" for i in range(30)))
            for number, flags in enumerate([[], ["--targets", "all-linear", "--rank", "3"],
                                            ["--targets", "c_attn", "mlp.c_proj", "--lora-alpha", "7"], ["--top-layers", "1"]]):
                ensemble = folder / str(number)
                done = submix("train", corpus, ensemble, "--public", BUNDLED, "--parts", "2", "--epochs", "1", *flags, program="submix-train")
                self.assertEqual(done.returncode, 0, done.stderr)
                for config in sorted(ensemble.rglob("adapter_config.json")):
                    base = AutoModelForCausalLM.from_pretrained(BUNDLED, dtype=torch.float32)
                    theirs = log_probabilities(PeftModel.from_pretrained(base, config.parent).eval(), tokens)
                    ours = score(BUNDLED, tokens, "--adapter", config.parent)[1]
                    worst, count = max(worst, most_apart(ours, theirs)), count + 1
        compared(f"{count} adapters by submix-train in PEFT: {worst:.1e}")
        self.assertEqual(count, 8)
        self.assertLess(worst, MOST_APART)


add_tests()

if __name__ == "__main__":
    main()
