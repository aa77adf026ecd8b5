#!/usr/bin/env python3
"""What check_includes.py finds missing, and what it lets pass, in a small tree of its own."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().with_name("check_includes.py")
LAMP = """#pragma once
#include <vector>
namespace submix::light {
class Lamp {
 public:
  int Shine(int hours);
  enum class Colour { kRed };
};
struct Shade;
inline constexpr int kLamps = 3;
template <typename T>
T Dimmed(const T& lamp) {
  return lamp;
}
}  // namespace submix::light
#define SUBMIX_LIT(x) (x)
"""


class CheckIncludesTest(unittest.TestCase):
    def missing(self, text, name="submix/room/x.cc"):
        """What a file of this text lacks, beside a header of ours."""
        with tempfile.TemporaryDirectory() as root:
            for path, content in (("submix/light/lamp.h", LAMP), (name, text)):
                (pathlib.Path(root) / path).parent.mkdir(parents=True, exist_ok=True)
                (pathlib.Path(root) / path).write_text(content)
            done = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True, check=False)
        *lines, total = done.stdout.splitlines()
        self.assertEqual(total, f"2 files, {len(lines)} includes missing")
        self.assertEqual(done.returncode, 1 if lines else 0)
        return [line.removeprefix(f"{name}: uses ") for line in lines]

    def test_names_of_our_headers(self):
        for use, word in (("light::Lamp lamp;", "Lamp"), ("int n = kLamps;", "kLamps"), ("Dimmed(4);", "Dimmed"),
                          ("  Dimmed(4);", "Dimmed"), ("SUBMIX_LIT(1);", "SUBMIX_LIT")):
            with self.subTest(use):
                self.assertEqual(self.missing(use), [f'{word} without #include "submix/light/lamp.h"'])
                self.assertEqual(self.missing(f'#include "submix/light/lamp.h"\n{use}'), [])

    def test_names_of_libraries(self):
        self.assertEqual(self.missing("std::map<int, int> m;"), ["std::map without #include <map>"])
        self.assertEqual(self.missing("nlohmann::json j;"), ["nlohmann::json without #include <nlohmann/json.hpp>"])
        self.assertEqual(self.missing('#include "submix/light/lamp.h"\nstd::vector<int> v;'), [])  # by ours

    def test_other_meanings_pass(self):
        for text in ("// a Lamp", 'f("Lamp");', "bulb.Dimmed(4); bulb->Dimmed(4); Bulb::Dimmed(4);", "other->kLamps;",
                     "class Lamp {\n};\nLamp lamp;", "boost::Lamp x;",
                     "struct Bulb {\n  int Dimmed(int x);\n  void F() { Dimmed(4); }\n};"):
            with self.subTest(text):
                self.assertEqual(self.missing(text), [])

    def test_a_name_is_enough_for_headers_alone(self):
        declared = "class Lamp;\nvoid Light(Lamp& lamp);"
        self.assertEqual(self.missing(declared, "submix/room/x.h"), [])
        self.assertEqual(len(self.missing(declared)), 1)


if __name__ == "__main__":
    unittest.main()
