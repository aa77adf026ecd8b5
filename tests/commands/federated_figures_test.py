#!/usr/bin/env python3
"""`submix reproduce dp-fedavg-all --small`: every figure and table of DP-FedAvg comes out whole, and
each training is done once.

Usage: federated_figures_test.py BUILD_DIR SOURCE_DIR
"""

import csv
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
NAMES = [f"dp-fedavg-fig{n}" for n in range(1, 13)] + [f"dp-fedavg-table{n}" for n in range(1, 4)]
METHODS = ["fedavg", "dp-fedavg", "fedsgd", "dp-fedsgd"]


def run(*arguments, code=0, stderr=""):
    """Runs the program; returns it. Anything but this exit code and this word is a failure."""
    done = subprocess.run([BUILD / "submix", *map(str, arguments)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == code, f"{arguments}: code {done.returncode}\n{done.stderr}"
    assert stderr in done.stderr, f"{arguments}: {done.stderr}"
    return done


def write_data(work):
    """Every fourth user is held out; the documentation stands for public text."""
    records = [json.loads(line) for line in open(SOURCE / "data/shakespeare.jsonl")]
    users = sorted({record["user"] for record in records})
    heldout = set(users[::4])
    for name, wanted in (("text", lambda u: u not in heldout), ("others", heldout.__contains__)):
        (work / f"{name}.jsonl").write_text(
            "".join(json.dumps(r) + "\n" for r in records if wanted(r["user"])))
    (work / "public.txt").write_text(
        "".join(path.read_text() for path in sorted((SOURCE / "docs").glob("*.md"))))


def reproduce(work, name, *more, **keywords):
    return run("reproduce", name, "--corpus", work / "text.jsonl", "--heldout",
               work / "others.jsonl", "--public-text", work / "public.txt", "--out", work / "out",
               "--small", "--threads", 2, *more, **keywords)


def refusals(work):
    files = ("--corpus", work / "text.jsonl", "--heldout", work / "others.jsonl")
    out = ("--out", work / "refused")
    run("reproduce", "dp-fedavg-fig1", *files, *out, code=2, stderr="--public-text is required")
    run("reproduce", "submix-fig3", *files, *out, code=2, stderr="--public is required")
    reproduce(work, "dp-fedavg-fig1", "--rank", 2, code=1, stderr="--rank: not for the names")
    run("reproduce", "submix-fig3", *files, *out, "--public", SOURCE / "data/public_model",
        "--rounds", 3, code=1, stderr="--rounds: only for the names")
    reproduce(work, "dp-fedavg-fig1", "--tokens-per-user", 10**8, code=1, stderr="lower --tokens")
    reproduce(work, "dp-fedavg-fig13", code=1, stderr="dp-fedavg-fig12")


def table_of_costs(work):
    """Computed alone: no text is needed."""
    run("reproduce", "dp-fedavg-table1", "--out", work / "costs")
    rows = json.loads((work / "costs/dp-fedavg-table1.json").read_text())["rows"]
    cells = [cell for row in rows for cell in row["epsilons"]]
    assert len(cells) == 42, len(cells)
    assert all(f"{cell['epsilon']:.2f}" == f"{cell['paper']:.2f}" for cell in cells), cells


def calculator(training):
    """What `submix account fedavg` says of a private training."""
    setting, options = training["setting"], training["options"]
    text = run("account", "fedavg", "--users", options["users"], "--users-per-round",
               setting["users_per_round"], "--noise-multiplier", setting["noise_multiplier"],
               "--rounds", setting["rounds"], "--delta", training["delta"], "--json").stdout
    return json.loads(text)["rows"][0]["improved_epsilon"]


def check_training(training):
    is_private = training["setting"]["noise_multiplier"] > 0
    assert (training["epsilon"] is not None) == is_private, training
    if is_private:
        assert abs(training["epsilon"] / calculator(training) - 1) < 1e-6, training
        for row in ("unit              all text of one user key", "neighbours        present or absent"):
            assert row in training["statement"], training
    else:
        assert training["promise"].startswith("nothing"), training
    rounds = [evaluation["round"] for evaluation in training["evaluations"]]
    assert rounds == sorted(set(rounds)), training
    late = training["setting"].get("goes_on_from")
    assert rounds[-1] == training["setting"]["rounds"], (rounds, late)
    for evaluation in training["evaluations"]:
        assert 0 <= evaluation["accuracy_top1"] <= 1, evaluation
        assert evaluation["perplexity"] > 1, evaluation
    assert training["options"]["seed"] == "7", training


def everything(work):
    done = reproduce(work, "dp-fedavg-all", "--seed", 7)
    pages = [pathlib.Path(line).stem for line in done.stdout.split()]
    assert pages == NAMES, pages
    out = work / "out"
    trained = {}
    for name in NAMES:
        data = json.loads((out / f"{name}.json").read_text())
        rows = list(csv.DictReader(open(out / f"{name}.csv")))
        assert rows and all(row["guarantee"] for row in rows), name
        assert (out / f"{name}.html").read_text().endswith("</html>\n"), name
        if shutil.which("gnuplot"):
            assert "</svg>" in (out / f"{name}.svg").read_text(), name
            assert "<svg" in (out / f"{name}.html").read_text(), name
        assert ("trainings" in data) == (name != "dp-fedavg-table1"), name
        for training in data.get("trainings", []):
            key = json.dumps(training["options"])
            if key not in trained:
                check_training(training)
            assert trained.setdefault(key, training["evaluations"]) == training["evaluations"], name
    # One training a configuration, whichever figures it is in, and the one that late ones go on from.
    directories = [path for path in (out / "federated").iterdir() if path.is_dir()]
    started = done.stderr.count("training ") - done.stderr.count("federated training ")
    assert len(trained) <= len(directories) <= len(trained) + 1, (len(trained), len(directories))
    assert started == len(directories), (started, len(directories))
    rows = list(csv.reader(open(out / "dp-fedavg-table2.private_training.csv")))
    assert ",".join(rows[0]) == "method,model,unit,epsilon,delta,perplexity,accuracy_top1,rounds"
    assert [row[0] for row in rows[1:]] == METHODS, rows
    heads = list(csv.DictReader(open(out / "dp-fedavg-table3.head_words.csv")))
    assert len({row["training"] for row in heads}) == 5, heads
    assert {row["head"] for row in heads} == {"10", "50", "100"}, heads
    assert "does not cover it" in (out / "dp-fedavg-fig5.html").read_text()


def again(work):
    """What is there is not trained again and gives the same numbers."""
    before = {name: (work / "out" / f"{name}.json").read_text() for name in NAMES}
    done = reproduce(work, "dp-fedavg-all", "--seed", 7)
    assert "training " not in done.stderr, done.stderr
    for name in NAMES:
        assert (work / "out" / f"{name}.json").read_text() == before[name], name
    # Another size is another training.
    done = reproduce(work, "dp-fedavg-fig5", "--seed", 7, "--rounds", 2)
    assert "2 rounds" in done.stderr, done.stderr


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        write_data(work)
        for test in (refusals, table_of_costs, everything, again):
            test(work)


main()
