//! What a switch says to a guest: replies, errors and removed flows, as far as they are the
//! guest's.

use aldis_control::app::Next;
use aldis_control::output::taker;
use aldis_control::session::SwitchError;
use aldis_wire::msg::{FlowRemoved, FlowStats, Message, StatsFlags, StatsReply, StatsReplyBody};

use crate::datapath::Datapath;
use crate::refusal;

/// The general error that a request is not permitted, in both versions.
const NOT_PERMITTED: (u16, u16) = (1, 5);

/// Where the error data is in an ERROR, and in it the transaction id of the message it is about.
const DATA: usize = 12;
const DATA_XID: std::ops::Range<usize> = 4..8;

/// A flow of the guest is gone.
pub(crate) fn flow_removed(datapath: &Datapath, removed: &FlowRemoved, cookie: u64) {
    let match_ = datapath.guest.grant.widened(&removed.match_);
    let removed = FlowRemoved { cookie, match_, ..removed.clone() };
    datapath.tell(Message::FlowRemoved(removed), 0);
}

/// The switch refused something that the guest sent.
pub(crate) fn error(datapath: &Datapath, error: &SwitchError) -> Next {
    let mut asked = datapath.asked();
    let Some(xid) = asked.of_guest(error.xid) else { return Next::Continue };
    asked.answered(error.xid);
    let session = asked.session();
    drop(asked);
    let Some(session) = session else { return Next::Stop };
    let version = session.version();
    let u16_at = |at: usize| {
        let bytes = error.sent.get(at..at + 2).and_then(|bytes| bytes.first_chunk());
        bytes.map_or(0, |bytes| u16::from_be_bytes(*bytes))
    };
    let codes = match version == datapath.info.version {
        true => (u16_at(8), u16_at(10)),
        // The versions number them differently.
        false => NOT_PERMITTED,
    };
    let mut data = error.sent.get(DATA..).unwrap_or_default().to_vec();
    if let Some(there) = data.get_mut(DATA_XID) {
        there.copy_from_slice(&xid.to_be_bytes());
    }
    datapath.write(session, |out| refusal::write(version, xid, codes, &data, out));
    Next::Stop
}

/// The switch replied to something that the guest asked.
pub(crate) fn reply(datapath: &Datapath, xid: u32, message: &Message) -> Next {
    let mut asked = datapath.asked();
    let Some(awaited) = asked.awaited(xid) else {
        drop(asked);
        return extension(datapath, xid, message);
    };
    let of_guest = awaited.xid;
    let more = match message {
        Message::StatsReply(reply) => reply.flags.contains(StatsFlags::MORE),
        _ => false,
    };
    let message = match (message, &mut awaited.sum) {
        (Message::StatsReply(StatsReply { body: StatsReplyBody::Flow(flows), .. }), Some(sum)) => {
            for flow in flows.iter().filter_map(|flow| own(datapath, flow)) {
                sum.packet_count = sum.packet_count.saturating_add(flow.packet_count);
                sum.byte_count = sum.byte_count.saturating_add(flow.byte_count);
                sum.flow_count += 1;
            }
            let body = StatsReplyBody::Aggregate(*sum);
            let whole = Message::StatsReply(StatsReply { flags: StatsFlags::EMPTY, body });
            (!more).then_some(whole)
        }
        (Message::StatsReply(reply), _) => {
            let (flags, body) = (reply.flags, granted(datapath, &reply.body));
            Some(Message::StatsReply(StatsReply { flags, body }))
        }
        (other, _) => Some(other.clone()),
    };
    if !more {
        asked.answered(xid);
    }
    let session = asked.session();
    drop(asked);
    if let (Some(message), Some(session)) = (message, session) {
        datapath.tell_in(session, message, of_guest);
    }
    Next::Stop
}

/// The switch sent a message that an experimenter defines. One under an id that a controller took
/// answers what that guest sent, or concerns none; the others are for every guest to which the
/// experimenter is granted.
pub(crate) fn extension(datapath: &Datapath, xid: u32, message: &Message) -> Next {
    let Message::Experimenter(experimenter) = message else { return Next::Continue };
    let asked = datapath.asked();
    let (of_guest, session) = (asked.of_guest(xid), asked.session());
    drop(asked);
    if !datapath.guest.grant.has_experimenter(experimenter.experimenter) {
        return Next::Continue;
    }
    let (xid, next) = match of_guest {
        Some(of_guest) => (of_guest, Next::Stop),
        None if taker(xid).is_some() => return Next::Continue,
        None => (xid, Next::Continue),
    };
    if let Some(session) = session {
        datapath.tell_in(session, message.clone(), xid);
    }
    next
}

/// What of an answer is within the grant.
fn granted(datapath: &Datapath, body: &StatsReplyBody) -> StatsReplyBody {
    let grant = &datapath.guest.grant;
    match body {
        StatsReplyBody::Flow(flows) => {
            let own = flows.iter().filter_map(|flow| own(datapath, flow)).collect();
            StatsReplyBody::Flow(own)
        }
        StatsReplyBody::PortStats(ports) => {
            let ports = ports.iter().filter(|port| grant.has_port(port.port_no));
            StatsReplyBody::PortStats(ports.cloned().collect())
        }
        StatsReplyBody::PortDesc(ports) => {
            let ports = ports.iter().filter(|port| grant.has_port(port.port_no));
            StatsReplyBody::PortDesc(ports.cloned().collect())
        }
        StatsReplyBody::Queue(queues) => {
            let queues = queues.iter().filter(|queue| grant.has_port(queue.port_no));
            StatsReplyBody::Queue(queues.cloned().collect())
        }
        StatsReplyBody::Group(groups) => {
            let groups = groups.iter().filter(|group| grant.has_group(group.group_id.0));
            StatsReplyBody::Group(groups.cloned().collect())
        }
        StatsReplyBody::GroupDesc(groups) => {
            let groups = groups.iter().filter(|group| grant.has_group(group.group_id.0));
            StatsReplyBody::GroupDesc(groups.cloned().collect())
        }
        StatsReplyBody::Meter(meters) => {
            let meters = meters.iter().filter(|meter| grant.has_meter(meter.meter_id.0));
            StatsReplyBody::Meter(meters.cloned().collect())
        }
        StatsReplyBody::MeterConfig(meters) => {
            let meters = meters.iter().filter(|meter| grant.has_meter(meter.meter_id.0));
            StatsReplyBody::MeterConfig(meters.cloned().collect())
        }
        other => other.clone(),
    }
}

/// A flow as the guest said it, where it is the guest's.
fn own(datapath: &Datapath, flow: &FlowStats) -> Option<FlowStats> {
    let cookie = datapath.guest.cookies.of_guest(flow.cookie)?;
    let match_ = datapath.guest.grant.widened(&flow.match_);
    Some(FlowStats { cookie, match_, ..flow.clone() })
}
