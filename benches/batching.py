#!/usr/bin/python3
"""How adaptive batching behaves under constant overload: the batching delay against its bound (BDU), and how far the threshold wanders.

    cargo build --release && benches/batching.py [--seconds 60] [--bdus 500,1000,3000,5000] [--designs maestro-round-robin,…]

The controller, with one worker, has core 0, the load core 1: 79 switches that always have more to ask. What counts begins after
--warm seconds, in which the threshold climbs. The delay is from the first read of a batch to its last write; the threshold is taken at the end of each batch.
"""
import argparse, json, os, socket, subprocess, sys, time, urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DESIGNS = "maestro-round-robin,maestro-dynamic-partition,maestro-shared-queue"


def free():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def pinned(core, *command, **more):
    return subprocess.Popen(["taskset", "-c", str(core), *command], **more)


def counted(http):
    with urllib.request.urlopen(f"http://{http}/api/v1/statistics", timeout=15) as answer:
        total = json.load(answer)["total"]
    spread = lambda name: {bucket["upper"]: bucket["count"] for bucket in total[name]["buckets"]}
    return spread("batching_delay_ns"), spread("ibt"), total["requests"]


def since(before, after):
    """What a distribution counted between two moments, as pairs of a value and its count."""
    return sorted((upper, count - before.get(upper, 0)) for upper, count in after.items())


def quantile(pairs, part):
    wanted, met = part * sum(count for _, count in pairs), 0
    for upper, count in pairs:
        met += count
        if met >= wanted:
            return upper


def measure(options, design, bdu):
    listen, http = free(), free()
    bound = [] if bdu == "none" else ["--set", f"bdu-us={bdu}"]
    controller = pinned(0, options.aldis, "run", "--workers", "1", "--listen", listen, "--http", http, "--design", design, *bound,
                        "--apps", "learning-switch", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        load = pinned(1, options.aldis, "bench", listen, "-s", "79", "-M", "1000", "--outstanding", "2000", "-l", "1", "-m",
                      str((options.warm + options.seconds + 3) * 1000), "-w", "0", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1 + options.warm)
        delay, ibt, requests = counted(http)
        begun = time.monotonic()
        time.sleep(options.seconds)
        delay_after, ibt_after, requests_after = counted(http)
        rate = (requests_after - requests) / (time.monotonic() - begun)
        load.terminate()
        load.wait()
    finally:
        controller.terminate()
        controller.wait()
    delay, ibt = since(delay, delay_after), since(ibt, ibt_after)
    first, median, third = (quantile(ibt, part) for part in (0.25, 0.5, 0.75))
    p50, p99 = (quantile(delay, part) / 1000 for part in (0.5, 0.99))
    of_bdu = "" if bdu == "none" else f" ({p99 / int(bdu):.2f} of the BDU)"
    print(f"{design}, BDU {bdu}: delay p50 {p50:.0f} µs, p99 {p99:.0f} µs{of_bdu}; threshold {first} to {third}, "
          f"median {median} ({first / median - 1:+.0%}, {third / median - 1:+.0%}); {rate / 1e6:.2f} M requests a second", flush=True)


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--seconds", type=int, default=60)
    asked.add_argument("--warm", type=int, default=20)
    asked.add_argument("--bdus", default="500,1000,3000,5000", help="in µs, or none for a design without")
    asked.add_argument("--designs", default=DESIGNS)
    asked.add_argument("--aldis", default=os.path.join(ROOT, "target/release/aldis"))
    options = asked.parse_args()
    for design in options.designs.split(","):
        for bdu in options.bdus.split(","):
            measure(options, design, bdu)


if __name__ == "__main__":
    sys.exit(main())
