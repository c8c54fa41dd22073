"""What a switch whose table is full is told apart from: a broken one. Functions of a fresh `Lab`."""

import functools
import re
import signal

from mininet.topo import LinearTopo, SingleSwitchTopo

from kept import configured, ours, wait_ours
from lab import Ping, expect, output, wait_until

FLOWS = 6
LIMIT = 2

STATIC = "".join(f"""
[[static-flow]]
name = "flow {number}"
switch = "*"
match = {{ in-port = {number} }}
actions = ["output:1"]
""" for number in range(2, 2 + FLOWS))

# An application that keeps flows tries again what found no room after half a minute.
AGAIN_S = 60


def limited(switch, flows):
    """The switch's first table takes so many flows, and refuses more."""
    output("ovs-vsctl", "--", "--id=@full", "create", "Flow_Table", f"flow_limit={flows}", "overflow_policy=refuse",
           "--", "set", "Bridge", str(switch), "flow_tables:0=@full")


def unlimited(switch):
    output("ovs-vsctl", "clear", "Bridge", str(switch), "flow_tables")


def flows_of(switch, version):
    return sum("actions=" in line for line in output("ovs-ofctl", "-O", version, "dump-flows", str(switch)).splitlines())


def stays(lab, mark):
    """No connection ended since."""
    last = lab.connections(mark)
    expect(not last, "connections that stay", last)


def full_static(version, lab):
    """Of static flows those are there for which there is room, the others are said to lack it, and come when there is some."""
    configured(lab, ["static-flows"], "")
    net = lab.start_network(SingleSwitchTopo(2), version)
    limited(net.switches[0], LIMIT + flows_of("s1", version))
    mark = lab.mark()
    with open(lab.path("aldis.toml"), "a", encoding="utf-8") as file:
        file.write(STATIC)
    lab.controller.child.send_signal(signal.SIGHUP)
    wait_ours(lab, version, LIMIT)
    words = r'static-flows: "flow \d" at switch 0+1: .*the switch\'s table is full'
    wait_until("its name, and that the table is full, in the log", lambda: re.search(words, lab.controller_log()),
               seen=lab.controller_log)
    expect("refused: OFPET" not in lab.controller_log(), "no talk of errors", lab.controller_log())
    unlimited(net.switches[0])
    wait_until(f"{FLOWS} flows of ours", lambda: len(ours(lab, version)) == FLOWS, AGAIN_S, seen=lambda: lab.flows("s1", version))
    stays(lab, mark)


def full_paths(version, lab):
    """Where a switch has no room for the flow of a path, packets go by the controller, none is lost for it, and the log says so;
    when there is room the flow comes."""
    lab.start_controller()
    net = lab.start_network(LinearTopo(3), version)
    one, two, three = net.hosts
    middle = net.switches[1]
    expect(net.pingAll() == 0, "pingall without loss", lab.controller_log())
    output("ovs-ofctl", "-O", version, "del-flows", "s2", "cookie=0/0,dl_src=" + one.MAC())
    output("ovs-ofctl", "-O", version, "del-flows", "s2", "cookie=0/0,dl_dst=" + one.MAC())
    room = flows_of(middle, version)
    limited(middle, room)
    mark = lab.mark()
    ping = Ping(one, three)
    ping.wait_replies(30)
    expect(flows_of(middle, version) <= room, f"at most {room} flows", lab.flows(middle, version))
    words = r"route-flow: the table of switch 0+2 is full"
    wait_until("that the table is full, in the log", lambda: re.search(words, lab.controller_log()), seen=lab.controller_log)
    unlimited(middle)
    between = lambda: [flow for flow in lab.flows(middle, version) if one.MAC() in flow and three.MAC() in flow]
    wait_until("two flows of the path in the middle", lambda: len(between()) == 2, AGAIN_S, seen=lambda: lab.flows(middle, version))
    ping.wait_replies(5)
    lost = ping.finish()
    expect(not lost, "no ping lost", f"lost {lost}\n{lab.controller_log()}")
    stays(lab, mark)


def all_of_them(versions):
    """Pairs of a name and a function of a `Lab`."""
    yield "full_static OpenFlow13", functools.partial(full_static, "OpenFlow13")
    for version in versions:
        yield f"full_paths {version}", functools.partial(full_paths, version)
