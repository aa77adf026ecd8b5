#!/usr/bin/env bash
# The Debian packages as an operator meets them: built, installed in a bare Debian in a folder, served
# from, removed. Usage: debian_packages_test.sh BUILD_DIR SOURCE_DIR
set -eu
build=$1
source=$2
skip() {
  echo "skipped: $1"
  exit 77
}
[ "$(id -u)" = 0 ] || skip "a folder with a Debian in it wants root"
for program in debootstrap cpack dpkg-shlibdeps curl; do
  command -v $program >/dev/null || skip "no $program"
done
grep -q bookworm /etc/os-release || skip "not Debian 12"

work=$(mktemp -d)
root=$work/debian
server=
cleanup() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
  umount "$root/proc" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
fail() {
  echo "FAILED: $1"
  tail -50 "$work/log" 2>/dev/null || true
  exit 1
}
quietly() { "$@" >"$work/log" 2>&1; }
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }

quietly cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work/packages" || fail "cpack"
ls "$work"/packages/*.deb
python=$(ls "$work"/packages/python3-submix_*.deb 2>/dev/null || true) # where the build found pybind11
expected=2
[ -z "$python" ] || expected=3
[ "$(ls "$work"/packages/*.deb | wc -l)" = $expected ] || fail "submix, submix-train and python3-submix"
for deb in "$work"/packages/*.deb; do
  ! dpkg-deb --contents "$deb" | grep -E 'receipt_press|/root/|/home/' || fail "$deb holds what it must not"
done
submix=$(ls "$work"/packages/submix_*.deb)
for file in share/bash-completion/completions/submix-train share/zsh/vendor-completions/_submix \
  $(command -v help2man >/dev/null && echo share/man/man1/submix.1 share/man/man1/submix-key-create.1); do
  dpkg-deb --contents "$submix" | grep -q " ./usr/$file$" || fail "no $file"
done
! dpkg-deb -f "$submix" Depends | grep -q torch || fail "submix depends on libtorch"
dpkg-deb -f "$(ls "$work"/packages/submix-train_*.deb)" Depends | grep -q torch || fail "submix-train without libtorch"

# The mirror and the settings that this machine's apt has.
mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' | awk '$2 == "bookworm" {print $1; exit}')
quietly debootstrap --variant=minbase bookworm "$root" "$mirror" || skip "no Debian mirror within reach"
rm -f "$root/etc/apt/sources.list"
cp -a /etc/apt/. "$root/etc/apt/"
cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
if [ -d /etc/ssl/certs ]; then mkdir -p "$root/etc/ssl"; cp -aL /etc/ssl/certs "$root/etc/ssl/" 2>/dev/null || true; fi
mount -t proc proc "$root/proc" || skip "no mount in here"
cp "$submix" "$root/tmp/submix.deb"
quietly inside apt-get update -q || fail "apt-get update inside"
quietly inside apt-get install -q -y --no-install-recommends /tmp/submix.deb || fail "installing submix"
inside submix --version
inside getent passwd submix >/dev/null || fail "no user submix"
if command -v systemd-analyze >/dev/null; then
  sed "s|/usr/bin/submix|$root/usr/bin/submix|" "$root/usr/lib/systemd/system/submix.service" >"$work/submix.service"
  systemd-analyze verify --man=no "$work/submix.service" || fail "the systemd unit"
fi

# An ensemble from outside (training is the other package's), deployed and served inside.
for user in {a..h}; do echo "{\"user\": \"$user\", \"text\": \"The $user of the house went out to see the sea and the hill.\"}"; done >"$work/text.jsonl"
quietly "$build/submix" train "$work/text.jsonl" "$work/ensemble" --public "$source/data/public_model" --parts 2 --rank 2 \
  --targets c_attn --top-layers 1 --block-tokens 32 --batch-size 2 --threads 1 --heldout-fraction 0 \
  --partition-key "$source/data/demo_partition.key" || fail "training"
cp -a "$work/ensemble" "$root/var/lib/submix/ensemble"
quietly inside submix deploy /var/lib/submix/ensemble /var/lib/submix/deployment --epsilon 2 || fail "submix deploy"
quietly inside submix generate /var/lib/submix/deployment "The sea" --max-tokens 4 || fail "submix generate"
inside submix budget verify /var/lib/submix/deployment || fail "submix budget verify"

key=$(inside submix key create /var/lib/submix/deployment --name test | grep -o 'sk-submix-[A-Za-z0-9_-]*') || fail "submix key create"
inside submix serve /var/lib/submix/deployment --config /usr/share/doc/submix/examples/serve.toml --check >/dev/null || fail "the example configuration"
# Not by the function: its shell would take the signal.
chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/root submix serve /var/lib/submix/deployment --port 0 >"$work/log" 2>&1 &
server=$!
address=
for _ in {1..200}; do
  address=$(grep -o 'http://127.0.0.1:[0-9]*' "$work/log" | head -1)
  [ -n "$address" ] && break
  sleep 0.1
done
curl -sf --retry 5 --retry-connrefused "$address/readyz" >/dev/null || fail "being ready"
curl -sf "$address/v1/completions" -H "Authorization: Bearer $key" -H 'Content-Type: application/json' \
  -d '{"model": "deployment", "prompt": "The sea", "max_tokens": 4}' | grep -q '"choices"' || fail "serving"
kill -TERM $server
wait $server || fail "a graceful stop"
server=

if [ -n "$python" ]; then
  for file in submix/_core.cpython-311-x86_64-linux-gnu.so submix/__init__.pyi submix_logits.py; do
    dpkg-deb --contents "$python" | grep -q " ./usr/lib/python3/dist-packages/$file$" || fail "no $file"
  done
  ! dpkg-deb -f "$python" Depends | grep -q torch || fail "python3-submix depends on libtorch"
  cp "$python" "$root/tmp/python3-submix.deb"
  quietly inside apt-get install -q -y --no-install-recommends /tmp/python3-submix.deb || fail "installing python3-submix"
  inside python3 -c 'import submix
with submix.open("/var/lib/submix/deployment") as deployment: print(deployment.statement)' || fail "import submix"
fi

quietly inside apt-get remove -q -y submix || fail "removing submix"
[ ! -e "$root/usr/bin/submix" ] || fail "submix is still there"
[ -e "$root/var/lib/submix/deployment/deployment.json" ] || fail "removing the package removed a ledger"
echo "installed, served from, removed"
