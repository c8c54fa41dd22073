//! The line-up: which applications there are, which of them run, and in which order they see what.
//!
//! A line-up does not change. A change makes the next one, which each worker takes between two
//! batches ([`super::Pipeline::take`]): it makes instances of what runs now, and hands back those
//! of what does not. An application is started in two steps, so that no worker calls it for a
//! switch that has no slot for it yet:
//!
//! ```text
//!   stopped ──▶ joining: switches that join get a slot ──▶ running: all others have one too
//! ```
//!
//! The first step ends when every worker has taken it. Then the caller makes the slots of the
//! switches that had joined before ([`LateSlots`]), and the second step goes to the workers.

mod change;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;

use aldis_wire::DatapathId;
use crossbeam_queue::ArrayQueue;

use super::any_app::AnyApp;
use super::app_set::{AppEntry, AppSet, Listed, Sequence};
use super::failures::Failures;
use super::graph::{AppSetError, Orders};
use super::sequences::{told_branches, told_orders};
use crate::app::EventKind;
use crate::limits::APPS_MAX;

pub use change::LineUpError;

/// Instances that wait to be dropped away from the workers; what is more is dropped by them.
const HANDED_BACK_MAX: usize = 256;

/// Which applications there are, which of them run, and in which order they see what.
pub struct LineUp {
    version: u64,
    /// The version in which the applications joined that run since this one.
    started_in: Option<u64>,
    places: Vec<Option<Place>>,
    /// The places in the order in which applications see an event that has no sequence.
    row: Vec<usize>,
    sequences: Vec<Sequence>,
    pub(super) orders: Orders,
    failures: Arc<Failures>,
    handed_back: Arc<ArrayQueue<Box<dyn AnyApp>>>,
}

/// The place of an application. Its number stays the same until the application is removed.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) app: Arc<AppEntry>,
    life: Life,
    /// The version of the line-up in which it was started last: instances and slots of an earlier
    /// start are not those of this one.
    pub(super) generation: u64,
    /// Instances that were made beforehand, for the workers.
    ready: Arc<ArrayQueue<Box<dyn AnyApp>>>,
    pub(super) late_slots: Arc<LateSlots>,
    /// Whether it came after the start of the controller.
    added: bool,
}

/// What an application is doing.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Life {
    Running,
    /// It makes slots for the switches that join, and is not called otherwise.
    Joining,
    Stopped(WhyStopped),
}

/// Why an application does not run.
#[derive(Clone, PartialEq, Eq, Debug)]
enum WhyStopped {
    /// It was not started yet, or it was stopped.
    Told,
    /// It needs what this application publishes, and starts with it.
    Needs(&'static str),
}

/// Slots of switches that joined before their application was started.
#[derive(Default)]
pub(crate) struct LateSlots(BTreeMap<DatapathId, Box<dyn Any + Send + Sync>>);

impl LateSlots {
    /// The slot of a switch, if it has one here.
    pub(crate) fn get(&self, dpid: DatapathId) -> Option<&(dyn Any + Send + Sync)> {
        self.0.get(&dpid).map(|slot| &**slot)
    }
}

impl fmt::Debug for LateSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl fmt::Debug for LineUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = |place: &Place| (place.app.name, place.life.clone());
        f.debug_list().entries(self.row_of_places().map(state)).finish()
    }
}

/// The state of an application, for people to look at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AppState {
    /// It is called.
    Running,
    /// It is not, and can be started.
    Stopped,
    /// It is not, and starts together with the application of this name, of which it reads what
    /// that publishes.
    Waiting(&'static str),
    /// It failed for this reason, and can be started again.
    Failed(String),
}

impl AppState {
    /// Its name: `running`, `stopped`, `waiting` or `failed`.
    pub fn name(&self) -> &'static str {
        match self {
            AppState::Running => "running",
            AppState::Stopped => "stopped",
            AppState::Waiting(_) => "waiting",
            AppState::Failed(_) => "failed",
        }
    }

    /// Why it does not run, where there is more to say than that it was stopped.
    pub fn reason(&self) -> Option<String> {
        match self {
            AppState::Running | AppState::Stopped => None,
            AppState::Waiting(app) => {
                let mut reason = String::from("it needs what \"");
                reason.push_str(app);
                reason.push_str("\" publishes, and starts with it");
                Some(reason)
            }
            AppState::Failed(reason) => Some(reason.clone()),
        }
    }
}

impl Place {
    fn first(Listed { app, runs }: &Listed) -> Place {
        Place {
            app: Arc::clone(app),
            life: if *runs { Life::Running } else { Life::Stopped(WhyStopped::Told) },
            generation: 1,
            ready: Arc::new(ArrayQueue::new(1)),
            late_slots: Arc::default(),
            added: false,
        }
    }

    /// Whether each worker has an instance.
    pub(super) fn has_instances(&self) -> bool {
        matches!(self.life, Life::Running | Life::Joining)
    }

    /// An instance, made beforehand where there is one left.
    pub(super) fn instance(&self) -> Box<dyn AnyApp> {
        self.ready.pop().unwrap_or_else(|| (self.app.make)())
    }
}

impl LineUp {
    pub(super) fn of(app_set: &AppSet, orders: Orders, failures: Arc<Failures>) -> LineUp {
        LineUp {
            version: 1,
            started_in: None,
            places: app_set.apps.iter().map(Place::first).map(Some).collect(),
            row: (0..app_set.apps.len()).collect(),
            sequences: app_set.sequences.clone(),
            orders,
            failures,
            handed_back: Arc::new(ArrayQueue::new(HANDED_BACK_MAX)),
        }
    }

    /// Counts up from 1 with every change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Where applications were started with this version: the version of their instances.
    pub fn started_in(&self) -> Option<u64> {
        self.started_in
    }

    /// The applications in their order, whether they run or not: by name, with the number of their
    /// place.
    pub fn apps(&self) -> impl Iterator<Item = (usize, &'static str, AppState)> {
        let state = |&at: &usize| {
            let place = self.places[at].as_ref()?;
            let state = match (&place.life, self.failures.reason(at)) {
                (Life::Running, None) => AppState::Running,
                (Life::Running | Life::Joining, Some(reason)) => AppState::Failed(reason),
                (Life::Stopped(WhyStopped::Needs(app)), _) => AppState::Waiting(app),
                (Life::Joining | Life::Stopped(WhyStopped::Told), _) => AppState::Stopped,
            };
            Some((at, place.app.name, state))
        };
        self.row.iter().filter_map(state)
    }

    /// The order of the running applications for each kind of event that any of them starts on.
    pub fn sequences(&self) -> impl Iterator<Item = (EventKind, Vec<&'static str>)> {
        let of = |kind: EventKind| {
            let names = self.orders[kind as usize].iter();
            (kind, names.filter_map(|&at| Some(self.places[at].as_ref()?.app.name)).collect())
        };
        EventKind::ALL.into_iter().map(of).filter(|(_, apps): &(_, Vec<_>)| !apps.is_empty())
    }

    /// The sequences as they were told, of the running applications, for each kind of event that
    /// has several.
    pub fn branches(&self) -> Vec<(EventKind, Vec<Vec<&'static str>>)> {
        told_branches(&entries(&self.places, &self.row), &self.sequences, |at| {
            self.places[*at].as_ref().is_some_and(|place| place.life == Life::Running)
        })
    }

    /// Whether any application there is, running or not, starts on this kind of event.
    pub fn may_start_on(&self, kind: EventKind) -> bool {
        self.places.iter().flatten().any(|place| place.app.starts.contains(&kind))
    }

    /// Whether an application, running or not, wants to be alone with a switch.
    pub(super) fn is_exclusive(&self) -> bool {
        self.places.iter().flatten().any(|place| place.app.exclusive)
    }

    /// The places, by number; nothing where an application was removed.
    pub(super) fn places(&self) -> &[Option<Place>] {
        &self.places
    }

    /// Takes an instance that is not called any more, to be dropped away from the worker.
    pub(super) fn hand_back(&self, app: Box<dyn AnyApp>) {
        // Where there is no room it is dropped here.
        let _ = self.handed_back.push(app);
    }

    /// Drops what the workers handed back.
    pub fn drop_handed_back(&self) {
        while self.handed_back.pop().is_some() {}
    }

    fn row_of_places(&self) -> impl Iterator<Item = &Place> {
        self.row.iter().filter_map(|&at| self.places[at].as_ref())
    }

    fn position(&self, name: &str) -> Option<usize> {
        let is = |place: &Option<Place>| place.as_ref().is_some_and(|place| place.app.name == name);
        self.places.iter().position(is)
    }

    /// The same with these places, as the next version.
    fn with(&self, places: Vec<Option<Place>>, row: Vec<usize>) -> Result<LineUp, AppSetError> {
        let orders = orders(&places, &row, &self.sequences)?;
        Ok(LineUp { orders, ..self.next(places, row) })
    }

    /// The next version, with the orders of this one.
    fn next(&self, places: Vec<Option<Place>>, row: Vec<usize>) -> LineUp {
        LineUp {
            version: self.version + 1,
            started_in: None,
            places,
            row,
            sequences: self.sequences.clone(),
            orders: self.orders.clone(),
            failures: Arc::clone(&self.failures),
            handed_back: Arc::clone(&self.handed_back),
        }
    }
}

/// The order of the running applications for each event.
fn orders(
    places: &[Option<Place>],
    row: &[usize],
    sequences: &[Sequence],
) -> Result<Orders, AppSetError> {
    let all = entries(places, row);
    let runs = |at: &usize| places[*at].as_ref().is_some_and(|place| place.life == Life::Running);
    let mut orders = EventKind::ALL.map(|kind| {
        let starts = |(at, app): &(usize, &AppEntry)| app.starts.contains(&kind).then_some(*at);
        all.iter().filter_map(starts).filter(runs).collect()
    });
    for (kind, order) in told_orders(&all, sequences)? {
        orders[kind as usize] = order.into_iter().filter(runs).collect();
    }
    Ok(orders)
}

/// The applications of these places, each with its place.
fn entries<'p>(places: &'p [Option<Place>], row: &[usize]) -> Vec<(usize, &'p AppEntry)> {
    row.iter().filter_map(|&at| Some((at, &*places[at].as_ref()?.app))).collect()
}

/// What a list of names is called in a sentence.
fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Whether there is room for another application.
fn is_full(places: &[Option<Place>]) -> bool {
    places.len() >= APPS_MAX && places.iter().all(Option::is_some)
}

#[cfg(test)]
mod tests;
