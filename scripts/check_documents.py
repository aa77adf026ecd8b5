#!/usr/bin/env python3
"""Fails if a document, or what names one, leads nowhere: one line each, `file:line: what`. Run by ctest, label
`layering`.

  links     every relative link of every .md file names a file and, after #, one of its headings
  mentions  every page of docs/ that sources, scripts and help texts name is there
  index     every page of docs/ is in docs/README.md
  length    README.md has at most 150 lines
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ELSEWHERE = {"build", "node_modules", ".git", "shared"}
MOST_README_LINES = 150
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^( *)```.*?^\1```$", re.M | re.S)
MENTION = re.compile(r"(?<![\w/.-])docs/[\w/]+\.md\b")


def files(*suffixes):
    for path in sorted(ROOT.rglob("*")):
        inside = path.relative_to(ROOT)
        if not ELSEWHERE & set(inside.parts) and path.suffix in suffixes and path.is_file():
            yield path


def anchors(text):
    """What GitHub makes of the headings."""
    found = set()
    for heading in re.findall(r"^#+ +(.*?) *$", CODE.sub("", text), re.M):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        copies = sum(1 for name in found if re.fullmatch(re.escape(slug) + r"(-\d+)?", name))
        found.add(f"{slug}-{copies}" if copies else slug)
    return found


def broken_links(path):
    text = path.read_text()
    prose = CODE.sub(lambda block: "\n" * block[0].count("\n"), text)
    for number, line in enumerate(prose.splitlines(), 1):
        for link in LINK.findall(line):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            if not target.exists():
                yield number, f"no {link}"
            elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
                yield number, f"no heading for {link}"


def missing_mentions(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for name in MENTION.findall(line):
            if not (ROOT / name).exists():
                yield number, f"no {name}"


def main():
    found = []
    documents = list(files(".md"))
    for path in documents:
        found += [(path, *broken) for broken in broken_links(path)]
    for path in [*documents, *files(".cc", ".h", ".inc", ".py", ".sh", ".cmake", ".ts", ".service", ".toml", ".txt"), ROOT / "dev"]:
        found += [(path, *missing) for missing in missing_mentions(path)]
    index = (ROOT / "docs/README.md").read_text()
    found += [(path, 1, "is not in docs/README.md") for path in sorted((ROOT / "docs").glob("*.md"))
              if path.name != "README.md" and f"]({path.name}" not in index]
    length = len((ROOT / "README.md").read_text().splitlines())
    if length > MOST_README_LINES:
        found.append((ROOT / "README.md", length, f"more than {MOST_README_LINES} lines"))
    for path, number, what in found:
        print(f"{path.relative_to(ROOT)}:{number}: {what}", file=sys.stderr)
    print(f"{len(documents)} documents, {len(found)} broken rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
