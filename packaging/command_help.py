"""What the programs say of themselves: commands, summaries and options, read from their --help."""

import re
import subprocess


def help_of(program, words=()):
    """What `program WORDS --help` prints; None where the program that has this command is not there."""
    asked = subprocess.run([program, *words, "--help"], capture_output=True, text=True, timeout=60)
    return asked.stdout if asked.returncode == 0 else None


def subcommands(text):
    """Name -> summary of the commands that may follow."""
    listed = re.search(r"^ *Subcommands:\n((?: +\S.*\n)+)", text, re.M)
    return dict(re.findall(r"^ +([a-z][a-z0-9-]*)  +(.*)$", listed.group(1), re.M)) if listed else {}


def options(text):
    """The names of all options, such as -h, --help and --json."""
    names = set()
    for listed in re.findall(r"^  (?:  )?(-\S+)", text, re.M):  # further in: descriptions
        names.update(listed.split(","))
    return names


def all_commands(program, words=(), summary=None):
    """(words, summary, help) of the program itself and of every command below it that can be run."""
    text = help_of(program, words)
    if text is None:
        return
    yield words, summary, text
    for name, its_summary in subcommands(text).items():
        yield from all_commands(program, (*words, name), its_summary)
