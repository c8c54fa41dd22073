"""Applications that are installed from a package while switches of Open vSwitch ask. Functions of a fresh `Lab`."""

import functools
import os

from mininet.topo import SingleSwitchTopo

from lab import ROOT, Ping, controller_command, expect, output, wait_until

# Built by `cargo xtask e2e` before the scenarios, of the example of the SDK in Rust.
PACKAGE = os.path.join(ROOT, "target/sdk/simple-switch.app")


def app(*words):
    """What `aldis app` says."""
    return output(controller_command()[0], "app", *words)


def installed(version, lab):
    """It comes, is replaced by itself, and goes, and no ping is lost: the hub behind it answers when it does not."""
    lab.start_controller("--apps", "hub")
    net = lab.start_network(SingleSwitchTopo(3), version)
    one, two, three = net.hosts
    beside = Ping(one, two)
    beside.wait_replies(5)
    said = app("install", PACKAGE)
    expect("simple-switch" in said and "running" in said, "a running application", said)
    expect(net.pingAll() == 0, "pingall without loss", "losses")
    wait_until("its flows", lambda: flows(lab, version), seen=lambda: lab.flows("s1", version))
    app("replace", PACKAGE)
    expect(net.pingAll() == 0, "pingall without loss", "losses")
    app("stop", "simple-switch")
    app("start", "simple-switch")
    said = app("remove", "simple-switch")
    expect("simple-switch" not in said, "no such application", said)
    before = len(lab.flows("s1", version))
    expect(net.pingAll() == 0, "pingall without loss", "losses")
    expect(len(lab.flows("s1", version)) <= before, "no new flow", lab.flows("s1", version))
    unanswered = beside.finish()
    expect(not unanswered, "every ping answered", unanswered)


def flows(lab, version):
    return [flow for flow in lab.flows("s1", version) if "cookie=0xa1d1" in flow and "idle_timeout=10" in flow]


def all_of_them(versions):
    for version in versions:
        yield f"installed {version}", functools.partial(installed, version)
