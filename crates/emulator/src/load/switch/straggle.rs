//! Visits to a switch that reads badly, and its end.

use super::super::failure::Failure;
use super::{Desk, Stage, Switch};
use crate::poll::{Poll, Ready};
use std::time::Instant;

impl Switch {
    /// A visit to one that reads badly: it was not asked whether there is anything to read, so that
    /// "readable" is that the connection is over.
    #[cold]
    pub(super) fn straggle(
        &mut self,
        ready: Ready,
        desk: &mut Desk,
        poll: &Poll,
    ) -> Result<(), Failure> {
        let outcome = match ready.readable {
            true => Err(self.closed(std::io::ErrorKind::ConnectionReset.into())),
            false => self.write(desk, ready.writable).and_then(|()| self.watch(poll)),
        };
        self.outlive(outcome, poll)
    }

    /// Lets one that reads slowly read what it may by now.
    pub(in super::super) fn trickle(
        &mut self,
        now: Instant,
        desk: &mut Desk,
        poll: &Poll,
    ) -> Result<(), Failure> {
        let allowance = match &mut self.slow_reader {
            Some(slow_reader) if self.stage == Stage::Offering => slow_reader.allowance(now),
            _ => return Ok(()),
        };
        if allowance == 0 {
            return Ok(());
        }
        desk.outbox.clear();
        let outcome = self.read(desk, allowance);
        let outcome = outcome.and_then(|()| self.write(desk, true)).and_then(|()| self.watch(poll));
        self.outlive(outcome, poll)
    }

    /// That a connection is over is no failure of the run where the controller was to end it.
    pub(super) fn outlive(
        &mut self,
        outcome: Result<(), Failure>,
        poll: &Poll,
    ) -> Result<(), Failure> {
        match (outcome, &mut self.slow_reader) {
            (Err(Failure::Closed { .. }), Some(slow_reader)) if self.stage == Stage::Offering => {
                slow_reader.evicted();
                self.stage = Stage::Evicted;
                Ok(poll.remove(&self.wire)?)
            }
            (outcome, _) => outcome,
        }
    }
}
