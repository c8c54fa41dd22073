"""The commands of the call in hand, as the controller reads them."""

from struct import Struct

NO_INDEX = 0xFFFFFFFF
STOP, SEND, FLOW, ANSWER, MESSAGE, LOG, COUNT = range(1, 8)

# One list for ever: its `append` is bound once.
out = []
emit = out.append
pack = Struct("<HHIIIQ").pack
pack_flow = Struct("<HHIIIQHHH2xI4x").pack
pack_number = Struct("<Q").pack


def taken():
    """The commands as bytes; none are left."""
    commands = b"".join(out)
    out.clear()
    return commands
