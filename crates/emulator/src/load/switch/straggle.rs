//! Visits to a switch that reads badly, and its end.

use super::super::failure::LoadFailure;
use super::{LoadStage, LoadSwitch, ThreadState};
use crate::poll::{Poll, Ready};
use std::time::Instant;

impl LoadSwitch {
    /// A visit to one that reads badly: it was not asked whether there is anything to read, so that
    /// "readable" is that the connection is over.
    #[cold]
    pub(super) fn straggle(
        &mut self,
        ready: Ready,
        desk: &mut ThreadState,
        poll: &Poll,
    ) -> Result<(), LoadFailure> {
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
        desk: &mut ThreadState,
        poll: &Poll,
    ) -> Result<(), LoadFailure> {
        let allowance = match &mut self.slow_reader {
            Some(slow_reader) if self.stage == LoadStage::Offering => slow_reader.allowance(now),
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
        outcome: Result<(), LoadFailure>,
        poll: &Poll,
    ) -> Result<(), LoadFailure> {
        match (outcome, &mut self.slow_reader) {
            (Err(LoadFailure::Closed { .. }), Some(slow_reader))
                if self.stage == LoadStage::Offering =>
            {
                slow_reader.evicted();
                self.stage = LoadStage::Evicted;
                Ok(poll.remove(&self.wire)?)
            }
            (outcome, _) => outcome,
        }
    }
}
