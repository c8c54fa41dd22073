//! The bodies of multipart messages of OpenFlow 1.3.

use super::*;
use aldis_wire::v13::oxm::OxmClass;
use aldis_wire::v13::stats::group::BucketCounter;
use aldis_wire::v13::stats::group_features::GroupCapabilities;
use aldis_wire::v13::stats::meter::BandStats;
use aldis_wire::v13::stats::table_features::{ActionId, InstructionId, TablePropertyType};
use aldis_wire::v13::stats::*;

pub(crate) fn request() -> impl Strategy<Value = MultipartRequest> {
    use MultipartRequestBody as Body;
    let body = prop_oneof![
        prop::sample::select(vec![
            Body::Desc,
            Body::Table,
            Body::GroupDesc,
            Body::GroupFeatures,
            Body::MeterFeatures,
            Body::PortDesc,
        ]),
        flow_stats_request().prop_map(Body::Flow),
        flow_stats_request().prop_map(Body::Aggregate),
        port_no().prop_map(|port_no| Body::PortStats(PortStatsRequest { port_no })),
        (port_no(), any::<u32>()).prop_map(|(port_no, queue)| {
            Body::Queue(QueueStatsRequest { port_no, queue_id: QueueNo(queue) })
        }),
        group_no().prop_map(|group_id| Body::Group(GroupStatsRequest { group_id })),
        meter_request().prop_map(Body::Meter),
        meter_request().prop_map(Body::MeterConfig),
        vec(table_features(), 0..3).prop_map(Body::TableFeatures),
        experimenter().prop_map(Body::Experimenter),
        (unknown_kind(14..0xffff), bytes())
            .prop_map(|(kind, body)| Body::Unknown { kind: MultipartType(kind), body }),
    ];
    (any::<u16>(), body)
        .prop_map(|(flags, body)| MultipartRequest { flags: MultipartFlags(flags), body })
}

pub(crate) fn reply() -> impl Strategy<Value = MultipartReply> {
    use MultipartReplyBody as Body;
    let body = prop_oneof![
        desc().prop_map(|desc| Body::Desc(Box::new(desc))),
        vec(flow_stats(), 0..4).prop_map(Body::Flow),
        any::<(u64, u64, u32)>().prop_map(|(packet_count, byte_count, flow_count)| {
            Body::Aggregate(AggregateStats { packet_count, byte_count, flow_count })
        }),
        vec(table_stats(), 0..4).prop_map(Body::Table),
        vec(port_stats(), 0..4).prop_map(Body::PortStats),
        vec(queue_stats(), 0..4).prop_map(Body::Queue),
        vec(group_stats(), 0..4).prop_map(Body::Group),
        vec(group_desc(), 0..4).prop_map(Body::GroupDesc),
        group_features().prop_map(Body::GroupFeatures),
        vec(meter_stats(), 0..4).prop_map(Body::Meter),
        vec(meter_config(), 0..4).prop_map(Body::MeterConfig),
        meter_features().prop_map(Body::MeterFeatures),
        vec(table_features(), 0..3).prop_map(Body::TableFeatures),
        vec(port(), 0..4).prop_map(Body::PortDesc),
        experimenter().prop_map(Body::Experimenter),
        (unknown_kind(14..0xffff), bytes())
            .prop_map(|(kind, body)| Body::Unknown { kind: MultipartType(kind), body }),
    ];
    (any::<u16>(), body)
        .prop_map(|(flags, body)| MultipartReply { flags: MultipartFlags(flags), body })
}

fn flow_stats_request() -> impl Strategy<Value = FlowStatsRequest> {
    (any::<(u8, u64, u64)>(), port_no(), group_no(), match_()).prop_map(
        |((table_id, cookie, cookie_mask), out_port, out_group, match_)| FlowStatsRequest {
            table_id: TableNo(table_id),
            out_port,
            out_group,
            cookie,
            cookie_mask,
            match_,
        },
    )
}

fn meter_request() -> impl Strategy<Value = MeterRequest> {
    any::<u32>().prop_map(|meter| MeterRequest { meter_id: MeterNo(meter) })
}

fn experimenter() -> impl Strategy<Value = ExperimenterStats> {
    (any::<(u32, u32)>(), bytes()).prop_map(|((experimenter, exp_type), body)| ExperimenterStats {
        experimenter,
        exp_type,
        body,
    })
}

fn desc() -> impl Strategy<Value = Desc> {
    let short = |text: [u8; 32]| {
        let mut long = [0; 256];
        long[..32].copy_from_slice(&text);
        FixedText(long)
    };
    any::<[[u8; 32]; 5]>().prop_map(move |[mfr, hw, sw, serial, dp]| Desc {
        mfr_desc: short(mfr),
        hw_desc: short(hw),
        sw_desc: short(sw),
        serial_num: FixedText(serial),
        dp_desc: short(dp),
    })
}

fn flow_stats() -> impl Strategy<Value = FlowStats> {
    let fixed = (any::<u8>(), any::<[u32; 2]>(), any::<[u16; 4]>(), any::<[u64; 3]>());
    (fixed, match_(), instructions()).prop_map(|(fixed, match_, instructions)| {
        let (table_id, [duration_sec, duration_nsec], shorts, longs) = fixed;
        let [priority, idle_timeout, hard_timeout, flags] = shorts;
        let [cookie, packet_count, byte_count] = longs;
        FlowStats {
            table_id: TableNo(table_id),
            duration_sec,
            duration_nsec,
            priority,
            idle_timeout,
            hard_timeout,
            flags: FlowModFlags(flags),
            cookie,
            packet_count,
            byte_count,
            match_,
            instructions,
        }
    })
}

fn table_stats() -> impl Strategy<Value = TableStats> {
    any::<(u8, u32, u64, u64)>().prop_map(|(table, active_count, lookup_count, matched_count)| {
        TableStats { table_id: TableNo(table), active_count, lookup_count, matched_count }
    })
}

fn port_stats() -> impl Strategy<Value = PortStats> {
    (port_no(), any::<[u64; 12]>(), any::<[u32; 2]>()).prop_map(
        |(port_no, counters, [duration_sec, duration_nsec])| {
            let [
                rx_packets,
                tx_packets,
                rx_bytes,
                tx_bytes,
                rx_dropped,
                tx_dropped,
                rx_errors,
                tx_errors,
                rx_frame_err,
                rx_over_err,
                rx_crc_err,
                collisions,
            ] = counters;
            PortStats {
                port_no,
                rx_packets,
                tx_packets,
                rx_bytes,
                tx_bytes,
                rx_dropped,
                tx_dropped,
                rx_errors,
                tx_errors,
                rx_frame_err,
                rx_over_err,
                rx_crc_err,
                collisions,
                duration_sec,
                duration_nsec,
            }
        },
    )
}

fn queue_stats() -> impl Strategy<Value = QueueStats> {
    (port_no(), any::<[u32; 3]>(), any::<[u64; 3]>()).prop_map(|(port_no, words, longs)| {
        let [queue, duration_sec, duration_nsec] = words;
        let [tx_bytes, tx_packets, tx_errors] = longs;
        let queue_id = QueueNo(queue);
        QueueStats {
            port_no,
            queue_id,
            tx_bytes,
            tx_packets,
            tx_errors,
            duration_sec,
            duration_nsec,
        }
    })
}

fn group_stats() -> impl Strategy<Value = GroupStats> {
    let bucket = any::<(u64, u64)>()
        .prop_map(|(packet_count, byte_count)| BucketCounter { packet_count, byte_count });
    (group_no(), any::<[u32; 3]>(), any::<[u64; 2]>(), vec(bucket, 0..4)).prop_map(
        |(group_id, words, [packet_count, byte_count], buckets)| {
            let [ref_count, duration_sec, duration_nsec] = words;
            GroupStats {
                group_id,
                ref_count,
                packet_count,
                byte_count,
                duration_sec,
                duration_nsec,
                buckets,
            }
        },
    )
}

fn group_desc() -> impl Strategy<Value = GroupDesc> {
    (any::<u8>(), group_no(), vec(bucket(), 0..4)).prop_map(|(kind, group_id, buckets)| GroupDesc {
        kind: GroupType(kind),
        group_id,
        buckets,
    })
}

fn group_features() -> impl Strategy<Value = GroupFeatures> {
    any::<(u32, u32, [u32; 4], [u32; 4])>().prop_map(
        |(types, capabilities, max_groups, actions)| GroupFeatures {
            types,
            capabilities: GroupCapabilities(capabilities),
            max_groups,
            actions,
        },
    )
}

fn meter_stats() -> impl Strategy<Value = MeterStats> {
    let band = any::<(u64, u64)>().prop_map(|(packet_band_count, byte_band_count)| BandStats {
        packet_band_count,
        byte_band_count,
    });
    (any::<[u32; 4]>(), any::<[u64; 2]>(), vec(band, 0..4)).prop_map(
        |(words, [packet_in_count, byte_in_count], bands)| {
            let [meter, flow_count, duration_sec, duration_nsec] = words;
            MeterStats {
                meter_id: MeterNo(meter),
                flow_count,
                packet_in_count,
                byte_in_count,
                duration_sec,
                duration_nsec,
                bands,
            }
        },
    )
}

fn meter_config() -> impl Strategy<Value = MeterConfig> {
    (any::<(u16, u32)>(), vec(meter_band(), 0..4)).prop_map(|((flags, meter), bands)| MeterConfig {
        flags: MeterFlags(flags),
        meter_id: MeterNo(meter),
        bands,
    })
}

fn meter_features() -> impl Strategy<Value = MeterFeatures> {
    any::<(u32, u32, u32, u8, u8)>().prop_map(
        |(max_meter, band_types, capabilities, max_bands, max_color)| MeterFeatures {
            max_meter,
            band_types,
            capabilities,
            max_bands,
            max_color,
        },
    )
}

fn table_features() -> impl Strategy<Value = TableFeatures> {
    (any::<(u8, u64, u64, u32, u32)>(), text(), vec(table_property(), 0..5)).prop_map(
        |(fixed, name, properties)| {
            let (table_id, metadata_match, metadata_write, config, max_entries) = fixed;
            TableFeatures {
                table_id: TableNo(table_id),
                name,
                metadata_match,
                metadata_write,
                config: TableConfig(config),
                max_entries,
                properties,
            }
        },
    )
}

fn table_property() -> impl Strategy<Value = TableProperty> {
    use TableProperty as Property;
    let miss = any::<bool>;
    let instruction = (any::<u16>(), bytes())
        .prop_map(|(kind, rest)| InstructionId { kind: InstructionType(kind), rest });
    let action = || {
        let id = (any::<u16>(), bytes())
            .prop_map(|(kind, rest)| ActionId { kind: ActionType(kind), rest });
        vec(id, 0..4)
    };
    prop_oneof![
        (miss(), vec(instruction, 0..4))
            .prop_map(|(miss, ids)| Property::Instructions { miss, ids }),
        (miss(), vec(any::<u8>().prop_map(TableNo), 0..9))
            .prop_map(|(miss, tables)| Property::NextTables { miss, tables }),
        (miss(), action()).prop_map(|(miss, ids)| Property::WriteActions { miss, ids }),
        (miss(), action()).prop_map(|(miss, ids)| Property::ApplyActions { miss, ids }),
        oxm_ids().prop_map(|ids| Property::Match { ids }),
        oxm_ids().prop_map(|ids| Property::Wildcards { ids }),
        (miss(), oxm_ids()).prop_map(|(miss, ids)| Property::WriteSetField { miss, ids }),
        (miss(), oxm_ids()).prop_map(|(miss, ids)| Property::ApplySetField { miss, ids }),
        (miss(), any::<(u32, u32)>(), bytes()).prop_map(
            |(miss, (experimenter, exp_type), body)| {
                Property::Experimenter { miss, experimenter, exp_type, body }
            }
        ),
        (unknown_kind(16..0xfffe), bytes())
            .prop_map(|(kind, body)| Property::Unknown { kind: TablePropertyType(kind), body }),
    ]
}

fn oxm_ids() -> impl Strategy<Value = Vec<OxmId>> {
    let id = any::<(u32, u32)>().prop_map(|(header, experimenter)| {
        let header = OxmHeader(header);
        let is_experimenter = header.class() == OxmClass::EXPERIMENTER;
        OxmId { header, experimenter: is_experimenter.then_some(experimenter) }
    });
    let basic = (0..40u8, any::<bool>(), any::<u8>()).prop_map(|(field, has_mask, length)| OxmId {
        header: OxmHeader::new(OxmClass::OPENFLOW_BASIC, field, has_mask, length),
        experimenter: None,
    });
    let experimenter = (0..128u8, any::<u32>()).prop_map(|(field, experimenter)| OxmId {
        header: OxmHeader::new(OxmClass::EXPERIMENTER, field, false, 8),
        experimenter: Some(experimenter),
    });
    vec(prop_oneof![id, basic, experimenter], 0..6)
}
