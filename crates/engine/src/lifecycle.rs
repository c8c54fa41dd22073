//! The life cycle of applications: they are started, stopped, added, removed, replaced and put in
//! another order while the engine runs.
//!
//! Each change makes another line-up, which every worker takes between two batches; the caller
//! waits until all have. No request is lost or handed to both: it is in a batch, and a batch runs
//! under one line-up. One change is made at a time.

use std::fmt;
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use aldis_control::EventKind;
use aldis_control::pipeline::{AppEntry, LineUp, LineUpError};

use crate::guard::guard;
use crate::handle::Handle;
use crate::limits::LINE_UP_WITHIN;

/// How often it is looked whether all workers have taken a line-up.
const LOOK_EVERY: Duration = Duration::from_micros(50);

/// Why a change of the applications was not made, or not to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LifecycleError {
    /// It cannot be. Nothing was changed.
    LineUp(LineUpError),
    /// The application panicked while it was made, or made what it keeps for a switch: it does not
    /// run.
    Panicked(String),
    /// A worker did not take the line-up within [`LINE_UP_WITHIN`]: it takes it when it can.
    Late {
        /// The worker, from 0.
        worker: usize,
    },
}

impl fmt::Display for LifecycleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LifecycleError::LineUp(why) => write!(f, "{why}"),
            LifecycleError::Panicked(why) => write!(f, "it does not run: {why}"),
            LifecycleError::Late { worker } => write!(
                f,
                "worker {worker} did not take the change within {} s, and takes it when it can",
                LINE_UP_WITHIN.as_secs()
            ),
        }
    }
}

impl std::error::Error for LifecycleError {}

impl From<LineUpError> for LifecycleError {
    fn from(why: LineUpError) -> Self {
        LifecycleError::LineUp(why)
    }
}

impl Handle {
    /// The applications as they are lined up now.
    pub fn line_up(&self) -> Arc<LineUp> {
        self.shared.line_up.newest()
    }

    /// Starts an application that does not run, and those that waited for it. It gets an instance
    /// for each worker, a slot on each switch that is connected, and is told of that switch as if
    /// it joined now. Where it failed, it begins anew.
    ///
    /// # Errors
    /// It runs already, is not there or cannot work; or a worker does not follow.
    pub fn start_app(&self, name: &str) -> Result<(), LifecycleError> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.line_up().has_failed(name) {
            self.change(|line_up| line_up.stopping(name))?;
        }
        self.begin(name)
    }

    /// Stops an application that runs, and those that need what it publishes: these start with it
    /// again. What they installed on switches stays there.
    ///
    /// # Errors
    /// It does not run or is not there; or a worker does not follow.
    pub fn stop_app(&self, name: &str) -> Result<(), LifecycleError> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.change(|line_up| line_up.stopping(name))
    }

    /// Adds an application in front of the one of the name `before`, or at the end, and starts it.
    ///
    /// # Errors
    /// There is one of this name, there are too many, or it cannot work: then it is not there; or a
    /// worker does not follow.
    pub fn add_app(&self, app: AppEntry, before: Option<&str>) -> Result<(), LifecycleError> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let name = app.name();
        self.change(|line_up| line_up.adding(Arc::new(app), before))?;
        self.begin(name).inspect_err(|_| {
            let _ = self.change(|line_up| line_up.removing(name));
        })
    }

    /// Adds an application likewise, and does not start it.
    ///
    /// # Errors
    /// There is one of this name, or there are too many; or a worker does not follow.
    pub fn add_stopped_app(
        &self,
        app: AppEntry,
        before: Option<&str>,
    ) -> Result<(), LifecycleError> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.change(|line_up| line_up.adding(Arc::new(app), before))
    }

    /// Removes an application that was added; it is stopped first, where it runs.
    ///
    /// # Errors
    /// It is not there, or came with the controller; or a worker does not follow.
    pub fn remove_app(&self, name: &str) -> Result<(), LifecycleError> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.line_up().check_removal(name)?;
        match self.change(|line_up| line_up.stopping(name)) {
            Ok(()) | Err(LifecycleError::LineUp(LineUpError::Stopped(_))) => {}
            Err(other) => return Err(other),
        }
        self.change(|line_up| line_up.removing(name))
    }

    /// Puts another version in the place of an application that was added, in one step.
    ///
    /// # Errors
    /// It is not there, came with the controller or keeps something for each switch; or a worker
    /// does not follow.
    pub fn replace_app(&self, app: AppEntry) -> Result<(), LifecycleError> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let (app, workers) = (Arc::new(app), self.shared.line_up.workers());
        self.change(|line_up| line_up.replacing(app, workers))
    }

    /// Gives a kind of event this order of applications; the usual one where none is named.
    ///
    /// # Errors
    /// A name is unknown or double, or its application does not start on the event; or a worker
    /// does not follow.
    pub fn order_apps(&self, kind: EventKind, apps: Vec<String>) -> Result<(), LifecycleError> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.change(|line_up| line_up.ordered(kind, apps))
    }

    /// Both steps of a start. One that panics in the second is stopped again.
    fn begin(&self, name: &str) -> Result<(), LifecycleError> {
        let workers = self.shared.line_up.workers();
        self.change(|line_up| line_up.joining(name, workers))?;
        // From here on each switch that joins gets a slot.
        let switches: Vec<_> = self.switches().into_iter().map(|seen| seen.switch).collect();
        let now = self.now();
        let runs = self.change(|line_up| line_up.running(now, &switches));
        if let Err(LifecycleError::Panicked(_)) = runs {
            self.change(|line_up| line_up.stopping(name))?;
        }
        runs
    }

    /// Makes the next line-up, and waits until every worker has taken it.
    fn change(
        &self,
        next: impl FnOnce(&LineUp) -> Result<LineUp, LineUpError>,
    ) -> Result<(), LifecycleError> {
        let (now, mut next, mut made) = (self.line_up(), Some(next), None);
        let make = &mut || made = next.take().map(|next| next(&now));
        guard(make).map_err(LifecycleError::Panicked)?;
        let Some(line_up) = made.transpose()? else { return Ok(()) };
        let version = line_up.version();
        self.shared.change_line_up(line_up);
        let deadline = Instant::now() + LINE_UP_WITHIN;
        while let Some(worker) = self.shared.line_up.behind(version) {
            if Instant::now() > deadline {
                return Err(LifecycleError::Late { worker });
            }
            thread::sleep(LOOK_EVERY);
        }
        self.line_up().drop_handed_back();
        Ok(())
    }
}
