#!/usr/bin/env bash
# Holds the tests to what they promise: applies each mutant of scripts/mutants.tsv, a mistake of one
# line in the trusted core or the noise, to a copy of the last commit, builds the test programs of its
# room alone and runs them. A mutant that no test kills is reported, and should get a test.
#
#   scripts/mutate.sh [--check] [WORD…]
#
#   --check  only whether every mutant still applies
#   WORD     only mutants whose line contains one of these words, such as `random.cc`
#
# A line of the list: test programs, file, text that stands in the file once, text instead of it,
# between tabs. Run by hand (about half a minute a mutant on two cores); exit code 1 if one survives.
set -euo pipefail
cd "$(dirname "$0")/.."
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros} CCACHE_NOHASHDIR=1

check_only=false
if [[ ${1:-} == --check ]]; then
  check_only=true
  shift
fi
words=("$@")
copy=build/mutants

selected() {
  if ((${#words[@]} == 0)); then
    cat scripts/mutants.tsv
  else
    printf '%s\n' "${words[@]}" | grep -F -f - scripts/mutants.tsv
  fi
}

# FILE OLD [NEW]: replaces, if there is a NEW; fails if OLD is not there exactly once.
replace() {
  python3 - "$@" <<'END'
import sys
path, old, *new = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    text = file.read()
if text.count(old) != 1:
    sys.exit(f"{path}: expected once, found {text.count(old)} times: {old}")
if new:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new[0]))
END
}

# Says "killed", "SURVIVED", or what kept it from being built.
outcome() {
  local program
  if ! cmake --build "$copy/build/release" --target $1 >build/mutants.log 2>&1; then
    echo "does not build: build/mutants.log"
    return
  fi
  for program in $1; do
    if ! timeout 600 "$copy/build/release/tests/$program" --gtest_brief=1 --gtest_fail_fast \
      >build/mutants.log 2>&1 </dev/null; then
      echo "killed"
      return
    fi
  done
  echo "SURVIVED"
}

# One object a mutant: sources of a library are compiled one by one, without debug information. At
# -O1 gcc takes some values for uninitialised that are not.
prepare_copy() {
  local programs result
  if [[ ! -d $copy ]]; then git worktree add --quiet --detach "$copy" HEAD; fi
  git -C "$copy" checkout --quiet --force --detach "$(git rev-parse HEAD)"
  (cd "$copy" && cmake --preset release -DCMAKE_UNITY_BUILD_BATCH_SIZE=1 -DSUBMIX_BUILD_BENCHMARKS=OFF \
    -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG -Wno-error=maybe-uninitialized") >/dev/null
  programs=$(selected | cut -f 1 | tr ' ' '\n' | sort -u | tr '\n' ' ')
  result=$(outcome "$programs")
  if [[ $result != SURVIVED ]]; then
    echo "without a mutant: $result (build/mutants.log); tests that fail anyway find nothing" >&2
    exit 1
  fi
}

if ! $check_only; then prepare_copy; fi

declare -A total=() killed=()
while IFS=$'\t' read -r programs file old new; do
  if $check_only; then
    replace "$file" "$old"
    continue
  fi
  replace "$copy/$file" "$old" "$new"
  result=$(outcome "$programs")
  git -C "$copy" checkout --quiet -- "$file"
  room=$(dirname "$file")
  total[$room]=$((${total[$room]:-0} + 1))
  if [[ $result == killed ]]; then killed[$room]=$((${killed[$room]:-0} + 1)); fi
  printf '%s\t%s\t%s\n' "$result" "$file" "$old  ->  $new"
done < <(selected)

survivors=0
for room in "${!total[@]}"; do
  survivors=$((survivors + total[$room] - ${killed[$room]:-0}))
  printf '%s: %d mutants, %d killed\n' "$room" "${total[$room]}" "${killed[$room]:-0}"
done
((survivors == 0))
