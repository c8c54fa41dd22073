#!/usr/bin/python3
"""What it costs the others when applications come and go: throughput, delay and losses of `aldis bench` beside such changes.

    cargo build --release && benches/lifecycle.py [--rounds 5] [--seconds 3] [--every 0.1] [--hosts 100000] [--app dhcp] [--apps …]
    benches/lifecycle.py --package FILE [--every 0.05] [--cycles 1000]

The controller has core 0, the load core 1. Rounds without and with changes take turns: in one with changes the application is
stopped, or started, each --every seconds. With windows of 400 requests the rate and what went unanswered are read; with one
request at a time the delays are. What counts is the ratio of a round with changes to the one before it without. At the end: what the
worker itself measured between two batches, from taking a change until it returns to its switches.

A package is installed, stopped, started, replaced by itself and removed in turn; in a round without changes it is installed and left
alone, so that what it does with each request is no part of the ratio. It has to hold an application that leaves requests to others, as
packet-count does. What asks for the changes shares the load's core, and runs while that has nothing to do. With --cycles it is so often,
beside one load; memory, descriptors and threads of the controller are read after 50 such cycles and after the last.
Ends with 1 where a request was lost, a descriptor or ten threads are left, or memory grew by more than 5 %.
"""
import argparse, json, os, signal, socket, statistics, subprocess, sys, tempfile, threading, time, urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def free():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


LISTEN, HTTP = free(), free()
# Seconds until a connection that asked for the last change is closed at the other end, too; of a load until the controller has
# learnt its addresses, as far as it has room for them.
SETTLES, WARM_UP = 1, 8


def pinned(core, *command, **more):
    return subprocess.Popen(["taskset", "-c", str(core), *command], **more)


def pauses():
    """What the changes so far kept the workers from their switches: how often, p99 and the longest, in µs."""
    with urllib.request.urlopen(f"http://{HTTP}/api/v1/statistics", timeout=15) as answer:
        spread = json.load(answer)["total"]["line_up_pause_ns"]
    return spread["count"], spread["p99"] / 1000, spread["max"] / 1000


def ask(method, path, body=b"{}", kind="application/json"):
    request = urllib.request.Request(f"http://{HTTP}/api/v1/{path}", data=body, method=method, headers={"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read() or b"null")


def turned(app):
    """An application that the controller has is stopped and started; each step is a change, and is true where all is as it was."""
    while True:
        ask("POST", f"apps/{app}/stop")
        yield False
        ask("POST", f"apps/{app}/start")
        yield True


def install(package):
    """Installs a package; the name of its application."""
    before = {app["name"] for app in ask("GET", "apps")["apps"]}
    (name,) = {app["name"] for app in ask("POST", "apps", package, "application/octet-stream")["apps"]} - before
    return name


def cycled(package):
    """A package is installed, stopped, started, replaced and removed, likewise."""
    while True:
        name = install(package)
        yield False
        for method, path, *body in (("POST", "/stop"), ("POST", "/start"), ("PUT", "", package, "application/octet-stream")):
            ask(method, f"apps/{name}{path}", *body)
            yield False
        ask("DELETE", f"apps/{name}")
        yield True


def changes(steps, every, over, took):
    """Makes changes until it is over and all is as it was; how long the controller took for each, in ms."""
    is_as_it_was = True
    # It would keep the load from its core, and the load's delays would be counted.
    os.sched_setaffinity(threading.get_native_id(), {1})
    os.sched_setscheduler(threading.get_native_id(), os.SCHED_IDLE, os.sched_param(0))
    while not over.wait(every) or not is_as_it_was:
        begun = time.monotonic()
        is_as_it_was = next(steps)
        took.append((time.monotonic() - begun) * 1000)


def held(pid):
    """Resident KB, descriptors and threads of a process."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        fields = dict(line.split(":", 1) for line in status if ":" in line)
    return int(fields["VmRSS"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")), int(fields["Threads"])


def read(package):
    with open(package, "rb") as file:
        return file.read()


def cycles(options, controller):
    """Cycles beside one load; false where something was lost or kept."""
    steps = cycled(read(options.package))
    load = ["bench", LISTEN, "-s", "16", "-M", str(options.hosts), "--outstanding", "16", "-l", "3600", "-m", "1000", "-w",
            "1", "--json"]
    bench = pinned(1, options.aldis, *load, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        time.sleep(3)
        for _ in range(50):
            while not next(steps):
                pass
        time.sleep(SETTLES)
        before, begun = held(controller.pid), time.monotonic()
        for _ in range(options.cycles):
            while not next(steps):
                pass
        took = time.monotonic() - begun
        time.sleep(SETTLES)
        after = held(controller.pid)
    finally:
        bench.send_signal(signal.SIGINT)
    counts = json.loads(bench.communicate(timeout=60)[0])["counts"]
    more = after[0] / before[0] - 1
    print(f"{options.cycles} cycles in {took:.0f} s beside {counts['answered']:,} requests, {counts['lost']} lost; "
          f"KB, descriptors, threads: {before} and {after}, {more:+.1%} of memory")
    # Threads of the HTTP server's pool end some seconds after their work.
    return more <= 0.05 and after[1] <= before[1] and after[2] < before[2] + 10 and counts["lost"] == 0


def bench(options, window, beside):
    over, took = threading.Event(), []
    thread = threading.Thread(target=changes, args=(*beside, over, took)) if beside else None
    load = ["bench", LISTEN, "-s", "16", "-M", str(options.hosts), "--outstanding", str(window), "-l", str(options.seconds), "-m", "1000",
            "-w", str(WARM_UP), "--json"]
    process = pinned(1, options.aldis, *load, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if thread:
        # The load teaches its addresses before it warms up: changes begin so much before it measures.
        time.sleep(WARM_UP)
        thread.start()
    said = json.loads(process.communicate(timeout=(WARM_UP + options.seconds) * 10 + 60)[0])
    if thread:
        over.set()
        thread.join()
    return said, took


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rounds", type=int, default=5)
    asked.add_argument("--seconds", type=int, default=3)
    asked.add_argument("--every", type=float, default=0.1)
    asked.add_argument("--hosts", type=int, default=100_000, help="of each of the 16 switches")
    asked.add_argument("--app", default="dhcp", help="the application that comes and goes")
    asked.add_argument("--apps", default="default", help="those of the controller, as --apps has them")
    asked.add_argument("--aldis", default=os.path.join(ROOT, "target/release/aldis"))
    asked.add_argument("--package", help="the package of one that comes and goes, in its place")
    asked.add_argument("--cycles", type=int, help="with --package: count what so many cycles leave behind")
    options = asked.parse_args()
    if options.cycles and not options.package:
        asked.error("--cycles needs --package")
    apps = [] if options.apps == "default" else ["--apps", options.apps]
    folder = tempfile.TemporaryDirectory()
    controller = pinned(0, options.aldis, "run", "--workers", "1", "--listen", LISTEN, "--http", HTTP, "--app-folder", folder.name, *apps,
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        if options.cycles:
            return 0 if cycles(options, controller) else 1
        package = read(options.package) if options.package else None
        steps = cycled(package) if package else turned(options.app)
        for window, what, of in ((400, "requests a second", "rate"), (1, "p99, µs", "p99")):
            ratios, took, lost, longest = [], [], 0, [0, 0]
            for _ in range(options.rounds):
                name = install(package) if package else None
                before, _ = bench(options, window, None)
                if name:
                    ask("DELETE", f"apps/{name}")
                after, ms = bench(options, window, (steps, options.every))
                one, other = figure(before, of), figure(after, of)
                ratios.append(other / one)
                took += ms
                lost += after["counts"]["lost"]
                longest = [max(most, said["delay_us"]["max"]) for most, said in zip(longest, (before, after))]
            print(f"window {window}: {what}, ratio with changes to without: median {statistics.median(ratios):.3f}, "
                  f"{min(ratios):.3f} to {max(ratios):.3f}; {len(took)} changes, {statistics.median(took):.1f} ms each "
                  f"(longest {max(took):.1f}), {lost} requests lost; the longest delay {longest[0]:.0f} µs without changes, {longest[1]:.0f} with", flush=True)
        count, p99, most = pauses()
        print(f"pauses of the worker: {count}, p99 {p99:.0f} µs, longest {most:.0f} µs", flush=True)
    finally:
        controller.terminate()
        controller.wait()
        folder.cleanup()


def figure(said, of):
    return said["requests_per_second"]["median"] if of == "rate" else said["delay_us"]["p99"]


if __name__ == "__main__":
    sys.exit(main())
