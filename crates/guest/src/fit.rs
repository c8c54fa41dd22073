//! What a guest that speaks 1.0 is told by a switch of 1.3: what 1.0 has no words for is left out,
//! where the message means the same without.

use aldis_wire::Version;
use aldis_wire::msg::{
    Field, FlowModFlags, FlowRemovedReason, Message, PacketInReason, Port, PortDetails, StatsReply,
    StatsReplyBody, TableNo,
};

/// The message as the version of the guest can say it.
pub(crate) fn fitted(message: Message, version: Version) -> Message {
    if version != Version::V10 {
        return message;
    }
    match message {
        Message::PacketIn(mut packet) => {
            (packet.table_id, packet.cookie) = (TableNo(0), u64::MAX);
            packet.match_.fields.retain(|field| matches!(field, Field::InPort(_)));
            if packet.reason.0 > PacketInReason::ACTION.0 {
                packet.reason = PacketInReason::ACTION;
            }
            Message::PacketIn(packet)
        }
        Message::FlowRemoved(mut removed) => {
            (removed.table_id, removed.hard_timeout) = (TableNo(0), 0);
            if removed.reason.0 > FlowRemovedReason::DELETE.0 {
                removed.reason = FlowRemovedReason::DELETE;
            }
            Message::FlowRemoved(removed)
        }
        Message::PortChange(mut change) => {
            fit_port(&mut change.port);
            Message::PortChange(change)
        }
        Message::FeaturesReply(mut features) => {
            features.ports.iter_mut().for_each(fit_port);
            Message::FeaturesReply(features)
        }
        Message::StatsReply(StatsReply { flags, mut body }) => {
            fit_statistics(&mut body);
            Message::StatsReply(StatsReply { flags, body })
        }
        other => other,
    }
}

/// 1.0 knows the speed of a port by its features alone, up to 10 Gb/s: it is told none.
fn fit_port(port: &mut Port) {
    port.speed_kbps = 0;
    port.details = PortDetails::default();
}

fn fit_statistics(body: &mut StatsReplyBody) {
    match body {
        StatsReplyBody::Flow(flows) => {
            flows.retain(|flow| flow.table_id == TableNo(0));
            flows.iter_mut().for_each(|flow| flow.flags = FlowModFlags::default());
        }
        StatsReplyBody::PortStats(ports) => ports.iter_mut().for_each(|port| {
            (port.duration_sec, port.duration_nsec) = (0, 0);
        }),
        StatsReplyBody::Queue(queues) => queues.iter_mut().for_each(|queue| {
            (queue.duration_sec, queue.duration_nsec) = (0, 0);
        }),
        _ => {}
    }
}
