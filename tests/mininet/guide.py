"""The operator's guide, followed word by word: each block of commands of docs/operating.md, in order, as a shell reads them."""

import os
import re
import subprocess
import tempfile
import time

from lab import POLL_S, ROOT, Failure, controller_command

GUIDE = os.path.join(ROOT, "docs/operating.md")
BLOCK_S = 40
OVER = "-- over --"


def blocks():
    """The blocks of commands, each with its line in the guide and what is said to be printed, if anything is."""
    with open(GUIDE, encoding="utf-8") as guide:
        text = guide.read()
    fences = [(match[1], match[2], text.count("\n", 0, match.start()) + 2) for match in
              re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]
    for at, (kind, commands, line) in enumerate(fences):
        if kind == "sh":
            behind = fences[at + 1] if at + 1 < len(fences) else None
            yield line, commands, behind[1] if behind and behind[0] == "text" else None


class Shell:
    """A shell in an empty folder, as a reader of the guide has it."""

    def __init__(self, folder):
        self.folder = folder
        self.said = open(os.path.join(folder, ".said"), "w+b")
        path = os.path.dirname(os.path.abspath(controller_command()[0]))
        env = dict(os.environ, PATH=f"{path}:{os.environ['PATH']}", HOME=folder)
        self.child = subprocess.Popen(["bash", "-eu"], cwd=folder, env=env, stdin=subprocess.PIPE, stdout=self.said,
                                      stderr=subprocess.STDOUT)

    def types(self, commands):
        """Types a block; what is printed until it is over."""
        begun = os.path.getsize(self.said.name)
        self.child.stdin.write(f"{commands}echo '{OVER}'\n".encode())
        self.child.stdin.flush()
        deadline = time.monotonic() + BLOCK_S
        while True:
            self.said.seek(begun)
            said = self.said.read().decode(errors="replace")
            if said.endswith(OVER + "\n"):
                return said.removesuffix(OVER + "\n")
            if self.child.poll() is not None or time.monotonic() > deadline:
                raise Failure(f"expected: it to work\nseen:     {said}\n{self.log()}")
            time.sleep(POLL_S)

    def log(self):
        """The end of the controller's log."""
        try:
            with open(os.path.join(self.folder, "aldis.log"), encoding="utf-8") as log:
                return log.read()[-2000:]
        except OSError:
            return "(no log)"


def guide(_lab):
    """Every command of the operator's guide works, in order, and prints what the guide says."""
    typed = 0
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(folder)
        for line, commands, printed in blocks():
            try:
                said = shell.types(commands)
            except Failure as failure:
                raise Failure(f"docs/operating.md:{line}: {failure}") from failure
            pattern = re.escape((printed or "").strip()).replace("…", ".*")
            if not re.search(pattern, said):
                raise Failure(f"docs/operating.md:{line}: expected: {printed}\nseen:     {said}")
            if os.environ.get("ALDIS_GUIDE_PRINTS"):
                print(f"--- {line}\n{said}")
            typed += 1
    if typed < 9:
        raise Failure(f"expected: the blocks of docs/operating.md\nseen:     {typed} of them")
