"""A learning switch by the short way: a third of the time of `learning_switch.py`."""

from aldis import STOP
from aldis.base import app_manager
from aldis.controller import ofp_event
from aldis.controller.handler import set_ev_cls
from aldis.ofproto.ofproto_v1_3 import OFPP_FLOOD


class FastLearningSwitch(app_manager.App):
    """Remembers behind which port it saw each host, and installs flows to it."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        # The port of each host, by its address, by switch.
        self.switches = {}

    @set_ev_cls(ofp_event.EventOFPPacketIn)
    def packet_in_handler(self, ev):
        hosts = self.switches.get(ev.datapath.id)
        if hosts is None:
            hosts = self.switches[ev.datapath.id] = {}
        in_port = ev.in_port
        hosts[ev.src] = in_port
        out_port = hosts.get(ev.dst)
        if out_port is None:
            ev.send(OFPP_FLOOD)
        elif out_port != in_port:
            ev.flow(out_port, idle_timeout=10)
        return STOP
