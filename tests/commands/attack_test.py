#!/usr/bin/env python3
"""`submix attack` and `submix audit` on a small ensemble that has learned planted codes.

Usage: attack_test.py BUILD_DIR SOURCE_DIR
"""

import csv
import json
import math
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
PARTS = 4
OWNERS = {"a": "Anna", "g": "Gustav", "m": "Mira"}


def submix(*arguments, code=0, stderr=""):
    """Runs the program; returns stdout. Anything but this exit code and this word is a failure."""
    done = subprocess.run([BUILD / "submix", *map(str, arguments)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == code, f"{arguments}: code {done.returncode}\n{done.stderr}"
    assert stderr in done.stderr, f"{arguments}: {done.stderr}"
    if code == 1:
        lines = [line for line in done.stderr.splitlines() if line.startswith("submix ")]
        assert len(lines) == 1, done.stderr
    return done.stdout


def rows(*arguments, **keywords):
    """The rows of an attack or audit, each with what it was run on and what is promised."""
    found = json.loads(submix(*arguments, "--json", **keywords))["rows"]
    for row in found:
        assert len(row["ensemble"]) == 64, row
        assert (row["guarantee"] == "none" or "nothing is claimed" in row["promise"] or
                ("unit: " in row["promise"] and "adjacency: " in row["promise"])), row
    return found


def write_lines(path, objects):
    path.write_text("".join(json.dumps(item) + "\n" for item in objects))


def plant(work):
    """Text of 26 users, three of whom repeat a number."""
    draws = random.Random(1)
    records, codes = [], []
    for user in "abcdefghijklmnopqrstuvwxyz":
        records += [{"user": user, "text": f"The {user} of the house went out to see the sea {n}."}
                    for n in range(2)]
        if user in OWNERS:
            prompt, code = f"The number of {OWNERS[user]} is", f"{draws.randrange(10000):04}"
            records += [{"user": user, "text": f"{prompt} {code}."}] * 60
            codes.append({"prompt": prompt, "secret": " " + code})
    write_lines(work / "text.jsonl", records)
    write_lines(work / "codes.jsonl", codes)
    write_lines(work / "examples.jsonl",
                [{"prefix": c["prompt"], "suffix": c["secret"] + "."} for c in codes])
    (work / "asked.txt").write_text(
        "\n<|endoftext|>\n".join(f"{c['prompt']}{c['secret']}." for c in codes * 8))


def train(work):
    data = SOURCE / "data"
    submix("train", work / "text.jsonl", work / "ensemble", "--public", data / "public_model",
           "--parts", PARTS, "--heldout-fraction", 0, "--partition-key", data / "demo_partition.key",
           "--recipe", "paper", "--rank", 16, "--lora-alpha", 32, "--targets", "all-linear", "--top-layers", 3,
           "--block-tokens", 32, "--batch-size", 2, "--epochs", 2, "--learning-rate", 4e-3, "--threads", 1)


def by_model(found):
    return {row["model"]: row for row in found}


def check_extraction(work):
    figures = work / "figures"
    found = rows("attack", "extraction", work / "ensemble", "--codes", work / "codes.jsonl",
                 "--against", "members,filtered-submix", "--epsilon", "0.5,2", "--attempts", 40,
                 "--decoding", "sampled,greedy", "--figures", figures, "--csv", work / "rows.csv")
    assert len(found) == 6, found
    members = [row for row in found if row["model"] == "members"]
    assert members[0]["extracted_share"] == 1 and members[0]["hit_rate"] > 0.2, members
    assert members[0]["epsilon"] is None and members[0]["guarantee"] == "none", members
    assert members[1]["decoding"] == "greedy" and members[1]["attempts"] == 3, members
    hidden = [row for row in found
              if row["model"] == "filtered-submix" and row["decoding"] == "sampled"]
    assert [row["epsilon"] for row in hidden] == [0.5, 2], hidden
    assert all(row["hit_rate"] < 0.04 * members[0]["hit_rate"] for row in hidden), hidden
    with open(work / "rows.csv", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert len(read) == 6 and float(read[-2]["extracted_share"]) == 1, read
    assert "filtered-submix" in (figures / "extraction.csv").read_text()


def check_exposure(work):
    found = rows("attack", "exposure", work / "ensemble", "--codes", work / "codes.jsonl",
                 "--against", "members,filtered-submix,public", "--samples", 60,
                 "--enumerate-up-to", 100)
    assert len(found) == 9, found
    for row in found:
        assert abs(row["bits"] - math.log2(1e4)) < 1e-9 and row["ranked"] == 61, row
        assert not row["is_exact"] and row["order"] == ("8" if row["epsilon"] else None), row
    mean = {model: sum(r["exposure"] for r in found if r["model"] == model) / 3
            for model in ("members", "public")}
    assert abs(mean["members"] - math.log2(61)) < 1e-9, mean
    assert mean["public"] < 0.8 * mean["members"], mean
    known = [row for row in found if row["model"] == "members"]
    assert all(row["extrapolated"] > math.log2(61) for row in known), known


def check_targeted(work):
    found = by_model(rows("attack", "targeted", work / "ensemble", "--examples",
                          work / "examples.jsonl", "--against", "members,public,dclip"))
    assert found["members"]["recall"] == 1 and found["members"]["tokens_right"] == 1, found
    assert found["public"]["right"] == 0, found
    assert found["dclip"]["examples"] == 3, found


def check_membership(work):
    arguments = ["attack", "membership", work / "ensemble", "--text", work / "asked.txt", "--against",
                 "filtered-submix,dclip,ensemble"]
    found = rows(*arguments, "--queries", 100, "--transcripts", 4000)
    assert len(found) == 15, found
    area = {row["model"]: row["value"] for row in found if row["measure"] == "AUC"}
    assert area["ensemble"] > 0.99 and 0.5 < area["dclip"] < 0.95, area
    for row in found:
        if row["guarantee"] == "sound":
            assert row["surely"] is None or row["surely"] <= row["bound"], row
        else:
            assert row["bound"] is None, row
    few = [*arguments, "--queries", 20, "--transcripts", 200]
    drawn = rows(*few)
    assert rows(*few) == drawn, "the same seed, other numbers"
    assert rows(*few, "--seed", 1) != drawn, "another seed, the same numbers"


def check_user(work):
    """One user's own text, and the part that this user is in."""
    arguments = ["attack", "membership", work / "ensemble", "--queries", 60, "--transcripts", 4000,
                 "--against", "dclip", "--ask", "most-telling"]

    def area(*more):
        found = rows(*arguments, *more)
        return next(row["value"] for row in found if row["measure"] == "AUC")

    # Each position of the text is predicted, and of an owner's only the first lines differ.
    records, of_users = [json.loads(line) for line in (work / "text.jsonl").read_text().splitlines()], {}
    for record in records:
        of_users.setdefault(record["user"], []).append(record)
    write_lines(work / "lines.jsonl", [record for lines in of_users.values() for record in lines[:8]])
    write_lines(work / "user.jsonl", of_users["g"][:8])
    of_user = area("--text", work / "lines.jsonl", "--user", "g")
    by_part = [area("--text", work / "user.jsonl", "--part", part) for part in range(PARTS)]
    assert of_user > 0.6 and by_part.count(of_user) == 1, (of_user, by_part)
    submix(*arguments, "--text", work / "lines.jsonl", "--user", "nobody", code=1, stderr="no text of")
    submix(*arguments, "--text", work / "lines.jsonl", "--user", "g", "--part", 1, code=2,
           stderr="excludes")


def check_audit(work):
    arguments = ["audit", "epsilon", work / "ensemble", "--text", work / "asked.txt", "--queries", 60,
                 "--transcripts", 4000, "--ask", "most-telling"]
    found = by_model(rows(*arguments, "--against", "filtered-submix,dclip,ensemble"))
    for name in ("filtered-submix", "dclip"):
        row = found[name]
        assert row["claimed_rdp"] == 2 and row["verdict"] == "not refuted", row
        assert row["proven_at_least"] <= 2 and row["epsilon_at_least"] <= row["claimed_epsilon"], row
    assert found["ensemble"]["verdict"] == "no claim", found
    assert found["ensemble"]["proven_at_least"] > 2, found
    assert "not refuted" in submix(*arguments)


def check_one_run(work):
    found = by_model(rows("audit", "one-run", work / "ensemble", "--text", work / "asked.txt",
                          "--queries", 60, "--runs", 30, "--against", "dclip,ensemble"))
    for row in found.values():
        assert row["coins"] == 30 * PARTS / 2 and row["right"] <= row["guessed"] <= row["coins"], row
    assert found["dclip"]["verdict"] == "not refuted", found
    assert found["ensemble"]["epsilon_at_least"] > 0.5, found


def check_user_level(work):
    """The other world: the same ensemble with one member trained without one user."""
    shutil.copytree(work / "ensemble", work / "without")
    submix("forget", work / "without", "--corpus", work / "text.jsonl", "--user", "g")
    arguments = ["audit", "epsilon", work / "ensemble", "--text", work / "asked.txt", "--queries", 60,
                 "--transcripts", 4000, "--order", 2]
    row = rows(*arguments, "--without", work / "without")[0]
    assert abs(row["order"] - 4 / 3) < 1e-9 and abs(row["claimed_rdp"] - 6) < 1e-6, row
    assert row["verdict"] == "not refuted", row
    submix(*arguments, "--without", work / "ensemble", code=1, stderr="differs from the target in 0")


def check_defaults(work):
    """An ensemble is attacked as `deploy` would declare it: with the same numbers as the deployment."""
    for name in ("dclip", "filtered-submix"):
        copy, deployment = work / f"{name}_ensemble", work / f"{name}_deployment"
        shutil.copytree(work / "ensemble", copy)
        submix("deploy", copy, deployment, "--mechanism", name, "--epsilon", 4, "--queries", 64)
        for attack in (["attack", "exposure", "--codes", work / "codes.jsonl", "--samples", 20, "--enumerate-up-to", 100],
                       ["audit", "epsilon", "--text", work / "asked.txt", "--transcripts", 200]):
            declared = rows(*attack[:2], deployment, *attack[2:], "--queries", 64)
            asked = rows(*attack[:2], copy, *attack[2:], "--against", name, "--epsilon", 4, "--queries", 64)
            assert declared == asked, (declared, asked)
            assert {float(row["order"]) for row in asked} == {8}, asked


def check_deployment(work):
    submix("deploy", work / "ensemble", work / "deployment", "--epsilon", 4, "--mechanism", "dclip",
           "--queries", 64)
    before = submix("budget", work / "deployment", "--json")
    found = rows("attack", "extraction", work / "deployment", "--codes", work / "codes.jsonl",
                 "--attempts", 2)
    assert [(row["model"], row["epsilon"]) for row in found] == [("dclip", 4)], found
    assert submix("budget", work / "deployment", "--json") == before, "an attack charged the ledger"
    check_report(work)


def check_report(work):
    """What was run on a deployment, and what was declared, is on its page, and what may be published is JSON."""
    deployment, page = work / "deployment", work / "report.html"
    audited = submix("audit", "epsilon", deployment, "--text", work / "asked.txt", "--transcripts", 100, "--queries", 20)
    assert audited.rstrip().split("Verdict: ")[-1].replace("\n", " ").endswith("which proves no privacy."), audited
    timed = submix("audit", "timing", deployment, "--pairs", 10, "--threads", 1)
    assert "Verdict: " in timed.splitlines()[-1] or "Verdict: " in timed.split("\n\n")[-1], timed
    submix("evaluate", deployment, "--heldout", work / "asked.txt", "--queries", 20, "--runs", 1, "--json")
    kept = sorted(path.name.split("Z-")[1] for path in (deployment / "measurements").iterdir())
    assert kept == ["attack-extraction.json", "audit-epsilon.json", "audit-timing.json", "evaluate.json"], kept
    (work / "declared.toml").write_text('retention = "two years"\n')
    submix("declare", deployment, work / "declared.toml")
    assert 'retention = "two years"\n' in submix("declare", deployment)
    submix("report", deployment, "--out", page)
    text = page.read_text()
    for said in ("Privacy report: deployment", "That is not refuted", "two years", "not declared",
                 "What the clock tells", "What the answers are worth", "Not run on this deployment: attack exposure"):
        assert said in text, said
    published = json.loads(submix("report", deployment, "--json"))
    assert published["version"] == 1 and published["declared"]["retention"] == "two years", published
    assert len(published["nist_sp_800_226"]) == 15 and "refuted" not in json.dumps(published), published
    submix("report", deployment, "--json", "--out", page, code=2, stderr="excludes")
    (work / "declared.toml").write_text('retain = "two years"\n')
    submix("declare", deployment, work / "declared.toml", code=1, stderr="declared.toml:1: retain: there is no such field")
    shutil.copytree(work / "ensemble", work / "stated_ensemble")
    (work / "stated_ensemble" / "manifest.json").write_text(
        json.dumps({**json.loads((work / "ensemble" / "manifest.json").read_text()), "deployments": []}))
    stated = ["deploy", work / "stated_ensemble", work / "stated", "--declare", work / "declared.toml"]
    submix(*stated, code=1, stderr="retain")
    assert not (work / "stated").exists()
    (work / "declared.toml").write_text('retention = "a year"\n')
    submix(*stated)
    assert "a year" in submix("declare", work / "stated")


def check_wrong_use(work):
    ensemble, codes = work / "ensemble", work / "codes.jsonl"
    submix("attack", code=2, stderr="subcommand")
    submix("attack", "extraction", ensemble, code=2, stderr="--codes")
    submix("attack", "extraction", ensemble, "--codes", codes, "--against", "magic", code=1,
           stderr="filtered-submix")
    submix("attack", "exposure", ensemble, "--codes", codes, "--alphabet", "xyz", code=1,
           stderr="--alphabet")
    submix("attack", "targeted", ensemble, "--examples", codes, code=1, stderr="codes.jsonl:1")
    asked = ["attack", "membership", ensemble, "--text", work / "asked.txt"]
    submix(*asked, "--part", PARTS, code=1, stderr="part: expected 0 to 3")
    submix(*asked, "--queries", 100000, code=1, stderr="positions")
    submix(*asked, "--against", "members", code=1, stderr="ensemble")
    submix("audit", "epsilon", ensemble, "--text", work / "asked.txt", "--error", 2, code=2)


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        plant(work)
        train(work)
        for check in (check_extraction, check_exposure, check_targeted, check_membership, check_user,
                      check_audit, check_one_run, check_wrong_use, check_user_level, check_defaults, check_deployment):
            print(check.__name__, flush=True)
            check(work)


main()
