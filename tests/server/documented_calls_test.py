#!/usr/bin/env python3
"""The calls that README.md, docs/serving.md and docs/first_hour.md show, run from top to bottom as a reader would; what
is printed has the form of what the documents show.

    documented_calls_test.py BUILD_DIR SOURCE_DIR

Python's snippets are not run: its client is no Debian package.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import unittest

from submix_process import BUILD, SOURCE, WorkFolderTest, install_openai_client, make_deployment_to_copy

MARK = "=== the next block ==="
RUN = ("sh", "ts")
OUTPUT = ("text", "json", "sse", "answer")  # answer: what is drawn or timed, shown and not compared


def blocks(text):
    """[language, code, language of the output or None, output] of each block that is to be run."""
    found = []
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
        language, content = match.groups()
        if language in RUN:
            found.append([language, content, None, None])
        elif language in OUTPUT:
            found[-1][2:] = [language, content]
    return found


def shape(value):
    """Of JSON: names and kinds, without values; lists by their first element."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value[:1]]
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


def form(language, text):
    """What must be the same in every run."""
    if language == "answer":
        return bool(text.strip())
    if language == "json":
        return shape(json.loads(text))
    if language == "sse":
        events = [line.removeprefix("data: ") for line in text.splitlines() if line]
        shapes = {json.dumps(shape(json.loads(event))) for event in events[:-1]}
        return sorted(shapes), events[-1]
    text = re.sub(r"\bbf16\b|\bf32\b", "precision", re.sub("[█·]+", "bar", text))
    text = re.sub(r"\b(?=[0-9a-f]*\d)[0-9a-f]{16,}\b|\d+(\.\d+)?(e-\d+)?", "#", text.strip())
    return [" ".join(line.split()) for line in text.splitlines()]


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return str(listening.getsockname()[1])


def run_blocks(found, place, client):
    """Runs all in one shell. Returns what each printed. The ports of the documents are exchanged for free ones."""
    ports = {"8080": free_port(), "9090": free_port()}
    script = []
    for number, (language, code, *_) in enumerate(found):
        for port, free in ports.items():
            code = re.sub(rf"\b{port}\b", free, code)
        if language == "ts":
            (client / f"block_{number}.mjs").write_text(code)
            code = f"node {client}/block_{number}.mjs\n"
        script.append(code)
    text = f"echo '{MARK}'\n".join(script)
    shell = subprocess.Popen(["bash", "-e", "-c", text], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, start_new_session=True,
                             env={**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"})
    try:
        output, errors = shell.communicate(timeout=400)
    finally:
        if shell.returncode != 0:  # a server may be left; the shell leads a session of its own
            try:
                os.killpg(shell.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
    assert shell.returncode == 0, f"{text}\n{output}\n{errors}"
    printed = output.split(MARK + "\n")
    for (language, _, expected, _), text in zip(found, printed, strict=True):
        if expected is None:
            assert text == "", f"a block prints what the document does not show:\n{text}"
    return [re.sub("|".join(ports.values()), lambda port: {v: k for k, v in ports.items()}[port.group()], text)
            for text in printed]


class DocumentedCallsTest(WorkFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.deployment = make_deployment_to_copy(cls.work)

    def check(self, text, name, client):
        found = blocks(text)
        place = self.work / f"reader of {name}"
        place.mkdir()
        shutil.copytree(self.deployment, place / name)
        for (language, code, kind, expected), printed in zip(found, run_blocks(found, place, client)):
            with self.subTest(code):
                if language == "ts":
                    self.assertTrue(printed.strip(), "the model said nothing")
                elif kind:
                    self.assertEqual(form(kind, printed), form(kind, expected))
        return [language for language, *_ in found]

    def test_readme(self):
        section = (SOURCE / "README.md").read_text().split("\n## Serve it, call it\n")[1].split("\n## ")[0]
        self.assertEqual(self.check(section, "my_deployment", None), ["sh"] * 2)

    def test_first_hour(self):
        """On a fifth of the text, with fewer measurements of time. Lines break where numbers let them."""
        text = (SOURCE / "docs/first_hour.md").read_text().replace("--pairs 40", "--pairs 10")
        place = self.work / "first hour"
        place.mkdir()
        (place / "data").symlink_to(SOURCE / "data")
        lines = (SOURCE / "data/shakespeare.jsonl").read_text().splitlines(keepends=True)
        (place / "text.jsonl").write_text("".join(lines[::5]))
        found = blocks(text)
        self.assertEqual(len(found), 12)
        for (_, code, kind, expected), printed in zip(found, run_blocks(found, place, None)):
            if kind and not code.startswith("head "):
                with self.subTest(code):
                    expected, printed = form(kind, expected), form(kind, printed)
                    if kind == "text":
                        expected, printed = " ".join(expected), " ".join(printed)
                    self.assertEqual(printed, expected)

    def test_serving(self):
        text = (SOURCE / "docs/serving.md").read_text()
        try:
            client, missing = install_openai_client(self.work), ""
        except unittest.SkipTest as reason:
            client, missing = None, str(reason)
            text = re.sub(r"^```ts\n.*?^```\n```text\n.*?^```\n", "", text, flags=re.M | re.S)
        languages = self.check(text, "tales", client)
        self.assertEqual((languages.count("sh"), languages.count("ts")), (7, 0 if missing else 1))
        if missing:
            self.skipTest(f"all but the block in TypeScript: {missing}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
