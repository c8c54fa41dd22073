"""What a network on this controller must do. Each scenario is a function of a fresh `Lab`; its docstring is its claim."""

import functools
import re
import signal
import subprocess
import time

from mininet.topo import LinearTopo, SingleSwitchTopo, Topo
from mininet.topolib import TorusTopo, TreeTopo

import books
import catalogue
import doctor
import full
import guests
import kept
import movers
import proxies
import recorded
import rest
import sandboxed
import secure
import topologies
import traced
from broadcasts import Listeners
from lab import PORT, Failure, Ping, Process, controller_command, expect, output, wait_until
from lab import probe as send_probe

# Message types, the same numbers in both versions.
PACKET_OUT, FLOW_MOD = "13", "14"

# From a switch's connection to ten answered pings, ten a second: a second of them, and as much for the handshake.
COMES_BACK_S = 3

VERSIONS = ("OpenFlow10", "OpenFlow13")

# After this time it is known what all ports of a network lead to.
FOUND_OUT_S = 2

# Broadcasts whose copies are counted.
BROADCASTS = 20
TOPOLOGIES = {"single,8": lambda: SingleSwitchTopo(8), "linear,4": lambda: LinearTopo(4),
              "tree,2,3": lambda: TreeTopo(2, 3)}


def all_of_them():
    """Pairs of a name and a function of a `Lab`."""
    for name, topology in TOPOLOGIES.items():
        for version in VERSIONS:
            yield f"pingall {name} {version}", functools.partial(pingall, topology, version)
    for version in VERSIONS:
        yield f"another_network {version}", functools.partial(another_network, version)
    for body in (torus, torus_cut, iperf, port_down, host_moved, host_moved_and_believed, controller_killed, vswitchd_restarted,
                 bridge_replaced, decoded, decoded_learning_switch, discovered):
        for version in VERSIONS:
            yield f"{body.__name__} {version}", functools.partial(body, version)
    yield from books.all_of_them(VERSIONS)
    yield from catalogue.all_of_them(VERSIONS)
    yield from doctor.all_of_them(VERSIONS)
    yield from full.all_of_them(VERSIONS)
    yield from guests.all_of_them(VERSIONS)
    yield from kept.all_of_them(VERSIONS)
    yield from movers.all_of_them(VERSIONS)
    yield from proxies.all_of_them(VERSIONS)
    yield from recorded.all_of_them(VERSIONS)
    yield from rest.all_of_them(VERSIONS)
    yield from sandboxed.all_of_them(VERSIONS)
    yield from secure.all_of_them(VERSIONS)
    yield from traced.all_of_them(VERSIONS)
    for design in designs():
        yield f"design {design}", functools.partial(works_under, design)
    yield "probe", probe
    yield "clean_stop", clean_stop


def everyone_reaches_everyone(net):
    loss = net.pingAll()
    expect(loss == 0, "pingall without loss, on the first try", f"{loss} % lost")


def pingall(topology, version, lab):
    """Every host reaches every other, on the first try."""
    lab.start_controller()
    everyone_reaches_everyone(lab.start_network(topology(), version))


def another_network(version, lab):
    """Every built-in topology after every other at one controller, with the same datapath ids: each works as if it were the first."""
    lab.start_controller()
    names = list(topologies.BUILT_IN)
    for place, name in enumerate(names if version == VERSIONS[0] else reversed(names)):
        net = lab.start_network(topologies.BUILT_IN[name](), version)
        # Every other one pings at once, while floods go by every port. The rest waits until those come to an end: then pings
        # need the links.
        time.sleep(FOUND_OUT_S * (place % 2))
        loss = net.pingAll()
        expect(loss == 0, f"pingall of {name} without loss, on the first try", f"{loss} % lost")
        lab.stop_network()
    doubts = [line for line in lab.controller_log().splitlines() if "prove" in line]
    expect(not doubts, "no link that has to prove itself", "\n".join(doubts))


def torus(version, lab):
    """In a network full of loops every host reaches every other on the first try, and sees each broadcast once."""
    lab.start_controller()
    net = lab.start_network(TorusTopo(3, 3), version)
    everyone_reaches_everyone(net)
    listeners = Listeners(net.hosts)
    for number in range(BROADCASTS):
        listeners.send(net.hosts[number % len(net.hosts)], number)
    seen = listeners.finish(BROADCASTS)
    expect(all(set(copies.values()) <= {1} for copies in seen.values()), "one copy of each broadcast at each host", seen)
    everyone_reaches_everyone(net)


def torus_cut(version, lab):
    """A link that a ping goes over is cut: the ping goes on, by another way."""
    lab.start_controller()
    net = lab.start_network(TorusTopo(3, 3), version)
    everyone_reaches_everyone(net)
    first, second = net.get("h1x1"), net.get("h1x2")
    beside = Ping(first, second)
    beside.wait_replies(10)
    link = net.linksBetween(net.get("s1x1"), net.get("s1x2"))[0]
    for state in ("down", "up"):
        before, start = beside.replies()[-1], time.monotonic()
        output("ip", "link", "set", link.intf1.name, state)
        wait_until("the ping is answered again", lambda before=before: beside.replies()[-1] > before + 1,
                   seen=lambda: beside.text[-400:])
        print(f"{version}: link {state}, two answers within {time.monotonic() - start:.2f} s", flush=True)
        beside.wait_replies(10)
    print(f"{version}: pings without an answer: {beside.finish()}", flush=True)
    everyone_reaches_everyone(net)


def designs():
    """The names of the workload distributions, as the controller lists them."""
    listed = output(*controller_command()[:1], "designs")
    names = re.findall(r"^([a-z-]+) .* KB ", listed, re.MULTILINE)
    return names or ["(none: " + listed.strip()[:80] + ")"]


def works_under(design, lab):
    """Two switches, three workers, and whatever the design: every host reaches every other, in both versions."""
    for version in VERSIONS:
        lab.start_controller("--design", design, "--workers", "3")
        net = lab.start_network(LinearTopo(2), version)
        everyone_reaches_everyone(net)
        lab.end_network()


def packets(flow):
    return int(re.search(r"n_packets=(\d+)", flow).group(1))


def iperf(version, lab):
    """TCP runs between two hosts; the switches carry it with flows of their own, and count it."""
    lab.start_controller()
    net = lab.start_network(LinearTopo(2), version)
    first, last = net.hosts
    server = last.popen(["iperf", "-s"], stdout=subprocess.DEVNULL)
    wait_until("iperf's server listens", lambda: ":5001" in last.cmd("ss -ltn"))
    report = first.cmd(f"iperf -y C -t 2 -c {last.IP()}")
    server.terminate()
    fields = report.strip().split(",")
    expect(len(fields) > 8 and int(fields[8]) > 1_000_000, "more than 1 Mbit/s", report)
    for switch in net.switches:
        # Each direction has its flow; Open vSwitch brings the counters up to date once a second.
        wait_until(f"two flows on {switch} that counted the transfer",
                   lambda switch=switch: sum(packets(flow) > 100 for flow in lab.flows(switch, version)) >= 2,
                   seen=lambda switch=switch: "\n".join(lab.flows(switch, version)))


def to_port(flows, port):
    return [flow for flow in flows if re.search(rf'output:("?[\w-]*eth)?{port}\b', flow)]


def from_port(flows, port):
    return [flow for flow in flows if re.search(rf'in_port=("?[\w-]*eth)?{port}\b', flow)]


def port_down(version, lab):
    """When a port goes down the flows to it and from it go too; the others stay; when it is back, so is its host."""
    lab.start_controller()
    net = lab.start_network(SingleSwitchTopo(3), version)
    everyone_reaches_everyone(net)
    switch = net.switches[0]
    flows = functools.partial(lab.flows, switch, version)
    # What a flow is for and does, without its counters.
    of = lambda: {flow[flow.index("in_port="):] for flow in flows() if "in_port=" in flow}  # noqa: E731
    others = lambda: {flow for flow in of() if not (from_port([flow], 2) or to_port([flow], 2))}  # noqa: E731
    before = others()
    expect(of() - before and before, "flows of port 2, and of others", "\n".join(flows()))
    set_port(f"{switch}-eth2", "down")
    wait_until("no flow of port 2 any more", lambda: not of() - others(), seen=lambda: "\n".join(flows()))
    expect(before <= others(), "the flows of others untouched", "\n".join(flows()))
    set_port(f"{switch}-eth2", "up")
    everyone_reaches_everyone(net)


def set_port(interface, state):
    """Takes a port down or up, and waits until the switch has noticed."""
    output("ip", "link", "set", interface, state)
    output("ovs-vsctl", "--timeout=15", "wait-until", "interface", interface, f"link_state={state}")


class TwoHomes(Topo):
    """Two hosts on a switch; the first has a second cable to it."""

    def build(self):
        switch = self.addSwitch("s1")
        mover, other = self.addHost("h1"), self.addHost("h2")
        for host in (mover, other, mover):
            self.addLink(host, switch)


def host_moved(version, lab):
    """A learning switch follows a host that appears behind another port at once, though its old port stays up."""
    lab.start_controller("--apps", "learning-switch")
    net = lab.start_network(TwoHomes(), version)
    mover, other = net.hosts
    mover.cmd("ip link set h1-eth1 down")
    beside = Ping(other, mover)
    beside.wait_replies(5)
    move(mover)
    # It says where it is, as a machine does when its network comes up.
    report = mover.cmd(f"ping -n -c 5 -i 0.2 -W 2 {other.IP()}")
    # A switch needs some milliseconds to forget the old way, and what it sends there meanwhile is lost.
    expect(re.search("[45] received", report), "at least four of five pings of the moved host answered", report)
    beside.wait_replies(10)
    beside.finish()
    flows = lab.flows("s1", version)
    expect(to_port(flows, 3), "flows to the new port", "\n".join(flows))


def move(mover):
    """The same machine, with its addresses, at the end of the other cable."""
    address, mac = mover.IP(), mover.MAC()
    mover.cmd("ip addr flush dev h1-eth0; ip link set h1-eth0 down; ip link set h1-eth0 address 02:00:00:00:00:99;"
              " ip link set h1-eth0 up")
    mover.cmd(f"ip link set h1-eth1 address {mac}; ip addr add {address}/8 dev h1-eth1; ip link set h1-eth1 up")


def host_moved_and_believed(version, lab):
    """By default such a host is followed once it does not answer at its old port, and its paths go with it."""
    lab.start_controller()
    net = lab.start_network(TwoHomes(), version)
    mover, other = net.hosts
    mover.cmd("ip link set h1-eth1 down")
    beside = Ping(other, mover)
    beside.wait_replies(5)
    move(mover)
    from_mover = Ping(mover, other)
    from_mover.wait_replies(5)
    beside.wait_replies(10)
    flows = lab.flows("s1", version)
    expect(to_port(flows, 3), "flows to the new port", "\n".join(flows))
    for ping in (from_mover, beside):
        ping.finish()


def controller_killed(version, lab):
    """kill -9 and a new start: established flows lose nothing, new ones no more than the gap."""
    lab.start_controller()
    net = lab.start_network(SingleSwitchTopo(3), version)
    first, second, third = net.hosts
    established = Ping(first, second)
    established.wait_replies(10)
    start, mark = time.monotonic(), lab.mark()
    lab.controller.kill()
    lab.wait_disconnected(mark)
    new = Ping(third, second)
    established.wait_replies(10)
    mark = lab.mark()
    lab.start_controller()
    lab.wait_connected(mark)
    gap_s = time.monotonic() - start
    new.wait_replies(10)
    established.wait_replies(10)
    lost = established.finish()
    expect(not lost, "no ping of an established flow lost", f"lost {lost}")
    lost = new.finish()
    # The kernel asks again for an address only once a second, and up to that much may pass after the gap.
    most = (gap_s + 1) / Ping.INTERVAL_S
    expect(len(lost) <= most, f"at most the {most:.0f} pings of the gap lost", f"{len(lost)} lost")
    everyone_reaches_everyone(net)


def vswitchd_restarted(version, lab):
    """The switches' daemon is killed and comes back, without its flows: traffic comes back by itself."""
    lab.start_controller()
    net = lab.start_network(LinearTopo(2), version)
    beside = Ping(*net.hosts)
    beside.wait_replies(5)
    mark = lab.mark()
    lab.vswitchd.kill()
    lab.start_vswitchd()
    lab.wait_connected(mark)
    comes_back(net, beside)


def comes_back(net, beside):
    """The ping that ran all the while is answered again, and then every host reaches every other."""
    beside.wait_replies(10, COMES_BACK_S)
    beside.finish()
    everyone_reaches_everyone(net)


def bridge_replaced(version, lab):
    """A bridge is deleted and made again with the same datapath id, as when a switch reboots."""
    lab.start_controller()
    net = lab.start_network(LinearTopo(2), version)
    beside = Ping(*net.hosts)
    beside.wait_replies(5)
    switch, mark = net.switches[0], lab.mark()
    switch.stop(deleteIntfs=False)
    switch.start(net.controllers)
    lab.wait_connected(mark, [switch])
    comes_back(net, beside)


def decoded(version, lab):
    """Others understand what the controller sends: tshark finds nothing malformed, ovs-ofctl no decode error."""
    decoded_from(version, lab)


def decoded_learning_switch(version, lab):
    """The same in the papers' setting."""
    decoded_from(version, lab, "--apps", "learning-switch")


def decoded_from(version, lab, *options):
    capture = lab.path("lo.pcap")
    # The file is another user's to tcpdump, which gives up root; -U writes each packet as it is seen.
    tcpdump = Process(["tcpdump", "-Z", "root", "-U", "--immediate-mode", "-B", "8192", "-i", "lo", "-s", "0", "-w", capture,
                       f"tcp port {PORT}"], lab.path("tcpdump.log"))
    with_log = functools.partial(output, "cat", lab.path("tcpdump.log"))
    wait_until("tcpdump listens", lambda: "listening on" in with_log(), seen=with_log)
    try:
        lab.start_controller(*options)
        net = lab.start_network(SingleSwitchTopo(3), version)
        everyone_reaches_everyone(net)
        set_port("s1-eth2", "down")
        wait_until("no flow to port 2 any more", lambda: not to_port(lab.flows("s1", version), 2))
    finally:
        tcpdump.stop()
    understood_by_tshark(capture)
    understood_by_ovs(capture)


def understood_by_tshark(capture):
    def shark(only, *fields):
        fields = [part for field in ("frame.number", *fields) for part in ("-e", field)]
        rows = output("tshark", "-n", "-r", capture, "-d", f"tcp.port=={PORT},openflow", "-Y",
                      f"tcp.srcport == {PORT} && {only}", "-T", "fields", *fields)
        return [row.split("\t") for row in rows.splitlines() if row[:1].isdigit()]

    types = {kind for row in shark("(openflow_v1 || openflow_v4)", "openflow_1_0.type", "openflow_v4.type")
             for kind in ",".join(row[1:]).split(",")}
    expect({FLOW_MOD, PACKET_OUT} <= types, "a FLOW_MOD and a PACKET_OUT in tshark's words", types)
    # Of a PACKET_OUT of 1.0 tshark reads one action and takes a second one for the frame; ovs-ofctl reads them all.
    of_more = "openflow_1_0.type == 13 && openflow.actions_len > 8"
    malformed = shark(f"_ws.malformed && !({of_more})", "openflow_1_0.type", "openflow.length", "_ws.expert.message")
    expect(not malformed, "nothing malformed to tshark", malformed)


def understood_by_ovs(capture):
    printed = output("ovs-ofctl", "ofp-parse-pcap", capture, str(PORT))
    messages = re.split(r"\n(?=\S+ > \S+:\n)", printed)
    ours = [message for message in messages if re.match(rf"\S+\.{PORT} > ", message)]
    for kind in ("OFPT_HELLO", "OFPT_FEATURES_REQUEST", "OFPT_SET_CONFIG", "OFPT_FLOW_MOD", "OFPT_PACKET_OUT"):
        expect(any(kind in message for message in ours), f"an {kind} in ovs-ofctl's words", printed[-2000:])
    wrong = [message for message in ours if "***" in message or not re.search(r"^(OFPT|OFPST|NXT)\w+", message, re.MULTILINE)]
    expect(not wrong, "no decode error to ovs-ofctl", "\n".join(wrong[:5]))


def discovered(version, lab):
    """The links of a torus are found, each of them and no other; one that is cut is gone; every host is seen where it is."""
    lab.start_controller("--apps", "topology,hosts")
    net = lab.start_network(TorusTopo(3, 3), version)
    real = {link_of(link) for link in net.links} - {None}
    expect(len(real) == 18, "18 links in the network", real)
    found = functools.partial(links_told, lab)
    wait_until("the links of the network", lambda: found() == real, seen=found)
    for host in net.hosts:
        # No host answers: no flow leads anywhere. The question is enough to be seen.
        host.cmd(f"ping -n -c 1 -W 0.2 {net.hosts[0].IP() if host is not net.hosts[0] else net.hosts[1].IP()}")
        place = end_of(host.defaultIntf().link, host)
        # The log lists no more than ten hosts a second.
        wait_until(f"{host} at {place}", lambda host=host, place=place: (host.MAC(), place) in hosts_known(),
                   seen=hosts_known)
    link = next(link for link in net.links if link_of(link))
    gone = link_of(link)
    set_port(link.intf1.name, "down")
    wait_until("one link less", lambda: found() == real - {gone}, seen=found)
    set_port(link.intf1.name, "up")
    wait_until("the link again", lambda: found() == real, seen=found)


def place_of(interface):
    """A port of a switch, as the controller writes it; none of a host."""
    switch = interface.node
    return f"{int(switch.dpid, 16):016x}/{switch.ports[interface]}" if hasattr(switch, "dpid") else None


def end_of(link, host):
    """The port of a switch that a host is plugged into."""
    return place_of(link.intf1 if link.intf2.node is host else link.intf2)


def link_of(link):
    """A link between two switches, by its ends, the lower one first."""
    ends = [place_of(link.intf1), place_of(link.intf2)]
    # As the controller orders them: by switch, and then by number.
    return None if None in ends else " - ".join(sorted(ends, key=lambda end: (end[:16], int(end[17:]))))


def hosts_known():
    """The hosts that the controller knows, with their places as it writes them."""
    _, page = rest.ask("/api/v1/hosts")
    return {(host["mac"], f"{host['dpid']}/{host['port']}") for host in page["items"]}


def links_told(lab):
    """The links that are up, by what the controller said of them."""
    up = set()
    for link, state in re.findall(r"topology: the link (\S+ - \S+) (.*)", lab.controller_log()):
        (up.add if state == "is up" else up.discard)(link)
    return up


def probe(lab):
    """Mininet looks for a controller like telnet does: connect, a byte, drop. The connection ends there; it is no error."""
    lab.start_controller()
    for payload in (b"A", b"", b"A\r\n"):
        send_probe(payload)
    wait_until("the controller lets go of the probes' connections", lambda: "CLOSE-WAIT" not in sockets(), 3, seen=sockets)
    everyone_reaches_everyone(lab.start_network(SingleSwitchTopo(2), "OpenFlow13"))
    complaints = [line for line in lab.controller_log().splitlines() if re.search(r"\b(ERROR|WARN|panicked)\b", line)]
    expect(not complaints, "no warning and no error in the log", "\n".join(complaints))


def sockets():
    return output("ss", "-tan", f"( sport = :{PORT} )")


def clean_stop(lab):
    """Ctrl-C ends it at once, with a switch connected, and with status 0."""
    controller = lab.start_controller()
    lab.start_network(SingleSwitchTopo(2), "OpenFlow13")
    controller.child.send_signal(signal.SIGINT)
    try:
        status = controller.child.wait(5)
    except subprocess.TimeoutExpired:
        raise Failure("expected: an end within 5 s of SIGINT\nseen:     still running") from None
    expect(status == 0, "exit status 0", f"exit status {status}")
