"""What Open vSwitch and the controller say is recorded, over TCP and over TLS: tshark reads it as
OpenFlow, and the applications send the same again. Functions of a fresh `Lab`."""

import functools

from mininet.topo import LinearTopo

import secure
from lab import PORT, controller_command, expect, output

HTTP = "127.0.0.1:8080"

# Message types, the same numbers in both versions.
FEATURES_REPLY, PACKET_IN, PACKET_OUT, FLOW_MOD = "6", "10", "13", "14"


def all_of_them(versions):
    """Pairs of a name and a function of a `Lab`."""
    for version in versions:
        yield f"recorded {version}", functools.partial(recorded, version)
    yield "recorded_over_tls", recorded_over_tls


def recorded(version, lab):
    """A network that is pinged and loses a port is recorded whole, and played back byte for byte."""
    lab.start_controller("--workers", "1", "--recording-mib", "16", "--http", HTTP)
    net = lab.start_network(LinearTopo(3), version)
    pinged(net)
    output("ip", "link", "set", "s2-eth1", "down")
    pinged(net, missing="h2")
    whole(lab, PORT, switches=3)


def recorded_over_tls(lab):
    """What TLS hides on the wire stands in the recording."""
    secure.pki(lab, "--switch", "1")
    certificate, key, authority = (lab.path(f"pki/{name}") for name in ("controller.pem", "controller.key", "ca.pem"))
    tls = ["--tls-certificate", certificate, "--tls-key", key, "--tls-authority", authority]
    lab.start_controller("--workers", "1", "--recording-mib", "16", "--http", HTTP, *tls)
    secure.show_certificate_of(lab, 1)
    net = lab.start_network(LinearTopo(1, 3), "OpenFlow13", "ssl", secure.PORT)
    pinged(net)
    whole(lab, secure.PORT, switches=1)


def pinged(net, missing=None):
    hosts = [host for host in net.hosts if host.name != missing]
    loss = net.ping(hosts)
    expect(loss == 0, "every ping answered", f"{loss} % lost")


def whole(lab, port, switches):
    """The recording has every switch and kind of message, and comes out the same again."""
    aldis, file = controller_command()[0], lab.path("network.pcapng")
    said = output(aldis, "record", "--http", f"http://{HTTP}", "--out", file, "--last", "1h")
    expect("nothing is missing" in said, "a recording that is whole", said)
    kinds = sharks(file, port, "openflow_v1 || openflow_v4", "openflow_1_0.type", "openflow_v4.type")
    expect(kinds.count(FEATURES_REPLY) == switches, f"{switches} FEATURES_REPLYs in tshark's words", kinds)
    expect({PACKET_IN, PACKET_OUT, FLOW_MOD} <= set(kinds), "requests and their answers in tshark's words", kinds)
    # Of a PACKET_OUT of 1.0 tshark reads one action and takes a second one for the frame.
    of_more = "openflow_1_0.type == 13 && openflow.actions_len > 8"
    malformed = sharks(file, port, f"_ws.malformed && !({of_more})", "frame.number")
    expect(not malformed, "nothing malformed to tshark", malformed)
    replayed = output(aldis, "replay", file)
    expect("came out byte for byte as recorded" in replayed, "the same messages again, byte for byte", replayed)


def sharks(file, port, only, *fields):
    """What tshark finds in these fields."""
    asked = [part for field in fields for part in ("-e", field)]
    rows = output("tshark", "-n", "-r", file, "-d", f"tcp.port=={port},openflow", "-Y", only, "-T", "fields", *asked)
    lines = [row for row in rows.splitlines() if not row.startswith("Running as user")]
    return [found for row in lines for field in row.split("\t") for found in field.split(",") if found]
