#!/usr/bin/env bash
# `submix` starts in milliseconds because it does not load libtorch: neither it nor what it links.
#   no_libtorch.sh PROGRAM
set -euo pipefail
libraries=$(ldd "$1")
if grep -E 'libtorch|libc10|libcaffe2' <<<"$libraries"; then
  echo "$1 loads libtorch; only submix-train may"
  exit 1
fi
