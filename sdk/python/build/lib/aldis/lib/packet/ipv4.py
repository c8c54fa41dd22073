"""IPv4 headers."""

import socket
from struct import Struct

_HEADER = Struct(">BBHHHBBH4s4s")


class ipv4:  # noqa: N801 (the name that Ryu gives it)
    """An IPv4 header: addresses as text, the rest as numbers."""

    __slots__ = (
        "version", "header_length", "tos", "total_length", "identification", "flags", "offset",
        "ttl", "proto", "csum", "src", "dst",
    )  # fmt: skip

    @classmethod
    def parse(cls, data, at):
        """The header at a byte; none where it is cut off, or none of IPv4."""
        if len(data) < at + _HEADER.size:
            return None
        self = cls()
        (first, self.tos, self.total_length, self.identification, fragment, self.ttl, self.proto,
         self.csum, src, dst) = _HEADER.unpack_from(data, at)  # fmt: skip
        self.version, self.header_length = first >> 4, first & 0xF
        self.flags, self.offset = fragment >> 13, fragment & 0x1FFF
        self.src, self.dst = socket.inet_ntoa(src), socket.inet_ntoa(dst)
        return self if self.version == 4 and self.header_length >= 5 else None
