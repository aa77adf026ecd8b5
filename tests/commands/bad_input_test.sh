#!/usr/bin/env bash
# Every wrong input ends in one clear line on stderr and exit code 1 or 2, and leaves nothing behind.
# Usage: bad_input_test.sh BUILD_DIR SOURCE_DIR
set -u
submix=$1/submix
data=$2/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
cases=0

# expect CODE PATTERN COMMAND…: the exit code, and one line on stderr (progress aside) with the pattern.
expect() {
  local code=$1 pattern=$2
  shift 2
  cases=$((cases + 1))
  "$@" >"$work/stdout" 2>"$work/stderr" </dev/null
  local actual=$?
  local lines
  lines=$(grep -vcE ' (steps|tokens)/s ' "$work/stderr")
  if [ "$actual" != "$code" ] || ! grep -q -- "$pattern" "$work/stderr" ||
     { [ "$code" = 1 ] && [ "$lines" != 1 ]; }; then
    failures=$((failures + 1))
    echo "FAILED: $* → code $actual, expected $code and \"$pattern\"; stderr:"
    cat "$work/stderr"
  fi
}

absent() {
  if [ -e "$1" ]; then
    failures=$((failures + 1))
    echo "FAILED: $1 was left behind"
  fi
}

train=("$submix" train)
public=(--public "$data/public_model")
two=(--parts 2)
options=(--rank 2 --targets c_attn --top-layers 1
         --block-tokens 32 --batch-size 2 --threads 1 --heldout-fraction 0)

# A small good corpus.
for user in {a..z}; do
  echo "{\"user\": \"$user\", \"text\": \"The $user of the house went out to see the sea and the hill.\"}"
done >"$work/good.jsonl"
key=(--partition-key "$data/demo_partition.key")

# The command line.
expect 2 "subcommand" "$submix"
expect 2 "nonsense" "$submix" nonsense
expect 2 "deployment" "$submix" budget
expect 2 "tokens-per-user" "$submix" plan --users 10 --epsilon 1 --answers 10
expect 2 "" "${train[@]}" "$work/none.jsonl" "$work/e" "${public[@]}" "${two[@]}" "${options[@]}"
expect 2 "parts" "${train[@]}" "$work/good.jsonl" "$work/e" "${public[@]}" --parts 0 "${options[@]}"
expect 2 "precision" "${train[@]}" "$work/good.jsonl" "$work/e" "${public[@]}" "${two[@]}" "${options[@]}" --precision f64
contexts=("$submix" contexts "$work/good.jsonl" "$work/c")
expect 2 "--adapters" "${contexts[@]}"
expect 2 "--adapters" "${contexts[@]}" "${public[@]}" --adapters "$data/public_model"
expect 2 "--parts excludes --adapters" "${contexts[@]}" --adapters "$data/public_model" --parts 3
expect 1 "not an ensemble" "${contexts[@]}" --adapters "$data/public_model"
absent "$work/c"

expect 2 "no option --pubic (nearest: --public);" "${train[@]}" "$work/good.jsonl" "$work/e" --pubic "$data/public_model"
expect 2 "--parts is given more than once;" "${train[@]}" "$work/good.jsonl" "$work/e" --parts 2 --parts 3
expect 2 "no option --usr (nearest: --user);" "$submix" forget "$work/e" --usr u
expect 2 "not expected: one two;" "$submix" account dclip one two
expect 2 "parts: expected a number from 1 to 32767" "${train[@]}" "$work/good.jsonl" "$work/e" "${public[@]}" --parts 999999999
expect 2 "partition-key" "${train[@]}" "$work/good.jsonl" "$work/e" "${public[@]}" --partition-key "$work/none.key"

# Options of a training: refused before anything is written, so that the good one below can be made there.
for wrong in "block-tokens 1" "learning-rate inf" "learning-rate 2" "lora-alpha nan" "weight-decay -1" "warmup-fraction 7" \
             "rank 100000" "threads -1"; do
  read -r option value <<<"$wrong"
  for private in "" "--private dp-sgd"; do
    expect 1 "${option//-/_}: expected .* found $value" "${train[@]}" "$work/good.jsonl" "$work/ensemble" "${public[@]}" \
           "--$option" "$value" $private
  done
done
expect 1 "unknown target module" "${train[@]}" "$work/good.jsonl" "$work/ensemble" "${public[@]}" "${two[@]}" --targets q_proj
expect 1 "lora_alpha: expected" "$submix" fedavg "$work/ensemble" --corpus "$work/good.jsonl" "${public[@]}" --expected-users 3 --lora-alpha nan
absent "$work/ensemble"

# The corpus.
: >"$work/empty.jsonl"
expect 1 "empty.jsonl" "${train[@]}" "$work/empty.jsonl" "$work/e1" "${public[@]}" "${two[@]}" "${options[@]}"
printf '{"user": "a", "text": "x"}\n{"text": "y"}\n' >"$work/no_user.jsonl"
expect 1 "no_user.jsonl:2" "${train[@]}" "$work/no_user.jsonl" "$work/e2" "${public[@]}" "${two[@]}" "${options[@]}"
printf '{"user": 7.5, "text": "x"}\n' >"$work/number_user.jsonl"
expect 1 "number_user.jsonl:1: .*fraction" "${train[@]}" "$work/number_user.jsonl" "$work/e3" "${public[@]}" "${two[@]}" "${options[@]}"
printf '{"user": "a", "text": "x"}\n\n{"user": "b", "text": \n' >"$work/invalid.jsonl"
expect 1 "invalid.jsonl:3" "${train[@]}" "$work/invalid.jsonl" "$work/e4" "${public[@]}" "${two[@]}" "${options[@]}"
for directory in e1 e2 e3 e4; do absent "$work/$directory/manifest.json"; done

# The public model.
cp -r "$data/public_model" "$work/cut"
head -c 100000 "$data/public_model/model.safetensors" >"$work/cut/model.safetensors"
expect 1 "model.safetensors" "${train[@]}" "$work/good.jsonl" "$work/e6" --public "$work/cut" "${two[@]}" "${options[@]}"
cp -r "$data/public_model" "$work/lying"
printf '\xff\xff\xff\xff\xff\xff\xff\x7f' | dd of="$work/lying/model.safetensors" conv=notrunc 2>/dev/null
expect 1 "model.safetensors" "${train[@]}" "$work/good.jsonl" "$work/e7" --public "$work/lying" "${two[@]}" "${options[@]}"
cp -r "$data/public_model" "$work/vocabulary"
sed -i 's/"vocab_size": 8192/"vocab_size": 8200/' "$work/vocabulary/config.json"
expect 1 "wte.weight\": expected \[8200, 256\], found \[8192, 256\]" "${train[@]}" "$work/good.jsonl" "$work/e8" --public "$work/vocabulary" "${two[@]}" "${options[@]}"
for directory in e6 e7 e8; do absent "$work/$directory"; done

# A good ensemble and deployment, then everything that can be wrong with them.
if ! "${train[@]}" "$work/good.jsonl" "$work/ensemble" "${public[@]}" "${two[@]}" "${options[@]}" "${key[@]}" >"$work/log" 2>&1; then
  echo "FAILED: training a good ensemble:"
  tail -3 "$work/log"
  exit 1
fi
expect 1 "other options" "${train[@]}" "$work/good.jsonl" "$work/ensemble" "${public[@]}" --parts 3 "${options[@]}"
expect 1 "epsilon" "$submix" deploy "$work/ensemble" "$work/d0" --epsilon 0
expect 1 "epsilon" "$submix" deploy "$work/ensemble" "$work/d0" --epsilon nan
expect 2 "order" "$submix" deploy "$work/ensemble" "$work/d0" --order -1
expect 2 "no mechanism .magic.: one of filtered-submix" "$submix" deploy "$work/ensemble" "$work/d0" --mechanism magic
expect 1 "halves 2" "$submix" deploy "$work/ensemble" "$work/d0" --mechanism submix
expect 1 "PostgreSQL database" "$submix" deploy "$work/ensemble" "$work/d0" --ledger ledger.db
expect 1 "pgpass" "$submix" deploy "$work/ensemble" "$work/d0" --ledger postgresql://me:secret@127.0.0.1/ledger
if grep -q secret "$work/stderr"; then
  failures=$((failures + 1))
  echo "FAILED: a password was printed"
fi
expect 1 "postgresql://127.0.0.1:1/ledger: " "$submix" deploy "$work/ensemble" "$work/d0" --ledger postgresql://127.0.0.1:1/ledger
absent "$work/d0"
absent "$work/d0.unfinished"
"$submix" deploy "$work/ensemble" "$work/deployment" >/dev/null || failures=$((failures + 1))
expect 1 "already deployed" "$submix" deploy "$work/ensemble" "$work/d1"
generate=("$submix" generate)
long=$(printf 'word %.0s' $(seq 600))
expect 1 "context" "${generate[@]}" "$work/deployment" "$long"
expect 1 "empty" "${generate[@]}" "$work/deployment" ""
expect 1 "top_k_plus" "${generate[@]}" "$work/deployment" "The" --top-k-plus 5
if [ -s "$work/stdout" ]; then
  failures=$((failures + 1))
  echo "FAILED: a prompt was printed before it was refused"
fi
expect 2 "--temperature: expected" "${generate[@]}" "$work/deployment" "The" --temperature 0
expect 2 "--top-p: expected" "${generate[@]}" "$work/deployment" "The" --top-p 2
expect 2 "--top-k: expected" "${generate[@]}" "$work/deployment" "The" --top-k -1
expect 2 "--max-tokens: expected" "${generate[@]}" "$work/deployment" "The" --max-tokens 0
"${generate[@]}" "$work/deployment" "The" --max-tokens 2 >/dev/null || failures=$((failures + 1))

# The ledger: an older copy, another's, opened twice, a newer format.
cp "$work/deployment/ledger.sqlite" "$work/old.sqlite"
"${generate[@]}" "$work/deployment" "The" --max-tokens 2 >/dev/null || failures=$((failures + 1))
cp -r "$work/deployment" "$work/rolled_back"
rm -f "$work/rolled_back"/ledger.sqlite-*
cp "$work/old.sqlite" "$work/rolled_back/ledger.sqlite"
expect 1 "older" "${generate[@]}" "$work/rolled_back" "The"
cp -r "$work/deployment" "$work/other"
sed -i 's/"max_mixing_weight": [0-9.]*/"max_mixing_weight": 0.3/' "$work/other/deployment.json"
expect 1 "ledger" "${generate[@]}" "$work/other" "The"
cp -r "$work/deployment" "$work/newer"
sed -i 's/"format": [0-9]*/"format": 99/' "$work/newer/deployment.json"
expect 1 "newer Submix" "${generate[@]}" "$work/newer" "The"
"$submix" budget verify "$work/deployment" >/dev/null || failures=$((failures + 1))
cp -r "$work/deployment" "$work/broken"
printf 'x' | dd of="$work/broken/ledger.sqlite" bs=1 seek=68 conv=notrunc 2>/dev/null
expect 1 "ledger.sqlite" "$submix" budget verify "$work/broken"
expect 2 "deployment" "$submix" budget verify
exec 9>"$work/deployment/ledger.sqlite.lock"
flock -n 9 || failures=$((failures + 1))
expect 1 "another process" "${generate[@]}" "$work/deployment" "The"
exec 9>&-

# Forgetting: an unknown user, and a deployment left out.
expect 1 "no record" "$submix" forget "$work/ensemble" --corpus "$work/good.jsonl" --user nobody --deployment "$work/deployment"
expect 1 "deployment" "$submix" forget "$work/ensemble" --corpus "$work/good.jsonl" --user a
if ! "$submix" forget "$work/ensemble" --corpus "$work/good.jsonl" --user a --deployment "$work/deployment" >"$work/log" 2>&1; then
  failures=$((failures + 1))
  echo "FAILED: forgetting a user:"
  tail -3 "$work/log"
fi
records_before=$("$submix" budget "$work/deployment" --json | sed 's/.*"records":\([0-9]*\).*/\1/')
"${generate[@]}" "$work/deployment" "The" --max-tokens 2 >/dev/null || failures=$((failures + 1))
records_after=$("$submix" budget "$work/deployment" --verify --json | sed 's/.*"records":\([0-9]*\).*/\1/')
if [ "$records_after" -le "$records_before" ]; then
  failures=$((failures + 1))
  echo "FAILED: the ledger did not go on after forget ($records_before, then $records_after records)"
fi

# The ensemble changed after the deployment was made; an adapter of another base; a full disk.
cp -r "$work/ensemble" "$work/backup"
member=$(ls -d "$work/ensemble/members"/* | head -1)
printf 'x' >>"$member/adapter_model.safetensors"
expect 1 "adapter_model.safetensors" "${generate[@]}" "$work/deployment" "The"
rm -rf "$work/ensemble" && mv "$work/backup" "$work/ensemble"
(ulimit -f 200; trap '' XFSZ
 expect 1 "free some space" "${train[@]}" "$work/good.jsonl" "$work/full" "${public[@]}" "${two[@]}" "${options[@]}"
 exit $failures) || failures=$((failures + 1))
absent "$work/full/manifest.json"

expect 1 "No space left" bash -c '"$0" account convert --rdp 1 >/dev/full' "$submix"

echo "$cases cases, $failures failed"
[ "$failures" = 0 ]
