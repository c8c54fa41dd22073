"""Ethernet headers."""

from struct import Struct

_HEADER = Struct(">6s6sH")


class ethernet:  # noqa: N801 (the name that Ryu gives it)
    """An Ethernet header: `dst` and `src` as text, `ethertype` as a number."""

    __slots__ = ("dst", "src", "ethertype")

    MIN_LEN = 14

    def __init__(self, dst="ff:ff:ff:ff:ff:ff", src="00:00:00:00:00:00", ethertype=0x0800):
        self.dst = dst
        self.src = src
        self.ethertype = ethertype

    @classmethod
    def parse(cls, data):
        """The header of a frame; none where the frame is shorter than that."""
        if len(data) < 14:
            return None
        self = cls.__new__(cls)
        dst, src, self.ethertype = _HEADER.unpack_from(data)
        self.dst = dst.hex(":")
        self.src = src.hex(":")
        return self

    def serialize(self):
        """Its bytes."""
        mac = [bytes.fromhex(text.replace(":", "")) for text in (self.dst, self.src)]
        return _HEADER.pack(*mac, self.ethertype)
