//! What a datapath of 1.0 says unasked.

use crate::datapath::flow::{DatapathFlow, FlowModText};
use crate::datapath::forward::PacketInReport;
use crate::datapath::port::DatapathPort;
use crate::datapath::tables::Removed;
use aldis_wire::NO_BUFFER;
use aldis_wire::header::XID_NONE;
use aldis_wire::v10::{
    FlowRemoved, FlowRemovedReason, Match, Message, PacketIn, PacketInReason, PhyPort, PortConfig,
    PortFeatures, PortNo, PortReason, PortState, PortStatus,
};
use std::time::Duration;

/// Nothing is written where the message would be too long for its header.
fn write(message: &Message, out: &mut Vec<u8>) {
    let _ = message.encode(XID_NONE, out);
}

/// A port's number; one that this version cannot say is none.
pub(super) fn number(port: u32) -> PortNo {
    PortNo::narrow(port).unwrap_or(PortNo::NONE)
}

pub(in crate::datapath) fn packet_in(report: &PacketInReport<'_>, out: &mut Vec<u8>) {
    let message = Message::PacketIn(PacketIn {
        buffer_id: NO_BUFFER,
        total_len: report.frame.len() as u16,
        in_port: number(report.in_port),
        reason: PacketInReason(report.origin.reason.0),
        data: report.frame.to_vec(),
    });
    write(&message, out);
}

/// What the controller said of a flow's match.
pub(super) fn match_of(flow: &DatapathFlow) -> Match {
    match &flow.said {
        FlowModText::V10 { match_, .. } => *match_,
        FlowModText::V13 { .. } => Match::ANY,
    }
}

pub(in crate::datapath) fn flow_removed(
    (_, flow, reason): &Removed,
    now: Duration,
    out: &mut Vec<u8>,
) {
    let lived = now.saturating_sub(flow.created);
    let message = Message::FlowRemoved(FlowRemoved {
        match_: match_of(flow),
        cookie: flow.cookie,
        priority: flow.priority,
        reason: FlowRemovedReason(reason.0),
        duration_sec: lived.as_secs() as u32,
        duration_nsec: lived.subsec_nanos(),
        idle_timeout: flow.idle_timeout,
        packet_count: flow.counters.packets,
        byte_count: flow.counters.bytes,
    });
    write(&message, out);
}

pub(in crate::datapath) fn port_status(port: &DatapathPort, out: &mut Vec<u8>) {
    let desc = description(port);
    write(&Message::PortStatus(PortStatus { reason: PortReason::MODIFY, desc }), out);
}

/// A port as FEATURES_REPLY and PORT_STATUS describe it: 10 Gb/s.
pub(super) fn description(port: &DatapathPort) -> PhyPort {
    let speed = PortFeatures::OFPPF_10GB_FD;
    PhyPort {
        port_no: number(port.number),
        hw_addr: port.address,
        name: port.name,
        config: PortConfig(port.config),
        state: if port.link { PortState::EMPTY } else { PortState::LINK_DOWN },
        curr: speed,
        advertised: PortFeatures::EMPTY,
        supported: speed,
        peer: PortFeatures::EMPTY,
    }
}
