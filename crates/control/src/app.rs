//! The contract of an application.
//!
//! An application is single-threaded code: the platform makes one instance per worker, hands it
//! whole batches, and never calls it from two threads. What it keeps is one of three things, and
//! there is no fourth:
//!
//! 1. *its own* (`&mut self`): scratch, counters;
//! 2. *per switch* ([`App::Slot`]): [`Exclusive`], one worker's at a time, or [`Parallel`], which
//!    several workers use at
//!    once;
//! 3. *published*: parts of the [`World`](crate::world), which it reads as they were when the batch
//!    began, and to which it
//!    reports what is new ([`Output::report`]).
//!
//! It returns commands by writing them to the [`Output`], or to the [`Commands`] where no switch is
//! in hand; it never holds a socket. Time comes as an argument.

mod event;
mod event_kind;
mod inlet;
mod slot;

pub use event::{Event, EventCtx, Next, TickCtx, Timer};
pub use event_kind::{EventKind, UnknownEvent};
pub use inlet::Inlet;
pub use slot::{Cell, Exclusive, Held, Parallel, Slot, Slots};

pub(crate) use slot::{SlotsAt, stored};

use crate::batch::{Batch, Request};
use crate::output::{Commands, Output};
use crate::stats::Gauge;
use crate::switch::SwitchInfo;
use crate::time::Time;
use crate::world::{PartId, Publishers, View};

/// What the application `A` is given of its slot on a switch: `()`, `&T` or [`Held<T>`](Held).
pub type State<'s, A> = <<A as App>::Slot as Slot>::Ref<'s>;

/// An application, as its author writes it.
///
/// It is called for what it says that it starts on ([`App::EVENTS`]), in the order that the
/// configuration has for that event, and for nothing else. Every method has a default:
/// [`App::packet_ins`] calls [`App::packet_in`], and the others do nothing and let the event go on.
/// Only an application with a slot has to write one, [`App::init_switch`].
pub trait App: Send + 'static {
    /// What the application keeps for each switch: `()`, [`Exclusive<T>`](Exclusive) or
    /// [`Parallel<T>`](Parallel).
    type Slot: Slot;

    /// The name by which it is configured and shown.
    const NAME: &'static str;

    /// The events that it starts on: flow requests, unless it says otherwise.
    const EVENTS: &'static [EventKind] = &[EventKind::FlowRequest];

    /// The parts of the World that it reads.
    const READS: &'static [PartId] = &[];

    /// What the application counts itself, in words that may be part of a name: letters, digits and
    /// `_`; at most [`APP_COUNTS_MAX`](crate::limits::APP_COUNTS_MAX).
    const COUNTS: &'static [&'static str] = &[];

    /// A switch joins: makes its slot. Runs before any event of that switch, once for all workers.
    /// An application whose slot is `()` has nothing to make; every other application makes its
    /// state here:
    ///
    /// ```
    /// use aldis_control::app::Exclusive;
    /// use aldis_control::switch::SwitchInfo;
    /// use aldis_control::{App, AppSet, Time};
    ///
    /// struct Counts;
    ///
    /// impl App for Counts {
    ///     type Slot = Exclusive<u64>;
    ///     const NAME: &'static str = "counts";
    ///     fn init_switch(&mut self, _: Time, _: &SwitchInfo) -> u64 {
    ///         0
    ///     }
    /// }
    /// let _ = AppSet::default().with(|| Counts);
    /// ```
    ///
    /// It does not compile without:
    ///
    /// ```compile_fail
    /// use aldis_control::app::Exclusive;
    /// use aldis_control::{App, AppSet};
    ///
    /// struct Counts;
    ///
    /// impl App for Counts {
    ///     type Slot = Exclusive<u64>;
    ///     const NAME: &'static str = "counts";
    /// }
    /// let _ = AppSet::default().with(|| Counts);
    /// ```
    fn init_switch(&mut self, now: Time, switch: &SwitchInfo) -> <Self::Slot as Slot>::State {
        const {
            assert!(Self::Slot::IS_EMPTY, "an application with a slot makes it in init_switch");
        }
        let _ = (now, switch);
        Self::Slot::empty()
    }

    /// One flow request arrived. `state` is the slot of its switch: `()`, `&T` or a `T` that is
    /// held until it is dropped. [`Next::Stop`] keeps the request from the applications that come
    /// later. Example: a hub answers `request.packet()` with the action to flood it.
    fn packet_in(
        &mut self,
        request: &Request<'_>,
        state: State<'_, Self>,
        out: &mut Output,
    ) -> Next {
        let _ = (request, state, out);
        Next::Continue
    }

    /// Flow requests arrived ([`EventKind::FlowRequest`]), or one frame about links
    /// ([`EventKind::Lldp`], [`Batch::kind`]). Requests that are `stopped` are to be passed over;
    /// setting `stopped` keeps a request from the applications that come later. Before writing an
    /// answer, turn the output to the run it belongs to ([`Output::select`]).
    ///
    /// The default calls [`App::packet_in`] for each request. An application overrides it that
    /// looks at the requests of a batch together, for instance to prefetch what it knows of their
    /// hosts.
    fn packet_ins(
        &mut self,
        batch: &mut Batch<'_>,
        mut slots: Slots<'_, Self::Slot>,
        out: &mut Output,
    ) {
        batch.each(|request| self.packet_in(request, slots.state(request.switch_index), out));
    }

    /// Something else happened at a switch. Answers go to that switch.
    fn event(&mut self, ctx: EventCtx<'_, Self::Slot>, event: &Event, out: &mut Output) -> Next {
        let _ = (ctx, event, out);
        Next::Continue
    }

    /// How often [`App::tick`] is called, and where. Request at the start and after every tick.
    fn timer(&self) -> Timer {
        Timer::Never
    }

    /// The time came ([`EventKind::Timer`]).
    fn tick(&mut self, ctx: TickCtx<'_>, commands: &mut Commands) {
        let _ = (ctx, commands);
    }

    /// Another thread asked for it, by `Handle::rouse` or a `Reporter`: the application takes what
    /// waits for it outside of the engine, in an [`Inlet`] for example. Comes between two batches,
    /// on the worker that was roused, soon; several calls may become one.
    fn roused(&mut self, ctx: TickCtx<'_>, commands: &mut Commands) {
        let _ = (ctx, commands);
    }

    /// A part of the World that it reads has changed since `before` ([`EventKind::Publication`]);
    /// [`TickCtx::world`] is how it is now. Runs on one worker, after the last batch that read the
    /// old one has sent what it had to say: what is removed here stays removed.
    fn published(&mut self, before: View<'_>, ctx: TickCtx<'_>, commands: &mut Commands) {
        let _ = (before, ctx, commands);
    }

    /// Says what it has counted on this worker, a number for each of [`App::COUNTS`]. Called behind
    /// each of the others but [`App::init_switch`]: it should set numbers, and do nothing else.
    fn count(&self, own: &[Gauge]) {
        let _ = own;
    }

    /// What makes the parts of the World that it publishes. Asked of one instance, at the start.
    fn publishers(&self) -> Publishers {
        Publishers::default()
    }
}
