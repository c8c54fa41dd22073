#!/usr/bin/python3
"""The stage of a test in a browser: Open vSwitch, the controller as `make run` starts it, and a
terminal for Mininet.

    tests/web/stage.py SCRIPT

The script is a program for Node.js that drives a browser. All of them are in network, process and
mount namespaces of their own, as the scenarios of `tests/mininet` are. The script types into the
terminal: each line that it writes is an object of JSON whose `type` is what is typed, and each is
answered by a line with what the terminal printed until its prompt, as `said`.
"""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

HERE = os.path.abspath(__file__)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "mininet"))

import lab  # noqa: E402
import run  # noqa: E402

PROMPT = "mininet> "
# A network of nine switches is started within this time, and a line is carried out.
TYPED_S = 60
SCENARIO_S = 240


class Terminal:
    """Where a person starts Mininet, and types into its prompt."""

    def __init__(self):
        self.child = None
        self.screen = None

    def types(self, line):
        """Types a line: the first starts Mininet. What is printed until the next prompt."""
        if self.child is None:
            self.start(line)
        else:
            os.write(self.screen, line.encode() + b"\n")
        return self.read()

    def start(self, line):
        # The one who types is root, and `sudo` would hide where this Open vSwitch is.
        command = line.removeprefix("sudo ")
        self.screen, inside = pty.openpty()
        self.child = subprocess.Popen(command, shell=True, stdin=inside, stdout=inside, stderr=inside, start_new_session=True)
        os.close(inside)

    def read(self):
        said = ""
        deadline = time.monotonic() + TYPED_S
        while not said.endswith(PROMPT):
            ready, _, _ = select.select([self.screen], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise lab.Failure(f"expected: {PROMPT!r} within {TYPED_S} s\nseen:     {said[-2000:]}")
            try:
                said += os.read(self.screen, 65536).decode(errors="replace")
            except OSError as over:
                raise lab.Failure(f"expected: {PROMPT!r}\nseen:     {said[-2000:]}") from over
            said = re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", said)
        return said.removesuffix(PROMPT)

    def end(self):
        if self.child is None or self.child.poll() is not None:
            return
        os.write(self.screen, b"exit\n")
        try:
            self.child.wait(lab.START_S)
        except subprocess.TimeoutExpired:
            self.child.kill()


def play(script):
    """Runs the script at the stage; its exit status."""
    lab.prepare_machine()
    network, terminal = lab.Lab(), Terminal()
    try:
        network.start_controller()
        with subprocess.Popen(["node", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as actor:
            signal.signal(signal.SIGALRM, lambda *_: actor.kill())
            signal.alarm(SCENARIO_S)
            for line in actor.stdout:
                try:
                    asked = json.loads(line)
                except ValueError:
                    print(line, end="", flush=True)
                    continue
                actor.stdin.write(json.dumps({"said": terminal.types(asked["type"])}) + "\n")
                actor.stdin.flush()
        if actor.returncode:
            print(f"the script ended with {actor.returncode}")
        return actor.returncode
    except lab.Failure as failure:
        print(failure)
        return 1
    finally:
        terminal.end()
        network.close()


def main():
    if sys.argv[1:2] == [run.INSIDE]:
        sys.exit(1 if play(sys.argv[2]) else 0)
    run.check_machine()
    command = [*run.UNSHARE, sys.executable, HERE, run.INSIDE, *sys.argv[1:]]
    sys.exit(subprocess.run(command, timeout=SCENARIO_S + run.GRACE_S, check=False).returncode)


if __name__ == "__main__":
    main()
