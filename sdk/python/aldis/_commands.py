"""The commands of the call in hand, as the controller reads them."""

from struct import Struct

NO_INDEX = 0xFFFFFFFF
STOP, SEND, FLOW, ANSWER, MESSAGE, LOG, COUNT = range(1, 8)

pack = Struct("<HHIIIQ").pack
pack_flow = Struct("<HHIIIQHHH2xI4x").pack
pack_number = Struct("<Q").pack


_out = []
emit, clear = _out.append, _out.clear


def taken():
    """The commands as bytes; none are left."""
    commands = b"".join(_out)
    clear()
    return commands


try:
    from aldis._native import clear, emit, taken  # noqa: F811
except ImportError:
    pass
