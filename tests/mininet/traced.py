"""What Aldis says of the way of a packet, against what Open vSwitch says of it. Functions of a fresh `Lab`.

Switches in a line, linked by patch ports: `ovs-appctl ofproto/trace` follows a packet over those by itself, so that the whole way is
Open vSwitch's own, headers included. Each flow has a cookie of its own; the first digit is its switch.
"""

import functools
import json
import re

from mininet.link import OVSLink
from mininet.topo import Topo

from lab import Failure, controller_command, expect, output, wait_until
from rest import ask

# Ports of each switch: hosts, and the neighbours; the last one has no link at the second switch.
ONE, TWO, RIGHT, LEFT, DEAD = 1, 2, 3, 4, 5
LENGTH = 3

# Flows see the tag below another, where that is taken off.
TWO_TAGS = ("ovs-vsctl", "set", "Open_vSwitch", ".", "other_config:vlan-limit=2")

GROUPS = {
    "s1": ["group_id=1,type=all,bucket=output:2,bucket=set_field:02:00:00:00:00:11->eth_src,output:3",
           "group_id=2,type=indirect,bucket=output:3,set_field:10.7.7.7->ip_dst",
           "group_id=3,type=all,bucket=group:2,bucket=output:2"],
    "s2": ["group_id=4,type=all,bucket=push_vlan:0x8100,set_field:4116->vlan_vid,output:3,bucket=output:1,"
           "bucket=set_field:10.8.8.8->ip_dst,output:3",
           "group_id=5,type=ff,bucket=watch_port:2,output:2,bucket=watch_port:1,output:1",
           "group_id=6,type=ff,bucket=watch_port:5,output:5,bucket=watch_port:3,output:3"],
}

FLOWS_13 = {
    "s1": """
cookie=0x101,table=0,priority=100,in_port=1,tcp,tcp_dst=80,actions=write_metadata:0x17/0x1f,goto_table:1
cookie=0x102,table=0,priority=90,ip,nw_dst=10.0.0.0/8,actions=write_metadata:0x2,goto_table:1
cookie=0x103,table=0,priority=95,ip,nw_dst=10.0.1.0/24,actions=push_vlan:0x8100,set_field:4106->vlan_vid,set_field:3->vlan_pcp,output:3
cookie=0x104,table=0,priority=100,dl_vlan=5,actions=pop_vlan,output:3
cookie=0x105,table=0,priority=80,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00,actions=group:1
cookie=0x106,table=0,priority=85,arp,arp_op=2,actions=drop
cookie=0x107,table=0,priority=85,arp,arp_tpa=10.0.0.9,actions=CONTROLLER:65535
cookie=0x108,table=0,priority=96,udp,udp_dst=53,actions=group:2,output:2
cookie=0x109,table=0,priority=96,udp,udp_dst=54,actions=write_actions(group:3,output:1)
cookie=0x10a,table=0,priority=96,icmp,icmp_type=8,actions=output:1,output:2,output:3
cookie=0x10b,table=0,priority=96,icmp,icmp_type=0,actions=in_port,output:3
cookie=0x10c,table=0,priority=96,icmp,icmp_type=3,actions=ALL
cookie=0x10d,table=0,priority=97,dl_vlan=6,actions=push_vlan:0x88a8,set_field:4130->vlan_vid,output:3,pop_vlan,output:2
cookie=0x10e,table=0,priority=50,ipv6,ipv6_dst=fe80::/10,actions=output:3
cookie=0x10f,table=0,priority=51,tcp6,ipv6_src=2001:db8::/33,tcp_src=443,actions=set_field:2001:db8::99->ipv6_dst,output:3
cookie=0x110,table=0,priority=100,dl_vlan=7,dl_vlan_pcp=5,actions=set_field:4104->vlan_vid,output:3
cookie=0x115,table=0,priority=200,in_port=5,icmp6,icmpv6_type=135,nd_target=fe80::9,actions=output:1
cookie=0x116,table=0,priority=200,in_port=5,sctp,sctp_dst=7,actions=output:2
cookie=0x117,table=0,priority=200,in_port=5,ip,ip_dscp=10,nw_ecn=1,actions=set_field:20->ip_dscp,output:3
cookie=0x118,table=0,priority=201,in_port=5,udp6,udp_dst=53,ipv6_label=7,actions=output:1,output:2
cookie=0x119,table=0,priority=150,in_port=5,arp,arp_spa=10.0.0.0/24,arp_sha=02:00:00:00:00:05,actions=set_field:10.0.0.77->arp_spa,output:3
cookie=0x11a,table=0,priority=140,in_port=5,vlan_tci=0x1000/0x1000,actions=pop_vlan,output:1
cookie=0x11b,table=0,priority=130,in_port=5,ip,nw_dst=10.0.0.1/255.0.0.255,actions=output:2
cookie=0x11c,table=0,priority=100,in_port=5,dl_type=0x5678,actions=output:3,output:3
cookie=0x111,table=1,priority=10,metadata=0x7/0xf,ip,actions=set_field:02:00:00:00:00:99->eth_dst,set_field:10.9.9.9->ip_dst,output:3
cookie=0x112,table=1,priority=9,metadata=2,ip,nw_src=10.0.0.128/25,actions=write_actions(mod_dl_src:02:00:00:00:00:12,output:3),goto_table:2
cookie=0x113,table=1,priority=8,metadata=0x2,actions=output:2,output:3
cookie=0x121,table=2,priority=5,tcp,actions=write_actions(output:2)
cookie=0x122,table=2,priority=5,udp,actions=clear_actions
cookie=0x123,table=2,priority=5,icmp,actions=write_metadata:0
""",
    "s2": """
cookie=0x201,table=0,priority=100,in_port=4,dl_vlan=10,dl_vlan_pcp=3,actions=output:3,pop_vlan,output:1
cookie=0x202,table=0,priority=90,ip,dl_dst=02:00:00:00:00:99,nw_dst=10.9.9.9,actions=group:4,output:2
cookie=0x203,table=0,priority=95,ip,nw_dst=10.7.7.7,actions=group:5,output:3
cookie=0x204,table=0,priority=94,ip,dl_src=02:00:00:00:00:12,actions=group:6
cookie=0x205,table=0,priority=93,dl_src=02:00:00:00:00:11,actions=write_actions(set_field:02:00:00:00:00:13->eth_src,output:3)
cookie=0x206,table=0,priority=10,in_port=4,actions=output:3
cookie=0x207,table=0,priority=10,in_port=3,actions=output:4
cookie=0x208,table=0,priority=99,in_port=4,dl_vlan=34,actions=output:1,pop_vlan,goto_table:1
cookie=0x209,table=0,priority=200,ip,ip_dscp=20,actions=output:1
cookie=0x20a,table=0,priority=200,arp,arp_spa=10.0.0.77,actions=output:2
cookie=0x211,table=1,priority=5,dl_vlan=6,actions=output:2,pop_vlan,output:3
cookie=0x212,table=1,priority=4,vlan_tci=0,actions=drop
""",
    "s3": """
cookie=0x301,table=0,priority=50,dl_vlan=20,actions=pop_vlan,output:1,goto_table:1
cookie=0x302,table=0,priority=51,dl_vlan=10,dl_vlan_pcp=3,actions=output:2
cookie=0x303,table=0,priority=60,ip,nw_dst=10.8.8.8,actions=output:1,in_port
cookie=0x304,table=0,priority=40,dl_src=02:00:00:00:00:13,actions=output:2
cookie=0x305,table=0,priority=40,ipv6,ipv6_dst=2001:db8::99,actions=output:1
cookie=0x306,table=0,priority=41,vlan_tci=0x1000/0x1000,actions=output:2
cookie=0x307,table=0,priority=1,actions=output:1,output:2
cookie=0x311,table=1,priority=5,vlan_tci=0,tcp,actions=set_field:8080->tcp_dst,goto_table:2
cookie=0x321,table=2,priority=5,tcp,tcp_dst=8080,actions=output:2
""",
}

PACKETS_13 = [
    (1, ONE, "tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tcp_dst=80"),
    (1, TWO, "tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tcp_dst=80"),
    (1, ONE, "tcp,nw_src=10.0.0.200,nw_dst=10.0.0.2,tcp_dst=81"),
    (1, ONE, "udp,nw_src=10.0.0.200,nw_dst=10.0.0.2,udp_dst=81"),
    (1, ONE, "icmp,nw_src=10.0.0.200,nw_dst=10.0.0.2,icmp_type=5"),
    (1, ONE, "ip,nw_src=10.0.0.100,nw_dst=10.0.0.2"),
    (1, ONE, "ip,nw_src=10.0.0.100,nw_dst=10.0.1.255"),
    (1, ONE, "ip,nw_src=10.0.0.100,nw_dst=11.0.0.1"),
    (1, ONE, "tcp,dl_vlan=5,dl_vlan_pcp=2,nw_dst=10.0.0.2"),
    (1, TWO, "dl_vlan=6,dl_type=0x1234"),
    (1, TWO, "dl_vlan=7,dl_vlan_pcp=5,dl_type=0x1234"),
    (1, TWO, "dl_vlan=7,dl_vlan_pcp=4,dl_type=0x1234"),
    (1, ONE, "dl_dst=ff:ff:ff:ff:ff:ff,arp,arp_op=1,arp_spa=10.0.0.1,arp_tpa=10.0.0.2"),
    (1, ONE, "dl_dst=ff:ff:ff:ff:ff:ff,arp,arp_op=2,arp_spa=10.0.0.1,arp_tpa=10.0.0.2"),
    (1, ONE, "dl_dst=ff:ff:ff:ff:ff:ff,arp,arp_op=1,arp_spa=10.0.0.1,arp_tpa=10.0.0.9"),
    (1, ONE, "udp,nw_dst=10.0.0.2,udp_dst=53"),
    (1, ONE, "udp,nw_dst=10.0.0.2,udp_dst=54"),
    (1, ONE, "icmp,nw_dst=10.0.0.2,icmp_type=8"),
    (1, TWO, "icmp,nw_dst=10.0.0.2,icmp_type=8"),
    (1, ONE, "icmp,nw_dst=10.0.0.2,icmp_type=0"),
    (1, ONE, "icmp,nw_dst=10.0.0.2,icmp_type=3"),
    (1, ONE, "tcp6,ipv6_src=fe80::1,ipv6_dst=fe80::2,tcp_dst=80"),
    (1, ONE, "tcp6,ipv6_src=2001:db8::1,ipv6_dst=2001:db8::2,tcp_src=443"),
    (1, ONE, "tcp6,ipv6_src=2001:db8:8000::1,ipv6_dst=2001:db8::2,tcp_src=443"),
    (1, ONE, "dl_src=02:00:00:00:00:05,dl_dst=02:00:00:00:00:06,dl_type=0x1234"),
    (1, DEAD, "icmp6,icmpv6_type=135,nd_target=fe80::9"),
    (1, DEAD, "icmp6,icmpv6_type=135,nd_target=fe80::8"),
    (1, DEAD, "sctp,sctp_dst=7"),
    (1, DEAD, "sctp,sctp_dst=8"),
    (1, DEAD, "tcp,ip_dscp=10,nw_ecn=1"),
    (1, DEAD, "tcp,ip_dscp=10,nw_ecn=0"),
    (1, DEAD, "udp6,ipv6_label=7,udp_dst=53"),
    (1, DEAD, "udp6,ipv6_label=8,udp_dst=53"),
    (1, DEAD, "arp,arp_spa=10.0.0.255,arp_sha=02:00:00:00:00:05"),
    (1, DEAD, "arp,arp_spa=10.0.0.255,arp_sha=02:00:00:00:00:06"),
    (1, DEAD, "dl_vlan=0,dl_type=0x5678"),
    (1, DEAD, "ip,nw_dst=10.9.8.1"),
    (1, DEAD, "ip,nw_dst=10.9.8.2"),
    (1, DEAD, "dl_type=0x5678"),
    (1, RIGHT, "ip,nw_src=10.0.0.100,nw_dst=10.0.0.7"),
    (2, LEFT, "ip,nw_src=10.0.0.100,nw_dst=10.8.8.8"),
    (2, RIGHT, "tcp,nw_src=10.0.0.100,nw_dst=10.0.1.1,tcp_dst=80"),
    (2, LEFT, "dl_vlan=34,dl_type=0x1234"),
    (2, ONE, "dl_type=0x1234"),
    (3, LEFT, "tcp,dl_vlan=20,nw_dst=10.0.0.1,tcp_dst=80"),
    (3, LEFT, "udp,dl_vlan=20,nw_dst=10.0.0.1,udp_dst=80"),
]

# Table 2 has no flow for it, and its action set an output. The specification drops it (1.3.5 §5.4); Open vSwitch says "drop", and
# then carries the action set out.
DROPPED_13 = (1, ONE, "ip,nw_src=10.0.0.200,nw_dst=10.0.0.2,nw_proto=89")

FLOWS_10 = {
    "s1": """
cookie=0x101,priority=100,in_port=1,tcp,tp_dst=80,actions=mod_vlan_vid:10,mod_vlan_pcp:3,output:3
cookie=0x102,priority=90,ip,nw_dst=10.0.0.0/8,actions=output:2,mod_nw_dst:10.7.7.7,mod_dl_src:02:00:00:00:00:11,output:3
cookie=0x103,priority=95,dl_vlan=5,actions=strip_vlan,output:3
cookie=0x104,priority=80,arp,nw_dst=10.0.0.9,actions=CONTROLLER:65535
cookie=0x105,priority=85,arp,arp_op=2,actions=drop
cookie=0x106,priority=70,dl_dst=ff:ff:ff:ff:ff:ff,actions=FLOOD
cookie=0x107,priority=96,icmp,icmp_type=8,actions=output:1,output:2,output:3
cookie=0x108,priority=96,udp,tp_src=53,actions=mod_tp_src:54,mod_nw_tos:32,in_port,output:3
cookie=0x109,priority=60,dl_vlan=0xffff,dl_type=0x1234,actions=mod_vlan_pcp:4,output:3
""",
    "s2": """
cookie=0x201,priority=100,dl_vlan=10,dl_vlan_pcp=3,actions=strip_vlan,output:1,output:3
cookie=0x202,priority=100,ip,nw_dst=10.7.7.7,dl_src=02:00:00:00:00:11,actions=output:3
cookie=0x203,priority=101,udp,tp_src=54,nw_tos=32,actions=output:2
cookie=0x204,priority=99,dl_vlan=0,dl_vlan_pcp=4,actions=output:3
cookie=0x205,priority=9,in_port=4,actions=ALL
""",
    "s3": """
cookie=0x301,priority=100,tcp,dl_vlan=0xffff,actions=enqueue:1:0,output:2
cookie=0x302,priority=90,ip,nw_dst=10.7.0.0/16,actions=output:2
""",
}

PACKETS_10 = [
    (1, ONE, "tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tcp_dst=80"),
    (1, TWO, "tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tcp_dst=80"),
    (1, ONE, "udp,nw_src=10.0.0.1,nw_dst=10.255.255.255"),
    (1, ONE, "udp,nw_src=10.0.0.1,nw_dst=11.0.0.0"),
    (1, ONE, "udp,nw_src=10.0.0.1,nw_dst=11.0.0.0,udp_src=53"),
    (1, ONE, "tcp,dl_vlan=5,nw_dst=10.0.0.2"),
    (1, ONE, "dl_dst=ff:ff:ff:ff:ff:ff,arp,arp_op=1,arp_spa=10.0.0.1,arp_tpa=10.0.0.2"),
    (1, ONE, "dl_dst=ff:ff:ff:ff:ff:ff,arp,arp_op=1,arp_spa=10.0.0.1,arp_tpa=10.0.0.9"),
    (1, ONE, "dl_dst=ff:ff:ff:ff:ff:ff,arp,arp_op=2,arp_spa=10.0.0.1,arp_tpa=10.0.0.9"),
    (1, TWO, "icmp,nw_dst=10.0.0.2,icmp_type=8"),
    (1, TWO, "dl_type=0x1234"),
    (1, TWO, "dl_vlan=9,dl_type=0x1234"),
    (3, LEFT, "tcp,dl_vlan=20,nw_dst=10.0.0.1,tcp_dst=80"),
]


class Line(Topo):
    """Switches in a line, with three hosts each."""

    def build(self):
        for number in range(1, LENGTH + 1):
            self.addSwitch(f"s{number}")
            for port in (ONE, TWO, DEAD):
                self.addLink(self.addHost(f"h{number}x{port}"), f"s{number}", port2=port)
        for number in range(1, LENGTH):
            self.addLink(f"s{number}", f"s{number + 1}", RIGHT, LEFT, cls=OVSLink)


# Open vSwitch's words for a packet, and Aldis'.
KINDS = {"ip": "eth_type=0x0800", "ipv6": "eth_type=0x86dd", "arp": "eth_type=0x0806", "tcp": "eth_type=0x0800,ip_proto=6",
         "udp": "eth_type=0x0800,ip_proto=17", "icmp": "eth_type=0x0800,ip_proto=1", "tcp6": "eth_type=0x86dd,ip_proto=6",
         "udp6": "eth_type=0x86dd,ip_proto=17", "icmp6": "eth_type=0x86dd,ip_proto=58", "sctp": "eth_type=0x0800,ip_proto=132"}
NAMES = {"dl_src": "eth_src", "dl_dst": "eth_dst", "dl_type": "eth_type", "dl_vlan": "vlan_vid", "dl_vlan_pcp": "vlan_pcp",
         "nw_src": "ipv4_src", "nw_dst": "ipv4_dst", "nw_proto": "ip_proto", "icmp_type": "icmpv4_type", "nw_ecn": "ip_ecn",
         "nd_target": "ipv6_nd_target", "ipv6_label": "ipv6_flabel"}


def fields(packet):
    pairs = (word.split("=") for part in packet.split(",") for word in KINDS.get(part, part).split(","))
    return ",".join(f"{NAMES.get(name, name)}={value}" for name, value in pairs)


def by_aldis(dpid, port, packet):
    """The visits of switches, depth first: the switch, and the table and cookie of each decision; and where the packet comes out."""
    said = output(controller_command()[0], "trace", str(dpid), str(port), fields(packet), "--json")
    expect(said.startswith("{"), f"a trace of {packet}", said)
    answer, visits, outs = json.loads(said), [], []
    expect(not answer["cut"], f"the whole way of {packet}", said)

    def visit(place):
        hop = answer["hops"][place]
        switch = f"s{int(hop['switch'].split('+')[-1], 16)}"
        decided = [(table["table"], int(str(table["flow"]["cookie"]), 0) if table["flow"] else None) for table in hop["tables"]]
        visits.append((switch, decided))
        for out in hop["out"]:
            expect(not out["maybe"], "ways that are certain", out)
            if isinstance(out["to"], dict) and ("hop" in out["to"] or "loop" in out["to"]):
                visit(out["to"].get("hop", out["to"].get("loop")))
            else:
                outs.append("controller" if out["port"] == "controller" else f"{switch} {out['port']}")

    visit(0)
    return visits, outs


def places():
    """Each port of the datapath by its number there: the switch and the port."""
    text, found, bridge = output("ovs-appctl", "dpif/show"), {}, None
    for line in text.splitlines():
        if named := re.match(r"\s+(\w+):$", line):
            bridge = named[1]
        elif port := re.match(r"\s+(\S+) (\d+)/(\d+):", line):
            found[port[3]] = f"{bridge} {'local' if port[1] == bridge else port[2]}"
    return found


def datapath_outputs(actions):
    """Numbers of ports in actions of the datapath, in order, and the controller."""
    outs, rest = [], actions.replace("clone(", ",").strip()
    while rest:
        word = re.match(r"[\w:]*", rest)[0]
        rest = rest[len(word):]
        depth, inside = 0, ""
        while rest and (depth or rest[0] == "("):
            depth += {"(": 1, ")": -1}.get(rest[0], 0)
            inside, rest = inside + rest[0], rest[1:]
        if word.isdigit():
            outs.append(word)
        elif "controller(" in inside:
            outs.append("controller")
        rest = rest[1:] if rest[:1] in (",", ")") else rest
        expect(re.match(r"[\w,)(]|$", rest), "actions of a datapath", actions)
    return outs


def by_ovs(dpid, port, packet):
    """The same by Open vSwitch, and its words."""
    said = output("ovs-appctl", "ofproto/trace", f"s{dpid}", f"in_port={port},{packet}")
    visits = []
    for line in said.splitlines():
        if bridge := re.match(r'\s*bridge\("(\w+)"\)', line):
            visits.append((bridge[1], []))
        elif table := re.match(r"\s*(\d+)\. (.*)", line):
            cookie = re.search(r"cookie (0x[0-9a-f]+)", table[2])
            # Where nothing matches and packets go to the controller it names a rule of its own, by a register.
            missed = table[2].startswith(("No match", "reg0="))
            visits[-1][1].append((int(table[1]), None if missed else int(cookie[1], 16) if cookie else 0))
    actions = re.search(r"^Datapath actions: (.*)$", said, re.MULTILINE)
    expect(actions, "a trace of Open vSwitch's", said)
    known = places()
    return visits, [known.get(out, out) for out in datapath_outputs(actions[1])], said


def trace(version, lab):
    """Tables, deciding flows, and ports are those that Open vSwitch's own trace names, for each of a list of packets."""
    lab.start_controller("--apps", "topology")
    net = lab.start_network(Line(), version)
    output(*TWO_TAGS)
    flows, packets = (FLOWS_10, PACKETS_10) if version == "OpenFlow10" else (FLOWS_13, PACKETS_13)
    for switch in net.switches:
        # Ports without a link are no way out to Aldis; Open vSwitch hands packets to them all the same, if only to lose them. So none
        # that packets are sent to is down.
        output("ip", "link", "set", switch.name, "up")
    if version == "OpenFlow13":
        net.get(f"h2x{DEAD}").cmd(f"ip link set h2x{DEAD}-eth0 down")
    for switch, lines in flows.items():
        said = [output("ovs-ofctl", "-O", version, "add-group", switch, group)
                for group in GROUPS.get(switch, []) if version != "OpenFlow10"]
        said += [output("ovs-ofctl", "-O", version, "add-flow", switch, line) for line in lines.split("\n") if line]
        expect(not "".join(said), "no word against a flow or a group", "".join(said))
    wait_until("the links of the line", lambda: str(links()[1]).count("'up'") >= LENGTH - 1, seen=links)
    wait_until("the states of ports", lambda: down_ports() == ([(2, DEAD)] if version == "OpenFlow13" else []), seen=down_ports)
    wrong, met = [], set()
    for dpid, port, packet in packets:
        (visits, outs), (theirs, their_outs, said) = by_aldis(dpid, port, packet), by_ovs(dpid, port, packet)
        met |= {cookie for _, tables in visits for _, cookie in tables}
        # It floods in an order of its own.
        if (visits, sorted(outs)) != (theirs, sorted(their_outs)):
            wrong.append(f"s{dpid} {port} {packet}\n  Open vSwitch {theirs} {their_outs}\n  Aldis        {visits} {outs}\n{said}")
    if wrong:
        raise Failure("expected: the way that Open vSwitch says\nseen:     " + "\n".join(wrong))
    never = {int(cookie, 16) for lines in flows.values() for cookie in re.findall(r"cookie=(\w+)", lines)} - met
    expect(not never, "a packet for each flow", [hex(cookie) for cookie in never])
    if version == "OpenFlow13":
        ours, theirs = by_aldis(*DROPPED_13), by_ovs(*DROPPED_13)
        expect(ours == (theirs[0][:1], []), "what a later table has no flow for is dropped there", (ours, theirs))


def links():
    return ask("/api/v1/links")


def down_ports():
    """Ports that the controller knows to be down: the switch and the number."""
    return [(switch, port["number"]) for switch in range(1, LENGTH + 1)
            for port in ask(f"/api/v1/switches/{switch}/ports")[1]["items"] if not port["up"]]


def all_of_them(versions):
    """Pairs of a name and a function of a `Lab`."""
    for version in versions:
        yield f"trace {version}", functools.partial(trace, version)
