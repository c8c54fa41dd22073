"""What `acl` and `static-flows` keep on a switch, and what stays there over a restart. Functions of a fresh `Lab`."""

import functools
import re

from mininet.topo import SingleSwitchTopo

from lab import Ping, expect, output, wait_until

FLOW = re.compile(r"cookie=(0xa1d1\w+), duration=([\d.]+)s, table=(\d+),.* (\S+) actions=(\S+)")

DENY = """
[[acl]]
name = "one does not reach three"
action = "deny"
match = { ipv4-src = "10.0.0.1", ipv4-dst = "10.0.0.3" }
"""

# Of all that goes to host 3, what comes from host 2 passes, and what host 1 says to host 2 goes to host 3 besides.
ORDERED = """
[[acl]]
name = "two reaches three"
action = "allow"
match = { ipv4-src = "10.0.0.2", ipv4-dst = "10.0.0.3" }

[[acl]]
name = "nobody else does"
action = "deny"
match = { ipv4-dst = "10.0.0.3" }

[[acl]]
name = "three hears what one says to two"
action = "mirror"
mirror-to = 3
match = { ipv4-src = "10.0.0.1", ipv4-dst = "10.0.0.2" }
"""

STATIC = """
[[static-flow]]
name = "one to two"
switch = "*"
priority = 500
match = { in-port = 1 }
actions = ["output:2"]

[[static-flow]]
name = "two to one"
switch = "*"
priority = 500
match = { in-port = 2 }
actions = ["output:1"]
"""


def configured(lab, apps, text):
    """Starts the controller with these applications and the rest of a configuration file."""
    path = lab.path("aldis.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"apps = [{', '.join(repr(app) for app in apps)}]\n{text}")
    lab.start_controller("--config", path)


def ours(lab, version):
    """The flows with a cookie of Aldis: cookie, table, match and actions, and for how many seconds each has been there."""
    dump = output("ovs-ofctl", "-O", version, "dump-flows", "s1")
    return {(cookie, table, match, actions): float(age) for cookie, age, table, match, actions in FLOW.findall(dump)}


def wait_ours(lab, version, count):
    return wait_until(f"{count} flows of ours", lambda: len(ours(lab, version)) == count and ours(lab, version),
                      seen=lambda: output("ovs-ofctl", "-O", version, "dump-flows", "s1"))


def answered(source, target):
    return "1 received" in source.cmd(f"ping -n -c 1 -W 1 {target.IP()}")


def reaches(lab, source, target):
    wait_until(f"an answer of {target} to {source}", lambda: answered(source, target),
               seen=lambda: output("ovs-ofctl", "-O", "OpenFlow10,OpenFlow13", "dump-flows", "s1"))


def acl(version, lab):
    """What a rule denies does not pass, from the first packet; everything else does."""
    configured(lab, ["acl", "learning-switch"], DENY)
    net = lab.start_network(SingleSwitchTopo(3), version)
    one, two, three = net.hosts
    # With OpenFlow 1.3 the passage to the second table, and its way to the controller, are two more.
    wait_ours(lab, version, 1 if version == "OpenFlow10" else 3)
    expect(not answered(one, three), "no answer to what is denied", lab.flows("s1", version))
    for source, target in ((one, two), (two, three), (three, two), (two, one)):
        reaches(lab, source, target)


def acl_ordered(lab):
    """An exception before what it is an exception of, and a copy to a port, in the first of two tables."""
    configured(lab, ["acl", "learning-switch"], ORDERED)
    net = lab.start_network(SingleSwitchTopo(3), "OpenFlow13")
    one, two, three = net.hosts
    wait_ours(lab, "OpenFlow13", 5)
    reaches(lab, two, three)
    expect(not answered(one, three), "the rest denied", "\n".join(lab.flows("s1", "OpenFlow13")))
    heard = three.popen(["tcpdump", "-n", "-l", "-c", "1", "-i", "h3-eth0", "icmp[icmptype] == icmp-echo and src 10.0.0.1"])
    beside = Ping(one, two)
    beside.wait_replies(5)
    wait_until("a copy of what one says to two", lambda: heard.poll() == 0, seen=lambda: heard.poll())
    beside.finish()


def static_flows(version, lab):
    """Named flows carry traffic by themselves, and come back when they are removed, and when the switch lost them."""
    configured(lab, ["static-flows"], STATIC)
    net = lab.start_network(SingleSwitchTopo(3), version)
    one, two, three = net.hosts
    wait_ours(lab, version, 2)
    reaches(lab, one, two)
    expect(not answered(one, three), "and to nobody else", "\n".join(lab.flows("s1", version)))
    output("ovs-ofctl", "-O", version, "add-flow", "s1", "priority=7,in_port=3,actions=drop")
    output("ovs-ofctl", "-O", version, "del-flows", "s1", "in_port=1")
    wait_ours(lab, version, 2)
    expect(any("in_port=3" in flow or "h3" in flow or "s1-eth3" in flow for flow in lab.flows("s1", version)),
           "the flow of somebody else untouched", "\n".join(lab.flows("s1", version)))
    reaches(lab, one, two)
    mark = lab.mark()
    lab.vswitchd.kill()
    lab.start_vswitchd()
    lab.wait_connected(mark)
    wait_ours(lab, version, 2)
    reaches(lab, one, two)


def refused_by_name(lab):
    """A flow that the switch refuses is named, with the switch's words, and the others are there."""
    broken = '[[static-flow]]\nname = "to a group that is not there"\nswitch = 1\nactions = ["group:77"]\n'
    configured(lab, ["static-flows"], broken + STATIC)
    lab.start_network(SingleSwitchTopo(2), "OpenFlow13")
    wait_ours(lab, "OpenFlow13", 2)
    words = r'"to a group that is not there" at switch 0+1: refused: OFPET_BAD_ACTION/OFPBAC_BAD_OUT_GROUP'
    wait_until("its name and its error in the log", lambda: re.search(words, lab.controller_log()), seen=lab.controller_log)


def controller_restarted(version, lab):
    """kill -9 and a new start under traffic: no packet of an installed path is lost, and no flow is deleted or sent again that
    should stay."""
    apps = ["acl", "static-flows", "learning-switch"]
    configured(lab, apps, DENY + STATIC)
    net = lab.start_network(SingleSwitchTopo(4), version)
    one, two, three, four = net.hosts
    pings = [Ping(one, two), Ping(three, four)]
    for ping in pings:
        ping.wait_replies(5)
    before = ours(lab, version)
    mark = lab.mark()
    lab.controller.kill()
    lab.wait_disconnected(mark)
    mark = lab.mark()
    configured(lab, apps, DENY + STATIC)
    lab.wait_connected(mark)
    for ping in pings:
        ping.wait_replies(10)
        lost = ping.finish()
        expect(not lost, "no ping of an installed path lost", f"lost {lost}")
    after = ours(lab, version)
    gone = {flow: age for flow, age in before.items() if flow not in after}
    expect(not gone, "every flow still there", gone)
    younger = {flow: (age, after[flow]) for flow, age in before.items() if after[flow] < age}
    expect(not younger, "no flow sent again", younger)


def taken_out(version, lab):
    """What an application that is configured no more kept on the switch is removed at the next start: what was denied passes. The
    flows of those that still run stay."""
    configured(lab, ["acl", "static-flows", "topology", "learning-switch"], DENY + STATIC)
    net = lab.start_network(SingleSwitchTopo(3), version)
    one, two, three = net.hosts
    # With OpenFlow 1.3 the passage to the second table, and its way to the controller, are two more.
    before = wait_ours(lab, version, 5 if version == "OpenFlow10" else 7)
    expect(not answered(one, three), "no answer to what is denied", lab.flows("s1", version))
    mark = lab.mark()
    lab.controller.kill()
    lab.wait_disconnected(mark)
    mark = lab.mark()
    configured(lab, ["topology", "learning-switch"], "")
    lab.wait_connected(mark)

    def left():
        flows = ours(lab, version)
        kept = [flow for flow in flows if "dl_type" in flow[2] or "0x88cc" in flow[2]]
        return flows if len(kept) == 2 and not any("drop" in flow[3] or "goto" in flow[3] for flow in flows) else None

    wait_until("only the flows of what runs", left, seen=lambda: lab.flows("s1", version))
    expect(len(before) > 2, "more of them before", before)
    for source, target in ((one, two), (one, three), (three, one)):
        reaches(lab, source, target)


def all_of_them(versions):
    """Pairs of a name and a function of a `Lab`."""
    for body in (acl, static_flows, controller_restarted, taken_out):
        for version in versions:
            yield f"{body.__name__} {version}", functools.partial(body, version)
    for body in (acl_ordered, refused_by_name):
        yield body.__name__, body
