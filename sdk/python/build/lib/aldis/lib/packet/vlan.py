"""VLAN tags."""

from struct import Struct

_TAG = Struct(">HH")


class vlan:  # noqa: N801 (the name that Ryu gives it)
    """A tag: priority, id, and the EtherType behind it."""

    __slots__ = ("pcp", "vid", "ethertype")

    @classmethod
    def parse(cls, data, at):
        """The tag at a byte; none where the frame is shorter than that."""
        if len(data) < at + 4:
            return None
        self = cls()
        tag, self.ethertype = _TAG.unpack_from(data, at)
        self.pcp, self.vid = tag >> 13, tag & 0xFFF
        return self
