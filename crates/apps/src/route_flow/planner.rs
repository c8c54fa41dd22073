//! What a flow request is answered.

use core::time::Duration;
use std::sync::Arc;

use aldis_control::Time;

use super::rule::{Key, Rule};
use super::way::{Found, Way};
use crate::place::SwitchPort;
use crate::recent::{Recent, Verdict};
use crate::routing::Routes;

/// How long the flows of an answered request may be on their way. Later, a switch that asks again lost them.
pub const IN_FLIGHT: Duration = Duration::from_millis(100);

/// What to do about a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer<'p> {
    /// Install all of `rules` in this order, or none of them, then send the packet out of `release`.
    Install {
        /// The flows, the last hop's first.
        rules: &'p [Rule],
        /// The destination's port.
        release: SwitchPort,
    },
    /// No flows are needed, or they are on their way already: send the packet out of this port.
    Release(SwitchPort),
    /// The destination is where the packet came from: it heard the packet, and nothing is to be done.
    Filter,
    /// No way leads there.
    NoWay,
}

/// Plans paths: one for each worker.
#[derive(Debug)]
pub struct Planner {
    // Of all workers: the requests of one switch may come to several of them.
    in_flight: Arc<Recent>,
    way: Way,
}

impl Planner {
    /// With what all workers share, for members that stay [`IN_FLIGHT`].
    pub fn new(in_flight: Arc<Recent>) -> Planner {
        Planner { in_flight, way: Way::default() }
    }

    /// The answer to such a request will be asked for soon: what is known of it is on its way until then.
    #[inline]
    pub fn foresee(&self, key: Key, (from, to): (SwitchPort, SwitchPort), version: u64) {
        self.in_flight.ask_for(self.in_flight.hash((key, from, to, version)));
    }

    /// The answer to a request: a packet of the flow `key` came in at `from`, and its receiver is at `to`. `version` is that
    /// of the World: what was answered by others does not count.
    pub fn answer(
        &mut self,
        now: Time,
        (routes, version): (&Routes, u64),
        key: Key,
        (from, to): (SwitchPort, SwitchPort),
    ) -> Answer<'_> {
        if from == to {
            return Answer::Filter;
        }
        match self.way.find(routes, &key, (from, to)) {
            Found::Nothing => return Answer::NoWay,
            Found::Back => return Answer::Release(to),
            Found::Way => {}
        }
        // Where there is no room to remember, flows are sent once too often.
        let hash = self.in_flight.hash((key, from, to, version));
        if self.in_flight.note(now, hash) == Verdict::Known {
            return Answer::Release(to);
        }
        Answer::Install { rules: self.way.rules(), release: to }
    }
}
