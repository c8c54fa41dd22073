"""The pages of the book, followed word by word: each block of commands, in order, as a shell reads them.

A page has a folder and a shell of its own, in the network of a scenario. Blocks of `sh` are typed; a block of `text`
behind one is what it prints, with `…` for what differs from time to time. Blocks of `console` are commands behind `$ `,
each with what it prints. An indented block that begins with a command of ours is one of `sh`. Comments of HTML, which readers do not see, say what a block needs:

    <!-- run first: COMMANDS -->     commands that the page takes for granted, a controller or a network say
    <!-- stays -->                   the block runs in another terminal, in place of one before, until it prints `Ctrl-C stops`
    <!-- stays: PATTERN -->          until it prints this
    <!-- stays too: PATTERN -->      the same, beside those before
    <!-- ends with N -->             the exit code of the commands of a console
    <!-- may end with N -->          the exit code that is as good as 0
    <!-- not run: REASON -->         the block cannot be run here
    <!-- run by FILE -->             another test runs it
    <!-- page not run: REASON -->    the same of all blocks of the page
    <!-- page run by FILE -->
"""

import functools
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field

from lab import POLL_S, ROOT, Failure, controller_command

SUMMARY = "docs/SUMMARY.md"
# Pages that are not in the book, and have commands.
OTHERS = ["README.md", "sdk/README.md", "sdk/ryu/README.md", "sdk/client/README.md"]
BLOCK_S = 60
TERMINAL_S = 30
OVER = "-- over --"
CONTROLLER_STAYS = "Ctrl-C stops"
COMMANDS = ("sh", "console")
# Commands without a fence.
INDENTED = re.compile(r" {4}(aldis|benches/|cargo|taskset) ")
# What is no command: settings, programs, what is printed.
OTHER_FENCES = ("text", "toml", "json", "python", "rust", "html", "js", "nginx", "yaml", "ini", "promql")

PRELUDE = r"""
controller() {
  aldis run "$@" > aldis.log 2>&1 &
  controller=$!
  until aldis health > /dev/null 2>&1; do kill -0 $controller; sleep 0.1; done
}
network() {
  aldis emulate 127.0.0.1:6653 --topology "${1:-linear,3}" --await-links --pingall --for 5m > network.log 2>&1 &
  network=$!
  until grep -q Results network.log; do kill -0 $network; sleep 0.1; done
}
"""


@dataclass
class Block:
    """A fence of a page, with its marks."""
    kind: str
    line: int
    text: str
    marks: list = field(default_factory=list)

    def mark(self, word):
        """What stands behind this word in a mark, where there is one."""
        for mark in self.marks:
            if mark.startswith(word):
                return mark.removeprefix(word).removeprefix(":").strip()
        return None


@dataclass
class Page:
    path: str
    marks: list
    blocks: list

    def commands(self):
        return [block for block in self.blocks if block.kind in COMMANDS]

    def left_out(self):
        """Blocks that are not run here, each with the reason."""
        for word in ("page not run", "page run by"):
            reason = Block("", 0, "", self.marks).mark(word)
            if reason is not None:
                return [(block, word.removeprefix("page "), reason) for block in self.commands()]
        return [(block, word, block.mark(word)) for block in self.commands()
                for word in ("not run", "run by") if block.mark(word) is not None]

    def runs(self):
        out = [block for block, _, _ in self.left_out()]
        return [block for block in self.commands() if block not in out]


def read(path):
    """The page at a path of the repository."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = file.read()
    found = re.compile(r"^<!--\s*(?P<mark>.*?)\s*-->$|^```(?P<kind>[\w,]*)\n(?P<text>.*?)^```$|"
                       r"(?P<indented>(?:^ {4}[^\n]*\n)+)|^\S[^\n]*$", re.MULTILINE | re.DOTALL)
    page = Page(path, [], [])
    marks = []
    for match in found.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["kind"] is not None:
            page.blocks.append(Block(match["kind"].split(",")[0], line, match["text"], marks))
        elif INDENTED.match(match["indented"] or ""):
            page.blocks.append(Block("sh", line, match["indented"], marks))
        if (match["mark"] or "").startswith("page "):
            page.marks.append(match["mark"])
        elif match["mark"] is not None:
            marks.append(match["mark"])
        else:
            # A mark stands right in front of its block.
            marks = []
    return page


def pages():
    """The pages of the book in its order, results of the laboratory left out, then those beside it."""
    with open(os.path.join(ROOT, SUMMARY), encoding="utf-8") as summary:
        names = re.findall(r"\]\(([^)#]+\.md)\)", summary.read())
    paths = [os.path.normpath(os.path.join("docs", name)) for name in names if not name.startswith("results/")]
    return [read(path) for path in dict.fromkeys(paths + OTHERS)]


def mistakes(page):
    """What is wrong with a page before anything is run."""
    for block in page.blocks:
        if block.kind not in COMMANDS + OTHER_FENCES:
            yield f"{page.path}:{block.line}: a block of {block.kind or 'nothing'}: say what it is"
    for block, word, reason in page.left_out():
        if not reason:
            yield f"{page.path}:{block.line}: {word}: say why, or which"
        elif word == "run by":
            with open(os.path.join(ROOT, reason), encoding="utf-8") as runner:
                reads = os.path.basename(page.path) in runner.read()
            if not reads:
                yield f"{page.path}:{block.line}: {reason} is no test that reads this page"


class Shell:
    """A shell in an empty folder, as a reader of the page has it: root, so without `sudo`, and `curl` fails where a request does."""

    def __init__(self, folder):
        self.folder = folder
        self.terminals = []
        self.typed = 0
        os.makedirs(self.path(".bin"))
        self.write(".bin/sudo", '#!/bin/sh\nexec "$@"\n')
        self.write(".bin/curl", f'#!/bin/sh\nexec {shutil.which("curl")} --fail-with-body --silent --show-error "$@"\n')
        # Mininet looks for the controller with it, and sometimes leaves it waiting for ever.
        self.write(".bin/telnet", f'#!/bin/sh\nexec timeout --foreground 5 {shutil.which("telnet") or "false"} "$@"\n')
        for name in ("sudo", "curl", "telnet"):
            os.chmod(self.path(f".bin/{name}"), 0o755)
        self.write(".prelude", PRELUDE)
        aldis = os.path.dirname(os.path.abspath(controller_command()[0]))
        path = f"{self.path('.bin')}:{aldis}:{os.environ['PATH']}"
        self.env = dict(os.environ, PATH=path, HOME=folder, REPOSITORY=ROOT, COLUMNS="100")
        with open(self.path(".said"), "wb") as said:
            self.child = subprocess.Popen(["bash", "-eu"], cwd=folder, env=self.env, stdin=subprocess.PIPE, stdout=said,
                                          stderr=subprocess.STDOUT)
        self.types(f". {self.path('.prelude')}\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def types(self, commands):
        """Types commands; what is printed until they are over."""
        self.typed += 1
        begun = os.path.getsize(self.path(".said"))
        self.write(f".block-{self.typed}", commands)
        self.child.stdin.write(f". {self.path(f'.block-{self.typed}')} < /dev/null; echo '{OVER}'\n".encode())
        self.child.stdin.flush()
        deadline = time.monotonic() + BLOCK_S
        while True:
            with open(self.path(".said"), "rb") as file:
                file.seek(begun)
                said = file.read().decode(errors="replace")
            # What runs in the background may print behind it.
            if f"{OVER}\n" in said:
                return said.split(OVER)[0]
            if self.child.poll() is not None or time.monotonic() > deadline:
                raise Failure(f"expected: it to work\nseen:     {said}\n{self.logs()}")
            time.sleep(POLL_S)

    def console(self, text, code):
        """Types the commands behind `$ `, each compared with what stands below it."""
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            said = self.types(f"code=0\n{{ {command}\n}} || code=$?\n[ $code = {code} ] || {{ echo ended with $code; exit 1; }}\n")
            compare(printed, said)

    def stays(self, commands, pattern, beside):
        """Another terminal, which is left alone once it has printed this; those before end, unless it is beside them."""
        if not beside:
            self.end_terminals()
        self.typed += 1
        name = f".terminal-{self.typed}"
        self.write(f".block-{self.typed}", commands)
        with open(self.path(name), "wb") as said:
            child = subprocess.Popen(["bash", "-eu", self.path(f".block-{self.typed}")], cwd=f"/proc/{self.child.pid}/cwd",
                                     env=self.env, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
                                     start_new_session=True)
        self.terminals.append(child)
        deadline = time.monotonic() + TERMINAL_S
        while True:
            with open(self.path(name), encoding="utf-8", errors="replace") as file:
                text = file.read()
            if re.search(pattern, text):
                return
            if child.poll() is not None or time.monotonic() > deadline:
                raise Failure(f"expected: a terminal that prints {pattern}\nseen:     {text}\n{self.logs()}")
            time.sleep(POLL_S)

    def end_terminals(self):
        for child in self.terminals:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGINT)
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait(5)
        self.terminals = []

    def logs(self):
        """The end of what ran in the background said."""
        names = sorted(name for name in os.listdir(self.folder) if name.endswith(".log") or name.startswith(".terminal"))
        parts = []
        for name in names:
            with open(self.path(name), encoding="utf-8", errors="replace") as log:
                parts.append(f"--- {name}\n{log.read()[-1500:]}")
        return "\n".join(parts)


def compare(printed, said):
    """What is printed has to hold what the page shows."""
    pattern = re.escape((printed or "").strip()).replace("…", ".*")
    if not re.search(pattern, said):
        raise Failure(f"expected: {printed}\nseen:     {said}")


def follow(shell, block, printed):
    """Does what one block says."""
    for mark in block.marks:
        if mark.startswith("run first"):
            shell.types(mark.removeprefix("run first").removeprefix(":").strip() + "\n")
    for word in ("stays too", "stays"):
        pattern = block.mark(word)
        if pattern is not None:
            return shell.stays(block.text, pattern or CONTROLLER_STAYS, word == "stays too")
    if block.kind == "console":
        return shell.console(block.text, block.mark("ends with") or "0")
    code = block.mark("may end with")
    said = shell.types(block.text if code is None else f"{{ {block.text}}} || [ $? = {code} ]\n")
    if os.environ.get("ALDIS_BOOK_PRINTS"):
        print(f"--- {block.line}\n{said}", flush=True)
    return compare(printed, said)


def followed(path, lab):
    """Every command of a page works, in order, and prints what the page says."""
    page = read(path)
    for folder in ("/tmp", "/var/lib"):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)
    os.makedirs(lab.path("page"))
    shell = Shell(lab.path("page"))
    runs = page.runs()
    for at, block in enumerate(page.blocks):
        if block not in runs:
            continue
        behind = page.blocks[at + 1] if at + 1 < len(page.blocks) else None
        try:
            follow(shell, block, behind.text if behind and behind.kind == "text" else None)
        except Failure as failure:
            raise Failure(f"{path}:{block.line}: {failure}") from failure
    shell.end_terminals()


def all_of_them():
    """Pairs of a page's path and a function of a `Lab`: the pages of which something is run."""
    for page in pages():
        if page.runs():
            yield page.path, functools.partial(followed, page.path)


def report():
    """Prints how many blocks run and which do not; whether the pages are as they should be."""
    book = pages()
    wrong = [mistake for page in book for mistake in mistakes(page)]
    for page in book:
        for block, word, reason in page.left_out():
            print(f"     {page.path}:{block.line}: {word} {reason}")
    left_out = [word for page in book for _, word, _ in page.left_out()]
    runs = sum(len(page.runs()) for page in book)
    print(f"blocks of commands: {runs} are run, {left_out.count('run by')} are run by other tests, "
          f"{left_out.count('not run')} are not run", flush=True)
    for mistake in wrong:
        print(f"FAIL {mistake}", flush=True)
    return not wrong
