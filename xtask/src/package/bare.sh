#!/bin/bash
# The commands of docs/installing.md, typed on a Debian that has nothing but itself: run in the
# machine, as root, with the package and the page in /tried. Each line "ok" is a check; the first
# that fails ends it.
set -eEuo pipefail
trap 'echo "FAIL line $LINENO: $BASH_COMMAND"; tail -n 20 /tmp/typed; journalctl --no-pager -n 40' ERR
export DEBIAN_FRONTEND=noninteractive HOME=/tmp

ok() { echo "ok $*"; }

for program in aldis mn ovs-vsctl; do
    if command -v $program; then false; fi
done
ok "neither the package nor Mininet nor Open vSwitch is there"

mapfile -t commands < <(sed -n '/^## The package/,/^## /s/^sudo //p' /tried/installing.md)
[ ${#commands[@]} -ge 2 ] && [ ${#commands[@]} -le 4 ]
mkdir -p /tmp/target/package && cp /tried/aldis.deb /tmp/target/package/aldis_0.1.0_amd64.deb
cd /tmp
for command in "${commands[@]}"; do
    # What asks whether to go on is told so.
    bash -c "${command/apt-get install/apt-get install --yes}" > /tmp/typed 2>&1
    ok "$command"
done
grep -q "Results: 0% dropped (6/6 received)" /tmp/typed
ok "all pings were answered, after ${#commands[@]} commands"
echo done
