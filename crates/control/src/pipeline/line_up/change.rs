//! The changes of a line-up: each makes the next one, or says why it cannot be.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crossbeam_queue::ArrayQueue;

use super::{LateSlots, Life, LineUp, Place, WhyStopped, is_full, listed};
use crate::app::EventKind;
use crate::limits::APPS_MAX;
use crate::pipeline::any_app::AnyApp;
use crate::pipeline::app_set::{AppEntry, Sequence};
use crate::pipeline::graph::AppSetError;
use crate::switch::Switch;
use crate::time::Time;

/// Why a line-up cannot be changed so. As text, a sentence for the operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LineUpError {
    /// There is no application of this name.
    Unknown {
        /// The name.
        app: String,
        /// The applications that there are.
        known: String,
    },
    /// It runs already.
    Runs(&'static str),
    /// It does not run.
    Stopped(&'static str),
    /// It reads what no running application publishes.
    Needs {
        /// The application.
        app: &'static str,
        /// The part that it reads.
        part: &'static str,
        /// The application that publishes it, where there is one.
        publisher: Option<&'static str>,
    },
    /// It publishes parts of the World, and those are fixed at the start.
    Publishes {
        /// The application.
        app: &'static str,
        /// The first of its parts.
        part: &'static str,
    },
    /// It wants to be alone with a switch, and switches are connected that do not know that.
    Exclusive(&'static str),
    /// Its publisher failed: the part that it made is not to be trusted.
    PublisherFailed(&'static str),
    /// There is an application of this name.
    Twice(&'static str),
    /// There are as many applications as there may be.
    Full,
    /// It came with the controller: it can be stopped, and not removed or replaced.
    BuiltIn(&'static str),
    /// It keeps something for each switch, which another version cannot take over.
    KeepsState(&'static str),
    /// The order that this makes cannot be.
    Order(AppSetError),
}

impl fmt::Display for LineUpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineUpError::Unknown { app, known } => {
                write!(f, "there is no application \"{app}\" here; there are: {known}")
            }
            LineUpError::Runs(app) => write!(f, "the application \"{app}\" runs already"),
            LineUpError::Stopped(app) => write!(f, "the application \"{app}\" does not run"),
            LineUpError::Needs { app, part, publisher: Some(publisher) } => write!(
                f,
                "the application \"{app}\" reads \"{part}\", which \"{publisher}\" publishes: start \"{publisher}\" first"
            ),
            LineUpError::Needs { app, part, publisher: None } => write!(
                f,
                "the application \"{app}\" reads \"{part}\", which no application here publishes: \
                 add the one that does to the applications of the configuration, and restart"
            ),
            LineUpError::Publishes { app, part } => write!(
                f,
                "the application \"{app}\" publishes \"{part}\", and what is published is fixed at the start: \
                 add \"{app}\" to the applications of the configuration, and restart"
            ),
            LineUpError::Exclusive(app) => write!(
                f,
                "the application \"{app}\" wants to be alone with a switch, which is fixed at the start: \
                 add \"{app}\" to the applications of the configuration, and restart"
            ),
            LineUpError::PublisherFailed(app) => write!(
                f,
                "what the application \"{app}\" publishes is not made any more, for its publisher failed: restart the controller"
            ),
            LineUpError::Twice(app) => {
                write!(
                    f,
                    "there is an application \"{app}\" already: replace it, or choose another name"
                )
            }
            LineUpError::Full => write!(f, "there may be {APPS_MAX} applications at most"),
            LineUpError::BuiltIn(app) => write!(
                f,
                "the application \"{app}\" came with the controller: it can be stopped, and not removed or replaced"
            ),
            LineUpError::KeepsState(app) => write!(
                f,
                "the application \"{app}\" keeps something for each switch: stop it, remove it, and add the other version"
            ),
            LineUpError::Order(why) => write!(f, "{why}"),
        }
    }
}

impl core::error::Error for LineUpError {}

impl From<AppSetError> for LineUpError {
    fn from(why: AppSetError) -> Self {
        LineUpError::Order(why)
    }
}

impl LineUp {
    /// Without this application, and without those that need what it publishes, which come back
    /// with it. Also where it failed. Every worker stops to call them between two batches.
    ///
    /// # Errors
    /// It does not run, or is not there.
    pub fn stopping(&self, name: &str) -> Result<LineUp, LineUpError> {
        let at = self.find(name)?;
        let (mut places, name) = (self.places.clone(), self.name(at));
        if !self.has_instances(at) {
            return Err(LineUpError::Stopped(name));
        }
        let mut stop = |at: usize, why| {
            if let Some(place) = places[at].as_mut().filter(|place| place.has_instances()) {
                place.life = Life::Stopped(why);
                place.late_slots = Arc::default();
            }
        };
        stop(at, WhyStopped::Told);
        self.failures.dependents(at).iter().for_each(|&at| stop(at, WhyStopped::Needs(name)));
        Ok(self.with(places, self.row.clone())?)
    }

    /// The first step of starting this application, and those that waited for it, with `instances`
    /// of each, one for each worker: switches that join get slots for them. Where they had failed,
    /// that is forgotten: they were stopped before.
    ///
    /// # Errors
    /// It runs already, is not there, or cannot work.
    pub fn joining(&self, name: &str, instances: usize) -> Result<LineUp, LineUpError> {
        let at = self.find(name)?;
        self.check_start(at)?;
        let name = self.name(at);
        let waits = |&at: &usize| {
            let life = self.places[at].as_ref().map(|place| &place.life);
            life == Some(&Life::Stopped(WhyStopped::Needs(name)))
        };
        let mut places = self.places.clone();
        for at in self.failures.dependents(at).iter().copied().filter(waits).chain([at]) {
            self.failures.forget(at);
            places[at].iter_mut().for_each(|place| place.begin(instances, self.version + 1));
        }
        Ok(self.with(places, self.row.clone())?)
    }

    /// The second step, once every worker has taken the first: the applications of that get slots
    /// on these switches, which joined before, and run.
    ///
    /// # Errors
    /// The order that this makes cannot be.
    pub fn running(&self, now: Time, switches: &[Arc<Switch>]) -> Result<LineUp, LineUpError> {
        let mut places = self.places.clone();
        let mut started_in = None;
        for (at, place) in places.iter_mut().enumerate() {
            let Some(place) = place.as_mut().filter(|place| place.life == Life::Joining) else {
                continue;
            };
            if place.app.has_slot {
                place.late_slots = Arc::new(LateSlots::made(at, place, now, switches));
            }
            place.life = Life::Running;
            started_in = Some(place.generation);
        }
        Ok(LineUp { started_in, ..self.with(places, self.row.clone())? })
    }

    /// With another application, which does not run yet, in front of the one of the name `before`;
    /// at the end where there is none. An order that was given for an event that it starts on has
    /// it too, at the same place, or first.
    ///
    /// # Errors
    /// There is one of its name, or there are as many as there may be.
    pub fn adding(&self, app: Arc<AppEntry>, before: Option<&str>) -> Result<LineUp, LineUpError> {
        if self.position(app.name).is_some() {
            return Err(LineUpError::Twice(app.name));
        }
        if is_full(&self.places) {
            return Err(LineUpError::Full);
        }
        let (mut places, mut row) = (self.places.clone(), self.row.clone());
        let free = places.iter().position(Option::is_none).unwrap_or_else(|| {
            places.push(None);
            places.len() - 1
        });
        self.failures.forget(free);
        places[free] = Some(Place {
            app: Arc::clone(&app),
            life: Life::Stopped(WhyStopped::Told),
            generation: self.version + 1,
            ready: Arc::new(ArrayQueue::new(1)),
            late_slots: Arc::default(),
            added: true,
        });
        let at = before.and_then(|name| self.position(name));
        let at = at.and_then(|at| row.iter().position(|&other| other == at));
        row.insert(at.unwrap_or(row.len()), free);
        let mut sequences = self.sequences.clone();
        admit(&mut sequences, &app, before);
        let orders = super::orders(&places, &row, &sequences)?;
        Ok(LineUp { orders, sequences, ..self.next(places, row) })
    }

    /// Without an application that was added, which does not run.
    ///
    /// # Errors
    /// It runs, is not there, or came with the controller.
    pub fn removing(&self, name: &str) -> Result<LineUp, LineUpError> {
        let at = self.find(name)?;
        if self.has_instances(at) {
            return Err(LineUpError::Runs(self.name(at)));
        }
        self.check_added(at)?;
        let mut places = self.places.clone();
        places[at] = None;
        let row: Vec<usize> = self.row.iter().copied().filter(|&other| other != at).collect();
        let mut sequences = self.sequences.clone();
        sequences.iter_mut().for_each(|sequence| sequence.apps.retain(|app| app != name));
        let orders = super::orders(&places, &row, &sequences)?;
        Ok(LineUp { orders, sequences, ..self.next(places, row) })
    }

    /// Whether an application was added, and can be removed.
    ///
    /// # Errors
    /// It is not there, or came with the controller.
    pub fn check_removal(&self, name: &str) -> Result<(), LineUpError> {
        self.check_added(self.find(name)?)
    }

    /// Whether an application runs, or has failed meanwhile.
    pub fn runs(&self, name: &str) -> bool {
        self.position(name).is_some_and(|at| self.has_instances(at))
    }

    /// Whether an application failed, and is left out.
    pub fn has_failed(&self, name: &str) -> bool {
        let failed = |at| self.has_instances(at) && self.failures.has_failed(at);
        self.position(name).is_some_and(failed)
    }

    /// With another version of an application that was added, in the same place. It runs where the
    /// one before did, without a pause: applications without a slot alone can be replaced so.
    ///
    /// # Errors
    /// It is not there, or came with the controller.
    pub fn replacing(&self, app: Arc<AppEntry>, instances: usize) -> Result<LineUp, LineUpError> {
        let at = self.find(app.name)?;
        self.check_added(at)?;
        if app.has_slot {
            return Err(LineUpError::KeepsState(app.name));
        }
        let mut places = self.places.clone();
        if let Some(place) = &mut places[at] {
            let life = place.life.clone();
            place.app = app;
            place.begin(instances, self.version + 1);
            place.life = life;
        }
        Ok(self.with(places, self.row.clone())?)
    }

    /// With this order for a kind of event; with the usual one where no applications are named.
    ///
    /// # Errors
    /// A name is unknown or double, or its application does not start on the event.
    pub fn ordered(&self, kind: EventKind, apps: Vec<String>) -> Result<LineUp, LineUpError> {
        let mut sequences = self.sequences.clone();
        sequences.retain(|sequence| sequence.kind != kind);
        if !apps.is_empty() {
            sequences.push(Sequence { kind, apps });
        }
        let orders = super::orders(&self.places, &self.row, &sequences)?;
        Ok(LineUp { orders, sequences, ..self.next(self.places.clone(), self.row.clone()) })
    }

    /// The place of an application.
    fn find(&self, name: &str) -> Result<usize, LineUpError> {
        self.position(name).ok_or_else(|| {
            let known = listed(self.row_of_places().map(|place| place.app.name));
            LineUpError::Unknown { app: name.to_owned(), known }
        })
    }

    fn name(&self, at: usize) -> &'static str {
        self.places[at].as_ref().map_or("", |place| place.app.name)
    }

    fn has_instances(&self, at: usize) -> bool {
        self.places[at].as_ref().is_some_and(Place::has_instances)
    }

    fn check_added(&self, at: usize) -> Result<(), LineUpError> {
        match &self.places[at] {
            Some(place) if !place.added => Err(LineUpError::BuiltIn(place.app.name)),
            _ => Ok(()),
        }
    }

    /// Whether an application could run.
    fn check_start(&self, at: usize) -> Result<(), LineUpError> {
        let Some(place) = &self.places[at] else { return Ok(()) };
        let app = place.app.name;
        if place.has_instances() {
            return Err(LineUpError::Runs(app));
        }
        if self.failures.has_publisher_of_failed(at) {
            return Err(LineUpError::PublisherFailed(app));
        }
        let published = (place.app.publishers)();
        if let Some(part) = published.0.iter().map(|maker| maker.part().name).next()
            && !self.failures.publishes(at)
        {
            return Err(LineUpError::Publishes { app, part });
        }
        let was_exclusive = |place: &Place| !place.added && place.app.exclusive;
        if place.app.exclusive && !self.places.iter().flatten().any(was_exclusive) {
            return Err(LineUpError::Exclusive(app));
        }
        for part in place.app.reads.iter().map(|part| part.name) {
            let publisher = self.failures.publisher_of(part);
            match publisher {
                Some(by) if by == at || self.has_instances(by) => {}
                by => {
                    let publisher = by.map(|by| self.name(by));
                    return Err(LineUpError::Needs { app, part, publisher });
                }
            }
        }
        Ok(())
    }
}

/// An application that is added sees what it starts on: it comes into one sequence on each event,
/// in front of the one of the name `before`, or first.
fn admit(sequences: &mut [Sequence], app: &AppEntry, before: Option<&str>) {
    for &kind in app.starts {
        let place = |sequence: &Sequence| {
            sequence.apps.iter().position(|other| Some(other.as_str()) == before)
        };
        let of_kind = |sequence: &&mut Sequence| sequence.kind == kind;
        let has = sequences.iter().position(|it| it.kind == kind && place(it).is_some());
        let sequence = match has {
            Some(at) => sequences.get_mut(at),
            None => sequences.iter_mut().find(of_kind),
        };
        if let Some(sequence) = sequence {
            let at = place(sequence).unwrap_or(0);
            sequence.apps.insert(at, app.name.to_owned());
        }
    }
}

impl LateSlots {
    /// Those that an application makes for switches that have none of it.
    fn made(at: usize, place: &Place, now: Time, switches: &[Arc<Switch>]) -> LateSlots {
        let mut instance = (place.app.make)();
        let lacks = |switch: &&Arc<Switch>| !switch.has_slot(at, place.generation);
        let slot =
            |switch: &Arc<Switch>| (switch.info.dpid, instance.init_switch(now, &switch.info));
        LateSlots(switches.iter().filter(lacks).map(slot).collect())
    }
}

impl Place {
    /// A new start of it, in the line-up of this version, with instances for the workers.
    fn begin(&mut self, instances: usize, version: u64) {
        let ready: ArrayQueue<Box<dyn AnyApp>> = ArrayQueue::new(instances.max(1));
        for _ in 0..instances {
            // There is room for so many.
            let _ = ready.push((self.app.make)());
        }
        self.ready = Arc::new(ready);
        self.generation = version;
        self.late_slots = Arc::default();
        self.life = Life::Joining;
    }
}
