"""An application that starts if `aldis._native` and the SDK's own Python do the same.

Both are handed the same batches, with handlers that make what chance has them make; what they read
of the events, what they send, and which errors they raise is compared. It floods, so that a
scenario can see it run.
"""

import importlib
import random
import sys
from struct import Struct, error

from aldis import STOP
from aldis.base import app_manager
from aldis.controller import ofp_event
from aldis.controller.handler import MAIN_DISPATCHER, set_ev_cls

_EVENT = Struct("<HBBIQIIIIII")
_NAMES = ("_batch", "base.app_manager", "controller.ofp_event", "lib.packet.packet")
_NUMBERS = (
    0, 1, 7, 255, 256, 0x8000, 0xFFFF, 0x10000, 0xFFFFFFFB, 0xFFFFFFFF, 1 << 32, 1 << 64, -1,
)  # fmt: skip
_SEEDS = 200


def _modules():
    return {name: module for name, module in sys.modules.items() if name.split(".")[0] == "aldis"}


def _import(native):
    """Modules of the SDK, imported anew where it is to be without `_native`."""
    kept = _modules()
    if not native:
        for name in kept:
            del sys.modules[name]
        sys.modules["aldis._native"] = None
    made = [importlib.import_module(f"aldis.{name}") for name in _NAMES]
    if not native:
        for name in _modules():
            del sys.modules[name]
        sys.modules.update(kept)
    return made


# Modules can be imported while the component is made, and no longer when it runs.
_NATIVE, _PYTHON = _import(True), _import(False)


class Chance:
    """Events, messages and values as chance has them."""

    def __init__(self, seed, modules):
        self.random = random.Random(seed)
        batch, _, _, self.packet = modules
        self.parser = batch.parser
        self.macs = [self.random.randbytes(6) for _ in range(60)]
        self.log, self.kept = [], []

    def one(self, *things):
        return self.random.choice(things)

    def number(self):
        return self.random.choice(_NUMBERS)

    def small(self):
        return self.one(0, 1, 7, 200, 0xFFFF) if self.random.random() < 0.95 else self.number()

    def frame(self):
        """A frame, which may be cut off anywhere."""
        head = self.random.choice(self.macs) + self.random.choice(self.macs)
        kind = self.one(b"\x08\x00", b"\x08\x06", b"\x81\x00\x00\x07\x08\x06", b"\x88\xcc")
        frame = head + kind + self.random.randbytes(self.random.randrange(60))
        return frame if self.random.random() < 0.8 else frame[: self.random.randrange(20)]

    def batch(self):
        """The bytes of a batch."""
        events = []
        for index in range(self.random.randrange(1, 30)):
            body, dpid = self.frame(), self.random.randrange(1, 4)
            head = _EVENT.pack(
                self.random.randrange(3), 4, self.one(0, 1), len(body), dpid, self.one(1, 2, 300),
                self.one(0xFFFFFFFF, 5), self.random.getrandbits(32), 0, index, len(body) + 9,
            )  # fmt: skip
            events.append(head + body + bytes(-len(body) % 8))
        return b"ALB1" + bytes(12) + b"".join(events)

    def actions(self):
        parser, output = self.parser, self.parser.OFPActionOutput
        return self.random.choice([
            lambda: [output(self.small())],
            lambda: [output(port=self.small(), max_len=self.small())],
            lambda: [output(1), parser.OFPActionPopVlan(), output(2, 3, None, 16)],
            lambda: [parser.OFPActionSetField(eth_dst="02:00:00:00:00:01"), output(self.small())],
            lambda: [parser.OFPActionGroup(self.small()), parser.OFPActionSetQueue(2)],
            lambda: [output(1, max_length=3)],
            lambda: [output()],
            lambda: (),
        ])()  # fmt: skip

    def match(self, header, in_port):
        match = self.parser.OFPMatch
        dst, src = (header.dst, header.src) if header else ("02:00:00:00:00:01", b"123456")
        return self.random.choice([
            lambda: match(in_port=in_port, eth_dst=dst, eth_src=src),
            lambda: match(eth_src=src, in_port=in_port, eth_dst=dst),
            lambda: match(in_port=self.number(), eth_dst=dst, eth_src=src),
            lambda: match(in_port=1, eth_dst=src, eth_src=dst),
            lambda: match(eth_type=0x0800, ipv4_dst=("10.0.0.0", "255.0.0.0")),
            lambda: match(eth_typ=0x0800),
            lambda: match(),
            lambda: None,
        ])()  # fmt: skip

    def message(self, event, header):
        parser, actions = self.parser, self.actions()
        if self.random.random() < 0.4:
            data = self.one(event.data, bytes(event.data), b"another", None)
            in_port, buffer_id = event.in_port, event.buffer_id
            return parser.OFPPacketOut(event.datapath, buffer_id, in_port, actions, data)
        instructions = self.random.choice([
            lambda: [parser.OFPInstructionActions(4, actions)],
            lambda: [parser.OFPInstructionActions(self.one(3, 4, 5), actions, 8)],
            lambda: [parser.OFPInstructionGotoTable(2)],
            lambda: (),
        ])()  # fmt: skip
        names = (
            "cookie", "cookie_mask", "table_id", "command", "idle_timeout", "hard_timeout",
            "priority", "buffer_id", "out_port", "out_group", "flags", "xid", "colour",
        )  # fmt: skip
        chosen = self.random.sample(names[: self.one(12, 12, 12, 13)], self.random.randrange(4))
        fields = {name: self.small() for name in chosen}
        return parser.OFPFlowMod(
            datapath=event.datapath, match=self.match(header, event.in_port),
            instructions=instructions, **fields,
        )  # fmt: skip

    def handle(self, event):
        """Reads what there is of an event, and sends something."""
        msg = event.msg
        packet = self.packet.Packet(msg.data)
        classes = (self.packet.ethernet, self.packet.vlan, self.packet.arp)
        header = packet.get_protocol(classes[0])
        headers = packet.get_protocols(self.random.choice(classes))
        self.log.append((
            msg.match["in_port"], msg.buffer_id, msg.reason, msg.xid, msg.total_len, msg.msg_len,
            event.dst, event.src, [type(header).__name__ for header in headers],
            header and (header.dst, header.src, header.ethertype, header.serialize()),
        ))  # fmt: skip
        if header and self.random.random() < 0.2:
            # Lists of headers that stay, or change, are no others' afterwards.
            self.one(self.kept.append, lambda some: some.append(header), list.clear)(headers)
        try:
            event.datapath.send_msg(self.message(msg, header))
        except (AttributeError, TypeError, ValueError, OverflowError, error) as wrong:
            self.log.append(type(wrong).__name__)
        return self.random.random() < 0.7


def said(seed, modules):
    """What was sent, with this seed, and what handlers read."""
    batch, app_manager, ofp_event, _ = modules
    chance = Chance(seed, modules)

    class Handles(app_manager.App):
        def packet_in_handler(self, event):
            return batch.STOP if chance.handle(event) else None

    Handles.packet_in_handler.aldis_events = [ofp_event.EventOFPPacketIn]
    dispatcher = batch.Dispatcher(Handles())
    sent = [dispatcher.batch(chance.batch()) for _ in range(3)]
    kept = [[getattr(header, "dst", None) for header in some] for some in chance.kept]
    return [command for commands in sent for command in _commands(commands)] + chance.log + kept


def _commands(data):
    """Commands, each with its body."""
    read, at = [], 0
    while at < len(data):
        body = at + 24
        end = body + int.from_bytes(data[at + 4 : at + 8], "little")
        read.append((data[at:body].hex(), data[body:end].hex()))
        at = end + 7 & -8
    return read


class BothWays(app_manager.App):
    """Floods, once both ways have been found to do the same."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        runs = [type(modules[0].run).__name__ for modules in (_NATIVE, _PYTHON)]
        if runs != ["builtin_function_or_method", "function"]:
            raise AssertionError(f"these are not both ways: {runs}")
        # What was read stays, so that there are more texts of addresses than are kept at first.
        all_read = []
        for seed in range(_SEEDS):
            native, python = said(seed, _NATIVE), said(seed, _PYTHON)
            all_read.append(native)
            for ours, theirs in zip(native, python, strict=True):
                if ours != theirs:
                    raise AssertionError(f"seed {seed}: {ours} and {theirs}")

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in_handler(self, ev):
        ev.send(ev.datapath.ofproto.OFPP_FLOOD)
        return STOP
