#!/usr/bin/python3
"""Runs the end-to-end scenarios: real Open vSwitch, real hosts, real frames, and the controller as a black box.

    tests/mininet/run.py [PART OF A SCENARIO'S NAME]...
    tests/mininet/run.py --book [PART OF A PAGE'S NAME]...

Each scenario runs in network, process and mount namespaces of its own: nothing reaches the machine's interfaces, files or
daemons, the ports are free whatever else runs, and when a scenario ends, however it ends, the kernel ends what it left.

ALDIS_CONTROLLER names the controller command; by default it is `target/debug/aldis run`.
"""

import concurrent.futures
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback

HERE = os.path.abspath(__file__)
INSIDE = "--inside"
BOOK = "--book"
SCENARIO_S = 120
# After this many seconds more a scenario that did not end by itself is ended.
GRACE_S = 20
NEEDED = ["unshare", "setpriv", "mount", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovs-ofctl", "ovsdb-tool", "mnexec", "ip",
          "ping", "iperf", "ethtool", "tcpdump", "tshark"]
# Most of a scenario is waiting, and each has a world of its own.
AT_ONCE = 3
# As many that fail are tried once more, one by one: on a machine that does other things too a deadline passes
# without a fault of the code. What fails twice is no accident, and what needed a second try is
# said.
AGAIN_MAX = 5
# unshare dies with us, its child with unshare, and everything in the namespaces with the child.
UNSHARE = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]


def give_up(sentence):
    """A test that could not run has not passed."""
    print(f"FAIL {sentence}\n0 passed, 1 failed")
    sys.exit(1)


def check_machine():
    if os.geteuid() != 0:
        give_up("the end-to-end tests make network namespaces and need root")
    os.environ["PATH"] = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    missing = [name for name in NEEDED if not shutil.which(name)]
    if missing:
        give_up(f"missing: {' '.join(missing)}; `cargo xtask peers` installs them")


def run(name):
    """Runs one scenario in its own world and says how it went; whether it passed."""
    start = time.monotonic()
    try:
        done = subprocess.run(UNSHARE + [sys.executable, HERE, INSIDE, name], timeout=SCENARIO_S + GRACE_S,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        passed, said = done.returncode == 0, done.stdout
    except subprocess.TimeoutExpired as late:
        passed, said = False, (late.stdout or b"") + b"\nexpected: an end; it had to be killed"
    lines = said.decode(errors="replace").strip().splitlines()
    how = f"{'ok  ' if passed else 'FAIL'} {name} ({time.monotonic() - start:.1f} s)"
    # In one piece: another may end at the same time.
    print("\n".join([how, *("     " + line for line in lines)]), flush=True)
    return passed


def run_inside(name):
    """The scenario itself, in the namespaces made for it; the exit status says whether it passed."""
    import lab

    def late(*_):
        raise lab.Failure(f"expected: an end within {SCENARIO_S} s\nseen:     " + "".join(traceback.format_stack(limit=8)))

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SCENARIO_S)
    lab.prepare_machine()
    network = lab.Lab()
    try:
        dict(all_of_them(name.endswith(".md")))[name](network)
    except Exception as error:  # whatever went wrong, what the network looked like is worth more than how we got here
        print(error if isinstance(error, lab.Failure) else traceback.format_exc())
        print(network.evidence(), flush=True)
        sys.exit(1)
    finally:
        network.close()


def all_of_them(of_the_book):
    """The scenarios, or the pages of the book, which are run like them."""
    if of_the_book:
        import book
        return book.all_of_them()
    import scenarios
    return scenarios.all_of_them()


def main():
    if sys.argv[1:2] == [INSIDE]:
        run_inside(sys.argv[2])
        return
    check_machine()
    of_the_book = sys.argv[1:2] == [BOOK]
    parts = sys.argv[2:] if of_the_book else sys.argv[1:]
    if of_the_book:
        import book
        if not book.report():
            give_up("a page is not as it should be")
    chosen = [name for name, _ in all_of_them(of_the_book) if not parts or any(part in name for part in parts)]
    if not chosen:
        give_up(f"no scenario is called {' or '.join(parts)}")
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        failed = [name for name, passed in zip(chosen, pool.map(run, chosen)) if not passed]
    if failed and len(failed) <= AGAIN_MAX:
        print(f"once more: {', '.join(failed)}", flush=True)
        again, failed = failed, [name for name in failed if not run(name)]
        print(f"passed at the second try, to be mended: {', '.join(name for name in again if name not in failed) or 'none'}", flush=True)
    print(f"{len(chosen) - len(failed)} passed, {len(failed)} failed", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
