#!/usr/bin/env python3
"""Text written from records in members' contexts, beside InvisibleInk's own library: what a token is charged, how long
it takes, and how like the records the text is.

    invisibleink_test.py BUILD_DIR SOURCE_DIR
"""

import importlib.util
import itertools
import json
import os
import pathlib
import random
import shutil
import statistics
import sys
import tempfile
import time
import unittest

from peers import BUILD, SOURCE, compared, main, real_model, submix

sys.path.insert(0, str(BUILD / "python"))
from submix import accounting

SEED = int(os.environ.get("SUBMIX_PEERS_SEED", "54"))
EVENTS = int(os.environ.get("SUBMIX_PEERS_EVENTS", "100"))
EPSILON, DELTA = 10.0, 1e-6
TIMES = 3  # that each is measured
FEW, MANY = 8, 40  # tokens of two documents, whose difference is without the reading of prompts
READERS, DOCUMENTS, DOCUMENT_TOKENS = 8, 4, 64  # of what is compared with the records
USERS = 2 * READERS * DOCUMENTS  # so that a keyed hash leaves every batch enough
DESCRIPTION = "Lines that a character of a play by Shakespeare speaks."


def setUpModule():
    """invink 0.1.0 is for Python 3.8 and later by its own word, but has a line that only 3.12 can read."""
    global invink
    folder = tempfile.TemporaryDirectory(prefix="submix_invink_")
    unittest.addModuleCleanup(folder.cleanup)
    found = importlib.util.find_spec("invink").submodule_search_locations[0]
    copy = pathlib.Path(shutil.copytree(found, pathlib.Path(folder.name) / "invink"))
    utils = (copy / "utils.py").read_text()
    (copy / "utils.py").write_text(utils.replace('{"all devices" if device_map == "auto" else device_map}', "{device_map}"))
    sys.path.insert(0, folder.name)
    import invink


def records(count):
    """What so many of Shakespeare's characters say, 600 characters of each."""
    users = {}
    for line in (SOURCE / "data/shakespeare.jsonl").read_text().splitlines():
        record = json.loads(line)
        users.setdefault(record["user"], []).append(record["text"])
    spoken = ((user, "\n".join(texts)[:600]) for user, texts in users.items() if sum(map(len, texts)) > 800)
    return list(itertools.islice(spoken, count))


def write_records(path, texts):
    path.write_text("".join(json.dumps({"user": str(user), "text": text}) + "\n" for user, text in texts))


class InvisibleInkTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="submix_invisibleink_")
        self.addCleanup(directory.cleanup)
        self.work = pathlib.Path(directory.name)

    def test_charges(self):
        """Both clip members' log ratios to [-C, C] and draw by their mean: for the same clip, the same number of tokens."""
        rng, ratios = random.Random(SEED), []
        for _ in range(EVENTS):
            readers, tokens, temperature = rng.randint(2, 128), int(10 ** rng.uniform(0, 4)), rng.choice([0.7, 1.0, 1.3])
            epsilon, delta = 10 ** rng.uniform(-1, 1.3), 10 ** rng.uniform(-9, -3)
            clip = invink.utils.get_clip(epsilon=epsilon, num_toks=tokens, temp=temperature, batch_size=readers + 1, delta=delta)
            theirs = invink.utils.get_epsilon(num_toks=tokens, clip_norm=clip, batch_size=readers + 1, temp=temperature, delta=delta)
            self.assertAlmostEqual(theirs, epsilon, delta=1e-6 * epsilon)
            ours = accounting.dclip(readers, clip, temperature=temperature).epsilon(tokens, delta).epsilon
            ratios.append(ours / theirs)
        self.assertLess(max(ratios), 1.001)  # ours looks at some Rényi orders, not between them
        compared(f"epsilon of {EVENTS} random texts by clipped differences: {min(ratios):.3f} to {max(ratios):.3f} times InvisibleInk's")

    def seconds_of_ours(self, deployment, tokens):
        """And how many tokens they were for."""
        out = self.work / f"{tokens}.jsonl"
        begin = time.monotonic()
        done = submix("synthesize", deployment, out, "--documents", 1, "--max-tokens", tokens, "--top-k-plus", 100, "--json")
        seconds = time.monotonic() - begin
        self.assertEqual(done.returncode, 0, done.stderr)
        out.unlink()
        pathlib.Path(f"{out}.statement.json").unlink()
        return seconds, json.loads(done.stdout)["tokens"]

    def seconds_of_theirs(self, model, texts, tokens, seed):
        begin = time.monotonic()
        written = invink.generate([text for _, text in texts], str(model), DESCRIPTION, epsilon=EPSILON, delta=DELTA, num=1,
                                  batch_size=len(texts) + 1, max_toks=tokens, dtype="float32", device_map=-1, random_seed=seed)
        return time.monotonic() - begin, written.lens[0]

    def milliseconds_a_token(self, measure):
        """The median of measure(tokens, try) with many tokens less that with few; again where a document ended early."""
        found = []
        for number in range(12):
            few, many = measure(FEW, number), measure(MANY, number)
            if few[1] >= FEW - 1 and many[1] > MANY / 2:
                found.append(1000 * (many[0] - few[0]) / (many[1] - few[1]))
            if len(found) == TIMES:
                return statistics.median(found)
        return self.fail("documents ended early")

    def run_submix(self, *words):
        done = submix(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def read_by_members(self, model, texts, readers, *, batches, tokens):
        """Corpus and deployment: as many readers of a record each, for so many tokens of every batch."""
        corpus, ensemble, deployment = (self.work / f"{name}{readers}" for name in ("text.jsonl", "ensemble", "deployment"))
        write_records(corpus, texts)
        self.run_submix("contexts", corpus, ensemble, "--public", model, "--parts", readers, "--batches", batches, "--public-keys",
                        "--heldout-fraction", 0, "--context-tokens", 320)
        self.run_submix("deploy", ensemble, deployment, "--mechanism", "dclip", "--epsilon", EPSILON, "--unit", "user",
                        "--delta", DELTA, "--tokens", tokens)
        return corpus, deployment

    def test_seconds_a_token(self):
        model = real_model("smollm2-135m-instruct")
        for readers in 8, 16:
            texts = records(readers)
            _, deployment = self.read_by_members(model, texts, readers, batches=1, tokens=1024)
            self.seconds_of_ours(deployment, FEW)  # the first time packs the weights
            ours = self.milliseconds_a_token(lambda tokens, _: self.seconds_of_ours(deployment, tokens))
            theirs = self.milliseconds_a_token(lambda tokens, seed: self.seconds_of_theirs(model, texts, tokens, seed))
            compared(f"SmolLM2-135M-Instruct and {readers} records of 600 characters, one document: {ours:.0f} ms a token, "
                     f"{theirs:.0f} by InvisibleInk ({ours / theirs:.2f} times)")

    def test_how_like_the_records(self):
        """The same list of records, of which a keyed hash chooses those that ours reads and theirs reads the first; the same
        number of documents, most tokens of each, and epsilon for one record of a known list."""
        model, texts = real_model("smollm2-135m-instruct"), records(USERS)
        corpus, deployment = self.read_by_members(model, texts, READERS, batches=DOCUMENTS, tokens=DOCUMENT_TOKENS)
        ours, theirs, heldout = (self.work / f"{name}.jsonl" for name in ("ours", "theirs", "heldout"))
        write_records(heldout, records(200)[len(texts) :])
        self.run_submix("synthesize", deployment, ours, "--documents", DOCUMENTS, "--max-tokens", DOCUMENT_TOKENS,
                        "--top-k-plus", 100)
        written = invink.generate([text for _, text in texts[: READERS * DOCUMENTS]], str(model), DESCRIPTION, epsilon=EPSILON,
                                  delta=DELTA, num=DOCUMENTS, batch_size=READERS + 1, max_toks=DOCUMENT_TOKENS,
                                  dtype="float32", device_map=-1, random_seed=SEED)
        theirs.write_text("".join(json.dumps({"id": f"d{number}", "text": text}) + "\n" for number, text in enumerate(written.texts)))
        table = json.loads(self.run_submix("compare", ours, theirs, "--corpus", corpus, "--heldout", heldout, "--json"))
        rows = {row["text"]: row for row in table["rows"]}
        for path in ours, theirs:
            self.assertEqual(rows[str(path)]["copied"], 0)
        compared(f"{DOCUMENTS} documents of at most {DOCUMENT_TOKENS} tokens from {READERS} records each: " + "; ".join(
            f"{name}: words {row['word_divergence']:.3f}, pairs {row['pair_divergence']:.3f} away" for name, row in (
                ("ours", rows[str(ours)]), ("InvisibleInk's", rows[str(theirs)]))))


if __name__ == "__main__":
    main()
