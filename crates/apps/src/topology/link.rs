//! A link, and what is known of each of its two directions.

use core::time::Duration;

use aldis_control::{SwitchPort, Time};

use super::lldp::Reach;
use super::map::LinkPeer;
use super::relay::{SAMPLES_MIN, Window};

/// Latencies that differ by no more are the same to others, in microseconds: less is the waiting of
/// a busy machine.
const TOLD_STEP_US: u32 = 50;

/// The two ends of a link, the lower one first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ends(SwitchPort, SwitchPort);

impl Ends {
    /// The link between these two ports, in either order.
    pub fn new(one: SwitchPort, other: SwitchPort) -> Ends {
        Ends(one.min(other), one.max(other))
    }

    /// Both ports, the lower one first.
    pub fn ports(self) -> [SwitchPort; 2] {
        [self.0, self.1]
    }

    /// The other end.
    pub fn across(self, from: SwitchPort) -> SwitchPort {
        if from == self.0 { self.1 } else { self.0 }
    }

    fn direction(self, from: SwitchPort) -> usize {
        usize::from(from != self.0)
    }
}

/// How far a link can be relied on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum LinkState {
    /// Probes came through one way only.
    OneWay,
    /// Both ways, but one of its ports showed a host before it went down and came up again: until
    /// enough probes took as long as those of other links, it may be two hosts that hand them on.
    Unproven,
    /// Both ways.
    Up,
}

/// One direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Half {
    /// When a probe last came through.
    pub(super) seen: Time,
    /// Probes sent since.
    pub(super) unheard: u8,
    pub(super) window: Window,
    /// Its latency as others were told last, in microseconds; 0 where nothing was said.
    pub(super) told_us: u32,
}

impl Half {
    /// Whether its latency is another than others were told, by more than a quarter and more than
    /// [`TOLD_STEP_US`]; then they are told.
    fn tells(&mut self) -> bool {
        let quartile = self.window.quartile().unwrap_or_default();
        let us = u32::try_from(quartile.as_micros()).unwrap_or(u32::MAX);
        let step_us = TOLD_STEP_US.max(self.told_us / 4);
        let differs = self.told_us == 0 || us.abs_diff(self.told_us) > step_us;
        if differs && self.window.len() >= SAMPLES_MIN {
            self.told_us = us.max(1);
            return true;
        }
        false
    }
}

/// A link between two ports.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its ends.
    pub ends: Ends,
    /// Whether it is a cable, or leads through a switch that is not ours.
    pub reach: Reach,
    /// How far it can be relied on.
    pub state: LinkState,
    /// Since when it has been in this state.
    pub since: Time,
    /// Whether it takes so much longer than other links that it may be a relay.
    pub slow: bool,
    pub(super) must_prove: bool,
    pub(super) halves: [Option<Half>; 2],
}

impl Link {
    pub(super) fn new(ends: Ends, reach: Reach, must_prove: bool, now: Time) -> Link {
        let state = LinkState::OneWay;
        Link { ends, reach, state, since: now, slow: false, must_prove, halves: [None; 2] }
    }

    /// When a probe last came through from this end.
    pub fn seen_from(&self, from: SwitchPort) -> Option<Time> {
        self.halves[self.ends.direction(from)].map(|half| half.seen)
    }

    /// What the link itself takes from this end, if the round trips to both switches are known: the
    /// lower quartile of the last probes.
    pub fn latency_from(&self, from: SwitchPort) -> Option<Duration> {
        self.halves[self.ends.direction(from)].and_then(|half| half.window.quartile())
    }

    pub(super) fn half_mut(&mut self, from: SwitchPort) -> &mut Option<Half> {
        &mut self.halves[self.ends.direction(from)]
    }

    /// A probe came through; whether others have to be told: it is the first, or the link takes
    /// another time now.
    pub(super) fn heard(&mut self, from: SwitchPort, now: Time, latency: Option<Duration>) -> bool {
        let fresh = Half { seen: now, unheard: 0, window: Window::EMPTY, told_us: 0 };
        let half = self.half_mut(from);
        let is_first = half.is_none();
        let half = half.get_or_insert(fresh);
        (half.seen, half.unheard) = (now, 0);
        if let Some(latency) = latency {
            half.window.add(latency);
        }
        is_first | half.tells()
    }

    /// The link as seen from one of its ends.
    pub(super) fn peer_from(&self, from: SwitchPort) -> LinkPeer {
        let [out, back] = [from, self.ends.across(from)]
            .map(|end| self.halves[self.ends.direction(end)].as_ref());
        LinkPeer {
            at: self.ends.across(from),
            state: self.state,
            since: self.since,
            out: out.is_some(),
            back: back.is_some(),
            slow: self.slow,
            latency_us: out.map_or(0, |half| half.told_us),
        }
    }

    /// Whether probes come through both ways.
    pub(super) fn is_both_ways(&self) -> bool {
        self.halves.iter().all(Option::is_some)
    }
}
