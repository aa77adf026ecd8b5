#!/usr/bin/env bash
# page_test.sh STAGE PAGE_DIR WORK_DIR
#
#   packages   npm's packages of the lock file, in WORK_DIR; kept while the lock file stays the same
#   rebuild    the page, built anew, has the committed bytes
#   browser    both pages in Chromium against a small server that speaks the wire format
#
# Exit code 77: skipped, with the reason.
set -euo pipefail

stage=$1 page=$(realpath "$2") work=$3

skip() {
  echo "SKIPPED: $*"
  exit 77
}

command -v node >/dev/null && command -v npm >/dev/null || skip "no node and npm"
node -e 'const [major, minor] = process.versions.node.split(".").map(Number);
         process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)' ||
  skip "node $(node --version) is older than 20.19"
mkdir -p "$work"
cd "$work"

case $stage in
  packages)
    if cmp -s "$page/package-lock.json" installed.json; then exit 0; fi
    rm -rf node_modules installed.json
    cp "$page/package.json" "$page/package-lock.json" .
    if ! npm ci --ignore-scripts --no-audit --no-fund --loglevel=error; then
      npm ping >/dev/null 2>&1 || skip "npm's registry cannot be reached"
      exit 1
    fi
    cp package-lock.json installed.json
    exit 0
    ;;
esac

[[ -f installed.json ]] || skip "npm's packages are not there (stage packages)"
rm -rf playground operator src test out ./*.mjs
cp -r "$page"/{playground,operator,src,test,build.mjs,tsconfig.json,content_security_policy.txt} .
case $stage in
  rebuild)
    node_modules/.bin/tsc --noEmit
    node build.mjs "$PWD/out"
    diff -r "$page/built" out ||
      { echo "page/built is not what page/src gives: run 'npm ci && npm run build' in page/"; exit 1; }
    ;;
  browser)
    chromium=$(command -v chromium || command -v chromium-browser) || skip "no chromium"
    export SUBMIX_CHROMIUM=$chromium SUBMIX_PAGE_BUILT=$page/built
    # One file after another: two browsers at once would only wait for each other.
    node --test --test-concurrency=1 --test-reporter=spec test/*.test.mjs
    ;;
  *)
    echo "unknown stage $stage"
    exit 2
    ;;
esac
