"""Ethernet headers."""

from struct import Struct

from aldis._record import record

_HEADER = Struct(">6s6sH")


@record(dst="ff:ff:ff:ff:ff:ff", src="00:00:00:00:00:00", ethertype=0x0800)
class ethernet:  # noqa: N801 (the name that Ryu gives it)
    """An Ethernet header: `dst` and `src` as text, `ethertype` as a number."""

    MIN_LEN = 14

    def serialize(self):
        """Its bytes."""
        mac = [bytes.fromhex(text.replace(":", "")) for text in (self.dst, self.src)]
        return _HEADER.pack(*mac, self.ethertype)


def read_ethernet(data):
    """The header of a frame; none where the frame is shorter than that."""
    if len(data) < 14:
        return None
    dst, src, ethertype = _HEADER.unpack_from(data)
    return ethernet(dst.hex(":"), src.hex(":"), ethertype)


try:
    from aldis._native import read_ethernet  # noqa: F811
except ImportError:
    pass
