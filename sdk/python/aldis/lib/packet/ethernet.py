"""Ethernet headers."""

from struct import Struct

_HEADER = Struct(">6s6sH")
_unpack = _HEADER.unpack_from

_new = object.__new__


class ethernet:  # noqa: N801 (the name that Ryu gives it)
    """An Ethernet header: `dst` and `src` as text, `ethertype` as a number."""

    __slots__ = ("dst", "src", "ethertype", "dst_bytes", "src_bytes")

    MIN_LEN = 14

    def __init__(self, dst="ff:ff:ff:ff:ff:ff", src="00:00:00:00:00:00", ethertype=0x0800):
        self.dst = dst
        self.src = src
        self.ethertype = ethertype
        raw = self.serialize()
        self.dst_bytes, self.src_bytes = raw[:6], raw[6:12]

    @classmethod
    def parse(cls, data):
        """The header of a frame; none where the frame is shorter than that."""
        global last
        if len(data) < 14:
            return None
        last = self = _new(cls)
        self.dst_bytes, self.src_bytes, self.ethertype = dst, src, _ = _unpack(data)
        self.dst = dst.hex(":")
        self.src = src.hex(":")
        return self

    def serialize(self):
        """Its bytes."""
        mac = [bytes.fromhex(text.replace(":", "")) for text in (self.dst, self.src)]
        return _HEADER.pack(*mac, self.ethertype)


# The header that was read last: a flow that a handler makes is nearly always about its addresses,
# and need not read their text again.
last = ethernet()
