#!/usr/bin/env python3
"""Writes the man pages of all commands from what the program says to --help, by help2man.

    man_pages.py PROGRAM FOLDER

`submix key create` becomes FOLDER/submix-key-create.1. A command whose program is not there, such as
`submix train` without submix-train beside PROGRAM, gets no page.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from command_help import all_commands, subcommands

SUMMARY = "private next-token prediction with language models"
# submix-train(1) is the page of `submix train`. Who asks for the program of that name lands there too.
NOTES_ON_THE_PROGRAM = """[notes]
.B submix-train
is also the name of the program that runs this command and the others that need libtorch;
.B submix
starts it, under
.BR mpirun
too. It takes the same commands and options.
"""


def page_name(words):
    return "-".join(("submix", *words))


def as_help2man_reads_it(text):
    """Groups of options as sections of their own, each example on one line, all examples at the end."""
    text = re.sub(r"\\\n +", "", text)
    text = re.sub(r"^ *\[Option Group: (.*)\]\n", lambda group: f"\n{group[1][0].upper()}{group[1][1:]}:\n", text, flags=re.M)
    text = re.sub(r"^ +(?:Positionals|Options):\n|^ +\n|^ *\[(?:Exactly|At least|At most).*\]\n", "", text, flags=re.M)
    example = re.compile(r"^(?:Examples?:| +(?=submix )) *(submix.*)\n", re.M)
    examples = [f"  {command}\n" for command in example.findall(text)]
    text = example.sub("", text)
    return text + ("\nExamples:\n" + "\n".join(examples) if examples else "")


def see_also(words, text):
    pages = [words[:-1]] if words else []
    pages += [(*words, name) for name in subcommands(text)]
    listed = ",\n".join(f".BR {page_name(page)} (1)" for page in pages)
    return f"[see also]\n{listed}\n.PP\nDocuments: /usr/share/doc/submix/docs/README.md\n"


def write_page(words, summary, text, version, folder, work):
    name = page_name(words)
    said = work / "help.txt"
    said.write_text(as_help2man_reads_it(text))
    include = work / "include.txt"
    include.write_text((NOTES_ON_THE_PROGRAM if words == ("train",) else "") + see_also(words, text))
    command = work / name  # help2man runs a program and takes the page's name from it
    command.write_text(f"#!/bin/sh\ncat '{said}'\n")
    command.chmod(0o755)
    subprocess.run(["help2man", "--locale=C.UTF-8", "--no-info", "--section=1", "--manual=Submix",
                    f"--source=submix {version}", f"--version-string={version}", f"--name={summary}",
                    f"--include={include}", f"--output={folder / (name + '.1')}", command],
                   check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})


def write_pages(program, commands, folder):
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    with tempfile.TemporaryDirectory() as work:
        for words, summary, text in commands:
            write_page(words, summary or SUMMARY, text, version, folder, pathlib.Path(work))


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    write_pages(program, all_commands(program), folder)


if __name__ == "__main__":
    main()
