#!/usr/bin/env python3
"""One figure with a model of GPT-2 small's width and vocabulary (2 of its 12 layers of 768, 50,257 words)
and WikiText-2.

The weights are random: what is tested is that real sizes and formats go through, from text to
picture. Usage: gpt2_small_test.py BUILD_DIR SOURCE_DIR. Skips without SOURCE_DIR/../shared/data.
"""

import array
import csv
import json
import math
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
DATA = SOURCE / "../shared/data"
SKIPPED = 77
WIDTH, LAYERS, WORDS, POSITIONS = 768, 2, 50257, 1024


def tensors():
    """Name, shape and kind of every tensor, as Hugging Face names them."""
    yield "wte.weight", [WORDS, WIDTH], "random"
    yield "wpe.weight", [POSITIONS, WIDTH], "random"
    for layer in range(LAYERS):
        for name, rows, columns in (("attn.c_attn", WIDTH, 3 * WIDTH), ("attn.c_proj", WIDTH, WIDTH),
                                    ("mlp.c_fc", WIDTH, 4 * WIDTH), ("mlp.c_proj", 4 * WIDTH, WIDTH)):
            yield f"h.{layer}.{name}.weight", [rows, columns], "random"
            yield f"h.{layer}.{name}.bias", [columns], "zero"
        for name in ("ln_1", "ln_2"):
            yield f"h.{layer}.{name}.weight", [WIDTH], "one"
            yield f"h.{layer}.{name}.bias", [WIDTH], "zero"
    yield "ln_f.weight", [WIDTH], "one"
    yield "ln_f.bias", [WIDTH], "zero"


def write_model(directory):
    source = random.Random(1)
    noise = array.array("f", (source.gauss(0, 0.02) for _ in range(1 << 20)))
    if sys.byteorder != "little":
        noise.byteswap()
    noise = noise.tobytes()
    header, begin = {}, 0
    for name, shape, _ in tensors():
        size = 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, begin + size]}
        begin += size
    words = json.dumps(header).encode()
    words += b" " * (-len(words) % 8)
    fill = {"random": noise, "zero": bytes(4), "one": b"\0\0\x80\x3f"}
    with open(directory / "model.safetensors", "wb") as file:
        file.write(len(words).to_bytes(8, "little") + words)
        for name, shape, kind in tensors():
            size = 4 * math.prod(shape)
            # An odd start, lest two products of one shape be the same.
            start = 4 * source.randrange(1 << 18) if kind == "random" else 0
            pattern = fill[kind][start:] + fill[kind][:start]
            file.write((pattern * -(-size // len(pattern)))[:size])
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": WORDS,
              "n_positions": POSITIONS, "n_ctx": POSITIONS, "n_embd": WIDTH, "n_layer": LAYERS,
              "n_head": 12, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new",
              "bos_token_id": 50256, "eos_token_id": 50256}
    (directory / "config.json").write_text(json.dumps(config))
    for name in ("vocab.json", "merges.txt"):
        shutil.copyfile(DATA / "gpt2-tokenizer" / name, directory / name)


def cut(source, target, size):
    target.write_text(source.read_text(encoding="utf-8")[:size], encoding="utf-8")


def main():
    if not (DATA / "gpt2-tokenizer").is_dir():
        print(f"SKIPPED: no {DATA}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        (work / "gpt2").mkdir()
        write_model(work / "gpt2")
        cut(DATA / "wikitext-2/valid.txt", work / "private.txt", 3000)
        cut(DATA / "wikitext-2/test.txt", work / "heldout.txt", 8000)
        subprocess.run([BUILD / "submix", "reproduce", "submix-fig3", "--small",
                        "--public", work / "gpt2", "--corpus", work / "private.txt",
                        "--users-are-blocks", "32", "--heldout", work / "heldout.txt",
                        "--top-layers", "2", "--out", work / "out"], check=True)
        figure = json.loads((work / "out/submix-fig3.json").read_text())
        # It knows nothing, and learns a little from a few hundred words.
        assert abs(math.log(figure["levels"]["public model"]["perplexity"] / WORDS)) < 0.5, figure["levels"]
        for row in figure["rows"]:
            assert 1 < row["perplexity"] < 2 * WORDS or row["mechanism"] in ("gnmax", "sample-and-aggregate"), row
            assert row["spent_max"] <= row["epsilon"] * (1 + 1e-9), row
        curves = {row["curve"] for row in csv.DictReader(open(work / "out/submix-fig3.csv"))}
        assert {row["curve"] for row in figure["rows"]} <= curves, curves
        print({name: round(level["perplexity"]) for name, level in figure["levels"].items()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
