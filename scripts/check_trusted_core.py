#!/usr/bin/env python3
"""Holds the trusted core to its list (docs/privacy.md, "What a reviewer reads"): what must be believed
before one token of dclip or of filtered-submix may leave. Run by ctest, label `layering`.

    scripts/check_trusted_core.py [--root DIR] [--fix]

A file of the list includes only files of the list, or files whose first line says that soundness does
not depend on them; a listed header's source is listed too; the lines are counted right. `--fix` writes
the counts. Exit code 0 if nothing is broken, 1 if something is: one line each.
"""

import argparse
import pathlib
import re
import sys
from typing import Dict, List

DOCUMENT = "docs/privacy.md"
BEGIN, END = "<!-- trusted core: begin -->", "<!-- trusted core: end -->"
ROW = re.compile(r"^\| (?P<what>[^|]*) \| `(?P<folder>submix/[a-z_/]+)`: (?P<stems>[^|]*) \| *(?P<lines>\d*) \|$")
TOTAL = re.compile(r"^\| all together \| \| *(\d*) \|$")
INCLUDE = re.compile(r'^\s*#\s*(?:include|define SUBMIX_KERNELS)\s+"(submix/[^"]+)"', re.MULTILINE)
NOT_TRUSTED = "// Soundness does not depend on this file: "
MOST_LINES = 9000


def files_of(root: pathlib.Path, folder: str, stems: str) -> List[str]:
    """The paths that a row names: `x` is x.h, x.cc and x.inc, as far as there are such."""
    found = []
    for stem in re.findall(r"`([a-z_]+)`", stems):
        paths = [f"{folder}/{stem}{suffix}" for suffix in (".h", ".cc", ".inc")
                 if (root / f"{folder}/{stem}{suffix}").is_file()]
        found += paths or [f"{folder}/{stem}.h"]  # so that a wrong name is reported
    return found


def lines_of(root: pathlib.Path, path: str) -> int:
    return len((root / path).read_text(encoding="utf-8").splitlines())


def check_includes(root: pathlib.Path, trusted: List[str]) -> List[str]:
    findings = []
    for path in trusted:
        text = (root / path).read_text(encoding="utf-8")
        if text.startswith(NOT_TRUSTED):
            findings.append(f"{path}: says that soundness does not depend on it, and is in the list of {DOCUMENT}")
        for target in INCLUDE.findall(text):
            if target in trusted:
                continue
            if not (root / target).read_text(encoding="utf-8").startswith(NOT_TRUSTED):
                findings.append(f"{path}: includes {target}, which a reviewer of the trusted core does not read; "
                                f"do without it, or add it to the list of {DOCUMENT}")
    return findings


def check(root: pathlib.Path, fix: bool) -> List[str]:
    document = root / DOCUMENT
    before, listed, after = re.split(f"{BEGIN}\n|{END}", document.read_text(encoding="utf-8"))
    trusted: List[str] = []
    findings: List[str] = []
    rows = listed.splitlines()
    for number, row in enumerate(rows):
        match = ROW.match(row)
        if match:
            files = files_of(root, match["folder"], match["stems"])
            missing = [path for path in files if not (root / path).is_file()]
            if missing:
                return [f"{DOCUMENT}: there is no {path}" for path in missing]
            trusted += files
            count = sum(lines_of(root, path) for path in files)
            rows[number] = f"| {match['what']} | `{match['folder']}`: {match['stems']} | {count} |"
        elif TOTAL.match(row):
            rows[number] = f"| all together | | {sum(lines_of(root, path) for path in trusted)} |"
    right = "\n".join(rows) + "\n"
    if fix:
        document.write_text(f"{before}{BEGIN}\n{right}{END}{after}", encoding="utf-8")
    elif right != listed:
        findings.append(f"{DOCUMENT}: the lines of the trusted core have changed; scripts/check_trusted_core.py --fix")
    total = sum(lines_of(root, path) for path in trusted)
    if not trusted or total > MOST_LINES:
        findings.append(f"{DOCUMENT}: the trusted core has {total} lines, expected some, and at most {MOST_LINES}")
    return findings + check_includes(root, trusted)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--fix", action="store_true")
    options = parser.parse_args()
    findings = check(options.root, options.fix)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
