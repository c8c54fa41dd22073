"""An application that logs which switches connect and leave."""

from ryu.base import app_manager
from ryu.controller import ofp_event
from ryu.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from ryu.lib.dpid import dpid_to_str

VERSIONS = {1: "1.0", 2: "1.1", 3: "1.2", 4: "1.3", 5: "1.4", 6: "1.5"}


class ConnectionLog(app_manager.RyuApp):
    """One line for each switch that has shaken hands, and one when its connection is over."""

    LOGGER_NAME = "aldis-ryu"

    @set_ev_cls(ofp_event.EventOFPStateChange, [MAIN_DISPATCHER, DEAD_DISPATCHER])
    def state_changed(self, ev):
        """Logs the change. A connection that ends before its handshake has no switch yet."""
        datapath = ev.datapath
        if datapath.id is None:
            self.logger.info("a connection from %s ended before its handshake", datapath.address)
        elif ev.state == MAIN_DISPATCHER:
            version = VERSIONS.get(datapath.ofproto.OFP_VERSION, "of an unknown version")
            self.logger.info(
                "switch %s connected with OpenFlow %s", dpid_to_str(datapath.id), version
            )
        else:
            self.logger.info("switch %s left", dpid_to_str(datapath.id))
