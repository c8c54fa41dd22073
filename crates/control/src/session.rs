//! One connection of one switch: from the first HELLO to the reason why it ended.
//!
//! A session is handed whole messages and moments, and returns what happened, the bytes to send and the moment at which
//! it wants to be called again ([`Session::deadline`]). It knows no socket and no clock.
//!
//! ```text
//!           HELLO            FEATURES_REPLY          admit(Main)         PORT_DESC, BARRIER_REPLY
//!   Hello ─────────▶ Features ────────────▶ Admission ──────────▶ Setup ────────────────────────▶ Up
//!                              Identified       │                                                Info
//!                                               └ admit(Auxiliary) ─────────────────────────────▶ Auxiliary
//! ```
//!
//! The whole way from the left to the right is under one deadline; the time in *Admission* does not count. The
//! PACKET_INs of a session that is up never come here ([`Session::alive`] is all they need).

pub mod duplicate;
pub mod negotiate;
mod step;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use aldis_wire::Version;
use aldis_wire::chop::Raw;

use crate::time::Time;
pub use negotiate::Versions;
pub use step::{Admission, Answer, Close, Refusal, Step, SwitchError};

/// How sessions are held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The versions that are offered.
    pub versions: Versions,
    /// How long the whole handshake may take, from the connection to the last reply; 0.1 s and more. Ten seconds: a
    /// switch with many ports behind a slow link needs three, and 5,000 that come at once take turns.
    pub handshake_within: Duration,
    /// Silence after which the switch is asked for an echo; 1 s and more. Fifteen seconds, as most controllers do.
    pub echo_every: Duration,
    /// How long the switch then has to say anything at all; 1 s and more. Fifteen seconds: a switch that is busy with
    /// thousands of flows leaves the control channel alone for several.
    pub echo_within: Duration,
    /// How long a connection has to answer when another one claims its datapath id; 0.1 s and more. One second.
    pub probe_within: Duration,
    /// How long a request of ours may await its reply; 0.1 s and more. Ten seconds: a barrier waits for every flow before
    /// it, and hardware writes some hundred flows a second.
    pub reply_within: Duration,
    /// Whether flows that are on the switch when it connects are deleted. They are not: traffic goes on over a restart
    /// of the controller.
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
            delete_flows: false,
        }
    }
}

/// One connection of one switch.
#[derive(Debug)]
pub struct Session {
    config: Arc<Config>,
    version: Option<Version>,
    up: bool,
    handshake_by: Time,
    worker: u8,
}

impl Session {
    /// A connection was accepted at `now`: writes our HELLO to `out`. The upper eight bits of our transaction ids are
    /// `worker`.
    pub fn new(config: Arc<Config>, now: Time, worker: u8, out: &mut Vec<u8>) -> Session {
        let _ = out;
        let handshake_by = now + config.handshake_within;
        Session { config, version: None, up: false, handshake_by, worker }
    }

    /// A message came. The answers, if any, are appended to `out`.
    ///
    /// # Errors
    /// The connection is to be closed, and what is in `out` is still worth sending before. The session is not to be used
    /// any more.
    pub fn receive(&mut self, now: Time, raw: Raw<'_>, out: &mut Vec<u8>) -> Result<Step, Close> {
        let _ = (now, raw, out, &self.config, self.worker);
        Ok(Step::Nothing)
    }

    /// The engine's answer to [`Step::Identified`]; at any other time it does nothing.
    ///
    /// # Errors
    /// As [`Session::receive`]; [`Close::Refused`] where it was refused.
    pub fn admit(
        &mut self,
        now: Time,
        admission: Admission,
        out: &mut Vec<u8>,
    ) -> Result<Step, Close> {
        let _ = (now, admission, out);
        Ok(Step::Nothing)
    }

    /// Time passed. To be called when `now` is at or after [`Session::deadline`], again and again until it is not; earlier
    /// calls do no harm. What the socket holds should be received first: it may be the very message that is waited for.
    ///
    /// # Errors
    /// As [`Session::receive`].
    pub fn tick(&mut self, now: Time, out: &mut Vec<u8>) -> Result<Step, Close> {
        let _ = (now, out);
        Ok(Step::Nothing)
    }

    /// When [`Session::tick`] wants to be called next. It may move with every other call, mostly to later; a caller that
    /// keeps an earlier one calls once too often, and no more.
    pub fn deadline(&self) -> Time {
        self.handshake_by
    }

    /// Another connection claims this one's datapath id: the switch is asked for an echo. Either [`Step::ProbeAnswered`]
    /// comes, or [`Close::Superseded`] does after [`Config::probe_within`]. While a probe is under way this does nothing.
    pub fn probe(&mut self, now: Time, out: &mut Vec<u8>) {
        let _ = (now, out);
    }

    /// The switch sent something that the session need not see.
    #[inline]
    pub fn alive(&mut self, now: Time) {
        let _ = now;
    }

    /// Asks the switch to finish everything sent before. [`Step::Reply`] comes with the transaction id returned here.
    ///
    /// # Errors
    /// [`Busy`]: the switch is not up, or owes [`crate::bounds::REQUESTS_MAX`] replies.
    pub fn barrier(&mut self, now: Time, out: &mut Vec<u8>) -> Result<u32, Busy> {
        let _ = (now, out);
        Err(Busy)
    }

    /// The version agreed on, once there is one.
    pub fn version(&self) -> Option<Version> {
        self.version
    }

    /// Whether the handshake is done, as a main connection or as an auxiliary one: PACKET_INs may be served.
    pub fn is_up(&self) -> bool {
        self.up
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
