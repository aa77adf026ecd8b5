#!/usr/bin/env bash
# Whether every C++ file is as clang-format 14 writes it. `--fix` rewrites them.
# Exit code 77 (ctest: skipped) if there is no clang-format 14: other versions format differently.
set -euo pipefail
cd "$(dirname "$0")/.."

formatter=$(command -v clang-format-14 || command -v clang-format || true)
if [[ -z $formatter ]] || ! "$formatter" --version | grep -q 'version 14\.'; then
  echo "skipped: no clang-format 14 (Debian 12: apt-get install clang-format)"
  exit 77
fi

folders=()
for folder in submix tests benchmarks examples fuzz; do
  if [[ -d $folder ]]; then folders+=("$folder"); fi
done
mode=(--dry-run -Werror)
if [[ ${1:-} == --fix ]]; then mode=(-i); fi

find "${folders[@]}" -type f \( -name '*.h' -o -name '*.cc' -o -name '*.cu' \) -print0 |
  xargs -0 -r -n 32 "$formatter" --style=file "${mode[@]}"
