#!/usr/bin/python3
"""An hour of changes under load: applications come and go at random beside `aldis bench`, under every design, and nothing is lost.

    cargo build --release && for app in learning-switch packet-count; do target/release/aldis app build sdk/rust/examples/$app \\
        --output target/sdk/$app.app; done
    benches/soak.py [--minutes 60] [--every 0.2] [--seed 1] [--designs beacon,fair-rounds] [--nice 19]

Each design has its share of the time. Native applications are stopped and started; packages are installed, replaced, shadowed,
promoted, stopped, started and removed; the order is changed. The hub comes last and is never stopped, so each request has an
answer: one that has none is lost, one more is a stray. Ends with 1 where there was any of both, where a change was answered by 5xx,
where an application failed, or where the controller did not end by itself. Prints how many were answered late (docs/bench.md); the
memory, descriptors and threads of the controller after the first round of load and after the last; and what the changes kept the
workers from their switches.
"""
import argparse, collections, hashlib, io, json, os, random, re, socket, subprocess, sys, tarfile, tempfile, threading, time
import urllib.error, urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NATIVE = ["acl", "static-flows", "monitor", "learning-switch"]
ROUND_S = 10


def free():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def next_version(package):
    """The same package as version 0.2.0."""
    with tarfile.open(fileobj=io.BytesIO(package)) as members:
        digest = members.getmember("digest")
    new = package.replace(b'version = "0.1.0"', b'version = "0.2.0"', 1)
    covered, rest = new[:digest.offset], new[digest.offset_data + digest.size:]
    return covered + new[digest.offset:digest.offset_data] + hashlib.sha256(covered).hexdigest().encode() + rest


class Changes(threading.Thread):
    """Makes random changes until it is told to end."""

    def __init__(self, http, chance, every, packages):
        super().__init__(daemon=True)
        self.http, self.chance, self.every, self.packages = http, chance, every, packages
        self.over, self.wrong, self.done = threading.Event(), [], collections.Counter()

    def ask(self, method, path, body=b"", kind="application/json"):
        request = urllib.request.Request(f"http://{self.http}/api/v1/{path}", data=body, method=method, headers={"Content-Type": kind})
        try:
            return urllib.request.urlopen(request, timeout=30).status
        except urllib.error.HTTPError as refused:
            if refused.code >= 500:
                self.wrong.append(f"{method} {path}: {refused.code} {refused.read().decode()}")
            return refused.code

    def one(self):
        """One change, of those that are possible now, mostly; others are refused."""
        chance, octets = self.chance, "application/octet-stream"
        apps = self.apps()
        native, name = chance.choice(NATIVE), chance.choice(list(self.packages))
        package = chance.choice(self.packages[name])
        what = {f"{native} turned": lambda: self.turn(native, apps), "order": lambda: self.order(apps)}
        if name in apps:
            what |= {
                "turned": lambda: self.turn(name, apps),
                "replaced": lambda: self.ask("PUT", f"apps/{name}", package, octets),
                "shadowed": lambda: self.ask("PUT", f"apps/{name}/candidate", package, octets),
                "promoted": lambda: self.ask("POST", f"apps/{name}/promote"),
                "removed": lambda: self.ask("DELETE", f"apps/{name}"),
            }
        else:
            what["installed"] = lambda: self.ask("POST", "apps", package, octets)
        how = chance.choice(list(what))
        self.done[how, what[how]() < 400] += 1

    def apps(self):
        """The state of each application."""
        with urllib.request.urlopen(f"http://{self.http}/api/v1/apps", timeout=30) as answer:
            return {app["name"]: app["state"] for app in json.load(answer)["apps"]}

    def turn(self, name, apps):
        return self.ask("POST", f"apps/{name}/{'stop' if apps[name] == 'running' else 'start'}")

    def order(self, apps):
        answer = [name for name in ("learning-switch", *self.packages) if apps.get(name) == "running"]
        self.chance.shuffle(answer)
        return self.ask("PUT", "sequences/flow-request", json.dumps({"apps": [*answer, "hub"]}).encode())

    def run(self):
        while not self.over.wait(self.every):
            try:
                self.one()
            except Exception as error:
                self.wrong.append(f"{type(error).__name__}: {error}")


def held(pid):
    """Resident KB, descriptors and threads of a process."""
    with open(f"/proc/{pid}/status") as status:
        fields = dict(line.split(":", 1) for line in status if ":" in line)
    return int(fields["VmRSS"].split()[0]), len(os.listdir(f"/proc/{pid}/fd")), int(fields["Threads"])


def pauses(http):
    """What the changes so far kept the workers from their switches: how often, p99 and the longest, in µs."""
    with urllib.request.urlopen(f"http://{http}/api/v1/statistics", timeout=30) as answer:
        spread = json.load(answer)["total"]["line_up_pause_ns"]
    return f"{spread['count']} pauses, p99 {spread['p99'] / 1000:.0f} µs, longest {spread['max'] / 1000:.0f} µs"


def soak(design, seconds, options, packages):
    listen, http, wrong = free(), free(), []
    with tempfile.TemporaryDirectory() as folder:
        controller = subprocess.Popen(
            [options.aldis, "run", "--workers", "2", "--design", design, "--listen", listen, "--http", http, "--app-folder", folder, "--apps",
             ",".join([*NATIVE, "hub"])], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        told = []
        threading.Thread(target=lambda: told.extend(controller.stderr), daemon=True).start()
        time.sleep(1.5)
        changes = Changes(http, random.Random(f"{options.seed} {design}"), options.every, packages)
        changes.start()
        begun, answered, late, first = time.monotonic(), 0, 0, None
        while time.monotonic() < begun + seconds:
            load = [options.aldis, "bench", listen, "-s", "16", "-M", "1000", "--outstanding", "16", "-l", str(ROUND_S), "-m", "1000",
                    "-w", "1", "--openflow", random.choice(["1.0", "1.3"]), "--json"]
            if controller.poll() is not None:
                sys.exit(f"{design}: the controller ended with {controller.returncode}: {''.join(told)}")
            said = subprocess.run(load, stdout=subprocess.PIPE, timeout=ROUND_S * 20, check=True)
            counts = json.loads(said.stdout)["counts"]
            answered, late = answered + counts["answered"], late + counts["late"]
            if counts["lost"] or counts["strays"]:
                wrong.append(f"{counts['lost']} lost, {counts['strays']} strays of {counts['offered']}")
            first = first or held(controller.pid)
        changes.over.set()
        changes.join()
        last, paused = held(controller.pid), pauses(http)
        controller.terminate()
        if controller.wait(timeout=30) != 0:
            wrong.append(f"the controller ended with {controller.returncode}")
    failed = [line.strip() for line in told if re.search(r"panic|quarantined|failed, and|version .* failed|did not follow", line)]
    wrong += changes.wrong + failed
    done = sum(number for (_, took), number in changes.done.items() if took)
    refused = sum(changes.done.values()) - done
    print(f"{design}: {answered:,} requests, {late} of them answered late, {done} changes and {refused} that were refused; KB, "
          f"descriptors, threads: {first} and {last}; {paused}; {'nothing lost' if not wrong else wrong[:5]}", flush=True)
    return not wrong


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--minutes", type=float, default=60)
    asked.add_argument("--every", type=float, default=0.2, help="seconds between two changes")
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--designs", default="all")
    asked.add_argument("--nice", type=int, default=0)
    asked.add_argument("--aldis", default=os.path.join(ROOT, "target/release/aldis"))
    options = asked.parse_args()
    os.nice(options.nice)
    listed = subprocess.run([options.aldis, "designs"], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n\n")[0].splitlines()
    listed = [line.split()[0] for line in listed[1:] if not line.startswith(" ")]
    designs = listed if options.designs == "all" else options.designs.split(",")
    packages = {}
    for name, file in (("simple-switch", "learning-switch"), ("packet-count", "packet-count")):
        path = os.path.join(ROOT, f"target/sdk/{file}.app")
        if not os.path.exists(path):
            sys.exit(f"{path} is missing; it is built by: {options.aldis} app build sdk/rust/examples/{file} --output {path}")
        with open(path, "rb") as package:
            first = package.read()
        packages[name] = [first, next_version(first)]
    return 0 if all([soak(design, options.minutes * 60 / len(designs), options, packages) for design in designs]) else 1


if __name__ == "__main__":
    sys.exit(main())
