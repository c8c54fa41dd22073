//! The ordered pipelines of applications, one for each kind of event.
//!
//! An [`AppSet`] says which applications there are and in which order they see what. What is built
//! of it, the [`Pipelines`], makes one [`Pipeline`] for each worker. Dispatch is one virtual call
//! per application and batch, never per message.

mod any_app;
mod app_set;
mod failures;
mod graph;
mod line_up;
mod sequences;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::account::Account;
use crate::app::{Event, EventKind, Next, SlotsAt, Timer};
use crate::batch::Batch;
use crate::limits::TIMER_MIN;
use crate::output::{Commands, Output};
use crate::stats::AppStats;
use crate::switch::{Switch, SwitchInfo, SwitchSlot};
use crate::time::Time;
use crate::world::{Queues, View, World, WorldBuilder};
use any_app::{AnyApp, EventAt};
use failures::Failure;

pub(crate) use failures::Failures;

pub use app_set::{AppEntry, AppSet, Sequence};
pub use failures::Guard;
pub use graph::{AppNode, AppSetError, Graph, PartNode};
pub use line_up::{AppState, LineUp, LineUpError};

pub(crate) use line_up::LateSlots;

/// Applications that can work together, and the World that they make.
#[derive(Debug)]
pub struct Pipelines {
    line_up: Arc<LineUp>,
    queues: Arc<Queues>,
    world_builder: WorldBuilder,
    failures: Arc<Failures>,
    guard: Guard,
    switch_bytes: usize,
}

impl Pipelines {
    /// Applications and publishers are called by this: one that panics fails, and the others go on.
    pub fn guarded(mut self, guard: Guard) -> Self {
        self.guard = guard;
        self.world_builder.guarded(guard, Arc::clone(&self.failures));
        self
    }

    /// The applications of one worker, by its number, from 0. Timers that fire on one worker fire
    /// on number 0.
    pub fn pipeline(&self, worker: u8) -> Pipeline {
        let mut pipeline = Pipeline {
            seats: Vec::new(),
            line_up: Arc::clone(&self.line_up),
            failures: Arc::clone(&self.failures),
            guard: self.guard,
            next_tick: Time::NEVER,
            worker,
            switch_bytes: self.switch_bytes,
            exclusive: self.line_up.is_exclusive(),
        };
        pipeline.take(Arc::clone(&self.line_up));
        pipeline
    }

    /// The line-up at the start.
    pub fn line_up(&self) -> Arc<LineUp> {
        Arc::clone(&self.line_up)
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
    /// By the numbers of their places.
    seats: Vec<Seat>,
    line_up: Arc<LineUp>,
    failures: Arc<Failures>,
    guard: Guard,
    next_tick: Time,
    worker: u8,
    switch_bytes: usize,
    exclusive: bool,
}

/// A worker's instance of an application, and what belongs to it.
struct Seat {
    /// Nothing where the application does not run.
    app: Option<Box<dyn AnyApp>>,
    /// The start of the application that the instance is of.
    generation: u64,
    late_slots: Arc<LateSlots>,
    /// What is counted of it.
    counted: Arc<AppStats>,
    /// The name of the application that they count, which keeps them under another version. The
    /// application itself is not held: to drop the last of it takes longer than a worker may.
    counted_of: &'static str,
    alarm: Alarm,
}

impl Default for Seat {
    fn default() -> Seat {
        Seat {
            app: None,
            generation: 0,
            late_slots: Arc::default(),
            counted: Arc::default(),
            counted_of: "",
            alarm: Alarm::Never,
        }
    }
}

impl Seat {
    /// Tells the application of an event; lets it go on where the application does not run.
    fn tell(
        &mut self,
        guarded @ (_, _, index): (Guard, &Failures, usize),
        what: EventAt<'_>,
        out: &mut Output,
    ) -> Next {
        let Seat { app: Some(app), generation, late_slots: late, counted, .. } = self else {
            return Next::Continue;
        };
        let (mark, slots) = (out.mark(), SlotsAt { index, generation: *generation, late });
        out.holds().begin();
        let next = call(guarded, || {
            let next = app.event(slots, what, out);
            tell_own(&**app, counted);
            next
        });
        let Some(next) = next else {
            out.rewind(mark);
            return Next::Continue;
        };
        out.holds().end(index, *what.event == Event::Joining);
        counted.saw(what.event.kind(), 1, out.written().saturating_sub(mark.written()));
        next
    }
}

impl core::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Pipeline").field("line_up", &self.line_up).finish()
    }
}

impl Pipeline {
    /// Takes a line-up, between two batches: makes instances of the applications that run now and
    /// did not before, and hands those back that do not run any more.
    pub fn take(&mut self, line_up: Arc<LineUp>) {
        let count = line_up.places().len();
        self.seats.resize_with(self.seats.len().max(count), Seat::default);
        for (seat, place) in self.seats.iter_mut().zip(line_up.places()) {
            let runs = place.as_ref().filter(|place| place.has_instances());
            let is_other = runs.is_none_or(|place| place.generation != seat.generation);
            if is_other && let Some(app) = seat.app.take() {
                line_up.hand_back(app);
            }
            let Some(place) = runs else { continue };
            seat.late_slots = Arc::clone(&place.late_slots);
            if seat.app.is_none() {
                let app = place.instance();
                let name = place.app.name;
                if seat.counted_of != name || seat.counted.names() != app.counts() {
                    (seat.counted, seat.counted_of) = (Arc::new(AppStats::new(app.counts())), name);
                }
                seat.generation = place.generation;
                seat.alarm = Alarm::first(app.timer(), self.worker);
                seat.app = Some(app);
            }
        }
        self.line_up = line_up;
        self.find_next_tick();
    }

    /// The line-up that it took last.
    pub fn line_up(&self) -> &Arc<LineUp> {
        &self.line_up
    }

    /// A switch joins: every application makes its slot.
    pub fn join(&mut self, now: Time, info: SwitchInfo) -> Arc<Switch> {
        let Pipeline { seats, failures, guard, line_up, .. } = self;
        let slot = |(index, seat): (usize, &mut Seat)| {
            let app = seat.app.as_mut();
            let made =
                app.and_then(|app| call((*guard, failures, index), || app.init_switch(now, &info)));
            // Those that do not run, or failed, are not asked for it.
            let value = made.unwrap_or_else(|| Box::new(()));
            let generation = if seat.app.is_some() { seat.generation } else { 0 };
            SwitchSlot { generation, value }
        };
        let slots = seats.iter_mut().enumerate().map(slot).collect();
        let (account, since) = (Account::new(self.switch_bytes), line_up.version());
        Arc::new(Switch { info, account, slots, since })
    }

    /// What is counted of each application on this worker, by the number of its place.
    pub fn counted(&self) -> Vec<Arc<AppStats>> {
        self.seats.iter().map(|seat| Arc::clone(&seat.counted)).collect()
    }

    /// Whether an application wants to be alone with a switch: one batch of each may run at a time.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// Whether any application wants to see this kind of event.
    #[inline]
    pub fn starts_on(&self, kind: EventKind) -> bool {
        !self.line_up.orders[kind as usize].is_empty()
    }

    /// Hands a batch to the applications in turn, by [`Batch::kind`].
    #[inline]
    pub fn packet_ins(&mut self, batch: &mut Batch<'_>, out: &mut Output) {
        let Pipeline { seats, line_up, failures, guard, .. } = self;
        for &index in &line_up.orders[batch.kind as usize] {
            let Seat { app: Some(app), generation, late_slots: late, counted, .. } =
                &mut seats[index]
            else {
                continue;
            };
            let (mark, slots) = (out.mark(), SlotsAt { index, generation: *generation, late });
            let seen = call((*guard, failures, index), || {
                app.packet_ins(slots, batch, out);
                tell_own(&**app, counted);
            });
            match seen {
                Some(()) => {
                    let (kind, requests) = (batch.kind, batch.requests.len());
                    let bytes = out.written().saturating_sub(mark.written());
                    counted.saw(kind, requests as u64, bytes);
                }
                None => out.rewind(mark),
            }
        }
        self.tell_failures(out.commands());
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
        let Pipeline { seats, line_up, failures, guard, .. } = self;
        for &index in &line_up.orders[event.kind() as usize] {
            let what = EventAt { now, world, switch, event };
            if seats[index].tell((*guard, failures, index), what, out) == Next::Stop {
                break;
            }
        }
        self.tell_failures(out.commands());
    }

    /// A switch that joined before applications were started joins them now, and is up: those that
    /// run since this version of the line-up are told so.
    pub fn greet(
        &mut self,
        now: Time,
        world: &World,
        (switch, since): (&Switch, u64),
        out: &mut Output,
    ) {
        let Pipeline { seats, line_up, failures, guard, .. } = self;
        for event in &[Event::Joining, Event::Up] {
            for &index in &line_up.orders[event.kind() as usize] {
                if seats[index].generation >= since {
                    let what = EventAt { now, world, switch, event };
                    seats[index].tell((*guard, failures, index), what, out);
                }
            }
        }
        // It is served already.
        out.holds().take_holders();
        self.tell_failures(out.commands());
    }

    /// A switch that applications held back is gone, and was not up: tells those that saw it join.
    pub fn gone_while_held(&mut self, now: Time, world: &World, switch: &Switch, out: &mut Output) {
        let Pipeline { seats, line_up, failures, guard, .. } = self;
        let saw = &line_up.orders[EventKind::Joining as usize];
        for &index in &line_up.orders[EventKind::Down as usize] {
            if !saw.contains(&index) || !switch.has_slot(index, seats[index].generation) {
                continue;
            }
            let what = EventAt { now, world, switch, event: &Event::Down };
            if seats[index].tell((*guard, failures, index), what, out) == Next::Stop {
                break;
            }
        }
        self.tell_failures(out.commands());
    }

    /// Whether every application that runs made its slot on the switch when that joined.
    pub fn has_slots_on(&self, switch: &Switch) -> bool {
        let mut running = self.seats.iter().enumerate().filter(|(_, seat)| seat.app.is_some());
        running.all(|(index, seat)| switch.has_slot(index, seat.generation))
    }

    /// The names of the applications in these places, separated by commas.
    pub fn names(&self, places: &[usize]) -> String {
        let places = places.iter().filter_map(|&index| self.line_up.places().get(index)?.as_ref());
        places.map(|place| place.app.name).collect::<Vec<_>>().join(", ")
    }

    /// When [`Pipeline::tick`] has something to do.
    #[inline]
    pub fn next_tick(&self) -> Time {
        self.next_tick
    }

    /// Fires the timers whose time has come, in the order of the applications.
    pub fn tick(&mut self, now: Time, world: &World, commands: &mut Commands) {
        let Pipeline { seats, line_up, failures, guard, worker, .. } = self;
        for &index in &line_up.orders[EventKind::Timer as usize] {
            let Seat { app: Some(app), counted, alarm, .. } = &mut seats[index] else { continue };
            match *alarm {
                Alarm::Unset(interval) => *alarm = Alarm::At(now + interval),
                Alarm::At(at) if at <= now => {
                    let mark = commands.mark();
                    let interval = call((*guard, failures, index), || {
                        app.tick(now, world, commands);
                        tell_own(&**app, counted);
                        app.timer().interval((*worker).into())
                    });
                    match interval {
                        Some(_) => {
                            let bytes = commands.written().saturating_sub(mark.written());
                            counted.saw(EventKind::Timer, 1, bytes);
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
        self.tell_failures(commands);
        self.find_next_tick();
    }

    /// Another thread asked for it: tells every application, in order.
    pub fn roused(&mut self, now: Time, world: &World, commands: &mut Commands) {
        let Pipeline { seats, failures, guard, .. } = self;
        for (index, seat) in seats.iter_mut().enumerate() {
            let Seat { app: Some(app), counted, .. } = seat else { continue };
            let mark = commands.mark();
            let acted = call((*guard, failures, index), || {
                app.roused(now, world, commands);
                tell_own(&**app, counted);
            });
            if acted.is_none() {
                commands.rewind(mark);
            }
        }
        self.tell_failures(commands);
    }

    fn find_next_tick(&mut self) {
        let indices = self.line_up.orders[EventKind::Timer as usize].iter();
        self.next_tick =
            indices.map(|&index| self.seats[index].alarm.due()).min().unwrap_or(Time::NEVER);
    }

    /// The World is not as it was `before`: tells the applications that read a part that changed.
    pub fn published(&mut self, now: Time, before: &World, after: &World, commands: &mut Commands) {
        let Pipeline { seats, line_up, failures, guard, .. } = self;
        for &index in &line_up.orders[EventKind::Publication as usize] {
            let Seat { app: Some(app), counted, .. } = &mut seats[index] else { continue };
            if app.reads().iter().any(|&id| after.differs(before, id)) {
                let mark = commands.mark();
                let acted = call((*guard, failures, index), || {
                    app.published(View::of(before, app.reads()), now, after, commands);
                    tell_own(&**app, counted);
                });
                if acted.is_none() {
                    commands.rewind(mark);
                    continue;
                }
                let bytes = commands.written().saturating_sub(mark.written());
                counted.saw(EventKind::Publication, 1, bytes);
            }
        }
        self.tell_failures(commands);
    }

    /// Tells the operator of the applications that failed since this was last looked at, on
    /// whichever worker.
    #[inline]
    fn tell_failures(&self, commands: &mut Commands) {
        while let Some(Failure { index, reason }) = self.failures.take_untold() {
            let place = self.line_up.places().get(index).and_then(Option::as_ref);
            if let (Some(place), Some(seat)) = (place, self.seats.get(index)) {
                seat.counted.failed();
                let name = place.app.name;
                commands.failed(format!("{name}: failed, and is left out from now on: {reason}"));
            }
        }
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

/// Has an application say what it counts itself, if it does.
#[inline]
fn tell_own(app: &dyn AnyApp, counted: &AppStats) {
    if !counted.own().is_empty() {
        app.count(counted.own());
    }
}

#[cfg(test)]
mod tests;
