"""Guests: other controllers, each in a process of its own, to which switches of Open vSwitch are presented. Functions of a fresh
`Lab`."""

import functools
import json
import os
import shutil
import signal
import sys

from mininet.topo import LinearTopo, SingleSwitchTopo

from lab import PORT as LISTEN
from lab import ROOT, Ping, Process, controller_command, expect, listens, output, wait_until

# Where the first guest listens, and the next.
PORT = 6701
# A Python with aldis-ryu: `cargo xtask e2e` makes it.
PYTHON = os.path.join(ROOT, "target/ryu/bin/python")
# The programs of a Python with Faucet, from the same.
FAUCET = os.path.join(ROOT, "target/faucet/bin")
# Upper half of the cookie of every flow of an application.
MARK = "cookie=0xa1d1"


def guest(*words):
    """What `aldis guest` says."""
    return output(controller_command()[0], "guest", *words)


def state(name):
    said = guest("show", name, "--json")
    try:
        return json.loads(said)
    except ValueError:
        return {"state": said}


def serves(name):
    wait_until(f"the guest {name} serves", lambda: state(name)["state"] == "serving", seen=lambda: guest("show", name))


def learning_switch(lab, port):
    """Another controller: Aldis itself, with the application of the papers."""
    process = Process([*controller_command(), "--listen", f"127.0.0.1:{port}", "--http", "off", "--apps", "learning-switch"],
                      lab.path(f"guest-{port}.log"))
    wait_until(f"the guest listens on {port}", lambda: listens(port))
    return process


def comes_and_goes(version, lab):
    """A guest carries a network whose controller forwards nothing itself; what it installed goes with it."""
    lab.start_controller("--apps", "topology")
    net = lab.start_network(LinearTopo(3), version)
    one, two, _ = net.hosts
    expect(net.pingAll(timeout="1") == 100, "no ping answered", "answers without an application that forwards")
    process = learning_switch(lab, PORT)
    try:
        guest("add", "lecture", "--connect", f"127.0.0.1:{PORT}")
        serves("lecture")
        said = output(controller_command()[0], "trace", "1", "1", "eth_type=0x88b5,eth_dst=02:00:00:00:00:99")
        expect("the controller, which asks lecture" in said, "the guest that decides", said)
        expect(net.pingAll() == 0, "pingall without loss", guest("show", "lecture"))
        flows = lab.flows("s1", version)
        expect(flows and all(MARK in flow for flow in flows), "flows with the mark of the guest", flows)
        said = guest("pause", "lecture")
        expect("paused" in said, "paused", said)
        guest("resume", "lecture")
        serves("lecture")
        Ping(one, two).wait_replies(3)
        # Its end is no end of the switches.
        mark = lab.mark()
        process.kill()
        wait_until("the guest is away", lambda: state("lecture")["state"] == "away", seen=lambda: guest("show", "lecture"))
        expect(not lab.connections(mark), "switches that stay connected", lab.connections(mark))
        process = learning_switch(lab, PORT)
        serves("lecture")
        expect(net.pingAll() == 0, "pingall without loss", guest("show", "lecture"))
        said = guest("remove", "lecture")
        expect("lecture" not in said, "no such guest", said)
        wait_until("its flows are gone", lambda: not lab.flows("s1", version), seen=lambda: lab.flows("s1", version))
    finally:
        process.kill()


def slices(version, lab):
    """Two guests with two ports each: each network is whole, and nothing passes between them."""
    lab.start_controller("--apps", "topology")
    net = lab.start_network(SingleSwitchTopo(4), version)
    processes = [learning_switch(lab, PORT), learning_switch(lab, PORT + 1)]
    try:
        for name, port, ports in (("red", PORT, "1-2"), ("blue", PORT + 1, "3-4")):
            guest("add", name, "--connect", f"127.0.0.1:{port}", "--ports", ports)
            serves(name)
        refused = guest("add", "green", "--connect", f"127.0.0.1:{PORT}", "--ports", "2-3")
        expect("green" in refused and ("red" in refused or "blue" in refused), "a refusal with both names", refused)
        hosts = net.hosts
        for pair in (hosts[:2], hosts[2:]):
            expect(net.ping(pair) == 0, "pings within a slice", "losses")
        for pair in ([hosts[0], hosts[2]], [hosts[1], hosts[3]]):
            expect(net.ping(pair, timeout=1) == 100, "no ping between slices", "answers")
        flows = lab.flows("s1", version)
        expect(flows and all("in_port" in flow for flow in flows), "flows of a port each", flows)
    finally:
        for process in processes:
            process.kill()


def of_open_vswitch(version, lab):
    """The controller that comes with Open vSwitch, behind rules of ours."""
    if not shutil.which("ovs-testcontroller"):
        # Debian does not install it with the switch.
        return
    lab.start_controller("--apps", "acl,topology")
    net = lab.start_network(SingleSwitchTopo(3), version)
    process = Process(["ovs-testcontroller", f"ptcp:{PORT}:127.0.0.1", "--log-file=" + lab.path("testcontroller.log")],
                      lab.path("testcontroller.out"))
    try:
        wait_until("the guest listens", lambda: listens(PORT))
        guest("add", "ovs", "--connect", f"127.0.0.1:{PORT}")
        serves("ovs")
        expect(net.pingAll() == 0, "pingall without loss", guest("show", "ovs"))
        expect(state("ovs")["counts"]["faults"] == 0, "no fault", guest("show", "ovs"))
    finally:
        process.kill()


def of_ryu(program, lab):
    """`aldis ryu`: Ryu's learning switch, unchanged, carries the network; where its process ends it is started again."""
    os.environ["PYTHONPATH"] = os.path.join(ROOT, "sdk/ryu")
    aldis = controller_command()[0]
    lab.controller = Process([aldis, "ryu", "--python", PYTHON, program], lab.path("controller.log"))
    wait_until("the controller listens", lambda: listens(LISTEN), seen=lab.controller_log)
    net = lab.start_network(LinearTopo(3), "OpenFlow13")
    serves("ryu")
    expect(net.pingAll() == 0, "pingall without loss", guest("show", "ryu"))
    flows = lab.flows("s1", "OpenFlow13")
    expect(flows and all(MARK in flow for flow in flows), "flows with the mark of the guest", flows)
    wait_until("its log with ours", lambda: "aldis-ryu: switch 0000000000000001 connected" in lab.controller_log(),
               seen=lab.controller_log)
    child = output("pgrep", "-f", "aldis_ryu --listen").split()
    expect(len(child) == 1, "one process of Ryu", child)
    os.kill(int(child[0]), signal.SIGKILL)
    wait_until("it is away", lambda: state("ryu")["state"] == "away", seen=lambda: guest("show", "ryu"))
    serves("ryu")
    expect(net.pingAll() == 0, "pingall without loss after a restart", guest("show", "ryu"))
    lab.controller.stop()
    wait_until("no process of Ryu", lambda: not output("pgrep", "-f", "aldis_ryu --listen").split())


# Three ports of one VLAN, as Faucet's first tutorial has them.
OFFICE = """
vlans:
  office:
    vid: 100
dps:
  sw1:
    dp_id: 0x1
    hardware: "Open vSwitch"
    interfaces:
      1: {native_vlan: office}
      2: {native_vlan: office}
      3: {native_vlan: office}
"""


def of_faucet(lab):
    """Faucet, with its four tables; what it had in place of the flow for packets that match nothing goes with it."""
    for name, value in (("faucet.yaml", OFFICE), ("faucet.log", ""), ("faucet-exceptions.log", "")):
        with open(lab.path(name), "w", encoding="utf-8") as file:
            file.write(value)
    os.environ.update(FAUCET_CONFIG=lab.path("faucet.yaml"), FAUCET_LOG=lab.path("faucet.log"),
                      FAUCET_EXCEPTION_LOG=lab.path("faucet-exceptions.log"), PATH=FAUCET + ":" + os.environ["PATH"])
    lab.start_controller("--apps", "topology")
    net = lab.start_network(SingleSwitchTopo(3), "OpenFlow13")
    process = Process([os.path.join(FAUCET, "faucet"), "--ryu-ofp-tcp-listen-port", str(PORT), "--ryu-ofp-listen-host",
                       "127.0.0.1"], lab.path("faucet.out"))
    try:
        wait_until("Faucet listens", lambda: listens(PORT), seconds=40)
        guest("add", "faucet", "--connect", f"127.0.0.1:{PORT}")
        serves("faucet")
        wait_until("flows in its last table", lambda: any("table=3" in flow for flow in lab.flows("s1", "OpenFlow13")),
                   seen=lambda: lab.flows("s1", "OpenFlow13"))
        expect(net.pingAll() == 0, "pingall without loss", guest("show", "faucet"))
        expect(state("faucet")["counts"]["refused"] == 0, "nothing refused", guest("show", "faucet"))
        guest("remove", "faucet")
        there = output("ovs-ofctl", "-O", "OpenFlow13", "dump-flows", "s1")
        expect("priority=0 actions=CONTROLLER" in there and "table=3" not in there, "the flow for the controller", there)
    finally:
        process.kill()


FIREWALL = """
from ryu.base import app_manager
from ryu.controller import ofp_event
from ryu.controller.handler import CONFIG_DISPATCHER, set_ev_cls
from ryu.ofproto import ofproto_v1_3


class Firewall(app_manager.RyuApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def joined(self, event):
        datapath = event.msg.datapath
        match = datapath.ofproto_parser.OFPMatch(eth_type=0x0800, ip_proto=6, tcp_dst=22)
        flow = datapath.ofproto_parser.OFPFlowMod(datapath, priority=60000, match=match)
        datapath.send_msg(flow)
"""


def in_front_of_routing(lab):
    """The first example of docs/guests.md: Ryu's application drops, and the default applications carry the rest."""
    with open(os.path.join(ROOT, "docs/guests.md"), encoding="utf-8") as page:
        expect(FIREWALL.strip() in page.read(), "the firewall of the page", "another")
    with open(lab.path("firewall.py"), "w", encoding="utf-8") as program:
        program.write(FIREWALL)
    os.environ["PYTHONPATH"] = os.path.join(ROOT, "sdk/ryu")
    lab.start_controller()
    net = lab.start_network(LinearTopo(3), "OpenFlow13")
    process = Process([PYTHON, "-m", "aldis_ryu", "--listen", f"127.0.0.1:{PORT}", lab.path("firewall.py")],
                      lab.path("ryu.log"))
    try:
        wait_until("Ryu listens", lambda: listens(PORT), seen=lambda: open(lab.path("ryu.log"), encoding="utf-8").read())
        guest("add", "firewall", "--connect", f"127.0.0.1:{PORT}", "--observe", "--priorities", "60000-65535")
        serves("firewall")
        expect(net.pingAll() == 0, "pingall without loss", guest("show", "firewall"))
        one, _, three = net.hosts
        for port in (22, 23):
            three.cmd(f"{sys.executable} -m http.server {port} > /dev/null 2>&1 &")
        def answers(port):
            return "yes" in one.cmd(f"{sys.executable} -c \"import socket; socket.create_connection(('10.0.0.3', {port}), 3); "
                                    "print('yes')\"")

        wait_until("port 23 answers", lambda: answers(23))
        expect(not answers(22), "nothing of port 22", "an answer")
    finally:
        process.kill()


def all_of_them(versions):
    for body in (comes_and_goes, slices, of_open_vswitch):
        for version in versions:
            yield f"guest_{body.__name__} {version}", functools.partial(body, version)
    yield "guest_of_ryu", functools.partial(of_ryu, "ryu.app.simple_switch_13")
    yield "guest_of_faucet", of_faucet
    yield "guest_in_front_of_routing", in_front_of_routing
