#!/usr/bin/env python3
"""Breaks a small clean tree in every way that check_layers.py must notice. Run by ctest."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from typing import Dict

sys.dont_write_bytecode = True

import check_layers  # noqa: E402

CLEAN_TREE = {
    "CMakeLists.txt": "project(submix)\nadd_subdirectory(submix)\n",
    "submix/base/CMakeLists.txt": "submix_library(NAME base SRCS status.cc check.cc HDRS status.h\n"
                                  "  TESTS status_test.cc)\n"
                                  "add_library(t testing/seeded_random.cc)\n",
    "submix/base/status.h": "// Says throw, abort() and -Ofast in a comment only.\n#pragma once\n",
    "submix/base/status.cc": '#include "submix/base/status.h"\n\n#include <cstdio>\n'
                             'const char* kText = "abort() or throw";\n'
                             "int Format(char* out) { return snprintf(out, 1'000, kText); }\n",
    "submix/base/check.cc": "#include <cstdlib>\nvoid Die() { std::abort(); }\n",
    "submix/base/status_test.cc": '#include "submix/base/status.h"\n'
                                  '#include "submix/base/testing/seeded_random.h"\n',
    "submix/base/testing/seeded_random.h": "#pragma once\n",
    "submix/base/testing/seeded_random.cc": '#include "submix/base/testing/seeded_random.h"\n'
                                            '#include "submix/base/chacha_random_source.h"\n',
    "submix/ledger/CMakeLists.txt": "submix_library(NAME ledger SRCS ledger.cc HDRS ledger.h\n"
                                    "  receipt_press.h)\n",
    "submix/ledger/ledger.h": '#pragma once\n#include "submix/base/status.h"\n',
    "submix/ledger/ledger.cc": '#include "submix/ledger/ledger.h"\n'
                               '#include "submix/ledger/receipt_press.h"\n',
    "submix/ledger/receipt_press.h": "#pragma once\nclass ReceiptPress {};\n",
    "submix/engine/CMakeLists.txt": "submix_library(NAME engine SRCS engine.cc)\n",
    "submix/engine/engine.cc": '#include "submix/ledger/ledger.h"\n',
    "tests/CMakeLists.txt": "submix_test(NAME a SOURCE golden/golden_test.cc)\n",
    "tests/golden/golden_test.cc": '#include "submix/engine/engine.h"\n',
}


class CheckLayersTest(unittest.TestCase):
    def run_on(self, changes: Dict[str, str]):
        """Runs the check on the clean tree with these files added or replaced."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**CLEAN_TREE, **changes}.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            output = io.StringIO()
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                code = check_layers.main(["--root", folder])
            return code, output.getvalue()

    def assert_refused(self, expected: str, changes: Dict[str, str]):
        code, output = self.run_on(changes)
        self.assertEqual(code, 1, output)
        self.assertIn(expected, output)

    def assert_accepted(self, changes: Dict[str, str]):
        code, output = self.run_on(changes)
        self.assertEqual(code, 0, output)
        return output

    def append(self, path: str, text: str) -> Dict[str, str]:
        return {path: CLEAN_TREE[path] + text}

    def test_accepts_the_clean_tree(self):
        self.assert_accepted({})

    def test_accepts_this_repository_s_plan_as_free_of_cycles(self):
        self.assertEqual(list(check_layers._cycles(check_layers.MAY_INCLUDE)), [])

    def test_refuses_an_empty_root(self):
        with tempfile.TemporaryDirectory() as folder:
            with contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(check_layers.main(["--root", folder]), 1)

    def test_refuses_an_include_that_the_plan_forbids(self):
        self.assert_refused(
            "ledger.cc:3: \"submix/model/decoder_config.h\": ledger may not include model",
            self.append("submix/ledger/ledger.cc", '#include "submix/model/decoder_config.h"\n'))

    def test_refuses_it_in_a_test_of_the_room_too(self):
        self.assert_refused(
            "base may not include ledger",
            self.append("submix/base/status_test.cc", '#include "submix/ledger/ledger.h"\n'))

    def test_ignores_includes_in_comments(self):
        self.assert_accepted(self.append(
            "submix/ledger/ledger.cc",
            '// #include "submix/model/a.h"\n/*\n#include "submix/model/a.h"\n*/\n'))

    def test_refuses_unknown_rooms(self):
        self.assert_refused("no such room in the floor plan: attic", {
            "submix/attic/CMakeLists.txt": "x.h", "submix/attic/x.h": "#pragma once\n"})
        self.assert_refused('"submix/attic/x.h": no such room', self.append(
            "submix/engine/engine.cc", '#include "submix/attic/x.h"\n'))

    def test_refuses_relative_and_angled_includes_of_our_headers(self):
        self.assert_refused("quotes are for full paths", self.append(
            "submix/ledger/ledger.cc", '#include "receipt.h"\n'))
        self.assert_refused("our headers go in quotes", self.append(
            "submix/ledger/ledger.cc", "#include <submix/model/decoder_config.h>\n"))

    def test_refuses_test_doubles_in_products(self):
        self.assert_refused("test doubles stay out of products", self.append(
            "submix/ledger/ledger.cc", '#include "submix/base/testing/seeded_random.h"\n'))

    def test_finds_cycles_of_files(self):
        self.assert_refused(
            "include cycle: submix/base/check.h -> submix/base/status.h -> submix/base/check.h", {
                "submix/base/status.h": '#pragma once\n#include "submix/base/check.h"\n',
                "submix/base/check.h": '#pragma once\n#include "submix/base/status.h"\n'})

    def test_finds_cycles_of_rooms(self):
        self.assert_refused("cycle of rooms: base -> ledger -> base", {
            "submix/base/check.cc": '#include "submix/ledger/ledger.h"\n'})

    def test_refuses_the_receipt_press_outside_the_ledger(self):
        for path in ("submix/engine/engine.cc", "tests/golden/golden_test.cc"):
            self.assert_refused("only a ledger makes receipts", self.append(
                path, '#include "submix/ledger/receipt_press.h"\n'))

    def test_refuses_a_second_class_of_a_friend_s_name(self):
        self.assert_refused("ReceiptPress is defined in submix/ledger/receipt_press.h only",
                            self.append("submix/engine/engine.cc",
                                        "namespace submix::ledger {\nclass ReceiptPress final\n"
                                        "{\n};\n}\n"))
        self.assert_accepted(self.append("submix/engine/engine.cc", "class ReceiptPress;\n"))

    def test_refuses_the_operator_view_where_requests_are_served(self):
        header = {"submix/mechanism/CMakeLists.txt": "operator_view.h",
                  "submix/mechanism/operator_view.h": "#pragma once\nclass OperatorView {};\n"}
        self.assert_accepted(header)
        self.assert_refused("never reads a mixture without paying", {
            **header, "submix/engine/engine.cc": '#include "submix/mechanism/operator_view.h"\n'})

    def test_refuses_the_operator_view_through_another_header(self):
        self.assert_refused("reaches \"submix/mechanism/operator_view.h\" through its includes", {
            "submix/mechanism/CMakeLists.txt": "operator_view.h peek.h",
            "submix/mechanism/operator_view.h": "#pragma once\n",
            "submix/mechanism/peek.h":
                '#pragma once\n#include "submix/mechanism/operator_view.h"\n',
            "submix/engine/engine.cc": '#include "submix/mechanism/peek.h"\n'})

    def test_refuses_the_bare_cipher_outside_base(self):
        self.assert_refused("products draw from MakeSystemRandomSource", self.append(
            "submix/engine/engine.cc", '#include "submix/base/chacha_random_source.h"\n'))
        self.assert_refused("only the operator's simulations", self.append(
            "submix/engine/engine.cc", '#include "submix/base/repeatable_random.h"\n'))

    def test_a_source_includes_its_header_first(self):
        self.assert_refused('"submix/base/status.h" is not its first include', {
            "submix/base/status.cc": '#include <cstdio>\n#include "submix/base/status.h"\n'})

    def test_keeps_torch_in_train(self):
        self.assert_accepted({"submix/train/models/CMakeLists.txt": "lora.cc",
                              "submix/train/models/lora.cc": "#include <torch/torch.h>\n"})
        for header in ("<torch/torch.h>", "<ATen/ATen.h>", "<c10/util/Half.h>"):
            self.assert_refused("libtorch stays in submix/train", self.append(
                "tests/golden/golden_test.cc", f"#include {header}\n"))

    def test_refuses_names_without_a_concept(self):
        for name in ("utils.h", "string_util.h", "common.h", "test_helpers.h", "misc.h"):
            self.assert_refused("names no concept", {
                "submix/engine/CMakeLists.txt": f"engine.cc {name}",
                f"submix/engine/{name}": "#pragma once\n"})

    def test_refuses_names_in_another_case(self):
        self.assert_refused("snake_case", {"submix/engine/CMakeLists.txt": "engine.cc RunLoop.cc",
                                           "submix/engine/RunLoop.cc": ""})

    def test_finds_files_that_nothing_builds(self):
        for name in ("submix/engine/forgotten.cc", "submix/engine/forgotten.h",
                     "submix/engine/forgotten_test.cc", "tests/fault/forgotten_test.cc",
                     "benchmarks/forgotten_benchmark.cc"):
            self.assert_refused(f"{name}: no CMakeLists.txt lists this file",
                                {name: "#pragma once\n"})

    def test_does_not_take_a_comment_or_a_longer_name_for_a_listing(self):
        self.assert_refused("tests/fault_test.cc: no CMakeLists.txt lists this file", {
            "tests/CMakeLists.txt":
                "golden/golden_test.cc disk_fault_test.cc\n# fault_test.cc comes later\n",
            "tests/fault_test.cc": ""})

    def test_refuses_printing_and_exiting_in_libraries(self):
        for statement in ("std::cout << 1;", "std::cerr << 1;", 'printf("x");',
                          'std::fprintf(stderr, "x");', "std::abort();", "exit (1);"):
            self.assert_refused("submix/engine/engine.cc:2: ", self.append(
                "submix/engine/engine.cc", f"void F() {{ {statement} }}\n"))

    def test_lets_programs_and_tests_print(self):
        self.assert_accepted({"submix/apps/CMakeLists.txt": "main.cc",
                              "submix/apps/main.cc": 'int main() { std::printf("x"); }\n',
                              "submix/base/status_test.cc": "void F() { std::cout << 1; }\n"})

    def test_refuses_throw(self):
        self.assert_refused("engine.cc:2: throw: return a Status", self.append(
            "submix/engine/engine.cc", "void F() { throw 1; }\n"))

    def test_refuses_headers_without_pragma_once(self):
        self.assert_refused("no #pragma once", {"submix/base/status.h": "// #pragma once\n"})

    def test_refuses_using_namespace_in_headers_only(self):
        self.assert_refused("ledger.h:3: using namespace in a header", self.append(
            "submix/ledger/ledger.h", "using  namespace std;\n"))
        self.assert_accepted(self.append("submix/ledger/ledger.cc", "using namespace std;\n"))

    def test_refuses_flags_that_hide_nan_or_tie_to_one_machine(self):
        for flag in ("-ffast-math", "-Ofast", "-march=native"):
            for path in ("CMakeLists.txt", "submix/engine/CMakeLists.txt"):
                self.assert_refused(f"{path}:", self.append(
                    path, f"add_compile_options({flag})\n"))
            self.assert_refused("cmake/flags.cmake:1: " + flag,
                                {"cmake/flags.cmake": f"set(x {flag})\n"})
            self.assert_refused("CMakePresets.json:1: " + flag,
                                {"CMakePresets.json": f'{{"f": "{flag}"}}\n'})
        self.assert_accepted(self.append("CMakeLists.txt", "# never -ffast-math\n"))

    def test_reports_long_files_without_refusing_them(self):
        output = self.assert_accepted({"submix/engine/engine.cc": "\n" * 501,
                                       "submix/ledger/ledger.h": "#pragma once\n" + "\n" * 250})
        self.assertIn("size: submix/engine/engine.cc: 501 lines", output)
        self.assertIn("size: submix/ledger/ledger.h: 251 lines", output)


if __name__ == "__main__":
    unittest.main()
