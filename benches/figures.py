#!/usr/bin/env python3
"""Measures the figures of docs/performance.md, side by side with the null controller.

Every figure is a ratio of two subjects measured in turn (A B A B …), each restarted every time, the controller pinned to
one core and the load to the other, and the median of all rounds. Run it from the root of the repository, on a machine that
does nothing else:

    cargo build --release && benches/figures.py                 all figures, five rounds
    benches/figures.py --rounds 3 --only window,latency         some of them
    benches/figures.py --null './nullctl -p {port}'             another null controller to compare with
"""
import argparse, json, os, shlex, signal, socket, statistics, subprocess, sys, tempfile, time

ALDIS = "target/release/aldis"
PORT = 16653
CONTROLLER_CORE, LOAD_CORE = "0", "1"


# Seconds until a network is quiet and its ports without links are known to have none, and those that are then looked at.
IDLE_BEHIND = 60
IDLE_SECONDS = 30


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each pair (5)")
    parser.add_argument("--seconds", type=int, default=5, help="measured seconds of each run (5)")
    parser.add_argument("--only", default="", help="figures, separated by commas: " + ", ".join(FIGURES))
    parser.add_argument("--null", default=f"{ALDIS} bench null --listen 127.0.0.1:{{port}}", help="the null controller")
    parser.add_argument("--waits", choices=("looking", "asleep"), default="looking",
                        help="how a load of throughput waits: without sleeping, so that no subject pays for waking it, or asleep (looking)")
    parser.add_argument("--raw", help="a file for every run's result, one JSON object a line")
    options = parser.parse_args()
    options.waits = " --poll" if options.waits == "looking" else ""
    chosen = [name for name in options.only.split(",") if name] or list(FIGURES)
    for name in chosen:
        if name not in FIGURES:
            sys.exit(f"figures.py: there is no figure {name}; there are: {', '.join(FIGURES)}")
    for name in chosen:
        FIGURES[name](options)


def aldis(*extra):
    return f"{ALDIS} run --apps learning-switch --http off --listen 127.0.0.1:{{port}} --workers 1 --log warn " + " ".join(extra)


def default_set():
    """What `make run` starts, but for where it listens."""
    return f"{ALDIS} run --http 127.0.0.1:0 --listen 127.0.0.1:{{port}} --workers 1 --log warn"


def compare(options, title, subjects, load, columns):
    """Runs the subjects in turn and prints the medians of `columns`, and each one's ratio to the last subject."""
    print(f"\n## {title}\n\n    taskset -c {LOAD_CORE} {ALDIS} bench 127.0.0.1:{PORT} {load} --json\n", flush=True)
    results = {name: [] for name, _ in subjects}
    for round_ in range(options.rounds):
        for name, command in subjects:
            result = measure(command, f"{load} -l {options.seconds} -m 1000 -w 2")
            results[name].append(result)
            note(options, title, name, round_, result)
    last = subjects[-1][0]
    for name, _ in subjects:
        parts = [cell(results, name, last, label, pick) for label, pick in columns]
        print(f"{name:<22} " + " · ".join(parts) + mark({name: results[name], last: results[last]}), flush=True)


def mark(results):
    """What stands behind a figure of these results, by subject: a point of which the generator was the limit meets no goal."""
    return limits({name: [result["generator"]["limited"] for result in of] for name, of in results.items()})


def limits(seen):
    """The same of which points of a subject it was so."""
    parts = [f"{name} in {sum(limited)} of {len(limited)}" for name, limited in seen.items() if any(limited)]
    return " · ** generator-limited: " + ", ".join(parts) + " **" if parts else ""


def cell(results, name, last, label, pick):
    values = [pick(result) for result in results[name]]
    median, text = statistics.median(values), ""
    if name != last:
        ratio = statistics.median(a / b for a, b in zip(values, map(pick, results[last])) if b)
        text = f" (ratio {ratio:.3f})"
    return f"{label} {median:,.1f} [{min(values):,.1f} – {max(values):,.1f}]{text}"


def note(options, title, name, round_, result):
    if options.raw:
        with open(options.raw, "a") as raw:
            raw.write(json.dumps({"figure": title, "subject": name, "round": round_, **result}) + "\n")


def measure(command, load):
    """One controller, started and stopped, under one load."""
    with running(command):
        bench = f"taskset -c {LOAD_CORE} {ALDIS} bench 127.0.0.1:{PORT} {load} --json"
        done = subprocess.run(shlex.split(bench), capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            sys.exit(f"figures.py: {bench}: {done.stderr.strip()}")
        return json.loads(done.stdout.strip().splitlines()[-1])


class running:
    """A controller pinned to its core, from its first accepted connection to its end."""

    def __init__(self, command, stderr=subprocess.DEVNULL, cores=CONTROLLER_CORE, port=PORT):
        self.stderr, self.port = stderr, port
        self.command = f"taskset -c {cores} " + command.format(port=port)

    def __enter__(self):
        self.process = subprocess.Popen(
            shlex.split(self.command), stdout=subprocess.DEVNULL, stderr=self.stderr, start_new_session=True)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self.process
            except OSError:
                if self.process.poll() is not None:
                    sys.exit(f"figures.py: {self.command}: ended with {self.process.returncode}")
                time.sleep(0.02)
        self.__exit__()
        sys.exit(f"figures.py: {self.command}: does not listen")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


CPU = ("CPU ns/request", lambda result: result["controller_cpu"]["ns_per_request"])
USER = ("user ns/request", lambda result: result["controller_cpu"]["user_ns_per_request"])
RATE = ("M requests/s", lambda result: result["requests_per_second"]["median"] / 1e6)
P50 = ("p50 µs", lambda result: result["delay_us"]["p50"])
P99 = ("p99 µs", lambda result: result["delay_us"]["p99"])


def window(options):
    for switches in (16, 64):
        compare(options, f"{switches} switches × 100,000 MACs, 400 outstanding",
                [("aldis", aldis()), ("null", options.null)],
                f"-s {switches} -M 100000 --outstanding 400{options.waits}", [CPU, USER, RATE])


def full(options):
    for switches in (16, 64):
        compare(options, f"{switches} switches × 100,000 MACs, queues always full",
                [("aldis", aldis()), ("null", options.null)], f"-s {switches} -M 100000 -t{options.waits}", [CPU, USER, RATE])


def no_buffer(options):
    for version in ("1.0", "1.3"):
        compare(options, f"NO_BUFFER, OpenFlow {version}, 16 switches, 400 outstanding",
                [("aldis", aldis()), ("null", options.null)],
                f"-s 16 -M 100000 --outstanding 400 --no-buffer --openflow {version}{options.waits}", [CPU, USER, RATE])


def versions(options):
    print("\n## OpenFlow 1.3 with buffers, next to 1.0: 16 switches × 100,000 MACs, 400 outstanding\n")
    loads = {version: f"-s 16 -M 100000 --outstanding 400 --openflow {version}{options.waits} -l {options.seconds} -m 1000 -w 2"
             for version in ("1.3", "1.0")}
    results = {version: [] for version in loads}
    for round_ in range(options.rounds):
        for version, load in loads.items():
            result = measure(aldis(), load)
            results[version].append(result)
            note(options, "versions", version, round_, result)
    rates = {version: [RATE[1](result) for result in of] for version, of in results.items()}
    ratio = statistics.median(a / b for a, b in zip(rates["1.3"], rates["1.0"]))
    for version in rates:
        print(f"OpenFlow {version}: {statistics.median(rates[version]):.2f} M requests/s")
    print(f"ratio {ratio:.3f}" + mark(results), flush=True)


def hot_port(options):
    """A port at ten times the rate of each of seven others, seven switches with full queues beside it: what the seven get,
    over what they ask for, which is what they have alone."""
    rate, storms = 2_300_000, 7
    load = f"-s 1 -M 1000 --ports 8 --hot-port 10 -t --rate {rate} --storm {storms} -l {options.seconds} -m 1000 -w 0"
    print(f"\n## a hot port\n\n    taskset -c {LOAD_CORE} {ALDIS} bench 127.0.0.1:{PORT} {load} --json\n", flush=True)
    for name in ("fair-rounds", "maestro-static-partition"):
        seven, hot, results = [], [], []
        for round_ in range(options.rounds):
            result = measure(aldis("--design", name), load)
            asked = rate * options.seconds / 17
            answered = [port["answered"] for port in result["ports"]]
            seven.append(min(answered[1:]) / asked)
            hot.append(answered[0] / asked / 10)
            results.append(result)
            note(options, "hot-port", name, round_, result)
        print(f"{name:<26} least of the seven {statistics.median(seven):.3f} [{min(seven):.3f} – {max(seven):.3f}] · "
              f"hot port {statistics.median(hot):.3f}" + mark({name: results}), flush=True)


def latency(options):
    compare(options, "latency: one switch, one request outstanding",
            [("aldis", aldis()), ("aldis --poll", aldis("--poll")), ("null", options.null)],
            "-s 1 -M 1000", [P50, P99])


def connect(options):
    """5,000 switches at once: how long until all are ready, and what an idle one costs."""
    print("\n## 5,000 switches connecting at once\n")
    for round_ in range(options.rounds):
        with running(aldis()) as process:
            before = resident(process.pid)
            bench = f"taskset -c {LOAD_CORE} {ALDIS} bench 127.0.0.1:{PORT} -s 5000 -M 1 --no-teach --switch-rate 0.01 " \
                    "-l 1 -m 3000 -w 0 --json"
            load = subprocess.Popen(shlex.split(bench), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            deadline, most = time.monotonic() + 60, before
            while load.poll() is None and time.monotonic() < deadline:
                most = max(most, resident(process.pid))
                time.sleep(0.1)
            out, err = load.communicate(timeout=30)
            if load.returncode != 0:
                sys.exit(f"figures.py: {bench}: {err.strip()}")
            result = json.loads(out.strip().splitlines()[-1])
            print(f"all ready in {result['connected_in_ms']} ms; resident {before // 1024} KiB before, {most // 1024} KiB with them: "
                  f"{(most - before) / 5000 / 1024:.1f} KiB a switch" + mark({"the load": [result]}), flush=True)


def idle(options):
    """What the default applications take for switches that say nothing: memory of 5,000, CPU time of 1,000."""
    print("\n## idle switches, the default applications\n", flush=True)
    for round_ in range(options.rounds):
        for switches in (5000, 1000):
            with running(default_set()) as process:
                time.sleep(2)
                before = resident(process.pid)
                bench = f"taskset -c {LOAD_CORE} {ALDIS} bench 127.0.0.1:{PORT} -s {switches} -M 1 --no-teach " \
                        f"--switch-rate 0.0001 -l 1 -m {1000 * (IDLE_BEHIND + IDLE_SECONDS + 10)} -w 0"
                load = subprocess.Popen(shlex.split(bench), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(IDLE_BEHIND)
                used = cpu_seconds(process.pid)
                time.sleep(IDLE_SECONDS)
                used = cpu_seconds(process.pid) - used
                held = resident(process.pid) - before
                if load.poll() is not None:
                    sys.exit(f"figures.py: {bench}: it ended too soon")
                load.terminate()
                load.wait(timeout=30)
                print(f"{switches} switches: {held / switches / 1024:.1f} KiB a switch; "
                      f"{100 * used / IDLE_SECONDS:.2f} % of a core", flush=True)


def stuck(options):
    """16 switches that ask a little, alone and beside 1,000 that ask all they can and never read, until those are dropped."""
    load = "-s 16 -M 1000 --switch-rate 500 -l 12 -m 1000 -w 2"
    print(f"\n## 1,000 switches that never read, 16 that do\n\n    {ALDIS} bench 127.0.0.1:{PORT} {load} --dead 1000 --json\n",
          flush=True)
    for round_ in range(options.rounds):
        alone, _ = resident_under(load)
        beside, held = resident_under(load + " --dead 1000")
        for subject, result in (("alone", alone), ("beside", beside)):
            note(options, "stuck", subject, round_, result)
        dead = beside["dead"]
        print(f"p99 {P99[1](beside):.1f} µs beside them, {P99[1](alone):.1f} alone (ratio {P99[1](beside) / P99[1](alone):.2f}); "
              f"held {held / 1000 / 1024:.1f} KiB a stuck switch; {dead['evicted']} of 1000 dropped after "
              f"{dead['evicted_after_ms']['min']:.0f} to {dead['evicted_after_ms']['max']:.0f} ms"
              + mark({"alone": [alone], "beside": [beside]}), flush=True)


def resident_under(load):
    """The result of a load, and the most memory that the controller held beyond what it began with."""
    with running(aldis()) as process:
        before = most = resident(process.pid)
        bench = f"taskset -c {LOAD_CORE} {ALDIS} bench 127.0.0.1:{PORT} {load} --json"
        running_load = subprocess.Popen(shlex.split(bench), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 120
        while running_load.poll() is None and time.monotonic() < deadline:
            most = max(most, resident(process.pid))
            time.sleep(0.05)
        out, err = running_load.communicate(timeout=30)
        if running_load.returncode != 0:
            sys.exit(f"figures.py: {bench}: {err.strip()}")
        return json.loads(out.strip().splitlines()[-1]), most - before


def system_calls(options):
    """Every system call of a whole run, start and end included, over the requests it served."""
    print("\n## system calls, 16 switches, 400 outstanding\n", flush=True)
    with tempfile.NamedTemporaryFile("r") as table:
        with running(f"strace -f -c -o {table.name} " + aldis(), stderr=subprocess.PIPE) as process:
            bench = f"taskset -c {LOAD_CORE} {ALDIS} bench 127.0.0.1:{PORT} -s 16 -M 1000 --outstanding 400 -l {options.seconds}"
            subprocess.run(shlex.split(bench), check=True, stdout=subprocess.DEVNULL, timeout=300)
            # strace passes no signal on: its child is the controller.
            with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
                os.kill(int(children.read().split()[0]), signal.SIGTERM)
            said = process.stderr.read().decode()
        total = next(int(line.split()[3]) for line in table if line.rstrip().endswith(" total"))
    requests = int(said.split("stopped after ")[1].split()[0])
    print(f"{total:,} system calls for {requests:,} requests: {total / requests:.4f} a request", flush=True)


def cpu_seconds(pid):
    """Seconds that its threads ran so far. To the nanosecond: what runs for less than a tick is counted by chance otherwise."""
    def ran(task):
        with open(f"/proc/{pid}/task/{task}/schedstat") as schedstat:
            return int(schedstat.read().split()[0])

    return sum(map(ran, os.listdir(f"/proc/{pid}/task"))) / 1e9


def resident(pid):
    with open(f"/proc/{pid}/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


FIGURES = {"window": window, "full": full, "no-buffer": no_buffer, "versions": versions,
           "hot-port": hot_port, "latency": latency, "connect": connect, "idle": idle, "stuck": stuck, "system-calls": system_calls}

if __name__ == "__main__":
    main()
