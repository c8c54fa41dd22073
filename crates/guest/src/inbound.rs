//! What a guest says: each message is answered here, refused, or passed on to the switch within the
//! guest's grant.

mod actions;
mod flows;
#[cfg(test)]
mod tests;

use aldis_wire::header::kind;
use aldis_wire::msg::{
    FlowStatsRequest, GroupModCommand, GroupNo, Message, MeterModCommand, MeterNo, PacketOut,
    PortNo, StatsFlags, StatsReply, StatsReplyBody, StatsRequest, StatsRequestBody,
};
use aldis_wire::{Header, NO_BUFFER, Raw, Version};

use crate::datapath::Datapath;
use crate::refusal::Refusal;
use crate::relay::{Awaits, Relay};
use crate::session::GuestSession;

/// Where the actions of a PACKET_OUT end at the earliest (1.0 §5.3.6, 1.3.5 §7.3.7).
const PACKET_OUT_LEN: [usize; 2] = [16, 24];

/// EXPERIMENTER, which 1.0 calls VENDOR, and where it names the experimenter (1.0 §5.5.4, 1.3.5
/// §7.5.4).
const EXPERIMENTER: u8 = 4;
const EXPERIMENTER_ID: std::ops::Range<usize> = 8..12;

/// One message of a guest, and where what comes of it goes.
pub(crate) struct Inbound<'a> {
    pub(crate) datapath: &'a Datapath,
    pub(crate) session: &'a mut GuestSession,
    /// The version that the guest speaks.
    pub(crate) version: Version,
    /// What goes to the switch.
    pub(crate) relay: &'a mut Relay,
    /// What goes back to the guest.
    pub(crate) back: &'a mut Vec<u8>,
}

impl Inbound<'_> {
    /// Takes a message after the handshake. What is refused is told to the guest.
    pub(crate) fn take(&mut self, raw: Raw<'_>) {
        let before = (self.relay.bytes.len(), self.relay.meta.len());
        if let Err(refusal) = self.take_within(raw) {
            // Half of what it would have been may be there.
            self.relay.bytes.truncate(before.0);
            self.relay.meta.truncate(before.1);
            let counts = &self.datapath.guest.counts;
            match refusal {
                Refusal::Malformed | Refusal::Version => counts.faults.add(1),
                _ => counts.refused.add(1),
            }
            refusal.write(self.version, raw.bytes, self.back);
        }
    }

    fn take_within(&mut self, raw: Raw<'_>) -> Result<(), Refusal> {
        let grant = &self.datapath.guest.grant;
        let is_native = self.version == self.datapath.info.version;
        match raw.header.kind {
            _ if raw.header.version != self.version.wire() => Err(Refusal::Version),
            kind::PACKET_OUT if is_native && grant.passes_packets() => {
                if raw.bytes.len() < PACKET_OUT_LEN[usize::from(self.version == Version::V13)] {
                    return Err(Refusal::Malformed);
                }
                self.relay.push_raw(raw.bytes, raw.header.xid);
                Ok(())
            }
            kind::FLOW_MOD if is_native && grant.passes_flows() => self.pass_flow(raw),
            kind::ECHO_REQUEST => {
                let at = self.back.len();
                self.back.extend_from_slice(raw.bytes);
                self.back[at + 1] = kind::ECHO_REPLY;
                Ok(())
            }
            kind::ECHO_REPLY | kind::ERROR | kind::HELLO => Ok(()),
            EXPERIMENTER => self.experimenter(raw),
            _ => {
                let decoded = Message::decode(self.version, raw.bytes);
                let (xid, message) = decoded.map_err(|_| Refusal::Malformed)?;
                self.take_decoded(xid, message.meaning())
            }
        }
    }

    fn take_decoded(&mut self, xid: u32, message: Message) -> Result<(), Refusal> {
        let is_read_only = self.datapath.guest.grant.spec().read_only;
        match message {
            Message::FeaturesRequest
            | Message::GetConfigRequest
            | Message::SetConfig(_)
            | Message::RoleRequest(_)
            | Message::GetAsyncRequest
            | Message::SetAsync(_) => self.answer(xid, message),
            Message::BarrierRequest => self.ask(xid, &message, Awaits::Reply),
            Message::StatsRequest(request) => self.statistics(xid, request),
            Message::QueueGetConfigRequest(request) => {
                self.one_port(request.port)?;
                self.ask(xid, &Message::QueueGetConfigRequest(request), Awaits::Reply)
            }
            _ if is_read_only => Err(Refusal::Request),
            Message::PacketOut(packet) => self.packet_out(xid, packet),
            Message::FlowMod(flow) => self.flow_mod(xid, flow),
            Message::GroupMod(mut change) => {
                let command = change.command;
                if change.group_id == GroupNo::ALL && command == GroupModCommand::DELETE {
                    return self.delete_groups(xid, &change);
                }
                if !self.datapath.guest.grant.has_group(change.group_id.0) {
                    return Err(Refusal::Group);
                }
                for bucket in &mut change.buckets {
                    bucket.actions = self.actions(std::mem::take(&mut bucket.actions))?;
                }
                let is_delete = command == GroupModCommand::DELETE;
                self.datapath.kept().groups.change(change.group_id.0, is_delete)?;
                self.pass(xid, &Message::GroupMod(change))
            }
            Message::MeterMod(change) => {
                if change.meter_id == MeterNo::ALL && change.command == MeterModCommand::DELETE {
                    return self.delete_meters(xid, &change);
                }
                if !self.datapath.guest.grant.has_meter(change.meter_id.0) {
                    return Err(Refusal::Meter);
                }
                let is_delete = change.command == MeterModCommand::DELETE;
                self.datapath.kept().meters.change(change.meter_id.0, is_delete)?;
                self.pass(xid, &Message::MeterMod(change))
            }
            // These change what all share.
            Message::PortMod(_) | Message::TableMod(_)
                if self.datapath.guest.grant.passes_flows() =>
            {
                self.pass(xid, &message)
            }
            Message::PortMod(_) | Message::TableMod(_) => Err(Refusal::Request),
            _ => Err(Refusal::Type),
        }
    }

    /// Passes on a message that a granted experimenter defines. What is in it is not looked at.
    fn experimenter(&mut self, raw: Raw<'_>) -> Result<(), Refusal> {
        let id = raw.bytes.get(EXPERIMENTER_ID).ok_or(Refusal::Malformed)?;
        self.may_extend(id.iter().fold(0, |id, byte| id << 8 | u32::from(*byte)))?;
        let decoded = Message::decode(self.version, raw.bytes);
        let (xid, message) = decoded.map_err(|_| Refusal::Malformed)?;
        if self.version == self.datapath.info.version {
            self.relay.push_raw(raw.bytes, xid);
            return Ok(());
        }
        self.pass(xid, &message.meaning())
    }

    /// Whether this experimenter is granted, and may change something.
    fn may_extend(&self, experimenter: u32) -> Result<(), Refusal> {
        let grant = &self.datapath.guest.grant;
        match () {
            () if !grant.has_experimenter(experimenter) => Err(Refusal::Experimenter),
            () if grant.spec().read_only => Err(Refusal::Request),
            () => Ok(()),
        }
    }

    /// What is answered here: it is the guest's own, or known already.
    fn answer(&mut self, xid: u32, message: Message) -> Result<(), Refusal> {
        let answer = match message {
            Message::FeaturesRequest => Some(self.datapath.features(self.version)),
            Message::GetConfigRequest => Some(Message::GetConfigReply(self.session.config)),
            Message::SetConfig(config) => {
                self.session.config = config;
                None
            }
            Message::RoleRequest(request) => {
                Some(Message::RoleReply(self.session.take_role(request)?))
            }
            Message::GetAsyncRequest => Some(Message::GetAsyncReply(self.session.events)),
            Message::SetAsync(events) => {
                self.session.events = events;
                None
            }
            _ => return Err(Refusal::Type),
        };
        let encoded = answer.map(|answer| answer.encode(self.version, xid, self.back));
        encoded.transpose().map(drop).map_err(|_| Refusal::Type)
    }

    /// Passes a message on.
    fn pass(&mut self, xid: u32, message: &Message) -> Result<(), Refusal> {
        let version = self.datapath.info.version;
        self.relay.push(message, version, (xid, Awaits::Nothing)).map_err(|_| Refusal::Type)
    }

    /// Passes a question on.
    fn ask(&mut self, xid: u32, message: &Message, awaits: Awaits) -> Result<(), Refusal> {
        let asked = self.relay.meta.iter().filter(|(_, awaits)| *awaits != Awaits::Nothing);
        if asked.count() >= crate::limits::AWAITED_MAX || !self.datapath.asked().may_await() {
            return Err(Refusal::TooMany);
        }
        let version = self.datapath.info.version;
        self.relay.push(message, version, (xid, awaits)).map_err(|_| Refusal::Type)
    }

    fn one_port(&self, port: PortNo) -> Result<(), Refusal> {
        match port == PortNo::ANY || self.datapath.guest.grant.has_port(port) {
            true => Ok(()),
            false => Err(Refusal::Request),
        }
    }

    fn statistics(&mut self, xid: u32, mut request: StatsRequest) -> Result<(), Refusal> {
        let by_cookie = self.datapath.info.version == Version::V13;
        let grant = &self.datapath.guest.grant;
        let mut awaits = Awaits::Reply;
        match &mut request.body {
            StatsRequestBody::Flow(flows) => self.own_flows(flows)?,
            StatsRequestBody::Aggregate(flows) if by_cookie => self.own_flows(flows)?,
            StatsRequestBody::Aggregate(flows) => {
                request.body = StatsRequestBody::Flow(flows.clone());
                awaits = Awaits::Sum;
            }
            StatsRequestBody::PortStats(ports) => self.one_port(ports.port_no)?,
            StatsRequestBody::Queue(queues) => self.one_port(queues.port_no)?,
            StatsRequestBody::Group(groups)
                if groups.group_id != GroupNo::ALL && !grant.has_group(groups.group_id.0) =>
            {
                return Err(Refusal::Group);
            }
            StatsRequestBody::TableFeatures(changes) if !changes.is_empty() => {
                return Err(Refusal::Request);
            }
            StatsRequestBody::Experimenter(asked) => self.may_extend(asked.experimenter)?,
            StatsRequestBody::Unknown { .. } => return Err(Refusal::Type),
            StatsRequestBody::PortDesc => return self.describe_ports(xid),
            _ => {}
        }
        self.ask(xid, &Message::StatsRequest(request), awaits)
    }

    /// The ports are known here.
    fn describe_ports(&mut self, xid: u32) -> Result<(), Refusal> {
        let body = StatsReplyBody::PortDesc(self.datapath.described_ports());
        let reply = Message::StatsReply(StatsReply { flags: StatsFlags::EMPTY, body });
        reply.encode(self.version, xid, self.back).map_err(|_| Refusal::Type)
    }

    /// The question is about the guest's flows alone, where the switch can be asked so.
    fn own_flows(&self, flows: &mut FlowStatsRequest) -> Result<(), Refusal> {
        if self.datapath.info.version == Version::V13 {
            let own = self.datapath.guest.cookies.filter(flows.cookie, flows.cookie_mask);
            (flows.cookie, flows.cookie_mask) = own.ok_or(Refusal::Flow)?;
        }
        Ok(())
    }

    fn packet_out(&mut self, xid: u32, mut packet: PacketOut) -> Result<(), Refusal> {
        let grant = &self.datapath.guest.grant;
        if !grant.is_whole() {
            // A slice is handed whole packets: it holds no buffer.
            if packet.buffer_id != NO_BUFFER {
                return Err(Refusal::Buffer);
            }
            if packet.in_port.is_real() && !grant.has_port(packet.in_port) {
                return Err(Refusal::Request);
            }
            if !grant.has_frame(packet.in_port, &packet.data) {
                return Err(Refusal::Request);
            }
        }
        packet.actions = self.actions(packet.actions)?;
        self.pass(xid, &Message::PacketOut(packet))
    }
}

/// The header of a message with nothing behind it.
pub(crate) fn bare(version: Version, kind: u8, xid: u32) -> [u8; 8] {
    Header { version: version.wire(), kind, length: 8, xid }.to_bytes()
}
