//! A link, and what is known of each of its two directions.

use core::time::Duration;

use aldis_control::Time;

use crate::place::SwitchPort;

use super::frame::Reach;
use super::relay::Window;

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
pub enum State {
    /// Probes came through one way only.
    OneWay,
    /// Both ways, but one of its ports showed a host before it went down and came up again: until enough probes took as
    /// long as those of other links, it may be two hosts that hand them on.
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
}

/// A link between two ports.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its ends.
    pub ends: Ends,
    /// Whether it is a cable, or leads through a switch that is not ours.
    pub reach: Reach,
    /// How far it can be relied on.
    pub state: State,
    /// Since when it has been in this state.
    pub since: Time,
    /// Whether it takes so much longer than other links that somebody may be in between.
    pub slow: bool,
    pub(super) must_prove: bool,
    pub(super) halves: [Option<Half>; 2],
}

impl Link {
    pub(super) fn new(ends: Ends, reach: Reach, must_prove: bool, now: Time) -> Link {
        let state = State::OneWay;
        Link { ends, reach, state, since: now, slow: false, must_prove, halves: [None; 2] }
    }

    /// When a probe last came through from this end.
    pub fn seen_from(&self, from: SwitchPort) -> Option<Time> {
        self.halves[self.ends.direction(from)].map(|half| half.seen)
    }

    /// What the link itself takes from this end, if the round trips to both switches are known: the lower quartile of the
    /// last probes.
    pub fn latency_from(&self, from: SwitchPort) -> Option<Duration> {
        self.halves[self.ends.direction(from)].and_then(|half| half.window.quartile())
    }

    pub(super) fn half_mut(&mut self, from: SwitchPort) -> &mut Option<Half> {
        &mut self.halves[self.ends.direction(from)]
    }

    /// A probe came through.
    pub(super) fn heard(&mut self, from: SwitchPort, now: Time, latency: Option<Duration>) {
        let fresh = Half { seen: now, unheard: 0, window: Window::EMPTY };
        let half = self.half_mut(from).get_or_insert(fresh);
        (half.seen, half.unheard) = (now, 0);
        if let Some(latency) = latency {
            half.window.add(latency);
        }
    }

    /// Whether probes come through both ways.
    pub(super) fn is_both_ways(&self) -> bool {
        self.halves.iter().all(Option::is_some)
    }
}
