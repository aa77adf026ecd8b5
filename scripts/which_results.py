#!/usr/bin/env python3
"""Private prediction beside private training, at one promise to a user: makes docs/results/which.

    which_results.py DATA OUT [wikitext|blogs|collect …]

DATA  holds models/base-8k, private/blogs.{train,heldout}.jsonl.xz and wikitext-2/{valid,test}.txt
OUT   gets texts, models and evaluations; interrupted, the same command goes on

wikitext  726 users, blocks of 300 words: ensembles, DP-SGD, and ensembles over a model of DP-SGD, at three epsilons
blogs     3,600 bloggers: DP-SGD, on the positions of docs/results/all_blogs, where the ensembles' rows come from
collect   the table and the figure of docs/results/which from OUT, and from rows of docs/results made before

Times are of this machine, whatever else it does. On two cores wikitext takes an hour and blogs two.
"""

import csv
import json
import lzma
import math
import pathlib
import subprocess
import sys
import time

from synthetic_results import blocks, bloggers, submix, write_texts

SOURCE = pathlib.Path(__file__).resolve().parent.parent
RESULTS = SOURCE / "docs/results"
KEY = SOURCE / "data/demo_partition.key"
COLUMNS = ("corpus contender recipe k epsilon delta unit queries kept kept_low kept_high train_minutes "
           "ms_per_answer").split()
EPSILONS = (8, 3, 1)
CONTENDERS = "dp-sgd", "dclip", "filtered-submix", "dclip over dp-sgd", "filtered-submix over dp-sgd"
WIKITEXT, BLOGS = "WikiText-2 (726 users)", "blogs (3600 users)"
ANSWERS = (256, 1024, 10240)
RUNS = 1  # of the most answers
STEPS = 8  # of DP-SGD, over a quarter of the users each


def write_odd_users(compressed, path):
    """Their records as they are: the positions of docs/results/all_blogs."""
    if not path.exists():
        with lzma.open(compressed, "rt") as lines:
            path.write_text("".join(line for line in lines if int(json.loads(line)["user"][1:]) % 2 == 1))


class Study:
    """One corpus: its users' text, and that of others to score."""

    def __init__(self, name, data, out):
        self.name, self.out, self.public = name, out / name, data / "models/base-8k"
        self.out.mkdir(parents=True, exist_ok=True)
        self.text, self.heldout = self.out / "text.jsonl", self.out / "heldout.jsonl"
        if name == "wikitext":
            write_texts(self.text, lambda: blocks(data / "wikitext-2/valid.txt"))
            write_texts(self.heldout, lambda: blocks(data / "wikitext-2/test.txt"))
        else:
            write_texts(self.text, lambda: bloggers(data / "private/blogs.train.jsonl.xz", 0, 1))
            write_odd_users(data / "private/blogs.heldout.jsonl.xz", self.heldout)
        self.users = len(self.text.read_text().splitlines())
        self.delta = 1e-6 if name == "wikitext" else 1e-5  # of the promise; blogs', that of docs/results/all_blogs

    def train(self, name, *options):
        """A directory that `submix train` made, and minutes beside it."""
        directory, minutes = self.out / name, self.out / f"{name}.minutes"
        if not minutes.exists():
            begun = time.monotonic()
            submix("train", self.text, directory, "--heldout-fraction", 0, "--partition-key", KEY, *options)
            minutes.write_text(f"{(time.monotonic() - begun) / 60:.1f}\n")
        return directory

    def fine_tuned(self):
        return self.train("fine-tuned", "--public", self.public, "--parts", 1, "--epochs", 3, "--batch-size", 8,
                          "--learning-rate", 0.001)

    def ensemble(self, k, public=None, name="ensemble"):
        return self.train(f"{name}-{k}", "--public", public or self.public, "--parts", k, "--learning-rate", 0.004)

    def dp_sgd(self, rank, epsilon, delta):
        return self.train(f"dp-sgd-{rank}-{epsilon:g}-{delta:g}", "--public", self.public, "--private", "dp-sgd", "--epsilon",
                          epsilon, "--delta", delta, "--expected-batch", self.users // 4, "--steps", STEPS, "--rank", rank)

    def evaluate(self, directory, *options):
        table = self.out / f"{directory.name}.csv"
        if not table.exists():
            submix("evaluate", directory, "--heldout", self.heldout, "--csv", table, "--precision", "f32", *options)
        return table

    def evaluate_private(self, directory, *options):
        return self.evaluate(directory, "--mechanism", "public", "--order", 2, *options)

    def evaluate_ensemble(self, directory, epsilons, delta, *options):
        return self.evaluate(directory, "--mechanism", "dclip,filtered-submix", "--unit", "user", "--epsilon",
                             ",".join(f"{epsilon:g}" for epsilon in epsilons), "--delta", delta, "--queries",
                             ",".join(map(str, ANSWERS)), "--runs", RUNS, *options)


def wikitext(data, out):
    study = Study("wikitext", data, out)
    fine_tuned = study.fine_tuned()
    most = "--queries", ",".join(map(str, ANSWERS)), "--runs", RUNS, "--fine-tuned", fine_tuned
    study.evaluate_ensemble(study.ensemble(64), EPSILONS, study.delta, "--fine-tuned", fine_tuned)
    for epsilon in EPSILONS:
        study.evaluate_private(study.dp_sgd(16, epsilon, study.delta), *most)
    # Both: half of the budget each.
    released = study.dp_sgd(16, 4, study.delta / 2) / "released/public"
    study.evaluate_ensemble(study.ensemble(64, released, "both"), (4,), study.delta / 2)


def blogs(data, out):
    study = Study("blogs", data, out)
    for epsilon in EPSILONS:
        study.evaluate_private(study.dp_sgd(4, epsilon, study.delta), "--queries", 10240, "--runs", 5)


# --- The table


def milliseconds(study, directory, *deploy):
    """An answer's time: of long texts less that of short ones, so that starts do not count."""
    made = study.out / f"{directory.parent.name}.{directory.name}.{deploy[1]}.milliseconds.json"
    if not made.exists():
        measured = []
        for tokens in (32, 288):
            work = study.out / "times"
            subprocess.run(["rm", "-rf", work], check=True)
            work.mkdir()
            subprocess.run(["cp", "-r", directory, work / "model"], check=True)
            submix("deploy", work / "model", work / "deployment", *deploy)
            begun = time.monotonic()
            submix("synthesize", work / "deployment", work / "out.jsonl", "--documents", 4, "--max-tokens", tokens,
                   "--at-a-time", 1)
            rows = map(json.loads, (work / "out.jsonl").read_text().splitlines())
            measured.append((time.monotonic() - begun, sum(row["tokens"] for row in rows)))
        (short, few), (long, many) = measured
        made.write_text(json.dumps(1000 * (long - short) / (many - few)))
    return json.loads(made.read_text())


def rows_of(table):
    return list(csv.DictReader(open(table)))


def minutes(study, *names):
    return round(sum(float((study.out / f"{name}.minutes").read_text()) for name in names), 1)


def row(corpus, contender, recipe, k, epsilon, delta, queries, share, low="", high="", minutes="", milliseconds=""):
    # Of a single run there is no interval.
    digits = [round(float(value), 3) if value != "" and math.isfinite(float(value)) else "" for value in (share, low, high)]
    return dict(zip(COLUMNS, (corpus, contender, recipe, k, epsilon, delta, "user", queries, *digits, minutes, milliseconds)))


def wikitext_rows(data, out):
    study, rows = Study("wikitext", data, out), []
    ensemble = study.out / "ensemble-64.csv"
    if not ensemble.exists():
        return rows
    for found in rows_of(ensemble):
        if found["model"] in ("dclip", "filtered-submix"):
            taken = milliseconds(study, study.out / "ensemble-64", "--mechanism", found["model"], "--unit", "user", "--epsilon", 8,
                                "--delta", study.delta, "--queries", 10240)
            rows.append(row(WIKITEXT, found["model"], "one pass", 64, found["epsilon"], study.delta, found["queries"], found["kept"],
                            found["kept_low"], found["kept_high"], minutes(study, "ensemble-64"), round(taken, 1)))
    for epsilon in EPSILONS:
        name = f"dp-sgd-16-{epsilon:g}-{study.delta:g}"
        for found in rows_of(study.out / f"{name}.csv") if (study.out / f"{name}.csv").exists() else ():
            if found["model"] == "single" and found["queries"] == "1024":  # the same text, in runs for an interval
                taken = milliseconds(study, study.out / name / "released", "--mechanism", "public")
                rows.append(row(WIKITEXT, "dp-sgd", recipe(16), 1, epsilon, study.delta, "unlimited", found["kept"],
                                found["kept_low"], found["kept_high"], minutes(study, name), round(taken, 1)))
    return rows + both_rows(study, ensemble)


def both_rows(study, ensemble):
    """An ensemble over a model of DP-SGD; what is kept is counted from the public model, as everywhere."""
    table = study.out / "both-64.csv"
    if not table.exists():
        return []
    alone = {(found["model"], found["queries"]): float(found["perplexity"]) for found in rows_of(ensemble)
             if found["model"] in ("public", "fine-tuned")}
    rows = []
    for found in rows_of(table):
        if found["model"] in ("dclip", "filtered-submix"):
            public, fine_tuned = (alone[name, found["queries"]] for name in ("public", "fine-tuned"))
            share = (public - float(found["perplexity"])) / (public - fine_tuned)
            rows.append(row(WIKITEXT, f"{found['model']} over dp-sgd", "half of epsilon and delta each", 64, 8, study.delta,
                            found["queries"], share,
                            minutes=minutes(study, f"dp-sgd-16-4-{study.delta / 2:g}", "both-64")))
    return rows


def recipe(rank):
    return f"{STEPS} steps of a quarter of the users; rank {rank}"


def blogs_rows(data, out):
    """DP-SGD on positions whose public and fine-tuned perplexity is in docs/results."""
    study, rows = Study("blogs", data, out), []
    for epsilon in EPSILONS:
        name = f"dp-sgd-4-{epsilon:g}-{study.delta:g}"
        if not (study.out / f"{name}.csv").exists():
            continue
        perplexity = {found["model"]: float(found["perplexity"]) for found in rows_of(study.out / f"{name}.csv")}
        known = next(found for found in rows_of(RESULTS / "all_blogs/kept-improvement.kept.csv") if found["queries"] == "10240")
        public, fine_tuned = float(known["public"]), float(known["non_private"])
        assert abs(perplexity["public"] / public - 1) < 2e-3, "these are other positions"
        taken = milliseconds(study, study.out / name / "released", "--mechanism", "public")
        rows.append(row(BLOGS, "dp-sgd", f"{recipe(4)}; 1,500 characters of each", 1, epsilon, study.delta,
                        "unlimited", (public - perplexity["single"]) / (public - fine_tuned), minutes=minutes(study, name),
                        milliseconds=round(taken, 1)))
    return rows


def ensembles_of_blogs():
    """From the table of kept improvement: (8, 1e-5) for one user."""
    for found in rows_of(RESULTS / "all_blogs/kept-improvement.kept.csv"):
        if (found["unit"], found["order"]) == ("user", "delta=1e-05") and found["sound"] == "true":
            yield row(BLOGS, found["mechanism"], "one pass", int(found["k"]), found["epsilon"], 1e-5, found["queries"],
                      found["kept"], found["kept_low"], found["kept_high"])


# --- The figure: what is kept over the number of answers, at the largest epsilon


def draw(rows, path):
    panels = []
    for corpus in dict.fromkeys(point["corpus"] for point in rows):
        curves = {}
        for point in rows:
            if point["corpus"] == corpus and float(point["epsilon"]) == EPSILONS[0] and point["k"] in (1, 64):
                curves.setdefault(point["contender"], []).append(point)
        panels.append(panel(corpus, curves))
    script = f"""set terminal svg size 1080,440 font "sans,13" background "white"
set output "{path}"
set multiplot layout 1,{len(panels)}
set logscale x
set xrange [200:200000]
set yrange [-0.05:1]
set xlabel "answers (tokens) under one promise"
set ylabel "kept of the improvement by fine-tuning"
set grid ytics lc rgb "#dddddd"
unset key
set rmargin 26
set linetype 4 lc rgb "#c0392b"
set linetype 5 lc rgb "#7f8c8d"
""" + "".join(panels)
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def panel(corpus, curves):
    """Named beside its end, each curve; a model that was trained privately is level."""
    blocks, plots, labels = [], [], []
    for name, rows in curves.items():
        number = 1 + CONTENDERS.index(name)  # and color
        points = [(row["queries"], row["kept"], row["kept_low"] or row["kept"], row["kept_high"] or row["kept"]) for row in rows]
        if points[0][0] == "unlimited":
            points = [(answers, *points[0][1:]) for answers in (ANSWERS[0], 150_000)]
        points.sort(key=lambda point: int(point[0]))
        blocks.append(f"$c{number} << END\n" + "".join(" ".join(map(str, point)) + "\n" for point in points) + "END\n")
        plots.append(f"$c{number} using 1:2 with lines lw 2 lc {number}, $c{number} with yerrorbars lc {number} pt 7 ps 0.5")
        labels.append((float(points[-1][1]), name, number))
    text, least = "", -1.0
    for height, name, color in sorted(labels):  # not over each other
        least = max(height, least + 0.06)
        text += f"set label \"{name}\" at graph 1.02, first {least} textcolor lt {color}\n"
    return f"set title \"{corpus}: ({EPSILONS[0]}, delta) for one user\"\n{text}" + "".join(blocks) + "plot " + ", ".join(plots) + \
        "\nunset label\n"


def collect(data, out):
    rows = [*wikitext_rows(data, out), *ensembles_of_blogs(), *blogs_rows(data, out)]
    (RESULTS / "which").mkdir(exist_ok=True)
    with open(RESULTS / "which/which.csv", "w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    draw(rows, RESULTS / "which/which.svg")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    data, out = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    for name in sys.argv[3:] or ("wikitext", "blogs", "collect"):
        {"wikitext": wikitext, "blogs": blogs, "collect": collect}[name](data, out)


if __name__ == "__main__":
    main()
