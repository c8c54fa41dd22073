//! Any message of OpenFlow 1.3, for property tests: canonical, so that a round trip gives the same
//! bytes.

mod parts;
mod stats;

use aldis_wire::v13::*;
use aldis_wire::{DatapathId, FixedText, MacAddr};
use parts::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// Any message.
pub(crate) fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        vec(hello_element(), 0..4).prop_map(|elements| Message::Hello(Hello { elements })),
        error().prop_map(Message::Error),
        bytes().prop_map(|data| Message::EchoRequest(Echo { data })),
        bytes().prop_map(|data| Message::EchoReply(Echo { data })),
        (any::<(u32, u32)>(), bytes()).prop_map(|((experimenter, exp_type), body)| {
            Message::Experimenter(Experimenter { experimenter, exp_type, body })
        }),
        features_reply().prop_map(Message::FeaturesReply),
        switch_config().prop_map(Message::GetConfigReply),
        switch_config().prop_map(Message::SetConfig),
        packet_in().prop_map(Message::PacketIn),
        flow_removed().prop_map(Message::FlowRemoved),
        (any::<u8>(), port()).prop_map(|(reason, desc)| {
            Message::PortStatus(PortStatus { reason: PortReason(reason), desc })
        }),
        packet_out().prop_map(Message::PacketOut),
        flow_mod().prop_map(Message::FlowMod),
        group_mod().prop_map(Message::GroupMod),
        port_mod().prop_map(Message::PortMod),
        any::<(u8, u32)>().prop_map(|(table, config)| {
            let (table_id, config) = (TableNo(table), TableConfig(config));
            Message::TableMod(TableMod { table_id, config })
        }),
        stats::request().prop_map(Message::MultipartRequest),
        stats::reply().prop_map(Message::MultipartReply),
        port_no().prop_map(|port| Message::QueueGetConfigRequest(QueueGetConfigRequest { port })),
        queue_get_config_reply().prop_map(Message::QueueGetConfigReply),
        role().prop_map(Message::RoleRequest),
        role().prop_map(Message::RoleReply),
        async_config().prop_map(Message::GetAsyncReply),
        async_config().prop_map(Message::SetAsync),
        meter_mod().prop_map(Message::MeterMod),
        prop::sample::select(vec![
            Message::FeaturesRequest,
            Message::GetConfigRequest,
            Message::BarrierRequest,
            Message::BarrierReply,
            Message::GetAsyncRequest,
        ]),
    ]
}

fn hello_element() -> impl Strategy<Value = HelloElement> {
    prop_oneof![
        vec(any::<u32>(), 0..4).prop_map(HelloElement::VersionBitmap),
        (unknown_kind(2..0xffff), bytes())
            .prop_map(|(kind, body)| HelloElement::Unknown { kind, body }),
    ]
}

fn error() -> impl Strategy<Value = Error> {
    let code = prop_oneof![
        (0..16u16, 0..20u16).prop_map(|(kind, code)| ErrorCode::from_wire(kind, code)),
        (0..0xffffu16, any::<u16>()).prop_map(|(kind, code)| ErrorCode::from_wire(kind, code)),
        any::<(u16, u32)>().prop_map(|(exp_type, experimenter)| ErrorCode::Experimenter {
            exp_type,
            experimenter
        }),
    ];
    (code, bytes()).prop_map(|(code, data)| Error { code, data })
}

fn features_reply() -> impl Strategy<Value = FeaturesReply> {
    any::<(u64, u32, u8, u8, u32, u32)>().prop_map(
        |(datapath_id, n_buffers, n_tables, auxiliary_id, capabilities, reserved)| FeaturesReply {
            datapath_id: DatapathId(datapath_id),
            n_buffers,
            n_tables,
            auxiliary_id,
            capabilities: Capabilities(capabilities),
            reserved,
        },
    )
}

fn switch_config() -> impl Strategy<Value = SwitchConfig> {
    any::<(u16, u16)>().prop_map(|(flags, miss_send_len)| SwitchConfig {
        flags: ConfigFlags(flags),
        miss_send_len,
    })
}

/// Any PACKET_IN, with or without an incoming port.
pub(crate) fn packet_in() -> impl Strategy<Value = PacketIn> {
    (any::<(u32, u16, u8, u8, u64)>(), match_(), bytes()).prop_map(|(fixed, match_, data)| {
        let (buffer_id, total_len, reason, table_id, cookie) = fixed;
        PacketIn {
            buffer_id,
            total_len,
            reason: PacketInReason(reason),
            table_id: TableNo(table_id),
            cookie,
            match_,
            data,
        }
    })
}

fn flow_removed() -> impl Strategy<Value = FlowRemoved> {
    (any::<[u64; 3]>(), any::<[u16; 3]>(), any::<[u8; 2]>(), any::<[u32; 2]>(), match_()).prop_map(
        |(longs, shorts, [reason, table_id], [duration_sec, duration_nsec], match_)| {
            let [cookie, packet_count, byte_count] = longs;
            let [priority, idle_timeout, hard_timeout] = shorts;
            FlowRemoved {
                cookie,
                priority,
                reason: FlowRemovedReason(reason),
                table_id: TableNo(table_id),
                duration_sec,
                duration_nsec,
                idle_timeout,
                hard_timeout,
                packet_count,
                byte_count,
                match_,
            }
        },
    )
}

fn packet_out() -> impl Strategy<Value = PacketOut> {
    (any::<u32>(), port_no(), actions(), bytes()).prop_map(|(buffer_id, in_port, actions, data)| {
        PacketOut { buffer_id, in_port, actions, data }
    })
}

fn flow_mod() -> impl Strategy<Value = FlowMod> {
    let fixed = (any::<[u64; 2]>(), any::<[u8; 2]>(), any::<[u16; 4]>(), any::<u32>());
    (fixed, port_no(), group_no(), match_(), instructions()).prop_map(
        |(fixed, out_port, out_group, match_, instructions)| {
            let ([cookie, cookie_mask], [table_id, command], shorts, buffer_id) = fixed;
            let [idle_timeout, hard_timeout, priority, flags] = shorts;
            FlowMod {
                cookie,
                cookie_mask,
                table_id: TableNo(table_id),
                command: FlowModCommand(command),
                idle_timeout,
                hard_timeout,
                priority,
                buffer_id,
                out_port,
                out_group,
                flags: FlowModFlags(flags),
                match_,
                instructions,
            }
        },
    )
}

fn group_mod() -> impl Strategy<Value = GroupMod> {
    (any::<(u16, u8)>(), group_no(), vec(bucket(), 0..4)).prop_map(
        |((command, kind), group_id, buckets)| GroupMod {
            command: GroupModCommand(command),
            kind: GroupType(kind),
            group_id,
            buckets,
        },
    )
}

fn port_mod() -> impl Strategy<Value = PortMod> {
    (port_no(), mac(), any::<[u32; 3]>()).prop_map(|(port_no, hw_addr, words)| {
        let [config, mask, advertise] = words;
        PortMod {
            port_no,
            hw_addr,
            config: PortConfig(config),
            mask: PortConfig(mask),
            advertise: PortFeatures(advertise),
        }
    })
}

fn queue_get_config_reply() -> impl Strategy<Value = QueueGetConfigReply> {
    let property = prop_oneof![
        any::<u16>().prop_map(QueueProperty::MinRate),
        any::<u16>().prop_map(QueueProperty::MaxRate),
        (any::<u32>(), bytes())
            .prop_map(|(experimenter, body)| QueueProperty::Experimenter { experimenter, body }),
        (unknown_kind(3..0xffff), bytes()).prop_map(|(kind, body)| QueueProperty::Unknown {
            kind: queue::QueuePropertyType(kind),
            body
        }),
    ];
    let queue = (any::<u32>(), port_no(), vec(property, 0..4))
        .prop_map(|(id, port, properties)| PacketQueue { queue_id: QueueNo(id), port, properties });
    (port_no(), vec(queue, 0..4)).prop_map(|(port, queues)| QueueGetConfigReply { port, queues })
}

fn role() -> impl Strategy<Value = RoleMessage> {
    any::<(u32, u64)>()
        .prop_map(|(role, generation_id)| RoleMessage { role: Role(role), generation_id })
}

fn async_config() -> impl Strategy<Value = AsyncConfig> {
    any::<[u32; 6]>().prop_map(|[a, b, c, d, e, f]| AsyncConfig {
        packet_in: AsyncMasks { master: a, slave: b },
        port_status: AsyncMasks { master: c, slave: d },
        flow_removed: AsyncMasks { master: e, slave: f },
    })
}

fn meter_mod() -> impl Strategy<Value = MeterMod> {
    (any::<(u16, u16, u32)>(), vec(meter_band(), 0..4)).prop_map(
        |((command, flags, meter_id), bands)| MeterMod {
            command: MeterModCommand(command),
            flags: MeterFlags(flags),
            meter_id: MeterNo(meter_id),
            bands,
        },
    )
}
