#!/usr/bin/env python3
"""Breaks a small trusted core in every way that check_trusted_core.py must notice. Run by ctest."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from typing import Dict

sys.dont_write_bytecode = True

import check_trusted_core  # noqa: E402

CORE = {
    "docs/privacy.md": "| file | lines | for | what |\n|---|---|---|---|\n"
                       "| `submix/engine/step.cc` | 2 | all | the way |\n"
                       "| `submix/base/status.h` | 1 | all | - |\n"
                       "| `submix/base/status.cc` | 1 | all | - |\n"
                       "| `submix/mechanism/dclip.cc` | 1 | dclip | Theorem 6 |\n"
                       "| **sum** | 4 | all | - |\n"
                       "| **sum** | 5 | dclip | - |\n"
                       "| **sum** | 4 | submix | - |\n",
    "submix/engine/step.cc": '#include "submix/base/status.h"\n'
                             '#include "submix/mechanism/search.h"\n',
    "submix/base/status.h": "#pragma once\n",
    "submix/base/status.cc": "int status;\n",
    "submix/mechanism/dclip.cc": '#include "submix/base/status.h"\n',
    "submix/mechanism/search.h": "// Soundness does not depend on this file: it only searches.\n",
}


class CheckTrustedCoreTest(unittest.TestCase):
    def run_on(self, changes: Dict[str, str], *arguments: str):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**CORE, **changes}.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                code = check_trusted_core.main(["--root", folder, *arguments])
            return code, output.getvalue(), pathlib.Path(folder, "docs/privacy.md").read_text()

    def assert_refused(self, expected: str, changes: Dict[str, str]):
        code, output, _ = self.run_on(changes)
        self.assertEqual(code, 1, output)
        self.assertIn(expected, output)

    def without(self, row: str) -> Dict[str, str]:
        text = CORE["docs/privacy.md"]
        self.assertIn(row, text)
        return {"docs/privacy.md": "".join(line for line in text.splitlines(True)
                                           if not line.startswith(row))}

    def test_accepts_a_closed_list_with_true_numbers(self):
        code, output, _ = self.run_on({})
        self.assertEqual(code, 0, output)

    def test_refuses_an_include_outside_the_list(self):
        self.assert_refused("step.cc: needs submix/base/status.h",
                            self.without("| `submix/base/status.h`"))

    def test_a_listed_header_needs_its_source(self):
        self.assert_refused("status.h: needs submix/base/status.cc",
                            self.without("| `submix/base/status.cc`"))

    def test_what_serves_one_mechanism_does_not_serve_all(self):
        self.assert_refused("step.cc: needs submix/mechanism/dclip.cc", {
            "submix/engine/step.cc": '#include "submix/base/status.h"\n'
                                     '#include "submix/mechanism/dclip.cc"\n'})

    def test_refuses_a_search_that_does_not_say_so(self):
        self.assert_refused("step.cc: needs submix/mechanism/search.h",
                            {"submix/mechanism/search.h": "// Searches.\n"})

    def test_refuses_what_does_not_exist(self):
        self.assert_refused("lost.h is listed and does not exist", {
            "docs/privacy.md": CORE["docs/privacy.md"] + "| `submix/lost.h` | 1 | all | - |\n"})

    def test_refuses_and_fixes_numbers(self):
        longer = {"submix/base/status.h": "#pragma once\n// more\n"}
        self.assert_refused("not true", longer)
        code, _, text = self.run_on(longer, "--fix")
        self.assertEqual(code, 0)
        self.assertIn("| `submix/base/status.h` | 2 | all |", text)
        self.assertIn("| **sum** | 6 | dclip |", text)

    def test_refuses_an_empty_list(self):
        self.assert_refused("no list", {"docs/privacy.md": "nothing\n"})


if __name__ == "__main__":
    unittest.main()
