"""Open vSwitch over TLS: a switch that shows its own certificate is served, and certificates are
renewed under it. Functions of a fresh `Lab`."""

import functools
import os
import signal

from mininet.topo import SingleSwitchTopo

from lab import controller_command, expect, output, wait_until

PORT = 6654


def all_of_them(versions):
    """Pairs of a name and a function of a `Lab`."""
    for version in versions:
        yield f"over_tls {version}", functools.partial(over_tls, version)


def pki(lab, *options):
    said = output(controller_command()[0], "pki", lab.path("pki"), *options)
    expect(os.path.exists(lab.path("pki/ca.pem")), "an authority", said)


def show_certificate_of(lab, dpid):
    """From now on Open vSwitch shows this certificate."""
    name = lab.path(f"pki/switch-{dpid:016x}")
    output("ovs-vsctl", "set-ssl", f"{name}.key", f"{name}.pem", lab.path("pki/ca.pem"))


def connect_anew():
    output("ovs-vsctl", "del-controller", "s1")
    output("ovs-vsctl", "set-controller", "s1", f"ssl:127.0.0.1:{PORT}")


def over_tls(version, lab):
    """A switch is served over TLS while its certificate names it, keeps its session while certificates are renewed, and is told
    why where it shows another's."""
    pki(lab, "--switch", "1", "--switch", "2")
    certificate, key, authority = (lab.path(f"pki/{name}") for name in ("controller.pem", "controller.key", "ca.pem"))
    lab.start_controller("--tls-certificate", certificate, "--tls-key", key, "--tls-authority", authority)
    show_certificate_of(lab, 1)
    net = lab.start_network(SingleSwitchTopo(3), version, "ssl", PORT)
    loss = net.pingAll()
    expect(loss == 0, "pingall without loss over TLS", f"{loss} % lost")
    mark = lab.mark()
    pki(lab, "--renew")
    lab.controller.child.send_signal(signal.SIGHUP)
    wait_until("renewed certificates", lambda: "certificates and keys were read again" in lab.controller_log(), seen=lab.controller_log)
    loss = net.pingAll()
    expect(loss == 0 and not lab.connections(mark), "the session to stay", f"{loss} % lost, {lab.connections(mark)}")
    show_certificate_of(lab, 2)
    connect_anew()
    refused = "its certificate is for dpid-0000000000000002"
    wait_until("another's certificate to be refused in words", lambda: refused in lab.controller_log(), seen=lab.controller_log)
    show_certificate_of(lab, 1)
    mark = lab.mark()
    connect_anew()
    lab.wait_connected(mark)
    # Without a controller the switch dropped what came: its cache knows of the new flows only when it was looked through.
    output("ovs-appctl", "revalidator/wait")
    loss = net.pingAll()
    expect(loss == 0, "pingall without loss with a renewed controller", f"{loss} % lost")
