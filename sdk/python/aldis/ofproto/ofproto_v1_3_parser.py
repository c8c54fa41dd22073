"""Constructors of messages, under the names that Ryu's parser gives them.

A message is written as OpenFlow 1.3 whatever the switch speaks: the controller translates it.
"""

import socket
from struct import Struct

from aldis.lib.packet import ethernet
from aldis.ofproto import ofproto_v1_3 as ofp

_HEADER = Struct(">BBHI")
_FLOW_MOD = Struct(">BBHIQQBBHHHIIIH2x")
_MATCH = Struct(">HH")
_OUTPUT = Struct(">HHIH6x")
_INSTRUCTION = Struct(">HH4x")
_GOTO = Struct(">HHB3x")
_PACKET_OUT = Struct(">BBHIIIH6x")
_OXM = Struct(">HBB")

_PADDING = [bytes(n) for n in range(8)]
_new = object.__new__


def _mac(value):
    return bytes.fromhex(value.replace(":", "")) if isinstance(value, str) else bytes(value)


def _ipv4(value):
    return socket.inet_aton(value) if isinstance(value, str) else value.to_bytes(4, "big")


def _ipv6(value):
    return socket.inet_pton(socket.AF_INET6, value) if isinstance(value, str) else bytes(value)


def _number(length):
    return lambda value: value.to_bytes(length, "big")


# Name: number in OpenFlow's basic class, length, encoder.
_FIELDS = {
    "in_port": (0, 4, _number(4)),
    "in_phy_port": (1, 4, _number(4)),
    "metadata": (2, 8, _number(8)),
    "eth_dst": (3, 6, _mac),
    "eth_src": (4, 6, _mac),
    "eth_type": (5, 2, _number(2)),
    "vlan_vid": (6, 2, _number(2)),
    "vlan_pcp": (7, 1, _number(1)),
    "ip_dscp": (8, 1, _number(1)),
    "ip_ecn": (9, 1, _number(1)),
    "ip_proto": (10, 1, _number(1)),
    "ipv4_src": (11, 4, _ipv4),
    "ipv4_dst": (12, 4, _ipv4),
    "tcp_src": (13, 2, _number(2)),
    "tcp_dst": (14, 2, _number(2)),
    "udp_src": (15, 2, _number(2)),
    "udp_dst": (16, 2, _number(2)),
    "sctp_src": (17, 2, _number(2)),
    "sctp_dst": (18, 2, _number(2)),
    "icmpv4_type": (19, 1, _number(1)),
    "icmpv4_code": (20, 1, _number(1)),
    "arp_op": (21, 2, _number(2)),
    "arp_spa": (22, 4, _ipv4),
    "arp_tpa": (23, 4, _ipv4),
    "arp_sha": (24, 6, _mac),
    "arp_tha": (25, 6, _mac),
    "ipv6_src": (26, 16, _ipv6),
    "ipv6_dst": (27, 16, _ipv6),
    "ipv6_flabel": (28, 4, _number(4)),
    "icmpv6_type": (29, 1, _number(1)),
    "icmpv6_code": (30, 1, _number(1)),
    "ipv6_nd_target": (31, 16, _ipv6),
    "mpls_label": (34, 4, _number(4)),
    "mpls_tc": (35, 1, _number(1)),
    "mpls_bos": (36, 1, _number(1)),
    "tunnel_id": (38, 8, _number(8)),
}

# Name: the four bytes of an exact field, and the encoder.
_EXACT = {
    name: (_OXM.pack(0x8000, number << 1, length), encode)
    for name, (number, length, encode) in _FIELDS.items()
}


def _oxm(name, value):
    """A field, exact or with a mask: `(value, mask)`."""
    if name not in _FIELDS:
        raise TypeError(f"a match has no field {name!r}")
    if isinstance(value, tuple):
        number, length, encode = _FIELDS[name]
        head = _OXM.pack(0x8000, number << 1 | 1, 2 * length)
        return head + encode(value[0]) + encode(value[1])
    head, encode = _EXACT[name]
    return head + encode(value)


class OFPMatch(dict):
    """What a flow is for: fields by name, as `OFPMatch(in_port=1, eth_dst="02:00:00:00:00:01")`."""

    __slots__ = ()

    def serialize(self):
        """Its bytes, padded."""
        body = b"".join([_oxm(name, value) for name, value in self.items()])
        length = 4 + len(body)
        return _MATCH.pack(1, length) + body + _PADDING[-length % 8]


class OFPActionOutput:
    """Sends the packet out of a port."""

    __slots__ = ("port", "max_len")

    def __init__(self, port, max_len=ofp.OFPCML_MAX, type_=None, len_=None):
        self.port = port
        self.max_len = max_len

    def serialize(self):
        """Its bytes."""
        return _OUTPUT.pack(0, 16, self.port, self.max_len)


class OFPActionSetField:
    """Sets a field, as `OFPActionSetField(eth_dst="02:00:00:00:00:01")`."""

    __slots__ = ("field",)

    def __init__(self, **field):
        if len(field) != 1:
            raise TypeError("one field is set at a time")
        self.field = field

    def serialize(self):
        """Its bytes."""
        ((name, value),) = self.field.items()
        body = _oxm(name, value)
        length = (4 + len(body) + 7) & -8
        return _MATCH.pack(25, length) + body + bytes(length - 4 - len(body))


class _ActionNumber:
    """An action with one number behind its head."""

    __slots__ = ("number",)
    kind = None
    layout = None

    def __init__(self, number):
        self.number = number

    def serialize(self):
        """Its bytes."""
        return self.layout.pack(self.kind, 8, self.number)


class OFPActionGroup(_ActionNumber):
    """Hands the packet to a group."""

    __slots__ = ()
    kind, layout = 22, Struct(">HHI")


class OFPActionSetQueue(_ActionNumber):
    """Puts the packet into a queue of its port."""

    __slots__ = ()
    kind, layout = 21, Struct(">HHI")


class OFPActionPushVlan(_ActionNumber):
    """Adds a VLAN tag with this EtherType."""

    __slots__ = ()
    kind, layout = 17, Struct(">HHH2x")

    def __init__(self, ethertype=0x8100):
        super().__init__(ethertype)


class OFPActionPopVlan:
    """Takes the outer VLAN tag away."""

    __slots__ = ()

    def serialize(self):
        """Its bytes."""
        return b"\x00\x12\x00\x08\x00\x00\x00\x00"


def _actions(actions):
    if len(actions) == 1:
        return actions[0].serialize()
    return b"".join([action.serialize() for action in actions])


class OFPInstructionActions:
    """Does actions at once, writes them for later, or clears those that were written."""

    __slots__ = ("type", "actions")

    def __init__(self, type_, actions=None, len_=None):
        self.type = type_
        self.actions = actions or []

    def serialize(self):
        """Its bytes."""
        body = _actions(self.actions)
        return _INSTRUCTION.pack(self.type, 8 + len(body)) + body


class OFPInstructionGotoTable:
    """Goes on in a later table."""

    __slots__ = ("table_id",)

    def __init__(self, table_id, type_=None, len_=None):
        self.table_id = table_id

    def serialize(self):
        """Its bytes."""
        return _GOTO.pack(ofp.OFPIT_GOTO_TABLE, 8, self.table_id)


class FlowMod:
    """A change of flows."""

    __slots__ = (
        "datapath", "cookie", "cookie_mask", "table_id", "command", "idle_timeout", "hard_timeout",
        "priority", "buffer_id", "out_port", "out_group", "flags", "match", "instructions", "xid",
    )  # fmt: skip

    def serialize(self):
        """Its bytes."""
        match = _EVERYTHING if self.match is None else self.match.serialize()
        tail = b"".join([instruction.serialize() for instruction in self.instructions])
        head = _FLOW_MOD.pack(
            4, 14, 48 + len(match) + len(tail), self.xid, self.cookie, self.cookie_mask,
            self.table_id, self.command, self.idle_timeout, self.hard_timeout, self.priority,
            self.buffer_id, self.out_port, self.out_group, self.flags,
        )  # fmt: skip
        return head + match + tail

    def answer(self, index):
        """The command that answers an event with it, where it is what a learning switch adds.

        That is a flow with one output, for a port and the two addresses of the header that was
        read last; for any other there is none, and `serialize` makes the message. The bytes of
        both are the same.
        """
        match = self.match
        try:
            in_port, dst, src = match["in_port"], match["eth_dst"], match["eth_src"]
            (instruction,) = self.instructions
            (action,) = instruction.actions
        except (KeyError, TypeError, ValueError, AttributeError):
            return None
        header = ethernet.last
        if (
            dst is not header.dst
            or src is not header.src
            or len(match) != 3
            or type(action) is not OFPActionOutput
            or instruction.type != 4
        ):
            return None
        return _L2_ANSWER.pack(
            _L2_COMMAND, index.to_bytes(4, "little"), _L2_HEAD, self.xid, self.cookie,
            self.cookie_mask, self.table_id, self.command, self.idle_timeout, self.hard_timeout,
            self.priority, self.buffer_id, self.out_port, self.out_group, self.flags,
            _L2_MATCH, in_port, _L2_DST, header.dst_bytes, _L2_SRC, header.src_bytes, _L2_APPLY,
            action.port, action.max_len,
        )  # fmt: skip


# A function and no class: Python calls a function with keywords without leaving its loop.
def OFPFlowMod(  # noqa: N802 (the name that Ryu gives it)
    datapath, cookie=0, cookie_mask=0, table_id=0, command=0, idle_timeout=0, hard_timeout=0,
    priority=0x8000, buffer_id=0xFFFFFFFF, out_port=0xFFFFFFFF, out_group=0xFFFFFFFF, flags=0,
    match=None, instructions=(), xid=0,
):  # fmt: skip
    """Changes flows. The upper half of the cookie is the application's mark."""
    self = _new(FlowMod)
    self.datapath = datapath
    self.cookie = cookie
    self.cookie_mask = cookie_mask
    self.table_id = table_id
    self.command = command
    self.idle_timeout = idle_timeout
    self.hard_timeout = hard_timeout
    self.priority = priority
    self.buffer_id = buffer_id
    self.out_port = out_port
    self.out_group = out_group
    self.flags = flags
    self.match = match
    self.instructions = instructions
    self.xid = xid
    return self


# The command of `answer`, in one piece: kind 4 with a message of 104 bytes.
_L2_ANSWER = Struct(">8s4s12x4sIQQBBHHHIIIH2x8sI4s6s4s6s12sIH6x")
_L2_COMMAND = Struct("<HHI").pack(4, 0, 104)
_L2_HEAD = _HEADER.pack(4, 14, 104, 0)[:4]
_L2_MATCH = _MATCH.pack(1, 32) + _OXM.pack(0x8000, 0, 4)
_L2_DST = _OXM.pack(0x8000, 3 << 1, 6)
_L2_SRC = _OXM.pack(0x8000, 4 << 1, 6)
_L2_APPLY = _INSTRUCTION.pack(4, 24) + _MATCH.pack(0, 16)


class PacketOut:
    """A packet to be sent."""

    __slots__ = ("datapath", "buffer_id", "in_port", "actions", "data", "xid")

    def serialize(self):
        """Its bytes."""
        actions = _actions(self.actions)
        data = bytes(self.data) if self.data is not None else b""
        length = 24 + len(actions) + len(data)
        head = _PACKET_OUT.pack(
            4, 13, length, self.xid, self.buffer_id, self.in_port, len(actions)
        )
        return head + actions + data


def OFPPacketOut(  # noqa: N802 (the name that Ryu gives it)
    datapath, buffer_id=0xFFFFFFFF, in_port=0xFFFFFFFD, actions=(), data=None, actions_len=None,
    xid=0,
):  # fmt: skip
    """Sends a packet: its bytes, or the one in a buffer of the switch."""
    self = _new(PacketOut)
    self.datapath = datapath
    self.buffer_id = buffer_id
    self.in_port = in_port
    self.actions = actions
    self.data = data
    self.xid = xid
    return self


class OFPBarrierRequest:
    """Asks the switch to finish what came before."""

    __slots__ = ("datapath", "xid")

    def __init__(self, datapath, xid=0):
        self.datapath = datapath
        self.xid = xid

    def serialize(self):
        """Its bytes."""
        return _HEADER.pack(4, ofp.OFPT_BARRIER_REQUEST, 8, self.xid)


class OFPRawMessage:
    """A message of any kind, from what follows its header."""

    __slots__ = ("datapath", "type", "body", "xid")

    def __init__(self, datapath, type_, body, xid=0):
        self.datapath = datapath
        self.type = type_
        self.body = body
        self.xid = xid

    def serialize(self):
        """Its bytes."""
        return _HEADER.pack(4, self.type, 8 + len(self.body), self.xid) + self.body


_EVERYTHING = OFPMatch().serialize()
