"""An application that answers far more than it has memory for, in each of the ways there are."""

from aldis import STOP, kv
from aldis.base import app_manager
from aldis.controller import ofp_event
from aldis.controller.handler import MAIN_DISPATCHER, set_ev_cls

_KIBIBYTE = b"answer: " * 128


class Answers(app_manager.RyuApp):
    """Sends long packets, keeps long values, and shows long pages."""

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        datapath = ev.msg.datapath
        parser, proto = datapath.ofproto_parser, datapath.ofproto
        datapath.send_msg(
            parser.OFPPacketOut(
                datapath=datapath,
                buffer_id=proto.OFP_NO_BUFFER,
                in_port=ev.msg.match["in_port"],
                actions=[parser.OFPActionOutput(proto.OFPP_FLOOD)],
                data=_KIBIBYTE * 16,
            )
        )
        return STOP

    def http(self, request):
        kv.set("page", _KIBIBYTE * 768)
        try:
            kv.set("too much", _KIBIBYTE * 768)
        except OSError as error:
            return b"%s\n" % str(error).encode() + _KIBIBYTE * 768
        return None
