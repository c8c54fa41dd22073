"""The command: what it loads, what it says, and how it ends."""

import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import unittest

import harness

BUSY = """
    from ryu.base import app_manager

    class Busy(app_manager.RyuApp):
        def start(self):
            super().start()
            from ryu.lib import hub
            hub.spawn_after(0.5, self.spin)

        def spin(self):
            self.logger.info("spinning")
            while True:
                pass
"""
SETTINGS = """
    from ryu import cfg
    from ryu.base import app_manager

    class Settings(app_manager.RyuApp):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.CONF.register_opts([cfg.IntOpt("answer", default=1)])
            self.logger.info("flag %s, answer %s", self.CONF.of_mine, self.CONF.answer)
"""
FLAGS = """
    from ryu import cfg

    cfg.CONF.register_cli_opts([cfg.StrOpt("of-mine", default="unset")])
"""


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def run_to_end(self, *arguments):
        """Exit code and what was said, of a run that ends by itself."""
        done = subprocess.run(
            [sys.executable, "-m", "aldis_ryu", *map(str, arguments)],
            env=harness.environment(),
            capture_output=True,
            text=True,
            timeout=harness.WAIT_S,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def refused(self, code, *arguments):
        """The last line of a run that has to end with that exit code."""
        port = harness.free_port()
        seen, said = self.run_to_end("--listen", f"127.0.0.1:{port}", *arguments)
        self.assertEqual(seen, code, said)
        self.assertNotIn("Traceback", said)
        return said.strip().splitlines()[-1]

    def test_help_teaches_with_an_example(self):
        code, said = self.run_to_end("--help")
        self.assertEqual(code, 0)
        self.assertIn("aldis-ryu ryu.app.simple_switch_13", said)
        self.assertIn("--ofp-tcp-listen-port", self.run_to_end("--help-options")[1])
        self.assertIn("os-ken", self.run_to_end("--version")[1])

    def test_what_cannot_be_loaded_is_said_with_its_file_and_line(self):
        app = "from ryu.base import app_manager\nclass X(app_manager.RyuApp):\n"
        cases = [
            ("print 'two'\n", "line 1: Missing parentheses"),
            ("import os\nimport nonesuch\n", "line 2: the module nonesuch is not installed"),
            ("from ryu.lib import nonesuch\n", "line 1: ImportError: cannot import name 'nonesuch'"),
            ("1 / 0\n", "line 1: ZeroDivisionError: division by zero"),
            (app + "  def __init__(self, **k):\n    self.x.y\n", "line 4: AttributeError"),
        ]
        for text, words in cases:
            path = self.write("wrong.py", text)
            self.assertIn(f"{path}, {words}", self.refused(1, path))

    def test_a_file_or_module_that_is_not_there_is_said(self):
        self.assertIn("nonesuch.py: there is no such file", self.refused(1, "nonesuch.py"))
        self.assertIn("nonesuch: there is neither a file nor a module", self.refused(1, "nonesuch"))

    def test_applications_without_a_version_in_common_are_refused(self):
        last = self.refused(1, "ryu.app.simple_switch", "ryu.app.simple_switch_13")
        self.assertIn("no version of OpenFlow in common", last)

    def test_wrong_options_end_with_2(self):
        self.assertIn("this is not HOST:PORT", self.refused(2, "--listen", "nowhere"))
        self.assertIn("unrecognized arguments: --nonesuch", self.refused(2, "--nonesuch"))
        self.assertIn("there is no such file", self.refused(2, "--user-flags", "nonesuch.py"))

    def test_an_address_that_is_taken_is_said(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            self.assertIn(f"{address}: it is taken", self.refused(1, "--listen", address))
            last = self.refused(1, "--wsapi", address, "ryu.app.rest_topology")
            self.assertIn(f"{address}: it is taken", last)

    def test_it_listens_on_loopback_alone_with_the_options_of_ryu_manager_too(self):
        port = harness.free_port()
        arguments = ["--listen", "", "--ofp-tcp-listen-port", port, "ryu.app.simple_switch_13"]
        with harness.Command(*arguments) as command:
            command.wait_said(f"switches connect to 127.0.0.1:{port}")
            with self.assertRaises(OSError):
                socket.create_connection(("127.0.0.2", port), timeout=5).close()

    def test_signals_end_it_at_once(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with harness.Command("ryu.app.simple_switch_13") as command:
                code, seconds = command.end(number)
                self.assertEqual(code, 0, command.log())
                self.assertLess(seconds, 5)
                self.assertNotIn("Traceback", command.log())

    def test_an_application_that_never_gives_way_does_not_keep_it(self):
        with harness.Command(self.write("busy.py", BUSY)) as command:
            command.wait_said("spinning")
            code, seconds = command.end()
            self.assertEqual(code, 128 + signal.SIGTERM)
            self.assertLess(seconds, 10)

    def test_an_application_whose_thread_is_done_does_not_end_the_others(self):
        text = """
            from ryu.base import app_manager
            from ryu.lib import hub

            class Once(app_manager.RyuApp):
                def start(self):
                    super().start()
                    return hub.spawn(self.logger.info, "done with it")
        """
        with harness.Command(self.write("once.py", text), "ryu.app.rest_topology") as command:
            command.wait_said("done with it")
            self.assertEqual(command.ask("/v1.0/topology/links"), (200, "[]"))
            self.assertEqual(command.end()[0], 0)

    def test_options_of_applications_and_their_settings_are_read(self):
        settings = self.write("settings.conf", "[DEFAULT]\nanswer = 42\n")
        flags = self.write("flags.py", FLAGS)
        arguments = ["--user-flags", flags, "--of-mine", "set", "--config-file", settings]
        with harness.Command(*arguments, self.write("settings.py", SETTINGS)) as command:
            command.wait_said("flag set, answer 42")

    def test_several_applications_may_be_named_with_commas_and_by_an_option(self):
        names = "ryu.app.simple_switch_13,ryu.app.rest_topology"
        with harness.Command("--app-lists", names) as command:
            command.wait_said("HTTP is served")
            self.assertEqual(command.ask("/v1.0/topology/switches"), (200, "[]"))

    def test_modules_beside_an_application_in_a_checkout_of_ryu_are_found(self):
        (self.folder / "ryu/app").mkdir(parents=True)
        self.write("ryu/app/simple_switch_13.py", "WHERE = 'beside'\n")
        self.write("ryu/app/helps.py", "from ryu.app import simple_switch_13 as beside\n")
        text = """
            from ryu.app.helps import beside
            from ryu.base import app_manager

            class Mine(app_manager.RyuApp):
                def start(self):
                    super().start()
                    self.logger.info("it lies %s", beside.WHERE)
        """
        with harness.Command(self.write("ryu/app/mine.py", text)) as command:
            command.wait_said("it lies beside")

    def test_a_program_may_start_it_by_import(self):
        port = harness.free_port()
        source = f"from ryu.cmd import manager; manager.main(['--listen', '127.0.0.1:{port}', 'no.py'])"
        done = subprocess.run(
            [sys.executable, "-c", source],
            env=harness.environment(),
            capture_output=True,
            text=True,
            timeout=harness.WAIT_S,
            check=False,
        )
        self.assertEqual(done.stderr, "aldis-ryu: no.py: there is no such file\n")

    def test_a_file_without_an_application_is_said(self):
        with harness.Command(self.write("empty.py", "x = 1\n")) as command:
            command.wait_said("there is no class derived from RyuApp in it")
