"""Hosts that move and say so once, or not at all: they are reached where they are. Functions of a fresh `Lab`."""

import functools
import socket
import struct

from mininet.topo import LinearTopo

from broadcasts import FRAMES, PYTHON
from lab import expect, wait_until

EVERYONE = b"\xff" * 6
ARP, RARP, IPV4 = 0x0806, 0x8035, 0x0800
REACHED_WITHIN_S = 2


def gratuitous_arp(mac, address):
    """A gratuitous ARP: the host announces its address to all."""
    body = struct.pack("!HHBBH", 1, IPV4, 6, 4, 1) + mac + address + bytes(6) + address
    return EVERYONE + mac + struct.pack("!H", ARP) + body


def rarp(mac, _):
    """What a hypervisor sends for a machine that it took over: a RARP request, broadcast."""
    body = struct.pack("!HHBBH", 1, IPV4, 6, 4, 3) + mac + bytes(4) + mac + bytes(4)
    return EVERYONE + mac + struct.pack("!H", RARP) + body


class Mover:
    """A host with one cable, which says nothing by itself."""

    def __init__(self, host):
        self.host, self.interface = host, host.defaultIntf()
        self.mac, self.address = host.MAC(), host.IP()
        host.cmd("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1")

    def move(self, net, switch, says):
        """Pulls the cable, and plugs another into a switch."""
        host, old = self.host, self.interface
        host.cmd(f"ip addr flush dev {old}; ip link set {old} down")
        link = net.addLink(host, switch)
        self.interface = new = link.intf1
        host.cmd(f"ip link set {new} down; ip link set {new} address {self.mac}; ethtool -K {new} tx off")
        host.cmd(f"ip link set {new} up; ip addr add {self.address}/8 dev {new}")
        switch.attach(link.intf2)
        if says:
            frame = says(bytes.fromhex(self.mac.replace(":", "")), socket.inet_aton(self.address))
            host.cmd(f"{PYTHON} {FRAMES} say {new} {frame.hex()}")


def found_again(version, lab):
    """A host that moves is reached by those that know its address within two seconds, whatever it says."""
    lab.start_controller()
    net = lab.start_network(LinearTopo(4), version)
    expect(net.pingAll() == 0, "pingall without loss, on the first try", "losses")
    one, two, three, four = net.hosts
    mover = Mover(three)
    for switch, says in ((net.switches[0], gratuitous_arp), (net.switches[3], rarp), (net.switches[1], None)):
        mover.move(net, switch, says)
        for host in (one, two, four):
            # What its neighbours know is still true.
            answered = functools.partial(host.cmd, f"ping -n -c 1 -W 0.3 {mover.address} | grep -c 'bytes from'")
            wait_until(f"h3 at {switch} reached by {host}", lambda answered=answered: answered().strip() == "1", REACHED_WITHIN_S,
                       seen=lambda: lab.controller_log()[-2000:])


def all_of_them(versions):
    """Pairs of a name and a function of a `Lab`."""
    for version in versions:
        yield f"found_again {version}", functools.partial(found_again, version)
