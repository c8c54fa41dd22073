//! The contract of an application.
//!
//! An application is single-threaded code: the platform makes one instance per worker, hands it whole batches, and
//! never calls it from two threads. What it keeps is either its own (`&mut self`: scratch, counters) or a slot on the
//! switch ([`App::Slot`]), which several workers may use at once. It returns commands by writing them to the
//! [`Output`]; it never holds a socket. Time comes as an argument.

use aldis_wire::msg;

use crate::batch::Batch;
use crate::output::Output;
use crate::switch::Info;
use crate::time::Time;

/// An application, as its author writes it.
///
/// Every method but [`App::join`] has a default that does nothing and lets the event go on.
pub trait App: Send + 'static {
    /// What the application keeps for each switch.
    type Slot: Send + Sync + 'static;

    /// The name by which it is configured and shown.
    const NAME: &'static str;

    /// A switch joined: makes its slot. Runs before any other event of that switch, once for all workers.
    fn join(&mut self, now: Time, switch: &Info) -> Self::Slot;

    /// Flow requests arrived. Requests that are `stopped` are to be passed over; setting `stopped` keeps a request
    /// from the applications that come later. Before writing an answer, turn the output to the run it belongs to
    /// ([`Output::turn_to`]).
    fn packet_ins(
        &mut self,
        batch: &mut Batch<'_>,
        slots: Slots<'_, Self::Slot>,
        out: &mut Output,
    ) {
        let _ = (batch, slots, out);
    }

    /// Something else happened at a switch. Answers go to that switch.
    fn event(
        &mut self,
        now: Time,
        switch: (&Info, &Self::Slot),
        event: &Event,
        out: &mut Output,
    ) -> Next {
        let _ = (now, switch, event, out);
        Next::Continue
    }
}

/// Whether the applications that come later see the event too (Beacon's `CONTINUE` and `STOP`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// They do.
    Continue,
    /// They do not.
    Stop,
}

/// What happens at a switch, other than flow requests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// It joined and can be programmed.
    Up,
    /// It is gone; nothing can be sent to it any more.
    Down,
    /// A port came, went or changed.
    Port(msg::PortChange),
    /// A second passed. Comes about once a second for each connected switch.
    Second,
}

/// An application's slots on the switches of a batch.
#[derive(Debug)]
pub struct Slots<'b, S> {
    switches: &'b [alloc::sync::Arc<crate::switch::Switch>],
    place: usize,
    slot: core::marker::PhantomData<&'b S>,
}

impl<S> Clone for Slots<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Slots<'_, S> {}

impl<'b, S: 'static> Slots<'b, S> {
    pub(crate) fn new(
        switches: &'b [alloc::sync::Arc<crate::switch::Switch>],
        place: usize,
    ) -> Self {
        Slots { switches, place, slot: core::marker::PhantomData }
    }

    /// The slot on the switch of a run ([`crate::batch::Run::switch`]).
    #[inline]
    pub fn of(&self, switch: usize) -> &'b S {
        slot(&self.switches[switch], self.place)
    }
}

/// The slot that the application in `place` keeps on `switch`.
#[inline]
pub(crate) fn slot<S: 'static>(switch: &crate::switch::Switch, place: usize) -> &S {
    switch.slots[place]
        .downcast_ref()
        .expect("the pipeline that made the slot is the one that reads it")
}
