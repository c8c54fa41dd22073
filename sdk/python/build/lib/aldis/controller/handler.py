"""Which method handles which event."""

HANDSHAKE_DISPATCHER = "handshake"
CONFIG_DISPATCHER = "config"
MAIN_DISPATCHER = "main"
DEAD_DISPATCHER = "dead"


def set_ev_cls(ev_cls, dispatchers=None):
    """Has a method called for events of a class, or of each class of a list.

    The states of a switch's session are accepted as in Ryu; an event comes in the one state in
    which it occurs.
    """
    classes = list(ev_cls) if isinstance(ev_cls, (list, tuple)) else [ev_cls]

    def decorate(method):
        method.aldis_events = getattr(method, "aldis_events", []) + classes
        return method

    return decorate
