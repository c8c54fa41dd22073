//! The ordered pipelines of applications, one for each kind of event.
//!
//! An [`AppSet`] says which applications there are and in which order they see what. What is built
//! of it, the [`Pipelines`], makes one [`Pipeline`] for each worker. Dispatch is one virtual call
//! per application and batch, never per message.

mod any_app;
mod graph;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::account::{Account, SWITCH_BYTES};
use crate::app::{App, Event, EventKind, Next, Timer};
use crate::batch::Batch;
use crate::limits::TIMER_MIN;
use crate::output::{Commands, Output};
use crate::stats::AppStats;
use crate::switch::{Switch, SwitchInfo};
use crate::time::Time;
use crate::world::{Publishers, Queues, View, World, WorldBuilder};
use any_app::AnyApp;

pub use graph::{AppNode, AppSetError, Graph, PartNode};

/// The applications of a controller, in order: how to make one instance of each for every worker.
pub struct AppSet {
    apps: Vec<AppEntry>,
    sequences: Vec<Sequence>,
    switch_bytes: usize,
}

impl Default for AppSet {
    fn default() -> Self {
        AppSet { apps: Vec::new(), sequences: Vec::new(), switch_bytes: SWITCH_BYTES }
    }
}

/// An application of a set.
struct AppEntry {
    name: &'static str,
    starts: &'static [EventKind],
    reads: &'static [crate::world::PartId],
    exclusive: bool,
    make: Box<dyn Fn() -> Box<dyn AnyApp> + Send + Sync>,
    publishers: Box<dyn Fn() -> Publishers + Send + Sync>,
}

/// The order in which applications see one kind of event (Maestro's DAGs, on one thread).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sequence {
    /// The kind of event.
    pub kind: EventKind,
    /// The applications, by name, in order.
    pub apps: Vec<String>,
}

impl core::fmt::Debug for AppSet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl AppSet {
    /// Adds an application at the end.
    pub fn with<A: App>(mut self, make: impl Fn() -> A + Clone + Send + Sync + 'static) -> Self {
        let maker = make.clone();
        self.apps.push(AppEntry {
            name: A::NAME,
            starts: A::EVENTS,
            reads: A::READS,
            exclusive: <A::Slot as crate::app::Slot>::EXCLUSIVE,
            make: Box::new(move || Box::new(make())),
            publishers: Box::new(move || maker().publishers()),
        });
        self
    }

    /// Bytes that are kept on account of each switch, where they are not [`SWITCH_BYTES`].
    pub fn switch_bytes(mut self, bytes: usize) -> Self {
        self.switch_bytes = bytes;
        self
    }

    /// Says which applications see this kind of event, and in which order. Where nothing is said,
    /// all that start on it do, in the order in which they were added.
    pub fn sequence(
        mut self,
        kind: EventKind,
        apps: impl IntoIterator<Item: Into<String>>,
    ) -> Self {
        self.sequences.push(Sequence { kind, apps: apps.into_iter().map(Into::into).collect() });
        self
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.apps.iter().map(|app| app.name)
    }

    /// Checks that the applications can work together, and makes what all workers share.
    ///
    /// # Errors
    /// What is missing, double or unknown, or goes in a circle.
    pub fn build(&self) -> Result<Pipelines<'_>, AppSetError> {
        let (orders, makers) = self.check()?;
        let queues = makers.iter().map(|maker| (maker.part(), maker.queue())).collect();
        Ok(Pipelines {
            app_set: self,
            orders: Arc::new(orders),
            queues: Arc::new(Queues::new(queues)),
            world_builder: WorldBuilder::new(makers),
        })
    }
}

/// The places of the applications that see each kind of event, in order.
type Orders = [Box<[usize]>; EventKind::ALL.len()];

/// Applications that can work together, and the World that they make.
#[derive(Debug)]
pub struct Pipelines<'r> {
    app_set: &'r AppSet,
    orders: Arc<Orders>,
    queues: Arc<Queues>,
    world_builder: WorldBuilder,
}

impl Pipelines<'_> {
    /// The applications of one worker, by its number, from 0. Timers that fire on one worker fire
    /// on number 0.
    pub fn pipeline(&self, worker: u8) -> Pipeline {
        let apps: Vec<_> = self.app_set.apps.iter().map(|app| (app.make)()).collect();
        let timers = apps.iter().map(|app| Alarm::first(app.timer(), worker)).collect();
        let counted = apps.iter().map(|app| AppStats::new(app.counts())).collect();
        let mut pipeline = Pipeline {
            apps,
            counted,
            orders: Arc::clone(&self.orders),
            timers,
            next_tick: Time::NEVER,
            worker,
            switch_bytes: self.app_set.switch_bytes,
            exclusive: self.app_set.apps.iter().any(|app| app.exclusive),
        };
        pipeline.find_next_tick();
        pipeline
    }

    /// The names of the applications, in their order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.app_set.names()
    }

    /// What the applications of one worker write to.
    pub fn output(&self, worker: u8) -> Output {
        Output::new(Commands::new(worker, Arc::clone(&self.queues)))
    }

    /// The World as it begins; without a version where no part is published.
    pub fn world(&self) -> Arc<World> {
        Arc::clone(self.world_builder.world())
    }

    /// The queues of reports.
    pub fn queues(&self) -> Arc<Queues> {
        Arc::clone(&self.queues)
    }

    /// Whether any application wants to see this kind of event.
    pub fn starts_on(&self, kind: EventKind) -> bool {
        !self.orders[kind as usize].is_empty()
    }

    /// What makes the World. There is one.
    pub fn world_builder(self) -> WorldBuilder {
        self.world_builder
    }
}

/// When a timer fires next.
#[derive(Clone, Copy, Debug)]
enum Alarm {
    Never,
    /// The first time, which counts from when the worker first looks.
    Unset(core::time::Duration),
    At(Time),
}

impl Alarm {
    fn first(timer: Timer, worker: u8) -> Alarm {
        match timer.interval(worker.into()) {
            Some(interval) => Alarm::Unset(interval.max(TIMER_MIN)),
            None => Alarm::Never,
        }
    }

    /// When the worker has to look.
    fn due(self) -> Time {
        match self {
            Alarm::Never => Time::NEVER,
            Alarm::Unset(_) => Time::START,
            Alarm::At(at) => at,
        }
    }
}

/// One worker's applications.
pub struct Pipeline {
    apps: Vec<Box<dyn AnyApp>>,
    /// What is counted of each.
    counted: Arc<[AppStats]>,
    orders: Arc<Orders>,
    timers: Vec<Alarm>,
    next_tick: Time,
    worker: u8,
    switch_bytes: usize,
    exclusive: bool,
}

impl core::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Pipeline").field("apps", &self.apps.len()).finish()
    }
}

impl Pipeline {
    /// A switch joins: every application makes its slot.
    pub fn join(&mut self, now: Time, info: SwitchInfo) -> Arc<Switch> {
        let slots = self.apps.iter_mut().map(|app| app.init_switch(now, &info)).collect();
        Arc::new(Switch { info, account: Account::new(self.switch_bytes), slots })
    }

    /// What is counted of each application on this worker.
    pub fn counted(&self) -> &Arc<[AppStats]> {
        &self.counted
    }

    /// Whether an application wants to be alone with a switch: one batch of each may run at a time.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// Whether any application wants to see this kind of event.
    #[inline]
    pub fn starts_on(&self, kind: EventKind) -> bool {
        !self.orders[kind as usize].is_empty()
    }

    /// Hands a batch to the applications in turn, by [`Batch::kind`].
    #[inline]
    pub fn packet_ins(&mut self, batch: &mut Batch<'_>, out: &mut Output) {
        let Pipeline { apps, counted, orders, .. } = self;
        for &index in &orders[batch.kind as usize] {
            let written = out.written();
            apps[index].packet_ins(index, batch, out);
            let (kind, requests) = (batch.kind, batch.requests.len());
            counted[index].saw(kind, requests as u64, out.written().saturating_sub(written));
            tell_own(&*apps[index], &counted[index]);
        }
    }

    /// Hands an event to the applications in turn, until one stops it.
    pub fn event(
        &mut self,
        now: Time,
        world: &World,
        switch: &Switch,
        event: &Event,
        out: &mut Output,
    ) {
        let Pipeline { apps, counted, orders, .. } = self;
        for &index in &orders[event.kind() as usize] {
            let what = any_app::EventAt { index, now, world, switch, event };
            let written = out.written();
            let next = apps[index].event(what, out);
            counted[index].saw(event.kind(), 1, out.written().saturating_sub(written));
            tell_own(&*apps[index], &counted[index]);
            if next == Next::Stop {
                return;
            }
        }
    }

    /// When [`Pipeline::tick`] has something to do.
    #[inline]
    pub fn next_tick(&self) -> Time {
        self.next_tick
    }

    /// Fires the timers whose time has come, in the order of the applications.
    pub fn tick(&mut self, now: Time, world: &World, commands: &mut Commands) {
        let Pipeline { apps, counted, orders, timers, worker, .. } = self;
        for &index in &orders[EventKind::Timer as usize] {
            let (app, alarm) = (&mut apps[index], &mut timers[index]);
            match *alarm {
                Alarm::Unset(interval) => *alarm = Alarm::At(now + interval),
                Alarm::At(at) if at <= now => {
                    let written = commands.written();
                    app.tick(now, world, commands);
                    counted[index].saw(
                        EventKind::Timer,
                        1,
                        commands.written().saturating_sub(written),
                    );
                    tell_own(&**app, &counted[index]);
                    let interval = app.timer().interval((*worker).into());
                    let next = |interval: core::time::Duration| now + interval.max(TIMER_MIN);
                    *alarm = interval.map_or(Alarm::Never, |interval| Alarm::At(next(interval)));
                }
                Alarm::At(_) | Alarm::Never => {}
            }
        }
        self.find_next_tick();
    }

    fn find_next_tick(&mut self) {
        let indices = self.orders[EventKind::Timer as usize].iter();
        self.next_tick =
            indices.map(|&index| self.timers[index].due()).min().unwrap_or(Time::NEVER);
    }

    /// The World is not as it was `before`: tells the applications that read a part that changed.
    pub fn published(&mut self, now: Time, before: &World, after: &World, commands: &mut Commands) {
        let Pipeline { apps, counted, orders, .. } = self;
        for &index in &orders[EventKind::Publication as usize] {
            let app = &mut apps[index];
            if app.reads().iter().any(|&id| after.differs(before, id)) {
                let written = commands.written();
                app.published(View::of(before, app.reads()), now, after, commands);
                let bytes = commands.written().saturating_sub(written);
                counted[index].saw(EventKind::Publication, 1, bytes);
                tell_own(&**app, &counted[index]);
            }
        }
    }
}

/// Has an application say what it counts itself, if it does.
#[inline]
fn tell_own(app: &dyn AnyApp, counted: &AppStats) {
    if !counted.own().is_empty() {
        app.count(counted.own());
    }
}

#[cfg(test)]
mod tests;
