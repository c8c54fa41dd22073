//! The contract of an application.
//!
//! An application is single-threaded code: the platform makes one instance per worker, hands it whole batches, and
//! never calls it from two threads. What it keeps is one of three things, and there is no fourth:
//!
//! 1. *its own* (`&mut self`): scratch, counters;
//! 2. *per switch* ([`App::Slot`]): [`Exclusive`], one worker's at a time, or [`Parallel`], which several workers use at
//!    once;
//! 3. *published*: parts of the [`World`](crate::world), which it reads as they were when the batch began, and to which it
//!    reports what is new ([`Output::report`]).
//!
//! It returns commands by writing them to the [`Output`], or to the [`Far`] where no switch is in hand; it never holds a
//! socket. Time comes as an argument.

mod event;
mod on;
mod slot;

pub use event::{At, Event, Moment, Next, Timer};
pub use on::{On, UnknownEvent};
pub use slot::{Cell, Exclusive, Held, Parallel, Slot, Slots};

pub(crate) use slot::kept;

use crate::batch::Batch;
use crate::output::{Far, Output};
use crate::stats::Level;
use crate::switch::Info;
use crate::time::Time;
use crate::world::{PartId, Publishers, View};

/// An application, as its author writes it.
///
/// It is called for what it says that it starts on ([`App::STARTS`]), in the order that the configuration has for that
/// event, and for nothing else. Every method but [`App::join`] has a default that does nothing and lets the event go on.
pub trait App: Send + 'static {
    /// What the application keeps for each switch: `()`, [`Exclusive<T>`](Exclusive) or [`Parallel<T>`](Parallel).
    type Slot: Slot;

    /// The name by which it is configured and shown.
    const NAME: &'static str;

    /// The events that it starts on.
    const STARTS: &'static [On];

    /// The parts of the World that it reads.
    const READS: &'static [PartId] = &[];

    /// What the application counts itself, in words that may be part of a name: letters, digits and `_`; at
    /// most [`APP_COUNTS_MAX`](crate::bounds::APP_COUNTS_MAX).
    const COUNTS: &'static [&'static str] = &[];

    /// A switch joins: makes its slot. Runs before any event of that switch, once for all workers.
    fn join(&mut self, now: Time, switch: &Info) -> <Self::Slot as Slot>::State;

    /// Flow requests arrived ([`On::FlowRequest`]), or one frame about links ([`On::Lldp`], [`Batch::on`]). Requests that
    /// are `stopped` are to be passed over; setting `stopped` keeps a request from the applications that come later.
    /// Before writing an answer, turn the output to the run it belongs to ([`Output::turn_to`]).
    fn packet_ins(
        &mut self,
        batch: &mut Batch<'_>,
        slots: Slots<'_, Self::Slot>,
        out: &mut Output,
    ) {
        let _ = (batch, slots, out);
    }

    /// Something else happened at a switch. Answers go to that switch.
    fn event(&mut self, at: At<'_, Self::Slot>, event: &Event, out: &mut Output) -> Next {
        let _ = (at, event, out);
        Next::Continue
    }

    /// How often [`App::tick`] is called, and where. Asked at the start and after every tick.
    fn timer(&self) -> Timer {
        Timer::Never
    }

    /// The time came ([`On::Timer`]).
    fn tick(&mut self, moment: Moment<'_>, far: &mut Far) {
        let _ = (moment, far);
    }

    /// A part of the World that it reads has changed since `before` ([`On::Publication`]); [`Moment::world`] is how it is
    /// now. Runs on one worker, after the last batch that read the old one has sent what it had to say: what is removed
    /// here stays removed.
    fn published(&mut self, before: View<'_>, moment: Moment<'_>, far: &mut Far) {
        let _ = (before, moment, far);
    }

    /// Says what it has counted on this worker, a number for each of [`App::COUNTS`]. Called behind each of the others but
    /// [`App::join`]: it should set numbers, and do nothing else.
    fn count(&self, own: &[Level]) {
        let _ = own;
    }

    /// What makes the parts of the World that it publishes. Asked of one instance, at the start.
    fn publishers(&self) -> Publishers {
        Publishers::default()
    }
}
