"""A learning switch for OpenFlow 1.3, to run or to derive from: `ryu.app.simple_switch_13`."""

from ryu.base import app_manager
from ryu.controller import ofp_event
from ryu.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from ryu.lib.dpid import dpid_to_str
from ryu.lib.packet import ether_types, ethernet, packet
from ryu.ofproto import ofproto_v1_3


class SimpleSwitch13(app_manager.RyuApp):
    """Learns which port a host is at, and sets a flow where both ends are known.

    `mac_to_port` has a table for each datapath id (as 16 hexadecimal digits), from MAC address to
    port.
    """

    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.mac_to_port = {}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def switch_features_handler(self, ev):
        """Sets the table-miss flow: what no other matches comes here, whole."""
        datapath = ev.msg.datapath
        parser, ofproto = datapath.ofproto_parser, datapath.ofproto
        to_controller = parser.OFPActionOutput(ofproto.OFPP_CONTROLLER, ofproto.OFPCML_NO_BUFFER)
        self.add_flow(datapath, 0, parser.OFPMatch(), [to_controller])

    def add_flow(self, datapath, priority, match, actions, buffer_id=None):
        """Sets a flow; with `buffer_id` the switch treats the packet that it keeps with it."""
        parser, ofproto = datapath.ofproto_parser, datapath.ofproto
        apply = parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions)
        kept = {} if buffer_id is None else {"buffer_id": buffer_id}
        mod = parser.OFPFlowMod(
            datapath=datapath, priority=priority, match=match, instructions=[apply], **kept
        )
        datapath.send_msg(mod)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def _packet_in_handler(self, ev):
        msg = ev.msg
        datapath = msg.datapath
        parser, ofproto = datapath.ofproto_parser, datapath.ofproto
        in_port = msg.match["in_port"]
        eth = packet.Packet(msg.data).get_protocol(ethernet.ethernet)
        if eth.ethertype == ether_types.ETH_TYPE_LLDP:
            return
        ports = self.mac_to_port.setdefault(dpid_to_str(datapath.id), {})
        ports[eth.src] = in_port
        out_port = ports.get(eth.dst, ofproto.OFPP_FLOOD)
        actions = [parser.OFPActionOutput(out_port)]
        unbuffered = msg.buffer_id == ofproto.OFP_NO_BUFFER
        if out_port != ofproto.OFPP_FLOOD:
            match = parser.OFPMatch(in_port=in_port, eth_dst=eth.dst, eth_src=eth.src)
            if not unbuffered:
                self.add_flow(datapath, 1, match, actions, msg.buffer_id)
                return
            self.add_flow(datapath, 1, match, actions)
        out = parser.OFPPacketOut(
            datapath=datapath,
            buffer_id=msg.buffer_id,
            in_port=in_port,
            actions=actions,
            data=msg.data if unbuffered else None,
        )
        datapath.send_msg(out)
