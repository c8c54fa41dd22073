//! Any message of OpenFlow 1.0, for property tests: canonical, so that a round trip gives the same
//! bytes.

use aldis_wire::v10::queue::QueuePropertyType;
use aldis_wire::v10::stats::*;
use aldis_wire::v10::*;
use aldis_wire::{DatapathId, FixedText, MacAddr};
use proptest::collection::vec;
use proptest::prelude::*;
use std::net::Ipv4Addr;

/// Any message.
pub(crate) fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        bytes().prop_map(|body| Message::Hello(Hello { body })),
        error().prop_map(Message::Error),
        bytes().prop_map(|data| Message::EchoRequest(Echo { data })),
        bytes().prop_map(|data| Message::EchoReply(Echo { data })),
        (any::<u32>(), bytes()).prop_map(|(vendor, body)| Message::Vendor(Vendor { vendor, body })),
        features_reply().prop_map(Message::FeaturesReply),
        switch_config().prop_map(Message::GetConfigReply),
        switch_config().prop_map(Message::SetConfig),
        packet_in().prop_map(Message::PacketIn),
        flow_removed().prop_map(Message::FlowRemoved),
        port_status().prop_map(Message::PortStatus),
        packet_out().prop_map(Message::PacketOut),
        flow_mod().prop_map(Message::FlowMod),
        port_mod().prop_map(Message::PortMod),
        stats_request().prop_map(Message::StatsRequest),
        stats_reply().prop_map(Message::StatsReply),
        port_no().prop_map(|port| Message::QueueGetConfigRequest(QueueGetConfigRequest { port })),
        queue_get_config_reply().prop_map(Message::QueueGetConfigReply),
        prop::sample::select(vec![
            Message::FeaturesRequest,
            Message::GetConfigRequest,
            Message::BarrierRequest,
            Message::BarrierReply,
        ]),
    ]
}

/// Any PACKET_IN.
pub(crate) fn packet_in() -> impl Strategy<Value = PacketIn> {
    (any::<u32>(), any::<u16>(), port_no(), any::<u8>(), bytes()).prop_map(
        |(buffer_id, total_len, in_port, reason, data)| PacketIn {
            buffer_id,
            total_len,
            in_port,
            reason: PacketInReason(reason),
            data,
        },
    )
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..80)
}

/// Bytes of which there are `over` more than a multiple of eight.
fn bytes_mod8(over: usize) -> impl Strategy<Value = Vec<u8>> {
    (0..4usize).prop_flat_map(move |words| vec(any::<u8>(), words * 8 + over))
}

fn port_no() -> impl Strategy<Value = PortNo> {
    prop_oneof![any::<u16>(), 0xff00..=0xffffu16].prop_map(PortNo)
}

fn mac() -> impl Strategy<Value = MacAddr> {
    any::<[u8; 6]>().prop_map(MacAddr)
}

fn ip() -> impl Strategy<Value = Ipv4Addr> {
    any::<u32>().prop_map(Ipv4Addr::from)
}

fn text<const N: usize>() -> impl Strategy<Value = FixedText<N>> {
    any::<[u8; N]>().prop_map(FixedText)
}

fn error() -> impl Strategy<Value = Error> {
    (0..8u16, 0..12u16, any::<[u16; 2]>(), any::<bool>(), bytes()).prop_map(
        |(kind, code, wild, known, data)| {
            let [kind, code] = if known { [kind, code] } else { wild };
            Error { code: ErrorCode::from_wire(kind, code), data }
        },
    )
}

fn switch_config() -> impl Strategy<Value = SwitchConfig> {
    any::<(u16, u16)>().prop_map(|(flags, miss_send_len)| SwitchConfig {
        flags: ConfigFlags(flags),
        miss_send_len,
    })
}

fn phy_port() -> impl Strategy<Value = PhyPort> {
    (port_no(), mac(), text(), any::<[u32; 6]>()).prop_map(
        |(port_no, hw_addr, name, [config, state, curr, advertised, supported, peer])| PhyPort {
            port_no,
            hw_addr,
            name,
            config: PortConfig(config),
            state: PortState(state),
            curr: PortFeatures(curr),
            advertised: PortFeatures(advertised),
            supported: PortFeatures(supported),
            peer: PortFeatures(peer),
        },
    )
}

fn features_reply() -> impl Strategy<Value = FeaturesReply> {
    (any::<u64>(), any::<[u32; 3]>(), any::<u8>(), vec(phy_port(), 0..5)).prop_map(
        |(datapath_id, [n_buffers, capabilities, actions], n_tables, ports)| FeaturesReply {
            datapath_id: DatapathId(datapath_id),
            n_buffers,
            n_tables,
            capabilities: Capabilities(capabilities),
            actions: ActionBits(actions),
            ports,
        },
    )
}

fn port_status() -> impl Strategy<Value = PortStatus> {
    (any::<u8>(), phy_port())
        .prop_map(|(reason, desc)| PortStatus { reason: PortReason(reason), desc })
}

fn port_mod() -> impl Strategy<Value = PortMod> {
    (port_no(), mac(), any::<[u32; 3]>()).prop_map(
        |(port_no, hw_addr, [config, mask, advertise])| PortMod {
            port_no,
            hw_addr,
            config: PortConfig(config),
            mask: PortConfig(mask),
            advertise: PortFeatures(advertise),
        },
    )
}

fn match_() -> impl Strategy<Value = Match> {
    let ethernet = (port_no(), mac(), mac(), any::<(u16, u8, u16)>());
    let network = (any::<(u8, u8)>(), ip(), ip(), any::<(u16, u16)>());
    (any::<u32>(), ethernet, network, any::<[u8; 3]>()).prop_map(|(wildcards, l2, l3, pad)| {
        let (in_port, dl_src, dl_dst, (dl_vlan, dl_vlan_pcp, dl_type)) = l2;
        let ((nw_tos, nw_proto), nw_src, nw_dst, (tp_src, tp_dst)) = l3;
        Match {
            wildcards: Wildcards(wildcards),
            in_port,
            dl_src,
            dl_dst,
            dl_vlan,
            dl_vlan_pcp,
            dl_type,
            nw_tos,
            nw_proto,
            nw_src,
            nw_dst,
            tp_src,
            tp_dst,
            pad,
        }
    })
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        (port_no(), any::<u16>()).prop_map(|(port, max_len)| Action::Output { port, max_len }),
        any::<u16>().prop_map(Action::SetVlanVid),
        any::<u8>().prop_map(Action::SetVlanPcp),
        Just(Action::StripVlan),
        mac().prop_map(Action::SetDlSrc),
        mac().prop_map(Action::SetDlDst),
        ip().prop_map(Action::SetNwSrc),
        ip().prop_map(Action::SetNwDst),
        any::<u8>().prop_map(Action::SetNwTos),
        any::<u16>().prop_map(Action::SetTpSrc),
        any::<u16>().prop_map(Action::SetTpDst),
        (port_no(), any::<u32>()).prop_map(|(port, queue_id)| Action::Enqueue { port, queue_id }),
        (any::<u32>(), bytes_mod8(0)).prop_map(|(vendor, body)| Action::Vendor { vendor, body }),
        (12..0xffffu16, bytes_mod8(4))
            .prop_map(|(kind, body)| Action::Unknown { kind: ActionType(kind), body }),
    ]
}

/// Any actions.
pub(crate) fn actions() -> impl Strategy<Value = Vec<Action>> {
    vec(action(), 0..8)
}

fn packet_out() -> impl Strategy<Value = PacketOut> {
    (any::<u32>(), port_no(), actions(), bytes()).prop_map(|(buffer_id, in_port, actions, data)| {
        PacketOut { buffer_id, in_port, actions, data }
    })
}

fn flow_mod() -> impl Strategy<Value = FlowMod> {
    let numbers = any::<[u16; 5]>();
    (match_(), any::<u64>(), numbers, any::<u32>(), port_no(), actions()).prop_map(
        |(match_, cookie, [command, idle, hard, priority, flags], buffer_id, out_port, actions)| {
            FlowMod {
                match_,
                cookie,
                command: FlowModCommand(command),
                idle_timeout: idle,
                hard_timeout: hard,
                priority,
                buffer_id,
                out_port,
                flags: FlowModFlags(flags),
                actions,
            }
        },
    )
}

fn flow_removed() -> impl Strategy<Value = FlowRemoved> {
    (match_(), any::<[u64; 3]>(), any::<[u16; 2]>(), any::<[u32; 2]>(), any::<u8>()).prop_map(
        |(match_, [cookie, packet_count, byte_count], [priority, idle_timeout], time, reason)| {
            FlowRemoved {
                match_,
                cookie,
                priority,
                reason: FlowRemovedReason(reason),
                duration_sec: time[0],
                duration_nsec: time[1],
                idle_timeout,
                packet_count,
                byte_count,
            }
        },
    )
}

fn flow_stats_request() -> impl Strategy<Value = FlowStatsRequest> {
    (match_(), any::<u8>(), port_no()).prop_map(|(match_, table_id, out_port)| FlowStatsRequest {
        match_,
        table_id,
        out_port,
    })
}

fn vendor_stats() -> impl Strategy<Value = VendorStats> {
    (any::<u32>(), bytes()).prop_map(|(vendor, body)| VendorStats { vendor, body })
}

fn unknown_stats() -> impl Strategy<Value = (StatsType, Vec<u8>)> {
    (6..0xffffu16, bytes()).prop_map(|(kind, body)| (StatsType(kind), body))
}

fn stats_request() -> impl Strategy<Value = StatsRequest> {
    let body = prop_oneof![
        Just(StatsRequestBody::Desc),
        flow_stats_request().prop_map(StatsRequestBody::Flow),
        flow_stats_request().prop_map(StatsRequestBody::Aggregate),
        Just(StatsRequestBody::Table),
        port_no().prop_map(|port_no| StatsRequestBody::Port(PortStatsRequest { port_no })),
        (port_no(), any::<u32>()).prop_map(|(port_no, queue_id)| StatsRequestBody::Queue(
            QueueStatsRequest { port_no, queue_id }
        )),
        vendor_stats().prop_map(StatsRequestBody::Vendor),
        unknown_stats().prop_map(|(kind, body)| StatsRequestBody::Unknown { kind, body }),
    ];
    (any::<u16>(), body).prop_map(|(flags, body)| StatsRequest { flags, body })
}

fn stats_reply() -> impl Strategy<Value = StatsReply> {
    let body = prop_oneof![
        desc_stats().prop_map(|desc| StatsReplyBody::Desc(Box::new(desc))),
        vec(flow_stats(), 0..4).prop_map(StatsReplyBody::Flow),
        aggregate_stats().prop_map(StatsReplyBody::Aggregate),
        vec(table_stats(), 0..4).prop_map(StatsReplyBody::Table),
        vec(port_stats(), 0..4).prop_map(StatsReplyBody::Port),
        vec(queue_stats(), 0..4).prop_map(StatsReplyBody::Queue),
        vendor_stats().prop_map(StatsReplyBody::Vendor),
        unknown_stats().prop_map(|(kind, body)| StatsReplyBody::Unknown { kind, body }),
    ];
    (any::<u16>(), body)
        .prop_map(|(flags, body)| StatsReply { flags: StatsReplyFlags(flags), body })
}

fn desc_stats() -> impl Strategy<Value = DescStats> {
    (text(), text(), text(), text(), text()).prop_map(
        |(mfr_desc, hw_desc, sw_desc, serial_num, dp_desc)| DescStats {
            mfr_desc,
            hw_desc,
            sw_desc,
            serial_num,
            dp_desc,
        },
    )
}

fn flow_stats() -> impl Strategy<Value = FlowStats> {
    let numbers = (any::<[u64; 3]>(), any::<[u32; 2]>(), any::<[u16; 3]>(), any::<u8>());
    (match_(), numbers, actions()).prop_map(|(match_, (wide, time, short, table_id), actions)| {
        FlowStats {
            table_id,
            match_,
            duration_sec: time[0],
            duration_nsec: time[1],
            priority: short[0],
            idle_timeout: short[1],
            hard_timeout: short[2],
            cookie: wide[0],
            packet_count: wide[1],
            byte_count: wide[2],
            actions,
        }
    })
}

fn aggregate_stats() -> impl Strategy<Value = AggregateStatsReply> {
    any::<(u64, u64, u32)>().prop_map(|(packet_count, byte_count, flow_count)| {
        AggregateStatsReply { packet_count, byte_count, flow_count }
    })
}

fn table_stats() -> impl Strategy<Value = TableStats> {
    (any::<u8>(), text(), any::<[u32; 3]>(), any::<[u64; 2]>()).prop_map(
        |(table_id, name, [wildcards, max_entries, active_count], counts)| TableStats {
            table_id,
            name,
            wildcards: Wildcards(wildcards),
            max_entries,
            active_count,
            lookup_count: counts[0],
            matched_count: counts[1],
        },
    )
}

fn port_stats() -> impl Strategy<Value = PortStats> {
    (port_no(), any::<[u64; 12]>()).prop_map(|(port_no, counts)| PortStats {
        port_no,
        rx_packets: counts[0],
        tx_packets: counts[1],
        rx_bytes: counts[2],
        tx_bytes: counts[3],
        rx_dropped: counts[4],
        tx_dropped: counts[5],
        rx_errors: counts[6],
        tx_errors: counts[7],
        rx_frame_err: counts[8],
        rx_over_err: counts[9],
        rx_crc_err: counts[10],
        collisions: counts[11],
    })
}

fn queue_stats() -> impl Strategy<Value = QueueStats> {
    (port_no(), any::<u32>(), any::<[u64; 3]>()).prop_map(
        |(port_no, queue_id, [tx_bytes, tx_packets, tx_errors])| QueueStats {
            port_no,
            queue_id,
            tx_bytes,
            tx_packets,
            tx_errors,
        },
    )
}

fn queue_property() -> impl Strategy<Value = QueueProperty> {
    prop_oneof![
        any::<u16>().prop_map(QueueProperty::MinRate),
        (any::<u16>(), vec(any::<u8>(), 4..20)).prop_map(|(kind, body)| QueueProperty::Other {
            kind: QueuePropertyType(if kind == 1 { 0 } else { kind }),
            body
        }),
    ]
}

fn queue_get_config_reply() -> impl Strategy<Value = QueueGetConfigReply> {
    let queue = (any::<u32>(), vec(queue_property(), 0..4))
        .prop_map(|(queue_id, properties)| PacketQueue { queue_id, properties });
    (port_no(), vec(queue, 0..4)).prop_map(|(port, queues)| QueueGetConfigReply { port, queues })
}
