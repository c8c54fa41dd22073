"""Ryu's own samples, unchanged, each with what it is tried with.

The samples come from Ryu's last release on PyPI, by its checksum. They stay out of the tree: they
lie in target/ryu-samples, and of the release nothing but the folder `ryu/app` is unpacked.
"""

import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import typing

import harness
from harness import HOST, WAIT_S, Command, Failure, Network, emulate, wait_until
from websocket import WebSocket

RELEASE = "ryu==4.34"
SHA256 = "a31041eb53aee0c36ca428645ad2607163ca5e1390f5a3d6ef2025b7829ce93e"
# pip asks a release for its metadata even where it only downloads. Ryu's answers with a function
# of setuptools that later ones have removed.
SETUPTOOLS = "setuptools==67.6.1"
CACHE = harness.ROOT / "target/ryu-samples"
APPLICATIONS = CACHE / "ryu/app"
# Ryu's own of these no longer runs, or is os-ken's.
LEFT_OUT = ("wsgi.py", "ofctl/")
SYSTEM_PYTHON = "/usr/bin/python3"
# As tests/mininet/run.py: in the namespaces nothing reaches the machine, and all ends with them.
UNSHARE = (
    "setpriv --pdeathsig KILL unshare --net --mount --pid --fork --mount-proc --kill-child".split()
)


def fetch():
    """Downloads the release, if it is not there, and unpacks its samples."""
    CACHE.mkdir(parents=True, exist_ok=True)
    archive = CACHE / "ryu-4.34.tar.gz"
    if not archive.exists():
        _download(archive)
    with tarfile.open(archive) as release:
        for member in release:
            _, _, inside = member.name.partition("/")
            name = inside.removeprefix("ryu/app/")
            if name == inside or not member.isfile() or name.startswith(LEFT_OUT):
                continue
            place = APPLICATIONS / name
            if ".." in pathlib.PurePath(name).parts:
                raise Failure(f"the release has the file {member.name}")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(release.extractfile(member).read())


def _download(archive):
    (CACHE / "constraints.txt").write_text(SETUPTOOLS + "\n")
    (CACHE / "requirements.txt").write_text(f"{RELEASE} --hash=sha256:{SHA256}\n")
    constraints = str(CACHE / "constraints.txt")
    # The first is for pip before 25.3, the second for those since.
    names = ("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT")
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "ryu"]
        + ["--require-hashes", "-r", str(CACHE / "requirements.txt"), "-d", str(CACHE)],
        env={**os.environ, **dict.fromkeys(names, constraints)},
        timeout=5 * WAIT_S,
        check=True,
    )
    if not archive.exists():
        raise Failure(f"pip downloaded no {archive.name}")


def path(name):
    """The file of a sample."""
    return APPLICATIONS / f"{name}.py"


def pings(version):
    """Every host pings every other one."""

    def check(application):
        with Command(application) as command:
            emulate(command.port, "--openflow", version, "--topology", "linear,3", "--pingall")
            command.check_log()

    return check


def spanning_tree(version):
    """A ring: the tree has to cut it before a broadcast may be seen once."""

    def check(application):
        with Command(application) as command:
            # A port listens for 15 s and learns for 15 s.
            ready = ("--openflow", version, "--topology", "ring,3", "--settle", "40")
            said = emulate(command.port, *ready, "--pingall", "--broadcast", "h1")
            if not re.search(r"broadcast.*\b2 of 2\b", said):
                raise Failure(f"not every host saw the broadcast once:\n{said}")
            command.check_log()

    return check


def monitor(application):
    """Counters of flows and ports are asked for every ten seconds."""
    with Command(application) as command:
        with Network(command.port, "--topology", "linear,3", "--pingall", "--for", "60"):
            row = r"0{15}[123] +1 +[1-9]\d* +[1-9]\d* +0 +[1-9]\d*"
            wait_until("a row of counters", lambda: re.search(row, command.log()))
            flow = r"0{15}[123] +1 00:00:00:00:00:0\d +\d+ +[1-9]"
            wait_until("a row of a flow", lambda: re.search(flow, command.log()))
        command.check_log()


def ofctl_rest(application):
    """Two flows over REST, between which a ping passes; then the counters, then none."""
    with Command(application) as command:
        script = ("--at", "0s ping h1 h2", "--at", "15s ping h1 h2")
        network = ("--topology", "single,2", "--patience", "2", *script, "--for", "60")
        with Network(command.port, *network) as network:
            network.wait_line("h1 -> h2: no answer")
            for one, other in ((1, 2), (2, 1)):
                flow = {"dpid": 1, "priority": 9, "match": {"in_port": one}}
                flow["actions"] = [{"type": "OUTPUT", "port": other}]
                status, said = command.ask("/stats/flowentry/add", flow)
                if status != 200:
                    raise Failure(f"a flow was answered with {status}: {said}")
            network.wait_line("h1 -> h2: answered")
            flows = command.ask_json("/stats/flow/1")["1"]
            counts = [flow["packet_count"] for flow in flows if flow["priority"] == 9]
            if len(counts) != 2 or not all(counts):
                raise Failure(f"flows without packets: {flows}")
            command.ask("/stats/flowentry/clear/1", method="DELETE")
            wait_until("no flow", lambda: command.ask_json("/stats/flow/1")["1"] == [])
        command.check_log()


def learn_changes(web, switches, links):
    """Takes in calls over a WebSocket, and answers them, until so many switches and links came."""
    seen = {"event_switch_enter": set(), "event_link_add": set()}
    while len(seen["event_switch_enter"]) < switches or len(seen["event_link_add"]) < links:
        with_id = web.receive()
        (subject,) = with_id["params"]
        seen.setdefault(with_id["method"], set()).add(str(sorted(subject.items())))
        web.send({"jsonrpc": "2.0", "id": with_id["id"], "result": ""})


def ws_topology(application):
    """Three switches come, with two links in both directions; a switch leaves."""
    with Command(application, "--observe-links") as command:
        with WebSocket(HOST, command.web, "/v1.0/topology/ws", WAIT_S) as web:
            with Network(command.port, "--topology", "linear,3", "--for", "60"):
                learn_changes(web, 3, 4)
            while web.receive()["method"] != "event_switch_leave":
                pass
        command.check_log()


def gui_topology(application):
    """A file of the folder `html`, and the three applications that the sample asks for."""
    page = APPLICATIONS / "gui_topology/html/index.html"
    page.parent.mkdir(exist_ok=True)
    page.write_text("<title>in place of Ryu's own</title>\n")
    with Command(application, "--observe-links") as command:
        with Network(command.port, "--topology", "linear,2", "--for", "60"):
            if command.ask("/index.html") != (200, page.read_text()):
                raise Failure("the file of the folder html is not served")
            links = lambda: len(command.ask_json("/v1.0/topology/links")) == 2  # noqa: E731
            wait_until("two directions of a link", links)
            if sorted(command.ask_json("/stats/switches")) != [1, 2]:
                raise Failure("ofctl_rest does not know two switches")
            with WebSocket(HOST, command.web, "/v1.0/topology/ws", WAIT_S):
                pass
        command.check_log()


def rest_topology(application):
    """Switches, links and hosts as they are."""
    with Command(application, path("simple_switch_13"), "--observe-links") as command:
        with Network(command.port, "--topology", "linear,3", "--pingall", "--for", "60"):
            for what, count in (("switches", 3), ("links", 4), ("hosts", 3)):
                url = f"/v1.0/topology/{what}"
                wait_until(what, lambda: len(command.ask_json(url)) == count)  # noqa: B023
            hosts = command.ask_json("/v1.0/topology/hosts/0000000000000001")
            if [host["mac"] for host in hosts] != ["00:00:00:00:00:01"]:
                raise Failure(f"the hosts of the first switch are {hosts}")
        command.check_log()


def switch_rest(application):
    """The table of MAC addresses is read over HTTP, and a third host is written into it."""
    with Command(application) as command:
        network = ("--topology", "single,3", "--ping", "h1", "h2", "--for", "60")
        with Network(command.port, *network) as network:
            network.wait_line("h1 -> h2")
            url = "/simpleswitch/mactable/0000000000000001"
            table = command.ask_json(url)
            if table != {"00:00:00:00:00:01": 1, "00:00:00:00:00:02": 2}:
                raise Failure(f"the table is {table}")
            table["00:00:00:00:00:03"] = 3
            entry = {"mac": "00:00:00:00:00:03", "port": 3}
            for seen in (command.ask_json(url, entry, "PUT"), command.ask_json(url)):
                if seen != table:
                    raise Failure(f"the table is {seen}")
        command.check_log()


def switch_websocket(application):
    """The table of MAC addresses over JSON-RPC, and packets as they come."""
    with Command(application) as command:
        with WebSocket(HOST, command.web, "/simpleswitch/ws", WAIT_S) as web:
            if web.call("get_arp_table") != {}:
                raise Failure("the table is not empty at first")
            emulate(command.port, "--topology", "single,2", "--pingall")
            if "ethernet(" not in str(web._stream.peek(200)):
                raise Failure("no packet was told")
        command.check_log()


def on_open_vswitch(application):
    """Against Open vSwitch and Mininet's hosts: see on_open_vswitch.py."""
    script = pathlib.Path(__file__).with_name("on_open_vswitch.py")
    done = subprocess.run(
        [*UNSHARE, SYSTEM_PYTHON, str(script), application.stem, str(APPLICATIONS), sys.executable],
        env=harness.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=5 * WAIT_S,
        check=False,
    )
    if done.returncode != 0:
        raise Failure(done.stdout.decode(errors="replace"))


@dataclasses.dataclass(frozen=True)
class Sample:
    """One of Ryu's samples: how it is tried, and the words for that in the table."""

    name: str
    check: typing.Callable
    tried: str

    @property
    def path(self):
        """Its file, once it was fetched."""
        return next(APPLICATIONS.rglob(f"{self.name}.py"))


PINGS = "three switches in a row: every host pings every other one"
RING = "a ring of three: every host pings every other one, and sees a broadcast once"

SAMPLES = [
    Sample("simple_switch", pings("1.0"), f"{PINGS}, OpenFlow 1.0"),
    Sample("simple_switch_13", pings("1.3"), PINGS),
    Sample("simple_switch_stp", spanning_tree("1.0"), f"{RING}, OpenFlow 1.0"),
    Sample("simple_switch_stp_13", spanning_tree("1.3"), RING),
    Sample(
        "simple_switch_lacp_13",
        on_open_vswitch,
        "a bond of Open vSwitch negotiates over two links, and a host is reached over it",
    ),
    Sample("simple_switch_rest_13", switch_rest, "the table of MAC addresses is read and written"),
    Sample(
        "simple_switch_websocket_13",
        switch_websocket,
        "the table over JSON-RPC, and packets as they come",
    ),
    Sample("simple_monitor_13", monitor, "counters of flows and ports stand in the log"),
    Sample(
        "rest_router",
        on_open_vswitch,
        "two routers on Open vSwitch get addresses and a way to each other: a ping crosses both",
    ),
    Sample(
        "rest_firewall",
        on_open_vswitch,
        "Open vSwitch: no ping, then those that a rule allows, then none after its removal",
    ),
    Sample(
        "rest_qos",
        on_open_vswitch,
        "Open vSwitch: queues are made through OVSDB, and a rule sends packets to one; rates were "
        "not measured",
    ),
    Sample(
        "ofctl_rest",
        ofctl_rest,
        "flows are added, read and removed: a ping passes with them alone",
    ),
    Sample("rest_topology", rest_topology, "switches, links and hosts are listed"),
    Sample(
        "ws_topology",
        ws_topology,
        "a client is told of three switches, their links, and one that leaves",
    ),
    Sample(
        "gui_topology",
        gui_topology,
        "serves files of its folder `html`, and links and switches to them; Ryu's own page is not "
        "in its release",
    ),
]
