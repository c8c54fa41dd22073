"""Ryu's samples, unchanged: which run, as the table of docs/from-ryu.md says.

`ALDIS_RENEW=1` writes the table; without it the page has to be as the samples are.
"""

import concurrent.futures
import os
import pathlib
import tempfile
import textwrap
import time
import unittest

import harness
import samples

ASKING = """
    from ryu.app.ofctl import api
    from ryu.base import app_manager
    from ryu.lib import hub
    from ryu.topology import event
    from ryu.controller.handler import set_ev_cls
    from ryu.topology.api import get_all_link, get_switch

    class Asking(app_manager.RyuApp):
        @set_ev_cls(event.EventLinkAdd)
        def link_added(self, ev):
            links = len(get_all_link(self))
            if links == 2:
                hub.spawn(self.ask)

        def ask(self):
            for switch in get_switch(self):
                datapath = api.get_datapath(self, switch.dp.id)
                request = datapath.ofproto_parser.OFPDescStatsRequest(datapath, 0)
                reply = api.send_msg(
                    self, request, reply_cls=datapath.ofproto_parser.OFPDescStatsReply
                )
                self.logger.info("switch %d is of %s", datapath.id, reply.body.mfr_desc.decode())
"""

PAGE = harness.ROOT / "docs/from-ryu.md"
BEGIN = "<!-- samples: made by sdk/ryu/tests, renewed with ALDIS_RENEW=1 -->\n"
END = "<!-- end of samples -->\n"
# Most of them wait.
AT_ONCE = 3


def outcome(tried):
    """Why a sample does not run, alone or as a guest, or nothing.

    Where a sample has raised nothing itself, it is tried again: a deadline passes on a machine that
    does other things too. That it was needed is told.
    """
    sample, as_guest = tried
    how = "as a guest" if as_guest else "alone"
    for left in (1, 0):
        start = time.monotonic()
        try:
            with harness.as_guests(as_guest):
                sample.check(sample.path)
        except Exception as error:
            print(f"{sample.name} failed {how}: {error}", flush=True)
            fault = getattr(error, "fault", None)
            if fault or not left:
                return fault or (str(error) or repr(error)).splitlines()[0]
        else:
            print(f"{sample.name} runs {how} ({time.monotonic() - start:.1f} s)", flush=True)
            return None


def table(found):
    """The table of the page, of what was found of each sample, alone and as a guest."""
    lines = ["| application | alone | as a guest | tried with |", "| --- | --- | --- | --- |"]
    for sample in samples.SAMPLES:
        whys = [found[sample.name, as_guest] for as_guest in (False, True)]
        alone, guest = [f"no: {why}" if why else "yes" for why in whys]
        if alone == guest != "yes":
            guest = "no"
        lines.append(f"| `{sample.name}` | {alone} | {guest} | {sample.tried} |")
    return "\n" + "\n".join(lines) + "\n\n"


class SamplesTest(unittest.TestCase):
    maxDiff = None

    def test_modules_in_place_of_a_sample_do_what_the_sample_does(self):
        samples.fetch()
        own = harness.PACKAGE / "ryu/app"
        replaced = [sample for sample in samples.SAMPLES if (own / f"{sample.name}.py").exists()]
        self.assertEqual(len(replaced), 5)
        for sample in replaced:
            with self.subTest(sample.name):
                sample.check(f"ryu.app.{sample.name}")

    def test_an_application_asks_switches_and_the_topology_and_waits_for_the_answers(self):
        with tempfile.TemporaryDirectory() as folder:
            application = pathlib.Path(folder, "asking.py")
            application.write_text(textwrap.dedent(ASKING))
            with harness.Command(application, "--observe-links") as command:
                with harness.Network(command.port, "--topology", "linear,2", "--for", "60"):
                    command.wait_said("switch 1 is of Aldis")
                    command.wait_said("switch 2 is of Aldis")
                command.check_log()

    def test_the_page_says_which_samples_run(self):
        samples.fetch()
        # One that fails because of the machine must not be written down as the sample's fault.
        harness.emulator()
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            # The longest first.
            order = sorted(samples.SAMPLES, key=lambda sample: "stp" not in sample.name)
            tries = [(sample, as_guest) for sample in order for as_guest in (False, True)]
            named = [(sample.name, as_guest) for sample, as_guest in tries]
            found = dict(zip(named, pool.map(outcome, tries)))
        made = table(found)
        page = PAGE.read_text(encoding="utf-8")
        before, begin, rest = page.partition(BEGIN)
        there, end, after = rest.partition(END)
        self.assertTrue(begin and end, f"{PAGE} has no place for the table")
        if os.environ.get("ALDIS_RENEW"):
            PAGE.write_text(before + begin + made + end + after, encoding="utf-8")
            return
        self.assertEqual(there, made, f"renew it: ALDIS_RENEW=1 cargo xtask ryu samples; {found}")
