#!/usr/bin/env python3
"""Measures what recording costs: the figures of docs/recording.md, "What it costs".

Three controllers, each with its own load: one records nothing, one keeps a ring, one has a client that records everything. All stay
up, and the loads take turns (A B C B C A …), so that a machine that is fast and slow by turns is so to all. Each round begins with new
ones. CPU time is that of all threads of the controller, divided by the requests that it answered in the turn. Run it from the root of
the repository, on a machine that does nothing else:

    cargo build --release && benches/recording.py                                 full load, and 300,000 requests a second
    benches/recording.py --rounds 3 --apps learning-switch --rates 300000         some of it
"""
import argparse, contextlib, shlex, signal, statistics, subprocess, sys, time

import sharing
from figures import ALDIS, CONTROLLER_CORE, LOAD_CORE, PORT, running

HOW = {"nothing": "", "a ring of 64 MiB": "--recording-mib 64", "a client": ""}
NOTHING, CLIENT = "nothing", "a client"
# How long the recorder may work on what the load's last requests left behind.
RECORDED_WITHIN = 0.1


class Recorded(sharing.Loaded):
    """A controller, its load, and what records."""

    def __init__(self, up, how, options, load, port):
        http = f"127.0.0.1:{port + 1000}"
        self.metrics = f"http://{http}/metrics"
        cores = CONTROLLER_CORE if options.workers == 1 else "0,1"
        self.controller = up.enter_context(running(f"{ALDIS} run --http {http} --listen 127.0.0.1:{{port}} --workers {options.workers} "
                                                   f"--log error {options.apps} {HOW[how]}", cores=cores, port=port))
        self.client = None
        if how == CLIENT:
            self.client = subprocess.Popen(shlex.split(f"taskset -c {LOAD_CORE} {ALDIS} record --http http://{http} --out -"),
                                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            up.callback(self.client.wait)
            up.callback(self.client.terminate)
        self.ask(up, load, port)

    def turn(self, seconds):
        """So many seconds of load: nanoseconds of CPU time for each request."""
        served = self.rest()
        time.sleep(RECORDED_WITHIN)
        cpu_ns = self.cpu_ns()
        self.load.send_signal(signal.SIGCONT)
        time.sleep(seconds)
        self.load.send_signal(signal.SIGSTOP)
        # What asks for the number of requests is no part of the time.
        time.sleep(RECORDED_WITHIN)
        cpu_ns = self.cpu_ns() - cpu_ns
        if self.client and self.client.poll() is not None:
            sys.exit(f"recording.py: aldis record ended: {self.client.stderr.read().strip()}")
        return cpu_ns / max(self.rest() - served, 1)


def measure(options, load):
    """The turns of each, and a line for each ratio."""
    print(f"\n## {options.apps or 'default applications'}, workers: {options.workers}\n\n    {ALDIS} bench 127.0.0.1:{PORT} {load}\n", flush=True)
    seen = {how: [] for how in HOW}
    for _ in range(options.rounds):
        with contextlib.ExitStack() as up:
            subjects = {how: Recorded(up, how, options, load, PORT + place) for place, how in enumerate(HOW)}
            for subject in subjects.values():
                subject.begin()
            for subject in subjects.values():
                subject.load.send_signal(signal.SIGSTOP)
            for first in range(options.turns):
                for how in [*HOW][first % len(HOW):] + [*HOW][:first % len(HOW)]:
                    seen[how].append(subjects[how].turn(options.seconds))
    for how, turns in seen.items():
        text = f"{how:<18} {statistics.median(turns):.0f} ns CPU time a request"
        if how != NOTHING:
            low, _, high = statistics.quantiles([a / b for a, b in zip(turns, seen[NOTHING])], n=4)
            text += f"; {sharing.ratio(turns, seen[NOTHING], options.turns)}, quartiles {low:.2f} and {high:.2f}"
        print(text, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="rounds, each with new controllers (3)")
    parser.add_argument("--turns", type=int, default=10, help="turns of each in a round (10)")
    parser.add_argument("--seconds", type=float, default=1, help="seconds of each turn (1)")
    parser.add_argument("--rates", default="full,300000", help="requests a second that are offered, separated by commas; "
                        "full: as many as are answered (full,300000)")
    parser.add_argument("--apps", default=None, help="applications, separated by commas (those of `aldis run`)")
    parser.add_argument("--workers", type=int, default=1, help="workers; more than 1 share both cores with the load (1)")
    options = parser.parse_args()
    options.apps = f"--apps {options.apps}" if options.apps else ""
    for rate in options.rates.split(","):
        limit = "" if rate == "full" else f" --rate {int(rate)}"
        measure(options, f"-s 16 -M 1000 --outstanding 400 --poll{limit}")


if __name__ == "__main__":
    main()
