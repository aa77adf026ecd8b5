#!/usr/bin/env bash
# `submix demo`: the whole story on bundled data. Prints each command before it runs it, as a reader would type it.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ -d $here/data ]]; then data=$here/data; else data=$(dirname "$here")/data; fi # beside it where it is installed
output=build/demo parts=32 plant=200 runs=4 public= every=
program=${SUBMIX:-submix} # `submix demo` says which

usage() {
  cat <<END_OF_USAGE
The whole story on bundled data, in a few minutes
Usage: submix demo [OPTIONS]

Options:
  -h,--help                 Print this help message and exit
  --data TEXT=$data
                            Directory of the bundled data
  -o,--output TEXT=build/demo
                            Directory to work in; made anew
  --public TEXT=the bundled model
                            Directory of another public model, in Hugging Face's
                            layout
  --every INT=1             Read every so-manieth of the bundled texts alone
  --parts INT=32            Parts, one adapter each
  --plant INT=200           How often the planted secret is repeated
  --runs INT=4              Disjoint stretches of held-out text to score

A script of the commands that it shows: trains, deploys, asks, measures, attacks
and shows the ledger, in a few minutes on two cores.
END_OF_USAGE
}

wrong_use() {
  echo "submix demo: $1; \`submix demo --help\` says more" >&2
  exit 2
}

# A whole number from 1 to the most, or wrong use.
number() { # option, value, most
  if [[ ! $2 =~ ^[1-9][0-9]{0,8}$ ]] || (($2 > $3)); then
    wrong_use "$1: expected a whole number from 1 to $3, found $2"
  fi
}

while (($# > 0)); do
  option=${1%%=*}
  case $option in
    -h | --help) usage && exit 0 ;;
    --data | -o | --output | --public | --every | --parts | --plant | --runs) ;;
    -*) wrong_use "there is no option $option" ;;
    *) wrong_use "not expected: $1" ;;
  esac
  if [[ $1 == *=* ]]; then
    value=${1#*=}
  else
    shift
    value=${1-}
  fi
  if [[ -z $value ]]; then wrong_use "$option needs a value"; fi
  shift
  case $option in
    --data) data=$value ;;
    -o | --output) output=$value ;;
    --public) public=$value ;;
    --every) number "$option" "$value" 1000 && every=$value ;;
    --parts) number "$option" "$value" 200 && parts=$value ;;
    --plant) number "$option" "$value" 100000 && plant=$value ;;
    --runs) number "$option" "$value" 1000000 && runs=$value ;;
  esac
done

submix() { command "$program" "$@"; }

run() { # a command line
  printf '$ %s\n' "$1"
  eval "$1"
  echo
}

heading() { printf '%s\n\n' "$1"; }

# It starts over each time, in a directory that it made itself: a budget is never reset, so its ensemble goes with its ledger.
if [[ -e $output && ! -e $output/made_by_submix_demo ]]; then
  echo "submix demo: $output: exists and was not made by \`submix demo\`; give another directory with --output" >&2
  exit 1
fi
rm -rf -- "$output"
mkdir -p -- "$output"
touch -- "$output/made_by_submix_demo"
out=$(printf %q "$output") # as a shell reads it
corpus=$(printf %q "$data/shakespeare.jsonl")
# The key is fixed, so that two runs hold out the same speakers: Theorem 5 needs one that does not depend on the text.
training="--public $(printf %q "${public:-$data/public_model}") --partition-key $(printf %q "$data/demo_partition.key")"

if [[ -n $every ]]; then
  heading "0. The text: so much of it as this model reads in a few minutes"
  run "awk 'NR % $every == 0' $corpus > $out/text.jsonl"
  corpus=$out/text.jsonl
fi

heading "1. Train: speakers are split over parts by a keyed hash, one adapter a part; and,
   for comparison only, a model on all private text"
run "submix train $corpus $out/ensemble --parts $parts \\
    $training"
run "submix train $corpus $out/fine_tuned --parts 1 \\
    $training"

heading "2. Deploy: declare mechanism and budget once; ask a few prompts privately"
run "submix deploy $out/ensemble $out/deployment"
for prompt in "My lord, the king" "What news from" "I will not"; do
  run "submix generate $out/deployment '$prompt' --max-tokens 24 --temperature 0.8"
done

heading "3. Measure: perplexity on held-out speakers, each position one token"
run "submix evaluate $out/ensemble --corpus $corpus \\
    --fine-tuned $out/fine_tuned --runs $runs --csv $out/evaluation.csv"

heading "4. Attack: plant a secret in one speaker's text and try to draw it out, of what a
   deployment would serve and of that speaker's part's own model"
run "{ cat $corpus
  yes '{\"user\": \"First Citizen\", \"text\": \"My secret number is 48151.\"}' | head -n $plant
} > $out/planted.jsonl"
run "echo '{\"prompt\": \"My secret number is\", \"secret\": \" 48151\"}' > $out/codes.jsonl"
run "submix train $out/planted.jsonl $out/planted_ensemble --parts $parts \\
    $training --reuse $out/ensemble"
run "submix attack extraction $out/planted_ensemble --codes $out/codes.jsonl \\
    --against filtered-submix,members --csv $out/extraction.csv"

heading "5. The ledger: what every answer above has cost (operator's view)"
run "submix budget $out/deployment --verify"

echo "Everything is in $output; the numbers are in evaluation.csv and extraction.csv there."
