#!/usr/bin/python3
"""What passing through Aldis to a guest costs: `aldis bench` against a guest behind the controller, and against it directly.

    cargo build --release && benches/guests.py [--rounds 5] [--seconds 3] [--switches 16] [--guest "aldis bench null"]
    benches/guests.py --beside [deaf floods dies nothing] [--turns 8] [--rate 4000000] [--apps learning-switch]: what an observer
        that does not read, floods or dies costs the default applications, or those, in the second in which it comes and from then
        on; paused in turn

The controller has core 0, the guest and the load core 1, unless --cores says otherwise. Rounds through the controller and
directly take turns. With windows of 400 requests the rate is read, and the CPU time of the controller per request. The delay is of
one request alone, and of one at each switch; meanwhile all have all cores, unless --cores is given: a guest that has the load's
core wakes no other where it is connected directly, as no switch does. What counts are the differences and ratios of a round through
the controller and the one directly before it.

Beside a guest, one load goes on throughout, and each turn is compared with the pauses before and behind it: what the machine does
meanwhile drops out, as far as it lasts. What is left of it is what turns show in which no guest comes (nothing). The load asks for
as much as is answered, or for no more than a --rate. A rate below what the controller can do shows whether all that is asked is
answered in time; what a guest takes of the room that is left does not show in it.
"""
import argparse, json, os, shlex, socket, statistics, subprocess, sys, threading, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TICK = os.sysconf("SC_CLK_TCK")
LOOP = 0.125
# Seconds until the applications know the hosts of the load.
WARM_UP = 3
# Seconds in which a guest that was paused is let go.
SETTLES = 0.25
KINDS = ("deaf", "floods", "dies")
# Turns in which no guest comes.
NOTHING = "nothing"


def free():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def pinned(core, *command):
    return subprocess.Popen(["taskset", "-c", core, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def listens(address):
    host, port = address.rsplit(":", 1)
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            socket.create_connection((host, int(port)), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"nothing listens on {address}")


def spent(process):
    fields = open(f"/proc/{process.pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def bench(args, to, window, switches, core):
    load = [args.aldis, "bench", to, "-s", str(switches), "-M", "1000", "--outstanding", str(window), "-l", str(args.seconds),
            "-m", "1000", "-w", "1", "--json"]
    if args.openflow:
        load += ["--openflow", args.openflow]
    said = subprocess.run(["taskset", "-c", core, *load], capture_output=True, check=True, timeout=args.seconds * 10 + 60)
    return json.loads(said.stdout)


def move(process, cores):
    """Has all threads of a process run on these cores from now on."""
    subprocess.run(["taskset", "-apc", cores, str(process.pid)], check=True, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aldis", default=os.path.join(ROOT, "target/release/aldis"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--switches", type=int, default=16)
    parser.add_argument("--cores", type=lambda cores: cores.split(","), help="of the controller, the guest and the load: 0,1,1")
    parser.add_argument("--openflow", help="1.0 or 1.3: what the switches speak")
    parser.add_argument("--guest", help="another guest: its command, in which LISTEN stands for HOST:PORT")
    parser.add_argument("--beside", nargs="*", choices=(*KINDS, NOTHING), metavar="KIND",
                        help="what guests that misbehave cost others: deaf, floods, dies, all unless named; or nothing")
    parser.add_argument("--turns", type=int, default=8, help="with --beside: how often a guest comes in a round")
    parser.add_argument("--rate", type=int, help="with --beside: offer no more requests a second than that")
    parser.add_argument("--apps", help="with --beside: the applications, as for aldis run")
    parser.add_argument("--play", nargs=2, metavar=("KIND", "HOST:PORT"), help="be such a guest")
    args = parser.parse_args()
    args.delay_cores = args.cores or [f"0-{os.cpu_count() - 1}"] * 3
    args.cores = args.cores or ["0", "1", "1"]
    if args.play:
        return play(*args.play)
    if args.beside is not None:
        return beside(args)
    listen, http, at = free(), free(), free()
    guest = shlex.split(args.guest.replace("LISTEN", at)) if args.guest else [args.aldis, "bench", "null", "--listen", at]
    run = [args.aldis, "run", "--listen", listen, "--http", http, "--workers", "1", "--apps", "topology"]
    processes = [pinned(args.cores[1], *guest), pinned(args.cores[0], *run)]
    try:
        for address in (at, listen, http):
            listens(address)
        subprocess.run([args.aldis, "guest", "add", "measured", "--connect", at, "--http", http], check=True,
                       stdout=subprocess.DEVNULL)
        report(args, listen, at, *processes)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def play(kind, address):
    """A guest that shakes hands at every switch, and then does not read, floods or closes."""
    host, port = address.rsplit(":", 1)
    kept = []
    with socket.create_server((host, int(port)), backlog=256) as server:
        while True:
            guest, _ = server.accept()
            hello = guest.recv(4096)
            guest.sendall(bytes([hello[0] if hello else 4, 0, 0, 8, 0, 0, 0, 1]))
            kept.append(guest)
            if kind == "dies":
                time.sleep(0.05)
                kept.pop().close()
            if kind == "floods":
                threading.Thread(target=flood, args=(guest,), daemon=True).start()


def flood(guest):
    """Barriers without end, in the version that was agreed on."""
    version = guest.recv(4096)[:1] or b"\x01"
    barrier = version + (b"\x12" if version == b"\x01" else b"\x14") + b"\0\x08\0\0\0\x07"
    try:
        while True:
            guest.sendall(barrier * 1000)
            guest.recv(65536)
    except OSError:
        pass


def on_core(process):
    """Seconds that the threads of the controller have had a core, and that of a guest, where there is one."""
    both = [0, 0]
    for task in os.scandir(f"/proc/{process.pid}/task"):
        had = int(open(f"{task.path}/schedstat", encoding="ascii").read().split()[0]) / 1e9
        both[0] += had
        both[1] += had if open(f"{task.path}/comm", encoding="ascii").read().startswith("guest ") else 0
    return both


def beside(args):
    listen, http = free(), free()
    apps = ["--apps", args.apps] if args.apps else []
    controller = pinned(args.cores[0], args.aldis, "run", "--listen", listen, "--http", http, "--workers", "1", *apps)
    try:
        listens(listen), listens(http)
        turns = {kind: [] for kind in args.beside or KINDS}
        for _ in range(args.rounds):
            for kind, found in turns.items():
                found.extend(one_beside(args, kind, listen, http, controller))
        for kind, found in turns.items():
            for part in ("first", "then"):
                rate, cost = (quartiles([turn[part][place] / turn["without"][place] for turn in found]) for place in (0, 1))
                share = statistics.median(turn[part][2] for turn in found)
                print(f"{kind}, {part}: others at {rate}, CPU time of the controller a request {cost}, "
                      f"its thread has {share:.2%} of the core; {len(found)} turns")
    finally:
        controller.kill()
        controller.wait()


def quartiles(values):
    low, median, high = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return f"{median:.3f} (quartiles {low:.3f} and {high:.3f})"


def one_beside(args, kind, listen, http, controller):
    """The turns of one guest. Of each, its first second, what follows, and the pauses around it: the rate, the CPU time of the
    controller a request, and what the guest's thread has of the core.

    One load goes on throughout, so that the switches are there when the guest comes. Its rate is read in pieces of LOOP seconds.
    """
    def ask(*words):
        if kind != NOTHING:
            subprocess.run([args.aldis, "guest", *words, "--http", http], check=True, stdout=subprocess.DEVNULL)

    turn = 1 + 2 * args.seconds + SETTLES + 0.25
    at, loops = free(), int((WARM_UP + args.seconds + args.turns * turn + 2) / LOOP)
    guest = pinned(args.cores[1], sys.executable, __file__, "--play", kind, at)
    rated = ["--rate", str(args.rate)] if args.rate else []
    load = None
    try:
        listens(at)
        load = subprocess.Popen(["taskset", "-c", args.cores[2], args.aldis, "bench", listen, "-s", str(args.switches),
                                 "-M", "1000", "-m", str(round(LOOP * 1000)), "-l", str(loops), "--outstanding", "400", *rated,
                                 "-w", "0", "--json"],
                                stdout=subprocess.PIPE)

        def lasts(seconds):
            since, (all_before, its_before) = time.monotonic(), on_core(controller)
            time.sleep(seconds)
            until, (all_after, its_after) = time.monotonic(), on_core(controller)
            shares = ((all_after - all_before) / (until - since), (its_after - its_before) / (until - since))
            return since, until, *shares

        time.sleep(WARM_UP)
        pauses, parts = [lasts(args.seconds)], []
        ask("add", kind, "--connect", at, "--observe")
        for _ in range(args.turns):
            parts.append((lasts(1), lasts(args.seconds)))
            ask("pause", kind)
            time.sleep(SETTLES)
            pauses.append(lasts(args.seconds))
            ask("resume", kind)
        said, ended = load.communicate(timeout=60)[0], time.monotonic()
        if load.returncode != 0:
            sys.exit(f"the load beside {kind} ended with {load.returncode}; why stands above")
        rates = json.loads(said)["requests_per_second"]["loops"]
    finally:
        for process in filter(None, (guest, load)):
            process.kill()
            process.wait()
        ask("remove", kind)

    def seen(part):
        since, until, share, its = part
        # The load ends with its last piece; before the first it connects and teaches its addresses.
        first, last = (len(rates) - (ended - at) / LOOP for at in (since, until))
        rate = statistics.mean(rates[int(first) + 1:int(last)])
        return rate, share / rate, its

    def both(before, behind):
        return tuple(statistics.mean(pair) for pair in zip(seen(before), seen(behind)))

    around = map(both, pauses, pauses[1:])
    return [{"first": seen(first), "then": seen(then), "without": without} for (first, then), without in zip(parts, around)]


def report(args, listen, at, guest, controller):
    rates, costs, added = [], [], {1: [], args.switches: []}
    for _ in range(args.rounds):
        direct = bench(args, at, 400, args.switches, args.cores[2])
        before = spent(controller)
        through = bench(args, listen, 400, args.switches, args.cores[2])
        costs.append((spent(controller) - before) / through["counts"]["answered"] * 1e9)
        rates.append((through["requests_per_second"]["median"], direct["requests_per_second"]["median"]))
        move(controller, args.delay_cores[0]), move(guest, args.delay_cores[1])
        for switches, delays in added.items():
            delays.append([bench(args, to, 1, switches, args.delay_cores[2])["delay_us"]["p50"] for to in (listen, at)])
        move(controller, args.cores[0]), move(guest, args.cores[1])
    of = statistics.median
    print(f"through {of(r for r, _ in rates):,.0f} a second, directly {of(r for _, r in rates):,.0f}, "
          f"ratio {of(t / d for t, d in rates):.2f} ({min(t / d for t, d in rates):.2f} to {max(t / d for t, d in rates):.2f})")
    print(f"CPU time of the controller {of(costs):.0f} ns a request ({min(costs):.0f} to {max(costs):.0f})")
    for switches, delays in added.items():
        asks = "of one request alone" if switches == 1 else f"of one at each of {switches} switches"
        more = [through - direct for through, direct in delays]
        print(f"round trip {asks}, p50: through {of(t for t, _ in delays):.0f} us, directly {of(d for _, d in delays):.0f} us, "
              f"added {of(more):.0f} us ({min(more):.0f} to {max(more):.0f})")


if __name__ == "__main__":
    main()
