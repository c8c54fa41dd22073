//! An application behind a trait object, so that a pipeline can hold several types of them.

use alloc::boxed::Box;
use core::any::Any;

use crate::app::{App, Event, EventCtx, Next, Slot, Slots, SlotsAt, TickCtx, Timer, stored};
use crate::batch::Batch;
use crate::limits::APP_COUNTS_MAX;
use crate::output::{Commands, Output};
use crate::stats::Gauge;
use crate::switch::{Switch, SwitchInfo};
use crate::time::Time;
use crate::world::{PartId, View, World};

/// What happened, and where.
#[derive(Clone, Copy)]
pub(super) struct EventAt<'e> {
    pub(super) now: Time,
    pub(super) world: &'e World,
    pub(super) switch: &'e Switch,
    pub(super) event: &'e Event,
}

pub(super) trait AnyApp: Send {
    fn reads(&self) -> &'static [PartId];
    fn counts(&self) -> &'static [&'static str];
    fn count(&self, own: &[Gauge]);
    fn init_switch(&mut self, now: Time, info: &SwitchInfo) -> Box<dyn Any + Send + Sync>;
    fn packet_ins(&mut self, slots: SlotsAt<'_>, batch: &mut Batch<'_>, out: &mut Output);
    fn event(&mut self, slots: SlotsAt<'_>, what: EventAt<'_>, out: &mut Output) -> Next;
    fn timer(&self) -> Timer;
    fn tick(&mut self, now: Time, world: &World, commands: &mut Commands);
    fn roused(&mut self, now: Time, world: &World, commands: &mut Commands);
    fn published(&mut self, before: View<'_>, now: Time, after: &World, commands: &mut Commands);
}

impl<A: App> AnyApp for A {
    fn reads(&self) -> &'static [PartId] {
        A::READS
    }

    fn counts(&self) -> &'static [&'static str] {
        const { assert!(A::COUNTS.len() <= APP_COUNTS_MAX, "an application counts too many things") };
        A::COUNTS
    }

    fn count(&self, own: &[Gauge]) {
        App::count(self, own);
    }

    fn init_switch(&mut self, now: Time, info: &SwitchInfo) -> Box<dyn Any + Send + Sync> {
        Box::new(A::Slot::store(App::init_switch(self, now, info)))
    }

    fn packet_ins(&mut self, slots: SlotsAt<'_>, batch: &mut Batch<'_>, out: &mut Output) {
        let slots = Slots::new(batch.switches, slots);
        batch.world = batch.world.reading(A::READS);
        App::packet_ins(self, batch, slots, out);
    }

    fn event(&mut self, slots: SlotsAt<'_>, what: EventAt<'_>, out: &mut Output) -> Next {
        let EventAt { now, world, switch, event } = what;
        let slot = A::Slot::borrow(stored::<A::Slot>(switch, slots));
        let world = View::of(world, A::READS);
        let ctx = EventCtx { now, switch: &switch.info, account: &switch.account, slot, world };
        App::event(self, ctx, event, out)
    }

    fn timer(&self) -> Timer {
        App::timer(self)
    }

    fn tick(&mut self, now: Time, world: &World, commands: &mut Commands) {
        App::tick(self, TickCtx { now, world: View::of(world, A::READS) }, commands);
    }

    fn roused(&mut self, now: Time, world: &World, commands: &mut Commands) {
        App::roused(self, TickCtx { now, world: View::of(world, A::READS) }, commands);
    }

    fn published(&mut self, before: View<'_>, now: Time, after: &World, commands: &mut Commands) {
        let ctx = TickCtx { now, world: View::of(after, A::READS) };
        App::published(self, before, ctx, commands);
    }
}
