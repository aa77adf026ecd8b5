#!/usr/bin/env bash
# `submix evaluate --checkpoint`, killed at work, goes on and prints what an undisturbed one prints.
# Usage: evaluate_test.sh BUILD_DIR SOURCE_DIR
set -eu
submix=$1/submix
data=$2/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $1"
  cat "$work/stderr"
  exit 1
}

for user in {a..z}; do
  echo "{\"user\": \"$user\", \"text\": \"The $user of the house went out to see the sea and the hill.\"}"
done >"$work/text.jsonl"
for number in {1..8}; do
  for user in {a..z}; do echo "Out of the $user of house $number went the sea and the hill, and none came home."; done
done >"$work/heldout.txt"
sed 's/.* the \(.\) of house .*/{"user": "\1", "text": "&"}/' "$work/heldout.txt" >"$work/heldout.jsonl"
"$submix" train "$work/text.jsonl" "$work/ensemble" --public "$data/public_model" --parts 2 --rank 2 --targets c_attn \
  --top-layers 1 --block-tokens 32 --batch-size 2 --threads 1 --heldout-fraction 0 \
  --partition-key "$data/demo_partition.key" >"$work/log" 2>"$work/stderr" || fail "training"

evaluate=("$submix" evaluate "$work/ensemble" --heldout "$work/heldout.jsonl" --json
          --mechanism filtered-submix,sample-and-aggregate --queries 16,32 --runs 6)
checkpoint=(--checkpoint "$work/checkpoint")
"${evaluate[@]}" >"$work/expected" 2>"$work/stderr" || fail "an evaluation without a checkpoint"

"${evaluate[@]}" "${checkpoint[@]}" >"$work/killed" 2>"$work/stderr" &
process=$!
while kill -0 $process 2>/dev/null && ! grep -q '^run ' "$work/checkpoint" 2>/dev/null; do sleep 0.02; done
kill -KILL $process 2>/dev/null || true
wait $process || true
echo "killed after $(grep -c '^run ' "$work/checkpoint") runs"

status=0
"${evaluate[@]}" "${checkpoint[@]}" --seed 1 >"$work/stdout" 2>"$work/stderr" || status=$?
[ $status = 1 ] && grep -q "other options" "$work/stderr" || fail "another seed is to be refused"
"${evaluate[@]}" "${checkpoint[@]}" >"$work/resumed" 2>"$work/stderr" || fail "going on"
cmp "$work/expected" "$work/resumed" || fail "other numbers after an interruption"

truncate -s -1 "$work/checkpoint"
status=0
"${evaluate[@]}" "${checkpoint[@]}" >"$work/stdout" 2>"$work/stderr" || status=$?
[ $status = 1 ] && grep -q "damaged" "$work/stderr" || fail "a cut checkpoint is to be refused"

# Beside a model on all text: what is kept of its gain, in both formats.
"$submix" train "$work/text.jsonl" "$work/tuned" --public "$data/public_model" --parts 1 --rank 2 --targets c_attn \
  --top-layers 1 --block-tokens 32 --batch-size 2 --threads 1 --heldout-fraction 0 \
  --partition-key "$data/demo_partition.key" >"$work/log" 2>"$work/stderr" || fail "training on all text"
grep -q "^Recipe: adapters of rank 2 (alpha 4) on c_attn of layers 5; 1 pass, 2 blocks" "$work/log" ||
  fail "the recipe is not printed"
grep -q "NOT private" "$work/log" || fail "a model of all text is not called what it is"
if grep -q "submix deploy" "$work/log"; then fail "a model of all text is to be deployed"; fi
"${evaluate[@]}" --fine-tuned "$work/tuned" --csv "$work/kept.csv" >"$work/kept.json" 2>"$work/stderr" ||
  fail "an evaluation beside a fine-tuned model"
python3 - "$work/kept.json" "$work/kept.csv" <<'END'
import csv, json, sys
result = json.load(open(sys.argv[1]))
rows = [row for row in csv.DictReader(open(sys.argv[2])) if row["epsilon"]]
baselines = {row["queries"]: row for row in result["baselines"]}
assert len(rows) == len(result["settings"]) == 4
for setting, row in zip(result["settings"], rows):
    of = baselines[setting["queries"]]
    gain = of["public_perplexity"] - of["fine_tuned_perplexity"]
    assert gain > 0, of
    expected = (of["public_perplexity"] - setting["perplexity"]) / gain
    assert abs(setting["kept"] - expected) < 1e-9 * max(1, abs(expected)), (setting, expected)
    assert abs(float(row["kept"]) - expected) < 1e-6 * max(1, abs(expected)), (row, expected)
    low, high = setting["kept_interval"]
    assert low <= setting["kept"] <= high, setting
END

# Of several models none is the one of all text; a file that cannot be written is said before the work.
if "${evaluate[@]}" --fine-tuned "$work/ensemble" >"$work/none.json" 2>"$work/stderr"; then fail "many fine-tuned"; fi
grep -q "give an ensemble of one part" "$work/stderr" || fail "what --fine-tuned takes"
for path in "$work/no/file.csv" "$work"; do
  code=0
  "${evaluate[@]}" --csv "$path" >"$work/none.json" 2>"$work/stderr" || code=$?
  [[ $code == 2 && ! -s "$work/none.json" ]] || fail "--csv $path"
  grep -q -- "--csv" "$work/stderr" || fail "the option is not named"
done

# Of every user on his own: the sums are the perplexities, and the names those of the text.
printf '%s\n' '{"user": "ann", "text": "The sea and the hill went out, and none came home."}' \
  '{"user": "bob", "text": "Out of the house went ann to see the hill."}' >"$work/two.jsonl"
"$submix" evaluate "$work/ensemble" --heldout "$work/two.jsonl" --queries 5,20 --runs 1 --csv "$work/two.csv" \
  --by-user "$work/two.users.csv" >"$work/stdout" 2>"$work/stderr" || fail "losses by user"
python3 - "$work" <<'END'
import collections, csv, math, pathlib, sys
work = pathlib.Path(sys.argv[1])
nats, positions, names = collections.Counter(), collections.Counter(), set()
for row in csv.DictReader(open(work / "two.users.csv")):
    key = row["model"], row["queries"]
    nats[key] += float(row["nats"])
    positions[key] += int(row["positions"])
    names.add(row["user"])
assert names == {"ann", "bob"}, names
checked = 0
for row in csv.DictReader(open(work / "two.csv")):
    key = row["model"], row["queries"]
    if row["model"] == "single":  # a mean over members
        assert key not in nats
        continue
    assert positions[key] == int(row["queries"]) * int(row["runs"])
    assert abs(math.exp(nats[key] / positions[key]) / float(row["perplexity"]) - 1) < 1e-6, row
    checked += 1
assert checked == 6, checked
END

# A short text is scored as far as it goes, which is said; what was asked for is scored as asked, or refused.
"$submix" evaluate "$work/ensemble" --heldout "$work/two.jsonl" --json >"$work/short.json" 2>"$work/stderr" || fail "a short text"
grep -q "short text of [0-9]* positions: --runs 1 of --tokens " "$work/stderr" || fail "fewer tokens are not said"
if "$submix" evaluate "$work/ensemble" --heldout "$work/two.jsonl" --runs 4 >"$work/none.json" 2>"$work/stderr"; then fail "--runs 4"; fi
grep -q "use fewer --runs or --tokens" "$work/stderr" || fail "the options are not named"

# Rows say every option that their mechanism reads, and what one user is promised.
"$submix" evaluate "$work/ensemble" --heldout "$work/heldout.jsonl" --mechanism dclip,filtered-submix --clip-stretch 1.25 \
  --screen-tokens 7 --queries 40 --runs 1 --csv "$work/options.csv" --by-user "$work/options.users.csv" >"$work/table" \
  2>"$work/stderr" || fail "options in rows"
"$submix" evaluate "$work/ensemble" --heldout "$work/heldout.txt" --mechanism dclip,filtered-submix --clip-stretch 1.25 \
  --clip-centre -0.25,0.5 --queries 40 --runs 1 --json >"$work/options.json" 2>"$work/stderr" || fail "options in JSON"
"$submix" deploy "$work/ensemble" "$work/asked" --dry-run --mechanism dclip --clip-stretch 1.25 --queries 40 >"$work/dry" \
  2>"$work/stderr" || fail "a dry run"
# No order is compared with another without what each promises, in deploy's words; nor with what promises nothing.
"$submix" evaluate "$work/ensemble" --heldout "$work/heldout.jsonl" --mechanism filtered-submix,public,ensemble,sample-and-aggregate \
  --accounting published --order 2,8 --queries 40 --runs 1 --csv "$work/orders.csv" --json >"$work/orders.json" \
  2>"$work/stderr" || fail "orders"
for order in 2 8; do
  "$submix" deploy "$work/ensemble" "$work/asked" --dry-run --order $order --queries 40 --json >"$work/dry$order" 2>"$work/stderr" ||
    fail "a dry run at order $order"
done
python3 - "$work" <<'END'
import csv, json, pathlib, sys
work = pathlib.Path(sys.argv[1])
dclip, filtered = [row for row in csv.DictReader(open(work / "options.csv")) if row["epsilon"]]
assert (dclip["clip.stretch"], dclip["screen.top_tokens"], filtered["clip.stretch"]) == ("1.25", "", ""), dclip
promised = dclip["promised_to_one_user"].split("), ")[0] + ")"
assert promised[0] == "(" and promised in (work / "dry").read_text(), promised
assert (work / "table").read_text().count("promises one user " + promised) >= 1
assert max(map(len, (work / "table").read_text().splitlines())) <= 80
table = " ".join((work / "table").read_text().split()) + " "
said = {}
for row in csv.DictReader(open(work / "options.csv")):
    assert " promises one user " + row["promised_to_one_user"] + " " in table, row
    said[row["model"]] = row["promised_to_one_user"]
assert said["public"].startswith("(0, ") and said["single"] == said["ensemble"] == "nothing: no budget pays for it", said
by_user = list(csv.DictReader(open(work / "options.users.csv")))
assert {row["model"] for row in by_user} == said.keys() - {"single"}
assert all(row["promised_to_one_user"] == said[row["model"]] for row in by_user)
(baselines,) = json.load(open(work / "options.json"))["baselines"]
assert baselines["promised_to_one_user"] == {name: said[name] for name in ("public", "single", "ensemble")}, baselines
orders = [row for row in csv.DictReader(open(work / "orders.csv")) if row["epsilon"]]
promised = {(row["model"], row["order"]): row["promised_to_one_user"] for row in orders}
assert promised["filtered-submix", "2"] != promised["filtered-submix", "8"], promised
for order in "28":
    dry = json.load(open(work / ("dry" + order)))
    assert (dry["made"], dry["promise"]["table"][0]["user"]) == (False, promised["filtered-submix", order]), (dry, promised)
    assert promised["public", order].startswith("(0, "), promised
    assert promised["ensemble", order].startswith("nothing"), promised
settings = json.load(open(work / "orders.json"))["settings"]
assert [row["promise"]["table"][0]["user"] for row in settings] == [row["promised_to_one_user"] for row in orders]
rows = [row for row in json.load(open(work / "options.json"))["settings"] if row["mechanism"] == "dclip"]
assert [(row["clip.stretch"], row["clip.centre"]) for row in rows] == [(1.25, -0.25), (1.25, 0.5)], rows
END

# A promise to users: a smaller budget is declared, at a higher order (Theorems 5, 6), and what follows from it is the
# promise.
users=("$submix" evaluate "$work/ensemble" --heldout "$work/heldout.txt" --json --queries 40 --runs 2)
private=(--mechanism "filtered-submix,dclip")
"${users[@]}" "${private[@]}" --unit part,user --order 2 --epsilon 2 --csv "$work/users.csv" >"$work/users.json" \
  2>"$work/stderr" || fail "a promise to users"
"${users[@]}" "${private[@]}" --unit user --epsilon 8 --delta 1e-6 >"$work/delta.json" 2>"$work/stderr" ||
  fail "a promise to users with a delta"
python3 - "$work" <<'END'
import csv, json, pathlib, sys
work = pathlib.Path(sys.argv[1])
settings = json.loads((work / "users.json").read_text())["settings"]
rows = [row for row in csv.DictReader(open(work / "users.csv")) if row["epsilon"]]
assert [row["unit"] for row in rows] == ["part", "part", "user", "user"]
assert all(row["order"] == "2" and row["epsilon"] == "2" for row in rows), rows
of_part = {setting["mechanism"]: setting for setting in settings[:2]}
of_user = {setting["mechanism"]: setting for setting in settings[2:]}
assert not any("user" in setting for setting in of_part.values())
assert all(setting["user"] == {"epsilon": 2, "order": 2} for setting in of_user.values())
# Two parts move: the order 2 + sqrt 2 of a part, rounded up.
assert of_user["filtered-submix"]["order"] == 4
assert of_user["filtered-submix"]["epsilon"] < 2
# Its range doubles: a window of half the width, a quarter of the charge where it is quadratic.
share = of_user["dclip"]["target_leakage"] / of_part["dclip"]["target_leakage"]
assert .2 < share < .3, share
for setting in of_user.values():
    assert setting["epsilon_spent_max"] <= setting["epsilon"] + 1e-9
    assert setting["perplexity"] >= of_part[setting["mechanism"]]["perplexity"], setting
for setting in json.loads((work / "delta.json").read_text())["settings"]:
    assert setting["user"] == {"epsilon": 8, "delta": 1e-6}
    assert setting["epsilon"] < 8
    assert " (8, 1e-06)-differentially private for one user" in setting["promise"]["sentence"], setting
END

# `submix deploy` promises just that too, and tells of a delta that is too large for 26 users.
"$submix" deploy "$work/ensemble" "$work/deployment" --unit user --epsilon 8 --delta 0.01 --queries 40 >"$work/log" \
  2>"$work/stderr" || fail "deploying a promise to users"
tr '\n' ' ' <"$work/log" | grep -q "are (8, 0.01)-differentially private for one" || fail "another promise was deployed"
grep -q "delta 0.01 is above a tenth of 1 / users, 0.0038" "$work/log" || fail "no caution about delta"

# Mechanisms that are research are scored too, and called what they are.
"$submix" evaluate "$work/ensemble" --heldout "$work/heldout.txt" --mechanism ensemble --queries 8 --runs 1 \
  >"$work/stdout" 2>"$work/stderr" || fail "evaluating a mechanism that is research"
grep -q "NOT proven: not private" "$work/stdout" || fail "research is not called what it is"

refuses() {  # MESSAGE ARG…
  local status=0
  "${users[@]}" "${@:2}" >"$work/stdout" 2>"$work/stderr" || status=$?
  [ $status = 1 ] && grep -q -- "$1" "$work/stderr" || fail "expected a refusal: $1"
}
refuses "leave it out" --unit user --target-leakage 0.1
refuses "nothing follows for users" --unit user --mechanism ensemble
