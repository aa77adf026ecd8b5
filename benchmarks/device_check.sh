#!/usr/bin/env bash
# What a machine with CUDA makes of Submix, in at most eight minutes and without a network: training of
# 16 adapters by PEFT, private tokens of 17 and 65 rows. It wants a Python with torch, transformers and
# peft, and the module: a wheel of ./dev wheel, or a build folder's python/ for the same Python.
#   device_check.sh MODULE OUT [PYTHON [OPTION…]]     results in OUT/device_check.jsonl
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
module=$(realpath "$1") out=$2 python=${3:-python3}
mkdir -p "$out"
if [[ $module == *.whl ]]; then
  "$python" -m pip install --quiet --no-index --no-deps --target "$out/site" "$module"
  module=$out/site
fi
export PYTHONPATH=$(realpath "$module") HF_HUB_OFFLINE=1
"$python" "$here/device_check.py" "$out/work" "${@:4}" | tee "$out/device_check.jsonl"
