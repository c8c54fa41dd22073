"""A learning switch for OpenFlow 1.0, to run or to derive from: `ryu.app.simple_switch`."""

from ryu.base import app_manager
from ryu.controller import ofp_event
from ryu.controller.handler import MAIN_DISPATCHER, set_ev_cls
from ryu.lib.mac import haddr_to_bin
from ryu.lib.packet import ether_types, ethernet, packet
from ryu.ofproto import ofproto_v1_0


class SimpleSwitch(app_manager.RyuApp):
    """Learns which port a host is at, and sets a flow where both ends are known.

    `mac_to_port` has a table for each datapath id, from MAC address to port.
    """

    OFP_VERSIONS = [ofproto_v1_0.OFP_VERSION]

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.mac_to_port = {}

    def add_flow(self, datapath, in_port, dst, src, actions):
        """Has packets from `src` at `in_port` to `dst` treated with `actions`."""
        parser, ofproto = datapath.ofproto_parser, datapath.ofproto
        match = parser.OFPMatch(
            in_port=in_port, dl_dst=haddr_to_bin(dst), dl_src=haddr_to_bin(src)
        )
        mod = parser.OFPFlowMod(
            datapath=datapath,
            match=match,
            cookie=0,
            command=ofproto.OFPFC_ADD,
            idle_timeout=0,
            hard_timeout=0,
            priority=ofproto.OFP_DEFAULT_PRIORITY,
            flags=ofproto.OFPFF_SEND_FLOW_REM,
            actions=actions,
        )
        datapath.send_msg(mod)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def _packet_in_handler(self, ev):
        msg = ev.msg
        datapath = msg.datapath
        parser, ofproto = datapath.ofproto_parser, datapath.ofproto
        eth = packet.Packet(msg.data).get_protocol(ethernet.ethernet)
        if eth.ethertype == ether_types.ETH_TYPE_LLDP:
            return
        ports = self.mac_to_port.setdefault(datapath.id, {})
        ports[eth.src] = msg.in_port
        out_port = ports.get(eth.dst, ofproto.OFPP_FLOOD)
        actions = [parser.OFPActionOutput(out_port)]
        if out_port != ofproto.OFPP_FLOOD:
            self.add_flow(datapath, msg.in_port, eth.dst, eth.src, actions)
        data = msg.data if msg.buffer_id == ofproto.OFP_NO_BUFFER else None
        out = parser.OFPPacketOut(
            datapath=datapath,
            buffer_id=msg.buffer_id,
            in_port=msg.in_port,
            actions=actions,
            data=data,
        )
        datapath.send_msg(out)

    @set_ev_cls(ofp_event.EventOFPPortStatus, MAIN_DISPATCHER)
    def _port_status_handler(self, ev):
        ofproto = ev.msg.datapath.ofproto
        words = {
            ofproto.OFPPR_ADD: "was added",
            ofproto.OFPPR_DELETE: "was removed",
            ofproto.OFPPR_MODIFY: "has changed",
        }
        what = words.get(ev.msg.reason, f"has the unknown reason {ev.msg.reason}")
        self.logger.info("port %s %s", ev.msg.desc.port_no, what)
