"""The headers of a frame, read when they are asked for."""

from aldis._record import record
from aldis.lib.packet.arp import arp
from aldis.lib.packet.ethernet import ethernet, read_ethernet
from aldis.lib.packet.ipv4 import ipv4
from aldis.lib.packet.ports import tcp, udp
from aldis.lib.packet.vlan import vlan


@record(data=None, headers=None)
class Packet:
    """A frame. `get_protocol(ethernet.ethernet)` is its Ethernet header, or none.

    One that is to be sent begins without data, is given its headers by `add_protocol`, outermost
    first, and has its data after `serialize`.
    """

    def add_protocol(self, header):
        """Appends a header, or bytes."""
        self.headers = [*(self.headers or ()), header]

    def serialize(self):
        """Makes the data of the headers."""
        parts = [
            header if isinstance(header, (bytes, bytearray)) else header.serialize()
            for header in self.headers or ()
        ]
        self.data = b"".join(parts)

    def get_protocol(self, protocol):
        """The first header of a class; none where there is none."""
        return next(iter(self.get_protocols(protocol)), None)

    def get_protocols(self, protocol):
        """All headers of a class."""
        return [header for header in self if type(header) is protocol]

    def __iter__(self):
        if self.headers is None:
            self.headers = list(_headers(self.data))
        return iter(self.headers)


def _headers(data):
    """The headers of a frame, outermost first, as far as they are known."""
    header = read_ethernet(data)
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
