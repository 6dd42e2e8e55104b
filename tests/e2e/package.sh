#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Debian package, on a fresh Debian 12 that has nothing else: it installs, what it brings
# captures, replays and shows the demo, as root and as an ordinary user; and removing it leaves
# nothing. Packed twice, it has the same bytes. And Homebrew's formula is one. Needs root, mmdebstrap
# and a network.
. "$(dirname "$0")/lib.sh"
build=$3

skip() { echo "SKIPPED: $*"; exit 77; }
for program in mmdebstrap ruby; do
    command -v "$program" >/dev/null || skip "$program is not installed"
done
# In a container without the right to mount there is no fresh root to be had.
unshare --mount true 2>/dev/null || skip "mounting is not allowed here"
# In a fresh root nobody knows the folders of the tests.
unset HAL_CACHE_DIR HAL_MSL_TIME_LIMIT
export LC_ALL=C.UTF-8
debian() { mmdebstrap --mode=root --variant=apt --format=null --aptopt='Apt::Install-Recommends "false"' "$@" bookworm /dev/null; }
# Only what apt says of a network that is not there.
absent='Temporary failure resolving|Could not resolve|Cannot initiate the connection|Could not connect|Unable to connect|Connection timed out|Network is unreachable'
debian --simulate >stdout 2>stderr || {
    reason=$(grep -Em 1 "$absent" stderr) && skip "Debian cannot be reached: $reason"
    fail "no fresh Debian"
}

SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null || stat -c %Y "$root/CMakeLists.txt")
export SOURCE_DATE_EPOCH
for copy in 1 2; do
    run 0 cpack --config "$build/CPackConfig.cmake" -G 'DEB;TGZ' -B "$work/$copy"
    rm -rf "$copy/_CPack_Packages"
done
(cd 1 && sha256sum -- *) >sums
(cd 2 && sha256sum --quiet -c ../sums) || fail "packing twice gives different files"

# The formula is Ruby, and names the bytes of the archive.
tar -C "$root" -c bootstrap CMakeLists.txt hal | gzip -n >haltrace.tar.gz
"$root/hal/install/formula.sh" "file://$work/haltrace.tar.gz" haltrace.tar.gz >haltrace.rb
run 0 ruby -wc haltrace.rb
grep -q "sha256 \"$(openssl dgst -sha256 -r haltrace.tar.gz | cut -d' ' -f1)\"" haltrace.rb ||
    fail "the formula has another digest"

package=$(echo 1/*.deb)
[ -s "$package" ] || fail "no package was made"
mv "$package" haltrace.deb
cp "$root/tests/e2e/package_in_root.sh" in-root
run 0 debian --customize-hook="copy-in '$work/haltrace.deb' '$work/in-root' /" \
    --customize-hook='chroot "$1" sh /in-root'
cat stdout stderr | grep '^in-root: '
cat stdout stderr | grep -q '^in-root: all is well' || fail "the check in the fresh root did not end"
