"""The events of switches, under the names that Ryu gives them."""

from aldis._commands import FLOW, SEND, emit, pack, pack_flow
from aldis._record import REQUIRED, record


class EventOFPMsgBase:
    """An event with a message of a switch."""

    __slots__ = ("msg",)

    def __init__(self, msg):
        self.msg = msg


@record(
    datapath=REQUIRED, buffer_id=REQUIRED, match=REQUIRED, data=REQUIRED,
    numbers=("index", "in_port", "xid", "total_len", "reason"),
)  # fmt: skip
class EventOFPPacketIn:
    """A switch asks what to do with a packet.

    The event is its own message: one object less for each request. `data` is the frame, as far as
    the manifest and the switch hand it over; `reason` is why the switch asks, and `total_len` the
    length of the whole packet.
    """

    @property
    def msg(self):
        """The message."""
        return self

    @property
    def msg_len(self):
        """The length of the message, as far as it matters: it is whole."""
        return self.total_len

    # What follows is not Ryu's: the short way, for applications that answer many requests.

    @property
    def dst(self):
        """Where the frame goes, as six bytes."""
        return self.data[:6]

    @property
    def src(self):
        """Where the frame comes from, as six bytes."""
        return self.data[6:12]

    def send(self, port):
        """Sends the packet out of a port."""
        emit(pack(SEND, 0, 0, self.index, port, 0))

    def flow(self, port, idle_timeout=0, hard_timeout=0, priority=0x8000, generation=0):
        """Has a flow carry what comes in by this port, from this source to this destination in
        this VLAN, out of `port`, and sends the packet there."""
        emit(
            pack_flow(
                FLOW, 0, 16, self.index, port, 0,
                idle_timeout, hard_timeout, priority, generation,
            )  # fmt: skip
        )


class EventOFPSwitchFeatures(EventOFPMsgBase):
    """A switch joined and can be programmed."""

    __slots__ = ()


class EventOFPPortStatus(EventOFPMsgBase):
    """A port came, went or changed."""

    __slots__ = ()


class EventOFPFlowRemoved(EventOFPMsgBase):
    """A switch removed a flow."""

    __slots__ = ()


class EventOFPErrorMsg(EventOFPMsgBase):
    """A switch refused something."""

    __slots__ = ()


class EventOFPReply(EventOFPMsgBase):
    """A switch replied to a message with a transaction id: `msg.xid`, `msg.buf`."""

    __slots__ = ()


class EventOFPStateChange:
    """A switch joined (`state` is MAIN_DISPATCHER) or is gone (DEAD_DISPATCHER)."""

    __slots__ = ("datapath", "state")

    def __init__(self, datapath, state):
        self.datapath = datapath
        self.state = state
