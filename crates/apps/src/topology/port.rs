//! What is known of one port.

use std::collections::VecDeque;
use std::time::Duration;

use aldis_control::Time;
use aldis_wire::MacAddr;

use crate::place::SwitchPort;

use super::frame::{Nonce, Probe, Reach};
use super::link::Ends;

/// Probes of a port that may be on their way: those of two seconds in its first, fast ones.
const SENT_MAX: usize = 6;

/// Probes of a port that leave fast: one or two may be too early for the switch at the other end, the third is for those
/// that are not ours. When the fourth leaves, each of them had its time to arrive.
pub(super) const FAST_TURNS: u32 = 4;

/// Switches that one far probe may reach, and so far links of one port.
pub const FAR_MAX: usize = 16;

/// A probe that was sent.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) at: Time,
    sequence: u64,
    nonce: Nonce,
    reach: Reach,
    /// The ports that it came in by.
    heard: Vec<SwitchPort>,
}

impl Sent {
    /// Notes that it came in by a port; false where it can not have done so.
    pub(super) fn arrive(&mut self, at: SwitchPort) -> bool {
        let most = if self.reach == Reach::Direct { 1 } else { FAR_MAX };
        let is_first = self.heard.len() < most && !self.heard.contains(&at);
        if is_first {
            self.heard.push(at);
        }
        is_first
    }
}

/// A port that is up, or was up not long ago.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub(super) mac: MacAddr,
    pub(super) up: bool,
    /// When it last came up.
    pub(super) up_at: Time,
    /// How many probes left it since, or since a link of it vanished.
    pub(super) turns: u32,
    /// When the next is due.
    pub(super) due: Time,
    sent: VecDeque<Sent>,
    /// Its direct link.
    pub(super) link: Option<Ends>,
    /// Its links through switches that are not ours.
    pub(super) far: Vec<Ends>,
    /// When it last showed a host.
    pub(super) shown: Option<Time>,
    /// When it went down, if it showed a host before.
    pub(super) history: Option<Time>,
}

impl Port {
    pub(super) fn new(mac: MacAddr, now: Time, history: Option<Time>) -> Port {
        Port {
            mac,
            up: true,
            up_at: now,
            turns: 0,
            due: now,
            sent: VecDeque::new(),
            link: None,
            far: Vec::new(),
            shown: None,
            history,
        }
    }

    /// Whether a link of ours that begins here would have been found, and found to work both ways.
    pub(super) fn is_searched(&self) -> bool {
        self.turns >= FAST_TURNS
    }

    /// Remembers a probe that leaves now; whether it is the last that could have found a link that there is.
    pub(super) fn send(&mut self, now: Time, probe: &Probe) -> bool {
        if self.sent.len() >= SENT_MAX {
            self.sent.pop_front();
        }
        let Probe { sequence, nonce, reach, .. } = *probe;
        self.sent.push_back(Sent { at: now, sequence, nonce, reach, heard: Vec::new() });
        self.turns = self.turns.saturating_add(1);
        self.turns == FAST_TURNS
    }

    /// The probe with this number left no sooner than now.
    pub(super) fn left(&mut self, now: Time, sequence: u64) {
        if let Some(sent) = self.sent.iter_mut().find(|sent| sent.sequence == sequence) {
            sent.at = sent.at.max(now);
        }
    }

    /// The probe of this port that this one says to be.
    pub(super) fn sent(&mut self, probe: &Probe) -> Option<&mut Sent> {
        self.sent.iter_mut().find(|sent| {
            sent.sequence == probe.sequence
                && sent.nonce == probe.nonce
                && sent.reach == probe.reach
        })
    }

    /// It goes down: all that is left is whether it had shown a host.
    pub(super) fn go_down(&mut self, now: Time, shown_for: Duration) {
        let showed = self.shown.is_some_and(|shown| now.since(shown) < shown_for);
        let history = if showed { Some(now) } else { self.history };
        *self = Port { up: false, ..Port::new(self.mac, now, history) };
    }
}
