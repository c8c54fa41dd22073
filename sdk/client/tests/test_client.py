"""The client against a controller that runs: the command that `ALDIS` names."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from aldis_client import AuthenticatedClient, Client
from aldis_client.api.controller import me
from aldis_client.api.events import recent_events
from aldis_client.api.kept import remove_static_flow, set_static_flow, static_flow, static_flows
from aldis_client.api.switches import switch, switches
from aldis_client.errors import UnexpectedStatus
from aldis_client.events import follow
from aldis_client.models import EventKind, NewStaticFlow, Problem, StaticFlow, Switch

ROOT = pathlib.Path(__file__).resolve().parents[3]
ALDIS = os.environ.get("ALDIS", str(ROOT / "target/debug/aldis"))
LATE_S = 20

UPLINK = NewStaticFlow.from_dict(
    {"switch": "1", "priority": 500, "match": {"in_port": "1"}, "actions": ["output:2"]}
)


class Controller:
    """A controller on ports of its own, and what it says where it listens."""

    def __init__(self, *options):
        command = [ALDIS, "run", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", *options]
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        # A controller that says nothing ends, and with it the wait for what it says.
        late = threading.Timer(LATE_S, self.child.kill)
        late.start()
        self.openflow = self.heard(r"Listening for switches on (\S+)")
        self.url = self.heard(r"HTTP on (\S+)")
        late.cancel()

    def heard(self, pattern):
        """What the next line says that has this; the end of the output ends the wait."""
        lines = []
        for line in iter(self.child.stdout.readline, ""):
            lines.append(line)
            found = re.search(pattern, line)
            if found:
                return found[1]
        raise AssertionError(f"no line with {pattern}: {lines}")

    def close(self):
        self.child.terminate()
        self.child.communicate(timeout=LATE_S)


class Network:
    """Two emulated switches at a controller."""

    def __init__(self, controller):
        command = [ALDIS, "emulate", controller.openflow, "--topology", "linear,2"]
        self.child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def close(self):
        self.child.terminate()
        self.child.wait(LATE_S)


def wait_until(condition):
    """Waits until something is so, and returns it."""
    deadline = time.monotonic() + LATE_S
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError("it did not become so")
        time.sleep(0.02)
    return value


class ClientTest(unittest.TestCase):
    def start(self, *options):
        controller = Controller(*options)
        self.addCleanup(controller.close)
        return controller

    def test_objects_have_the_types_of_the_document(self):
        controller = self.start()
        network = Network(controller)
        self.addCleanup(network.close)
        with Client(base_url=controller.url) as client:
            page = wait_until(lambda: (page := switches.sync(client=client)).total == 2 and page)
            self.assertEqual([one.dpid for one in page.items], ["0000000000000001", "0000000000000002"])
            one = switch.sync("1", client=client)
            self.assertIsInstance(one, Switch)
            self.assertGreaterEqual(len(one.to_dict()["version"]), 3)
            kept = set_static_flow.sync("up link", client=client, body=UPLINK)
            self.assertIsInstance(kept, StaticFlow)
            self.assertEqual((kept.name, kept.priority), ("up link", 500))
            wait_until(lambda: static_flow.sync("up link", client=client).there == 1)
            self.assertEqual(static_flows.sync(client=client).total, 1)
            self.assertEqual(remove_static_flow.sync("up link", client=client).removed, 1)

    def test_an_error_is_a_problem_with_its_status(self):
        controller = self.start()
        with Client(base_url=controller.url) as client:
            answer = switch.sync_detailed("9", client=client)
            self.assertEqual(answer.status_code, 404)
            self.assertIsInstance(answer.parsed, Problem)
            self.assertEqual(answer.parsed.type_, "urn:aldis:no-such-switch")
            self.assertIn("not connected", answer.parsed.detail)

    def test_a_token_is_good_for_its_role(self):
        with tempfile.TemporaryDirectory() as folder:
            access = os.path.join(folder, "access.toml")
            tokens = {}
            for role in ("read", "write"):
                made = subprocess.run(
                    [ALDIS, "http", "token", role, "--role", role, "--to", access],
                    capture_output=True, text=True, check=True, timeout=LATE_S,
                )
                tokens[role] = re.search(rf"{role}\.\S+", made.stdout)[0]
            controller = self.start("--http-access", access)
            strict = {"base_url": controller.url, "raise_on_unexpected_status": True}
            with Client(**strict) as nobody, self.assertRaises(UnexpectedStatus) as refused:
                switches.sync(client=nobody)
            self.assertEqual(refused.exception.status_code, 401)
            for role, status in (("read", 403), ("write", 200)):
                with AuthenticatedClient(**strict, token=tokens[role]) as client:
                    self.assertEqual(me.sync(client=client).role, role)
                    try:
                        seen = set_static_flow.sync_detailed("x", client=client, body=UPLINK).status_code
                    except UnexpectedStatus as refused:
                        seen = refused.status_code
                    self.assertEqual(seen, status)

    def test_events_are_followed_and_found_again(self):
        controller = self.start()
        with Client(base_url=controller.url) as client:
            events = follow(client, after="oldest")
            network = Network(controller)
            self.addCleanup(network.close)
            seen = [next(events)]
            while sum(event.kind == EventKind.SWITCH_UP for event in seen) < 2:
                seen.append(next(events))
            recent = recent_events.sync(client=client)
            ids = {item.to_dict()["id"] for item in recent.items}
            self.assertTrue({event.id for event in seen} <= ids, (seen, ids))
            # Behind the first of them the second comes again.
            ups = [event for event in seen if event.kind == EventKind.SWITCH_UP]
            behind = follow(client, after=ups[0].id)
            again = next(event for event in behind if event.kind == EventKind.SWITCH_UP)
            self.assertEqual(again.id, ups[1].id)
            refused = follow(client, after="no such id")
            with self.assertRaises(UnexpectedStatus) as problem:
                next(refused)
            self.assertEqual(json.loads(problem.exception.content)["status"], problem.exception.status_code)


    def test_the_example_of_the_readme_does_what_it_says(self):
        readme = (ROOT / "sdk/client/README.md").read_text(encoding="utf-8")
        controller = self.start()
        network = Network(controller)
        self.addCleanup(network.close)
        with Client(base_url=controller.url) as client:
            wait_until(lambda: switches.sync(client=client).total == 2)
            example = re.search(r"```python\n(.*?)```", readme, re.DOTALL)[1]
            example = example.replace("http://127.0.0.1:8080", controller.url)
            command = [sys.executable, "-u", "-c", example]
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            late = threading.Timer(LATE_S, child.kill)
            late.start()
            said = [child.stdout.readline() for _ in range(2)]
            self.assertTrue(said[0].startswith("0000000000000001 127.0.0.1:"), said)
            wait_until(lambda: static_flow.sync_detailed("uplink", client=client).status_code == 200)
            # It follows from some moment on: what happens again and again is seen.
            for _ in range(3):
                network.close()
                wait_until(lambda: switches.sync(client=client).total == 0)
                network = Network(controller)
                self.addCleanup(network.close)
                wait_until(lambda: switches.sync(client=client).total == 2)
            lines = iter(child.stdout.readline, "")
            self.assertTrue(any(line.startswith("switch-up ") for line in lines))
            child.kill()
            child.communicate()
            late.cancel()


class DocumentTest(unittest.TestCase):
    def test_every_route_of_the_document_has_a_function(self):
        document = json.loads((ROOT / "openapi/aldis.json").read_text(encoding="utf-8"))
        package = pathlib.Path(__import__("aldis_client").__file__).parent
        made = {path.stem for path in package.glob("api/*/*.py")} - {"__init__"}
        for path, item in document["paths"].items():
            if path.startswith("/api/v1/"):
                for operation in item.values():
                    kinds = operation["responses"].get("200", {}).get("content", {})
                    endless = {"text/event-stream", "application/x-pcapng"} & kinds.keys()
                    streams = path.endswith("/ws") or bool(endless)
                    self.assertEqual(operation["operationId"] in made, not streams, path)


if __name__ == "__main__":
    unittest.main()
