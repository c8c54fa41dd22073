//! Flood detection: what claimants remember of a connection's ports from visit to visit.
//!
//! ```text
//!            a sample is skewed            one port asks for more
//!   Calm ───────────────────────▶ Suspected ──────────────────────▶ Flooded
//!    ▲                                │                                │
//!    └────────────────────────────────┴──── all ports ask alike ───────┘
//! ```
//!
//! The worker samples, counts and drops (`worker/shedding.rs`). It does so only where the switch
//! has filled every read for some time.

use aldis_control::Time;
use aldis_control::shed::Flood;

use crate::limits::{IN_FLIGHT_MAX, SHED_AFTER, SHED_AHEAD, SHED_REST};

/// Whether the switch asks for more than its share, and whether one of its ports floods.
#[derive(Debug)]
pub(crate) struct FloodWatch {
    /// Since when every visit has found a full read.
    full_since: Time,
    /// Whether that is long enough to say that it asks for more than its share.
    is_above_share: bool,
    state: FloodState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FloodState {
    /// Its ports ask alike, as far as is known. They are not sampled for `rest` visits.
    Calm { rest: u8 },
    /// A sample says that one port asks for more than the others.
    Suspected,
    /// One port does. For each request of the share, `depth` bytes serve the other ports whole; a
    /// request has `each` bytes.
    Flooded { depth: usize, each: usize },
}

/// What a visit does about a flood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FloodAction {
    Nothing,
    /// It samples the ports of some requests.
    Sample,
    /// It counts all requests by port, and drops what is above the share.
    Shed,
}

impl Default for FloodWatch {
    fn default() -> Self {
        let state = FloodState::Calm { rest: 0 };
        FloodWatch { full_since: Time::NEVER, is_above_share: false, state }
    }
}

impl FloodWatch {
    /// A read was full, or not.
    #[inline]
    pub(crate) fn read(&mut self, now: Time, full: bool) {
        self.full_since = if full { self.full_since.min(now) } else { Time::NEVER };
        self.is_above_share = full && now.since(self.full_since) >= SHED_AFTER;
    }

    /// What this visit does.
    #[inline]
    pub(crate) fn begin(&mut self) -> FloodAction {
        if !self.is_above_share {
            return FloodAction::Nothing;
        }
        match &mut self.state {
            FloodState::Calm { rest: 0 } => FloodAction::Sample,
            FloodState::Calm { rest } => {
                *rest -= 1;
                FloodAction::Nothing
            }
            FloodState::Suspected | FloodState::Flooded { .. } => FloodAction::Shed,
        }
    }

    /// How many bytes a visit of this share reads; 0 where it does not read ahead. What it keeps is
    /// not to exceed what may be in flight: the last part of a larger share is met by shedding.
    #[inline]
    pub(crate) fn read_ahead(&self, share: u32) -> usize {
        match self.state {
            FloodState::Flooded { depth, each }
                if self.is_above_share && each.saturating_mul(share as usize) <= IN_FLIGHT_MAX =>
            {
                depth.saturating_mul(share as usize).min(SHED_AHEAD)
            }
            _ => 0,
        }
    }

    /// A sample is skewed: the next visit counts all requests.
    pub(crate) fn suspect(&mut self) {
        self.state = FloodState::Suspected;
    }

    /// All requests of a visit of so many bytes were counted.
    pub(crate) fn counted(&mut self, bytes: usize, flood: Option<Flood>) {
        self.state = match flood {
            None => FloodState::Calm { rest: SHED_REST },
            Some(Flood { ports, most, others }) => {
                // Of the others, each asks for this part of its height at most when so much is read
                // for a request.
                let depth = bytes * (ports - 1) / (others * ports).max(1);
                let each = bytes / (most + others).max(1);
                FloodState::Flooded { depth: (depth - depth / 16).max(1), each }
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_sampled_when_the_switch_has_had_a_queue_for_a_while() {
        let mut watch = FloodWatch::default();
        let mut now = Time::START;
        let mut visit = |watch: &mut FloodWatch, full: bool| {
            now = now + SHED_AFTER;
            watch.read(now, full);
            watch.begin()
        };
        assert_eq!(visit(&mut watch, true), FloodAction::Nothing);
        assert_eq!(visit(&mut watch, true), FloodAction::Sample);
        watch.suspect();
        assert_eq!((visit(&mut watch, true), watch.read_ahead(800)), (FloodAction::Shed, 0));
        let flood = Flood { ports: 8, most: 470, others: 329 };
        watch.counted(799 * 82, Some(flood));
        // Seventeen eighths of the share, and a sixteenth less.
        assert_eq!(
            (visit(&mut watch, true), watch.read_ahead(800)),
            (FloodAction::Shed, 800 * 164)
        );
        assert_eq!((watch.read_ahead(1_198), watch.read_ahead(1_199)), (1_198 * 164, 0));
        assert_eq!(watch.read_ahead(u32::MAX), 0);
        assert_eq!((visit(&mut watch, false), watch.read_ahead(800)), (FloodAction::Nothing, 0));
        assert_eq!(
            [true, true].map(|full| visit(&mut watch, full)),
            [FloodAction::Nothing, FloodAction::Shed]
        );
        watch.counted(799 * 82, None);
        for _ in 0..SHED_REST {
            assert_eq!(visit(&mut watch, true), FloodAction::Nothing);
        }
        assert_eq!(visit(&mut watch, true), FloodAction::Sample);
    }
}
