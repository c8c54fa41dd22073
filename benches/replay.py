#!/usr/bin/env python3
"""Records networks that are busy, and plays the recordings back: the figures of docs/recording.md, "Playing it back".

Each round has a new controller with its default applications, a client that records from before the switches connect, and a network in
which hosts ping each other, six at a time, and a link is cut and mended every six seconds. Whether what comes out of the replay is what
was recorded, byte for byte, and how fast, stands in a line; a recording of which that is not so is kept. Run it from the root of the
repository:

    cargo build --release && benches/replay.py                          five recordings of a minute
    benches/replay.py --rounds 20 --seconds 14 --ends                   shorter ones, to the end of the network
    benches/replay.py --workers 1 --topology ring,6 --hosts-per-switch 1
"""
import argparse, os, random, re, shutil, statistics, subprocess, sys, tempfile, time

from figures import ALDIS, PORT, running

HTTP = f"127.0.0.1:{PORT + 1000}"
# Until the client listens, and until the last ping is answered.
SETTLES_S = 1
# Pings that begin together, and in all: the emulator takes a script of ten thousand lines. A pause behind them is drawn of these, times
# as much as it takes.
AT_ONCE, PINGS_MAX = 6, 9_500
PAUSES_MS = (5, 10, 20)


def script(seconds, hosts, cut, seed):
    """What happens in the network, a line each."""
    draw, lines, at_ms = random.Random(seed), [], 2000
    longer = max(1, 1000 * seconds * AT_ONCE / PINGS_MAX / statistics.mean(PAUSES_MS))
    while at_ms < 1000 * seconds:
        for _ in range(AT_ONCE):
            one, other = draw.sample(range(1, hosts + 1), 2)
            lines.append(f"{at_ms}ms ping h{one} h{other}")
        at_ms += round(longer * draw.choice(PAUSES_MS))
    for second in range(5, seconds - 2, 6):
        lines += [f"{second}s link-down {cut}", f"{second + 2}s link-up {cut}"]
    return "\n".join(lines)


def recorded(options, folder, round_):
    """A recording, and how many pings were answered."""
    file, lines = f"{folder}/{round_}.pcapng", f"{folder}/script"
    with open(lines, "w", encoding="ascii") as out:
        out.write(script(options.seconds, options.hosts, options.cut, round_))
    # The network outlives the recording, or the recording the network.
    network_s, recording_s = options.seconds + 3 * SETTLES_S, options.seconds + SETTLES_S
    if options.ends:
        network_s, recording_s = options.seconds + SETTLES_S, options.seconds + 4 * SETTLES_S
    with running(f"{ALDIS} run --http {HTTP} --listen 127.0.0.1:{{port}} --workers {options.workers} --log warn", cores="0,1"):
        client = subprocess.Popen([ALDIS, "record", "--http", f"http://{HTTP}", "--out", file, "--for", f"{recording_s}s"],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        time.sleep(SETTLES_S)
        network = subprocess.run([ALDIS, "emulate", f"127.0.0.1:{PORT}", "--topology", options.topology, "--hosts-per-switch",
                                  str(options.hosts_per_switch), "--for", str(network_s), "--script", lines],
                                 capture_output=True, text=True, timeout=network_s + 60)
        said, _ = client.communicate(timeout=recording_s + 60)
    for name, code, words in ("record", client.returncode, said), ("emulate", network.returncode, network.stderr):
        if code != 0:
            sys.exit(f"replay.py: aldis {name}: {words.strip()}")
    return file, "nothing is missing" in said, re.findall(r"\d+ of \d+ pings", network.stdout + network.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="recordings (5)")
    parser.add_argument("--seconds", type=int, default=60, help="seconds of pings in each (60)")
    parser.add_argument("--workers", type=int, default=2, help="workers of the controller (2)")
    parser.add_argument("--topology", default="torus,4,4", help="the network (torus,4,4)")
    parser.add_argument("--hosts-per-switch", type=int, default=4, help="hosts of each switch (4)")
    parser.add_argument("--cut", default="s1 s2", help="the ends of the link that is cut (s1 s2)")
    parser.add_argument("--ends", action="store_true", help="record to the end of the network, and behind it")
    options = parser.parse_args()
    # Nothing listens there: how many hosts there are is said before.
    shape = subprocess.run([ALDIS, "emulate", "127.0.0.1:1", "--topology", options.topology, "--hosts-per-switch",
                            str(options.hosts_per_switch), "--connect-within", "0.1"], capture_output=True, text=True)
    hosts = re.search(r"(\d+) hosts", shape.stdout + shape.stderr)
    if not hosts:
        sys.exit(f"replay.py: {(shape.stdout + shape.stderr).strip()}")
    options.hosts = int(hosts[1])
    folder, others = tempfile.mkdtemp(prefix="aldis-replay-"), 0
    for round_ in range(options.rounds):
        file, whole, pings = recorded(options, folder, round_)
        replay = subprocess.run([ALDIS, "replay", file], capture_output=True, text=True)
        played = re.search(r"(\d+ messages played, \d+ commands came out; .*)", replay.stdout)
        text = "the same" if replay.returncode == 0 else "** other **"
        print(f"{round_}: {text}; {played[1] if played else replay.stderr.strip()}; {'whole' if whole else 'with gaps'}; "
              f"{pings[-1] if pings else 'no pings'} answered", flush=True)
        others += replay.returncode != 0
        if replay.returncode == 0:
            os.unlink(file)
    if others:
        sys.exit(f"replay.py: {others} of {options.rounds} came out otherwise, and are kept in {folder}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
