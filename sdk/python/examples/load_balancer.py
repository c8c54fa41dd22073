"""A load balancer: connections of TCP to one address are spread over several servers, in turn.

It answers ARP for that address, and finds the servers by ARP when a switch joins. For each
connection it installs two flows: one rewrites what the client sends to the server's addresses, the
other what the server sends to those that the client knows. What a server sends on another way, and
everything else, is left to the applications that come later.
"""

import tomllib

from aldis import STOP
from aldis import count as set_count
from aldis.base import app_manager
from aldis.controller import ofp_event
from aldis.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from aldis.lib.packet import arp, ether_types, ethernet, ipv4, packet, tcp

PRIORITY = 0xA000
TCP = 6
# Connections and hosts that are remembered: the oldest are forgotten first.
REMEMBERED_MAX = 10_000


class LoadBalancer(app_manager.App):
    """Spreads connections over servers, and keeps each on its own."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        settings = tomllib.loads(self.config)
        self.address, self.mac = settings["address"], settings["mac"]
        self.port, self.idle = settings["port"], settings["idle-s"]
        self.servers = settings["servers"]
        self.turn = self.count = 0
        # The address of each server in Ethernet; the port of each host, by switch; the server of
        # each connection.
        self.macs, self.ports, self.connections = {}, {}, {}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def switch_features_handler(self, ev):
        datapath = ev.msg.datapath
        for server in self.servers:
            question = arp.arp(arp.ARP_REQUEST, self.mac, self.address, dst_ip=server)
            self.send_arp(datapath, datapath.ofproto.OFPP_FLOOD, "ff:ff:ff:ff:ff:ff", question)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in_handler(self, ev):
        msg = ev.msg
        pkt = packet.Packet(msg.data)
        eth = pkt.get_protocol(ethernet.ethernet)
        if eth is None:
            return None
        remember(self.ports, (msg.datapath.id, eth.src), msg.match["in_port"])
        question = pkt.get_protocol(arp.arp)
        if question is not None:
            return self.arp_handler(msg, question)
        ip, segment = pkt.get_protocol(ipv4.ipv4), pkt.get_protocol(tcp.tcp)
        if segment is None or ip.dst != self.address:
            return None
        if segment.dst_port == self.port:
            self.connect(msg, ip.src, segment.src_port)
        return STOP

    def arp_handler(self, msg, message):
        if message.src_ip in self.servers:
            self.macs[message.src_ip] = message.src_mac
        if message.dst_ip != self.address:
            return None
        if message.opcode == arp.ARP_REQUEST:
            answer = arp.arp(
                arp.ARP_REPLY, self.mac, self.address, message.src_mac, message.src_ip
            )
            self.send_arp(msg.datapath, msg.match["in_port"], message.src_mac, answer)
        return STOP

    def send_arp(self, datapath, port, dst, message):
        parser, ofproto = datapath.ofproto_parser, datapath.ofproto
        pkt = packet.Packet()
        pkt.add_protocol(ethernet.ethernet(dst, self.mac, ether_types.ETH_TYPE_ARP))
        pkt.add_protocol(message)
        pkt.serialize()
        out = parser.OFPPacketOut(
            datapath=datapath,
            in_port=ofproto.OFPP_CONTROLLER,
            actions=[parser.OFPActionOutput(port)],
            data=pkt.data,
        )
        datapath.send_msg(out)

    def connect(self, msg, client, client_port):
        """Leads a connection to its server: the one that it has, or the next that answered."""
        server = self.connections.get((client, client_port)) or self.next_server()
        if server is None:
            self.logger.warning("no server answered yet, and %s has to wait", client)
            return
        if (client, client_port) not in self.connections:
            self.count += 1
            set_count(0, self.count)
            self.logger.info("%s:%d goes to %s", client, client_port, server)
        remember(self.connections, (client, client_port), server)
        datapath, in_port = msg.datapath, msg.match["in_port"]
        parser, mac = datapath.ofproto_parser, self.macs[server]
        out_port = self.ports.get((datapath.id, mac), datapath.ofproto.OFPP_FLOOD)
        back = parser.OFPMatch(
            eth_type=ether_types.ETH_TYPE_IP, ip_proto=TCP, ipv4_src=server, ipv4_dst=client,
            tcp_src=self.port, tcp_dst=client_port,
        )  # fmt: skip
        self.add_flow(datapath, back, self.rewrite(parser, "src", self.mac, self.address, in_port))
        there = parser.OFPMatch(
            eth_type=ether_types.ETH_TYPE_IP, ip_proto=TCP, ipv4_src=client,
            ipv4_dst=self.address, tcp_src=client_port, tcp_dst=self.port,
        )  # fmt: skip
        actions = self.rewrite(parser, "dst", mac, server, out_port)
        self.add_flow(datapath, there, actions)
        data = msg.data if msg.buffer_id == datapath.ofproto.OFP_NO_BUFFER else None
        out = parser.OFPPacketOut(
            datapath=datapath, buffer_id=msg.buffer_id, in_port=in_port, actions=actions, data=data
        )
        datapath.send_msg(out)

    def next_server(self):
        for _ in self.servers:
            server = self.servers[self.turn % len(self.servers)]
            self.turn += 1
            if server in self.macs:
                return server
        return None

    def rewrite(self, parser, end, mac, address, port):
        return [
            parser.OFPActionSetField(**{"eth_" + end: mac}),
            parser.OFPActionSetField(**{"ipv4_" + end: address}),
            parser.OFPActionOutput(port),
        ]

    def add_flow(self, datapath, match, actions):
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        apply = parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions)
        flow = parser.OFPFlowMod(
            datapath=datapath, priority=PRIORITY, idle_timeout=self.idle, match=match,
            instructions=[apply],
        )  # fmt: skip
        datapath.send_msg(flow)


def remember(table, key, value):
    """Sets an entry, and forgets the oldest where there are too many."""
    if key not in table and len(table) >= REMEMBERED_MAX:
        del table[next(iter(table))]
    table[key] = value
