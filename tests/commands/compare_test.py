#!/usr/bin/env python3
"""`submix compare` against the same numbers by Python.

    compare_test.py BUILD_DIR SOURCE_DIR
"""

import collections
import json
import math
import pathlib
import random
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "server"))
from submix_process import SOURCE, WorkFolderTest, run  # noqa: E402

SHAKESPEARE = SOURCE / "data/shakespeare.jsonl"


def words(text):
    return re.findall(r"[0-9a-z\u0080-\U0010ffff]+", re.sub(r"[A-Z]", lambda letter: letter[0].lower(), text))


def ngrams(documents, n):
    return [tuple(document[i:i + n]) for document in documents for i in range(len(document) - n + 1)]


def divergence(p_texts, q_texts, n):
    p, q = (collections.Counter(ngrams(texts, n)) for texts in (p_texts, q_texts))
    p, q = ({gram: count / sum(counts.values()) for gram, count in counts.items()} for counts in (p, q))
    mean = {gram: (p.get(gram, 0) + q.get(gram, 0)) / 2 for gram in {*p, *q}}
    return sum(side[gram] * math.log2(side[gram] / mean[gram]) for side in (p, q) for gram in side) / 2


def length_distance(a, b):
    """Between as many quantiles of both as make every step of either whole."""
    steps = math.lcm(len(a), len(b))
    of_a, of_b = (sorted(map(len, texts)) for texts in (a, b))
    return sum(abs(of_a[i * len(a) // steps] - of_b[i * len(b) // steps]) for i in range(steps)) / steps


def copied(texts, source, n):
    known, places = set(ngrams(source, n)), ngrams(texts, n)
    return sum(place in known for place in places) / len(places)


def cut(texts, total):
    """The first texts, with so many words together."""
    taken = []
    for text in texts:
        taken.append(" ".join(words(text)[:total]))
        total -= len(words(taken[-1]))
        if total == 0:
            return taken
    raise AssertionError("too few words")


class CompareTest(WorkFolderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        draws = random.Random(3)
        speeches = [json.loads(line)["text"] for line in SHAKESPEARE.read_text().splitlines()]
        draws.shuffle(speeches)
        # A third is copied, a third is other people's text, a third is no text at all.
        cls.texts = [*(text[:150] for text in speeches[:30]), *(text[:150] for text in speeches[30:60]),
                     *(" ".join(draws.choices(["sea", "hill", "\u00c9t\u00e9"], k=12)) for _ in range(30))]
        cls.texts[40] += " My secret number is 48151."
        total = sum(len(words(text)) for text in cls.texts)
        # As many words of each, so that all of them are compared.
        cls.read = cut([*speeches[:30], *speeches[60:]], total)
        cls.heldout = cut(speeches[-200:], total)
        cls.write("read.jsonl", "user", cls.read)
        cls.write("heldout.jsonl", "user", cls.heldout)
        cls.write("out.jsonl", "id", cls.texts)
        (cls.work / "codes.jsonl").write_text('{"prompt": "My secret number is", "secret": " 48151"}\n'
                                              '{"prompt": "My secret number is", "secret": " 11111"}\n')

    @classmethod
    def write(cls, name, key, texts):
        lines = [json.dumps({key: str(number), "text": text}) for number, text in enumerate(texts)]
        (cls.work / name).write_text("\n".join(lines) + "\n")

    def compare(self, *options, expect=0):
        return run("compare", self.work / "out.jsonl", "--corpus", self.work / "read.jsonl", *options, expect=expect)

    def test_the_numbers_are_pythons(self):
        out, read, heldout = ([words(text) for text in texts] for texts in (self.texts, self.read, self.heldout))
        rows = json.loads(self.compare("--heldout", self.work / "heldout.jsonl", "--ngram", 5, "--codes",
                                       self.work / "codes.jsonl", "--json").stdout)["rows"]
        self.assertEqual([row["documents"] for row in rows], [len(texts) for texts in (out, read, heldout)])
        self.assertEqual([row["secrets"] for row in rows], [1, None, None])
        for row, texts in zip(rows, (out, read, heldout)):
            self.assertAlmostEqual(row["words_a_document"], sum(map(len, texts)) / len(texts), places=9)
            self.assertAlmostEqual(row["length_distance"], length_distance(texts, heldout), places=9)
            self.assertAlmostEqual(row["word_divergence"], divergence(texts, heldout, 1), places=9)
            self.assertAlmostEqual(row["pair_divergence"], divergence(texts, heldout, 2), places=9)
        self.assertAlmostEqual(rows[0]["copied"], copied(out, read, 5), places=12)
        self.assertGreater(rows[0]["copied"], 0.1)
        self.assertIsNone(rows[1]["copied"])
        self.assertAlmostEqual(rows[2]["copied"], copied(heldout, read, 5), places=12)
        self.assertGreater(rows[0]["word_divergence"], rows[1]["word_divergence"])

    def test_an_ensemble_says_who_was_held_out(self):
        run("train", self.work / "read.jsonl", self.work / "ensemble", "--public", SOURCE / "data/public_model",
            "--parts", 1, "--rank", 2, "--targets", "c_attn", "--top-layers", 1, "--block-tokens", 32, "--threads", 1,
            "--heldout-fraction", 0.5)
        shown = self.compare("--ensemble", self.work / "ensemble").stdout
        self.assertIn("outside the budget", shown)
        rows = json.loads(self.compare("--ensemble", self.work / "ensemble", "--json").stdout)["rows"]
        self.assertEqual(rows[1]["documents"] + rows[2]["documents"], len(self.read))
        self.assertGreater(min(rows[1]["documents"], rows[2]["documents"]), len(self.read) / 4)
        # Of different sizes now: each is thinned, and held-out text remains as far from itself as nothing is.
        self.assertEqual([rows[2][f"{kind}_{unit}"] for kind, unit in
                          (("length", "distance"), ("word", "divergence"), ("pair", "divergence"))], [0, 0, 0])

    def test_bad_input_is_one_line(self):
        (self.work / "no_id.jsonl").write_text('{"text": "x"}\n')
        heldout = ("--heldout", self.work / "heldout.jsonl")
        for reason, options in (("give either --ensemble", ()),
                                ("no_id.jsonl:1", ("--heldout", self.work / "no_id.jsonl")),
                                ("out.jsonl:1", (*heldout, "--codes", self.work / "out.jsonl"))):
            error = self.compare(*options, expect=1).stderr
            self.assertEqual(error.count("\n"), 1, error)
            self.assertIn(reason, error)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
