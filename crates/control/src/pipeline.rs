//! The ordered pipelines of applications, one for each kind of event.
//!
//! An [`AppSet`] says which applications there are and in which order they see what. What is built
//! of it, the [`Pipelines`], makes one [`Pipeline`] for each worker. Dispatch is one virtual call
//! per application and batch, never per message.

mod any_app;
mod failures;
mod graph;

use alloc::boxed::Box;
use alloc::format;
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
use failures::{Failure, unguarded};

pub(crate) use failures::Failures;

pub use failures::Guard;
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
        let failures = Arc::new(Failures::of(&self.graph()?));
        Ok(Pipelines {
            app_set: self,
            orders: Arc::new(orders),
            queues: Arc::new(Queues::new(queues)),
            world_builder: WorldBuilder::new(makers),
            failures,
            guard: unguarded,
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
    failures: Arc<Failures>,
    guard: Guard,
}

impl Pipelines<'_> {
    /// Applications and publishers are called by this: one that panics fails, and the others go on.
    pub fn guarded(mut self, guard: Guard) -> Self {
        self.guard = guard;
        self.world_builder.guarded(guard, Arc::clone(&self.failures));
        self
    }

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
            failures: Arc::clone(&self.failures),
            guard: self.guard,
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
    failures: Arc<Failures>,
    guard: Guard,
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
        let Pipeline { apps, failures, guard, .. } = self;
        let slot = |(index, app): (usize, &mut Box<dyn AnyApp>)| {
            let made = call((*guard, failures, index), || app.init_switch(now, &info));
            // Of an application that failed, and is not asked for it.
            made.unwrap_or_else(|| Box::new(()))
        };
        let slots = apps.iter_mut().enumerate().map(slot).collect();
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
        let Pipeline { apps, counted, orders, failures, guard, .. } = self;
        for &index in &orders[batch.kind as usize] {
            let (app, mark) = (&mut apps[index], out.mark());
            let seen = call((*guard, failures, index), || {
                app.packet_ins(index, batch, out);
                tell_own(&**app, &counted[index]);
            });
            match seen {
                Some(()) => {
                    let (kind, requests) = (batch.kind, batch.requests.len());
                    let bytes = out.written().saturating_sub(mark.written());
                    counted[index].saw(kind, requests as u64, bytes);
                }
                None => out.rewind(mark),
            }
        }
        tell_failures(failures, counted, out.commands());
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
        let Pipeline { apps, counted, orders, failures, guard, .. } = self;
        for &index in &orders[event.kind() as usize] {
            let what = any_app::EventAt { index, now, world, switch, event };
            let (app, mark) = (&mut apps[index], out.mark());
            let next = call((*guard, failures, index), || {
                let next = app.event(what, out);
                tell_own(&**app, &counted[index]);
                next
            });
            let Some(next) = next else {
                out.rewind(mark);
                continue;
            };
            let bytes = out.written().saturating_sub(mark.written());
            counted[index].saw(event.kind(), 1, bytes);
            if next == Next::Stop {
                break;
            }
        }
        tell_failures(failures, counted, out.commands());
    }

    /// When [`Pipeline::tick`] has something to do.
    #[inline]
    pub fn next_tick(&self) -> Time {
        self.next_tick
    }

    /// Fires the timers whose time has come, in the order of the applications.
    pub fn tick(&mut self, now: Time, world: &World, commands: &mut Commands) {
        let Pipeline { apps, counted, orders, failures, guard, timers, worker, .. } = self;
        for &index in &orders[EventKind::Timer as usize] {
            let (app, alarm) = (&mut apps[index], &mut timers[index]);
            match *alarm {
                Alarm::Unset(interval) => *alarm = Alarm::At(now + interval),
                Alarm::At(at) if at <= now => {
                    let mark = commands.mark();
                    let interval = call((*guard, failures, index), || {
                        app.tick(now, world, commands);
                        tell_own(&**app, &counted[index]);
                        app.timer().interval((*worker).into())
                    });
                    match interval {
                        Some(_) => {
                            let bytes = commands.written().saturating_sub(mark.written());
                            counted[index].saw(EventKind::Timer, 1, bytes);
                        }
                        None => commands.rewind(mark),
                    }
                    let next = |interval: core::time::Duration| now + interval.max(TIMER_MIN);
                    let interval = interval.flatten();
                    *alarm = interval.map_or(Alarm::Never, |interval| Alarm::At(next(interval)));
                }
                Alarm::At(_) | Alarm::Never => {}
            }
        }
        tell_failures(failures, counted, commands);
        self.find_next_tick();
    }

    fn find_next_tick(&mut self) {
        let indices = self.orders[EventKind::Timer as usize].iter();
        self.next_tick =
            indices.map(|&index| self.timers[index].due()).min().unwrap_or(Time::NEVER);
    }

    /// The World is not as it was `before`: tells the applications that read a part that changed.
    pub fn published(&mut self, now: Time, before: &World, after: &World, commands: &mut Commands) {
        let Pipeline { apps, counted, orders, failures, guard, .. } = self;
        for &index in &orders[EventKind::Publication as usize] {
            let app = &mut apps[index];
            if app.reads().iter().any(|&id| after.differs(before, id)) {
                let mark = commands.mark();
                let acted = call((*guard, failures, index), || {
                    app.published(View::of(before, app.reads()), now, after, commands);
                    tell_own(&**app, &counted[index]);
                });
                if acted.is_none() {
                    commands.rewind(mark);
                    continue;
                }
                let bytes = commands.written().saturating_sub(mark.written());
                counted[index].saw(EventKind::Publication, 1, bytes);
            }
        }
        tell_failures(failures, counted, commands);
    }
}

/// Calls an application that has not failed; nothing where it has, or does now.
#[inline]
fn call<T>(
    (guard, failures, index): (Guard, &Failures, usize),
    call: impl FnOnce() -> T,
) -> Option<T> {
    if failures.has_failed(index) {
        return None;
    }
    let (mut call, mut value) = (Some(call), None);
    match guard(&mut || value = call.take().map(|call| call())) {
        Ok(()) => value,
        Err(reason) => {
            failures.fail(index, reason);
            None
        }
    }
}

/// Tells the operator of the applications that failed since this was last looked at, on whichever
/// worker.
#[inline]
fn tell_failures(failures: &Failures, counted: &[AppStats], commands: &mut Commands) {
    while let Some(Failure { index, reason }) = failures.take_untold() {
        counted[index].failed();
        let name = failures.name(index);
        commands.warn(format!("{name}: failed, and is left out from now on: {reason}"));
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
