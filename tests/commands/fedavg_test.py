#!/usr/bin/env python3
"""`submix fedavg` on bundled text: epsilon is the calculator's, kill -9 forgets nothing, it learns.

Usage: fedavg_test.py BUILD_DIR SOURCE_DIR
"""

import csv
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
TOKENS = 100


def run(*arguments, code=0, stderr=""):
    """Runs the program; returns stdout. Anything but this exit code and this word is a failure."""
    done = subprocess.run([BUILD / "submix", *map(str, arguments)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == code, f"{arguments}: code {done.returncode}\n{done.stderr}"
    assert stderr in done.stderr, f"{arguments}: {done.stderr}"
    return done.stdout


def write_data(work):
    """Every tenth user is held out; the documentation stands for public text."""
    records = [json.loads(line) for line in open(SOURCE / "data/shakespeare.jsonl")]
    users = sorted({record["user"] for record in records})
    heldout = set(users[::10])
    for name, wanted in (("text", lambda u: u not in heldout), ("others", heldout.__contains__)):
        (work / f"{name}.jsonl").write_text(
            "".join(json.dumps(r) + "\n" for r in records if wanted(r["user"])))
    (work / "public.txt").write_text(
        "".join(path.read_text() for path in sorted((SOURCE / "docs").glob("*.md"))))


def fedavg(work, out, *more, tokens=TOKENS, form=("--json",), **keywords):
    return run("fedavg", work / out, "--corpus", work / "text.jsonl", "--public-text",
               work / "public.txt", "--heldout", work / "others.jsonl", "--heldout-tokens", 2000,
               "--words", 500, "--width", 16, "--units", 16, "--tokens-per-user", tokens,
               "--threads", 2, *form, *more, **keywords)


def calculator(result, users_per_round, rounds):
    """The epsilon that `submix account fedavg` gives before anything is trained."""
    text = run("account", "fedavg", "--users", result["population"], "--users-per-round",
               users_per_round, "--noise-multiplier", result["noise_multiplier"], "--rounds",
               rounds, "--delta", result["delta"], "--json")
    return json.loads(text)["rows"][0]["improved_epsilon"]


PRIVATE = ("--expected-users", 20, "--clip", 1, "--noise", 1.5, "--evaluate-every", 2)


def private_rounds(work):
    told = fedavg(work, "out", *PRIVATE, "--rounds", 3, "--csv", work / "out.csv", "--head-words", form=())
    # What is spent cannot be changed by other options, nor by looking again.
    fedavg(work, "out", *PRIVATE, "--rounds", 4, "--seed", 2, code=1, stderr="other options")
    result = json.loads(fedavg(work, "out", *PRIVATE, "--rounds", 3, "--head-words"))
    assert result["rounds"] == result["rounds_charged"] == 3, result
    assert abs(result["epsilon"] / calculator(result, 20, 3) - 1) < 1e-6, result
    assert "-differentially private for one user's text." in result["promise"]["sentence"], result
    promised = {row["label"]: row["user"] for row in result["promise"]["table"]}
    for row, words in (("unit", "user key"), ("neighbours", "present or absent"), ("proof", "independently"),
                       ("mechanism", "3 rounds charged")):
        assert words in promised[row] and row in result["statement"], result
    assert result["heldout"]["tokens"] == 2000, result
    assert 0 <= result["heldout"]["accuracy_top1"] <= result["heldout"]["accuracy_top5"] <= 1
    assert all(sum(counts) == 2000 for counts in result["head_words"].values()), result
    rows = list(csv.DictReader(open(work / "out.csv")))
    assert [row["round"] for row in rows] == ["1", "2", "3"], rows
    assert [bool(row["accuracy_top1"]) for row in rows] == [False, True, True], rows
    model = work / "out" / "model"
    config = json.loads((model / "config.json").read_text())
    assert config["vocab_size"] == 503 == len((model / "words.txt").read_text().splitlines()) + 3
    # The same was told to people.
    for words in (f"3 rounds, a population of {result['population']:.15g} users", "AccuracyTop1", "10: [",
                  "all text of one user key", "model", result["promise"]["sentence"]):
        assert words in " ".join(told.split()), (words, told)


def killed(work):
    """kill -9 at any moment: every charged round stays charged, and training goes on."""
    command = [BUILD / "submix", "fedavg", work / "killed", "--corpus", work / "text.jsonl",
               "--public-text", work / "public.txt", "--words", 500, "--width", 16, "--units", 16,
               "--tokens-per-user", TOKENS, *PRIVATE, "--csv", work / "killed.csv", "--rounds",
               100000]
    for _ in range(3):
        lines = len((work / "killed.csv").read_text().splitlines()) if (
            work / "killed.csv").exists() else 1
        with subprocess.Popen(list(map(str, command)), stderr=subprocess.DEVNULL) as process:
            deadline = time.monotonic() + 60
            while not (work / "killed.csv").exists() or len(
                    (work / "killed.csv").read_text().splitlines()) < lines + 2:
                assert process.poll() is None and time.monotonic() < deadline, process.returncode
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
    done = int(list(csv.DictReader(open(work / "killed.csv")))[-1]["round"])
    command[-1] = done + 2
    text = subprocess.run([*map(str, command), "--json"], capture_output=True, check=True).stdout
    result = json.loads(text)
    assert result["rounds"] == done + 2, result
    assert result["rounds"] <= result["rounds_charged"] <= result["rounds"] + 3, result
    assert abs(result["epsilon"] / calculator(result, 20, result["rounds_charged"]) - 1) < 1e-6
    rounds = [int(row["round"]) for row in csv.DictReader(open(work / "killed.csv"))]
    assert rounds == sorted(set(rounds)), rounds


def learns(work):
    """Without noise, from public text, and by one gradient a user: perplexity falls."""
    free = ("--learning-rate", 6, "--noise", 0, "--clip", "inf", "--expected-users", 30)
    later = json.loads(fedavg(work, "free", *free, "--rounds", 8, "--evaluate-every", 1, "--csv", work / "free.csv"))
    first = float(list(csv.DictReader(open(work / "free.csv")))[0]["perplexity"])
    assert later["heldout"]["perplexity"] < 0.7 * first, (first, later)
    assert later["epsilon"] is None and "not private" in later["statement"], later
    public = json.loads(fedavg(work, "public", *free, "--rounds", 1, "--public-words", 5000))
    assert public["heldout"]["perplexity"] < 500, public
    sgd = json.loads(fedavg(work, "sgd", "--noise", 1, "--clip", 1, "--sampling-probability", 0.5,
                            "--algorithm", "fedsgd", "--clipping", "per-layer", "--estimator",
                            "clipped", "--rounds", 2, "--schedule", "2:0.5", "--population", 200))
    assert sgd["epsilon"] > 0 and sgd["population"] == 200, sgd


def gpt(work):
    """A public GPT-2's adapter: paid for as ever, released with its cost, and learning."""
    def train(out, *more, unroll=32, **keywords):
        return run("fedavg", work / out, "--corpus", work / "text.jsonl", "--public",
                   SOURCE / "data/public_model", "--heldout", work / "others.jsonl",
                   "--heldout-tokens", 300, "--tokens-per-user", 32, "--rank", 4, "--unroll",
                   unroll, "--precision", "f32", "--threads", 2, *more, **keywords)

    private = json.loads(train("gpt", *PRIVATE, "--rounds", 2, "--json"))
    assert abs(private["epsilon"] / calculator(private, 20, 2) - 1) < 1e-6, private
    cost = json.loads((work / "gpt/released/public/private_training.json").read_text())
    assert (cost["mechanism"], cost["unit"], cost["steps"]) == ("dp-fedavg", "user", 2), cost
    assert cost["epsilon"] == private["epsilon"] and cost["noise_multiplier"] == 1.5, cost
    assert (work / "gpt/model/adapter_config.json").exists()
    told = run("deploy", work / "gpt/released", work / "deployment", "--mechanism", "public")
    assert "dp-fedavg" in told and "present or absent" in told, told
    # No seed decides which users are drawn. A rate of 1 leaps to and fro as soon as something is learned.
    free = ("--learning-rate", 0.5, "--noise", 0, "--clip", "inf", "--expected-users", 20, "--csv",
            work / "gpt free.csv")
    told = train("gpt free", *free, "--rounds", 1)
    first = float(list(csv.DictReader(open(work / "gpt free.csv")))[0]["perplexity"])
    later = json.loads(train("gpt free", *free, "--rounds", 4, "--json"))
    assert later["heldout"]["perplexity"] < 0.9 * first, (first, later)
    assert "gpt free/not_private: trained without noise; it must not leave" in told, told
    assert not (work / "gpt free/released").exists()
    run("deploy", work / "gpt free/not_private", work / "bad", "--mechanism", "public", code=1,
        stderr="without noise")
    assert not (work / "bad").exists()
    train("bad", *PRIVATE, "--words", 100, code=2, stderr="--public-text")
    train("bad", *PRIVATE, "--top-layers", 99, code=1, stderr="layers")
    train("bad", *PRIVATE, unroll=10**6, code=1, stderr="the public model reads")


def refusals(work):
    fedavg(work, "bad", "--rounds", 1, code=2, stderr="--expected-users")
    fedavg(work, "bad", "--expected-users", 1e6, code=1, stderr="is more than the population of")
    fedavg(work, "bad", "--expected-users", 5, "--epsilon", 1e-4, "--noise", 1, "--clip", 1, code=1,
           stderr="one step costs more")
    fedavg(work, "bad", "--expected-users", 5, "--schedule", "5", code=1, stderr="ROUND:CLIP")
    fedavg(work, "bad", "--expected-users", 5, tokens=10**6, code=1,
           stderr="left out; --keep-short-users keeps them")
    target = json.loads(fedavg(work, "target", "--expected-users", 20, "--clip", 1, "--noise", 2,
                               "--epsilon", 1.5, "--rounds", 100000))
    assert target["target_reached"] and 1 < target["epsilon"] <= 1.5, target


def small_text(work):
    """The documented command for it, on 60 users with a few lines each."""
    lines = {}
    for line in (SOURCE / "data/shakespeare.jsonl").read_text().splitlines(keepends=True):
        lines.setdefault(json.loads(line)["user"], []).append(line)
    folder = work / "small"
    folder.mkdir()
    (folder / "data").symlink_to((SOURCE / "data").resolve())
    (folder / "text.jsonl").write_text("".join(line for user in list(lines)[:60] for line in lines[user][:8]))
    command = next(line for line in (SOURCE / "docs/private_training.md").read_text().splitlines()
                   if line.startswith("submix fedavg out_small "))
    def shell(command):
        return subprocess.run(command.replace("submix", str((BUILD / "submix").resolve()), 1), shell=True, cwd=folder,
                              capture_output=True, text=True, check=False)
    done = shell(command)
    assert done.returncode == 0 and "8 rounds, a population of 60 users" in done.stdout, done
    told = shell(command.replace("out_small", "other_delta").replace("--rounds 8", "--rounds 1 --delta 1e-3"))
    assert "DEPLOYMENT --mechanism public --delta 0.001" in told.stdout, told
    told = shell(command.replace("--keep-short-users", "").replace("out_small", "few"))
    assert "of 60 users have fewer than 400 tokens and are left out" in told.stderr, told


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        write_data(work)
        for test in (private_rounds, killed, learns, gpt, refusals, small_text):
            begun = time.monotonic()
            test(work)
            print(f"{test.__name__}: {time.monotonic() - begun:.1f} s")


main()
