//! What an application keeps for each switch: nothing, something that several workers use at once,
//! or something that is one worker's at a time.

use alloc::boxed::Box;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use crossbeam_queue::ArrayQueue;

use crate::pipeline::LateSlots;
use crate::switch::Switch;

/// What an application keeps for each switch: `()`, [`Parallel`] or [`Exclusive`].
pub trait Slot: 'static {
    /// What the application makes when a switch joins.
    type State;
    /// What it is given afterwards.
    type Ref<'s>;
    /// What lies on the switch.
    type Stored: Send + Sync + 'static;
    /// Whether one batch of a switch runs at a time.
    const EXCLUSIVE: bool;
    /// Whether there is nothing to make when a switch joins: [`Slot::empty`] is what it keeps.
    const IS_EMPTY: bool = false;

    /// The state of a slot that [`Slot::IS_EMPTY`].
    ///
    /// # Panics
    /// For every other slot: its application makes the state ([`crate::App::init_switch`]).
    fn empty() -> Self::State {
        panic!("an application with a slot makes its state in init_switch")
    }

    /// What lies on every switch, where there is nothing to make.
    fn of_all() -> Option<&'static Self::Stored> {
        None
    }

    /// Puts the state where it lies.
    fn store(state: Self::State) -> Self::Stored;

    /// Gives what the application gets.
    fn borrow(stored: &Self::Stored) -> Self::Ref<'_>;
}

impl Slot for () {
    type State = ();
    type Ref<'s> = ();
    type Stored = ();
    const EXCLUSIVE: bool = false;
    const IS_EMPTY: bool = true;

    fn empty() {}

    fn of_all() -> Option<&'static ()> {
        Some(&())
    }

    fn store((): ()) {}

    #[inline]
    fn borrow((): &()) {}
}

/// A `T` for each switch that several workers may use at once: it comes as `&T`. Requests of one
/// switch are served by as many workers as there are.
#[derive(Debug)]
pub struct Parallel<T>(PhantomData<fn(T)>);

impl<T: Send + Sync + 'static> Slot for Parallel<T> {
    type State = T;
    type Ref<'s> = &'s T;
    type Stored = T;
    const EXCLUSIVE: bool = false;

    fn store(state: T) -> T {
        state
    }

    #[inline]
    fn borrow(stored: &T) -> &T {
        stored
    }
}

/// A `T` for each switch that is one worker's at a time: it comes as `&mut T`. The platform runs
/// one batch of a switch at a time, and the others wait unread: a switch never has more than one
/// worker.
#[derive(Debug)]
pub struct Exclusive<T>(PhantomData<fn(T)>);

impl<T: Send + 'static> Slot for Exclusive<T> {
    type State = T;
    type Ref<'s> = Held<'s, T>;
    type Stored = Cell<T>;
    const EXCLUSIVE: bool = true;

    fn store(state: T) -> Cell<T> {
        let cell = Cell(ArrayQueue::new(1));
        // It is empty.
        let _ = cell.0.push(Box::new(state));
        cell
    }

    fn borrow(cell: &Cell<T>) -> Held<'_, T> {
        loop {
            // The platform sees to it that it is there; only the farewell of a switch, and what is
            // told to an auxiliary connection of it meanwhile, may meet, for the time of one batch.
            if let Some(state) = cell.0.pop() {
                return Held { cell, state: Some(state) };
            }
            core::hint::spin_loop();
        }
    }
}

/// Where the state of an exclusive application lies while no worker holds it.
#[derive(Debug)]
pub struct Cell<T>(ArrayQueue<Box<T>>);

/// The state of an exclusive application, held until this is dropped.
#[derive(Debug)]
pub struct Held<'s, T> {
    cell: &'s Cell<T>,
    // There until it is dropped.
    state: Option<Box<T>>,
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.state.as_deref().expect("held until it is dropped")
    }
}

impl<T> DerefMut for Held<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.state.as_deref_mut().expect("held until it is dropped")
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        // There is room: the state was popped from here.
        self.state.take().map(|state| self.cell.0.push(state));
    }
}

/// An application's slots on the switches of a batch.
#[derive(Debug)]
pub struct Slots<'b, S> {
    switches: &'b [&'b Switch],
    at: SlotsAt<'b>,
    slot: PhantomData<fn(S)>,
}

impl<'b, S: Slot> Slots<'b, S> {
    pub(crate) fn new(switches: &'b [&'b Switch], at: SlotsAt<'b>) -> Self {
        Slots { switches, at, slot: PhantomData }
    }

    /// The slot on the switch of a run ([`crate::batch::Run::switch`]), whatever kind it is.
    #[inline]
    pub fn state(&mut self, switch: usize) -> S::Ref<'_> {
        S::borrow(stored::<S>(self.switches[switch], self.at))
    }
}

impl<T> Clone for Slots<'_, Parallel<T>> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slots<'_, Parallel<T>> {}

impl<'b, T: Send + Sync + 'static> Slots<'b, Parallel<T>> {
    /// The slot on the switch of a run ([`crate::batch::Run::switch`]).
    #[inline]
    pub fn of(&self, switch: usize) -> &'b T {
        stored::<Parallel<T>>(self.switches[switch], self.at)
    }
}

impl<'b, T: Send + 'static> Slots<'b, Exclusive<T>> {
    /// The slot on the switch of a run ([`crate::batch::Run::switch`]), held until what is returned
    /// is dropped.
    pub fn of(&mut self, switch: usize) -> Held<'_, T> {
        self.state(switch)
    }
}

/// Where an application's slots are: its place among the slots of a switch; elsewhere those of
/// switches that joined before the application was started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotsAt<'l> {
    pub(crate) index: usize,
    /// The start of the application that made them.
    pub(crate) generation: u64,
    pub(crate) late: &'l LateSlots,
}

/// The slot that an application keeps on `switch`.
#[inline]
pub(crate) fn stored<'s, S: Slot>(switch: &'s Switch, at: SlotsAt<'s>) -> &'s S::Stored {
    match switch.slots.get(at.index) {
        Some(slot) if slot.generation == at.generation => {
            slot.value.downcast_ref().expect("the application that made the slot reads it")
        }
        _ => late::<S>(switch, at),
    }
}

#[cold]
fn late<'s, S: Slot>(switch: &'s Switch, at: SlotsAt<'s>) -> &'s S::Stored {
    let made = || at.late.get(switch.info.dpid).and_then(|slot| slot.downcast_ref());
    S::of_all().or_else(made).expect("slots are made before their application is called")
}
