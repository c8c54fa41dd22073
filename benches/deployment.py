#!/usr/bin/python3
"""The deployment of Beacon's section 7: a fat tree of 20 switches, k = 4, with 80 hosts, and routes between all of them.

    cargo build --release && benches/deployment.py [--aldis target/release/aldis] [--workers N] [--pairs N] [--out FILE]

The default applications turn ARP to unicast and route every pair; the emulator's 80 hosts ping each other, and one
of them sends what has to go to all. Prints, and with --out writes, as JSON, how many pairs had an answer and how soon, how many
hosts saw one copy of the broadcast, how long LLDP took to cross all links, and the CPU time and memory of the controller. Ends with
1 where a pair had no answer, or a host not one copy. The emulator has no
DHCP client: `tests/mininet/proxies.py` tries that application.
"""
import argparse, json, os, re, socket, subprocess, sys, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOPOLOGY, HOSTS_EACH, HOSTS = "fat-tree,4", 10, 80


def free():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def reachable(address, controller):
    host, port = address.split(":")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if controller.poll() is not None:
            sys.exit(f"deployment.py: the controller ended with {controller.returncode}")
        try:
            return socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            time.sleep(0.05)
    sys.exit("deployment.py: the controller did not listen within 10 s")


def emulate(aldis, address, *options):
    command = [aldis, "emulate", address, "--topology", TOPOLOGY, "--hosts-per-switch", str(HOSTS_EACH), "--await-links", "--json"]
    done = subprocess.run(command + list(options), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=300)
    if done.returncode not in (0, 1):
        sys.exit(f"deployment.py: the emulator ended with {done.returncode}: {done.stdout[:400]}")
    return json.loads(done.stdout)


def used(pid):
    """CPU seconds and resident MiB."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{pid}/status") as status:
        resident = int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), resident / 1024


def complete(found):
    """Whether every pair had its answer, and every host one copy of what went to all."""
    pings = [finding for finding in found["findings"] if "ping" in finding]
    floods = [finding for finding in found["findings"] if "broadcast" in finding]
    answered = all(finding["received"] == finding["sent"] for finding in pings)
    once = all(finding["exactly_once"] == finding["others"] for finding in floods)
    return bool(pings) and bool(floods) and answered and once


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--aldis", default=os.path.join(ROOT, "target/release/aldis"))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=HOSTS * (HOSTS - 1), help="so many pairs instead of all")
    parser.add_argument("--out", help="a file for the findings, as JSON")
    args = parser.parse_args()
    if not os.access(args.aldis, os.X_OK):
        sys.exit(f"deployment.py: no {args.aldis}; build it, or name it with --aldis")
    address = free()
    command = [args.aldis, "run", "--listen", address, "--http", "off", "--workers", str(args.workers)]
    controller = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        reachable(address, controller)
        pings = "--pingall" if args.pairs >= HOSTS * (HOSTS - 1) else f"--pingall={args.pairs}"
        found = emulate(args.aldis, address, pings, "--broadcast", "h1")
        cpu, memory = used(controller.pid)
    finally:
        controller.terminate()
        controller.wait(timeout=20)
    findings = {"topology": TOPOLOGY, "hosts": HOSTS, "workers": args.workers, "cpu_s": round(cpu, 2), "memory_mib": round(memory, 1), "emulator": found}
    text = json.dumps(findings, indent=2)
    print(text)
    if args.out:
        with open(args.out, "w") as file:
            file.write(text + "\n")
    sys.exit(0 if complete(found) else 1)


if __name__ == "__main__":
    main()
