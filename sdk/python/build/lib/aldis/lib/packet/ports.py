"""The ports of TCP and UDP."""

from struct import Struct

_PORTS = Struct(">HH")


class _Ports:
    """The first four bytes of a header of TCP or UDP."""

    __slots__ = ("src_port", "dst_port")

    @classmethod
    def parse(cls, data, at):
        """The ports at a byte; none where they are cut off."""
        if len(data) < at + 4:
            return None
        self = cls()
        self.src_port, self.dst_port = _PORTS.unpack_from(data, at)
        return self


class tcp(_Ports):  # noqa: N801 (the name that Ryu gives it)
    """A header of TCP."""

    __slots__ = ()


class udp(_Ports):  # noqa: N801 (the name that Ryu gives it)
    """A header of UDP."""

    __slots__ = ()
