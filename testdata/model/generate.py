#!/usr/bin/env python3
"""Writes the files of this folder, with nothing but the standard library.

They check our reading against bytes that our writer did not make. The PEFT folders hold the tensor
names, shapes and configuration fields that PEFT's save_pretrained writes for a GPT-2 of 2 layers
and width 8; the values follow `pattern`, which submix/model/lora_adapter_test.cc computes too.
"""

import json
import os
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
WIDTH = 8


def write_safetensors(path, tensors, metadata):
    """tensors: (name, dtype, shape, bytes) in the order in which the bytes are laid out."""
    header, data = {"__metadata__": metadata}, b""
    for name, dtype, shape, raw in tensors:
        offsets = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def pattern(tensor, count):
    """Multiples of 1/8 in [-2, 2]: exact in every dtype."""
    return [((7 * tensor + 3 * i) % 33 - 16) / 8 for i in range(count)]


def adapter_tensors(modules, rank, code, dtype):
    tensors = []
    for name, inputs, outputs in modules:
        for which, shape in (("lora_A", [rank, inputs]), ("lora_B", [outputs, rank])):
            values = pattern(len(tensors), shape[0] * shape[1])
            raw = struct.pack(f"<{len(values)}{code}", *values)
            full = f"base_model.model.transformer.{name}.{which}.weight"
            tensors.append((full, dtype, shape, raw))
    return tensors


def write_adapter(folder, config, tensors):
    write_safetensors(f"{HERE}/{folder}/adapter_model.safetensors", tensors, {"format": "pt"})
    with open(f"{HERE}/{folder}/adapter_config.json", "w") as file:
        json.dump(config, file, indent=2, sort_keys=True)
        file.write("\n")


# As PEFT 0.7 writes it.
OLD_CONFIG = {
    "alpha_pattern": {}, "auto_mapping": None, "base_model_name_or_path": "gpt2", "bias": "none",
    "fan_in_fan_out": True, "inference_mode": True, "init_lora_weights": True,
    "layers_pattern": None, "layers_to_transform": None, "loftq_config": {}, "lora_alpha": 4,
    "lora_dropout": 0.1, "megatron_config": None, "megatron_core": "megatron.core",
    "modules_to_save": None, "peft_type": "LORA", "r": 2, "rank_pattern": {}, "revision": None,
    "target_modules": ["c_proj", "c_attn"], "task_type": "CAUSAL_LM",
}

# The fields that later versions added, and an adapter of one layer.
NEW_CONFIG = OLD_CONFIG | {
    "alora_invocation_tokens": None, "arrow_config": None, "corda_config": None,
    "ensure_weight_tying": False, "eva_config": None, "exclude_modules": None,
    "layer_replication": None, "layers_pattern": "h", "layers_to_transform": [1],
    "lora_bias": False, "peft_version": "0.18.0", "qalora_group_size": 16,
    "target_modules": ["mlp.c_fc"], "target_parameters": None, "trainable_token_indices": None,
    "use_dora": False, "use_qalora": False, "use_rslora": False,
}


def modules_of_layer(layer):
    return [(f"h.{layer}.attn.c_attn", WIDTH, 3 * WIDTH), (f"h.{layer}.attn.c_proj", WIDTH, WIDTH),
            (f"h.{layer}.mlp.c_proj", 4 * WIDTH, WIDTH)]


def bfloat16_bits(value):
    """Nearest, ties to even, by comparing the two neighbours."""
    low = struct.unpack("<I", struct.pack("<f", value))[0] >> 16
    distance = [abs(struct.unpack("<f", struct.pack("<I", bits << 16))[0] - value)
                for bits in (low, low + 1)]
    if distance[0] == distance[1]:
        return low + low % 2
    return low if distance[0] < distance[1] else low + 1


def awkward_floats():
    """Exponents from below half's subnormals to its largest, and ties."""
    values, state = [], 1
    for exponent in range(-27, 15):
        for _ in range(8):
            state = (state * 1103515245 + 12345) % 2**31
            sign = -1 if state & 1 else 1
            values.append(sign * (1 + (state >> 8) / 2**23) * 2.0**exponent)
        values += [(1 + 2.0**-11) * 2.0**exponent, (1 + 3 * 2.0**-11) * 2.0**exponent,
                   (1 + 2.0**-8) * 2.0**exponent, (1 + 3 * 2.0**-8) * 2.0**exponent]
    values += [0.0, -0.0, 65504.0, 2.0**-24, 2.0**-25, 3 * 2.0**-25]
    return [struct.unpack("<f", struct.pack("<f", value))[0] for value in values]


def write_dtypes():
    values = awkward_floats()
    count = len(values)
    # An odd number of 16-bit values in front leaves the F32 tensor unaligned.
    tensors = [
        ("odd", "BF16", [1, 3], struct.pack("<3H", 0x3F80, 0xBF80, 0x4049)),
        ("f32", "F32", [count], struct.pack(f"<{count}f", *values)),
        ("f16", "F16", [count], struct.pack(f"<{count}e", *values)),
        ("bf16", "BF16", [count], struct.pack(f"<{count}H", *map(bfloat16_bits, values))),
        ("scalar", "F16", [], struct.pack("<e", 0.5)),
        ("empty", "F32", [0, 5], b""),
    ]
    write_safetensors(f"{HERE}/dtypes.safetensors", tensors, {"format": "pt", "writer": "generate.py"})


if __name__ == "__main__":
    old = [module for layer in range(2) for module in modules_of_layer(layer)]
    write_adapter("peft_adapter", OLD_CONFIG, adapter_tensors(old, 2, "f", "F32"))
    new = [("h.1.mlp.c_fc", WIDTH, 4 * WIDTH)]
    write_adapter("peft_one_layer", NEW_CONFIG, adapter_tensors(new, 2, "e", "F16"))
    write_dtypes()
