"""Guests: other controllers, each in a process of its own, to which switches of Open vSwitch are presented. Functions of a fresh
`Lab`."""

import functools
import json
import shutil

from mininet.topo import LinearTopo, SingleSwitchTopo

from lab import Ping, Process, controller_command, expect, listens, output, wait_until

# Where the first guest listens, and the next.
PORT = 6701
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
    expect(net.pingAll() == 100, "no ping answered", "answers without an application that forwards")
    process = learning_switch(lab, PORT)
    try:
        guest("add", "lecture", "--connect", f"127.0.0.1:{PORT}")
        serves("lecture")
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


def all_of_them(versions):
    for body in (comes_and_goes, slices, of_open_vswitch):
        for version in versions:
            yield f"guest_{body.__name__} {version}", functools.partial(body, version)
