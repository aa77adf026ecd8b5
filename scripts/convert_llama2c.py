#!/usr/bin/env python3
"""Makes a directory in Hugging Face's layout of a model of llama2.c (version 0: one .bin, and a .bin of its tokenizer).

    scripts/convert_llama2c.py MODEL.bin TOKENIZER.bin OUT

OUT gets config.json, model.safetensors (float32), tokenizer.json and tokenizer_config.json. Standard library alone.
"""

import array
import json
import pathlib
import struct
import sys
from typing import Dict, List, Tuple

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"  # ids 0, 1 and 2
SPACE = "\u2581"  # as SentencePiece spells it


class Reader:
    """The floats of the file, one tensor after the other."""

    def __init__(self, path: pathlib.Path):
        data = path.read_bytes()
        header = struct.unpack("<7i", data[:28])
        self.width, self.mlp_width, self.layers, self.heads, self.key_value_heads, vocabulary, self.context = header
        self.is_tied, self.vocabulary = vocabulary > 0, abs(vocabulary)
        if min(header[:5]) < 1 or self.context < 1 or vocabulary == 0 or self.width % self.heads:
            sys.exit(f"{path}: no model of llama2.c (version 0): its header is {header}")
        self.head_width = self.width // self.heads
        self.values = array.array("f", data[28:])
        if sys.byteorder == "big":
            self.values.byteswap()
        self.at = 0
        needed = self.layers * (self.width * (2 * self.width + 2 * self.head_width * self.key_value_heads + 2)
                                + 3 * self.width * self.mlp_width) + self.width + self.vocabulary * self.width
        needed += self.context * self.head_width + (0 if self.is_tied else self.vocabulary * self.width)
        if len(self.values) != needed:
            sys.exit(f"{path}: expected {28 + 4 * needed} bytes for its header, found {len(data)}")

    def take(self, count: int) -> array.array:
        self.at += count
        return self.values[self.at - count:self.at]


def half_turned(rows: array.array, width: int, head_width: int) -> array.array:
    """llama2.c turns numbers 2i and 2i + 1 of a head together, Hugging Face i and i + head_width / 2."""
    turned = array.array("f")
    order = list(range(0, head_width, 2)) + list(range(1, head_width, 2))
    for head in range(0, len(rows) // width, head_width):
        for row in order:
            turned += rows[(head + row) * width:(head + row + 1) * width]
    return turned


def read_tensors(model: Reader) -> Dict[str, Tuple[List[int], array.array]]:
    tensors = {}
    width, mlp_width = model.width, model.mlp_width
    key_width = model.key_value_heads * model.head_width

    def each_layer(name: str, shape: List[int], turned: bool = False) -> None:
        for layer in range(model.layers):
            values = model.take(shape[0] * (shape[1] if len(shape) > 1 else 1))
            if turned:
                values = half_turned(values, width, model.head_width)
            tensors[f"model.layers.{layer}.{name}.weight"] = (shape, values)

    tensors["model.embed_tokens.weight"] = ([model.vocabulary, width], model.take(model.vocabulary * width))
    each_layer("input_layernorm", [width])
    each_layer("self_attn.q_proj", [width, width], turned=True)
    each_layer("self_attn.k_proj", [key_width, width], turned=True)
    each_layer("self_attn.v_proj", [key_width, width])
    each_layer("self_attn.o_proj", [width, width])
    each_layer("post_attention_layernorm", [width])
    each_layer("mlp.gate_proj", [mlp_width, width])
    each_layer("mlp.down_proj", [width, mlp_width])
    each_layer("mlp.up_proj", [mlp_width, width])
    tensors["model.norm.weight"] = ([width], model.take(width))
    model.take(model.context * model.head_width)  # cosines and sines, which everybody computes
    if not model.is_tied:
        tensors["lm_head.weight"] = ([model.vocabulary, width], model.take(model.vocabulary * width))
    return tensors


def write_safetensors(path: pathlib.Path, tensors: Dict[str, Tuple[List[int], array.array]]) -> None:
    header, at = {}, 0
    for name, (shape, values) in tensors.items():
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * len(values)]}
        at += 4 * len(values)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, values in tensors.values():
            if sys.byteorder == "big":
                values.byteswap()
            file.write(values.tobytes())


def config_of(model: Reader) -> dict:
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
            "hidden_size": model.width, "intermediate_size": model.mlp_width, "num_hidden_layers": model.layers,
            "num_attention_heads": model.heads, "num_key_value_heads": model.key_value_heads,
            "vocab_size": model.vocabulary, "max_position_embeddings": model.context, "rms_norm_eps": 1e-5,
            "rope_theta": 10000.0, "tie_word_embeddings": model.is_tied, "torch_dtype": "float32",
            "bos_token_id": 1, "eos_token_id": 2}


def read_pieces(path: pathlib.Path, count: int) -> List[Tuple[str, float]]:
    data = path.read_bytes()
    pieces, at = [], 4
    try:
        while len(pieces) < count:
            score, size = struct.unpack_from("<fi", data, at)
            at += 8 + size
            pieces.append((data[at - size:at].decode().replace(" ", SPACE), score))
    except (struct.error, UnicodeDecodeError) as error:
        sys.exit(f"{path}: expected {count} entries of a tokenizer of llama2.c; entry {len(pieces)}: {error}")
    return [(name, 0.0) for name in (UNKNOWN, BEGIN, END)] + pieces[3:]


def tokenizer_of(pieces: List[Tuple[str, float]]) -> dict:
    """SentencePiece joins the neighbours whose whole has the best score; tokenizer.json lists them, best first."""
    ids = {piece: index for index, (piece, _) in enumerate(pieces)}
    merges = [(-score, ids[piece[:cut]], ids[piece[cut:]], piece[:cut], piece[cut:])
              for piece, score in pieces[259:] for cut in range(1, len(piece))
              if piece[:cut] in ids and piece[cut:] in ids]
    begin = {"SpecialToken": {"id": BEGIN, "type_id": 0}}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": ids[name], "content": name, "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True} for name in (UNKNOWN, BEGIN, END)],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": SPACE},
            {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}]},
        "pre_tokenizer": None,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [begin, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [begin, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {BEGIN: {"id": BEGIN, "ids": [ids[BEGIN]], "tokens": [BEGIN]}}},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"},
            {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "dropout": None, "unk_token": UNKNOWN, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "vocab": ids,
                  "merges": [f"{left} {right}" for *_, left, right in sorted(merges)]}}


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    model_file, tokenizer_file, out = map(pathlib.Path, sys.argv[1:])
    model = Reader(model_file)
    pieces = read_pieces(tokenizer_file, model.vocabulary)
    out.mkdir(parents=True, exist_ok=True)
    write_safetensors(out / "model.safetensors", read_tensors(model))
    for name, content in (("config.json", config_of(model)), ("tokenizer.json", tokenizer_of(pieces)),
                          ("tokenizer_config.json", {"tokenizer_class": "LlamaTokenizer", "bos_token": BEGIN,
                                                     "eos_token": END, "unk_token": UNKNOWN})):
        (out / name).write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
