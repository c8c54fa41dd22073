//! An application whose types are forgotten.

use alloc::boxed::Box;
use core::any::Any;

use crate::app::{App, At, Event, Moment, Next, Slot, Slots, Timer, kept};
use crate::batch::Batch;
use crate::bounds::APP_COUNTS_MAX;
use crate::output::{Far, Output};
use crate::stats::Level;
use crate::switch::{Info, Switch};
use crate::time::Time;
use crate::world::{PartId, View, World};

/// What happened, and where the application's slot is.
pub(super) struct What<'e> {
    pub(super) place: usize,
    pub(super) now: Time,
    pub(super) world: &'e World,
    pub(super) switch: &'e Switch,
    pub(super) event: &'e Event,
}

pub(super) trait Stage: Send {
    fn reads(&self) -> &'static [PartId];
    fn counts(&self) -> &'static [&'static str];
    fn count(&self, own: &[Level]);
    fn init_switch(&mut self, now: Time, info: &Info) -> Box<dyn Any + Send + Sync>;
    fn packet_ins(&mut self, place: usize, batch: &mut Batch<'_>, out: &mut Output);
    fn event(&mut self, what: What<'_>, out: &mut Output) -> Next;
    fn timer(&self) -> Timer;
    fn tick(&mut self, now: Time, world: &World, far: &mut Far);
    fn published(&mut self, before: View<'_>, now: Time, after: &World, far: &mut Far);
}

impl<A: App> Stage for A {
    fn reads(&self) -> &'static [PartId] {
        A::READS
    }

    fn counts(&self) -> &'static [&'static str] {
        const { assert!(A::COUNTS.len() <= APP_COUNTS_MAX, "an application counts too many things") };
        A::COUNTS
    }

    fn count(&self, own: &[Level]) {
        App::count(self, own);
    }

    fn init_switch(&mut self, now: Time, info: &Info) -> Box<dyn Any + Send + Sync> {
        Box::new(A::Slot::keep(App::init_switch(self, now, info)))
    }

    fn packet_ins(&mut self, place: usize, batch: &mut Batch<'_>, out: &mut Output) {
        let slots = Slots::new(batch.switches, place);
        batch.world = batch.world.reading(A::READS);
        App::packet_ins(self, batch, slots, out);
    }

    fn event(&mut self, what: What<'_>, out: &mut Output) -> Next {
        let What { place, now, world, switch, event } = what;
        let slot = A::Slot::give(kept::<A::Slot>(switch, place));
        let world = View::of(world, A::READS);
        let at = At { now, switch: &switch.info, account: &switch.account, slot, world };
        App::event(self, at, event, out)
    }

    fn timer(&self) -> Timer {
        App::timer(self)
    }

    fn tick(&mut self, now: Time, world: &World, far: &mut Far) {
        App::tick(self, Moment { now, world: View::of(world, A::READS) }, far);
    }

    fn published(&mut self, before: View<'_>, now: Time, after: &World, far: &mut Far) {
        let moment = Moment { now, world: View::of(after, A::READS) };
        App::published(self, before, moment, far);
    }
}
