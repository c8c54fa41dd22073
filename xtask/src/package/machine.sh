#!/bin/bash
# What becomes of the package on a machine with systemd: run in the machine, as root, with the
# package in /tried. Each line "ok" is a check; the first that fails ends it.
set -eEuo pipefail
trap 'echo "FAIL line $LINENO: $BASH_COMMAND"; tell' ERR

tell() {
    journalctl --no-pager --unit aldis --lines 60
    aldis hosts
    ovs-ofctl -O OpenFlow13 dump-flows s
}

ok() { echo "ok $*"; }
within() { # SECONDS COMMAND…
    local end=$((SECONDS + $1)); shift
    until "$@" > /dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || { echo "not in time: $*"; return 1; }
        sleep 0.1
    done
}
pid() { systemctl show --property MainPID --value aldis; }
serves() { aldis health && [ "$(systemctl is-active aldis)" = active ]; }
joined() { aldis switches | grep -q 000000000000000a; }

dpkg --install /tried/aldis.deb > /dev/null
within 10 serves
[ "$(ps -o user= -p "$(pid)")" = aldis ]
[ "$(systemctl show --property Type --value aldis)" = notify ]
ok "the installed service runs, as a user of its own, and says so to systemd"

# Open vSwitch without its kernel module, and two hosts.
ovsdb-tool create /tmp/tried.db /usr/share/openvswitch/vswitch.ovsschema
mkdir -p /var/run/openvswitch
ovsdb-server /tmp/tried.db --remote=punix:/var/run/openvswitch/db.sock --detach --pidfile
ovs-vsctl --no-wait init
ovs-vswitchd --detach --pidfile -vconsole:off --log-file=/tmp/vswitchd.log
ovs-vsctl add-br s -- set bridge s datapath_type=netdev protocols=OpenFlow13 fail-mode=secure \
    other-config:datapath-id=000000000000000a -- set-controller s tcp:127.0.0.1:6653
for host in 1 2; do
    ip netns add h$host
    ip link add h$host-s type veth peer name eth0 netns h$host
    ip -n h$host address add 10.0.0.$host/24 dev eth0
    ip -n h$host link set eth0 up
    ip link set h$host-s up
    ip netns exec h$host ethtool --offload eth0 tx off > /dev/null
    ovs-vsctl add-port s h$host-s
done
within 20 joined
within 20 ip netns exec h1 ping -c 1 -W 1 10.0.0.2
ok "a network joins, and its hosts reach each other"

# From here on pings go on: none may be lost.
ip netns exec h1 ping -i 0.05 10.0.0.2 > /tmp/pings 2>&1 &
pings=$!
flows() { ovs-ofctl -O OpenFlow13 dump-flows s | grep -o "in_port=[12].*actions=output:.*"; }
both_ways() { [ "$(flows | grep -o "^in_port=." | sort -u | wc -l)" = 2 ]; }
within 20 both_ways
flows | sort > /tmp/before

first=$(pid)
sed -i '$a log = "debug"' /etc/aldis/aldis.toml
systemctl reload aldis
within 5 serves
[ "$(pid)" = "$first" ]
ok "it is reloaded and goes on"

kill -9 "$first"
within 10 serves
within 20 joined
[ "$(pid)" != "$first" ]
ok "it is started again where it was killed"

# A process that stops is one of which no worker comes back: the watchdog ends it.
second=$(pid)
kill -STOP "$second"
changed() { [ "$(pid)" != "$second" ]; }
within 90 changed
within 20 serves
ok "the watchdog starts it again where it stands still"

within 20 joined
dpkg --install /tried/aldis.deb > /dev/null 2>&1
within 10 serves
within 20 joined
grep -q 'log = "debug"' /etc/aldis/aldis.toml
ok "it is upgraded, and keeps its configuration"

kill -INT $pings
wait $pings || true
tail -2 /tmp/pings
grep -q ' 0% packet loss' /tmp/pings
[ -z "$(flows | sort | comm -23 /tmp/before -)" ]
ok "no ping was lost, and no flow was removed"

dpkg --remove aldis > /dev/null
[ "$(systemctl is-active aldis || true)" != active ]
[ -e /etc/aldis/aldis.toml ] && [ ! -e /usr/bin/aldis ]
dpkg --purge aldis > /dev/null
[ ! -e /etc/aldis/aldis.toml ] && [ ! -e /var/lib/aldis ]
ok "it is removed, and what was kept goes with a purge"
echo done
