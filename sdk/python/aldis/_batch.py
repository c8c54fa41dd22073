"""A batch of events, handed to the methods of an application, and the commands that they make.

The layout of both stands in `docs/app-records.md`. This is the path of every request: in a
component `_native` goes it, and Python, outside of one, the same way.
"""

from struct import Struct

from aldis._commands import (
    ANSWER, COUNT, MESSAGE, NO_INDEX, SEND, clear, emit, pack, pack_number, taken,
)  # fmt: skip
from aldis._commands import STOP as STOP_COMMAND
from aldis.controller import handler as states
from aldis.controller import ofp_event
from aldis.lib.packet import ethernet, packet
from aldis.ofproto import ofproto_v1_3
from aldis.ofproto import ofproto_v1_3_parser as parser

STOP = object()

_PACKET_IN = ofp_event.EventOFPPacketIn

_EVENT = Struct("<HBBIQIIIIII")
_UP = Struct("<III4x")
_PORT = Struct("<I6sBBI16s")
_FLOW_REMOVED = Struct(">QHBBIIHHQQ")

_BATCH_HEADER_LEN = 16

_PADDING = [bytes(n) for n in range(8)]


class Datapath:
    """A switch."""

    __slots__ = ("id", "version", "ports", "n_buffers", "n_tables")

    ofproto = ofproto_v1_3
    ofproto_parser = parser

    def __init__(self, dpid, version):
        self.id = dpid
        # The version that the switch speaks, as its messages number it.
        self.version = version
        self.ports = {}
        self.n_buffers = self.n_tables = 0

    def send_msg(self, msg):
        """Sends a message to the switch."""
        _send(self, msg, _hand.index if _hand.datapath is self else NO_INDEX)


class _Hand:
    """The event in hand: its place in the batch, its switch, and its frame."""

    index, datapath, data = NO_INDEX, None, None


_hand = _Hand()


def _send(datapath, msg, index):
    """Sends a message as the answer to an event, or on its own."""
    if type(msg) is parser.OFPPacketOut and index != NO_INDEX:
        actions = msg.actions
        if msg.data is not None and msg.data is _hand.data and len(actions) == 1:
            if type(actions[0]) is parser.OFPActionOutput:
                # The packet of the request: its bytes need not go back.
                emit(pack(SEND, 0, 0, index, actions[0].port, 0))
                return
    body = msg.serialize()
    if index != NO_INDEX:
        emit(pack(ANSWER, 0, len(body), index, 0, 0))
    else:
        emit(pack(MESSAGE, 0, len(body), NO_INDEX, 0, datapath.id))
    emit(body + _PADDING[-len(body) & 7])


class SwitchFeatures:
    """A switch that joined."""

    __slots__ = ("datapath", "datapath_id", "n_buffers", "n_tables")


class Port:
    """A port of a switch."""

    __slots__ = ("port_no", "hw_addr", "admin_down", "link_down", "curr_speed", "name")

    def __init__(self, record):
        self.port_no, mac, admin_down, link_down, self.curr_speed, name = record
        self.hw_addr = mac.hex(":")
        self.admin_down, self.link_down = bool(admin_down), bool(link_down)
        self.name = name.rstrip(b"\0").decode("utf-8", "replace")


class Message:
    """Another message: its fields, by name."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


class Dispatcher:
    """Hands events to the methods of one application."""

    def __init__(self, app):
        self.app = app
        self.datapaths = {}
        self.handlers = {}
        for name in dir(type(app)):
            for event in getattr(getattr(type(app), name), "aldis_events", ()):
                self.handlers.setdefault(event, []).append(getattr(app, name))

    def batch(self, events):
        """Handles a batch; the commands as bytes."""
        clear()
        handlers = self.handlers.get(_PACKET_IN, ())
        run(events, tuple(handlers), self._datapath, self._other)
        return taken()

    def _datapath(self, dpid, version):
        """The switch with this datapath id."""
        datapath = self.datapaths.get(dpid)
        if datapath is None:
            datapath = self.datapaths[dpid] = Datapath(dpid, version)
        return datapath

    def tick(self, now):
        """The timer fires; the commands as bytes."""
        clear()
        self.app.tick(now)
        return taken()

    def _call(self, event, index):
        for handle in self.handlers.get(type(event), ()):
            if handle(event) is STOP and index != NO_INDEX:
                emit(pack(STOP_COMMAND, 0, 0, index, 0, 0))

    def _other(self, kind, datapath, reason, xid, index, body):
        if kind == 4:
            self._up(datapath, index, body)
        elif kind == 5:
            self.datapaths.pop(datapath.id, None)
            state = ofp_event.EventOFPStateChange(datapath, states.DEAD_DISPATCHER)
            self._call(state, index)
        elif kind == 6:
            port = Port(_PORT.unpack(body))
            if reason == ofproto_v1_3.OFPPR_DELETE:
                datapath.ports.pop(port.port_no, None)
            else:
                datapath.ports[port.port_no] = port
            msg = Message(datapath=datapath, reason=reason, desc=port)
            self._call(ofp_event.EventOFPPortStatus(msg), index)
        elif kind == 7:
            self._call(ofp_event.EventOFPFlowRemoved(_flow_removed(datapath, body)), index)
        elif kind == 8:
            text = body.decode("utf-8", "replace").split("\n")
            msg = Message(datapath=datapath, xid=xid, name=text[0], about=text[1], hint=text[-1])
            self._call(ofp_event.EventOFPErrorMsg(msg), index)
        elif kind == 9:
            msg = Message(datapath=datapath, xid=xid, msg_type=body[1], buf=body)
            self._call(ofp_event.EventOFPReply(msg), index)

    def _up(self, datapath, index, body):
        datapath.n_buffers, datapath.n_tables, count = _UP.unpack_from(body)
        records = (_PORT.unpack_from(body, 16 + 32 * place) for place in range(count))
        datapath.ports = {port.port_no: port for port in map(Port, records)}
        state = ofp_event.EventOFPStateChange(datapath, states.MAIN_DISPATCHER)
        self._call(state, index)
        msg = SwitchFeatures()
        msg.datapath, msg.datapath_id = datapath, datapath.id
        msg.n_buffers, msg.n_tables = datapath.n_buffers, datapath.n_tables
        self._call(ofp_event.EventOFPSwitchFeatures(msg), index)


def _flow_removed(datapath, body):
    names = (
        "cookie", "priority", "reason", "table_id", "duration_sec", "duration_nsec",
        "idle_timeout", "hard_timeout", "packet_count", "byte_count",
    )  # fmt: skip
    fields = dict(zip(names, _FLOW_REMOVED.unpack_from(body, 8)))
    return Message(datapath=datapath, buf=body, **fields)


def run(events, handlers, datapath_of, other):
    """Hands the events of a batch to handlers of PACKET_INs, or to the function for any other."""
    at, end = _BATCH_HEADER_LEN, len(events)
    while at < end:
        record = _EVENT.unpack_from(events, at)
        kind, version, reason, length, dpid, in_port, buffer_id, xid, _, index, total_len = record
        body = events[at + 40 : at + 40 + length]
        at += 40 + (length + 7 & -8)
        _hand.index, _hand.datapath = index, datapath_of(dpid, version)
        if kind <= 2:
            event = _PACKET_IN(_hand.datapath, buffer_id, {"in_port": in_port}, body)
            event.index, event.in_port, event.xid = index, in_port, xid
            event.total_len, event.reason = total_len, reason
            _hand.data = body
            for handle in handlers:
                if handle(event) is STOP:
                    emit(pack(STOP_COMMAND, 0, 0, index, 0, 0))
            _hand.data = None
        else:
            other(kind, _hand.datapath, reason, xid, index, body)
    _hand.index, _hand.datapath = NO_INDEX, None


def count(place, number):
    """Sets a counter, by its place in the manifest's `counts`."""
    emit(pack(COUNT, 0, 8, NO_INDEX, place, 0))
    emit(pack_number(number))


try:
    from aldis import _native
except ImportError:
    pass
else:
    run = _native.run
    records = (
        _PACKET_IN, packet.Packet, ethernet.ethernet, parser.OFPActionOutput,
        parser.OFPInstructionActions, parser.OFPFlowMod, parser.OFPPacketOut,
    )  # fmt: skip
    objects = (STOP, ofproto_v1_3.OFP_NO_BUFFER, _send, packet.Packet.get_protocols)
    _native.bind(records, objects, Datapath)
