"""The SDKs' examples with hosts of Mininet: a firewall, a load balancer, a monitor. Functions of a fresh `Lab`."""

import functools
import json
import os
import subprocess
import urllib.request
from collections import Counter

from mininet.topo import SingleSwitchTopo

from lab import ROOT, controller_command, expect, output, wait_until
from sandboxed import app

PYTHON = "/usr/bin/python3"

# A component of Python takes ten seconds, on a machine that does nothing else.
COMPILE_S = 90

# Says its name to each connection.
SERVER = """import socket, sys
listener = socket.create_server(("", int(sys.argv[1])))
while True:
    connection, _ = listener.accept()
    connection.sendall(sys.argv[2].encode())
    connection.close()
"""

# Prints what a server says, or nothing.
CLIENT = """import socket, sys
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[3])) as connection:
        connection.settimeout(2)
        print(connection.recv(99).decode())
except OSError:
    pass
"""

KNOCK = """import socket, sys, time
knock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port in sys.argv[2:]:
    knock.sendto(b"knock", (sys.argv[1], int(port)))
    time.sleep(0.05)
"""


def package(name):
    """Built by `cargo xtask e2e` before the scenarios."""
    return os.path.join(ROOT, "target/sdk", name + ".app")


def started(lab, version, hosts, name, behind="learning-switch"):
    """A learning switch or another one behind, with an application in front of it."""
    # Machine code is kept from one scenario to the next: that of Python takes ten seconds.
    code = os.path.join(ROOT, "target/sdk/code")
    os.makedirs(code, 0o700, exist_ok=True)
    os.makedirs(lab.path("apps"), 0o700)
    os.symlink(code, lab.path("apps/code"))
    lab.start_controller("--apps", behind, "--app-folder", lab.path("apps"))
    net = lab.start_network(SingleSwitchTopo(hosts), version)
    said = output(controller_command()[0], "app", "install", package(name), seconds=COMPILE_S)
    expect(any(name.replace("_", "-") in line and "running" in line for line in said.splitlines()), f"{name} runs", said)
    return net


def serve(host, port):
    """A server that says its host's name, until the namespaces end."""
    child = host.popen([PYTHON, "-c", SERVER, str(port), host.name], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    listening = lambda: f":{port} " in host.cmd("ss -ltnH")  # noqa: E731
    wait_until(f"{host.name} serves", listening, seen=lambda: child.poll())


def connect(host, address, port, seconds=2):
    """What the server there says."""
    ran = host.popen([PYTHON, "-c", CLIENT, address, str(port), str(seconds)], stdout=subprocess.PIPE)
    return ran.communicate(timeout=20)[0].decode().strip()


def knock(host, address, *ports):
    """Sends a datagram to each port, in order."""
    host.popen([PYTHON, "-c", KNOCK, address, *map(str, ports)]).wait(20)


def knocked(version, lab):
    """A port is closed until a host knocks in the right order, and to that host alone."""
    net = started(lab, version, 3, "port-knocking")
    one, two, three = net.hosts
    expect(net.pingAll() == 0, "pingall without loss", "losses")
    serve(two, 22)
    expect(connect(one, two.IP(), 22, 1) == "", "a closed port", "an open one")
    knock(one, two.IP(), 7000, 9000, 8000)
    expect(connect(one, two.IP(), 22, 1) == "", "a closed port after knocks in the wrong order", "an open one")
    knock(one, two.IP(), 7000, 8000, 9000)
    said = connect(one, two.IP(), 22, 5)
    expect(said == "h2", "an open port", said or app("logs", "port-knocking"))
    open_flows = [flow for flow in lab.flows("s1", version) if "hard_timeout=" in flow and "actions=output" in flow]
    expect(open_flows, "a flow that ends by itself", lab.flows("s1", version))
    expect(connect(three, two.IP(), 22, 1) == "", "a port that is closed to others", "an open one")
    expect(net.pingAll() == 0, "pingall without loss", "losses")


def balanced(version, lab):
    """Connections to one address go to two servers in turn."""
    net = started(lab, version, 4, "load_balancer")
    one, two, three, four = net.hosts
    for server in (two, three):
        serve(server, 80)
    found = lambda: connect(one, "10.0.0.100", 80)  # noqa: E731
    wait_until("a server answers", found, seen=lambda: app("logs", "load-balancer"))
    said = Counter(connect(client, "10.0.0.100", 80) for client in (one, four) for _ in range(4))
    expect(said == {"h2": 4, "h3": 4}, "four connections for each server", said)
    rewriting = [flow for flow in lab.flows("s1", version) if "10.0.0.100" in flow and "idle_timeout=60" in flow]
    expect(len(rewriting) >= 16, "two flows for each connection", lab.flows("s1", version))
    expect(net.pingAll() == 0, "pingall without loss", "losses")


def learned(version, lab):
    """Ryu's tutorial serves a network; the hub behind it has nothing to do."""
    net = started(lab, version, 3, "learning_switch", behind="hub")
    expect(net.pingAll() == 0, "pingall without loss", "losses")
    own = lambda: [flow for flow in lab.flows("s1", version) if "cookie=0xa1d1" in flow and "priority=1," in flow]  # noqa: E731
    wait_until("a flow for each pair", lambda: len(own()) >= 6, seen=lambda: lab.flows("s1", version))
    expect(net.pingAll() == 0, "pingall without loss", "losses")


def measured(version, lab):
    """The rates of ports are those that hosts send at, as JSON and on a page."""
    net = started(lab, version, 2, "rate-monitor")
    one, two = net.hosts

    def fetched(path):
        with urllib.request.urlopen("http://127.0.0.1:8080/apps/rate-monitor/" + path, timeout=5) as answer:
            return answer.read().decode()

    def rate():
        ports = [port for switch in json.loads(fetched("rates"))["switches"] for port in switch["ports"]]
        return max((port["rx_bps"] for port in ports if port["port"] == 1), default=0)

    # A hundred packets of 1042 bytes a second are 834 kbit/s.
    ping = one.popen(["ping", "-n", "-q", "-i", "0.01", "-s", "1000", two.IP()], stdout=subprocess.DEVNULL)
    wait_until("a rate of its pings", lambda: 300_000 < rate() < 2_000_000, seen=lambda: fetched("rates"))
    ping.terminate()
    ping.wait(5)
    expect("chart.js" in fetched(""), "a page", fetched(""))


def all_of_them(versions):
    for body in (knocked, balanced, learned, measured):
        for version in versions:
            yield f"{body.__name__} {version}", functools.partial(body, version)
