//! The ordered pipeline of applications.
//!
//! A [`Recipe`] makes one [`Pipeline`] for each worker. Dispatch is one virtual call per application and batch, never
//! per message.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;

use crate::app::{App, Event, Next, Slots, slot};
use crate::batch::Batch;
use crate::output::Output;
use crate::switch::{Info, Switch};
use crate::time::Time;

type Maker = Box<dyn Fn() -> Box<dyn Stage> + Send + Sync>;

/// How to make the applications, in order: one instance of each for every worker.
#[derive(Default)]
pub struct Recipe {
    makers: Vec<(&'static str, Maker)>,
}

impl core::fmt::Debug for Recipe {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Recipe {
    /// Adds an application at the end.
    pub fn with<A: App>(mut self, make: impl Fn() -> A + Send + Sync + 'static) -> Self {
        self.makers.push((A::NAME, Box::new(move || Box::new(make()))));
        self
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.makers.iter().map(|(name, _)| *name)
    }

    /// A pipeline for one worker.
    pub fn pipeline(&self) -> Pipeline {
        Pipeline { stages: self.makers.iter().map(|(_, make)| make()).collect() }
    }
}

/// One worker's applications.
pub struct Pipeline {
    stages: Vec<Box<dyn Stage>>,
}

impl core::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Pipeline").field("stages", &self.stages.len()).finish()
    }
}

impl Pipeline {
    /// A switch joined: every application makes its slot.
    pub fn join(&mut self, now: Time, info: Info) -> Arc<Switch> {
        let slots = self.stages.iter_mut().map(|stage| stage.join(now, &info)).collect();
        Arc::new(Switch { info, slots })
    }

    /// Hands a batch to every application in turn.
    #[inline]
    pub fn packet_ins(&mut self, batch: &mut Batch<'_>, out: &mut Output) {
        for (place, stage) in self.stages.iter_mut().enumerate() {
            stage.packet_ins(place, batch, out);
        }
    }

    /// Hands an event to the applications in turn, until one stops it.
    pub fn event(&mut self, now: Time, switch: &Switch, event: &Event, out: &mut Output) {
        for (place, stage) in self.stages.iter_mut().enumerate() {
            if stage.event(place, now, switch, event, out) == Next::Stop {
                return;
            }
        }
    }
}

/// An application whose slot type is forgotten.
trait Stage: Send {
    fn join(&mut self, now: Time, info: &Info) -> Box<dyn Any + Send + Sync>;
    fn packet_ins(&mut self, place: usize, batch: &mut Batch<'_>, out: &mut Output);
    fn event(
        &mut self,
        place: usize,
        now: Time,
        switch: &Switch,
        event: &Event,
        out: &mut Output,
    ) -> Next;
}

impl<A: App> Stage for A {
    fn join(&mut self, now: Time, info: &Info) -> Box<dyn Any + Send + Sync> {
        Box::new(App::join(self, now, info))
    }

    fn packet_ins(&mut self, place: usize, batch: &mut Batch<'_>, out: &mut Output) {
        let slots = Slots::new(batch.switches, place);
        App::packet_ins(self, batch, slots, out);
    }

    fn event(
        &mut self,
        place: usize,
        now: Time,
        switch: &Switch,
        event: &Event,
        out: &mut Output,
    ) -> Next {
        App::event(self, now, (&switch.info, slot(switch, place)), event, out)
    }
}
