#!/usr/bin/env python3
"""Measures what TLS to the switches costs: docs/performance.md, "TLS to the switches".

One worker on one core and the load on the other, over TLS and without in turn (A B A B …), the controller restarted every time; each
switch has a certificate of its own. Run it from the root of the repository, on a machine that does nothing else:

    cargo build --release && benches/tls.py
"""
import argparse, json, shlex, subprocess, sys, tempfile

import figures
from figures import ALDIS, CPU, LOAD_CORE, PORT, RATE, USER

SWITCHES = 16
GENERATOR = ("generator ns/request", lambda result: result["generator"]["cpu_ns_per_request"])
IDLE = ("generator idle %", lambda result: 100 * result["generator"]["idle"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each pair (5)")
    parser.add_argument("--seconds", type=int, default=3, help="measured seconds of each run (3)")
    options = parser.parse_args()
    load = f"-s {SWITCHES} -M 100000 --outstanding 400 -l {options.seconds} -m 1000 -w 2 --json"
    with tempfile.TemporaryDirectory() as folder:
        pki = f"{folder}/pki"
        switches = [argument for number in range(1, SWITCHES + 1) for argument in ("--switch", str(number))]
        subprocess.run([ALDIS, "pki", pki, *switches], check=True, stdout=subprocess.DEVNULL)
        controller = figures.aldis(f"--tls-listen 127.0.0.1:{PORT + 1} --tls-certificate {pki}/controller.pem "
                                   f"--tls-key {pki}/controller.key --tls-authority {pki}/ca.pem")
        show = f"--tls-authority {pki}/ca.pem --tls-certificate {pki}/switch-{{dpid}}.pem --tls-key {pki}/switch-{{dpid}}.key"
        results = {"TLS": [], "plain": []}
        for _ in range(options.rounds):
            for name, port, more in (("TLS", PORT + 1, show), ("plain", PORT, "")):
                with figures.running(controller):
                    bench = f"taskset -c {LOAD_CORE} {ALDIS} bench 127.0.0.1:{port} {load} {more}"
                    done = subprocess.run(shlex.split(bench), capture_output=True, text=True, timeout=300)
                    if done.returncode != 0:
                        sys.exit(f"tls.py: {bench}: {done.stderr.strip()}")
                    results[name].append(json.loads(done.stdout.strip().splitlines()[-1]))
    for name in results:
        parts = [figures.cell(results, name, "plain", label, pick) for label, pick in (CPU, USER, RATE, GENERATOR, IDLE)]
        print(f"{name:<6} " + " · ".join(parts) + figures.mark({name: results[name], "plain": results["plain"]}), flush=True)


if __name__ == "__main__":
    main()
