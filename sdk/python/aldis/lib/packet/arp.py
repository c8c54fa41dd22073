"""ARP for IPv4 over Ethernet."""

import socket
from struct import Struct

_MESSAGE = Struct(">HHBBH6s4s6s4s")

ARP_REQUEST = 1
ARP_REPLY = 2


class arp:  # noqa: N801 (the name that Ryu gives it)
    """An ARP message: addresses as text."""

    __slots__ = ("opcode", "src_mac", "src_ip", "dst_mac", "dst_ip")

    def __init__(
        self, opcode=ARP_REQUEST, src_mac="ff:ff:ff:ff:ff:ff", src_ip="0.0.0.0",
        dst_mac="00:00:00:00:00:00", dst_ip="0.0.0.0",
    ):  # fmt: skip
        self.opcode = opcode
        self.src_mac, self.src_ip = src_mac, src_ip
        self.dst_mac, self.dst_ip = dst_mac, dst_ip

    def serialize(self):
        """Its bytes."""
        ends = ((self.src_mac, self.src_ip), (self.dst_mac, self.dst_ip))
        addresses = [
            raw
            for mac, ip in ends
            for raw in (bytes.fromhex(mac.replace(":", "")), socket.inet_aton(ip))
        ]
        return _MESSAGE.pack(1, 0x0800, 6, 4, self.opcode, *addresses)

    @classmethod
    def parse(cls, data, at):
        """The message at a byte; none where it is cut off, or of other addresses."""
        if len(data) < at + _MESSAGE.size:
            return None
        hardware, protocol, hlen, plen, opcode, *addresses = _MESSAGE.unpack_from(data, at)
        if (hardware, protocol, hlen, plen) != (1, 0x0800, 6, 4):
            return None
        self = cls()
        self.opcode = opcode
        self.src_mac, self.dst_mac = addresses[0].hex(":"), addresses[2].hex(":")
        self.src_ip, self.dst_ip = socket.inet_ntoa(addresses[1]), socket.inet_ntoa(addresses[3])
        return self
