#!/usr/bin/python3
"""What an application that loops, traps, allocates or floods costs the others: `aldis bench` beside it, until it is quarantined.

    cargo build --release && benches/quarantine.py [--turns 10] [--seconds 2] [--hosts 100000] [--rate 4000000]

The controller has core 0, the load core 1. One load goes on throughout: it asks for as much as is answered, or for no more than a
--rate. A rate below what the controller can do shows whether all that is asked is answered in time; what an application takes of
the room that is left does not show in it. In each turn an application is installed that misbehaves in every call from its 50th on;
when it is in quarantine it is removed. Each turn is compared with the pauses before and behind it, of --seconds each: its first
second, which begins with its first failure, and so many seconds from then on. When it fails and when it is in quarantine is read from
the controller's log, which takes nothing of the core: an answer over HTTP takes half a millisecond of it.

How fast the core is differs from one moment to the next where others use the machine, and so does each rate. What is taken from the
worker does not, and it stands beside them: the time that it spends in the application after its first failure, as the controller
counts it, and what the controller's other threads have of the core: those that compile, start and put away applications, and answer
over HTTP.
"""
import argparse, glob, json, os, socket, statistics, subprocess, sys, tempfile, threading, time, urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Seconds of one reading of the rate; until the load runs evenly; until a removed application is gone; what a turn takes besides;
# between two looks at the controller's other threads; in which an application that misbehaves is in quarantine, at the most.
LOOP, WARM_UP, SETTLES, TURN_MORE, SAMPLES, PATIENCE = 0.125, 4, 0.25, 2, 0.02, 20

BODIES = {
    "loops": "loop { std::hint::black_box(0); }",
    "traps": "panic!(\"as it was meant to\")",
    "allocates": "loop { self.kept.push(vec![1; 1 << 20]); }",
    "floods": "for _ in 0..1_000_000 { out.send(request, Port::FLOOD); }",
}

SOURCE = """
use aldis_app::{{App, Next, Output, Port, Request}};
struct Bad {{ calls: u64, kept: Vec<Vec<u8>> }}
impl App for Bad {{
    fn start(_: &str) -> Result<Bad, String> {{ Ok(Bad {{ calls: 0, kept: vec![] }}) }}
    #[allow(unreachable_code)]
    fn packet_in(&mut self, request: &Request<'_>, out: &mut Output) -> Next {{
        self.calls += 1;
        if self.calls > 50 {{ {body} }}
        let _ = (&self.kept, out, request, Port::FLOOD);
        Next::Continue
    }}
}}
aldis_app::export!(Bad);
"""


def free():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def built(aldis, folder, name):
    source = os.path.join(folder, name)
    with open(os.path.join(ROOT, "sdk/rust/template/Cargo.toml.template")) as template:
        cargo = template.read().replace("NAME", name).replace("SDK", os.path.join(ROOT, "sdk/rust"))
    os.makedirs(os.path.join(source, "src"))
    manifest = f'contract = "0.1"\nname = "{name}"\nversion = "1"\n[grants]\nmessages = ["packet-out"]\n'
    for file, text in (("Cargo.toml", cargo), ("manifest.toml", manifest), ("src/lib.rs", SOURCE.format(body=BODIES[name]))):
        with open(os.path.join(source, file), "w") as out:
            out.write(text)
    package = os.path.join(folder, name + ".app")
    subprocess.run([aldis, "app", "build", source, "--output", package], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, env={**os.environ, "CARGO_TARGET_DIR": os.path.join(ROOT, "target/sdk")})
    with open(package, "rb") as file:
        return file.read()


def ask(http, method, path, body=None):
    request = urllib.request.Request(f"http://{http}/api/v1/{path}", data=body, method=method,
                                     headers={"Content-Type": "application/octet-stream"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


class Log(threading.Thread):
    """The lines of the controller's log, each with when it came."""

    def __init__(self, controller):
        super().__init__(daemon=True)
        self.lines, self.came, self.stream = [], threading.Condition(), controller.stderr

    def run(self):
        for line in self.stream:
            with self.came:
                self.lines.append((time.monotonic(), line))
                self.came.notify()

    def until(self, name, words, since):
        """When this was said of the application; infinity where it was not in time."""
        said = lambda: next((at for at, line in self.lines if at >= since and f"{name}: {words}" in line), None)
        with self.came:
            self.came.wait_for(lambda: said() is not None, PATIENCE)
            return said() or float("inf")


def busy(http, name):
    """Seconds that the worker has been in the application."""
    (app,) = (app for app in ask(http, "GET", "apps")["apps"] if app["name"] == name)
    return app["counted"]["own"]["busy_us"] / 1e6


def turns(options, listen, http, name, package, threads, log):
    """Of each turn the rates of its first second and of those that follow, to those of the pauses around it; what other threads had
    of the core, in the pauses, in that second and from then on; seconds of the worker's in the application after its first failure;
    how long its quarantine took; and how many requests were lost in all."""
    loops = int((WARM_UP + options.seconds + options.turns * (2 * options.seconds + 1 + TURN_MORE) + 2) / LOOP)
    rated = ["--rate", str(options.rate)] if options.rate else []
    load = subprocess.Popen(["taskset", "-c", "1", options.aldis, "bench", listen, "-s", "16", "-M", str(options.hosts), "--outstanding",
                             "400", *rated, "-l", str(loops), "-m", str(round(LOOP * 1000)), "-w", "0", "--json"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def lasts(since, seconds):
        time.sleep(max(since + seconds - time.monotonic(), 0))
        return since, time.monotonic()

    try:
        time.sleep(WARM_UP)
        pauses, parts, tries, took = [lasts(time.monotonic(), options.seconds)], [], [], []
        for _ in range(options.turns):
            installed = time.monotonic()
            ask(http, "POST", "apps", package)
            first = log.until(name, "failed", installed)
            if first == float("inf"):
                sys.exit(f"{name} did not fail within {PATIENCE} s")
            before = busy(http, name)
            took.append(log.until(name, "quarantined", installed) - first)
            parts.append((lasts(first, 1), lasts(first + 1, options.seconds)))
            tries.append(busy(http, name) - before)
            ask(http, "DELETE", f"apps/{name}")
            time.sleep(SETTLES)
            pauses.append(lasts(time.monotonic(), options.seconds))
        said = json.loads(load.communicate(timeout=120)[0])
        ended = time.monotonic()
    finally:
        load.kill()
        load.wait()
    # The load ends with its last piece; before the first it teaches all addresses, which takes its time.
    loops = said["requests_per_second"]["loops"]
    piece = lambda at: len(loops) - (ended - at) / LOOP
    rate = lambda span: statistics.mean(loops[int(piece(span[0])) + 1:int(piece(span[1]))])
    around = [(rate(before) + rate(behind)) / 2 for before, behind in zip(pauses, pauses[1:])]
    ratios = [tuple(rate(part) / alone for part in both) for both, alone in zip(parts, around)]
    shares = [statistics.median(threads.share(since, until) for since, until in spans) for spans in (pauses, *zip(*parts))]
    return ratios, shares, tries, took, said["counts"]["lost"]


def read(*path):
    with open(os.path.join(*path), encoding="ascii") as file:
        return file.read()


class OtherThreads(threading.Thread):
    """What the controller's threads but its worker have had of the core, again and again."""

    def __init__(self, controller):
        super().__init__(daemon=True)
        self.of, self.seen, self.had, self.ended = (str(controller.pid), "task"), [], {}, threading.Event()

    def look(self):
        """What one had that ended stays counted."""
        for path in glob.glob(os.path.join("/proc", *self.of, "*")):
            try:
                if not read(path, "comm").startswith("worker"):
                    self.had[path] = int(read(path, "schedstat").split()[0]) / 1e9
            except OSError:
                continue
        self.seen.append((time.monotonic(), sum(self.had.values())))

    def run(self):
        while not self.ended.wait(SAMPLES):
            self.look()

    def share(self, since, until):
        """Their part of the core between two moments."""
        (begun, before), *_, (ended, after) = [(at, had) for at, had in self.seen if since <= at <= until]
        return (after - before) / (ended - begun)


def quartiles(values):
    low, median, high = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return f"{median:.3f} (quartiles {low:.3f} and {high:.3f})"


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--turns", type=int, default=10)
    asked.add_argument("--seconds", type=float, default=2)
    asked.add_argument("--hosts", type=int, default=100_000, help="of each of the 16 switches")
    asked.add_argument("--rate", type=int, help="offer no more requests a second than that")
    asked.add_argument("--aldis", default=os.path.join(ROOT, "target/release/aldis"))
    options = asked.parse_args()
    listen, http = free(), free()
    with tempfile.TemporaryDirectory() as folder:
        packages = {name: built(options.aldis, folder, name) for name in BODIES}
        # What is measured here is measured beside the load, not on the controller's core.
        os.sched_setaffinity(0, {1})
        run = [options.aldis, "run", "--workers", "1", "--listen", listen, "--http", http, "--apps", "learning-switch"]
        controller = subprocess.Popen(["taskset", "-c", "0", *run], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        log, threads = Log(controller), OtherThreads(controller)
        log.start()
        try:
            time.sleep(1)
            threads.start()
            for name, package in packages.items():
                ratios, shares, tries, took, lost = turns(options, listen, http, name, package, threads, log)
                first, later = (quartiles(column) for column in zip(*ratios))
                print(f"{name}: rate to that of the pauses around it: {first} in the first second, {later} from then on; of that second the "
                      f"application has {statistics.median(tries):.2%} ({max(tries):.2%} at the most); other threads have "
                      "{:.2%} of the core in the pauses, {:.2%} in that second, {:.2%} from then on; ".format(*shares) +
                      f"{len(ratios)} turns, quarantined within {max(took):.2f} s of its first failure; {lost} requests lost",
                      flush=True)
            threads.ended.set()
            threads.join()
        finally:
            controller.terminate()
            controller.wait()


if __name__ == "__main__":
    sys.exit(main())
