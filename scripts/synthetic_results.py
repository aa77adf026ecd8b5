#!/usr/bin/env python3
"""Writes the documents of docs/results/synthetic from the corpora, and measures what they are worth.

    synthetic_results.py DATA OUT [blogs|wikitext …]

DATA  holds models/base-8k, private/blogs.{train,heldout}.jsonl.xz and wikitext-2/{valid,test}.txt
OUT   gets texts, ensembles, budgets, documents and, at the end, synthetic.csv; interrupted, the same command goes on

Users of blogs are a quarter of the bloggers, with the first 1,500 characters of each; those of WikiText-2 are blocks of
300 words. Every source writes 8,192 tokens for (epsilon, 1e-6) of one user.
"""

import csv
import json
import lzma
import math
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
SUBMIX = SOURCE / "build/release/submix-train"
TOKENS = 8192
DELTA = 1e-6
CHARACTERS = 1500  # of a blogger
HELDOUT_TEXTS = 60  # to score
BLOCK = 300        # words of a user of WikiText-2
COLUMNS = ("corpus source user_is k batches epsilon delta max_tokens documents tokens perplexity accuracy_top1 kept "
           "length_distance word_divergence pair_divergence copied").split()


def submix(*arguments):
    print("+ submix", *arguments, file=sys.stderr, flush=True)
    return subprocess.run([SUBMIX, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True).stdout


def write_table(path, columns, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def picked(columns, row, digits=4):
    """These columns of a row, numbers rounded; empty where it has nothing."""
    values = {name: "" if row.get(name) is None else row[name] for name in columns}
    return {name: round(value, digits) if isinstance(value, float) and name != "delta" else value
            for name, value in values.items()}


def bloggers(path, remainder, divisor):
    """What each of them wrote first."""
    texts = {}
    with lzma.open(path, "rt") as lines:
        for record in map(json.loads, lines):
            user = record["user"]
            if int(user[1:]) % divisor == remainder:
                texts[user] = (texts.get(user, "") + "\n\n" + record["text"]).lstrip()[:CHARACTERS]
    return texts


def blocks(path):
    words = path.read_text().split(" ")
    return {f"b{at // BLOCK:05}": " ".join(words[at:at + BLOCK]) for at in range(0, len(words), BLOCK)}


def first(texts):
    return dict(list(texts.items())[:HELDOUT_TEXTS])


def write_texts(path, texts):
    if not path.exists():
        path.write_text("".join(json.dumps({"user": user, "text": text}) + "\n" for user, text in texts().items()))


class Documents:
    """Those of all sources of one corpus, in a directory that has text.jsonl and heldout.jsonl."""

    def __init__(self, name, public, out):
        self.name, self.public, self.out = name, public, out
        self.text, self.heldout = self.out / "text.jsonl", self.out / "heldout.jsonl"
        self.users = len(self.text.read_text().splitlines())
        self.rows = []

    def read_by(self, name, k, most, *options):
        """Members by context, in as many batches as leave two users to a part; one of them is read where their list is public."""
        context = min(256, 480 - most)  # of 512 tokens that the model holds
        batches = max(1, self.users // (2 * k))
        if not (self.out / name).exists():
            submix("contexts", self.text, self.out / name, "--public", self.public, "--parts", k, "--batches", batches,
                   "--context-tokens", context, "--heldout-fraction", 0, "--partition-key", SOURCE / "data/demo_partition.key",
                   *options)
        return batches

    def written_by(self, source, deployment, epsilon, most, **columns):
        """Lets a deployment write."""
        documents, out = TOKENS // most, self.out / f"{deployment.name}.jsonl"
        if not self.is_written(deployment.name, documents):
            submix("synthesize", deployment, out, "--documents", documents, "--max-tokens", most)
        self.rows.append({"corpus": self.name, "source": source, "epsilon": epsilon, "delta": DELTA, **columns,
                          "max_tokens": most, "documents": documents, "file": out})

    def is_written(self, name, documents):
        out = self.out / f"{name}.jsonl"
        return out.exists() and len(out.read_text().splitlines()) == documents

    def deploy(self, name, ensemble, epsilon, most, queries):
        """A budget for just these documents, on a copy of the ensemble: one that was deployed is not deployed again. What was
        interrupted is made anew, since documents that had not ended are paid for."""
        deployment, copy = self.out / name, self.out / f"{name}.ensemble"
        if not self.is_written(name, TOKENS // most):
            for made in (deployment, copy, self.out / f"{name}.jsonl", self.out / f"{name}.jsonl.statement.json"):
                subprocess.run(["rm", "-rf", made], check=True)
            subprocess.run(["cp", "-r", ensemble, copy], check=True)
            submix("deploy", copy, deployment, "--mechanism", "dclip", "--unit", "user", "--epsilon", epsilon, "--delta", DELTA,
                   "--queries", queries)
        return deployment

    def by_context(self, k, epsilon, most, *options):
        adjacency = "emptied" if "--public-keys" in options else "changed"
        name = f"contexts-{k}-{most}" + ("-listed" if options else "")
        batches = self.read_by(name, k, most, *options)
        queries = math.ceil(TOKENS // most / batches) * most
        deployment = self.deploy(f"{name}-{epsilon}", self.out / name, epsilon, most, queries)
        self.written_by("contexts", deployment, epsilon, most, k=k, batches=batches, user_is=adjacency)

    def by_adapters(self, ensemble, k, epsilon, most):
        deployment = self.deploy(f"adapters-{k}-{epsilon}", ensemble, epsilon, most, TOKENS)
        self.written_by("adapters", deployment, epsilon, most, k=k, batches=1, user_is="changed")

    def by_private_training(self, model, epsilon, most):
        self.released("dp-sgd", f"dp-sgd-{epsilon}", model / "released", epsilon, most, user_is="changed")

    def by_public_model(self, most):
        model = self.out / "nobody"
        if not model.exists():  # its members are never asked
            submix("contexts", self.text, model, "--public", self.public, "--parts", 1, "--context-tokens", 16)
        self.released("public", "public", model, 0, most)

    def released(self, source, name, model, epsilon, most, **columns):
        deployment = self.out / name
        if not deployment.exists():
            submix("deploy", model, deployment, "--mechanism", "public")
        self.written_by(source, deployment, epsilon, most, k=1, batches=1, **columns)

    def measure(self):
        """What all documents are worth: one table for each command, joined by file."""
        files = [row["file"] for row in self.rows]
        real = "--corpus", self.text, "--heldout", self.heldout, "--json"
        worth = json.loads(submix("worth", *files, *real, "--ensemble", self.out / "nobody", "--models", self.out / "models"))
        compared = json.loads(submix("compare", *files, *real))
        for text in ("text that was read", "none (public model)"):
            self.rows.append({"corpus": self.name, "source": text, "file": text})
        for row in self.rows:
            for report in (worth, compared):
                found = next((found for found in report["rows"] if found["text"] == str(row["file"])), {})
                row.update((name, value) for name, value in found.items() if name != "text")
            del row["file"]
        return self.rows


def trained(documents, name, *options):
    submix("train", documents.text, documents.out / name, "--public", documents.public, "--heldout-fraction", 0, *options)
    return documents.out / name


def write_all(documents):
    documents.by_public_model(128)
    for epsilon in (8, 3, 1):
        documents.by_context(16, epsilon, 128)
        documents.by_context(16, epsilon, 128, "--public-keys")
    for k in (8, 32, 64):
        documents.by_context(k, 8, 128)
    ensemble = trained(documents, "adapters-64", "--parts", 64, "--partition-key", SOURCE / "data/demo_partition.key")
    for epsilon in (8, 3, 1):
        documents.by_adapters(ensemble, 64, epsilon, 128)
    for epsilon in (8, 3, 1):
        model = trained(documents, f"dp-sgd-{epsilon}.model", "--private", "dp-sgd", "--epsilon", epsilon, "--delta", DELTA,
                        "--expected-batch", documents.users // 4, "--steps", 8)
        documents.by_private_training(model, epsilon, 128)
    documents.by_context(16, 8, 256)


def prepare(name, data, out):
    out.mkdir(parents=True, exist_ok=True)
    if name == "blogs":
        write_texts(out / "text.jsonl", lambda: bloggers(data / "private/blogs.train.jsonl.xz", 0, 4))
        write_texts(out / "heldout.jsonl", lambda: first(bloggers(data / "private/blogs.heldout.jsonl.xz", 1, 2)))
    else:
        write_texts(out / "text.jsonl", lambda: blocks(data / "wikitext-2/valid.txt"))
        write_texts(out / "heldout.jsonl", lambda: first(blocks(data / "wikitext-2/test.txt")))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    data, out = map(pathlib.Path, sys.argv[1:3])
    rows = []
    for name in sys.argv[3:] or ("wikitext", "blogs"):
        prepare(name, data, out / name)
        documents = Documents(name, data / "models/base-8k", out / name)
        write_all(documents)
        rows += documents.measure()
    write_table(out / "synthetic.csv", COLUMNS, [picked(COLUMNS, row) for row in rows])


if __name__ == "__main__":
    main()
