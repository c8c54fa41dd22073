"""Constructors of messages, under the names that Ryu's parser gives them.

A message is written as OpenFlow 1.3 whatever the switch speaks: the controller translates it.
"""

import socket
from struct import Struct

from aldis._record import REQUIRED, fields_by_name, record
from aldis.ofproto import ofproto_v1_3 as ofp

_HEADER = Struct(">BBHI")
_FLOW_MOD = Struct(">BBHIQQBBHHHIIIH2x")
_MATCH = Struct(">HH")
_OUTPUT = Struct(">HHIH6x")
_ACTION_NUMBER = Struct(">HHI")
_PUSH = Struct(">HHH2x")
_INSTRUCTION = Struct(">HH4x")
_GOTO = Struct(">HHB3x")
_PACKET_OUT = Struct(">BBHIIIH6x")
_OXM = Struct(">HBB")

_PADDING = [bytes(n) for n in range(8)]


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


@fields_by_name
class OFPMatch(dict):
    """What a flow is for: fields by name, as `OFPMatch(in_port=1, eth_dst="02:00:00:00:00:01")`."""

    __slots__ = ()

    def serialize(self):
        """Its bytes, padded."""
        # By their numbers, as Ryu has them: what a field stands on comes before it.
        body = b"".join(sorted(_oxm(name, value) for name, value in self.items()))
        length = 4 + len(body)
        return _MATCH.pack(1, length) + body + _PADDING[-length % 8]


@record(port=REQUIRED, max_len=ofp.OFPCML_MAX, ignored=("type_", "len_"))
class OFPActionOutput:
    """Sends the packet out of a port."""

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


@record(group_id=0, ignored=("type_", "len_"))
class OFPActionGroup:
    """Hands the packet to a group."""

    def serialize(self):
        """Its bytes."""
        return _ACTION_NUMBER.pack(22, 8, self.group_id)


@record(queue_id=REQUIRED, ignored=("type_", "len_"))
class OFPActionSetQueue:
    """Puts the packet into a queue of its port."""

    def serialize(self):
        """Its bytes."""
        return _ACTION_NUMBER.pack(21, 8, self.queue_id)


@record(ethertype=0x8100, ignored=("type_", "len_"))
class OFPActionPushVlan:
    """Adds a VLAN tag with this EtherType."""

    def serialize(self):
        """Its bytes."""
        return _PUSH.pack(17, 8, self.ethertype)


class OFPActionPopVlan:
    """Takes the outer VLAN tag away."""

    __slots__ = ()

    def serialize(self):
        """Its bytes."""
        return b"\x00\x12\x00\x08\x00\x00\x00\x00"


def _actions(actions):
    return b"".join([action.serialize() for action in actions or ()])


@record(type_=REQUIRED, actions=(), ignored=("len_",))
class OFPInstructionActions:
    """Does actions at once, writes them for later, or clears those that were written."""

    def serialize(self):
        """Its bytes."""
        body = _actions(self.actions)
        return _INSTRUCTION.pack(self.type, 8 + len(body)) + body


@record(table_id=REQUIRED, ignored=("type_", "len_"))
class OFPInstructionGotoTable:
    """Goes on in a later table."""

    def serialize(self):
        """Its bytes."""
        return _GOTO.pack(ofp.OFPIT_GOTO_TABLE, 8, self.table_id)


@record(
    datapath=REQUIRED, cookie=0, cookie_mask=0, table_id=0, command=0, idle_timeout=0,
    hard_timeout=0, priority=0x8000, buffer_id=0xFFFFFFFF, out_port=0xFFFFFFFF,
    out_group=0xFFFFFFFF, flags=0, match=None, instructions=(), xid=0,
)  # fmt: skip
class OFPFlowMod:
    """Changes flows. The upper half of the cookie is the application's mark."""

    def serialize(self):
        """Its bytes."""
        match = OFPMatch.serialize(self.match or {})
        tail = b"".join([instruction.serialize() for instruction in self.instructions])
        head = _FLOW_MOD.pack(
            4, 14, 48 + len(match) + len(tail), self.xid, self.cookie, self.cookie_mask,
            self.table_id, self.command, self.idle_timeout, self.hard_timeout, self.priority,
            self.buffer_id, self.out_port, self.out_group, self.flags,
        )  # fmt: skip
        return head + match + tail


@record(
    datapath=REQUIRED, buffer_id=0xFFFFFFFF, in_port=ofp.OFPP_CONTROLLER, actions=(), data=None,
    xid=0, ignored=("actions_len",),
)  # fmt: skip
class OFPPacketOut:
    """Sends a packet: its bytes, or the one in a buffer of the switch."""

    def serialize(self):
        """Its bytes."""
        actions = _actions(self.actions)
        data = bytes(self.data) if self.data is not None else b""
        length = 24 + len(actions) + len(data)
        head = _PACKET_OUT.pack(
            4, 13, length, self.xid, self.buffer_id, self.in_port, len(actions)
        )
        return head + actions + data


@record(datapath=REQUIRED, xid=0)
class OFPBarrierRequest:
    """Asks the switch to finish what came before."""

    def serialize(self):
        """Its bytes."""
        return _HEADER.pack(4, ofp.OFPT_BARRIER_REQUEST, 8, self.xid)


@record(datapath=REQUIRED, type_=REQUIRED, body=REQUIRED, xid=0)
class OFPRawMessage:
    """A message of any kind, from what follows its header."""

    def serialize(self):
        """Its bytes."""
        return _HEADER.pack(4, self.type, 8 + len(self.body), self.xid) + self.body
