#!/usr/bin/env bash
# `submix reproduce all --small`: every figure and table comes out whole, twice the same, from a tiny
# text. Usage: reproduce_test.sh BUILD_DIR SOURCE_DIR
set -eu
submix=$1/submix
data=$2/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $1"
  tail -n 5 "$work/stderr"
  exit 1
}

for user in {a..z}; do
  echo "The $user of the house number 1 went out to see the sea and the hill, and came home."
  echo "<|endoftext|>"
done >"$work/text.txt"
for number in {1..60}; do
  for user in {a..z}; do echo "Out of the $user of house $number went the sea and the hill, and none came home."; done
done >"$work/heldout.txt"

reproduce=("$submix" reproduce --public "$data/public_model" --corpus "$work/text.txt" --users-are-blocks 8
           --heldout "$work/heldout.txt" --small --rank 2 --targets c_attn --top-layers 1 --block-tokens 32
           --batch-size 2 --threads 1 --precision f32)
status=0
"${reproduce[@]}" submix-fig1 --out "$work/out" >"$work/stdout" 2>"$work/stderr" || status=$?
[ $status = 1 ] && grep -q "no figure \"submix-fig1\"; known: submix-fig2" "$work/stderr" || fail "an unknown figure"

"${reproduce[@]}" all --show-text --out "$work/out" >"$work/stdout" 2>"$work/stderr" || fail "all figures"
names=$(sed -E 's/.*\/(.*)\.html/\1/' "$work/stdout")
[ "$(echo "$names" | wc -l)" = 12 ] || fail "twelve figures are to come out"
grep -q "^\"submix, 3 digits, g = 20\",1,0,,," "$work/out/submix-fig6.csv" || fail "a number came out at epsilon 1"
head -1 "$work/out/kept-improvement.kept.csv" | grep -q "^mechanism,k,adapters,unit,order,epsilon,queries,sound," || fail "kept.csv"
grep -q ",user,delta=1e-05,8,.*,true," "$work/out/kept-improvement.kept.csv" || fail "kept.csv has no users"
for name in $(echo "$names" | grep -v submix-fig6); do
  grep -q "</html>" "$work/out/$name.html" || fail "$name.html is not whole"
  grep -q "^curve,x,y,low,high,guarantee$" "$work/out/$name.csv" || fail "$name.csv has no header"
  python3 - "$work/out/$name" <<'END' || fail "$name: its numbers"
import csv, json, math, sys
rows = list(csv.DictReader(open(sys.argv[1] + ".csv")))
data = json.load(open(sys.argv[1] + ".json"))
levels = [row for row in rows if not row["x"]]
if sys.argv[1].endswith("kept-improvement"):
    assert rows and not levels, rows
    for row in rows:  # a single run, of the most answers, has no interval
        assert 0 < float(row["y"]) <= float(row["high"] or "inf"), row
        assert float(row["low"] or "-inf") <= float(row["y"]), row
else:
    private = data["private_models"]
    assert len(levels) in (4, 4 + len(private)) and len(rows) == 4 + len(data["rows"]) + len(private), len(rows)
    for model in private:
        assert model["perplexity"] > 1 and 0 < model["spent"] <= 1.002 * model["epsilon"], model
        assert "unit: user" in model["guarantee"] and "; proven" in model["guarantee"], model
        assert "the number of users counts as public" in model["guarantee"], model
assert data["provenance"]["seed"] == "0" and "learning_rate" in data["provenance"]["members' recipe"], data["provenance"]
for row in data["rows"]:
    assert row["perplexity"] > 1 and math.isfinite(row["perplexity"]), row
    assert row["spent_max"] <= row["epsilon"] * (1 + 1e-9), row
    assert "unit: part" in row["guarantee"], row
    assert row["sound"] == ("NOT proven" not in row["guarantee"]), row
END
  if command -v gnuplot >/dev/null; then
    grep -q "</svg>" "$work/out/$name.svg" || fail "$name.svg is not whole"
    grep -q "<svg" "$work/out/$name.html" || fail "$name.html has no figure"
  fi
done

python3 - "$work/out" <<'END' || fail "AdaPMixED's privacy loss, and PMixED's spread"
import csv, json, sys
rows = json.load(open(sys.argv[1] + "/adapmixed-main.json"))["rows"]
losses = [row["privacy_loss"] for row in rows if row["mechanism"] == "adapmixed"]
assert losses and all("privacy_loss" not in row for row in rows if row["mechanism"] != "adapmixed")
for loss in losses:
    assert loss["answers"] >= -1e-12 and loss["screen"] > 0 and loss["conversion"] > 0, loss
    assert abs(loss["answers"] + loss["screen"] + loss["conversion"] - loss["epsilon"]) < 1e-9, loss
END
for name in submix-fig2 submix-fig3 submix-fig4 submix-fig7 pmixed-main adapmixed-main; do
  grep -q "^dp-sgd,public_model,user," "$work/out/$name.private_training.csv" || fail "$name: private_training.csv"
  grep -q "^\"*DP-SGD, E = 1" "$work/out/$name.csv" || fail "$name has no DP-SGD"
done
python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["provenance"]["seed"] == "0"' "$work/out/submix-fig6.json" ||
  fail "submix-fig6.json"
grep "^\"*mean T" "$work/out/dp-decoding-fig2.csv" | grep -q "NOT proven: a mean" || fail "a mean text length is called a guarantee"
if grep "^\"*most T" "$work/out/dp-decoding-fig2.csv" | grep -q "NOT proven"; then fail "the longest window's cost is a guarantee"; fi
grep -q "What it looks like" "$work/out/dp-decoding-fig2.html" || fail "no examples of DP decoding"

# What is finished is not made again, and gives the same numbers.
cp "$work/out/submix-fig3.json" "$work/expected"
"${reproduce[@]}" submix-fig3 --out "$work/out" >"$work/stdout" 2>"$work/stderr" || fail "going on"
if grep -q "fine-tuning" "$work/stderr"; then fail "an ensemble was trained twice"; fi
cmp "$work/expected" "$work/out/submix-fig3.json" || fail "other numbers the second time"
