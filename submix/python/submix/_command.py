"""The command `submix` of a wheel, which is the program in bin/ beside this file."""

import os
import pathlib
import sys


def main():
    os.execv(pathlib.Path(__file__).with_name("bin") / "submix", ["submix", *sys.argv[1:]])
