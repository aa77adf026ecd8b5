#!/usr/bin/env bash
# Few users a part: parts without text are the public model, only the operator is told, and the last
# user of a part can be forgotten. More parts than users are refused before anything is trained.
# The same text as JSONL and as packed CSV with columns of other names.
# Usage: empty_parts_test.sh BUILD_DIR SOURCE_DIR
set -eu
submix=$1/submix
data=$2/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check PATTERN COMMAND…: succeeds, and says that.
check() {
  local pattern=$1
  shift
  if ! "$@" >"$work/output" 2>&1 || ! grep -q -- "$pattern" "$work/output"; then
    echo "FAILED: $*: expected \"$pattern\""
    cat "$work/output"
    exit 1
  fi
}

# Four users in four parts, under the demo's key; whoever forgets all of them leaves four.
for user in a b c d; do
  echo "{\"user\": \"$user\", \"text\": \"The $user of the house went out to see the sea and the hill.\"}"
done >"$work/text.jsonl"
check "For you alone: 4 users for 5 parts" "$submix" contexts "$work/text.jsonl" "$work/many" --public "$data/public_model" \
  --parts 5 --context-tokens 16 --heldout-fraction 0
check "For you alone: [1-3] of the 4 members got no text" "$submix" train "$work/text.jsonl" "$work/ensemble" \
  --public "$data/public_model" --parts 4 --rank 2 --targets c_attn --top-layers 1 --block-tokens 32 \
  --batch-size 2 --threads 1 --heldout-fraction 0 --partition-key "$data/demo_partition.key"
check "user" "$submix" deploy "$work/ensemble" "$work/deployment"
if grep -q "no text" "$work/output"; then
  echo "FAILED: a deployment's statement says how many parts are empty"
  exit 1
fi
{
  echo "number,says,who"
  for user in a b c d; do echo "1,\"The $user of the house went out to see the sea and the hill.\",$user"; done
} | gzip >"$work/text.csv.gz"
for user in a b c d; do
  check "Forgotten" "$submix" forget "$work/ensemble" --corpus "$work/text.csv.gz" --user-column who \
    --text-column says --user $user --deployment "$work/deployment"
done
grep -q "For you alone: nobody's text is left for that member" "$work/output" || {
  echo "FAILED: forgetting the last user of a part does not say so"
  exit 1
}
[ "$(grep -c '"steps": 0' "$work/ensemble/manifest.json")" = 4 ] || {
  echo "FAILED: not four members without text"
  exit 1
}
check "." "$submix" generate "$work/deployment" "The" --max-tokens 4
check "." "$submix" budget verify "$work/deployment"
