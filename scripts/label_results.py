#!/usr/bin/env python3
"""How often labels are right: makes docs/results/labels.

    label_results.py REVIEWS OUT [--public DIR …] [collect]

REVIEWS  movieReviewSnippets_GroundTruth.txt, of the source package vaderSentiment 0.5 (MIT): sentences of film reviews,
         and the mean of twenty readers' ratings of each, from -4 to 4
OUT      gets texts, models and evaluations; interrupted, the same command goes on

Every sentence is one user's; its label is "positive" or "negative" where the readers say at least half a point. Of some
10,000, 1,000 are scored, under one promise of 1,000 answers. A model with a chat template is asked in it. --public makes
rows for that model; collect writes the table from what OUT has.
"""

import json
import pathlib
import random
import sys

from synthetic_results import submix
from which_results import KEY, RESULTS, Study, rows_of as rows_in, write_table

TABLE = RESULTS / "labels/labels.csv"
LABELS = "positive,negative"
ANSWERS = 1000
DELTA = 1e-6
EPSILONS = (8, 3, 1)
MECHANISMS = ("dclip", "filtered-submix")
TOP = ("--top-layers", 10, "--block-tokens", 105)  # 99 of 100 conversations are shorter
COLUMNS = ("model contender k epsilon delta unit answers right_likeliest right_drawn train_minutes").split()
# Of each model: how many users at most, parts, epsilons of private training, and recipes. That of fine-tuning was chosen
# on reviews of another kind (the same package's of products: 3 passes .682 right, 6 passes .708).
STUDIES = {
    "base-8k": {"users": 4000, "parts": (64,), "epsilons": (8,),
                "ensemble": ("--epochs", 4, "--learning-rate", 0.004),
                "fine-tuned": ("--epochs", 6, "--learning-rate", 0.001, "--batch-size", 8),
                "dp-sgd": ("--steps", 16, "--rank", 16, "--learning-rate", 0.004)},
    "smollm2-135m-instruct": {"users": 4000, "parts": (64,), "epsilons": (8,),
                              "ensemble": ("--epochs", 2, "--learning-rate", 0.0005, *TOP),
                              "fine-tuned": ("--epochs", 1, "--learning-rate", 0.0003, "--batch-size", 8, *TOP),
                              "dp-sgd": ("--steps", 8, "--rank", 16, "--learning-rate", 0.001, *TOP)},
}
QUESTIONS = {True: ("Is this film review positive or negative? Answer with one word.\n\n{text}", ""),
             False: ("{text}\nSentiment:", " ")}  # with a chat template; without


def reviews(path):
    """Number, label and text, in an order of their own."""
    rows = (line.rstrip("\n").split("\t") for line in open(path, encoding="utf-8", errors="replace"))
    kept = [(number, "positive" if float(rating) > 0 else "negative", text) for number, rating, text in rows
            if abs(float(rating)) >= 0.5]
    random.Random("submix labels").shuffle(kept)
    return kept


class LabelStudy(Study):
    """One public model."""

    def __init__(self, path, out, public):
        self.study, self.out, self.public = STUDIES[public.name], out / public.name, public
        self.out.mkdir(parents=True, exist_ok=True)
        self.text, self.heldout = self.out / "text.jsonl", self.out / "heldout.jsonl"
        is_chat = (public / "chat_template.jinja").exists() or "chat_template" in self.configuration()
        items = reviews(path)
        self.write(self.heldout, items[:ANSWERS], *QUESTIONS[is_chat])
        learnt = items[ANSWERS:ANSWERS + self.study["users"]]
        self.write(self.text, learnt, *QUESTIONS[is_chat])
        self.users = len(learnt)

    def configuration(self):
        file = self.public / "tokenizer_config.json"
        return json.loads(file.read_text()) if file.exists() else {}

    @staticmethod
    def write(path, items, question, before_label):
        path.write_text("".join(json.dumps({"user": number, "prompt": question.replace("{text}", text),
                                            "completion": before_label + label}) + "\n" for number, label, text in items))

    def members(self, name, *options):
        return self.train(name, ("train", self.text, self.out / name, "--public", self.public, "--heldout-fraction", 0,
                                 "--partition-key", KEY), *options)

    def score(self, name, directory, *options):
        table = self.out / f"{name}.csv"
        if not table.exists():
            unfinished = table.with_suffix(".unfinished")
            submix("evaluate", directory, "--heldout", self.heldout, "--labels", LABELS, "--tokens", ANSWERS, "--runs", 1,
                   "--csv", unfinished, *options)
            unfinished.rename(table)

    def measure(self):
        fine_tuned = self.members("fine-tuned", "--parts", 1, *self.study["fine-tuned"])
        self.score("fine-tuned", fine_tuned, "--mechanism", "public")
        for k in self.study["parts"]:
            self.score(f"ensemble-{k}", self.members(f"ensemble-{k}", "--parts", k, *self.study["ensemble"]), "--mechanism",
                       ",".join(MECHANISMS), "--unit", "user", "--epsilon", ",".join(map(str, EPSILONS)), "--delta", DELTA)
        for epsilon in self.study["epsilons"]:
            trained = self.members(f"dp-sgd-{epsilon}", "--private", "dp-sgd", "--epsilon", epsilon, "--delta", DELTA,
                                   "--expected-batch", self.users // 4, *self.study["dp-sgd"])
            self.score(f"dp-sgd-{epsilon}", trained / "released", "--mechanism", "public")


# --- The table


def minutes(out, name):
    return (out / f"{name}.minutes").read_text().strip()


def row(out, contender, found, k="", epsilon="", answers="", train_minutes=""):
    promise = (epsilon, f"{DELTA:g}", "user") if epsilon else ("", "", "")
    return dict(zip(COLUMNS, (out.name, contender, k, *promise, answers, *(f"{float(found[name]):.3f}" for name in
                                                                          ("accuracy_top1", "probability")), train_minutes)))


def rows_of(out):
    def found(name):
        return rows_in(out / f"{name}.csv") if (out / f"{name}.csv").exists() else []

    for model in found("fine-tuned"):
        if model["model"] == "public" and not model["epsilon"]:
            yield row(out, "public", model)
        if model["model"] == "ensemble":
            yield row(out, "fine-tuned, no promise", model, train_minutes=minutes(out, "fine-tuned"))
    for k in STUDIES[out.name]["parts"]:
        for model in found(f"ensemble-{k}"):
            if model["model"] in MECHANISMS:
                yield row(out, model["model"], model, k, f"{float(model['epsilon']):g}", ANSWERS, minutes(out, f"ensemble-{k}"))
            elif model["model"] == "ensemble":
                yield row(out, "mean of all members, no promise", model, k)
    for epsilon in EPSILONS:
        for model in found(f"dp-sgd-{epsilon}"):
            if model["model"] == "ensemble":
                yield row(out, "dp-sgd", model, "", epsilon, "unlimited", minutes(out, f"dp-sgd-{epsilon}"))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    path, out = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    more = sys.argv[3:]
    for argument in more:
        if argument not in ("--public", "collect"):
            LabelStudy(path, out, pathlib.Path(argument).resolve()).measure()
    if "collect" in more:
        TABLE.parent.mkdir(exist_ok=True)
        write_table(TABLE, COLUMNS, [row for model in sorted(out.iterdir()) for row in rows_of(model)])


if __name__ == "__main__":
    main()
