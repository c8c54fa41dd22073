"""The events of switches, under the names that Ryu gives them."""


class EventOFPMsgBase:
    """An event with a message of a switch."""

    __slots__ = ("msg",)

    def __init__(self, msg):
        self.msg = msg


class EventOFPPacketIn(EventOFPMsgBase):
    """A switch asks what to do with a packet."""

    __slots__ = ()


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
