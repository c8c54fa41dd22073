"""A batch of events, handed to the methods of an application, and the commands that they make.

The layout of both stands in `docs/app-records.md`. This is the path of every request: what can be
made once is made once, and what a handler does not ask for is not made.
"""

from struct import Struct

from aldis._commands import (
    ANSWER, COUNT, MESSAGE, NO_INDEX, SEND, emit, out, pack, pack_number, taken,
)  # fmt: skip
from aldis._commands import STOP as STOP_COMMAND
from aldis.controller import handler as states
from aldis.controller import ofp_event
from aldis.ofproto import ofproto_v1_3, ofproto_v1_3_parser

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

    __slots__ = ("id", "version", "ports", "n_buffers", "n_tables", "index", "data")

    ofproto = ofproto_v1_3
    ofproto_parser = ofproto_v1_3_parser

    def __init__(self, dpid, version):
        self.id = dpid
        # The version that the switch speaks, as its messages number it.
        self.version = version
        self.ports = {}
        self.n_buffers = self.n_tables = 0
        # The event in hand, and its frame.
        self.index = NO_INDEX
        self.data = None

    def send_msg(self, msg):
        """Sends a message to the switch."""
        index = self.index
        if index != NO_INDEX:
            kind = type(msg)
            if kind is _FLOW_MOD:
                answer = msg.answer(index)
                if answer is not None:
                    emit(answer)
                    return
            elif kind is _PACKET_OUT and msg.data is self.data and msg.data is not None:
                # The packet of the request: its bytes need not go back.
                actions = msg.actions
                if len(actions) == 1 and type(actions[0]) is _OUTPUT:
                    emit(pack(SEND, 0, 0, index, actions[0].port, 0))
                    return
        body = msg.serialize()
        if index != NO_INDEX:
            emit(pack(ANSWER, 0, len(body), index, 0, 0))
        else:
            emit(pack(MESSAGE, 0, len(body), NO_INDEX, 0, self.id))
        emit(body)
        if len(body) & 7:
            emit(_PADDING[-len(body) & 7])


_FLOW_MOD = ofproto_v1_3_parser.FlowMod
_PACKET_OUT = ofproto_v1_3_parser.PacketOut
_OUTPUT = ofproto_v1_3_parser.OFPActionOutput


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
        at, end = _BATCH_HEADER_LEN, len(events)
        unpack, datapaths, event_class = _EVENT.unpack_from, self.datapaths, _PACKET_IN
        handlers, new = self.handlers.get(event_class, ()), _PACKET_IN.__new__
        out.clear()
        while at < end:
            record = unpack(events, at)
            kind, version, reason, length, dpid, in_port, buffer_id, xid, _, index, _ = record
            body = at + 40
            at = body + (length + 7 & -8)
            datapath = datapaths.get(dpid)
            if datapath is None:
                datapath = datapaths[dpid] = Datapath(dpid, version)
            datapath.index = index
            if kind <= 2:
                event = new(event_class)
                event.datapath = datapath
                event.buffer_id = buffer_id
                event.match = {"in_port": in_port}
                event.data = datapath.data = events[body : body + length]
                event.record = record
                for handle in handlers:
                    if handle(event) is STOP:
                        emit(pack(STOP_COMMAND, 0, 0, index, 0, 0))
                datapath.data = None
            else:
                self._other(kind, datapath, reason, xid, index, events[body : body + length])
            datapath.index = NO_INDEX
        return taken()

    def tick(self, now):
        """The timer fires; the commands as bytes."""
        out.clear()
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


def count(place, number):
    """Sets a counter, by its place in the manifest's `counts`."""
    emit(pack(COUNT, 0, 8, NO_INDEX, place, 0))
    emit(pack_number(number))
