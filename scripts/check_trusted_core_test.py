#!/usr/bin/env python3
"""Breaks small trees on purpose: check_trusted_core.py must notice."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_trusted_core  # noqa: E402

TABLE = """before
<!-- trusted core: begin -->
| what it does | files | lines |
|---|---|---|
| a token | `submix/engine`: `sample` | {lines} |
| all together | | {lines} |
<!-- trusted core: end -->
after
"""


class TrustedCoreTest(unittest.TestCase):
    def setUp(self):
        self._directory = tempfile.TemporaryDirectory()
        self.addCleanup(self._directory.cleanup)
        self.root = pathlib.Path(self._directory.name)
        self.write("submix/engine/sample.h", "// Draws.\n")
        self.write("submix/engine/sample.cc", '#include "submix/engine/sample.h"\n')
        self.write("submix/engine/other.h", "// Something else.\n")
        self.write("docs/privacy.md", TABLE.format(lines=2))

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def findings(self, fix=False):
        return "\n".join(check_trusted_core.check(self.root, fix))

    def test_a_closed_list_passes(self):
        self.assertEqual(self.findings(), "")

    def test_an_include_from_outside_is_found(self):
        for line in ('#include "submix/engine/other.h"', '#define SUBMIX_KERNELS "submix/engine/other.h"'):
            self.write("submix/engine/sample.h", line + "\n")
            self.assertIn("includes submix/engine/other.h", self.findings())

    def test_what_soundness_does_not_depend_on_may_be_included(self):
        self.write("submix/engine/sample.h", '#include "submix/engine/other.h"\n')
        self.write("submix/engine/other.h", check_trusted_core.NOT_TRUSTED + "a search.\n")
        self.assertEqual(self.findings(), "")

    def test_such_a_file_is_not_in_the_list(self):
        self.write("submix/engine/sample.h", check_trusted_core.NOT_TRUSTED + "a search.\n")
        self.assertIn("is in the list", self.findings())

    def test_wrong_counts_are_found_and_written(self):
        self.write("docs/privacy.md", TABLE.format(lines=3))
        self.assertIn("have changed", self.findings())
        self.assertEqual(self.findings(fix=True), "")
        self.assertEqual((self.root / "docs/privacy.md").read_text(encoding="utf-8"), TABLE.format(lines=2))

    def test_a_name_without_a_file_is_found(self):
        self.write("docs/privacy.md", TABLE.format(lines=2).replace("`sample`", "`sample`, `gone`"))
        self.assertIn("there is no submix/engine/gone.h", self.findings())


if __name__ == "__main__":
    unittest.main()
