#!/usr/bin/env python3
"""Random config.json files of every family, read by transformers and by `submix score`.

    configs_test.py BUILD [SOURCE] [--count N] [--seed S] [--only NAMES] [--keep DIR]

Each file has fields that are absent, null, at their default or at a random value, in the format of
transformers 4 or 5; or is as save_pretrained writes it. transformers makes a small random model of
it, and log-probabilities must agree within 1e-3, or Submix refuses the file by a field's name. What
save_pretrained writes of a model that Submix supports must not be refused. The transformers that is
installed is the judge: files in the format of version 5 are given to version 5 alone.
"""

import argparse
import collections
import copy
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "critical"
os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")

import torch  # noqa: E402
import transformers  # noqa: E402

VERSION = int(transformers.__version__.split(".")[0])
TOLERANCE = 1e-3
# Of texts of thousands of tokens: transformers turns heads by angles that it computes in float32.
TOLERANCE_OF_LONG_TEXTS = 3e-3
FAMILIES = ["gpt2", "llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text"]


class ABSENT:
    """In place of a value: the field is not there. A class, since copies of it are itself."""



def one_of(dice, *values):
    return copy.deepcopy(dice.choice(values))


# --- Configurations


def gpt2(dice):
    heads = dice.choice([1, 2, 4])
    width = heads * dice.choice([4, 8, 16])
    fields = {
        "vocab_size": one_of(dice, 40, 40, 40, 57),
        "n_positions": one_of(dice, 32, 48, ABSENT),
        "n_embd": width,
        "n_layer": one_of(dice, 1, 2, 3),
        "n_head": heads,
        "n_inner": one_of(dice, ABSENT, None, 4 * width, 24),
        "activation_function": one_of(
            dice, ABSENT, "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_accurate", "gelu_new", "relu"),
        "layer_norm_epsilon": one_of(dice, ABSENT, 1e-5, 1e-3),
        "tie_word_embeddings": one_of(dice, ABSENT, True, False),
        "scale_attn_weights": one_of(dice, *[ABSENT, True] * 8, False),
        "scale_attn_by_inverse_layer_idx": one_of(dice, *[ABSENT, False] * 8, True),
        "reorder_and_upcast_attn": one_of(dice, ABSENT, False, True),
        "n_ctx": one_of(dice, ABSENT, 32, 16),
        "resid_pdrop": one_of(dice, ABSENT, 0.1, 0.0),
        "summary_type": one_of(dice, ABSENT, "cls_index"),
        "eos_token_id": one_of(dice, 2, 2, [2, 3], None, ABSENT),
    }
    if dice.random() < 0.1:
        fields["hidden_size"] = fields.pop("n_embd") if dice.random() < 0.5 else width
    if dice.random() < 0.05:
        fields["num_hidden_layers"] = 2
    return fields


def shape(dice, default_key_value_heads, head_dims):
    """Sizes that rotary families share. What is absent has a default, which may be large."""
    key_value = dice.choice([1, 2, 4, 4, ABSENT, ABSENT] + [None] * (dice.random() < 0.3))
    heads = 4 * dice.choice([1, 2])
    if key_value is ABSENT and default_key_value_heads:
        heads = default_key_value_heads * dice.choice([1, 1, 2])
    head_dim = copy.deepcopy(dice.choice(head_dims))
    return {
        "vocab_size": 40,
        "hidden_size": heads * dice.choice([2, 4] if heads > 16 else [4, 6, 8]),
        "intermediate_size": one_of(dice, 24, 24, 24, 24, 40, ABSENT),
        "num_hidden_layers": one_of(dice, 1, 2, 3, 4, 7),
        "num_attention_heads": heads,
        "num_key_value_heads": key_value,
        "head_dim": head_dim,
        "max_position_embeddings": one_of(dice, ABSENT, 64, 128),
        "rms_norm_eps": one_of(dice, ABSENT, 1e-6, 1e-5, 1e-3),
        "tie_word_embeddings": one_of(dice, ABSENT, True, False),
        "eos_token_id": one_of(dice, ABSENT, 2, 2, [1, 2], None),
    }


def scaling(dice):
    llama3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
              "original_max_position_embeddings": 32}
    short = {key: value for key, value in llama3.items() if not key.startswith("original")}
    return one_of(
        dice, *[None, {"rope_type": "default"}, {"rope_type": "linear", "factor": 2.0}, llama3] * 4, {},
        {"rope_type": "linear", "factor": 4}, {"type": "linear", "factor": 2.0}, short,
        {"rope_type": "linear", "type": "linear", "factor": 3.0}, {"factor": 2.0},
        {"rope_type": "dynamic", "factor": 2.0}, {"rope_type": "default", "factor": 2.0},
        {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 16},
        {"rope_type": "linear", "factor": 2.0, "partial_rotary_factor": 0.5},
        {"rope_type": "default", "partial_rotary_factor": 1.0})


def rotary_4(dice, fields):
    fields["rope_theta"] = one_of(dice, ABSENT, 10000.0, 10000, 500000.0, 100.0)
    fields["rope_scaling"] = one_of(dice, ABSENT, scaling(dice), scaling(dice))


def rotary_5(dice, fields):
    parameters = scaling(dice)
    if parameters is not None and dice.random() < 0.8:
        parameters["rope_theta"] = dice.choice([10000.0, 10000, 500000.0, 100.0])
    fields["rope_parameters"] = parameters if dice.random() < 0.95 else ABSENT
    if dice.random() < 0.1:
        fields["rope_theta"] = dice.choice([10000.0, 500000.0])
    if dice.random() < 0.05:
        fields["rope_scaling"] = scaling(dice)


def rotary(dice, fields, version):
    (rotary_5 if version == 5 else rotary_4)(dice, fields)
    if dice.random() < 0.08:
        fields["partial_rotary_factor"] = dice.choice([1.0, 1, None, 0.5])


def layer_types(dice, fields):
    kinds = ["full_attention", "sliding_attention"]
    layers = fields["num_hidden_layers"]
    return one_of(dice, ABSENT, ABSENT, None, [dice.choice(kinds) for _ in range(layers)],
                  [kinds[0]] * layers)


def llama(dice, version):
    fields = shape(dice, 0, [ABSENT, ABSENT, None, 4, 8, 16])
    fields["hidden_act"] = one_of(dice, ABSENT, "silu", "silu", "swish", "silu", "silu", "silu", "gelu")
    fields["attention_bias"] = one_of(dice, ABSENT, False, True)
    fields["mlp_bias"] = one_of(dice, ABSENT, False, True)
    fields["pretraining_tp"] = one_of(dice, ABSENT, 1, 2)
    if dice.random() < 0.1:
        fields["layer_types"] = layer_types(dice, fields)
    if dice.random() < 0.05:
        fields["sliding_window"] = dice.choice([None, 4])
    rotary(dice, fields, version)
    return fields


def mistral(dice, version):
    fields = shape(dice, 8, [ABSENT, None, 4, 8, 16])
    fields["hidden_act"] = one_of(dice, ABSENT, "silu")
    fields["sliding_window"] = one_of(dice, ABSENT, None, 3, 8, 4096)
    for name in ("attention_bias", "mlp_bias"):
        if dice.random() < 0.15:
            fields[name] = dice.choice([False, True, None])
    if dice.random() < 0.15:
        fields["layer_types"] = layer_types(dice, fields)
    rotary(dice, fields, version)
    return fields


def qwen(dice, version, head_dims):
    fields = shape(dice, 32, head_dims)
    fields["hidden_act"] = one_of(dice, ABSENT, "silu")
    fields["use_sliding_window"] = one_of(dice, ABSENT, False, True, True)
    fields["sliding_window"] = one_of(dice, ABSENT, None, 3, 8, 3, 8)
    fields["max_window_layers"] = one_of(dice, ABSENT, 0, 1, 2, 28)
    if fields["use_sliding_window"] is True or dice.random() < 0.2:
        fields["layer_types"] = layer_types(dice, fields)
    fields["attention_bias"] = one_of(dice, ABSENT, ABSENT, False, True)
    if dice.random() < 0.1:
        fields["mlp_bias"] = dice.choice([False, True])
    rotary(dice, fields, version)
    return fields


def gemma(dice, version, family):
    fields = shape(dice, 4, [ABSENT, 4, 4, 8, 8, 16, 16, 16, None])
    fields["hidden_activation"] = one_of(dice, *[ABSENT, "gelu_pytorch_tanh"] * 4, "gelu_new", "gelu")
    fields["hidden_act"] = one_of(dice, ABSENT, "gelu_pytorch_tanh", "gelu")
    fields["attention_bias"] = one_of(dice, ABSENT, False, True)
    fields["query_pre_attn_scalar"] = one_of(dice, ABSENT, 16, 24, 256)
    fields["attn_logit_softcapping"] = one_of(dice, ABSENT, None, 50.0, 2.0)
    fields["final_logit_softcapping"] = one_of(dice, ABSENT, None, 30.0, 2.0)
    fields["sliding_window"] = one_of(dice, *[ABSENT, 3, 8] * 3, None)
    fields["layer_types"] = layer_types(dice, fields)
    for name, values in {"sliding_window_pattern": [2, 3, 6], "_sliding_window_pattern": [2, 3, 6],
                         "use_bidirectional_attention": [False, None, True]}.items():
        if dice.random() < 0.15:
            fields[name] = dice.choice(values)
    rotary(dice, fields, version)
    if family == "gemma3_text":
        fields["attn_logit_softcapping"] = one_of(dice, *[ABSENT, None] * 4, 50.0)
        if version == 4 or dice.random() < 0.1:
            fields["rope_local_base_freq"] = one_of(dice, ABSENT, 10000.0, 50.0)
        if version == 5 and isinstance(fields.get("rope_parameters"), dict) and dice.random() < 0.9:
            near = {"rope_type": "default", "rope_theta": dice.choice([10000.0, 50.0])}
            fields["rope_parameters"] = {"full_attention": fields["rope_parameters"],
                                         "sliding_attention": dice.choice([near, near, scaling(dice)])}
    return fields


# Fields that say nothing, or what no family may have.
NOISE = [
    ("architectures", None), ("torch_dtype", "bfloat16"), ("dtype", "float16"), ("use_cache", False),
    ("initializer_range", 0.5), ("attention_dropout", 0.3), ("bos_token_id", 1), ("pad_token_id", None),
    ("pad_token_id", 0), ("transformers_version", "4.40.0"), ("temperature", 0.3), ("is_decoder", True),
    ("max_length", 7), ("id2label", {"0": "a"}), ("chunk_size_feed_forward", 3), ("torchscript", True),
    ("output_hidden_states", True), ("is_encoder_decoder", False), ("pruned_heads", {}),
    ("add_cross_attention", False), ("use_mrope", False), ("rope_interleaved", False),
    ("is_causal", True), ("is_causal", False), ("is_causal", None), ("quantization_config", None),
    ("use_bidirectional_attention", True), ("use_bidirectional_attention", False), ("mlp_bias", True),
    ("attention_bias", True), ("never_heard_of", False), ("never_heard_of", 3), ("head_dim", 8),
    ("rope_theta", 3000.0), ("num_labels", 3), ("tie_word_embeddings", None), ("sliding_window", 5),
    ("partial_rotary_factor", 0.25), ("original_max_position_embeddings", 16), ("per_layer_config", None),
]


def random_config(dice, family, version):
    make = {"gpt2": lambda: gpt2(dice), "llama": lambda: llama(dice, version),
            "mistral": lambda: mistral(dice, version),
            "qwen2": lambda: qwen(dice, version, [*[ABSENT, 4] * 4, None, 8]),
            "qwen3": lambda: qwen(dice, version, [ABSENT, 4, 8, 16])}
    fields = make.get(family, lambda: gemma(dice, version, family))()
    for name, value in dice.sample(NOISE, dice.choice([0, 0, 0, 1])):
        fields.setdefault(name, copy.deepcopy(value))
    fields = {name: value for name, value in fields.items() if value is not ABSENT}
    return {"model_type": family, **fields}


# --- Models


def randomise(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if "norm" in name or ".ln_" in name:
                is_gain = name.endswith("weight") and not model.config.model_type.startswith("gemma")
                parameter.copy_(is_gain + 0.2 * noise)
            elif parameter.dim() == 1:
                parameter.copy_(0.3 * noise)
            elif "embed" in name or "wte" in name or "wpe" in name or "lm_head" in name:
                parameter.copy_(0.7 * noise)
            else:
                parameter.copy_(1.5 * noise / parameter.shape[1] ** 0.5)


def log_probabilities(model, tokens):
    ids = torch.tensor([tokens])
    with torch.no_grad():
        logits = model(input_ids=ids, use_cache=False).logits[0].double()
    scores = torch.log_softmax(logits, -1)
    return [scores[i, token].item() for i, token in enumerate(tokens[1:])]


def make_model(directory, seed):
    config = transformers.AutoConfig.from_pretrained(directory)
    config._attn_implementation = "eager"
    config.dtype = torch.float32
    model = transformers.AutoModelForCausalLM.from_config(
        config, dtype=torch.float32, attn_implementation="eager").eval()
    randomise(model, seed)
    return model


class Comparison:
    def __init__(self, build, keep):
        self.submix = str(pathlib.Path(build).resolve() / "submix")
        self.keep = keep
        self.counts = collections.defaultdict(collections.Counter)  # (family, format): outcomes
        self.reasons = collections.Counter()
        self.accepted = collections.Counter()  # what transformers refuses and Submix does not
        self.problems = []

    def report(self):
        for (family, kind), counts in self.counts.items():
            outcomes = ", ".join(f"{value} {key}" for key, value in sorted(counts.items()))
            print(f"{family}, format {kind}: {outcomes}")
        if self.reasons:
            fields = sorted(self.reasons.items(), key=lambda item: -item[1])
            print("  refused:", ", ".join(f"{field} {count}" for field, count in fields))
        for reason, count in self.accepted.most_common():
            print(f"  {count} accepted that transformers refuses: {reason}")

    def score(self, directory, tokens):
        run = subprocess.run(
            [self.submix, "score", str(directory), "--precision", "f32", "--json", "--tokens",
             ",".join(map(str, tokens))], capture_output=True, text=True, check=False,
            env={**os.environ, "XDG_CACHE_HOME": str(directory)})
        if run.returncode:
            return None, run.stderr.strip()
        return json.loads(run.stdout)["models"][0]["log_probabilities"], ""

    def problem(self, name, text, directory):
        self.problems.append(f"{name}: {text}\n  {(directory / 'config.json').read_text()}")
        if self.keep:
            subprocess.run(["cp", "-r", str(directory), str(pathlib.Path(self.keep) / name)], check=False)

    def compare(self, dice, family, kind, name, directory):
        """`kind`: format 4 or 5, or saved: as transformers writes what it has read."""
        counts = self.counts[family, kind]
        config = random_config(dice, family, 4 if kind == "4" else 5 if kind == "5" else VERSION)
        text = json.dumps(config, indent=1)
        (directory / "config.json").write_text(text)
        tokens = [dice.randrange(40) for _ in range(24)]
        if family not in ("gpt2", "llama") and "max_position_embeddings" not in config and dice.random() < 0.1:
            tokens = [dice.randrange(40) for _ in range(4200)]  # beyond a window that is absent
        try:
            model = make_model(directory, dice.randrange(1 << 30))
            expected = log_probabilities(model, tokens)
            model.save_pretrained(directory)
        except Exception as error:  # of whatever kind: transformers cannot use this file
            counts["transformers refuses"] += 1
            _, refusal = self.score(directory, tokens)
            if "model.safetensors" in refusal:
                self.accepted[" ".join(f"{type(error).__name__}: {error}".split())[:110]] += 1
            return
        is_supported = True
        if kind == "saved":
            is_supported = self.score_is_expected(directory, text, tokens)
        else:
            (directory / "config.json").write_text(text)
        found, refusal = self.score(directory, tokens)
        if found is None:
            counts["refused"] += 1
            field = re.search(r'field "([^"]*)"', refusal) or re.search(r'tensor "([^"]*)"', refusal)
            self.reasons[field.group(1) if field else refusal] += 1
            if not field:
                self.problem(name, "refused without a name: " + refusal, directory)
            elif kind == "saved" and is_supported:
                self.problem(name, "refused as transformers wrote it: " + refusal, directory)
            return
        difference = max(abs(a - b) for a, b in zip(found, expected))
        if difference <= (TOLERANCE if len(tokens) < 1000 else TOLERANCE_OF_LONG_TEXTS):
            counts["equal"] += 1
            return
        counts["DIFFERENT"] += 1
        self.problem(name, f"off by {difference:.4f} nats", directory)

    def score_is_expected(self, directory, text, tokens):
        """Whether what transformers has read was supported before it wrote it anew."""
        saved = (directory / "config.json").read_text()
        (directory / "config.json").write_text(text)
        found, _ = self.score(directory, tokens)
        (directory / "config.json").write_text(saved)
        return found is not None


class ConfigsTest(unittest.TestCase):
    """One test of each family and format."""

    options = None

    def run_files(self, family, kind):
        comparison = Comparison(self.options.build, self.options.keep)
        for i in range(self.options.count):
            name = f"{family}-{kind}-{self.options.seed}-{i}"
            with tempfile.TemporaryDirectory() as directory:
                comparison.compare(random.Random(name), family, kind, name, pathlib.Path(directory))
        comparison.report()
        self.assertFalse(comparison.problems, "\n".join(comparison.problems))


def add_test(family, kind):
    setattr(ConfigsTest, f"test_{family}_{kind}", lambda self: self.run_files(family, kind))


for tested in FAMILIES:
    for written in ["4", "5", "saved"]:
        # A GPT-2 has no positions that version 5 writes otherwise.
        if written != "5" or (VERSION >= 5 and tested != "gpt2"):
            add_test(tested, written)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("source", nargs="?", help="not needed")
    parser.add_argument("--count", type=int, default=12, help="files of each family and format")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="names of tests, such as test_llama_5")
    parser.add_argument("--keep", help="a directory for models that differ")
    ConfigsTest.options = parser.parse_args()
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    print(f"transformers {transformers.__version__}; {ConfigsTest.options.count} files of each family and format")
    names = [f"ConfigsTest.{name}" for name in ConfigsTest.options.only.split()]
    unittest.main(argv=[sys.argv[0], *names])


if __name__ == "__main__":
    main()
