"""What the proxies keep from all hosts, by default: questions arrive only where they can be answered. Functions of a fresh `Lab`."""

import functools
import os
import re
import socket
import struct
import subprocess

from mininet.topo import LinearTopo

from broadcasts import FRAMES, PYTHON
from lab import expect, wait_until

EVERYONE = b"\xff" * 6
ARP, IPV4 = 0x0806, 0x0800
NOBODY, STRANGER, LAST = "0.0.0.0", "10.0.0.77", "10.0.0.78"
CLIENT_PORT, SERVER_PORT = 68, 67

# The fourth host alone.
SERVER = """
[[dhcp-server]]
mac = "00:00:00:00:00:04"
switch = "4"
port = 1
"""


class Ears:
    """Prints each frame that a host hears, for any receiver."""

    def __init__(self, hosts):
        self.children, self.texts = {}, {}
        for host in hosts:
            child = host.popen([PYTHON, FRAMES, "hear", str(host.defaultIntf())], stdout=subprocess.PIPE)
            os.set_blocking(child.stdout.fileno(), False)
            self.children[host], self.texts[host] = child, ""
        wait_until("every host listens", lambda: all("listening" in self.text(host) for host in hosts))

    def text(self, host):
        self.texts[host] += (self.children[host].stdout.read() or b"").decode()
        return self.texts[host]

    def heard(self, frame):
        """How often each host heard a frame, by name; hosts that did not hear it are left out."""
        counts = {str(host): len(re.findall(f"^heard {frame.hex()}", self.text(host), re.MULTILINE)) for host in self.children}
        return {host: count for host, count in counts.items() if count}

    def end(self):
        for child in self.children.values():
            child.kill()
            child.wait()


def say(host, frame):
    host.cmd(f"{PYTHON} {FRAMES} say {host.defaultIntf()} {frame.hex()}")


def mac(host):
    return bytes.fromhex(host.MAC().replace(":", ""))


def question(host, sender, target):
    """An ARP request for `target`, broadcast."""
    body = struct.pack("!HHBBH", 1, IPV4, 6, 4, 1) + mac(host) + socket.inet_aton(sender) + bytes(6) + socket.inet_aton(target)
    return EVERYONE + mac(host) + struct.pack("!H", ARP) + body


def dhcp(host, operation, client, transaction):
    """A DISCOVER (1) or an OFFER (2) of this host, broadcast, about a client."""
    fixed = struct.pack("!BBBBIHH", operation, 1, 6, 0, transaction, 0, 0x8000) + bytes(16) + mac(client) + bytes(10 + 64 + 128)
    body = fixed + bytes.fromhex("63825363") + bytes([53, 1, operation, 255])
    ports = (CLIENT_PORT, SERVER_PORT) if operation == 1 else (SERVER_PORT, CLIENT_PORT)
    # No checksum, which IPv4 allows.
    udp = struct.pack("!HHHH", *ports, 8 + len(body), 0) + body
    source = NOBODY if operation == 1 else host.IP()
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0)
    head += socket.inet_aton(source) + socket.inet_aton("255.255.255.255")
    total = sum(struct.unpack("!10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    head = head[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + head[12:]
    return EVERYONE + mac(host) + struct.pack("!H", IPV4) + head + udp


def everyone_but(net, host):
    return {str(other): 1 for other in net.hosts if other is not host}


def wait_heard(ears, frame, by):
    wait_until(f"it heard by {sorted(by)}", lambda: ears.heard(frame) == by, seen=lambda: ears.heard(frame))


def asked_alone(version, lab):
    """An ARP question about a host that is known goes to that host, or is answered at once; one about an unknown host to all."""
    lab.start_controller()
    net = lab.start_network(LinearTopo(4), version)
    expect(net.pingAll() == 0, "pingall without loss, on the first try", "losses")
    one, two, three, four = net.hosts
    ears = Ears(net.hosts)
    # A probe has to be answered by the host itself (RFC 5227), however lately it was seen.
    probe, ordinary = question(one, NOBODY, three.IP()), question(two, two.IP(), four.IP())
    say(one, probe)
    wait_heard(ears, probe, {str(three): 1})
    say(two, ordinary)
    wait_until("an answer for h4 at h2", lambda: answers(ears, two, four) == 1, seen=lambda: ears.text(two)[-400:])
    # What goes to all now arrives behind what was sent before.
    stranger = question(one, one.IP(), STRANGER)
    say(one, stranger)
    wait_heard(ears, stranger, everyone_but(net, one))
    expect(ears.heard(probe) == {str(three): 1}, "the probe heard by h3 alone", ears.heard(probe))
    expect(ears.heard(ordinary) == {}, "the question about h4 heard by nobody", ears.heard(ordinary))
    ears.end()


def answers(ears, asker, target):
    """How often the asker heard where the target is."""
    body = mac(target) + socket.inet_aton(target.IP()) + mac(asker)
    frame = mac(asker) + mac(target) + struct.pack("!HHHBBH", ARP, 1, IPV4, 6, 4, 2) + body
    return len(re.findall(f"^heard {frame.hex()}", ears.text(asker), re.MULTILINE))


def served_alone(version, lab):
    """DHCP goes to the server that is named, and its words to the client; another server is not heard."""
    path = lab.path("aldis.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SERVER)
    lab.start_controller("--config", path)
    net = lab.start_network(LinearTopo(4), version)
    expect(net.pingAll() == 0, "pingall without loss, on the first try", "losses")
    one, two, three, four = net.hosts
    ears = Ears(net.hosts)
    asked, lie, offer = dhcp(one, 1, one, 1), dhcp(three, 2, one, 2), dhcp(four, 2, one, 3)
    say(one, asked)
    wait_heard(ears, asked, {str(four): 1})
    say(three, lie)
    say(four, offer)
    wait_heard(ears, offer, {str(one): 1})
    for host in (one, three, four):
        last = question(host, host.IP(), LAST)
        say(host, last)
        wait_heard(ears, last, everyone_but(net, host))
    heard = [ears.heard(frame) for frame in (asked, lie, offer)]
    expect(heard == [{str(four): 1}, {}, {str(one): 1}], "the server, nobody, the client", heard)
    ears.end()


def all_of_them(versions):
    """Pairs of a name and a function of a `Lab`."""
    for body in (asked_alone, served_alone):
        for version in versions:
            yield f"{body.__name__} {version}", functools.partial(body, version)
