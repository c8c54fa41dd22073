"""Faults that are made for real, and what `aldis doctor` says of each. Functions of a fresh `Lab`."""

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time

from mininet.topo import LinearTopo, SingleSwitchTopo
from mininet.topolib import TreeTopo

import kept
import secure
from lab import PORT, Ping, Process, controller_command, expect, listens, output, wait_until

FRAMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "frames.py")
VERSION = "OpenFlow13"
# Three times what the whole look may take: another scenario runs beside this one.
WITHIN_S = 15
# The database of Open vSwitch is told every five seconds, and the controller keeps for twenty what it refused.
TOLD_S = 40
# What neighbours of this machine and other scenarios take, which is no fault of a network.
OF_NEIGHBOURS = ("processor-stolen", "processor-busy", "processor-throttled")


def doctor(*options, before=()):
    """The exit code and what is said as JSON."""
    start = time.monotonic()
    command = [*before, controller_command()[0], "doctor", "--json", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30, check=False)
    took = time.monotonic() - start
    expect(took < WITHIN_S, f"an answer within {WITHIN_S} s", f"{took:.1f} s")
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        return done.returncode, {"findings": [], "said": (done.stdout + done.stderr).decode(errors="replace")}


def of_network(said):
    """What it says of the network and the controller."""
    return [found for found in said["findings"] if found["id"] not in OF_NEIGHBOURS]


def finds(name, seconds=TOLD_S):
    """Waits until this diagnosis stands first; what it says."""
    last = {}

    def stands_first():
        last["code"], last["said"] = doctor()
        found = of_network(last["said"])
        return found[0] if last["code"] == 1 and found and found[0]["id"] == name else None

    return wait_until(f"{name} first", stands_first, seconds, seen=lambda: json.dumps(last, indent=1))


def finds_nothing(seconds=TOLD_S):
    last = {}

    def is_healthy():
        last["code"], last["said"] = doctor()
        found = last["said"]["findings"]
        return last["code"] == (1 if found else 0) and not of_network(last["said"])

    wait_until("nothing wrong", is_healthy, seconds, seen=lambda: json.dumps(last, indent=1))


def done_as_said(found):
    """Does what a finding says."""
    path = os.path.dirname(controller_command()[0]) + ":" + os.environ["PATH"]
    done = subprocess.run(["sh", "-c", found["command"]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30,
                          env={**os.environ, "PATH": path}, check=False)
    expect(done.returncode == 0, "a command that works", f"{found['command']}: {done.stdout.decode(errors='replace')}")


def bridge(name, *targets, **columns):
    """A bridge without hosts."""
    output("ovs-vsctl", "--may-exist", "add-br", name)
    columns = {"datapath_type": "netdev", "fail_mode": "secure", **columns}
    output("ovs-vsctl", "set", "bridge", name, *(f"{key}={value}" for key, value in columns.items()))
    if targets:
        output("ovs-vsctl", "set-controller", name, *targets)


def served(dpid):
    """Waits until the controller has this switch."""
    def is_there():
        return f"{dpid:016x}" in output(controller_command()[0], "switches")

    wait_until(f"switch {dpid}", is_there, TOLD_S, seen=lambda: output(controller_command()[0], "switches"))


def no_controller(lab):
    """Without a controller it is said that none runs, or what has its port; where one runs, nothing is wrong but that none connects."""
    bridge("s1", f"tcp:127.0.0.1:{PORT}")
    found = finds("controller-not-running")
    expect(found["command"] == "aldis run", "how to start it", found)
    listener = socket.create_server(("127.0.0.1", PORT))
    found = finds("port-taken")
    expect(str(os.getpid()) in found["what_to_do"] and "python" in found["title"], "the process that has it", found)
    listener.close()
    lab.start_controller()
    finds_nothing()
    output("ovs-vsctl", "del-br", "s1")
    wait_until("no switch", lambda: "0 switches" in output(controller_command()[0], "switches"))
    finds("no-switch")
    bridge("s2")
    finds("bridge-without-controller")


def healthy(lab):
    """In a network in order nothing is found, in words too."""
    lab.start_controller()
    net = lab.start_network(TreeTopo(2, 3), VERSION)
    expect(net.pingAll() == 0, "pingall without loss", "losses")
    finds_nothing()
    said = output(controller_command()[0], "doctor")
    expect("nothing is wrong" in said and "4 bridges" in said, "that nothing is wrong, and what was looked at", said)


def misdirected(lab):
    """A bridge that connects to another port or address: the command that is said mends it."""
    lab.start_controller()
    bridge("s1", "tcp:127.0.0.1:6699", **{"other-config:datapath-id": "00000000000000a1"})
    found = finds("wrong-port")
    expect("127.0.0.1:6699" in found["title"], "where it connects to", found)
    done_as_said(found)
    served(0xa1)
    finds_nothing()
    output("ovs-vsctl", "set-controller", "s1", f"tcp:10.9.9.9:{PORT}")
    done_as_said(finds("wrong-address"))
    served(0xa1)
    # Packets to a neighbour that is not there vanish, as in a firewall.
    output("ip", "link", "add", "way", "type", "veth", "peer", "name", "out")
    for name in ("way", "out"):
        output("ip", "link", "set", name, "up")
    output("ip", "addr", "add", "10.9.9.1/24", "dev", "way")
    output("ip", "neigh", "add", "10.9.9.9", "lladdr", "02:00:00:00:00:99", "dev", "way")
    output("ovs-vsctl", "set-controller", "s1", f"tcp:10.9.9.9:{PORT}")
    finds("firewall")


def versions(lab):
    """A bridge that speaks no version of the controller's."""
    lab.start_controller()
    bridge("s1", f"tcp:127.0.0.1:{PORT}", protocols="OpenFlow14")
    found = finds("version-mismatch")
    expect("bridge s1 speaks OpenFlow14 alone" in found["evidence"], "the bridge and its version", found)
    done_as_said(found)
    wait_until("the bridge connected", lambda: "1 switch" in output(controller_command()[0], "switches"), TOLD_S)
    finds_nothing()


def encrypted(lab):
    """TLS to a port without, no certificate, and the certificate of another switch."""
    secure.pki(lab, "--switch", "1", "--switch", "2")
    certificate, key, authority = (lab.path(f"pki/{name}") for name in ("controller.pem", "controller.key", "ca.pem"))
    lab.start_controller("--tls-certificate", certificate, "--tls-key", key, "--tls-authority", authority)
    bridge("s1", f"ssl:127.0.0.1:{secure.PORT}", **{"other-config:datapath-id": "0000000000000001"})
    finds("tls-without-certificate")
    secure.show_certificate_of(lab, 2)
    found = finds("tls-refused")
    expect("dpid-0000000000000002" in str(found["evidence"]), "whose certificate it is", found)
    secure.show_certificate_of(lab, 1)
    output("ovs-vsctl", "set-controller", "s1", f"ssl:127.0.0.1:{PORT}")
    finds("tls-to-plain-port")


def twins(lab):
    """Two bridges with one datapath id."""
    lab.start_controller()
    for name in ("s1", "s2"):
        bridge(name, f"tcp:127.0.0.1:{PORT}", **{"other-config:datapath-id": "00000000000000aa"})
    found = finds("duplicate-dpid")
    expect(found["evidence"] == ["bridges s1, s2 have the datapath id 00000000000000aa"], "both", found)
    done_as_said(found)
    served(0xff)


# A controller that takes a role at whatever connects to a port, and says no more: both are arguments.
OTHER = """
import socket, struct, sys
port, role = int(sys.argv[1]), int(sys.argv[2])
server = socket.create_server(("127.0.0.1", port))
while True:
    switch, _ = server.accept()
    switch.sendall(struct.pack("!BBHI", 4, 0, 8, 1))
    switch.sendall(struct.pack("!BBHIIIQ", 4, 24, 24, 2, role, 0, 9))
    while True:
        head = switch.recv(8, socket.MSG_WAITALL)
        if len(head) < 8:
            break
        version, kind, length, xid = struct.unpack("!BBHI", head)
        switch.recv(length - 8, socket.MSG_WAITALL)
        if kind == 2:
            switch.sendall(struct.pack("!BBHI", 4, 3, 8, xid))
"""


# Roles of OpenFlow 1.3.
MASTER, SLAVE = "2", "3"


def another_master(lab):
    """Another controller stands by, which is in order; a third one makes itself the master."""
    lab.start_controller()
    roles = {6698: SLAVE, 6699: MASTER}
    others = [Process([sys.executable, "-c", OTHER, str(port), role], lab.path(f"{port}.log")) for port, role in roles.items()]
    try:
        wait_until("the other controllers", lambda: all(map(listens, roles)))
        bridge("s1", f"tcp:127.0.0.1:{PORT}", "tcp:127.0.0.1:6698", protocols=VERSION)
        wait_until("one that stands by", lambda: "slave" in output("ovs-vsctl", "--columns=role", "list", "controller"))
        finds_nothing()
        output("ovs-vsctl", "set-controller", "s1", *(f"tcp:127.0.0.1:{port}" for port in (PORT, *roles)))
        found = finds("other-controller")
        expect("tcp:127.0.0.1:6699 is a master" in str(found["evidence"]), "who it is", found)
        done_as_said(found)
        finds_nothing()
    finally:
        for other in others:
            other.stop()


def no_table_miss(lab):
    """Somebody removed the table-miss rule."""
    lab.start_controller("--apps", "learning-switch")
    lab.start_network(SingleSwitchTopo(2), VERSION)
    finds_nothing()
    output("ovs-ofctl", "-O", VERSION, "del-flows", "s1")
    done_as_said(finds("no-table-miss"))
    finds_nothing()


def one_way(lab):
    """A flow that swallows probes makes a link be seen one way."""
    lab.start_controller()
    lab.start_network(LinearTopo(2), VERSION)
    finds_nothing()
    output("ovs-ofctl", "-O", VERSION, "add-flow", "s2", "priority=65535,dl_type=0x88cc,actions=drop")
    found = finds("one-way-link", 60)
    expect("0000000000000001" in found["title"] and "0000000000000002" in found["title"], "its ends", found)


def rules(lab):
    """A rule of the ACL drops what a host says."""
    kept.configured(lab, ["acl", "topology", "hosts", "learning-switch"], kept.DENY)
    net = lab.start_network(SingleSwitchTopo(3), VERSION)
    one, two, three = net.hosts
    Ping(one, two).wait_replies(1)
    finds_nothing()
    one.cmd(f"ping -c 2 -W 1 {three.IP()}")
    found = finds("acl-drops")
    expect("10.0.0.3" in str(found["evidence"]), "which packets", found)


def vlans(lab):
    """Two hosts of one subnet tag their frames with different VLANs."""
    lab.start_controller()
    net = lab.start_network(SingleSwitchTopo(2), VERSION)
    for host, vlan, other in zip(net.hosts, (10, 20), (20, 10)):
        asks = struct.pack("!HHHHHBBH", 0x8100, vlan, 0x0806, 1, 0x0800, 6, 4, 1)
        own = bytes.fromhex(host.MAC().replace(":", ""))
        frame = b"\xff" * 6 + own + asks + own + bytes([10, 7, 0, vlan]) + bytes(6) + bytes([10, 7, 0, other])
        host.cmd(f"/usr/bin/python3 {FRAMES} say {host.defaultIntf().name} {frame.hex()}")
    found = finds("hosts-in-different-vlans")
    expect("10.7.0.0/24" in found["title"] and "VLAN 20" in str(found["evidence"]), "the subnet and the VLANs", found)


# A controller behind a guest that shakes hands, and says no more.
MUTE = """
import socket, struct, threading
def serve(switch):
    switch.sendall(struct.pack("!BBHI", 4, 0, 8, 1) + struct.pack("!BBHI", 4, 5, 8, 2))
    while switch.recv(65536):
        pass
server = socket.create_server(("127.0.0.1", 6701))
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"""


def guest_away(lab):
    """A guest is granted all packets: the controller behind it is gone, or answers nothing."""
    lab.start_controller()
    net = lab.start_network(SingleSwitchTopo(2), VERSION)
    one, two = net.hosts
    output(controller_command()[0], "guest", "add", "lecture", "--connect", "127.0.0.1:6701")
    one.cmd(f"ping -c 2 -W 1 {two.IP()}")
    done_as_said(finds("guest-away"))
    finds_nothing()
    mute = Process([sys.executable, "-c", MUTE], lab.path("mute.log"))
    asks = None
    try:
        wait_until("the controller behind the guest", lambda: listens(6701))
        output(controller_command()[0], "guest", "add", "lecture", "--connect", "127.0.0.1:6701")
        output("ovs-ofctl", "-O", VERSION, "del-flows", "s1", "ip")
        asks = one.popen(["ping", "-i", "0.2", "10.0.0.77"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        one.cmd("ip neigh add 10.0.0.77 lladdr 02:00:00:00:00:77 dev " + one.defaultIntf().name)
        done_as_said(finds("guest-swallows-requests"))
        finds_nothing()
    finally:
        mute.stop()
        if asks:
            asks.kill()


def nothing_forwards(lab):
    """No application that forwards runs."""
    lab.start_controller("--apps", "topology,hosts")
    lab.start_network(SingleSwitchTopo(2), VERSION)
    finds("no-forwarding-app")


def full_table(lab):
    """The flow table of a switch is full."""
    lab.start_controller("--apps", "learning-switch")
    net = lab.start_network(SingleSwitchTopo(4), VERSION)
    output("ovs-vsctl", "--", "--id=@few", "create", "Flow_Table", "flow_limit=3", "overflow_policy=refuse",
           "--", "set", "bridge", "s1", "flow_tables:0=@few")
    net.pingAll()
    finds("table-full")


def stuck_switch(lab):
    """A switch that does not read or answer any more."""
    lab.start_controller("--apps", "learning-switch")
    lab.start_network(SingleSwitchTopo(2), VERSION)
    finds_nothing()
    lab.vswitchd.child.send_signal(signal.SIGSTOP)
    try:
        finds("slow-switch", 8)
    finally:
        lab.vswitchd.child.send_signal(signal.SIGCONT)


def poor_machine(lab):
    """Few files, and a store on a file system that is nearly full, then read-only."""
    folder = lab.path("disk")
    os.mkdir(folder)
    output("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder)
    few = ["prlimit", "--nofile=128:128", *controller_command(), "--store", f"{folder}/aldis.store"]
    lab.controller = Process([*few, "--apps", "learning-switch"], lab.path("controller.log"))
    wait_until("the controller listens", lambda: listens(PORT), seen=lab.controller_log)
    bridge("s1", f"tcp:127.0.0.1:{PORT}")
    finds("open-files-nearly-out")
    with open(f"{folder}/ballast", "wb") as file:
        free = os.statvfs(folder)
        file.write(b"x" * (free.f_bavail * free.f_bsize - 65536))
    finds("store-nearly-full")
    # As after an error of the disk: what is open stays open.
    output("mount", "--bind", folder, folder)
    output("mount", "-o", "remount,ro,bind", folder)
    finds("store-read-only")


def processors(lab):
    """A quota of the controller's control group; then what this machine may not be made to have: time that another machine takes,
    and a processor that saves power. There the files of the kernel are others, for the doctor alone, and all behind them is as ever."""
    lab.start_controller("--workers", "1")
    bridge("s1", f"tcp:127.0.0.1:{PORT}")
    finds_nothing()
    with quota(lab.controller.child.pid, 0.3):
        load = Process([controller_command()[0], "bench", f"127.0.0.1:{PORT}", "--switches", "4", "--loops", "60"],
                       lab.path("load.log"))
        try:
            shown("processor-throttled", doctor)
        finally:
            load.stop()
    folder = lab.path("kernel")
    os.makedirs(f"{folder}/cpu/cpu0/cpufreq")
    for name, text in (("scaling_governor", "powersave"), ("scaling_cur_freq", "800000"), ("cpuinfo_max_freq", "3200000")):
        with open(f"{folder}/cpu/cpu0/cpufreq/{name}", "w", encoding="ascii") as file:
            file.write(f"{text}\n")
    with open(f"{folder}/stat", "w", encoding="ascii") as file:
        file.write("cpu  100 0 100 800 0 0 0 0 0 0\n")
    # Half a second later fifty of a hundred ticks more are stolen.
    script = (f"mount --bind {folder}/stat /proc/stat && mount --bind {folder}/cpu /sys/devices/system/cpu && "
              f"{{ sleep 0.5; echo 'cpu  110 0 110 830 0 0 0 50 0 0' > {folder}/stat; }} & sleep 0.2; exec \"$0\" \"$@\"")
    finding = shown("processor-stolen", lambda: doctor(before=("unshare", "--mount", "sh", "-c", script)))
    expect("50 %" in finding["title"], "half of the time", finding)
    with open(f"{folder}/stat", "w", encoding="ascii") as file:
        file.write("cpu  100 0 100 800 0 0 0 0 0 0\n")
    finding = shown("processor-slow", lambda: doctor(before=("unshare", "--mount", "sh", "-c", script)))
    expect("25 %" in finding["title"] and "powersave" in finding["title"], "a quarter of the frequency", finding)


def shown(name, look):
    """Looks until this diagnosis is there, wherever it stands."""
    last = {}

    def is_there():
        last["code"], last["said"] = look()
        return next((found for found in last["said"]["findings"] if found["id"] == name), None)

    return wait_until(name, is_there, TOLD_S, seen=lambda: json.dumps(last, indent=1))


@contextlib.contextmanager
def quota(pid, processors):
    """A control group of its own, of either version, in which a process has so much of the processors."""
    period = 100_000
    root = next((root for root in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup") if os.path.exists(f"{root}/cgroup.procs")), None)
    expect(root is not None, "control groups", "none in /sys/fs/cgroup")
    group = f"{root}/aldis-test-{os.getpid()}"
    with open(f"/proc/{pid}/cgroup", encoding="ascii") as file:
        own = next(line.split(":", 2)[2].strip() for line in file if line.split(":", 2)[1] in ("", "cpu", "cpu,cpuacct"))

    def write(path, text):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)

    if root == "/sys/fs/cgroup":
        write(f"{root}/cgroup.subtree_control", "+cpu")
    os.mkdir(group)
    try:
        if root == "/sys/fs/cgroup":
            write(f"{group}/cpu.max", f"{int(period * processors)} {period}")
        else:
            write(f"{group}/cpu.cfs_period_us", str(period))
            write(f"{group}/cpu.cfs_quota_us", str(int(period * processors)))
        write(f"{group}/cgroup.procs", str(pid))
        yield
        write(f"{root}{own}/cgroup.procs", str(pid))
    finally:
        os.rmdir(group)


def all_of_them(_versions):
    """Pairs of a name and a function of a `Lab`."""
    for body in (no_controller, healthy, misdirected, versions, encrypted, twins, another_master, no_table_miss, one_way, rules,
                 vlans, guest_away, nothing_forwards, full_table, stuck_switch, poor_machine, processors):
        yield f"doctor {body.__name__}", body
