"""A batch of events, handed to the methods of an application, and the commands that they make.

The layout of both stands in `docs/app-records.md`. This is the path of every request: what can be
made once is made once, and what a handler does not ask for is not made.
"""

from struct import Struct

from aldis.controller import handler as states
from aldis.controller import ofp_event
from aldis.ofproto import ofproto_v1_3, ofproto_v1_3_parser

STOP = object()

_EVENT = Struct("<HBBIQIIIIII")
_COMMAND = Struct("<HHIIIQ")
_UP = Struct("<III4x")
_PORT = Struct("<I6sBBI16s")
_NUMBER = Struct("<Q")
_FLOW_REMOVED = Struct(">QHBBIIHHQQ")

_BATCH_HEADER_LEN = 16
_EVENT_HEADER_LEN = 40
_NO_INDEX = 0xFFFFFFFF

_STOP, _SEND, _ANSWER, _MESSAGE, _LOG, _COUNT = 1, 2, 4, 5, 6, 7
_PADDING = [bytes(n) for n in range(8)]

# The commands of the call in hand.
_out = []
_emit = _out.append


class Datapath:
    """A switch."""

    __slots__ = ("id", "version", "ports", "n_buffers", "n_tables", "_index", "_data")

    ofproto = ofproto_v1_3
    ofproto_parser = ofproto_v1_3_parser

    def __init__(self, dpid, version):
        self.id = dpid
        # The version that the switch speaks, as its messages number it.
        self.version = version
        self.ports = {}
        self.n_buffers = self.n_tables = 0
        self._index = _NO_INDEX
        self._data = None

    def send_msg(self, msg):
        """Sends a message to the switch."""
        index = self._index
        if index != _NO_INDEX:
            data = self._data
            if data is not None and type(msg) is _PACKET_OUT and msg.data is data:
                # The packet of the request: its bytes need not go back.
                actions = msg.actions
                if len(actions) == 1 and type(actions[0]) is _OUTPUT:
                    _emit(_COMMAND.pack(_SEND, 0, 0, index, actions[0].port, 0))
                    return
            body = msg.serialize()
            size = len(body)
            _emit(_COMMAND.pack(_ANSWER, 0, size, index, 0, 0))
        else:
            body = msg.serialize()
            size = len(body)
            _emit(_COMMAND.pack(_MESSAGE, 0, size, _NO_INDEX, 0, self.id))
        _emit(body)
        if size & 7:
            _emit(_PADDING[-size & 7])


_PACKET_OUT = ofproto_v1_3_parser.OFPPacketOut
_OUTPUT = ofproto_v1_3_parser.OFPActionOutput


class PacketIn:
    """A PACKET_IN: `data` is the frame, as far as the manifest and the switch hand it over."""

    __slots__ = ("datapath", "buffer_id", "total_len", "msg_len", "reason", "xid", "match", "data")


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
        unpack, datapaths = _EVENT.unpack_from, self.datapaths
        handlers = self.handlers.get(ofp_event.EventOFPPacketIn, ())
        event_class, message_class = ofp_event.EventOFPPacketIn, PacketIn
        _out.clear()
        while at < end:
            (kind, version, reason, length, dpid, in_port, buffer_id, xid, _, index, total_len) = (
                unpack(events, at)
            )
            body = at + _EVENT_HEADER_LEN
            at = body + (length + 7 & -8)
            datapath = datapaths.get(dpid)
            if datapath is None:
                datapath = datapaths[dpid] = Datapath(dpid, version)
            datapath._index = index
            if kind <= 2:
                msg = message_class()
                msg.datapath = datapath
                msg.buffer_id = buffer_id
                msg.total_len = msg.msg_len = total_len
                msg.reason = reason
                msg.xid = xid
                msg.match = {"in_port": in_port}
                msg.data = datapath._data = events[body : body + length]
                for handle in handlers:
                    if handle(event_class(msg)) is STOP:
                        _emit(_COMMAND.pack(_STOP, 0, 0, index, 0, 0))
            else:
                self._other(kind, datapath, reason, xid, index, events[body : body + length])
            datapath._index, datapath._data = _NO_INDEX, None
        commands = b"".join(_out)
        _out.clear()
        return commands

    def tick(self, now):
        """The timer fires; the commands as bytes."""
        _out.clear()
        self.app.tick(now)
        return b"".join(_out)

    def _call(self, event, index):
        for handle in self.handlers.get(type(event), ()):
            if handle(event) is STOP and index != _NO_INDEX:
                _emit(_COMMAND.pack(_STOP, 0, 0, index, 0, 0))

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
    _emit(_COMMAND.pack(_COUNT, 0, 8, _NO_INDEX, place, 0))
    _emit(_NUMBER.pack(number))
