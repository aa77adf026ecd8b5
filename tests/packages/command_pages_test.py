#!/usr/bin/env python3
"""Man pages and shell completion know every command and every option that the program has.

    command_pages_test.py BUILD_DIR SOURCE_DIR
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
PROGRAM = BUILD / "submix"
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "packaging"))
from command_help import all_commands, options, subcommands  # noqa: E402
from man_pages import write_pages  # noqa: E402

COMMANDS = list(all_commands(PROGRAM))

# Asks the completion as bash does on Tab: one line a question, the words already there with the one that is begun
# at the end; prints what it offers, a line a question.
ASK_BASH = """
source "$1"
while IFS=' ' read -r -a COMP_WORDS; do
  [[ ${COMP_WORDS[-1]} == . ]] && COMP_WORDS[-1]=
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
  _submix
  echo "${COMPREPLY[*]}"
done
"""
# The same of zsh, with the builtins that offer something put aside.
ASK_ZSH = """
compadd() { offered+=(${(P)2}); }
_files() { :; }
submix_completion() { eval "$(<$1)" }
while IFS=' ' read -r -A words; do
  [[ $words[-1] == . ]] && words[-1]=
  CURRENT=$#words offered=()
  submix_completion $1
  print -r -- ${(M)offered:#$words[-1]*}
done
"""


def ask(shell, script, completion, questions):
    """What it offers for each question, in a folder without files: sets of words. A begun word "." stands for none."""
    with tempfile.TemporaryDirectory() as empty:
        asked = subprocess.run([*shell, "-c", script, shell[0], SOURCE / "packaging/completions" / completion],
                               input="".join(" ".join(question) + "\n" for question in questions), capture_output=True,
                               text=True, timeout=300, check=True, cwd=empty,
                               env={**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"})
    assert not asked.stderr, asked.stderr
    return [set(line.split()) for line in asked.stdout.splitlines()]


class CommandPagesTest(unittest.TestCase):
    def test_commands_are_found(self):
        names = {words for words, *_ in COMMANDS}
        self.assertLessEqual({(), ("deploy",), ("serve",), ("key", "create"), ("account", "plan", "dclip")}, names)
        self.assertEqual(("train",) in names, (BUILD / "submix-train").exists())

    def test_no_line_is_wider_than_a_terminal(self):
        for words, _, text in COMMANDS:
            self.assertEqual([line for line in text.splitlines() if len(line) > 80], [], words)

    def test_every_command_has_its_man_page_with_all_options(self):
        if not shutil.which("help2man"):
            self.skipTest("no help2man")
        with tempfile.TemporaryDirectory() as work:
            write_pages(PROGRAM, COMMANDS, pathlib.Path(work))
            pages = {page.name: page.read_text().replace("\\-", "-").replace("\\fB", "").replace("\\fR", "")
                     for page in pathlib.Path(work).iterdir()}
        self.assertEqual(pages.keys(), {"-".join(("submix", *words)) + ".1" for words, *_ in COMMANDS})
        for words, summary, text in COMMANDS:
            page = pages["-".join(("submix", *words)) + ".1"]
            with self.subTest(words):
                self.assertIn("-".join(("submix", *words)) + " - " + (summary or "private"), page)
                for option in options(text):
                    self.assertIn(option, page)
                for name in subcommands(text):
                    self.assertIn("-".join(("submix", *words, name)) + " (1)", page)
                self.assertNotIn("Option Group", page)

    def check_completion(self, shell, script, completion):
        asked = []
        for words, _, text in COMMANDS:
            asked.append((("submix", *words, "-"), options(text)))
            if subcommands(text):
                asked.append((("submix", *words, "."), set(subcommands(text))))
        asked += [(("submix", "deploy", "--when-exhausted", "."), {"public", "refuse"}),
                  (("submix", "deploy", "--when-exhausted", "r"), {"refuse"}),
                  (("submix", "deploy", "--mechanism", "filtered-d"), {"filtered-dclip"}),
                  (("submix", "evaluate", "--mechanism", "dc"), {"dclip"}),
                  (("submix", "serve", "tales", "--conf"), {"--config"}),
                  (("submix", "serve", "--config", "."), set()),
                  (("submix", "ser"), {"serve"})]
        offers = ask(shell, script, completion, [question for question, _ in asked])
        for (question, expected), offered in zip(asked, offers, strict=True):
            with self.subTest(question):
                self.assertEqual(offered, expected)

    def test_bash_completes_commands_options_and_their_words(self):
        self.check_completion(["bash"], ASK_BASH, "submix.bash")

    def test_zsh_completes_the_same(self):
        if not shutil.which("zsh"):
            self.skipTest("no zsh")
        self.check_completion(["zsh", "-f"], ASK_ZSH, "_submix")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
