"""What the tests share: the command as a process, free ports, HTTP, and the emulated network."""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
ROOT = PACKAGE.parent.parent
HOST = "127.0.0.1"
# Longer than anything takes on a machine that does other things too.
WAIT_S = 60
POLL_S = 0.05


class Failure(AssertionError):
    """What was expected and what was seen instead.

    `fault` is what the application itself has raised, if its log has that.
    """

    fault = None


def wait_until(what, condition, seconds=WAIT_S):
    """Waits until `condition()` is true and returns its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failure(f"expected within {seconds} s: {what}")
        time.sleep(POLL_S)


def free_port():
    """A port of loopback that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def environment():
    """For processes that import the package from this tree, whether or not it is installed."""
    paths = [str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}


def fault(log):
    """What the first traceback of a log ends with, and the line of the sample that it names."""
    _, found, rest = log.partition("Traceback (most recent call last):\n")
    if not found:
        return None
    frames = []
    for line in rest.splitlines():
        if not line.startswith(" "):
            places = re.findall(r"/ryu/app/(\S+)\", line (\d+)", "\n".join(frames))
            where = f" in line {places[-1][1]} of {places[-1][0]}" if places else ""
            return f"`{line}`{where}"
        frames.append(line)
    return None


# Whether what this thread starts is a guest of `aldis ryu`.
HOW = threading.local()


@contextlib.contextmanager
def as_guests(are):
    """Within, commands of this thread are guests of Aldis, or are not."""
    HOW.guests = are
    try:
        yield
    finally:
        HOW.guests = False


class Command:
    """`python3 -m aldis_ryu`, or `aldis ryu`, with these arguments, and its log."""

    def __init__(self, *arguments):
        self.port, self.web = free_port(), free_port()
        self._log = tempfile.TemporaryFile()
        addresses = ["--listen", f"{HOST}:{self.port}", "--wsapi", f"{HOST}:{self.web}"]
        arguments = [str(argument) for argument in arguments]
        if getattr(HOW, "guests", False):
            applications = [name for name in arguments if not name.startswith("--")]
            options = [name for name in arguments if name.startswith("--")]
            words = [emulator(), "ryu", "--python", sys.executable, "--http", "off", *addresses]
            words += [*applications, "--", *options]
        else:
            words = [sys.executable, "-m", "aldis_ryu", *addresses, *arguments]
        self.child = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=environment(),
        )

    def __enter__(self):
        try:
            self.wait_said("switches connect to")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, _type=None, error=None, _traceback=None):
        if self.child.poll() is None:
            self.child.terminate()
        try:
            self.child.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        if isinstance(error, Failure):
            error.fault = fault(self.log())
        self._log.close()

    def log(self):
        """What it has written so far."""
        size = os.fstat(self._log.fileno()).st_size
        said = os.pread(self._log.fileno(), size, 0).decode(errors="replace")
        # What a guest says is a line of the controller's log.
        return re.sub(r"(?m)^\S+ +[A-Z]+ ryu: ", "", said)

    def wait_said(self, words):
        """Waits until the log has these words."""

        def said():
            if words in self.log():
                return True
            if self.child.poll() is not None:
                raise Failure(f"it ended with {self.child.returncode}: {self.log()}")
            return False

        wait_until(f"{words!r} in the log", said)

    def end(self, number=signal.SIGTERM):
        """Sends a signal; the exit code, and how many seconds it took."""
        start = time.monotonic()
        self.child.send_signal(number)
        code = self.child.wait(WAIT_S)
        return code, time.monotonic() - start

    def check_log(self):
        """Fails where an application has raised something."""
        log = self.log()
        if "Traceback" in log or " ERROR " in log:
            raise Failure(f"the log has an error:\n{log[-3000:]}")

    def ask(self, path, body=None, method=None):
        """Status and text of an answer over HTTP. A `body` that is no text becomes JSON."""
        if body is not None and not isinstance(body, str):
            body = json.dumps(body)
        url = f"http://{HOST}:{self.web}{path}"
        data = None if body is None else body.encode()
        request = urllib.request.Request(url, data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode(errors="replace")

    def ask_json(self, path, body=None, method=None):
        """What a request was answered with, which has to be a success."""
        status, text = self.ask(path, body, method)
        if status != 200:
            raise Failure(f"{path} was answered with {status}: {text}")
        return json.loads(text)


def emulator():
    """The command `aldis`."""
    named = os.environ.get("ALDIS")
    command = pathlib.Path(named) if named else ROOT / "target/debug/aldis"
    if not command.exists():
        raise Failure(f"{command} is missing: cargo build")
    return str(command)


def emulate(port, *arguments):
    """Runs the emulated network to its end; what it printed. One that lost a ping has failed."""
    done = subprocess.run(
        [emulator(), "emulate", f"{HOST}:{port}", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=3 * WAIT_S,
        check=False,
    )
    said = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        raise Failure(f"emulate {' '.join(arguments)} ended with {done.returncode}:\n{said}")
    return said


class Network:
    """The emulated network beside the test: its lines as they come."""

    def __init__(self, port, *arguments):
        self.lines = []
        self.child = subprocess.Popen(
            [emulator(), "emulate", f"{HOST}:{port}", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        with contextlib.suppress(ValueError):
            for line in self.child.stdout:
                self.lines.append(line.decode(errors="replace").rstrip())

    def __enter__(self):
        self.wait_line("ready after")
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        self._reader.join()
        self.child.stdout.close()

    def wait_line(self, words, seconds=WAIT_S):
        """Waits for a line with these words, and returns it."""
        find = lambda: next((line for line in list(self.lines) if words in line), None)  # noqa: E731
        try:
            return wait_until(f"a line with {words!r}", find, seconds)
        except Failure as failure:
            raise Failure(f"{failure}; the network said {self.lines}") from None
