#!/usr/bin/env python3
"""Answers with a shape from the programs: `generate`, `synthesize` and `serve`, against Python's own readers of regular
expressions and JSON; what is forced moves no ledger, and what is refused charges nothing.

    shape_test.py BUILD_DIR SOURCE_DIR
"""

import json
import pathlib
import random
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from submix_process import Server, WorkFolderTest, ask, make_deployment, make_key, run  # noqa: E402

SCHEMA = {
    "type": "object",
    "required": ["name", "mood", "tags"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "mood": {"enum": ["good", "bad", "so \"so\"", None]},
        "age": {"type": "integer"},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "maxItems": 3},
    },
    "$defs": {"tag": {"anyOf": [{"type": "string", "pattern": "^[a-zäöü]{2,5}$"}, {"type": "boolean"}]}},
}

PATTERNS = (r"[A-Z][a-z]+ (sea|hill)\.", r"\d{4}-\d\d-\d\d", r"(ab|a)*b{2,3}", r"[^aeiou\n]{5,}", r"\w+(,\s\w+){2}",
            r"ä[ö-ü]+€?", r".{3,9}", r"(yes|no|yes, no)?!", r"\[\"[^\"\\]*\"\]", r"a{,3}[]x-]+")


def budget(deployment):
    return json.loads(run("budget", deployment, "--verify", "--json").stdout)


class ShapeTest(WorkFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.deployment = make_deployment(cls.work, "--mechanism", "dclip", "--queries", 20000)
        (cls.work / "schema.json").write_text(json.dumps(SCHEMA))

    def generate(self, *options, completions=1):
        lines = run("generate", self.deployment, "The sea", "--threads", 1, "--json", "-n", completions,
                    *options).stdout.splitlines()
        self.assertEqual(len(lines), completions)
        return [json.loads(line) for line in lines]

    def check_json(self, text):
        value = json.loads(text)
        self.assertEqual(list(value), [key for key in SCHEMA["properties"] if key in value], "in the schema's order")
        self.assertTrue(set(SCHEMA["required"]) <= set(value), text)
        self.assertLessEqual(len(value["name"]), 12)
        self.assertIn(value["mood"], SCHEMA["properties"]["mood"]["enum"])
        self.assertIsInstance(value.get("age", 0), int)
        self.assertLessEqual(len(value["tags"]), 3)
        for tag in value["tags"]:
            self.assertTrue(isinstance(tag, bool) or re.fullmatch("[a-zäöü]{2,5}", tag), text)

    def test_answers_are_what_python_reads(self):
        for pattern in PATTERNS:
            for answer in self.generate("--regex", pattern, "--max-tokens", random.randint(16, 24), completions=6):
                self.assertTrue(re.fullmatch(pattern, answer["text"], re.ASCII), (pattern, answer))
        for answer in self.generate("--json-schema", self.work / "schema.json", "--max-tokens", 60, completions=12):
            self.check_json(answer["text"])
        for answer in self.generate("--choice", "good,bad,good enough", "--temperature", 1.5, completions=12):
            self.assertIn(answer["text"], ("good", "bad", "good enough"))

    def test_what_is_forced_moves_no_ledger(self):
        before = budget(self.deployment)
        self.assertEqual(self.generate("--choice", "Forced and free.")[0]["text"], "Forced and free.")
        self.assertEqual(self.generate("--regex", "Forced, and free\\.")[0]["text"], "Forced, and free.")
        self.assertEqual(budget(self.deployment), before)
        self.generate("--regex", "Paid (a|b)")
        self.assertNotEqual(budget(self.deployment), before)

    def test_bad_shapes_are_told_in_one_line_and_charge_nothing(self):
        before = budget(self.deployment)
        broken = self.work / "broken.json"
        broken.write_text('{"type": "integer", "minimum": 3}')
        for options, why in (
                (("--regex", "(a"), "( without"),
                (("--regex", "(?=a)"), "(?:"),
                (("--regex", "(a|b)*a(a|b){40}"), "too large"),
                (("--regex", "[a-z]{90}", "--max-tokens", 5), "max_tokens is 5: the shortest answer"),
                (("--json-schema", broken), '"minimum" is not supported')):
            error = run("generate", self.deployment, "The sea", *options, expect=1).stderr
            self.assertEqual(error.count("\n"), 1, error)
            self.assertIn(why, error)
        run("generate", self.deployment, "a", "--regex", "a", "--choice", "a", expect=2)
        run("generate", self.deployment, "a", "--json-schema", self.work / "nowhere", expect=2)
        self.assertEqual(budget(self.deployment), before)

    def test_documents_have_a_shape(self):
        out = self.work / "documents.jsonl"
        order = ("synthesize", self.deployment, out, "--documents", 6, "--max-tokens", 60, "--threads", 1, "--json")
        run(*order, "--json-schema", self.work / "schema.json")
        for line in out.read_text().splitlines():
            self.check_json(json.loads(line)["text"])
        error = run(*order, "--choice", "a,b", expect=1).stderr
        self.assertIn("shape", error)

    def test_clients_get_a_shape(self):
        key = make_key(self.deployment, "tests")
        with Server(self.deployment, "--port", 0) as server:
            def answer(path, body, expect=200):
                status, text = ask(server.address, "POST", path, key, {"model": server.model, **body})
                self.assertEqual(status, expect, text)
                return json.loads(text)

            chat = {"messages": [{"role": "user", "content": "Who?"}], "max_tokens": 60}
            shape = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA, "strict": True}}
            for _ in range(3):
                choice = answer("/v1/chat/completions", {**chat, "response_format": shape})["choices"][0]
                self.check_json(choice["message"]["content"])
                self.assertEqual(choice["finish_reason"], "stop")
            choice = answer("/v1/chat/completions", {**chat, "response_format": {"type": "json_object"}})["choices"][0]
            self.assertIsInstance(json.loads(choice["message"]["content"]), dict)
            choice = answer("/v1/completions", {"prompt": "a", "guided_choice": ["yes", "no"]})["choices"][0]
            self.assertIn(choice["text"], ("yes", "no"))
            refused = answer("/v1/completions", {"prompt": "a", "structured_outputs": {"regex": "(a"}}, expect=400)
            self.assertEqual(refused["error"]["param"], "structured_outputs")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
