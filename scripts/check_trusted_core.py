#!/usr/bin/env python3
"""Holds the trusted core to its list in docs/privacy.md. Run by ctest, label `layering`.

    scripts/check_trusted_core.py [--root DIR] [--fix]

A row of the list is `| `submix/room/file.h` | LINES | MECHANISMS | what to look for |`. What a
listed file includes must be listed too, for the same mechanisms, and with a header its source,
unless the included header says in its first line that soundness does not depend on it. Line
numbers and sums must be true; --fix writes them. Exit code 1 if anything is not so.
"""

import argparse
import pathlib
import re
import sys
from typing import Dict, Iterator, List, NamedTuple, Set

LIST = "docs/privacy.md"
ROW = re.compile(r"^\| `(submix/[^`]+)` \| *([0-9,]+) \| ([^|]+?) \|", re.MULTILINE)
SUM = re.compile(r"^(\| \*\*sum\*\* \|) *[0-9,]+ (\| (?!`)([^|]+?) \|)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*"(submix/[^"]+)"', re.MULTILINE)
NOT_NEEDED = "Soundness does not depend on this file"
EVERYBODY = "all"


class Row(NamedTuple):
    path: str
    lines: int
    mechanisms: Set[str]  # {EVERYBODY}, or the mechanisms that need the file


def read_list(text: str) -> Dict[str, Row]:
    return {path: Row(path, int(lines.replace(",", "")), set(names.split(", ")))
            for path, lines, names in ROW.findall(text)}


def serves(row: Row, mechanisms: Set[str]) -> bool:
    return EVERYBODY in row.mechanisms or mechanisms <= row.mechanisms


def needed_by(root: pathlib.Path, path: str) -> Iterator[str]:
    """What a reader of the file must read too."""
    for target in INCLUDE.findall((root / path).read_text(encoding="utf-8")):
        if NOT_NEEDED not in (root / target).read_text(encoding="utf-8").partition("\n")[0]:
            yield target
    source = pathlib.PurePosixPath(path).with_suffix(".cc")
    if path.endswith(".h") and (root / source).is_file():
        yield str(source)


def lines_of(root: pathlib.Path, path: str) -> int:
    return (root / path).read_text(encoding="utf-8").count("\n")


def findings(root: pathlib.Path, rows: Dict[str, Row]) -> Iterator[str]:
    if not rows:
        yield f"{LIST}: no list of the trusted core"
    for row in rows.values():
        if not (root / row.path).is_file():
            yield f"{LIST}: {row.path} is listed and does not exist"
            continue
        for target in needed_by(root, row.path):
            if target not in rows or not serves(rows[target], row.mechanisms):
                yield (f"{row.path}: needs {target}, which {LIST} does not list for "
                       f"{', '.join(sorted(row.mechanisms))}: list it, or do without it")


def with_true_numbers(root: pathlib.Path, text: str) -> str:
    rows = read_list(text)
    counts = {path: lines_of(root, path) for path in rows if (root / path).is_file()}

    def sum_of(match: "re.Match[str]") -> str:
        wanted = set(match.group(3).split(", "))
        total = sum(count for path, count in counts.items()
                    if serves(rows[path], wanted))
        return f"{match.group(1)} {total:,} {match.group(2)}"

    text = ROW.sub(lambda m: f"| `{m.group(1)}` | {counts.get(m.group(1), 0)} | {m.group(3)} |",
                   text)
    return SUM.sub(sum_of, text)


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--fix", action="store_true", help="write the true numbers of lines")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    text = (root / LIST).read_text(encoding="utf-8")
    broken = list(findings(root, read_list(text)))
    true_text = with_true_numbers(root, text)
    if true_text != text and options.fix:
        (root / LIST).write_text(true_text, encoding="utf-8")
    elif true_text != text:
        broken.append(f"{LIST}: numbers of lines of the trusted core are not true; "
                      "run scripts/check_trusted_core.py --fix")
    for line in broken:
        print(line)
    print(f"{len(read_list(text))} files of the trusted core, {len(broken)} findings")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
