//! What a datapath of 1.3 says unasked.

use crate::datapath::flow::{DatapathFlow, Flags, FlowCounters, FlowModText};
use crate::datapath::forward::PacketInReport;
use crate::datapath::port::DatapathPort as Ours;
use crate::datapath::tables::Removed;
use aldis_wire::NO_BUFFER;
use aldis_wire::header::XID_NONE;
use aldis_wire::v13::Message;
use aldis_wire::v13::flow_removed::FlowRemoved;
use aldis_wire::v13::match_::Match;
use aldis_wire::v13::oxm::{Masked, Oxm};
use aldis_wire::v13::packet_in::PacketIn;
use aldis_wire::v13::port::{Port, PortConfig, PortFeatures, PortNo, PortState};
use aldis_wire::v13::port_status::{PortReason, PortStatus};
use aldis_wire::v13::table_mod::TableNo;
use std::time::Duration;

/// Speed of every port, in kb/s.
const SPEED_KBPS: u32 = 10_000_000;

/// Nothing is written where the message would be too long for its header.
fn write(message: &Message, out: &mut Vec<u8>) {
    let _ = message.encode(XID_NONE, out);
}

pub(in crate::datapath) fn packet_in(report: &PacketInReport<'_>, out: &mut Vec<u8>) {
    let mut fields = vec![Oxm::InPort(PortNo(report.in_port))];
    if report.metadata != 0 {
        fields.push(Oxm::Metadata(Masked::exact(report.metadata)));
    }
    let message = Message::PacketIn(PacketIn {
        buffer_id: NO_BUFFER,
        total_len: report.frame.len() as u16,
        reason: report.origin.reason,
        table_id: TableNo(report.origin.table),
        cookie: report.origin.cookie,
        match_: Match { fields },
        data: report.frame.to_vec(),
    });
    write(&message, out);
}

/// What a flow counted; all ones for what it was told not to count.
pub(super) fn counted(flow: &DatapathFlow) -> FlowCounters {
    let FlowCounters { mut packets, mut bytes } = flow.counters;
    if flow.flags.contains(Flags::NO_PKT_COUNTS) {
        packets = u64::MAX;
    }
    if flow.flags.contains(Flags::NO_BYT_COUNTS) {
        bytes = u64::MAX;
    }
    FlowCounters { packets, bytes }
}

/// What the controller said of a flow's match.
pub(super) fn match_of(flow: &DatapathFlow) -> Match {
    match &flow.said {
        FlowModText::V13 { match_, .. } => Match { fields: match_.to_vec() },
        FlowModText::V10 { .. } => Match::default(),
    }
}

pub(in crate::datapath) fn flow_removed(
    (table, flow, reason): &Removed,
    now: Duration,
    out: &mut Vec<u8>,
) {
    let lived = now.saturating_sub(flow.created);
    let FlowCounters { packets, bytes } = counted(flow);
    let message = Message::FlowRemoved(FlowRemoved {
        cookie: flow.cookie,
        priority: flow.priority,
        reason: *reason,
        table_id: TableNo(*table),
        duration_sec: lived.as_secs() as u32,
        duration_nsec: lived.subsec_nanos(),
        idle_timeout: flow.idle_timeout,
        hard_timeout: flow.hard_timeout,
        packet_count: packets,
        byte_count: bytes,
        match_: match_of(flow),
    });
    write(&message, out);
}

pub(in crate::datapath) fn port_status(port: &Ours, out: &mut Vec<u8>) {
    let desc = description(port);
    write(&Message::PortStatus(PortStatus { reason: PortReason::MODIFY, desc }), out);
}

/// A port as its description and PORT_STATUS say it.
pub(super) fn description(port: &Ours) -> Port {
    let speed = PortFeatures::F10GB_FD;
    Port {
        port_no: PortNo(port.number),
        hw_addr: port.address,
        name: port.name,
        config: PortConfig(port.config),
        state: if port.link { PortState::LIVE } else { PortState::LINK_DOWN },
        curr: speed,
        advertised: PortFeatures::EMPTY,
        supported: speed,
        peer: PortFeatures::EMPTY,
        curr_speed: SPEED_KBPS,
        max_speed: SPEED_KBPS,
    }
}
