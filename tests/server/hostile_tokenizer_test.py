#!/usr/bin/env python3
"""A tokenizer.json from anybody: what it makes of a text is an error, or the text's tokens, never a
long wait; and the server goes on.

    hostile_tokenizer_test.py BUILD_DIR SOURCE_DIR
"""

import json
import shutil
import threading
import unittest

from submix_process import PUBLIC, Server, WorkFolderTest, ask, completion, make_key, run

HOSTILE = r"\p{L}*\p{L}*\p{L}*\p{N}|\p{L}+| "
HARD = "b" * 3000


def tokenizer_json(**parts):
    """The public model's two files as one, but for these parts."""
    vocabulary = json.loads((PUBLIC / "vocab.json").read_text())
    merges = (PUBLIC / "merges.txt").read_text().splitlines()[1:]
    end = {"id": vocabulary["<|endoftext|>"], "content": "<|endoftext|>", "single_word": False, "lstrip": False,
           "rstrip": False, "normalized": False, "special": True}
    return json.dumps({"added_tokens": [end], "normalizer": None,
                       "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}, "post_processor": None,
                       "decoder": {"type": "ByteLevel"},
                       "model": {"type": "BPE", "vocab": vocabulary, "merges": merges}, **parts})


def cut_by(pattern):
    return {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]}


class HostileTokenizerTest(WorkFolderTest):
    def model(self, name, **parts):
        directory = self.work / name
        shutil.copytree(PUBLIC, directory)
        for replaced in ("vocab.json", "merges.txt"):
            (directory / replaced).unlink()
        (directory / "tokenizer.json").write_text(tokenizer_json(**parts))
        return directory

    def corpus(self, name, *texts):
        lines = [json.dumps({"user": f"user {number}", "text": text}) for number, text in enumerate(texts)]
        (self.work / name).write_text("\n".join(lines) + "\n")
        return self.work / name

    def assert_refused(self, said, place):
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn(place, said)
        self.assertIn("budget", said)
        self.assertNotIn("bbb", said)

    def contexts(self, corpus, name, public, expect=0):
        return run("contexts", corpus, self.work / name, "--public", public, "--parts", 2, "--context-tokens", 64,
                   expect=expect)

    def test_a_text_that_a_pattern_goes_back_too_often_on(self):
        public = self.model("hostile", pre_tokenizer=cut_by(HOSTILE))
        (self.work / "hard.txt").write_text(HARD)
        self.assert_refused(run("score", public, "--text", self.work / "hard.txt", expect=1).stderr, "hard.txt")
        hard = self.corpus("hard.jsonl", "The sea was calm.", HARD)
        self.assert_refused(self.contexts(hard, "hard", public, expect=1).stderr, "hard.jsonl:2")
        self.assert_refused(
            run("train", hard, self.work / "trained", "--public", public, "--parts", 2, expect=1).stderr, "hard.jsonl:2")
        self.assertFalse((self.work / "hard").exists())

        self.contexts(self.corpus("good.jsonl", *["The sea was calm."] * 12), "ensemble", public)
        run("deploy", self.work / "ensemble", self.work / "tales", "--epsilon", 2)
        key = make_key(self.work / "tales", "test")
        with Server(self.work / "tales", "--port", 0) as server:
            chat = {"model": server.model, "max_tokens": 2, "messages": [{"role": "user", "content": HARD}]}
            bodies = {"/v1/completions": completion(server.model, prompt=HARD), "/v1/chat/completions": chat}

            def refused(path):
                status, text = ask(server.address, "POST", path, key, bodies[path])
                answers.append((path, status, json.loads(text)["error"]))

            answers = []
            many = [threading.Thread(target=refused, args=(path,)) for path in bodies for _ in range(4)]
            for each in many:
                each.start()
            status, text = ask(server.address, "POST", "/v1/completions", key, completion(server.model))
            self.assertEqual(status, 200, text)
            for each in many:
                each.join()
            self.assertEqual(len(answers), 8)
            for path, status, error in answers:
                self.assertEqual(status, 400, error)
                self.assertEqual(error["param"], "messages" if "chat" in path else "prompt")
                self.assert_refused(error["message"] + "\n", "tokenizer.json")
            status, text = ask(server.address, "POST", "/v1/completions", key, completion(server.model))
            self.assertEqual(status, 200, text)
            log = json.dumps(server.stop())
            self.assertNotIn("bbb", log)

    def test_normalizers_that_multiply_text(self):
        twice = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
        public = self.model("growing", normalizer={"type": "Sequence", "normalizers": [twice] * 40})
        good = self.corpus("letters.jsonl", *["a"] * 12)
        said = self.contexts(good, "grown", public, expect=1).stderr
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn("tokenizer.json", said)
        self.assertIn("64 times", said)


if __name__ == "__main__":
    import sys
    unittest.main(argv=sys.argv[:1], verbosity=2)
