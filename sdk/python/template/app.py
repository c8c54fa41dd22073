"""NAME: what it does, in a sentence."""

from aldis import STOP
from aldis.base import app_manager
from aldis.controller import ofp_event
from aldis.controller.handler import MAIN_DISPATCHER, set_ev_cls


class NewApp(app_manager.App):
    """Floods every packet: a hub."""

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in_handler(self, ev):
        msg = ev.msg
        datapath = msg.datapath
        ofproto = datapath.ofproto
        parser = datapath.ofproto_parser
        actions = [parser.OFPActionOutput(ofproto.OFPP_FLOOD)]
        out = parser.OFPPacketOut(
            datapath=datapath,
            buffer_id=msg.buffer_id,
            in_port=msg.match["in_port"],
            actions=actions,
            data=msg.data if msg.buffer_id == ofproto.OFP_NO_BUFFER else None,
        )
        datapath.send_msg(out)
        # The applications that come later do not see the packet.
        return STOP
