#!/usr/bin/env python3
"""`submix account` as a user meets it: every sub-command, its help, its JSON, its wrong uses.

Usage: account_test.py BUILD_DIR
"""
import json
import subprocess
import sys

SUBMIX = sys.argv[1] + "/submix"
failures = []


def run(*arguments):
    return subprocess.run([SUBMIX, "account", *arguments], capture_output=True, text=True,
                          check=False)


def check(condition, *what):
    if not condition:
        failures.append(" ".join(map(str, what)))


def answer(*arguments):
    result = run(*arguments, "--json")
    check(result.returncode == 0, arguments, result.stderr)
    return json.loads(result.stdout) if result.returncode == 0 else {"rows": [], "statements": {}}


def expect_failure(code, words, *arguments):
    result = run(*arguments)
    lines = result.stderr.strip().splitlines()
    check(result.returncode == code and words in result.stderr, arguments, result)
    check(result.stdout == "" and (code == 2 or len(lines) == 1), arguments, result)


# The published tables, every printed digit.
TABLE_1 = ["0.97 0.98 1.00 1.07 1.18 2.21 7.50", "0.68 0.69 0.69 0.69 0.69 0.72 0.73",
           "1.17 1.17 1.20 1.28 1.39 2.44 8.13", "1.73 1.92 2.08 3.06 8.49 32.38 187.01",
           "0.47 0.47 0.48 0.48 0.49 0.67 1.95", "0.84 0.84 0.84 0.85 0.88 0.88 0.88"]
rows = answer("fedavg", "--table", "1")["rows"]
check([" ".join(f"{e:.2f}" for e in row["epsilon"]) for row in rows] == TABLE_1, "table 1", rows)
rows = answer("fedavg", "--table", "2")["rows"]
check(len(rows) == 7 and rows[0]["epsilon"] is None, "table 2", rows)
check([f"{row['epsilon']:.3f}" for row in rows[1:]]
      == ["4.634", "2.314", "2.038", "1.152", "0.991", "0.987"], "table 2", rows)

# Theorem 6; the SubMix and PMixED papers.
row = answer("dclip", "--parts", "64", "--clip", "2.8", "--answers", "1024", "--delta", "1e-5", "--exact")["rows"][0]
check(abs(row["epsilon"] - 6.987) < 0.01 and abs(row["user_epsilon"] - 16.277) < 0.02, row)
check(row["exact_from"] < row["exact_to"] < row["epsilon"], row)
part, user = answer("convert", "--order", "8", "--rdp", "2", "--delta", "1e-5")["rows"]
check(abs(part["epsilon"] - 3.21) < 0.01 and abs(user["epsilon"] - 7.10) < 0.01, part, user)
# What an epsilon allows is shown so that it keeps that epsilon.
shown = run("convert", "--order", "8", "--epsilon", "8").stdout
allowed = next(line.split()[2] for line in shown.splitlines() if line.split()[:1] == ["part"])
check(allowed == "6.456" and answer("convert", "--order", "8", "--rdp", allowed)["rows"][0]["epsilon"] <= 8, shown)
rows = answer("pmixed")["rows"]
check(len(rows) == 80 and abs(rows[1]["beta"] - 0.194) < 5e-4, rows[:2])
check(abs(answer("extraction", "--candidates", "1e5")["rows"][0]["success"] - 0.0086) < 5e-5)

# What a plan buys is what it costs.
for name, counted, *flags in (("dclip", "answers", "--parts", "64"),
                              ("gnmax", "answers"),
                              ("laplace", "answers", "--parts", "64"),
                              ("dp-sgd", "steps"),
                              ("dp-decoding", "tokens")):
    most = answer("plan", name, *flags, "--epsilon", "3")["rows"][0][counted]
    for count, fits in ((most, True), (most + 1, False)):
        cost = answer("plan", name, *flags, "--" + counted, str(count))["rows"][0]["epsilon"]
        check((cost <= 3 + 1e-9) == fits, "plan", name, count, cost)
check(answer("plan", "filtered-submix", "--epsilon", "8", "--delta", "1e-5")["rows"][0]["answers"] == 6785)

# Every column of epsilons is explained, to machines and to people; help gives an example that works.
LABELS = ("unit: ", "adjacency: ", "roven: ")
ROWS = ("unit", "neighbours", "holds for", "proof")
for name in ("dp-sgd", "laplace", "gnmax", "dclip", "dp-decoding", "fedavg", "pmixed", "convert",
             "extraction"):
    result = answer(name)
    for key in result["rows"][0]:
        if key.endswith("epsilon") and name != "convert":
            check(key in result["statements"], name, key)
    for text in result["statements"].values():
        check(all(label in text for label in LABELS), name, text)
    text = run(name)
    check(text.returncode == 0 and all("\n" + row + " " in text.stdout for row in ROWS), name, text)
    check(all(len(line) <= 80 for line in text.stdout.split("\n")), name, text)
    usage = run(name, "--help")
    examples = usage.stdout.replace("\\\n", "").splitlines()
    example = [line for line in examples if "Example: submix account " in line]
    check(usage.returncode == 0 and len(example) == 1, name, usage)
    check(run(*example[0].split("account ")[1].split()).returncode == 0, example)
check("data-dependent" in answer("gnmax", "--votes", "60,3,1")["statements"]["votes_epsilon"])
check("NOT proven" in answer("pmixed")["statements"]["epsilon"])

expect_failure(2, "subcommand")
expect_failure(2, "subcommand", "nonsense")
expect_failure(2, "--noise-multiplier", "dp-sgd", "--noise-multiplier", "nan")
expect_failure(2, "--tokens", "dclip", "--answers", "0")
expect_failure(2, "--tokens", "dclip", "--answers", "1.5")
expect_failure(2, "--delta", "convert", "--delta", "1")
expect_failure(2, "--sampling-probability", "dp-sgd", "--sampling-probability", "1.1")
expect_failure(2, "--table", "fedavg", "--table", "3")
expect_failure(2, "--exact", "gnmax", "--exact")
expect_failure(2, "--epsilon", "plan", "dclip")
expect_failure(2, "--epsilon", "plan", "dclip", "--epsilon", "1", "--answers", "1")
expect_failure(1, "above 1", "convert", "--order", "1")
expect_failure(1, "at least 4", "extraction", "--order", "2", "--holders", "2")
expect_failure(1, "users", "fedavg", "--users", "10", "--users-per-round", "11")
expect_failure(1, "20000", "dclip", "--answers", "20001", "--exact")

for failure in failures:
    print("FAILED:", failure)
sys.exit(1 if failures else 0)
