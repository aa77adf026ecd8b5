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
"$submix" train "$work/text.jsonl" "$work/ensemble" --public "$data/public_model" --parts 2 --rank 2 --targets c_attn \
  --top-layers 1 --block-tokens 32 --batch-size 2 --threads 1 --heldout-fraction 0 \
  --partition-key "$data/demo_partition.key" >"$work/log" 2>"$work/stderr" || fail "training"

evaluate=("$submix" evaluate "$work/ensemble" --heldout "$work/heldout.txt" --json
          --mechanism filtered-submix,sample-and-aggregate --queries 40,100 --runs 12)
checkpoint=(--checkpoint "$work/checkpoint")
"${evaluate[@]}" >"$work/expected" 2>"$work/stderr" || fail "an evaluation without a checkpoint"

"${evaluate[@]}" "${checkpoint[@]}" >"$work/killed" 2>"$work/stderr" &
process=$!
while kill -0 $process 2>/dev/null && ! grep -q '^run ' "$work/checkpoint" 2>/dev/null; do sleep 0.05; done
kill -KILL $process 2>/dev/null || true
wait $process || true
echo "killed after $(grep -c '^run ' "$work/checkpoint") of 42 runs"

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
