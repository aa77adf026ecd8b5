#!/usr/bin/env python3
"""Private prediction beside private training, at one promise to a user: makes docs/results/which.

    which_results.py DATA OUT [wikitext|short|blogs|collect …]
    which_results.py DATA OUT --public DIR [blogs|wikitext|CORPUS/STAGE|collect …]    (real_results.py: docs/results/real)

DATA  holds models/base-8k, private/blogs.{train,heldout}.jsonl.xz and wikitext-2/{valid,test}.txt
OUT   gets texts, models and evaluations; interrupted, the same command goes on

wikitext  726 users, blocks of 300 words
short     3,600 bloggers, the first 1,500 characters of each; scored on those of others
blogs     the same with all that they wrote, on the positions of docs/results/all_blogs
collect   the table and the figure of docs/results/which: from OUT, and from rows that were made before

Of a corpus: ensembles, a model of DP-SGD, one of DP-FedAvg, and ensembles over a model of DP-SGD. Times are of this
machine, whatever else it does. On two cores wikitext and short take two hours each and blogs five.
"""

import csv
import json
import lzma
import math
import pathlib
import random
import subprocess
import sys
import time

from synthetic_results import blocks, bloggers, submix, write_table, write_texts

SOURCE = pathlib.Path(__file__).resolve().parent.parent
RESULTS = SOURCE / "docs/results"
KEY = SOURCE / "data/demo_partition.key"
COLUMNS = ("corpus contender recipe k epsilon delta unit queries kept kept_low kept_high train_minutes "
           "ms_per_answer").split()
ROW_KEY = "corpus contender recipe k epsilon delta queries".split()
EPSILONS = (8, 3, 1)
MECHANISMS = "dclip", "filtered-submix"
CONTENDERS = (*MECHANISMS, "dp-sgd", *(f"{name} over dp-sgd" for name in MECHANISMS), "dp-fedavg")
DRAWN = "dp-sgd", *MECHANISMS, "both: ensemble over dp-sgd", "dp-fedavg"
NAMES = {"wikitext": "WikiText-2 (726 users)", "short": "blogs, 1,500 characters each (3600 users)",
         "blogs": "blogs (3600 users)"}
ANSWERS = (256, 1024, 10240)
RUNS = 2  # of the most answers
# Share of epsilon for the model of DP-SGD, epsilon, rate of the members above it.
BOTH = (0.5, 8, 0.004), (0.5, 8, 0.002), (0.25, 8, 0.002), (0.75, 8, 0.002), (0.5, 3, 0.002), (0.5, 1, 0.002)
RESAMPLES = 2000


def write_records(compressed, path, is_taken):
    """Their records as they are."""
    if not path.exists():
        with lzma.open(compressed, "rt") as lines:
            path.write_text("".join(line for line in lines if is_taken(json.loads(line)["user"])))


class Study:
    """One corpus: its users' text, and that of others to score."""

    def __init__(self, name, data, out):
        self.name, self.out, self.public = name, out / name, data / "models/base-8k"
        self.out.mkdir(parents=True, exist_ok=True)
        self.text, self.heldout = self.out / "text.jsonl", self.out / "heldout.jsonl"
        blogs = data / "private/blogs.train.jsonl.xz", data / "private/blogs.heldout.jsonl.xz"
        if name == "wikitext":
            write_texts(self.text, lambda: blocks(data / "wikitext-2/valid.txt"))
            write_texts(self.heldout, lambda: blocks(data / "wikitext-2/test.txt"))
        elif name == "short":
            write_texts(self.text, lambda: bloggers(blogs[0], 0, 1))
            write_texts(self.heldout, lambda: bloggers(blogs[1], 0, 1))
        else:
            write_records(blogs[0], self.text, lambda user: True)
            # The odd ones are the positions of docs/results/all_blogs.
            write_records(blogs[1], self.heldout, lambda user: int(user[1:]) % 2 == 1)
        self.users = len({json.loads(line)["user"] for line in self.text.open()})
        self.delta = 1e-6 if name == "wikitext" else 1e-5  # of the promise; blogs', that of docs/results/all_blogs

    def train(self, name, command, *options):
        """A directory that it made, and minutes beside it, those of interrupted tries included."""
        directory, minutes, tries = (self.out / (name + ending) for ending in ("", ".minutes", ".tries"))
        if not minutes.exists():
            begun = time.monotonic()
            try:
                submix(*command, *options)
            finally:
                with tries.open("a") as file:
                    file.write(f"{(time.monotonic() - begun) / 60}\n")
            minutes.write_text(f"{sum(map(float, tries.read_text().split())):.1f}\n")
        return directory

    def adapters(self, name, public, *options):
        return self.train(name, ("train", self.text, self.out / name, "--heldout-fraction", 0, "--partition-key", KEY,
                                 "--public", public), *options)

    def fine_tuned(self):
        """In fewer passes over more text."""
        passes = {"wikitext": 3, "short": 2, "blogs": 1}[self.name]
        return self.adapters("fine-tuned", self.public, "--parts", 1, "--epochs", passes, "--batch-size", 8,
                             "--learning-rate", 0.001)

    def ensemble(self, k, public=None, name="ensemble", rate=0.004):
        return self.adapters(f"{name}-{k}", public or self.public, "--parts", k, "--learning-rate", rate)

    def dp_sgd(self, epsilon, delta):
        """8 steps over a quarter of the users each."""
        return self.adapters(f"dp-sgd-{epsilon:g}-{delta:g}", self.public, "--private", "dp-sgd", "--epsilon", epsilon,
                             "--delta", delta, "--expected-batch", self.users // 4, "--steps", 8, "--rank", 16)

    def dp_fedavg(self, epsilon, delta):
        """8 rounds of a quarter of the users; in each a user trains for one pass over at most 400 tokens of his own."""
        name, expected = f"dp-fedavg-{epsilon:g}-{delta:g}", self.users // 4
        noise = noise_of(epsilon, delta, self.users, expected, 8)
        return self.train(name, ("fedavg", self.out / name, "--corpus", self.text, "--public", self.public,
                                 "--tokens-per-user", 400, "--keep-short-users", "--population", self.users,
                                 "--expected-users", expected, "--rounds", 8, "--delta", delta, "--noise", noise,
                                 "--evaluate-every", 8))

    def both(self, share, epsilon, rate, k):
        """An ensemble over a model of DP-SGD, which has this share of epsilon, and half of delta."""
        released = self.dp_sgd(share * epsilon, self.delta / 2) / "released/public"
        return self.ensemble(k, released, f"both-{share:g}-{epsilon:g}-{rate:g}", rate)

    def evaluate(self, directory, *options, name=None):
        """NAME.csv and NAME.users.csv."""
        table = self.out / f"{name or directory.name}.csv"
        if not table.exists():
            unfinished = table.with_suffix(".unfinished")
            submix("evaluate", directory, "--heldout", self.heldout, "--csv", unfinished, "--by-user",
                   table.with_suffix(".users.csv"), "--runs", RUNS, "--precision", "f32", "--checkpoint",
                   table.with_suffix(".checkpoint"), *options)
            unfinished.rename(table)
        return table

    def evaluate_model(self, directory, name=None):
        return self.evaluate(directory, "--mechanism", "public", "--order", 2, "--queries", ANSWERS[-1], name=name)

    def evaluate_ensemble(self, directory, epsilon, name=None):
        """Above a model of DP-SGD, epsilon counts its training in."""
        return self.evaluate(directory, "--mechanism", ",".join(MECHANISMS), "--unit", "user", "--epsilon", epsilon,
                             "--delta", self.delta, "--queries", ",".join(map(str, ANSWERS)), name=name)


def account(*arguments):
    """The row of what is counted."""
    return json.loads(submix("account", *arguments, "--json"))["rows"][0]


def noise_of(epsilon, delta, users, expected, rounds):
    """The least noise, to a hundredth, with which DP-FedAvg's rounds stay within epsilon."""
    def spent(hundredths):
        return account("fedavg", "--users", users, "--users-per-round", expected, "--rounds", rounds, "--noise-multiplier",
                       hundredths / 100, "--delta", delta)["improved_epsilon"]

    low, high = 10, 10_000
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if spent(middle) <= epsilon else (middle + 1, high)
    return low / 100


# --- What is measured


def measure(study):
    study.evaluate_model(study.fine_tuned())
    if study.name != "blogs":  # whose ensembles are in docs/results
        for epsilon in EPSILONS:
            study.evaluate_ensemble(study.ensemble(64), epsilon, f"ensemble-64-{epsilon:g}")
    for epsilon in EPSILONS:
        study.evaluate_model(study.dp_sgd(epsilon, study.delta) / "released", f"dp-sgd-{epsilon:g}")
        study.evaluate_model(study.dp_fedavg(epsilon, study.delta) / "released", f"dp-fedavg-{epsilon:g}")
    for share, epsilon, rate in BOTH:
        study.evaluate_ensemble(study.both(share, epsilon, rate, 64), epsilon)


# --- The table


def rows_of(table):
    return list(csv.DictReader(open(table)))


def deployed_copy(work, directory, *declared):
    """A deployment of a copy: an ensemble that was deployed is not deployed again."""
    subprocess.run(["rm", "-rf", work], check=True)
    work.mkdir(parents=True)
    subprocess.run(["cp", "-r", directory, work / "model"], check=True)
    submix("deploy", work / "model", work / "deployment", *declared)
    return work / "deployment"


def milliseconds(study, directory, *deploy):
    """An answer's time: of long texts less that of short ones, so that starts do not count."""
    made = study.out / f"{directory.parent.name}.{directory.name}.milliseconds.json"
    if not made.exists():
        measured = []
        for tokens in (32, 288):
            work = study.out / "times"
            deployment = deployed_copy(work, directory, *deploy)
            begun = time.monotonic()
            submix("synthesize", deployment, work / "out.jsonl", "--documents", 4, "--max-tokens", tokens,
                   "--at-a-time", 1)
            rows = map(json.loads, (work / "out.jsonl").read_text().splitlines())
            measured.append((time.monotonic() - begun, sum(row["tokens"] for row in rows)))
        (short, few), (long, many) = measured
        made.write_text(json.dumps(1000 * (long - short) / (many - few)))
    return json.loads(made.read_text())


def minutes(study, *directories):
    return round(sum(float((study.out / f"{directory.name}.minutes").read_text()) for directory in directories), 1)


class Losses:
    """Of every user under every model of an evaluation."""

    def __init__(self, table):
        self.users = {}
        for row in rows_of(table.with_suffix(".users.csv")):
            key = row["model"], float(row["epsilon"] or 0), int(row["queries"])
            self.users.setdefault(key, {})[row["user"]] = int(row["positions"]), float(row["nats"])

    def of(self, model):
        """Of a model that needs no mechanism; all numbers of answers have the same text."""
        return next(users for key, users in self.users.items() if key[0] == model)


def nats_a_token(losses, users):
    return sum(losses[user][1] for user in users) / sum(losses[user][0] for user in users)


def perplexity(losses, users):
    return math.exp(nats_a_token(losses, users))


def kept(public, private, fine_tuned, level=perplexity):
    """And where 95 % of the resamples of users lie."""
    def share(users):
        open_ = level(public, users)
        return (open_ - level(private, users)) / (open_ - level(fine_tuned, users))

    users, draw = list(public), random.Random("submix which")
    assert all(private[user][0] == public[user][0] for user in users), "other positions"
    resampled = sorted(share(draw.choices(users, k=len(users))) for _ in range(RESAMPLES))
    return share(users), resampled[RESAMPLES // 40], resampled[-1 - RESAMPLES // 40]


def row(study, contender, recipe, k, epsilon, queries, shares, train_minutes="", taken=""):
    return dict(zip(COLUMNS, (NAMES[study.name], contender, recipe, k, f"{epsilon:g}", f"{study.delta:g}", "user", queries,
                              *(round(share, 3) for share in shares), train_minutes, taken and round(taken, 1))))


def rows_of_study(study):
    """Of what is there."""
    def is_made(name):
        return (study.out / f"{name}.csv").exists()

    if not is_made("fine-tuned"):
        return
    levels = Losses(study.fine_tuned().with_suffix(".csv"))
    public, fine_tuned = levels.of("public"), levels.of("ensemble")  # of one
    for contender, directory, recipe in (("dp-sgd", study.dp_sgd, "8 steps of a quarter of the users; rank 16"),
                                         ("dp-fedavg", study.dp_fedavg, "8 rounds of a quarter of the users; rank 16")):
        for epsilon in EPSILONS:
            name = f"{contender}-{epsilon:g}"
            if is_made(name):
                made = directory(epsilon, study.delta)
                taken = milliseconds(study, made / "released", "--mechanism", "public")
                yield row(study, contender, recipe, 1, epsilon, "unlimited",
                          kept(public, Losses(study.out / f"{name}.csv").of("ensemble"), fine_tuned), minutes(study, made), taken)
    for name, members, recipe, dp_sgd in evaluations_of_ensembles(study):
        if not is_made(name):
            continue
        made = [study.out / members] + ([study.out / dp_sgd] if dp_sgd else [])
        for (model, epsilon, queries), losses in Losses(study.out / f"{name}.csv").users.items():
            if model in MECHANISMS:
                taken = "" if dp_sgd else milliseconds(study, made[0], "--mechanism", "dclip", "--unit", "user", "--epsilon", 8,
                                                       "--delta", study.delta, "--queries", 10240)
                yield row(study, model + (" over dp-sgd" if dp_sgd else ""), recipe, 64, epsilon, queries,
                          kept(public, losses, fine_tuned), minutes(study, *made), taken)


def evaluations_of_ensembles(study):
    """Name, members, recipe and the model of DP-SGD below."""
    for epsilon in EPSILONS:
        yield f"ensemble-64-{epsilon:g}", "ensemble-64", "one pass", None
    for share, epsilon, rate in BOTH:
        below = f"{share * epsilon:g}-{study.delta / 2:g}"
        recipe = f"one pass, rate {rate:g}; over dp-sgd of ({below.replace('-', ', ', 1)})"
        name = f"both-{share:g}-{epsilon:g}-{rate:g}-64"
        yield name, name, recipe, f"dp-sgd-{below}"


def ensembles_of_blogs():
    """From the table of kept improvement: (8, 1e-5) for one user; intervals over runs."""
    for found in rows_of(RESULTS / "all_blogs/kept-improvement.kept.csv"):
        if (found["unit"], found["order"]) == ("user", "delta=1e-05") and found["sound"] == "true":
            shares = (round(float(found[name]), 3) for name in ("kept", "kept_low", "kept_high"))
            yield dict(zip(COLUMNS, (NAMES["blogs"], found["mechanism"], "one pass", found["k"], found["epsilon"], "1e-05",
                                     "user", found["queries"], *shares, "", "")))


def many_parts_of_blogs():
    """From a table whose promise to a user was 2 nats at order 2, which is less than (8, 1e-6)."""
    k, delta = 256, 1e-6
    for found in rows_of(RESULTS / "all_passes/kept-256-wide.csv"):
        if (found["model"], found["unit"]) == ("dclip", "user"):
            clip = k * math.sqrt(2 * float(found["target_leakage"]) / float(found["order"]))
            cost = account("plan", "dclip", "--parts", k, "--clip", clip, "--answers", found["queries"], "--delta",
                           delta)["user_epsilon"]
            assert cost <= EPSILONS[0], cost
            yield dict(zip(COLUMNS, (NAMES["blogs"], "dclip", f"three passes; ({cost:.2f}, {delta:g})", k, EPSILONS[0],
                                     f"{delta:g}", "user", found["queries"], round(float(found["kept"]), 3), "", "", "", "")))


def merged(table, made, key_columns, orders):
    """What was made replaces what the table has under the same key, in its place; rows in the orders of these columns."""
    def key(row):
        return tuple(str(row[name]) for name in key_columns)

    before = rows_of(table) if table.exists() else []
    rows = {key(row): row for row in [*before, *made]}
    return sorted(rows.values(), key=lambda row: [order.index(row[name]) for name, order in orders.items()])


# --- The figure: what is kept over the number of answers, at the largest epsilon


def curves_of(rows, corpus):
    """For every contender the best of its recipes, at every number of answers: [answers, kept, low, high]."""
    curves = {}
    for row in rows:
        if row["corpus"] == corpus and float(row["epsilon"]) == EPSILONS[0]:
            name = "both: ensemble over dp-sgd" if "over" in row["contender"] else row["contender"]
            ends = (ANSWERS[0], 150_000) if row["queries"] == "unlimited" else (int(row["queries"]),)
            for answers in ends:
                point = answers, *(float(row[name] or row["kept"]) for name in ("kept", "kept_low", "kept_high"))
                best = curves.setdefault(name, {})
                if answers not in best or best[answers][1] < point[1]:
                    best[answers] = point
    return {name: sorted(best.values()) for name, best in curves.items()}


def draw(rows, path):
    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    script = f"""set terminal svg size {620 * len(corpora)},440 font "sans,13" background "white"
set output "{path}"
set multiplot layout 1,{len(corpora)}
set logscale x
set format x "%.0s%c"
set xrange [200:200000]
set yrange [-0.05:1]
set xlabel "answers (tokens) under one promise"
set ylabel "kept of what fine-tuning gains"
set grid ytics lc rgb "#dddddd"
unset key
set rmargin 26
set linetype 4 lc rgb "#c0392b"
set linetype 5 lc rgb "#7f8c8d"
""" + "".join(panel(corpus, curves_of(rows, corpus)) for corpus in corpora)
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def panel(corpus, curves):
    """Named beside its end, each curve; a model that was trained privately is level."""
    blocks, plots, labels = [], [], []
    for name in DRAWN:
        if name not in curves:
            continue
        number, points = 1 + DRAWN.index(name), curves[name]  # and color
        blocks.append(f"$c{number} << END\n" + "".join(" ".join(map(str, point)) + "\n" for point in points) + "END\n")
        plots.append(f"$c{number} using 1:2 with lines lw 2 lc {number}, $c{number} with yerrorbars lc {number} pt 7 ps 0.5")
        labels.append((points[-1][1], name, number))
    text, least = "", -1.0
    for height, name, color in sorted(labels):  # not over each other
        least = max(height, least + 0.06)
        text += f"set label \"{name}\" at graph 1.02, first {least} textcolor lt {color}\n"
    return f"set title \"{corpus}\\n({EPSILONS[0]}, delta) for one user\"\n{text}" + "".join(blocks) + "plot " + \
        ", ".join(plots) + "\nunset label\n"


def collect(data, out):
    made = [*ensembles_of_blogs(), *many_parts_of_blogs()]
    for name in NAMES:
        made += rows_of_study(Study(name, data, out))
    table = RESULTS / "which/which.csv"
    rows = merged(table, made, ROW_KEY, {"corpus": list(NAMES.values()), "contender": list(CONTENDERS)})
    write_table(table, COLUMNS, rows)
    draw(rows, RESULTS / "which/which.svg")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    data, out = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    if len(sys.argv) > 4 and sys.argv[3] == "--public":
        import real_results  # which imports this file
        return real_results.run(data, out, pathlib.Path(sys.argv[4]).resolve(), sys.argv[5:])
    for name in sys.argv[3:] or (*NAMES, "collect"):
        if name == "collect":
            collect(data, out)
        else:
            measure(Study(name, data, out))


if __name__ == "__main__":
    main()
