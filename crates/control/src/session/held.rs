//! Held: the switch shook hands, and applications that saw it join hold it back.

use alloc::boxed::Box;
use alloc::vec::Vec;

use aldis_wire::msg::PortChange;

use super::codec::Incoming;
use super::step::Step;
use super::{Phase, Session};
use crate::time::Time;

/// A session whose switch is held back.
#[derive(Debug)]
pub(super) struct HeldSession {
    /// When it is served in any case.
    by: Time,
    /// What was said of its ports meanwhile, in order: applications hear it once they were told
    /// that it is up.
    pub(super) changes: Vec<PortChange>,
}

impl Session {
    /// Applications hold the switch back, behind [`Step::Up`]: until [`Session::served`], or until
    /// [`Session::tick`] returns [`Step::Served`] after [`super::Config::joining_within`].
    pub fn hold(&mut self, now: Time) {
        if matches!(self.phase, Phase::Up) {
            let by = now + self.config.joining_within;
            self.phase = Phase::Held(Box::new(HeldSession { by, changes: Vec::new() }));
        }
    }

    /// The applications hold the switch back no more: [`Step::Served`], where they did.
    pub fn served(&mut self, now: Time) -> Step {
        self.serve(now, false)
    }

    pub(super) fn serve(&mut self, now: Time, late: bool) -> Step {
        match core::mem::replace(&mut self.phase, Phase::Up) {
            Phase::Held(held) => {
                self.liveness.heard(now);
                Step::Served { changes: held.changes, late }
            }
            other => {
                self.phase = other;
                Step::Nothing
            }
        }
    }

    /// Whether the switch is held back.
    pub(super) fn is_held(&self) -> bool {
        matches!(self.phase, Phase::Held(_))
    }

    /// Whether the applications hear of a message that is for them by its transaction id. While
    /// they hold the switch back they hear replies, and not of flows that are gone.
    pub(super) fn answers_applications(&self, heard: &Incoming) -> bool {
        self.is_up() || self.is_held() && !matches!(heard, Incoming::FlowRemoved)
    }

    /// When the switch is served in any case; never where it is not held back.
    pub(super) fn held_deadline(&self) -> Time {
        match &self.phase {
            Phase::Held(held) => held.by,
            _ => Time::NEVER,
        }
    }
}
