"""What the books and tutorials of Ryu and Floodlight do with `curl`, against Open vSwitch. Functions of a fresh `Lab`."""

import functools
import subprocess

from mininet.topo import LinearTopo, SingleSwitchTopo

from lab import expect, wait_until
from rest import ask, dump, flow_with

PYTHON = "/usr/bin/python3"
SWITCH = "0000000000000001"

# Prints how many datagrams came to a port until none came for a second.
RECEIVER = """import socket, sys
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("", int(sys.argv[1])))
receiver.settimeout(10)
came = 0
try:
    while True:
        receiver.recv(99)
        came += 1
        receiver.settimeout(1)
except OSError:
    print(came)
"""

SENDER = """import socket, sys
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(int(sys.argv[3])):
    sender.sendto(b"datagram", (sys.argv[1], int(sys.argv[2])))
"""


def started(lab, version, topo, apps):
    """A network that forwards, with rules in a table of their own where there are two."""
    first = "acl," if version == "OpenFlow13" else ""
    lab.start_controller("--apps", first + apps)
    net = lab.start_network(topo, version)
    wait_until("each host reaches the next", lambda: net.pingAll() == 0)
    return net


def reaches(one, two):
    return "bytes from" in one.cmd(f"ping -n -c 1 -W 1 {two.IP()}")


def done(path, body=None, method=None):
    status, said = ask(path, body, method)
    expect(status == 200 and "failure" not in str(said), f"{path} done", (status, said))
    return said


def ryu_firewall(version, lab):
    """The firewall of Ryu's book: nothing passes, then pings that rules allow, then those that one denies do not."""
    one, two, three = started(lab, version, SingleSwitchTopo(3), "learning-switch,static-flows").hosts
    said = done(f"/firewall/module/enable/{SWITCH}", method="PUT")
    expect(said == [{"switch_id": SWITCH, "command_result": {"result": "success", "details": "firewall running."}}], "it runs", said)
    expect(not reaches(one, two), "no ping without a rule, whatever was learned before", dump(version))
    for source, target in ((one, two), (two, one), (two, three), (three, two)):
        done(f"/firewall/rules/{SWITCH}", {"nw_src": source.IP() + "/32", "nw_dst": target.IP() + "/32", "nw_proto": "ICMP"})
    # The switch has a rule when it is answered.
    expect(reaches(one, two) and reaches(two, three) and not reaches(one, three), "what rules allow", dump(version))
    expect(flow_with(version, "icmp", "nw_src=10.0.0.1,nw_dst=10.0.0.2", "n_packets="), "the rule at Open vSwitch", dump(version))
    denied = {"nw_src": two.IP(), "nw_dst": three.IP(), "nw_proto": "ICMP", "actions": "DENY", "priority": "10"}
    done(f"/firewall/rules/{SWITCH}", denied)
    expect(reaches(one, two) and not reaches(two, three), "what the rule above denies", dump(version))
    rules = done(f"/firewall/rules/{SWITCH}")[0]["access_control_list"][0]["rules"]
    expect([rule["rule_id"] for rule in rules if rule["actions"] == "DENY"] == [5] and len(rules) == 5, "five rules", rules)
    done(f"/firewall/rules/{SWITCH}", {"rule_id": "5"}, "DELETE")
    expect(reaches(two, three), "a ping again", dump(version))
    done(f"/firewall/module/disable/{SWITCH}", method="PUT")
    expect(not reaches(one, two), "nothing at all", dump(version))


def ryu_qos(version, lab):
    """Rules of Ryu's book send datagrams to a queue and through a meter, and they arrive all the same, or as many as may."""
    one, two = started(lab, version, SingleSwitchTopo(2), "learning-switch,static-flows").hosts
    subprocess.run("ovs-vsctl set port s1-eth1 qos=@newqos -- --id=@newqos create qos type=linux-htb queues:0=@q0 queues:1=@q1 "
                   "-- --id=@q0 create queue other-config:max-rate=500000 -- --id=@q1 create queue other-config:min-rate=800000".split(),
                   stdout=subprocess.DEVNULL, check=True)
    match = {"nw_dst": one.IP(), "nw_proto": "UDP", "tp_dst": "5002"}
    done(f"/qos/rules/{SWITCH}", {"match": match, "actions": {"queue": "1"}})
    done(f"/qos/meter/{SWITCH}", {"meter_id": "1", "flags": "PKTPS", "bands": [{"type": "DROP", "rate": "10"}]})
    done(f"/qos/rules/{SWITCH}", {"match": {**match, "tp_dst": "5003"}, "actions": {"meter": "1"}})
    came = {port: arrived(two, one, port, 200) for port in (5002, 5003)}
    expect(came[5002] == 200, "all datagrams through the queue", (came, dump(version)))
    expect(1 <= came[5003] < 100, "as many as the meter lets", (came, dump(version)))
    expect(flow_with(version, "n_packets=200,", "tp_dst=5002", "set_queue:1,goto_table:1"), "packets to the queue", dump(version))
    [shown] = done(f"/qos/meter/{SWITCH}")
    expect(shown["command_result"]["1"][0]["packet_in_count"] == 200, "packets through the meter", shown)
    done(f"/qos/rules/{SWITCH}", {"qos_id": "all"}, "DELETE")
    expect(not flow_with(version, "tp_dst=5002"), "no rule", dump(version))


def arrived(source, target, port, count):
    """How many of so many datagrams arrive."""
    receiver = target.popen([PYTHON, "-c", RECEIVER, str(port)], stdout=subprocess.PIPE)
    wait_until("a receiver", lambda: f":{port} " in target.cmd("ss -lunH"))
    source.popen([PYTHON, "-c", SENDER, target.IP(), str(port), str(count)]).wait(20)
    return int(receiver.communicate(timeout=30)[0])


def floodlight_acl(version, lab):
    """A rule of Floodlight's ACL ends the pings of two hosts, and its removal brings them back."""
    lab.start_controller("--apps", "acl,learning-switch")
    one, two, three = lab.start_network(SingleSwitchTopo(3), version).hosts
    wait_until("a ping", lambda: reaches(one, two))
    said = done("/wm/acl/rules/json", {"src-ip": one.IP() + "/32", "dst-ip": two.IP() + "/32", "action": "deny"})
    expect(said == {"status": "Success! New rule added."}, "it is added", said)
    wait_until("no ping", lambda: not reaches(one, two), seen=lambda: dump(version))
    expect(reaches(one, three), "a ping beside the rule", dump(version))
    [rule] = done("/wm/acl/rules/json")
    done("/wm/acl/rules/json", {"ruleid": str(rule["id"])}, "DELETE")
    wait_until("a ping again", lambda: reaches(one, two), seen=lambda: dump(version))


def floodlight_firewall(version, lab):
    """The firewall of Floodlight's tutorial: nothing passes, then what rules for ARP and IP allow, then all."""
    one, two, three = started(lab, version, SingleSwitchTopo(3), "learning-switch").hosts
    done("/wm/firewall/module/enable/json", method="PUT")
    wait_until("no ping", lambda: not reaches(one, two), seen=lambda: dump(version))
    for source, target in ((one, two), (two, one)):
        between = {"src-ip": source.IP() + "/32", "dst-ip": target.IP() + "/32"}
        done("/wm/firewall/rules/json", {**between, "dl-type": "ARP"})
        done("/wm/firewall/rules/json", {**between, "dl-type": "IPv4"})
    wait_until("a ping that rules allow", lambda: reaches(one, two), seen=lambda: dump(version))
    expect(not reaches(one, three), "no ping beside them", dump(version))
    done("/wm/firewall/module/disable/json", method="PUT")
    wait_until("every ping", lambda: reaches(one, three), seen=lambda: dump(version))


def floodlight_watched(version, lab):
    """Ways between switches, the bandwidth that a transfer takes, and the packets that applications handled."""
    with open(lab.path("aldis.toml"), "w", encoding="utf-8") as config:
        config.write('apps = ["hosts", "topology", "routing", "route-flow", "spanning", "monitor"]\n[monitor]\ninterval-s = 1\n')
    lab.start_controller("--config", lab.path("aldis.toml"))
    net = lab.start_network(LinearTopo(3), version)
    first, last = net.hosts[0], net.hosts[-1]
    wait_until("a ping", lambda: reaches(first, last))
    ends = "00:00:00:00:00:00:00:01/00:00:00:00:00:00:00:03"
    ways = lambda: ask(f"/wm/routing/paths/{ends}/2/json")[1]  # noqa: E731
    [way] = wait_until("a way", lambda: ways().get("results"), seen=ways)
    expect(way["hop_count"] == "2" and [at["dpid"][-1] for at in way["path"]] == ["1", "2", "2", "3"], "two links", way)
    expect(done("/wm/statistics/config/enable/json", {}) == {"statistics-collection": "enabled"}, "statistics", "none")
    first.popen(["ping", "-f", "-w", "20", "-s", "1000", last.IP()], stdout=subprocess.DEVNULL)
    bandwidth = lambda: ask(f"/wm/statistics/bandwidth/{ends.partition('/')[0]}/1/json")[1]  # noqa: E731
    busy = lambda: bandwidth() and int(bandwidth()[0]["bits-per-second-rx"]) > 100_000  # noqa: E731
    wait_until("a port that carries pings", busy, seen=bandwidth)
    performance = done("/wm/performance/data/json")
    expect(performance["total-packets"] > 0 and performance["max"] >= performance["min"] > 0, "times", performance)


def all_of_them(versions):
    """Pairs of a name and a function of a `Lab`."""
    for body in (ryu_firewall, floodlight_acl):
        for version in versions:
            yield f"{body.__name__} {version}", functools.partial(body, version)
    for body in (ryu_qos, floodlight_firewall, floodlight_watched):
        yield f"{body.__name__} OpenFlow13", functools.partial(body, "OpenFlow13")
