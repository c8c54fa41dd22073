#!/usr/bin/env python3
"""Measures how fairly and how soon switches are served: the figures of docs/performance.md, "Fairness and delay".

Real sockets on loopback. Where two designs are compared they take turns (A B A B …), and the median of all rounds is printed.
Run it from the root of the repository, on a machine that does nothing else:

    cargo build --release && benches/sharing.py                 all figures
    benches/sharing.py --rounds 3 --only fairness,probes        some of them
"""
import argparse, contextlib, json, math, os, shlex, signal, statistics, subprocess, sys, time, urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import figures
from figures import ALDIS, CONTROLLER_CORE, LOAD_CORE, PORT, limits, mark, running

DEFAULT, STATIC = "fair-rounds", "maestro-static-partition"
# Shares are reckoned loop by loop: short ones follow a machine that is fast and slow by turns.
SHARED = 10
FAIR = (DEFAULT, "maestro-round-robin", "maestro-shared-queue", STATIC)
# Of a virtual machine's time that others have, in figures that mean something.
STOLEN_MAX = 0.02
# Of the time of a generator's busiest thread, or it is the limit: what `aldis bench` has.
IDLE_MIN = 0.05


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each comparison (5)")
    parser.add_argument("--seconds", type=int, default=10, help="measured seconds of each run; in throughput and skewed, turns of each design in a round (10)")
    parser.add_argument("--turn", type=float, default=1, help="seconds of each turn in throughput and skewed (1)")
    parser.add_argument("--only", default="", help="figures, separated by commas: " + ", ".join(FIGURES))
    parser.add_argument("--workers", type=int, default=1, help="workers, for fairness and weights; more than 1 share the cores "
                        "with the load, which then limits what the switches can ask for (1)")
    parser.add_argument("--designs", default=",".join(FAIR), help="designs, where several are measured")
    options = parser.parse_args()
    chosen = [name for name in options.only.split(",") if name] or list(FIGURES)
    for name in chosen:
        if name not in FIGURES:
            sys.exit(f"sharing.py: there is no figure {name}; there are: {', '.join(FIGURES)}")
    for name in chosen:
        stolen, passed = ticks()
        FIGURES[name](options)
        stolen, passed = (now - before for now, before in zip(ticks(), (stolen, passed)))
        if stolen > STOLEN_MAX * passed:
            print(f"\n{name}: the host took {100 * stolen / passed:.1f} % of this machine's time meanwhile; measure again", flush=True)


def ticks():
    """Of all cores: those that the host gave to others, and all."""
    with open("/proc/stat") as file:
        passed = [int(field) for field in file.readline().split()[1:9]]
    return passed[7], sum(passed)


def controller(design, workers=1, config=None, port=PORT, http="off"):
    cores = CONTROLLER_CORE if workers == 1 else "0,1"
    extra = f" --config {config}" if config else ""
    return running(f"{ALDIS} run --apps learning-switch --http {http} --listen 127.0.0.1:{{port}} --workers {workers} "
                   f"--log error --design {design}{extra}", cores=cores, port=port)


def measure(options, design, load, workers=1, config=None, loop=100):
    """One controller, started and stopped, under one load in loops of so many milliseconds; the load's report."""
    cores = LOAD_CORE if workers == 1 else "0,1"
    bench = (f"taskset -c {cores} {ALDIS} bench 127.0.0.1:{PORT} {load} "
             f"-l {1000 * options.seconds // loop} -m {loop} -w {1000 // loop} --json")
    with controller(design, workers, config):
        done = subprocess.run(shlex.split(bench), capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"sharing.py: {bench}: {done.stderr.strip()}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def rate(result):
    return result["requests_per_second"]["median"] / 1e6


def fairness(options):
    """Offered more than is served: every switch against its max-min share."""
    for design in options.designs.split(","):
        print(f"\n## fairness, {design}, {options.workers} workers, 79 switches\n", flush=True)
        full = measure(options, design, "-s 79 -M 1000 -t", options.workers, loop=SHARED)
        print(f"always full: {deviation(full)}", flush=True)
        for scenario in (1, 2):
            # Both scenarios offer 4 M requests a second; here half as much again as this design serves.
            load = f"-s 79 -M 1000 -t --scenario {scenario} --scale {1.5 * rate(full) / 4:.2f}"
            result = measure(options, design, load, options.workers, loop=SHARED)
            print(f"scenario {scenario}: {deviation(result)}  ({load})", flush=True)


def deviation(result):
    return f"worst deviation {100 * result['fairness']['worst']:+.2f} % · {rate(result):.2f} M requests/s" + mark({"it": [result]})


def weights(options):
    """Always full switches of weights 1, 2 and 4."""
    print(f"\n## weights 1:2:4, 79 switches always full, {options.workers} workers\n", flush=True)
    config = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"aldis-weights-{os.getpid()}.toml")
    with open(config, "w") as file:
        rules = [f'"{dpid}" = {[1, 2, 4][(dpid - 1) % 3]}' for dpid in range(1, 80)]
        file.write("\n".join(["[weights]", *rules]) + "\n")
    try:
        for design in options.designs.split(",")[:3]:
            result = measure(options, design, "-s 79 -M 1000 -t --weights 1,2,4", options.workers, config, SHARED)
            print(f"{design:<26} {deviation(result)}", flush=True)
    finally:
        os.unlink(config)


class Loaded:
    """A controller and its load, both of which stay up; the load is stopped and continued."""

    def __init__(self, up, design, load, port):
        http = f"127.0.0.1:{port + 1000}"
        self.metrics = f"http://{http}/metrics"
        self.controller = up.enter_context(controller(design, port=port, http=http))
        self.ask(up, load, port)

    def ask(self, up, load, port):
        """Starts the load."""
        self.bench = f"taskset -c {LOAD_CORE} {ALDIS} bench 127.0.0.1:{port} {load} -w 0 -l 1 -m 3600000 --json"
        self.load = subprocess.Popen(shlex.split(self.bench), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        up.callback(self.end)

    def end(self):
        self.load.kill()
        self.load.wait()

    def requests(self):
        if self.load.poll() is not None:
            sys.exit(f"sharing.py: {self.bench}: {self.load.stderr.read().strip()}")
        with urllib.request.urlopen(self.metrics, timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("aldis_requests_total{"))

    def begin(self):
        """Until its addresses are taught, and more."""
        deadline = time.monotonic() + 60
        while self.requests() < 2_000_000:
            if time.monotonic() > deadline:
                sys.exit(f"sharing.py: {self.bench}: fewer than 2,000,000 requests in a minute")
            time.sleep(0.1)

    def rest(self):
        """Until the controller has served what waited."""
        seen = None
        while seen != (seen := self.requests()):
            time.sleep(0.05)
        return seen

    def cpu_ns(self):
        tasks = f"/proc/{self.controller.pid}/task"
        return sum(int(open(f"{tasks}/{task}/schedstat").read().split()[0]) for task in os.listdir(tasks))

    def busy_ns(self):
        """How long each thread of the load ran or waited for its processor; while it is stopped it does neither."""
        tasks = f"/proc/{self.load.pid}/task"
        return {task: sum(map(int, open(f"{tasks}/{task}/schedstat").read().split()[:2])) for task in os.listdir(tasks)}

    def turn(self, seconds):
        """So many seconds of load: requests a second, the controller's CPU time for each, and whether the generator was the
        limit."""
        served, cpu_ns, busy, begun = self.rest(), self.cpu_ns(), self.busy_ns(), time.monotonic()
        self.load.send_signal(signal.SIGCONT)
        time.sleep(seconds)
        self.load.send_signal(signal.SIGSTOP)
        passed_ns = (time.monotonic() - begun) * 1e9
        busiest = max(ns - busy.get(task, 0) for task, ns in self.busy_ns().items())
        limited = 1 - busiest / passed_ns < IDLE_MIN
        # What waits in the sockets is served later, and is none of the throughput.
        meanwhile, elapsed = self.requests() - served, time.monotonic() - begun
        served = self.rest() - served
        return max(meanwhile, 1) / elapsed, (self.cpu_ns() - cpu_ns) / max(served, 1), limited


def in_turn(options, title, loads):
    """Designs beside static partition. Controllers and loads stay up, in memory that they have already, and the loads take
    turns: a machine that is fast and slow by turns is so to all. Each round begins with new ones."""
    designs = [design for design in (DEFAULT, STATIC, "maestro-round-robin") if design in options.designs.split(",")]
    for load in loads:
        seen = {design: [] for design in designs}
        for _ in range(options.rounds):
            with contextlib.ExitStack() as up:
                subjects = {}
                for place, design in enumerate(designs):
                    subjects[design] = Loaded(up, design, load, PORT + place)
                # None waits for the others with full queues: its controller would drop it.
                for subject in subjects.values():
                    subject.begin()
                for subject in subjects.values():
                    subject.load.send_signal(signal.SIGSTOP)
                for first in range(options.seconds):
                    # Another one first each time: what came before leaves its mark on some machines.
                    for design in designs[first % len(designs):] + designs[:first % len(designs)]:
                        seen[design].append(subjects[design].turn(options.turn))
        print(f"\n## {title}\n\n    {ALDIS} bench 127.0.0.1:{PORT} {load}\n")
        for design, turns in seen.items():
            rates, cpus, _ = zip(*turns)
            text = f"{design:<26} {statistics.median(rates) / 1e6:.2f} M requests/s, {statistics.median(cpus):.1f} ns CPU time a request"
            if design != STATIC and STATIC in seen and len(turns) > 1:
                least, cheapest, _ = zip(*seen[STATIC])
                text += (f"; throughput {ratio(rates, least, options.seconds)}; "
                         f"CPU time {ratio(cpus, cheapest, options.seconds)}")
            marks = {name: [turn[-1] for turn in seen[name]] for name in (design, STATIC) if name in seen}
            print(text + limits(marks), flush=True)


def ratio(seen, last, turns):
    """The median and the geometric mean of the pairs' ratios, the latter with twice its standard error: of the rounds, of so
    many turns each, which differ by more than their turns do."""
    logs = [math.log(a / b) for a, b in zip(seen, last)]
    rounds = [statistics.mean(logs[at:at + turns]) for at in range(0, len(logs), turns)]
    mean = math.exp(statistics.mean(logs))
    error = 2 * statistics.stdev(rounds) / math.sqrt(len(rounds)) if len(rounds) > 1 else math.nan
    return f"ratio {math.exp(statistics.median(logs)):.3f}, mean {mean:.3f} ± {error * mean:.3f}"


def throughput(options):
    """Switches that ask alike. Ten thousand full sockets are more than the kernel lets TCP have."""
    in_turn(options, "throughput", [*(f"-s {switches} -M 1000 -t" for switches in (79, 1347)), "-s 9980 -M 10 --outstanding 400"])


def skewed(options):
    """Switches that do not: with as much outstanding as a window allows, and as the sockets take."""
    windows = [f"-s {switches} -M 1000 --outstanding 400 --rate 60000000 --spread skewed" for switches in (79, 1347)]
    full = [f"-s {switches} -M 1000 -t --rate 30000000 --spread skewed" for switches in (79, 1347)]
    in_turn(options, "throughput, skewed", windows + full)


def probes(options):
    """Switches that ask 5 times a second beside others whose queues are always full."""
    for switches in (79, 1347):
        print(f"\n## probing delay beside {switches} switches that are always full\n", flush=True)
        for design in options.designs.split(","):
            result = measure(options, design, f"-s {switches + 20} -M 1000 -t --probes 20")
            print(f"{design:<26} {words(result['probe_delay_us'])}" + mark({"it": [result]}), flush=True)


def half(options):
    """A load of half of what the controller can do, beside none."""
    most = measure(options, DEFAULT, "-s 79 -M 1000 -t")
    full = rate(most) * 1e6
    loads = {"half": f"-s 99 -M 1000 --outstanding 400 --rate {full / 2:.0f} --probes 20", "idle": "-s 20 -M 1000 --probes 20"}
    seen = {name: [] for name in loads}
    for _ in range(options.rounds):
        for name, load in loads.items():
            seen[name].append(measure(options, DEFAULT, load))
    print(f"\n## probing delay at half of {full / 1e6:.1f} M requests/s" + mark({"all of it": [most]}) + "\n")
    for name, results in seen.items():
        delays = [result["probe_delay_us"] for result in results]
        print(f"{name:<6} p50 {statistics.median(delay['p50'] for delay in delays):.0f} µs; the first round: {words(delays[0])}")
    p50 = {name: [result["probe_delay_us"]["p50"] for result in results] for name, results in seen.items()}
    grown = statistics.median(a / b for a, b in zip(p50["half"], p50["idle"]))
    print(f"ratio {grown:.2f}" + mark(seen), flush=True)


def storm(options):
    """One switch whose queue is always full beside 63 at a rate that the controller can serve."""
    normal = "--outstanding 400 --rate 2000000 -M 1000"
    alone, beside = [], []
    for _ in range(options.rounds):
        alone.append(measure(options, DEFAULT, f"-s 63 {normal}"))
        beside.append(measure(options, DEFAULT, f"-s 64 {normal} --storm 1"))
    print("\n## 63 switches of 2 M requests/s together, alone and beside one that storms\n")
    share = statistics.median(
        b["storm"]["others_per_second"] / a["requests_per_second"]["median"] for a, b in zip(alone, beside))
    late = statistics.median(b["delay_us"]["p99"] / a["delay_us"]["p99"] for a, b in zip(alone, beside))
    print(f"throughput of the normal ones, ratio {share:.3f}; their p99 delay, ratio {late:.2f} "
          f"({statistics.median(a['delay_us']['p99'] for a in alone):.0f} µs alone)"
          + mark({"alone": alone, "beside": beside}), flush=True)


def words(delay):
    return (f"p50 {delay['p50']:.0f} µs · p99 {delay['p99']:.0f} µs · max {delay['max']:.0f} µs "
            f"({delay['samples']} probes, {delay['lost']} lost; "
            f"the prober's own wait for its core {delay['processor_wait']:.0f} µs)")


FIGURES = {"fairness": fairness, "weights": weights, "throughput": throughput, "skewed": skewed, "probes": probes, "half": half,
           "storm": storm}

if __name__ == "__main__":
    main()
