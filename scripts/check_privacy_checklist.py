#!/usr/bin/env python3
"""Fails if docs/privacy_checklist.md names a test that no source defines."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMED = re.compile(r"`([A-Z][A-Za-z0-9]*Test)\.([A-Za-z0-9]+)`")
DEFINED = re.compile(r"^TEST(?:_F|_P)?\(\s*([A-Za-z0-9_]+),\s*([A-Za-z0-9_]+)\)", re.MULTILINE)


def main():
    named = set(NAMED.findall((ROOT / "docs/privacy_checklist.md").read_text()))
    defined = set()
    for folder in ("submix", "tests"):
        for source in (ROOT / folder).rglob("*_test.cc"):
            defined |= set(DEFINED.findall(source.read_text()))
    missing = sorted(named - defined)
    for suite, name in missing:
        print(f"docs/privacy_checklist.md: no test is called {suite}.{name}", file=sys.stderr)
    print(f"{len(named)} tests named, {len(missing)} missing")
    return 1 if missing or not named else 0


if __name__ == "__main__":
    sys.exit(main())
