"""Samples that need Open vSwitch: one of them, tried with real hosts.

    /usr/bin/python3 on_open_vswitch.py NAME FOLDER PYTHON

FOLDER has Ryu's samples, PYTHON has the package. It is called in namespaces of its own, by
`samples.py`, with the system's Python, which has Mininet. It prints what was expected and not seen.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time
import traceback
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/mininet"))

import lab  # noqa: E402
from mininet.topo import SingleSwitchTopo, Topo  # noqa: E402

WEB = "http://127.0.0.1:8080"
DATABASE = "tcp:127.0.0.1:6640"
ONE, TWO = "0000000000000001", "0000000000000002"
V13 = "OpenFlow13"


def ask(path, body=None, method=None):
    """What a request was answered with: status, and what the JSON says."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(WEB + path, data, method=method)
    try:
        with urllib.request.urlopen(request, timeout=lab.START_S) as answer:
            text = answer.read().decode()
            return answer.status, json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(errors="replace")
    except (OSError, ValueError) as error:
        return 0, str(error)


def succeed(path, body=None, method=None):
    """The same, of a request that has to be done: Ryu says so in each part of its answer."""
    status, said = ask(path, body, method)
    lab.expect(status in (200, 201), f"{path} succeeds", f"{status} {said}")
    lab.expect("failure" not in json.dumps(said), f"{path} succeeds", said)
    return said


def reaches(source, target, tries=1):
    """Whether a ping is answered."""
    return "bytes from" in source.cmd(f"ping -n -c {tries} -i 0.2 -W 1 {target}")


def wait_reaches(source, target):
    lab.wait_until(f"{source} reaches {target}", lambda: reaches(source, target, 2), 60)


def wait_listed(path, count):
    """Waits until a request is answered with a list so long; before it is a text or an error."""

    def listed():
        status, said = ask(path)
        return status == 200 and isinstance(said, list) and len(said) == count

    lab.wait_until(f"{count} listed by {path}", listed, 60, lambda: ask(path))


def serve(network, folder, python, *applications):
    """Starts the samples at the ports that the network and `ask` use."""
    paths = [os.path.join(folder, name) for name in applications]
    command = [python, "-m", "aldis_ryu", "--listen", f"127.0.0.1:{lab.PORT}"]
    os.environ["ALDIS_CONTROLLER"] = " ".join([*command, "--wsapi", "127.0.0.1:8080", *paths])
    network.start_controller()


class Routers(Topo):
    """h1 — s1 — s2 — h2."""

    def build(self):
        one, two = self.addSwitch("s1"), self.addSwitch("s2")
        self.addLink(self.addHost("h1", ip="172.16.20.10/24"), one)
        self.addLink(self.addHost("h2", ip="172.16.10.10/24"), two)
        self.addLink(one, two)


def rest_router(network, folder, python):
    """Addresses on two routers, a default route between them, and a ping across both."""
    serve(network, folder, python, "rest_router.py")
    net = network.start_network(Routers(), V13)
    one, two = net.get("h1", "h2")
    one.cmd("ip route add default via 172.16.20.1")
    two.cmd("ip route add default via 172.16.10.1")
    wait_listed("/router/all", 2)
    lab.expect(not reaches(one, "172.16.10.10"), "no way before there are addresses", "a ping")
    for router, address in [
        (ONE, "172.16.20.1/24"),
        (ONE, "172.16.30.1/24"),
        (TWO, "172.16.10.1/24"),
        (TWO, "172.16.30.2/24"),
    ]:
        succeed(f"/router/{router}", {"address": address})
    wait_reaches(one, "172.16.20.1")
    succeed(f"/router/{ONE}", {"gateway": "172.16.30.2"})
    succeed(f"/router/{TWO}", {"gateway": "172.16.30.1"})
    wait_reaches(one, "172.16.10.10")
    wait_reaches(two, "172.16.20.10")


def rest_firewall(network, folder, python):
    """Nothing passes, then what a rule allows, then nothing once it is removed."""
    serve(network, folder, python, "rest_firewall.py")
    net = network.start_network(SingleSwitchTopo(3), V13)
    one, two, three = net.get("h1", "h2", "h3")
    wait_listed("/firewall/module/status", 1)
    succeed(f"/firewall/module/enable/{ONE}", method="PUT")
    status = succeed("/firewall/module/status")
    lab.expect(status[0]["status"] == "enable", "an enabled firewall", status)
    lab.expect(not reaches(one, two.IP(), 3), "no ping without a rule", "a ping")
    for source, target in ((one, two), (two, one)):
        addresses = {"nw_src": source.IP() + "/32", "nw_dst": target.IP() + "/32"}
        succeed(f"/firewall/rules/{ONE}", {**addresses, "nw_proto": "ICMP"})
    wait_reaches(one, two.IP())
    lab.expect(not reaches(one, three.IP(), 3), "no ping beside the rule", "a ping")
    rules = succeed(f"/firewall/rules/{ONE}")
    lab.expect(len(rules[0]["access_control_list"][0]["rules"]) == 2, "two rules", rules)
    succeed(f"/firewall/rules/{ONE}", {"rule_id": "all"}, "DELETE")
    lab.wait_until("no ping after the rules", lambda: not reaches(one, two.IP()))


def rest_qos(network, folder, python):
    """Queues made through OVSDB, and a flow that a rule sends to one of them."""
    # As Ryu's book has it: the learning switch moves to the second table.
    source = pathlib.Path(folder, "simple_switch_13.py").read_text(encoding="utf-8")
    moved = re.sub(r"(OFPFlowMod\([^)]*)\)", r"\1, table_id=1)", source)
    copy = pathlib.Path(network.folder, "qos_simple_switch_13.py")
    copy.write_text(moved, encoding="utf-8")
    control = network.path(f"ovsdb-server.{network.daemons[0].child.pid}.ctl")
    remote = ["ovsdb-server/add-remote", "ptcp:6640:127.0.0.1"]
    subprocess.run(["ovs-appctl", "-t", control, *remote], check=True)
    serve(network, folder, python, "rest_qos.py", str(copy), "rest_conf_switch.py")
    net = network.start_network(SingleSwitchTopo(2), V13)
    one, two = net.get("h1", "h2")
    lab.wait_until("the switch is there", lambda: ask(f"/qos/rules/{ONE}")[0] == 200, 60)
    wait_reaches(one, two.IP())
    status, said = ask(f"/v1.0/conf/switches/{ONE}/ovsdb_addr", DATABASE, "PUT")
    lab.expect(status == 201, "the address of the database is taken", f"{status} {said}")
    queues = [{"max_rate": "500000"}, {"min_rate": "800000"}]
    port = {"port_name": "s1-eth1", "type": "linux-htb", "max_rate": "1000000"}
    # The sample connects to the database after it has answered.
    queue = lambda: ask(f"/qos/queue/{ONE}", {**port, "queues": queues})[1]  # noqa: E731
    lab.wait_until("queues are taken", lambda: "failure" not in json.dumps(queue()), seen=queue)
    rates = lab.output("ovs-vsctl", "--columns=other_config", "list", "queue")
    lab.expect("500000" in rates and "800000" in rates, "two queues in the database", rates)
    match = {"nw_dst": one.IP(), "nw_proto": "UDP", "tp_dst": "5002"}
    succeed(f"/qos/rules/{ONE}", {"match": match, "actions": {"queue": "1"}})
    # UDP to that port is what the rule counts.
    send = f"import socket; socket.socket(type=2).sendto(bytes(9), ({one.IP()!r}, 5002))"
    rule = r"n_packets=[1-9].*udp.*tp_dst=5002.*actions=set_queue:1,goto_table:1"

    def counted():
        two.pexec([sys.executable, "-c", send])
        return [line for line in network.flows("s1", V13) if re.search(rule, line)]

    lab.wait_until("a packet through the queue", counted, seen=lambda: network.flows("s1", V13))


class OneHost(Topo):
    """h2 at the third port of s1; the first two are the bond's."""

    def build(self):
        self.addLink(self.addHost("h2", ip="10.0.0.2/24"), self.addSwitch("s1"), port2=3)


def simple_switch_lacp_13(network, folder, python):
    """A bond of Open vSwitch negotiates over two links, and a host is reached over it."""
    serve(network, folder, python, "simple_switch_lacp_13.py")
    net = network.start_network(OneHost(), V13)
    host = net.get("h2")
    run = lambda line: subprocess.run(line.split(), check=True)  # noqa: E731
    run("ovs-vsctl add-br b1 -- set bridge b1 datapath_type=netdev")
    for number in (1, 2):
        run(f"ip link add a{number} type veth peer name b1-{number}")
        for end in (f"a{number}", f"b1-{number}"):
            run(f"ip link set {end} up")
        port = f"ovs-vsctl add-port s1 a{number}"
        run(f"{port} -- set interface a{number} ofport_request={number}")
    bond = "ovs-vsctl add-bond b1 bond0 b1-1 b1-2 lacp=active other_config:lacp-time=fast"
    run(bond)
    run("ip address add 10.0.0.1/24 dev b1")
    run("ip link set b1 up")
    run("ethtool -K b1 tx off")
    # What is flooded comes back over the other link, and b1 would believe itself beyond the bond.
    (own,) = json.loads(lab.output(*"ip -json link show b1".split()))
    lab.output("ovs-appctl", "fdb/add", "b1", "b1", "0", own["address"])
    shown = lambda: lab.output("ovs-appctl", "lacp/show", "bond0")  # noqa: E731
    lab.wait_until("a negotiated bond", lambda: "active negotiated" in shown(), 60, shown)
    ping = lambda: "bytes from" in lab.output(*"ping -n -c 2 -W 1 10.0.0.2".split())  # noqa: E731
    lab.wait_until("a ping over the bond", ping, 60)
    members = shown().count("defaulted")
    lab.expect(members == 0, "both links in the bond", shown())
    wait_reaches(host, "10.0.0.1")


SAMPLES = {
    check.__name__: check for check in (rest_router, rest_firewall, rest_qos, simple_switch_lacp_13)
}


def main():
    name, folder, python = sys.argv[1:]
    lab.prepare_machine()
    network = lab.Lab()
    try:
        SAMPLES[name](network, folder, python)
        log = network.controller_log()
        lab.expect("Traceback" not in log and " ERROR " not in log, "no error in the log", log)
    except Exception as error:
        print(error if isinstance(error, lab.Failure) else traceback.format_exc())
        print(network.evidence(), flush=True)
        sys.exit(1)
    finally:
        start = time.monotonic()
        network.close()
        print(f"closed within {time.monotonic() - start:.1f} s")


if __name__ == "__main__":
    main()
