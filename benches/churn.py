#!/usr/bin/python3
"""Looks whether the controller knows the links of a network in which they come and go: no false link, no real one lost.

    cargo build --release && benches/churn.py                      1,347 switches, ten minutes
    benches/churn.py --minutes 0.3 --topology waxman,60 --aldis target/debug/aldis

`aldis emulate` connects over loopback and breaks links, takes switches' power and resets their connections, at moments drawn from a
seed; it says when it does. Twice a second the links that REST knows are compared with those that there are:

- false: a link that is up there and is none of the cables, or whose cable, or a switch at one of its ends, is gone for longer
  than --gone seconds;
- lost: a cable that is whole, between switches that are connected, for longer than --back seconds, and that is not up there.

The cables are what REST knew when every one had been crossed both ways, which has to be as many as the emulator says that there are. At
the end everything is whole again, and all of them have to be there. Ends with 1 if anything was false or lost.
"""
import argparse, http.client, json, os, random, re, socket, subprocess, sys, threading, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOOK_EVERY_S = 0.5
# What is broken is whole again so much later, at the most; in a short run within a third of it.
LINK_S, SWITCH_S = 20, 10
# When everything is whole again it is looked on for so long.
CALM_S = 5
HAPPENED = re.compile(r"^([0-9.]+) s +(link-down|link-up|switch-gone|switch-back|reset) (\S+)(?: (\S+))?$")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="of churn (10)")
    parser.add_argument("--topology", default="waxman,1347", help="as aldis emulate has it (waxman,1347)")
    parser.add_argument("--openflow", default="1.3", choices=["1.0", "1.3"])
    parser.add_argument("--faults", type=float, default=4, help="a second (4)")
    parser.add_argument("--gone", type=float, default=3, help="seconds in which what is gone has to be gone (3)")
    parser.add_argument("--back", type=float, default=15, help="seconds in which what is back has to be back (15)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--aldis", default=os.path.join(ROOT, "target/release/aldis"), help="the command (target/release/aldis)")
    options = parser.parse_args()
    openflow, rest = free_port(), free_port()
    started = [options.aldis, "run", "--listen", f"127.0.0.1:{openflow}", "--http", f"127.0.0.1:{rest}", "--log", "error"]
    controller = subprocess.Popen(started, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        sys.exit(0 if churn(options, openflow, rest) else 1)
    finally:
        controller.terminate()
        controller.wait(30)


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def churn(options, openflow, rest):
    """Whether all went well."""
    cables, count = laid_out(options, openflow, rest)
    if len(cables) != count:
        print(f"REST knows {len(cables)} links of {count}")
        return False
    script, seconds = faults(options, cables)
    network = Network(options, openflow, script, seconds)
    try:
        history = History(cables)
        looks, false, lost, worst = 0, set(), set(), {"gone": 0.0, "back": 0.0}
        seen = set()
        while network.child.poll() is None:
            if network.now() > seconds + (0 if seen == cables else options.back):
                break
            asked = network.now()
            seen = known(rest)
            answered = network.now()
            history.heed(network.take())
            looks += 1
            false |= {(link, "no cable") for link in seen - cables}
            for cable in cables:
                if cable in seen:
                    gone = history.gone_for(cable, asked)
                    worst["gone"] = max(worst["gone"], gone)
                    if gone > options.gone:
                        false.add((cable, f"gone since {asked - gone:.1f} s"))
                else:
                    back = history.whole_for(cable, asked)
                    worst["back"] = max(worst["back"], back)
                    if back > options.back:
                        lost.add((cable, f"whole since {asked - back:.1f} s"))
            time.sleep(max(0, LOOK_EVERY_S - (answered - asked)))
        missing = cables - seen
    finally:
        network.end()
    happened = history.counts
    print(f"{options.topology}, OpenFlow {options.openflow}, {count} cables, {seconds / 60:.1f} min: "
          + ", ".join(f"{number} {what}" for what, number in sorted(happened.items())))
    print(f"{looks} looks: {len(false)} links false, {len(lost)} lost; at the end {len(missing)} missing of {count}")
    print(f"the longest time after which one that was gone was still there {worst['gone']:.1f} s, and one that was back was not "
          f"{worst['back']:.1f} s")
    for what, links in [("false", false), ("lost", lost), ("missing at the end", {(link, "") for link in missing})]:
        for link, why in sorted(links)[:20]:
            print(f"{what}: {link} {why}")
    if sum(happened.values()) < len(script) * 9 // 10:
        print(f"only {sum(happened.values())} of {len(script)} faults happened")
        return False
    return looks > 0 and not (false or lost or missing)


def laid_out(options, openflow, rest):
    """The cables, once all of them are known, and how many the emulator says that there are. It is another run of the same network,
    in which nothing breaks."""
    network = Network(options, openflow, [], None)
    try:
        count = int(re.search(r"(\d+) links", network.first).group(1))
        until = time.monotonic() + 60
        while len(cables := known(rest)) < count and time.monotonic() < until:
            time.sleep(LOOK_EVERY_S)
    finally:
        network.end()
    while known(rest) and time.monotonic() < until:
        time.sleep(LOOK_EVERY_S)
    return cables, count


def known(rest):
    """The links that are up as REST has them: both ends of each, the lower one first, as switch and port."""
    connection = http.client.HTTPConnection("127.0.0.1", rest, timeout=30)
    try:
        connection.request("GET", "/api/v1/links?state=up")
        answer = json.loads(connection.getresponse().read())
    except OSError:
        return set()
    finally:
        connection.close()
    assert len(answer["items"]) == answer["total"], "REST does not name all of them at once"
    end = lambda end: (int(end["dpid"], 16), end["port"])
    return {tuple(sorted((end(link["a"]), end(link["b"])))) for link in answer["items"]}


def faults(options, cables):
    """What happens when, as lines of a script, and when it is over."""
    draws = random.Random(options.seed)
    churns = options.minutes * 60
    link_s, switch_s = min(LINK_S, churns / 3), min(SWITCH_S, churns / 3)
    pairs = sorted({(a[0], b[0]) for a, b in cables})
    switches = sorted({end[0] for cable in cables for end in cable})
    # Until when each is broken: nothing is broken twice.
    broken, script, at = {}, [], 1.0
    while at < churns:
        kind = draws.choices(["link", "switch", "reset"], [8, 1, 1])[0]
        what = draws.choice(pairs if kind == "link" else switches)
        if broken.get(what, 0) < at:
            if kind == "link":
                back = at + draws.uniform(0.2, link_s)
                words = f"s{what[0]} s{what[1]}"
                script += [(at, f"link-down {words}"), (back, f"link-up {words}")]
            elif kind == "switch":
                back = at + draws.uniform(0.5, switch_s)
                script += [(at, f"switch-gone s{what}"), (back, f"switch-back s{what}")]
            else:
                back = at + 1
                script.append((at, f"reset s{what}"))
            broken[what] = back
        at += draws.expovariate(options.faults)
    lines = [f"{at:.3f}s {words}" for at, words in sorted(script)]
    return lines, churns + link_s + CALM_S


class Network:
    """An emulator that is ready."""

    def __init__(self, options, openflow, script, seconds):
        lasts = [] if seconds is None else ["--for", str(seconds + options.back + 60)]
        feed = [] if not script else ["--script", "/dev/stdin"]
        argv = [options.aldis, "emulate", f"127.0.0.1:{openflow}", "--topology", options.topology, "--openflow", options.openflow,
                "--await-links", "--connect-within", "120", *lasts, *feed]
        self.child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.child.stdin.write("".join(line + "\n" for line in script))
        self.child.stdin.close()
        self.first, self.lines, self.lock = self.child.stdout.readline(), [], threading.Lock()
        for line in self.child.stdout:
            if line.startswith("ready"):
                break
        else:
            sys.exit(f"the emulator did not get ready: {self.first}")
        self.since = time.monotonic()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.child.stdout:
            with self.lock:
                self.lines.append(line.strip())

    def take(self):
        """What happened since this was last asked."""
        with self.lock:
            lines, self.lines = self.lines, []
        return lines

    def now(self):
        """Seconds since it was ready."""
        return time.monotonic() - self.since

    def end(self):
        self.child.terminate()
        self.child.wait(30)


class History:
    """Since when each cable is whole, or gone."""

    def __init__(self, cables):
        self.counts = {}
        self.down, self.since = {}, {}
        self.of = {}
        for cable in cables:
            (a, _), (b, _) = cable
            for key in [a, b, (a, b)]:
                self.of.setdefault(key, []).append(cable)

    def heed(self, lines):
        for line in lines:
            if not (said := HAPPENED.match(line)):
                continue
            at, what = float(said[1]), said[2]
            names = tuple(sorted(int(name[1:]) for name in said.groups()[2:] if name))
            key = names if len(names) == 2 else names[0]
            self.counts[what] = self.counts.get(what, 0) + 1
            for cable in self.of.get(key, []):
                reasons = self.down.setdefault(cable, set())
                was_down = bool(reasons)
                if what in ("link-down", "switch-gone"):
                    reasons.add(key)
                elif what in ("link-up", "switch-back"):
                    reasons.discard(key)
                # After a reset it may be gone for a while, and is found again.
                if what == "reset" or was_down != bool(reasons):
                    self.since[cable] = at

    def gone_for(self, cable, now):
        return now - self.since[cable] if self.down.get(cable) else 0.0

    def whole_for(self, cable, now):
        return 0.0 if self.down.get(cable) else now - self.since.get(cable, 0.0)


if __name__ == "__main__":
    main()
