#!/usr/bin/env python3
"""Compiles every product source and benchmark alone, and every header without a source of its
name, for its syntax and warnings only. Other headers are the first include of their source
(check_layers.py), so they stand alone if it does.

The standard library comes precompiled, as most of what compiling a file's syntax takes: what a file
lacks of it, check_standard_includes.py says. So do CLI11 and the JSON library where a file includes them,
by whatever way. A header that does not include what its source does is then compiled by itself.

    scripts/check_sources_alone.py BUILD_FOLDER [--jobs N]

The commands are those of BUILD_FOLDER/compile_commands.json, which a configured build without
joined sources holds (preset `clang`). It leaves out rooms with libtorch, which clang cannot read: what of
them includes none is compiled like the rooms beside. Exit code 1 if a file does not compile.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
from typing import Dict, List, Tuple

from check_layers import TORCH_HEADER
from check_standard_includes import IncludedHeaders, USES

PRECOMPILED = ("CLI/CLI.hpp", "nlohmann/json.hpp")
WITH_LIBTORCH = "submix/train"


def product_commands(build: pathlib.Path, root: pathlib.Path) -> Dict[str, Tuple[str, List[str]]]:
    """Source, relative to the root → folder and command."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        source = pathlib.Path(entry["file"])
        if root not in source.parents or build in source.parents:
            continue
        name = source.relative_to(root).as_posix()
        if not is_test(name):
            found[name] = (entry["directory"], syntax_only(shlex.split(entry["command"])))
    return found


def syntax_only(command: List[str]) -> List[str]:
    if os.path.basename(command[0]) == "ccache":
        command = command[1:]
    kept, skip = [], False
    for word in command:
        if skip or word == "-c":
            skip = False
        elif word in ("-o", "-MF", "-MT"):
            skip = True
        elif not re.fullmatch("-MD|-[Of].*", word):  # how code is made; what is precompiled must be read alike by all
            kept.append(word)
    return kept + ["-fsyntax-only"]


class Includes:
    """Which of PRECOMPILED a file includes, itself or by files of ours."""

    def __init__(self) -> None:
        self.headers = IncludedHeaders()

    def of(self, name: str) -> Tuple[str, ...]:
        included = self.headers.of(name)
        return tuple(header for header in PRECOMPILED if header in included)

    def has_libtorch(self, name: str) -> bool:
        return any(TORCH_HEADER.match(header) for header in self.headers.of(name))


def is_test(name: str) -> bool:
    return name.endswith("_test.cc") or name.startswith("tests/") or "/testing/" in name


def sources_beside_libtorch(root: pathlib.Path, sources: Dict[str, Tuple[str, List[str]]], includes: Includes):
    """Those of rooms with libtorch that include none of it, with the command of a room beside."""
    model, (folder, command) = next(item for item in sources.items() if item[0].startswith(WITH_LIBTORCH))
    for path in sorted((root / WITH_LIBTORCH).rglob("*.cc")):
        name = path.relative_to(root).as_posix()
        if name not in sources and not is_test(name) and not includes.has_libtorch(name):
            yield name, (folder, [str(path) if word == str(root / model) else word for word in command])


def lone_headers(root: pathlib.Path, sources: Dict[str, Tuple[str, List[str]]], includes: Includes):
    """Headers of the products without a source that shows that they stand alone, each with the
    command of a source beside it."""
    by_folder = {}
    for name, command in sources.items():
        by_folder.setdefault(os.path.dirname(name), (name, command))
    for path in sorted((root / "submix").rglob("*.h")):
        name = path.relative_to(root).as_posix()
        own = path.with_suffix(".cc").relative_to(root).as_posix()
        shown = own in sources and includes.of(name) == includes.of(own)
        beside = by_folder.get(os.path.dirname(name))
        if beside and not shown and not includes.has_libtorch(name):
            source, (folder, command) = beside
            as_source = [str(path) if word == str(root / source) else word for word in command[1:]]
            yield name, (folder, [command[0], "-xc++", "-Wno-pragma-once-outside-header", *as_source])


def precompile(headers: Tuple[str, ...], into: str, folder: str, command: List[str]) -> str:
    """The file that holds them as the command, a source's, would read them."""
    together = os.path.join(into, "".join(str(PRECOMPILED.index(header)) for header in headers) + "_.h")
    pathlib.Path(together).write_text("".join(f"#include <{header}>\n" for header in (*USES, *headers)))
    flags = [word for word in command if word != "-fsyntax-only" and not word.endswith(".cc")]
    # Else each file would instantiate the headers' own templates anew, half of its time.
    flags.append("-fpch-instantiate-templates")
    subprocess.run([*flags, "-xc++-header", together, "-o", together + ".pch"], cwd=folder, check=True)
    return together + ".pch"


def compile_one(job) -> Tuple[str, int, str]:
    name, (folder, command) = job
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return name, done.returncode, done.stderr


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    root = pathlib.Path(__file__).resolve().parent.parent
    sources = product_commands(options.build.resolve(), root)
    includes = Includes()
    sources.update(dict(sources_beside_libtorch(root, sources, includes)))
    jobs = [*sources.items(), *lone_headers(root, sources, includes)]
    models = {includes.of(name): command for name, command in sources.items()}
    failed = 0
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        made = dict(zip(models, pool.map(lambda item: precompile(item[0], work, *item[1]), models.items())))

        def compile_job(job):
            name, (folder, command) = job
            return compile_one((name, (folder, [*command, "-include-pch", made[includes.of(name)]])))

        for name, code, text in pool.map(compile_job, jobs):
            if code != 0:
                failed += 1
                print(f"{name} does not compile alone:\n{text}")
    print(f"{len(jobs)} files compiled alone, {failed} failed")
    return 1 if failed or not jobs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
