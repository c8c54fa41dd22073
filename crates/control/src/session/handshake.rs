//! From HELLO to the end of the handshake.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;

use aldis_wire::Version;
use aldis_wire::chop::Raw;
use aldis_wire::header::{HEADER_LEN, kind};
use aldis_wire::msg::{Port, PortChange, PortChangeReason};

use super::codec::{self, Features, Incoming};
use super::negotiate::negotiate;
use super::requests::Pending;
use super::step::{Admission, Close, Step};
use super::{Phase, Session};
use crate::limits::PORTS_MAX;
use crate::switch::SwitchInfo;
use crate::time::Time;

/// A pending switch: what is known of it before it is up.
#[derive(Debug)]
pub(super) struct PendingSwitch {
    info: SwitchInfo,
    auxiliary_id: u8,
    /// When its FEATURES_REPLY came.
    since: Time,
    /// What was said of its ports, in the order in which it came.
    changes: Vec<PortChange>,
}

impl Session {
    /// Before the versions are agreed on. The first message should be a HELLO; an echo request is
    /// answered all the same, in its own version.
    pub(super) fn greet(&mut self, raw: Raw<'_>, out: &mut Vec<u8>) -> Result<Step, Close> {
        match Greeting::of(raw.header.kind) {
            Some(Greeting::Hello) => self.agree(raw, out),
            Some(Greeting::EchoRequest) => {
                codec::echo_reply(raw, out);
                Ok(Step::Nothing)
            }
            Some(Greeting::Error) => Err(self.hello_refused(raw)),
            None => Err(Close::NoHello { version: raw.header.version, kind: raw.header.kind }),
        }
    }

    /// A message began whose end has not come, and may never: the length that a stranger's bytes
    /// seem to have means nothing. Another protocol is known by a whole header, and TLS by the
    /// first two bytes of it. Fewer bytes say nothing: Mininet sends three to see whether a
    /// controller listens.
    ///
    /// # Errors
    /// [`Close::NoHello`].
    pub fn begun(&self, bytes: &[u8]) -> Result<(), Close> {
        match *bytes {
            [version, kind, ..]
                if self.version.is_none()
                    && Greeting::of(kind).is_none()
                    && (bytes.len() >= HEADER_LEN || [version, kind] == TLS_HANDSHAKE) =>
            {
                Err(Close::NoHello { version, kind })
            }
            _ => Ok(()),
        }
    }

    fn agree(&mut self, raw: Raw<'_>, out: &mut Vec<u8>) -> Result<Step, Close> {
        let (theirs, ours) = (raw.header.version, self.config.versions);
        let bitmap = codec::bitmap(&raw.bytes[HEADER_LEN..]);
        let Some(version) = negotiate(ours, theirs, bitmap) else {
            codec::incompatible(theirs, ours, raw.header.xid, out);
            return Err(Close::BadVersion { theirs, ours });
        };
        self.version = Some(version);
        self.phase = Phase::Features;
        if let Some(xid) = self.requests.ask(Pending::Features, Time::NEVER) {
            codec::features_request(version, xid, out);
        }
        Ok(Step::Nothing)
    }

    fn hello_refused(&self, raw: Raw<'_>) -> Close {
        match codec::hear(self.config.versions.highest(), raw) {
            Ok(Incoming::Error(error_message)) => Close::HelloRefused(error_message.in_words()),
            Ok(_) => Close::NoHello { version: raw.header.version, kind: raw.header.kind },
            Err(why) => Close::HandshakeMalformed { what: "OFPT_ERROR", why },
        }
    }

    /// The FEATURES_REPLY came. Some switches send it with a transaction id of their own: there is
    /// only one such reply to come.
    pub(super) fn features(&mut self, now: Time, features: Features) -> Result<Step, Close> {
        let (Phase::Features, Some(version)) = (&self.phase, self.version) else {
            self.counts.unawaited += 1;
            return Ok(Step::Nothing);
        };
        self.requests.end_all();
        let Features { dpid, auxiliary_id, buffers, tables, ports } = features;
        let info = SwitchInfo { dpid, version, buffers, tables, ports: Vec::new() };
        self.dpid = Some(dpid);
        self.phase = Phase::Admission(Box::new(PendingSwitch {
            info,
            auxiliary_id,
            since: now,
            changes: Vec::new(),
        }));
        self.add_ports(ports)?;
        Ok(Step::Identified { dpid, auxiliary_id })
    }

    /// The engine's answer to [`Step::Identified`]; at any other time it does nothing.
    ///
    /// # Errors
    /// As [`Session::receive`]; [`Close::Refused`] where the connection was refused.
    pub fn admit(
        &mut self,
        now: Time,
        admission: Admission,
        out: &mut Vec<u8>,
    ) -> Result<Step, Close> {
        let pending = match mem::replace(&mut self.phase, Phase::Auxiliary) {
            Phase::Admission(pending) => pending,
            other => {
                self.phase = other;
                return Ok(Step::Nothing);
            }
        };
        self.liveness.heard(now);
        match admission {
            Admission::Refused(refusal) => Err(Close::Refused(refusal)),
            Admission::Auxiliary => Ok(Step::AuxiliaryUp {
                dpid: pending.info.dpid,
                auxiliary_id: pending.auxiliary_id,
            }),
            Admission::Main => {
                self.handshake_by = self.handshake_by + now.since(pending.since);
                self.set_up(pending.info.version, out);
                self.phase = Phase::Setup(pending);
                Ok(Step::Nothing)
            }
        }
    }

    /// Everything the handshake has to say to a main connection, in one go. The barrier comes last:
    /// its reply means that the rest took effect.
    fn set_up(&mut self, version: Version, out: &mut Vec<u8>) {
        codec::whole_packets(version, self.requests.xid(), out);
        if self.config.delete_flows {
            codec::delete_flows(version, self.requests.xid(), out);
        }
        codec::table_miss(version, self.requests.xid(), out);
        if version >= Version::V13
            && let Some(xid) = self.requests.ask(Pending::Ports, Time::NEVER)
        {
            codec::ports_request(version, xid, out);
        }
        self.ask_ready(version, out);
    }

    fn ask_ready(&mut self, version: Version, out: &mut Vec<u8>) {
        if let Some(xid) = self.requests.ask(Pending::Ready, Time::NEVER) {
            codec::barrier_request(version, xid, out);
        }
    }

    /// Some of the switch's ports. The last part of a reply ends its request.
    pub(super) fn ports(&mut self, xid: u32, ports: Vec<Port>, more: bool) -> Result<Step, Close> {
        if self.requests.asked(xid) != Some(Pending::Ports) {
            self.counts.unawaited += 1;
            return Ok(Step::Nothing);
        }
        self.add_ports(ports)?;
        if !more {
            self.requests.end(xid);
        }
        Ok(self.finish_setup())
    }

    /// The switch cannot name its ports. It can be programmed all the same, once a barrier says
    /// that it is done: if that was said already it is asked again, so that there is a message
    /// whose reply ends the handshake.
    pub(super) fn no_ports(&mut self, out: &mut Vec<u8>) {
        if let Some(version) = self.version
            && !self.requests.awaits(Pending::Ready)
        {
            self.ask_ready(version, out);
        }
    }

    /// Ends the handshake if nothing is awaited any more.
    pub(super) fn finish_setup(&mut self) -> Step {
        if self.requests.awaits(Pending::Ports) || self.requests.awaits(Pending::Ready) {
            return Step::Nothing;
        }
        match mem::replace(&mut self.phase, Phase::Up) {
            Phase::Setup(pending) => {
                Step::Up(SwitchInfo { ports: settled(pending.changes), ..pending.info })
            }
            other => {
                self.phase = other;
                Step::Nothing
            }
        }
    }

    fn add_ports(&mut self, ports: Vec<Port>) -> Result<(), Close> {
        ports.into_iter().try_for_each(|port| {
            self.add_port_change(PortChange { reason: PortChangeReason::Added, port })
        })
    }

    /// Keeps what is said of a port until the handshake is done, if it is known yet which switch
    /// the port belongs to.
    pub(super) fn add_port_change(&mut self, change: PortChange) -> Result<(), Close> {
        let changes = match &mut self.phase {
            Phase::Admission(pending) | Phase::Setup(pending) => &mut pending.changes,
            Phase::Held(held) => &mut held.changes,
            _ => {
                self.counts.early += 1;
                return Ok(());
            }
        };
        if changes.len() == PORTS_MAX {
            return Err(Close::TooManyPorts);
        }
        changes.push(change);
        Ok(())
    }

    /// What the handshake is waiting for, in words.
    pub(super) fn waiting_for(&self) -> &'static str {
        match self.phase {
            Phase::Hello => "its HELLO",
            Phase::Features => "its features",
            Phase::Admission(_) => "the decision which connection keeps its datapath id",
            Phase::Setup(_) if self.requests.awaits(Pending::Ports) => "its port description",
            Phase::Setup(_) | Phase::Held(_) | Phase::Up | Phase::Auxiliary => {
                "its reply to a barrier"
            }
        }
    }

    /// When the handshake will have taken too long; never once it is done.
    pub(super) fn handshake_deadline(&self) -> Time {
        match &self.phase {
            Phase::Hello | Phase::Features | Phase::Setup(_) => self.handshake_by,
            Phase::Admission(pending) => {
                pending.since + self.config.probe_within + self.config.handshake_within
            }
            Phase::Held(_) | Phase::Up | Phase::Auxiliary => Time::NEVER,
        }
    }
}

/// The ports after all these changes, by number: of each the last word counts.
fn settled(mut changes: Vec<PortChange>) -> Vec<Port> {
    changes.reverse();
    changes.sort_by_key(|change| change.port.number);
    changes.dedup_by_key(|change| change.port.number);
    changes.retain(|change| change.reason != PortChangeReason::Removed);
    changes.into_iter().map(|change| change.port).collect()
}

/// What every connection over TLS begins with: a record of the handshake's type, and the major
/// number of all versions since SSL 3 (RFC 8446, §5.1).
const TLS_HANDSHAKE: [u8; 2] = [0x16, 3];

/// What may come before the versions are agreed on.
enum Greeting {
    Hello,
    EchoRequest,
    Error,
}

impl Greeting {
    /// By its type.
    fn of(kind: u8) -> Option<Greeting> {
        match kind {
            kind::HELLO => Some(Greeting::Hello),
            kind::ECHO_REQUEST => Some(Greeting::EchoRequest),
            kind::ERROR => Some(Greeting::Error),
            _ => None,
        }
    }
}
