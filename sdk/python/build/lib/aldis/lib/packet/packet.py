"""The headers of a frame, read when they are asked for."""

from aldis.lib.packet.arp import arp
from aldis.lib.packet.ethernet import ethernet
from aldis.lib.packet.ipv4 import ipv4
from aldis.lib.packet.ports import tcp, udp
from aldis.lib.packet.vlan import vlan


class Packet:
    """A frame. `get_protocol(ethernet.ethernet)` is its Ethernet header, or none."""

    __slots__ = ("data", "_headers")

    def __init__(self, data):
        self.data = data
        self._headers = None

    def get_protocol(self, protocol):
        """The first header of a class; none where there is none."""
        if protocol is ethernet:
            return ethernet.parse(self.data)
        return next(iter(self.get_protocols(protocol)), None)

    def get_protocols(self, protocol):
        """All headers of a class."""
        if protocol is ethernet:
            header = ethernet.parse(self.data)
            return [header] if header else []
        return [header for header in self if type(header) is protocol]

    def __iter__(self):
        if self._headers is None:
            self._headers = list(_headers(self.data))
        return iter(self._headers)


def _headers(data):
    """The headers of a frame, outermost first, as far as they are known."""
    header = ethernet.parse(data)
    if header is None:
        return
    yield header
    at, kind = 14, header.ethertype
    while kind == 0x8100:
        header = vlan.parse(data, at)
        if header is None:
            return
        yield header
        at, kind = at + 4, header.ethertype
    parse = {0x0806: arp.parse, 0x0800: ipv4.parse}.get(kind)
    header = parse(data, at) if parse else None
    if header is None:
        return
    yield header
    if kind == 0x0800 and header.offset == 0:
        parse = {6: tcp.parse, 17: udp.parse}.get(header.proto)
        inner = parse(data, at + 4 * header.header_length) if parse else None
        if inner is not None:
            yield inner
