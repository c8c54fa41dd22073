//! What is known of one port.

use std::collections::VecDeque;
use std::time::Duration;

use aldis_control::{SwitchPort, Time};
use aldis_wire::MacAddr;

use super::link::Ends;
use super::lldp::{LldpProbe, Nonce, Reach};

/// Probes of a port that may be on their way: those of two seconds in its first, fast ones.
const SENT_MAX: usize = 6;

/// How long a probe that was sent is remembered: it counts for two seconds, and for as many again
/// it is told from one that never was. A port that is probed slowly then remembers one.
const SENT_FOR: Duration = Duration::from_secs(4);

/// Probes of a port that leave fast: one or two may be too early for the switch at the other end,
/// the third is for those that are not ours. When the fourth leaves, each of them had its time to
/// arrive.
pub(super) const FAST_TURNS: u32 = 4;

/// Probes after which a port without any link is quiet. At the default interval they take 40
/// seconds.
const QUIET_AFTER: u32 = FAST_TURNS + 8;

/// Switches that one far probe may reach, and so far links of one port.
pub const FAR_MAX: usize = 16;

/// A probe that was sent.
#[derive(Clone, Debug)]
pub(super) struct SentProbe {
    pub(super) at: Time,
    sequence: u64,
    nonce: Nonce,
    reach: Reach,
    /// The ports that it came in by.
    heard: Vec<SwitchPort>,
}

impl SentProbe {
    /// Notes that it came in by a port; false where it can not have done so. Of ports that have no
    /// link there only so many count: those that have one count whatever came before them.
    pub(super) fn arrive(&mut self, at: SwitchPort, is_linked: bool) -> bool {
        let most = if self.reach == Reach::Direct { 1 } else { FAR_MAX };
        let has_room = is_linked || self.heard.len() < most;
        let is_first = has_room && !self.heard.contains(&at);
        if is_first {
            self.heard.push(at);
        }
        is_first
    }
}

/// A port that is up.
#[derive(Clone, Debug)]
pub(super) struct ProbedPort {
    pub(super) mac: MacAddr,
    /// When it came up.
    pub(super) up_at: Time,
    /// Whether a link of ours that was there when it came up would have been found.
    pub(super) settled: bool,
    /// How many probes left it since it came up, or since a link of it vanished.
    pub(super) turns: u32,
    /// When the next is due.
    pub(super) due: Time,
    sent: VecDeque<SentProbe>,
    /// Its direct link.
    pub(super) link: Option<Ends>,
    /// Its links through switches that are not ours.
    pub(super) far: Vec<Ends>,
    /// Links that it had since it came up and that were believed; the newest first, [`FAR_MAX`] at
    /// most.
    was: Vec<Ends>,
    /// When it last showed a host.
    pub(super) shown: Option<Time>,
    /// When it went down before, if it had shown a host then.
    pub(super) history: Option<Time>,
}

impl ProbedPort {
    pub(super) fn new(mac: MacAddr, now: Time, history: Option<Time>) -> ProbedPort {
        ProbedPort {
            mac,
            up_at: now,
            settled: false,
            turns: 0,
            due: now,
            sent: VecDeque::new(),
            link: None,
            far: Vec::new(),
            was: Vec::new(),
            shown: None,
            history,
        }
    }

    /// Whether a link of ours that begins here would have been found, and found to work both ways.
    pub(super) fn is_searched(&self) -> bool {
        self.turns >= FAST_TURNS
    }

    /// Whether it leads to no switch of ours, as far as enough probes could show: most such ports
    /// lead to hosts.
    pub(super) fn is_quiet(&self) -> bool {
        self.turns >= QUIET_AFTER && self.link.is_none() && self.far.is_empty()
    }

    /// Remembers a probe that leaves now; whether it is the last that could have found a link that
    /// there is.
    pub(super) fn send(&mut self, now: Time, probe: &LldpProbe) -> bool {
        let is_old = |sent: &SentProbe| now.since(sent.at) > SENT_FOR;
        while self.sent.len() >= SENT_MAX || self.sent.front().is_some_and(is_old) {
            self.sent.pop_front();
        }
        if self.sent.is_empty() {
            self.sent.shrink_to(1);
        }
        let LldpProbe { sequence, nonce, reach, .. } = *probe;
        self.sent.push_back(SentProbe { at: now, sequence, nonce, reach, heard: Vec::new() });
        self.turns = self.turns.saturating_add(1);
        self.settled |= self.is_searched();
        self.turns == FAST_TURNS
    }

    /// The probe with this number left no sooner than now.
    pub(super) fn left(&mut self, now: Time, sequence: u64) {
        if let Some(sent) = self.sent.iter_mut().find(|sent| sent.sequence == sequence) {
            sent.at = sent.at.max(now);
        }
    }

    /// The probe of this port that this one says to be.
    pub(super) fn sent(&mut self, probe: &LldpProbe) -> Option<&mut SentProbe> {
        self.sent.iter_mut().find(|sent| {
            sent.sequence == probe.sequence
                && sent.nonce == probe.nonce
                && sent.reach == probe.reach
        })
    }

    /// A link that begins here vanished: what the port leads to is to be looked for. Whether it was
    /// believed tells whether it may come back whatever showed here meanwhile.
    pub(super) fn lose(&mut self, ends: Ends, was_believed: bool) {
        self.link = self.link.filter(|&link| link != ends);
        self.far.retain(|&far| far != ends);
        self.turns = 0;
        self.was.retain(|&was| was != ends);
        if was_believed {
            self.was.truncate(FAR_MAX - 1);
            self.was.insert(0, ends);
        }
    }

    /// Whether there was any believed link, and is not any more, since the port came up.
    pub(super) fn had_any(&self) -> bool {
        !self.was.is_empty()
    }

    /// Whether there was this one.
    pub(super) fn had(&self, ends: Ends) -> bool {
        self.was.contains(&ends)
    }
}
