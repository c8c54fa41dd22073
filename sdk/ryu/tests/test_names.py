"""Every module of os-ken under Ryu's name, as the very same object."""

import importlib
import pathlib
import pkgutil
import subprocess
import sys
import tempfile
import unittest

import harness
import ryu  # (installs the names)
from ryu.lib import hub

import os_ken

# os-ken's own tests, and a part of its installation.
PROGRAMS = ("os_ken.tests", "os_ken.hooks")


def modules_of_os_ken():
    for found in pkgutil.walk_packages(os_ken.__path__, "os_ken."):
        if not found.name.startswith(PROGRAMS):
            yield found.name


def run_python(source):
    """What a program prints that begins without any of the modules."""
    done = subprocess.run(
        [sys.executable, "-c", source],
        env=harness.environment(),
        stdout=subprocess.PIPE,
        text=True,
        timeout=harness.WAIT_S,
        check=True,
    )
    return done.stdout


class NamesTest(unittest.TestCase):
    def test_every_module_of_os_ken_is_the_same_object_by_the_name_of_ryu(self):
        import ryu.base.app_manager  # noqa: F401 (before what it imports in a circle)

        count = 0
        for name in modules_of_os_ken():
            alias = "ryu" + name.removeprefix("os_ken")
            with self.subTest(alias):
                try:
                    real = importlib.import_module(name)
                except ImportError as error:
                    # Some need packages that os-ken does not bring; then they do so by any name.
                    with self.assertRaisesRegex(ImportError, error.msg[:30]):
                        importlib.import_module(alias)
                    continue
                module = importlib.import_module(alias)
                self.assertIs(module, real)
                self.assertIs(sys.modules[alias], sys.modules[name])
                self.assertEqual(module.__spec__.name, name)
                count += 1
        self.assertGreater(count, 200)

    def test_names_from_a_package_and_below_it_are_the_same(self):
        from ryu.lib.packet import arp, packet
        from ryu.ofproto import ofproto_v1_3, ofproto_v1_3_parser

        import os_ken.lib.packet.arp
        import os_ken.ofproto.ofproto_v1_3_parser

        self.assertIs(arp, os_ken.lib.packet.arp)
        self.assertIs(packet.Packet, sys.modules["os_ken.lib.packet.packet"].Packet)
        self.assertIs(ofproto_v1_3_parser, os_ken.ofproto.ofproto_v1_3_parser)
        self.assertEqual(ofproto_v1_3.OFP_VERSION, 4)

    def test_names_that_os_ken_has_changed_are_there(self):
        from ryu.base import app_manager
        from ryu.exception import OFPUnknownVersion, RyuException

        self.assertIs(app_manager.RyuApp, app_manager.OSKenApp)
        self.assertTrue(issubclass(OFPUnknownVersion, RyuException))
        self.assertEqual(ryu.version_info[0], 4)

    def test_event_classes_that_are_made_as_needed_are_the_same(self):
        from ryu.controller import ofp_event

        import os_ken.controller.ofp_event as real

        self.assertIs(ofp_event.EventOFPPacketIn, real.EventOFPPacketIn)
        self.assertEqual(ofp_event.EventOFPPacketIn.__module__, "os_ken.controller.ofp_event")
        made = ofp_event.ofp_msg_to_ev_cls(sys.modules["os_ken.ofproto.ofproto_v1_3_parser"].OFPHello)
        self.assertIs(made, ofp_event.EventOFPHello)

    def test_modules_that_os_ken_has_dropped_are_the_same_by_both_names(self):
        from ryu.app import wsgi
        from ryu.app.wsgi import ControllerBase

        self.assertIs(wsgi.ControllerBase, ControllerBase)
        self.assertIs(importlib.import_module("os_ken.app.wsgi"), wsgi)
        for name in ("ofctl_rest", "rest_topology", "ws_topology", "simple_switch_13"):
            self.assertEqual(importlib.import_module(f"ryu.app.{name}").__name__, f"ryu.app.{name}")
        self.assertTrue(callable(importlib.import_module("ryu.cmd.manager").main))

    def test_a_module_that_neither_has_is_not_found(self):
        for name in ("ryu.nonesuch", "ryu.app.nonesuch", "ryu.lib.nonesuch.more"):
            with self.assertRaises(ModuleNotFoundError) as refused:
                importlib.import_module(name)
            self.assertTrue(name.startswith(refused.exception.name), refused.exception)

    def test_options_are_one_set(self):
        from ryu import cfg

        import os_ken.cfg

        cfg.CONF.register_opts([cfg.IntOpt("of-this-test", default=7)])
        self.assertEqual(os_ken.cfg.CONF.of_this_test, 7)

    def test_a_required_application_is_noted_at_the_module_that_imports_the_interface(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "client.py").write_text("from ryu.topology.api import get_switch\n")
            said = run_python(
                f"import sys, ryu; sys.path.insert(0, {folder!r}); import client\n"
                "print(client._REQUIRED_APP, hasattr(sys.modules['__main__'], '_REQUIRED_APP'))\n"
            )
        self.assertEqual(said, "['os_ken.topology.switches'] False\n")

    def test_the_wsgi_of_a_checkout_is_never_taken(self):
        with tempfile.TemporaryDirectory() as folder:
            application = pathlib.Path(folder, "ryu/app/mine.py")
            application.parent.mkdir(parents=True)
            application.with_name("wsgi.py").write_text("1 / 0\n")
            application.with_name("other.py").write_text("")
            said = run_python(
                f"import ryu; from aldis_ryu import names; names.add_checkout({str(application)!r})\n"
                "from ryu.app import other, wsgi; print(other.__file__, wsgi.ControllerBase)\n"
            )
            self.assertIn(str(application.with_name("other.py")), said)


class HubTest(unittest.TestCase):
    def test_threads_take_turns_where_they_wait(self):
        order = []

        def work(name):
            for step in range(3):
                order.append((name, step))
                hub.sleep(0)

        hub.joinall([hub.spawn(work, "a"), hub.spawn(work, "b")])
        self.assertEqual(order, [(name, step) for step in range(3) for name in "ab"])

    def test_a_thread_that_waits_can_be_killed_and_a_wait_has_an_end(self):
        thread = hub.spawn(hub.sleep, 1000)
        hub.sleep(0)
        hub.kill(thread)
        hub.joinall([thread])
        event = hub.Event()
        self.assertFalse(event.wait(timeout=0.01))
        event.set()
        self.assertTrue(event.wait(timeout=0.01))

    def test_a_patch_makes_the_sleep_of_the_library_take_turns(self):
        said = run_python(
            "import ryu\nfrom ryu.lib import hub\nhub.patch(thread=False)\nimport time\n"
            "start = time.monotonic()\n"
            "hub.joinall([hub.spawn(time.sleep, 0.5) for _ in range(20)])\n"
            "print(time.monotonic() - start < 5)\n"
        )
        self.assertEqual(said, "True\n")
