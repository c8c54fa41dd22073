//! One connection of one switch: from the first HELLO to the reason why it ended.
//!
//! A session is handed whole messages and moments, and returns what happened, the bytes to send and
//! the moment at which it wants to be called again ([`Session::deadline`]). It knows no socket and
//! no clock.
//!
//! ```text
//!         HELLO          FEATURES_REPLY           admit(Main)       PORT_DESC, BARRIER_REPLY
//!   Hello ──────▶ Features ────────────▶ Admission ─────────▶ Setup ────────────────────────▶ Up
//!                           Identified       │                                     SwitchInfo │ ▲
//!                                            └ admit(Auxiliary) ──▶ Auxiliary         hold() ▼ │
//!                                                                              Held ───────────┘
//!                                                                                    serve()
//! ```
//!
//! *Held* is an up session whose switch is not served yet: applications that saw it join hold it
//! back. Replies reach them; its PACKET_INs and port changes wait.
//!
//! The whole way from the left to the right is under one deadline; the time in *Admission* does not
//! count. The PACKET_INs of a session that is up never come here ([`Session::alive`] is all they
//! need).

mod codec;
pub mod duplicate;
mod fault;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod handshake;
mod held;
mod liveness;
pub mod negotiate;
mod requests;
mod step;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use aldis_wire::chop::Raw;
use aldis_wire::header::kind;
use aldis_wire::msg::Message;
use aldis_wire::{DatapathId, Malformed, Reason, Version};

use crate::app::Event;
use crate::limits::PROBE_LOOKS;
use crate::time::Time;
use codec::{ErrorMessage, Incoming};
use fault::Faults;
use handshake::PendingSwitch;
use held::HeldSession;
use liveness::{Liveness, Probe, Silence};
use requests::{Pending, Requests};

pub use negotiate::Versions;
pub use step::{Admission, Answer, Close, Refusal, Step, SwitchError};

/// What is wrong with a message that only a controller may send.
const NOT_A_SWITCHS: Malformed =
    Malformed { field: "header.type", offset: 1, reason: Reason::BadType };

/// How sessions are held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The versions that are offered.
    pub versions: Versions,
    /// How long the whole handshake may take, from the connection to the last reply; 0.1 s and
    /// more. Ten seconds: a switch with many ports behind a slow link needs three, and 5,000 that
    /// come at once take turns.
    pub handshake_within: Duration,
    /// Silence after which the switch is asked for an echo; 1 s and more. Fifteen seconds, as most
    /// controllers do.
    pub echo_every: Duration,
    /// How long the switch then has to say anything at all; 1 s and more. Fifteen seconds: a switch
    /// that is busy with thousands of flows leaves the control channel alone for several.
    pub echo_within: Duration,
    /// How long a connection has to answer when another one claims its datapath id; 0.1 s and more.
    /// One second, of which only that counts in which its socket was looked at and found empty.
    pub probe_within: Duration,
    /// How long a request of ours may await its reply; 0.1 s and more. Ten seconds: a barrier waits
    /// for every flow before it, and hardware writes some hundred flows a second.
    pub reply_within: Duration,
    /// How long a switch for which output waits may take for [`crate::limits::READ_FOR_CERTAIN`]
    /// bytes before it is dropped, or a quarter of that longer each time that it takes less; 1 s
    /// and more. Six seconds: a switch that is busy with thousands of flows leaves the control
    /// channel alone for some, and with what is on its way, and what its kernel still takes, a
    /// switch that never reads is gone within ten.
    pub stuck_within: Duration,
    /// How long applications may hold a switch back while it joins
    /// ([`crate::Output::hold_switch`]), all of them together; 0.1 s and more. Ten seconds: as long
    /// as the handshake before it.
    pub joining_within: Duration,
    /// Whether flows that are on the switch when it connects are deleted. They are not: traffic
    /// goes on over a restart of the controller.
    pub delete_flows: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            versions: Versions::ALL,
            handshake_within: Duration::from_secs(10),
            echo_every: Duration::from_secs(15),
            echo_within: Duration::from_secs(15),
            probe_within: Duration::from_secs(1),
            reply_within: Duration::from_secs(10),
            stuck_within: Duration::from_secs(6),
            joining_within: Duration::from_secs(10),
            delete_flows: false,
        }
    }
}

/// One connection of one switch.
#[derive(Debug)]
pub struct Session {
    config: Arc<Config>,
    phase: Phase,
    version: Option<Version>,
    dpid: Option<DatapathId>,
    handshake_by: Time,
    requests: Requests,
    liveness: Liveness,
    probe: Option<Probe>,
    faults: Faults,
    counts: Counts,
    delivers_unsolicited: bool,
}

#[derive(Debug)]
enum Phase {
    /// The switch has not said which versions it speaks.
    Hello,
    /// Nor its datapath id.
    Features,
    /// The engine has not said whether the connection stays.
    Admission(Box<PendingSwitch>),
    /// The switch has not said that it is ready.
    Setup(Box<PendingSwitch>),
    /// A main connection that applications hold back.
    Held(Box<HeldSession>),
    /// A main connection.
    Up,
    /// An auxiliary connection, up too.
    Auxiliary,
}

/// What a session passed over, and why: each number since the connection began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// PACKET_INs and port changes that came before they could be used.
    pub early: u64,
    /// Replies that neither the session nor an application awaited, or not any more; HELLOs after
    /// the first.
    pub unawaited: u64,
    /// Messages that were malformed, of another version, or a controller's to send.
    pub faults: u64,
    /// Errors that the switch sent.
    pub errors: u64,
}

impl Session {
    /// A connection was accepted at `now`: writes our HELLO to `out`. The upper eight bits of our
    /// transaction ids are `worker`.
    pub fn new(config: Arc<Config>, now: Time, worker: u8, out: &mut Vec<u8>) -> Session {
        let mut requests = Requests::new(worker);
        codec::hello(config.versions, requests.xid(), out);
        Session {
            phase: Phase::Hello,
            version: None,
            dpid: None,
            handshake_by: now + config.handshake_within,
            requests,
            liveness: Liveness::new(now),
            probe: None,
            faults: Faults::new(now),
            counts: Counts::default(),
            delivers_unsolicited: false,
            config,
        }
    }

    /// A message came. The answers, if any, are appended to `out`.
    ///
    /// # Errors
    /// The connection is to be closed, and what is in `out` is still worth sending before. The
    /// session is not to be used any more.
    pub fn receive(&mut self, now: Time, raw: Raw<'_>, out: &mut Vec<u8>) -> Result<Step, Close> {
        self.liveness.heard(now);
        let Some(version) = self.version else { return self.greet(raw, out) };
        if raw.header.kind == kind::HELLO {
            // It was said already, and changes nothing.
            self.counts.unawaited += 1;
            return Ok(Step::Nothing);
        }
        match codec::hear(version, raw) {
            Ok(Incoming::FromControllersOnly) => self.fault(now, raw, NOT_A_SWITCHS, out),
            Ok(heard) => self.heard(now, raw, heard, out),
            Err(why) => self.fault(now, raw, why, out),
        }
    }

    fn heard(
        &mut self,
        now: Time,
        raw: Raw<'_>,
        heard: Incoming,
        out: &mut Vec<u8>,
    ) -> Result<Step, Close> {
        let xid = raw.header.xid;
        if self.answers_applications(&heard) && heard.is_for_applications(xid) {
            return Ok(self.for_applications(raw));
        }
        if self.delivers_unsolicited && self.is_up() && heard.may_be_unsolicited() {
            return Ok(self.unsolicited(raw));
        }
        match heard {
            Incoming::Error(error_message) => return self.refused(raw, error_message, out),
            Incoming::Features(features) => return self.features(now, features),
            Incoming::Ports { ports, more } => return self.ports(xid, ports, more),
            Incoming::PortChange(change) if self.is_up() => {
                return Ok(Step::Event(Event::Port(change)));
            }
            Incoming::PortChange(change) => self.add_port_change(change)?,
            Incoming::Barrier => return Ok(self.barrier_reached(xid)),
            Incoming::EchoReply => return Ok(self.echoed(xid)),
            Incoming::EchoRequest => codec::echo_reply(raw, out),
            Incoming::OtherReply => self.counts.unawaited += 1,
            Incoming::PacketIn if !self.is_up() => self.counts.early += 1,
            Incoming::PacketIn
            | Incoming::FlowRemoved
            | Incoming::OtherNotice
            | Incoming::FromControllersOnly => {}
        }
        Ok(Step::Nothing)
    }

    /// A notice or a reply that only applications understand, in neutral words.
    fn for_applications(&self, raw: Raw<'_>) -> Step {
        let decoded = self.version.and_then(|version| Message::decode(version, raw.bytes).ok());
        match decoded.map(|(xid, message)| (xid, message.meaning())) {
            Some((_, Message::FlowRemoved(removed))) => {
                Step::Event(Event::FlowRemoved(Box::new(removed)))
            }
            Some((xid, message)) => Step::Event(Event::Reply { xid, message: Box::new(message) }),
            None => Step::Nothing,
        }
    }

    /// A message that answers nothing that was asked, in neutral words.
    fn unsolicited(&self, raw: Raw<'_>) -> Step {
        let decoded = self.version.and_then(|version| Message::decode(version, raw.bytes).ok());
        decoded.map_or(Step::Nothing, |(xid, message)| {
            let message = Box::new(message.meaning());
            Step::Event(Event::Unsolicited { xid, message })
        })
    }

    /// The peer did something wrong: it is told, unless what it sent was an error itself, and it is
    /// counted.
    ///
    /// A reply that the handshake awaits ends it when it is malformed: the switch has no other to
    /// give.
    fn fault(
        &mut self,
        now: Time,
        raw: Raw<'_>,
        why: Malformed,
        out: &mut Vec<u8>,
    ) -> Result<Step, Close> {
        self.counts.faults += 1;
        if let Some(version) = self.version
            && raw.header.kind != kind::ERROR
        {
            codec::error(version, raw, why.reason, out);
        }
        match self.requests.asked(raw.header.xid) {
            Some(Pending::Features) => {
                Err(Close::HandshakeMalformed { what: "FEATURES_REPLY", why })
            }
            Some(Pending::Ports) => {
                Err(Close::HandshakeMalformed { what: "port description", why })
            }
            _ if self.faults.add(now) => Err(Close::TooManyFaults(why)),
            _ => Ok(Step::Nothing),
        }
    }

    /// The switch sent an error.
    fn refused(
        &mut self,
        raw: Raw<'_>,
        error_message: ErrorMessage,
        out: &mut Vec<u8>,
    ) -> Result<Step, Close> {
        let xid = raw.header.xid;
        self.counts.errors += 1;
        if error_message.hello_failed && matches!(self.phase, Phase::Features) {
            return Err(Close::HelloRefused(error_message.in_words()));
        }
        let ErrorMessage { name, about, hint, .. } = error_message;
        let sent = SwitchError::beginning(raw.bytes);
        let error = Box::new(SwitchError { dpid: self.dpid, xid, name, about, hint, sent });
        match self.requests.end(xid) {
            Some(Pending::Features) => return Err(Close::HandshakeRefused(error)),
            Some(Pending::Barrier) => {
                return Ok(Step::Reply { xid, answer: Answer::Refused(error) });
            }
            Some(Pending::Ports) => self.no_ports(out),
            // A switch that knows no barriers is as ready as it will ever be.
            Some(Pending::Ready) => {
                if let up @ Step::Up(_) = self.finish_setup() {
                    return Ok(up);
                }
            }
            None => {}
        }
        Ok(Step::SwitchError(error))
    }

    fn barrier_reached(&mut self, xid: u32) -> Step {
        match self.requests.asked(xid) {
            Some(Pending::Ready) => {
                self.requests.end(xid);
                self.finish_setup()
            }
            Some(Pending::Barrier) => {
                self.requests.end(xid);
                Step::Reply { xid, answer: Answer::Done }
            }
            _ => {
                self.counts.unawaited += 1;
                Step::Nothing
            }
        }
    }

    fn echoed(&mut self, xid: u32) -> Step {
        match self.probe.take_if(|probe| probe.xid == xid) {
            Some(_) => Step::ProbeAnswered,
            None => Step::Nothing,
        }
    }

    /// Time passed. To be called when `now` is at or after [`Session::deadline`], again and again
    /// until it is not; earlier calls do no harm. What the socket holds should be received first:
    /// it may be the very message that is waited for.
    ///
    /// # Errors
    /// As [`Session::receive`].
    pub fn tick(&mut self, now: Time, out: &mut Vec<u8>) -> Result<Step, Close> {
        if let Some(probe) = self.probe.as_mut().filter(|probe| probe.due <= now)
            && probe.look(now + self.config.probe_within / PROBE_LOOKS)
        {
            self.probe = None;
            return Ok(Step::ProbeUnanswered);
        }
        if self.handshake_deadline() <= now {
            return Err(Close::HandshakeTooLong { waiting_for: self.waiting_for() });
        }
        if let Some(xid) = self.requests.late(now) {
            self.requests.end(xid);
            return Ok(Step::Reply { xid, answer: Answer::TooLate });
        }
        if self.held_deadline() <= now {
            return Ok(self.serve(now, true));
        }
        self.listen_to_silence(now, out)
    }

    fn listen_to_silence(&mut self, now: Time, out: &mut Vec<u8>) -> Result<Step, Close> {
        let is_ready = self.is_up() || self.is_held();
        let (Some(version), true) = (self.version, is_ready) else { return Ok(Step::Nothing) };
        match self.liveness.tick(now, self.config.echo_every, self.config.echo_within) {
            Silence::Short => {}
            Silence::Ask => codec::echo_request(version, self.requests.xid(), out),
            Silence::TooLong => return Err(Close::NoEcho),
        }
        Ok(Step::Nothing)
    }

    /// When [`Session::tick`] wants to be called next. It may move with every other call, mostly to
    /// later; a caller that keeps an earlier one calls once too often, and no more.
    pub fn deadline(&self) -> Time {
        let probe = self.probe.map_or(Time::NEVER, |probe| probe.due);
        let silence = match self.is_up() || self.is_held() {
            true => self.liveness.deadline(self.config.echo_every, self.config.echo_within),
            false => Time::NEVER,
        };
        let handshake = self.handshake_deadline().min(self.held_deadline());
        probe.min(handshake).min(self.requests.deadline()).min(silence)
    }

    /// Another connection claims this one's datapath id: the switch is asked for an echo. Either
    /// [`Step::ProbeAnswered`] comes, or [`Step::ProbeUnanswered`] does, once its socket was found
    /// empty for [`Config::probe_within`]. While a probe is under way this does nothing.
    pub fn probe(&mut self, now: Time, out: &mut Vec<u8>) {
        let (Some(version), None) = (self.version, self.probe) else { return };
        let due = now + self.config.probe_within / PROBE_LOOKS;
        let probe = Probe::new(self.requests.xid(), due);
        codec::echo_request(version, probe.xid, out);
        self.probe = Some(probe);
    }

    /// Whether the socket is to be read before [`Session::tick`], though nothing may have come.
    #[inline]
    pub fn wants_a_look(&self, now: Time) -> bool {
        self.probe.is_some_and(|probe| probe.due <= now)
    }

    /// Whether messages that answer nothing of ours are given out, as [`Event::Unsolicited`]. They
    /// are not, unless this is said: replies among them are counted as unawaited, and experimenter
    /// messages passed over.
    #[inline]
    pub fn deliver_unsolicited(&mut self, wanted: bool) {
        self.delivers_unsolicited = wanted;
    }

    /// So many bytes were read from the socket; none where it was empty.
    #[inline]
    pub fn was_read(&mut self, count: usize) {
        if let Some(probe) = &mut self.probe {
            probe.read(count);
        }
    }

    /// The switch sent something that the session need not see.
    #[inline]
    pub fn alive(&mut self, now: Time) {
        self.liveness.heard(now);
    }

    /// Asks the switch to finish everything sent before. [`Step::Reply`] comes with the transaction
    /// id returned here, after [`Config::reply_within`] at the latest.
    ///
    /// # Errors
    /// [`Busy`]: the switch is not up, or owes [`crate::limits::REQUESTS_MAX`] replies.
    pub fn barrier(&mut self, now: Time, out: &mut Vec<u8>) -> Result<u32, Busy> {
        let (Some(version), true) = (self.version, self.is_up()) else { return Err(Busy) };
        let by = now + self.config.reply_within;
        let xid = self.requests.ask(Pending::Barrier, by).ok_or(Busy)?;
        codec::barrier_request(version, xid, out);
        Ok(xid)
    }

    /// The version agreed on, once there is one.
    pub fn version(&self) -> Option<Version> {
        self.version
    }

    /// Whether the handshake is done, as a main connection or as an auxiliary one: PACKET_INs may
    /// be served.
    pub fn is_up(&self) -> bool {
        matches!(self.phase, Phase::Up | Phase::Auxiliary)
    }

    /// What was passed over so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

/// The switch cannot be asked anything more now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Busy;

impl core::fmt::Display for Busy {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the switch is not up, or owes too many replies to be asked more")
    }
}

impl core::error::Error for Busy {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that an idle switch costs has to fit 16 KiB; the session takes next to nothing of
    /// it.
    #[test]
    fn a_session_is_small() {
        assert!(size_of::<Session>() <= 256, "{} bytes", size_of::<Session>());
    }
}
