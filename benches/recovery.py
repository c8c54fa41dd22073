#!/usr/bin/python3
"""Measures how soon traffic is back when a link of its way is cut: the figures of docs/performance.md, "Recovery".

    cargo build --release && benches/recovery.py                 both, as root
    benches/recovery.py --only ovs --cuts 20 --version OpenFlow10
    benches/recovery.py --only emulator --cuts 20

ovs: nine switches of Open vSwitch in a torus, in namespaces of their own (tests/mininet). A ping goes every 2 ms; the port that
its requests leave the first switch by is taken down, and up again when it is back. What counts is the time from the port-down
message, as it comes in by the loopback, until the first request arrives behind the gap.

emulator: 1,347 switches of `aldis emulate`; the two links that are left of a host's switch are cut in turn. What counts is the time from the cut
until the first answer of a ping that left behind it; pings leave every 10 ms, so that up to so much of it is waiting for the next.
"""
import argparse, json, os, re, statistics, subprocess, sys, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "mininet"))
INSIDE = "--inside"
INTERVAL_S = 0.002
# Around a cut arrivals are looked at for so long.
LOOK_S = 2.0
VERSIONS = {"OpenFlow10": ("openflow_1_0.type", "1.0"), "OpenFlow13": ("openflow_v4.type", "1.3")}
PORT_STATUS = 12


def show(what, times_ms):
    times = sorted(times_ms)
    p99 = times[min(len(times) - 1, int(len(times) * 0.99))]
    print(f"{what}: {len(times)} cuts, median {statistics.median(times):.1f} ms, p99 {p99:.1f} ms, longest {times[-1]:.1f} ms",
          flush=True)


def on_ovs(options):
    """Measures inside the namespaces that were made for it."""
    import lab as labs
    from mininet.topolib import TorusTopo

    labs.prepare_machine()
    lab = labs.Lab()
    try:
        lab.start_controller()
        net = lab.start_network(TorusTopo(3, 3), options.version)
        labs.expect(net.pingAll() == 0, "pingall without loss", "losses")
        first, second = net.get("h1x1"), net.get("h1x2")
        arrivals, messages = lab.path("arrivals.pcap"), lab.path("lo.pcap")
        common = ["tcpdump", "-Z", "root", "-U", "--immediate-mode", "-s", "256"]
        hears = second.popen([*common, "-i", str(second.defaultIntf()), "-w", arrivals, "icmp[icmptype] == icmp-echo"])
        reads = labs.Process([*common, "-B", "8192", "-i", "lo", "-w", messages, f"tcp dst port {labs.PORT}"], lab.path("tcpdump.log"))
        beside = first.popen(["ping", "-n", "-q", "-i", str(INTERVAL_S), second.IP()], stdout=subprocess.DEVNULL)
        time.sleep(1)
        cuts = [cut(labs, lab, options.version, first, second) for _ in range(options.cuts)]
        time.sleep(1)
        beside.terminate(), hears.terminate(), reads.stop()
        hears.wait()
        arrived = stamps(arrivals, "icmp.type == 8")
        kind = VERSIONS[options.version][0]
        told = stamps(messages, f"{kind} == {PORT_STATUS}", labs.PORT)
        show(f"Open vSwitch, {options.version}", [recovery_ms(at, told, arrived) for at in cuts])
    finally:
        lab.close()


def cut(labs, lab, version, first, second):
    """Takes the port down that leads to the host, and up again when its link is found again; when it was taken down."""
    flow = next(flow for flow in lab.flows("s1x1", version) if f"dl_src={first.MAC()},dl_dst={second.MAC()}" in flow)
    port = re.search(r'output:"?(?:s1x1-eth)?(\d+)', flow).group(1)
    interface, links = f"s1x1-eth{port}", lab.controller_log().count(" is up\n")
    at = time.time()
    labs.output("ip", "link", "set", interface, "down")
    time.sleep(0.5)
    labs.output("ip", "link", "set", interface, "up")
    labs.wait_until("the link again", lambda: lab.controller_log().count(" is up\n") > links, seen=lab.controller_log)
    time.sleep(0.2)
    return at


def stamps(capture, only, port=None):
    decoded = ["-d", f"tcp.port=={port},openflow"] if port else []
    rows = subprocess.run(["tshark", "-n", "-r", capture, *decoded, "-Y", only, "-T", "fields", "-e", "frame.time_epoch"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()
    return [float(row) for row in rows.split()]


def recovery_ms(at, told, arrived):
    """From the first port-down message behind the cut to the end of the longest gap in what arrives."""
    heard = min(time for time in told if time > at)
    near = [time for time in arrived if at - 0.05 < time < at + LOOK_S / 4]
    gap, end = max((after - before, after) for before, after in zip(near, near[1:]))
    return max(0.0, (end - heard) * 1000) if gap > 2 * INTERVAL_S else 0.0


def on_emulator(options):
    aldis = os.path.join(ROOT, "target/release/aldis")
    listen, http = "127.0.0.1:16653", "127.0.0.1:18080"
    controller = subprocess.Popen([aldis, "run", "--listen", listen, "--http", http],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        emulate = [aldis, "emulate", listen, "--topology", "waxman,1347", "--openflow", VERSIONS[options.version][1],
                   "--await-links", "--json"]
        peers = neighbours(aldis, http, [*emulate, "--at", "5s ping h1 h2"])
        time.sleep(1)
        lines, at_ms = ["0s ping h1 h1347", "1s watch h1 h1347"], 2000
        # Two links are left, so that whichever is cut, what went over it has to take the other.
        lines += [f"1500ms link-down s1 s{peer}" for peer in peers[2:]]
        for number in range(options.cuts):
            peer = peers[number % 2]
            lines += [f"{at_ms}ms link-down s1 s{peer}", f"{at_ms + 500}ms link-up s1 s{peer}"]
            at_ms += 2000
        script = [part for line in lines for part in ("--at", line)]
        said = subprocess.run([*emulate, *script], stdout=subprocess.PIPE, check=False, timeout=at_ms / 1000 + 120).stdout.decode()
        tell(said, options)
    finally:
        controller.terminate()
        controller.wait()


def neighbours(aldis, http, emulate):
    """The switches next to the first one, as the controller found them while the network ran for a while."""
    network, ends = subprocess.Popen(emulate, stdout=subprocess.DEVNULL), []
    while network.poll() is None:
        said = subprocess.run([aldis, "links", "--json", "--http", f"http://{http}"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False).stdout
        links = json.loads(said).get("items", []) if said.strip() else []
        # The most that were known at once: in the end they go, one by one.
        ends = max(ends, [tuple(int(link[end]["dpid"], 16) for end in "ab") for link in links], key=len)
        time.sleep(0.5)
    return sorted({b if a == 1 else a for a, b in ends if 1 in (a, b)})


def tell(said, options):
    """What became of the ping behind each cut."""
    told = [found for found in json.loads(said)["findings"] if str(found.get("fault", "")).startswith("link-down")]
    lost, never = sum(bool(found["lost"]) for found in told), sum(found["apart_s"] is None for found in told)
    show(f"1,347 emulated switches, {options.version}, {lost} cuts that cost a ping, {never} never mended",
         [found["apart_s"] * 1000 for found in told if found["apart_s"] is not None])


def main():
    if sys.argv[1:2] == [INSIDE]:
        options = argparse.Namespace(**json.loads(sys.argv[2]))
        on_ovs(options)
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuts", type=int, default=100, help="how many links are cut (100)")
    parser.add_argument("--version", choices=VERSIONS, default="OpenFlow13", help="what switches speak (OpenFlow13)")
    parser.add_argument("--only", choices=("ovs", "emulator"), help="one of the two")
    options = parser.parse_args()
    if options.only != "emulator":
        import run

        run.check_machine()
        os.environ.setdefault("ALDIS_CONTROLLER", os.path.join(ROOT, "target/release/aldis") + " run")
        subprocess.run([*run.UNSHARE, sys.executable, os.path.abspath(__file__), INSIDE, json.dumps(vars(options))], check=True)
    if options.only != "ovs":
        on_emulator(options)


if __name__ == "__main__":
    main()
