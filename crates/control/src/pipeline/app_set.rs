//! The app set: the applications that a controller has at its start, and the order in which they
//! see what.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::any_app::AnyApp;
use super::failures::{Failures, unguarded};
use super::line_up::LineUp;
use super::{AppSetError, Pipelines};
use crate::account::SWITCH_BYTES;
use crate::app::{App, EventKind, Slot};
use crate::world::{PartId, Publishers, Queues, WorldBuilder};

/// The applications of a controller, in order: how to make one instance of each for every worker.
pub struct AppSet {
    pub(super) apps: Vec<Listed>,
    pub(super) sequences: Vec<Sequence>,
    pub(super) switch_bytes: usize,
}

/// An application of a set.
#[derive(Clone)]
pub(super) struct Listed {
    pub(super) app: Arc<AppEntry>,
    /// Whether it runs from the start.
    pub(super) runs: bool,
}

impl Default for AppSet {
    fn default() -> Self {
        AppSet { apps: Vec::new(), sequences: Vec::new(), switch_bytes: SWITCH_BYTES }
    }
}

/// An application: what it is called, what it starts on, and how an instance of it is made.
pub struct AppEntry {
    pub(super) name: &'static str,
    pub(super) starts: &'static [EventKind],
    pub(super) reads: &'static [PartId],
    pub(super) exclusive: bool,
    /// Whether it keeps something for each switch.
    pub(super) has_slot: bool,
    pub(super) make: Box<dyn Fn() -> Box<dyn AnyApp> + Send + Sync>,
    pub(super) publishers: Box<dyn Fn() -> Publishers + Send + Sync>,
}

impl AppEntry {
    /// Of an application: `make` makes one instance for each worker.
    pub fn of<A: App>(make: impl Fn() -> A + Clone + Send + Sync + 'static) -> AppEntry {
        let maker = make.clone();
        AppEntry {
            name: A::NAME,
            starts: A::EVENTS,
            reads: A::READS,
            exclusive: <A::Slot as Slot>::EXCLUSIVE,
            has_slot: !<A::Slot as Slot>::IS_EMPTY,
            make: Box::new(move || Box::new(make())),
            publishers: Box::new(move || maker().publishers()),
        }
    }

    /// The same by another name, which starts on these events: an application whose code is read
    /// from a file has both from there. It publishes nothing.
    pub fn named(self, name: &'static str, starts: &'static [EventKind]) -> AppEntry {
        AppEntry { name, starts, publishers: Box::new(Publishers::default), ..self }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl core::fmt::Debug for AppEntry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name)
    }
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
        self.apps.push(Listed { app: Arc::new(AppEntry::of(make)), runs: true });
        self
    }

    /// The application that was added last is there, and does not run until it is started. It
    /// comes in front of the first that is named, where one of those is there. It may publish
    /// nothing: the parts of the World are fixed at the start.
    pub fn idle(mut self, before: &[&str]) -> Self {
        if let Some(mut listed) = self.apps.pop() {
            listed.runs = false;
            let at = self.apps.iter().position(|other| before.contains(&other.app.name));
            self.apps.insert(at.unwrap_or(self.apps.len()), listed);
        }
        self
    }

    /// Bytes that are kept on account of each switch, where they are not [`SWITCH_BYTES`].
    pub fn switch_bytes(mut self, bytes: usize) -> Self {
        self.switch_bytes = bytes;
        self
    }

    /// Says which applications see this kind of event, and in which order. Where nothing is said,
    /// all that start on it do, in the order in which they were added. Several sequences on one
    /// kind are branches, which join where they name the same application: the order keeps each.
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
        self.entries().map(|app| app.name)
    }

    /// The applications, in order.
    pub(super) fn entries(&self) -> impl Iterator<Item = &AppEntry> {
        self.apps.iter().map(|listed| &*listed.app)
    }

    /// Checks that the applications can work together, and makes what all workers share.
    ///
    /// # Errors
    /// What is missing, double or unknown, or goes in a circle.
    pub fn build(&self) -> Result<Pipelines, AppSetError> {
        let (orders, makers) = self.check()?;
        let queues = makers.iter().map(|maker| (maker.part(), maker.queue())).collect();
        let failures = Arc::new(Failures::of(&self.graph()?));
        Ok(Pipelines {
            line_up: Arc::new(LineUp::of(self, orders, Arc::clone(&failures))),
            queues: Arc::new(Queues::new(queues)),
            world_builder: WorldBuilder::new(makers),
            failures,
            guard: unguarded,
            switch_bytes: self.switch_bytes,
        })
    }
}
