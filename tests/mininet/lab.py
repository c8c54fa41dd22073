"""A network to try the controller on: Open vSwitch's daemons, the controller, and Mininet's hosts and switches.

A `Lab` is used for one scenario and starts everything afresh; it ends only what it started. Every wait has a deadline.
"""

import functools
import os
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
import time

from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import OVSSwitch, RemoteController

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
PORT = 6653
START_S = 15
POLL_S = 0.02
TAIL_LINES = 30


class Failure(Exception):
    """What was expected, and what was seen instead."""


def expect(condition, expected, seen):
    if not condition:
        raise Failure(f"expected: {expected}\nseen:     {seen}")


def wait_until(what, condition, seconds=START_S, seen=lambda: "nothing of the kind"):
    """Waits until `condition()` is true and returns its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failure(f"expected: {what}, within {seconds} s\nseen:     {seen()}")
        time.sleep(POLL_S)


def indent(text):
    return "\n".join("     " + line for line in text.rstrip().splitlines())


def output(*argv, seconds=30):
    """What a command printed, errors included."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds, check=False)
    return done.stdout.decode(errors="replace")


def prepare_machine():
    """Makes the fresh namespaces liveable. Files go to a memory of their own, which ends with the namespaces."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    setLogLevel("error")


def controller_command():
    return shlex.split(os.environ.get("ALDIS_CONTROLLER") or os.path.join(ROOT, "target/debug/aldis") + " run")


class Process:
    """A program we started, with its output in a file."""

    def __init__(self, argv, log):
        self.log = log
        with open(log, "ab") as out:
            self.child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                          start_new_session=True)

    def alive(self):
        return self.child.poll() is None

    def stop(self, seconds=5):
        """Asks it to end, insists after a while; its exit status."""
        if self.alive():
            self.child.terminate()
        try:
            return self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self):
        if self.alive():
            self.child.kill()
        return self.child.wait(START_S)


class Remote(RemoteController):
    """Mininet's remote controller, with a probe that cannot hang: its own sometimes leaves telnet waiting for ever."""

    def isListening(self, ip, port):
        try:
            probe(b"A", ip, port)
            return True
        except OSError:
            return False


def probe(payload, ip="127.0.0.1", port=PORT):
    """Looks for a controller the way Mininet does with telnet: connect, a byte, drop."""
    with socket.create_connection((ip, port), timeout=5) as connection:
        connection.sendall(payload)


class Lab:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="e2e-", dir="/run")
        self.net = None
        self.controller = None
        self.daemons = []
        for name in ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"):
            os.environ[name] = self.folder
        try:
            self._start_database()
            self.start_vswitchd()
        except BaseException:
            self.close()
            raise

    def path(self, name):
        return os.path.join(self.folder, name)

    # Open vSwitch

    def _start_database(self):
        subprocess.run(["ovsdb-tool", "create", self.path("conf.db"), SCHEMA], check=True)
        socket = self.path("db.sock")
        self.daemons.append(Process(["ovsdb-server", self.path("conf.db"), f"--remote=punix:{socket}"],
                                    self.path("ovsdb-server.log")))
        wait_until("ovsdb-server listens", lambda: os.path.exists(socket))
        subprocess.run(["ovs-vsctl", "--no-wait", "init"], check=True)

    def start_vswitchd(self):
        self.vswitchd = Process(["ovs-vswitchd", f"unix:{self.path('db.sock')}", "--pidfile"],
                                self.path("ovs-vswitchd.log"))
        # Returns when the daemon has taken over the configuration in the database.
        output("ovs-vsctl", f"--timeout={START_S}", "set", "Open_vSwitch", ".", "external-ids:lab=up")

    # The controller

    def start_controller(self, *options):
        self.controller = Process([*controller_command(), *options], self.path("controller.log"))
        wait_until(f"the controller listens on {PORT}", self._controller_listens, seen=self.controller_log)
        return self.controller

    def _controller_listens(self):
        expect(self.controller.alive(), "a running controller", self.controller_log())
        return listens(PORT)

    def controller_log(self):
        if not os.path.exists(self.path("controller.log")):
            return "(no log)"
        with open(self.path("controller.log"), encoding="utf-8", errors="replace") as log:
            return re.sub(r"\x1b\[[0-9;]*m", "", log.read())

    # The network

    def start_network(self, topo, version, protocol="tcp", port=PORT):
        """Hosts and switches as `mn --controller remote --switch ovs,protocols=VERSION` makes them, connected."""
        switch = functools.partial(OVSSwitch, datapath="user", protocols=version)
        remote = functools.partial(Remote, ip="127.0.0.1", port=port, protocol=protocol)
        self.net = Mininet(topo=topo, switch=switch, controller=remote, autoSetMacs=True)
        # A userspace datapath sees frames before the kernel would have filled in their checksums.
        for host in self.net.hosts:
            for interface in host.intfNames():
                host.cmd(f"ethtool -K {interface} tx off")
        mark = self.mark()
        self.net.start()
        self.wait_connected(mark)
        return self.net

    # The database is told whether a switch is connected only every five seconds; the log says it at once.

    def mark(self):
        """A point in Open vSwitch's log, for `wait_connected` and `wait_disconnected`."""
        return os.path.getsize(self.path("ovs-vswitchd.log"))

    def connections(self, mark):
        """What each switch said last about its connection, of what was logged after `mark`."""
        with open(self.path("ovs-vswitchd.log"), encoding="utf-8", errors="replace") as log:
            log.seek(mark)
            return dict(re.findall(r"\|rconn\|\w+\|(\w+)<->(?:tcp|ssl):\S+: (.*)", log.read()))

    def wait_connected(self, mark=0, switches=None):
        """Waits until these switches (or all) have agreed with the controller on a version."""
        names = {str(switch) for switch in switches or self.net.switches}

        def all_connected():
            last = self.connections(mark)
            return all(last.get(name) == "connected" for name in names)

        wait_until(f"{' '.join(sorted(names))} connected", all_connected, seen=lambda: self.connections(mark))

    def wait_disconnected(self, mark):
        """Waits until every switch has noticed that the controller is gone."""

        def none_connected():
            last = self.connections(mark)
            return len(last) == len(self.net.switches) and "connected" not in last.values()

        wait_until("every switch disconnected", none_connected, seen=lambda: self.connections(mark))

    def flows(self, switch, version):
        """The switch's own flows, one a line, the table-miss rule aside."""
        dump = output("ovs-ofctl", "-O", version, "dump-flows", str(switch))
        return [line.strip() for line in dump.splitlines() if "actions=" in line and "actions=CONTROLLER" not in line]

    # Afterwards

    def stop_network(self):
        """Ends the network, so that another one can be started at the same controller."""
        self.net.stop()
        self.net = None

    def end_network(self):
        """Ends the network and the controller, so that others can be started."""
        self.stop_network()
        self.controller.stop()

    def evidence(self):
        """What a person wants to see when a scenario failed."""
        parts = []
        for switch in self.net.switches if self.net else []:
            dump = output("ovs-ofctl", "-O", "OpenFlow10,OpenFlow13", "dump-flows", str(switch))
            parts += [f"--- flows of {switch}"] + dump.splitlines()[:TAIL_LINES]
        return "\n".join(parts + ["--- the controller's log"] + self.controller_log().splitlines()[-TAIL_LINES:])

    def close(self):
        try:
            if self.net:
                self.net.stop()
        finally:
            for process in [self.controller, getattr(self, "vswitchd", None), *self.daemons]:
                if process:
                    process.stop()
            shutil.rmtree(self.folder, ignore_errors=True)


def listens(port):
    """Whether a socket of this namespace listens on a port, without disturbing it."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if os.path.exists(table):
            with open(table, encoding="ascii") as lines:
                rows = [line.split() for line in lines.readlines()[1:]]
            if any(row[3] == "0A" and int(row[1].rsplit(":", 1)[1], 16) == port for row in rows):
                return True
    return False


class Ping:
    """A ping that runs beside the scenario, ten a second."""

    INTERVAL_S = 0.1

    def __init__(self, source, target):
        self.text = ""
        self.child = source.popen(["ping", "-n", "-i", str(self.INTERVAL_S), target.IP()],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.set_blocking(self.child.stdout.fileno(), False)

    def replies(self):
        """Numbers of the echo requests answered so far."""
        self.text += (self.child.stdout.read() or b"").decode(errors="replace")
        return [int(number) for number in re.findall(r"bytes from .* icmp_seq=(\d+)", self.text)]

    def wait_replies(self, more, seconds=START_S):
        """Waits for that many more answers."""
        start = len(self.replies())
        wait_until(f"{more} more ping replies", lambda: len(self.replies()) >= start + more, seconds,
                   seen=lambda: f"{len(self.replies()) - start} more; the last lines:\n{indent(self.text[-400:])}")

    def finish(self):
        """Ends it; how many of its requests went unanswered (the last one may still be on its way)."""
        self.child.send_signal(2)
        self.child.wait(START_S)
        answered = set(self.replies())
        return [number for number in range(1, max(answered, default=0) + 1) if number not in answered]
