#!/usr/bin/python3
"""Measures what REST takes: the figures of docs/performance.md, "REST".

Real sockets on loopback, one connection that stays open, the controller on one core and everything else on the other. Open vSwitch
runs in namespaces of its own, as in the end-to-end tests, which need root. Run it from the root of the repository, on a machine that
does nothing else:

    cargo build --release && benches/rest.py                  all figures
    benches/rest.py --only list,many --aldis target/debug/aldis
"""
import argparse, http.client, json, os, selectors, socket, statistics, subprocess, sys, threading, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CONTROLLER_CORE, LOAD_CORE = "0", "1"
OPENFLOW, HTTP = 16653, 18080
INSIDE = "--inside"
START_S = 60
# Of each run of `watched`.
SECONDS = 4


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="figures, separated by commas: " + ", ".join(FIGURES))
    parser.add_argument("--aldis", default="target/release/aldis", help="the controller (target/release/aldis)")
    parser.add_argument("--times", type=int, default=500, help="requests of each kind (500)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each pair (5)")
    parser.add_argument("--switches", type=int, default=1347, help="switches of the list (1347)")
    parser.add_argument(INSIDE, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.sched_setaffinity(0, {int(LOAD_CORE)})
    options.aldis = os.path.abspath(options.aldis)
    if options.inside:
        return confirmed_inside(options)
    for name in [name for name in options.only.split(",") if name] or list(FIGURES):
        if name not in FIGURES:
            sys.exit(f"rest.py: there is no figure {name}; there are: {', '.join(FIGURES)}")
        FIGURES[name](options)


class Running:
    """A program of ours, ended with the block."""

    def __init__(self, core, *argv):
        nothing = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.child = subprocess.Popen(["taskset", "-c", core, *argv], **nothing)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait(30)


def controller(options, *extra, openflow=OPENFLOW):
    return Running(CONTROLLER_CORE, options.aldis, "run", "--apps", "learning-switch", "--listen", f"127.0.0.1:{openflow}",
                   "--http", f"127.0.0.1:{HTTP}", "--workers", "1", "--log", "error", *extra)


def network(options, shape, version):
    return Running(LOAD_CORE, options.aldis, "emulate", f"127.0.0.1:{OPENFLOW}", "--topology", shape, "--openflow", version,
                   "--for", "600")


class Api:
    """One connection that stays open."""

    def __init__(self):
        self.connection = http.client.HTTPConnection("127.0.0.1", HTTP, timeout=60)

    def ask(self, method, path, body=None):
        """The answer, and how long it took in milliseconds: from the first byte sent to the last one read."""
        data = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        start = time.perf_counter()
        self.connection.request(method, path, data, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        took_ms = 1e3 * (time.perf_counter() - start)
        if answer.status != 200:
            sys.exit(f"rest.py: {method} {path}: {answer.status} {text[:500]}")
        return text, took_ms


def connected(switches):
    """A connection to the controller, once so many switches are there."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        try:
            api = Api()
            if len(json.loads(api.ask("GET", "/stats/switches")[0])) == switches:
                return api
        except OSError:
            pass
        time.sleep(0.1)
    sys.exit(f"rest.py: {switches} switches did not come within {START_S} s")


def percentile(sorted_ms, share):
    return sorted_ms[min(len(sorted_ms) - 1, int(share * len(sorted_ms)))]


def say(what, times_ms):
    times_ms = sorted(times_ms)
    print(f"{what}: p50 {percentile(times_ms, 0.5):.2f} ms · p99 {percentile(times_ms, 0.99):.2f} ms · most {times_ms[-1]:.2f} ms "
          f"({len(times_ms)} requests)", flush=True)


def lists(options):
    """The list of all switches, ours, Ryu's and Floodlight's."""
    print(f"\n## lists of {options.switches} switches\n", flush=True)
    with controller(options), network(options, f"linear,{options.switches}", "1.3"):
        api = connected(options.switches)
        for path in ("/api/v1/switches", "/stats/switches", "/v1.0/topology/switches", "/wm/core/controller/switches/json"):
            text, _ = api.ask("GET", path)
            say(f"GET {path}, {len(text) / 1024:.0f} KiB", [api.ask("GET", path)[1] for _ in range(options.times)])


def many(options):
    """10,000 flows in one request to 100 emulated switches, each with its result."""
    for version in ("1.0", "1.3"):
        print(f"\n## 10,000 flows in one request to 100 switches, OpenFlow {version}\n", flush=True)
        with controller(options), network(options, "linear,100", version):
            api = connected(100)
            times_ms = []
            for round_ in range(10):
                flows = [{"switch": str(1 + place % 100), "priority": 100 + round_,
                          "match": {"eth_type": "0x0800", "ipv4_dst": f"10.{round_}.{place // 100}.{place % 100}"},
                          "actions": ["output:1"]} for place in range(10_000)]
                text, took_ms = api.ask("POST", "/api/v1/flows", {"flows": flows})
                done = json.loads(text)
                if done["done"] != 10_000 or len(done["results"]) != 10_000:
                    sys.exit(f"rest.py: {done['done']} of 10,000 done")
                times_ms.append(took_ms)
            say("POST /api/v1/flows", times_ms)


def confirmed(options):
    """One flow at a time, written and confirmed by Open vSwitch, in namespaces of its own."""
    print("\n## one flow, confirmed by Open vSwitch\n", flush=True)
    inside = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, os.path.abspath(__file__),
              INSIDE, "--aldis", options.aldis, "--times", str(options.times)]
    subprocess.run(inside, check=True)


def confirmed_inside(options):
    sys.path.insert(0, os.path.join(ROOT, "tests/mininet"))
    import lab
    from mininet.topo import SingleSwitchTopo

    lab.prepare_machine()
    here = lab.Lab()
    try:
        with controller(options, openflow=lab.PORT):
            api = None
            for version in ("OpenFlow10", "OpenFlow13"):
                here.start_network(SingleSwitchTopo(2), version)
                api = connected(1)
                ours = [api.ask("POST", "/api/v1/switches/1/flows", {"flows": [{
                    "priority": 100, "match": {"eth_type": "0x0800", "ipv4_dst": f"10.0.{place // 250}.{place % 250}"},
                    "actions": ["output:1"]}]})[1] for place in range(options.times)]
                say(f"POST /api/v1/switches/1/flows, {version}", ours)
                theirs = [api.ask("POST", "/stats/flowentry/add", {
                    "dpid": 1, "priority": 200, "match": {"dl_type": 2048, "nw_dst": f"10.1.{place // 250}.{place % 250}"},
                    "actions": [{"type": "OUTPUT", "port": 1}]})[1] for place in range(options.times)]
                say(f"POST /stats/flowentry/add, {version}", theirs)
                here.net.stop()
                here.net = None
    finally:
        here.close()


class Watchers:
    """Scrapes the counters each second and follows all events a hundred times, as long as the block lasts."""

    FOLLOWERS = 100

    def __enter__(self):
        self.over, self.scrapes, self.bytes = threading.Event(), 0, 0
        self.events = selectors.DefaultSelector()
        for _ in range(self.FOLLOWERS):
            follower = socket.create_connection(("127.0.0.1", HTTP), timeout=10)
            follower.sendall(b"GET /api/v1/events?after=oldest HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            self.events.register(follower, selectors.EVENT_READ)
        self.threads = [threading.Thread(target=self.scrape), threading.Thread(target=self.follow)]
        for thread in self.threads:
            thread.start()
        return self

    def scrape(self):
        api = Api()
        while not self.over.wait(1):
            api.ask("GET", "/metrics")
            self.scrapes += 1

    def follow(self):
        while not self.over.is_set():
            for key, _ in self.events.select(0.2):
                self.bytes += len(key.fileobj.recv(65536))

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()
        followers = [key.fileobj for key in self.events.get_map().values()]
        self.events.close()
        for follower in followers:
            follower.close()


def watched(options):
    """The throughput of the worker with people watching, and without: everything of the controller on one core."""
    load = f"-s 16 -M 100000 --outstanding 400 -l {SECONDS} -m 1000 -w 1 --json"
    print(f"\n## /metrics each second and {Watchers.FOLLOWERS} followers of events\n\n    {options.aldis} bench … {load}\n", flush=True)
    ratios = []
    for _ in range(options.rounds):
        rates = {}
        for is_watched in (False, True):
            with controller(options):
                connected(0)
                if is_watched:
                    with Watchers() as watchers:
                        rates[is_watched] = offered(options, load)
                    if watchers.scrapes < SECONDS or watchers.bytes == 0:
                        sys.exit(f"rest.py: nobody watched: {watchers.scrapes} scrapes, {watchers.bytes} bytes of events")
                else:
                    rates[is_watched] = offered(options, load)
        ratios.append(rates[True] / rates[False])
        print(f"{rates[True] / 1e6:.2f} M requests/s watched, {rates[False] / 1e6:.2f} M alone, ratio {ratios[-1]:.3f}", flush=True)
    print(f"ratio {statistics.median(ratios):.3f}, median of {options.rounds}", flush=True)


def offered(options, load):
    """Requests a second that were answered."""
    bench = ["taskset", "-c", LOAD_CORE, options.aldis, "bench", f"127.0.0.1:{OPENFLOW}", *load.split()]
    done = subprocess.run(bench, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"rest.py: {' '.join(bench)}: {done.stderr.strip()}")
    return json.loads(done.stdout.strip().splitlines()[-1])["requests_per_second"]["median"]


FIGURES = {"list": lists, "confirmed": confirmed, "many": many, "watched": watched}

if __name__ == "__main__":
    main()
