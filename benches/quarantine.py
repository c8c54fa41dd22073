#!/usr/bin/python3
"""What an application that loops, traps, allocates or floods costs the others: `aldis bench` beside it, until it is quarantined.

    cargo build --release && benches/quarantine.py [--rounds 5] [--seconds 10]

The controller has core 0, the load core 1. In each round the load runs twice for so many seconds, once alone and once beside an
application that misbehaves in every call from its 50th on. The rates are compared from the second after its first failure on, and
over the whole run; how long it takes until the application is in quarantine is read from the controller.
"""
import argparse, json, os, socket, statistics, subprocess, sys, tempfile, threading, time, urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

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


def beside(http, name, package, after, said):
    """Installs the application when the load runs, waits for its quarantine, and notes how long that took from its first failure."""
    time.sleep(after)
    ask(http, "POST", "apps", package)
    first, deadline = None, time.monotonic() + 20
    while time.monotonic() < deadline:
        app = next(app for app in ask(http, "GET", "apps")["apps"] if app["name"] == name)
        state = app["state"]
        if state != "running" and first is None:
            first = time.monotonic()
        if state == "quarantined":
            said["quarantined_s"], said["first"] = time.monotonic() - first, first
            return
        time.sleep(0.002)


def rates(aldis, listen, seconds):
    load = ["taskset", "-c", "1", aldis, "bench", listen, "-s", "16", "-M", "1000", "--outstanding", "400", "-l", str(seconds), "-m",
            "1000", "-w", "1", "--json"]
    said = json.loads(subprocess.run(load, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)
    return said["requests_per_second"]["loops"], said["counts"]["lost"]


def main():
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rounds", type=int, default=5)
    asked.add_argument("--seconds", type=int, default=10)
    asked.add_argument("--aldis", default=os.path.join(ROOT, "target/release/aldis"))
    options = asked.parse_args()
    listen, http = free(), free()
    with tempfile.TemporaryDirectory() as folder:
        packages = {name: built(options.aldis, folder, name) for name in BODIES}
        controller = subprocess.Popen(["taskset", "-c", "0", options.aldis, "run", "--workers", "1", "--listen", listen, "--http", http,
                                       "--apps", "learning-switch"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(1)
            for name, package in packages.items():
                ratios, took, lost = [], [], 0
                for _ in range(options.rounds):
                    alone, _ = rates(options.aldis, listen, options.seconds)
                    said = {}
                    # It fails within the second of the first loop, which is the second after the warm-up.
                    thread = threading.Thread(target=beside, args=(http, name, package, 1.2, said))
                    thread.start()
                    together, more = rates(options.aldis, listen, options.seconds)
                    thread.join()
                    ask(http, "DELETE", f"apps/{name}")
                    ratios.append((statistics.mean(together) / statistics.mean(alone), statistics.mean(together[1:]) / statistics.mean(alone[1:])))
                    took.append(said.get("quarantined_s", float("inf")))
                    lost += more
                whole, later = (statistics.median(column) for column in zip(*ratios))
                print(f"{name}: rate beside it to alone, median of {options.rounds}: {whole:.3f} over {options.seconds} s, {later:.3f} from "
                      f"the next second on; quarantined within {max(took):.2f} s of its first failure; {lost} requests lost", flush=True)
        finally:
            controller.terminate()
            controller.wait()


if __name__ == "__main__":
    sys.exit(main())
