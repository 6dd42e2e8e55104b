#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What package.sh runs inside of a fresh root, in which /haltrace.deb lies.
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

say() { echo "in-root: $*"; }

# Captures, replays and shows; runs with nothing but a home of its own.
use='
set -eu
mkdir -p "$HOME" && cd "$HOME"
for program in hal-capture hal-replay hal-trace hal-view; do
    $program --version
done
hal-capture doctor
hal-capture -o "a trace.pb.zst" -- /usr/libexec/haltrace/decode
hal-replay "a trace.pb.zst"
hal-trace info "a trace.pb.zst"
hal-trace verify "a trace.pb.zst"
hal-view --print=timeline "a trace.pb.zst"
hal-view --dump-frame --size=100x30 "a trace.pb.zst" >frame
grep -q queue frame
'

apt-get install -y --no-install-recommends /haltrace.deb
say "installed: $(dpkg-query -W -f '${Package} ${Version}' haltrace)"
ldconfig -p | grep -q 'libhal\.so\.0 ' || { say "libhal is not found by the loader"; exit 1; }
HOME=/tmp/first sh -c "$use"
say "captured, replayed and shown as root"
setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/tmp/second sh -c "$use"
say "captured, replayed and shown as an ordinary user"
# What programs that were installed leave in the package's own folders would stay behind.
dpkg --verify haltrace
dpkg-query -L haltrace >/tmp/installed
apt-get purge -y haltrace
while read -r path; do
    [ ! -f "$path" ] && [ ! -L "$path" ] || { say "$path was left"; exit 1; }
done </tmp/installed
[ ! -e /usr/lib/haltrace ] && [ ! -e /usr/libexec/haltrace ] || { say "folders were left"; exit 1; }
say "removed, and nothing was left"
say "all is well"
