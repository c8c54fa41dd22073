//! The guests of a controller.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use aldis_control::controller_event::{ControllerEvent, EventSink};

use crate::app::GuestApp;
use crate::grant::Grant;
use crate::guest::{Guest, Rouse, Workers};
use crate::limits::GUESTS_MAX;
use crate::spec::GuestSpec;
use crate::status::GuestStatus;
use crate::thread::GuestThread;
use crate::tls::GuestTls;

/// All guests, by name. Each has a thread of its own.
pub struct Guests {
    workers: Workers,
    event_sink: Arc<dyn EventSink>,
    guests: Mutex<BTreeMap<String, Served>>,
}

struct Served {
    guest: Arc<Guest>,
    thread: JoinHandle<()>,
}

/// Why a guest was not added, or not found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GuestError {
    /// Its settings cannot be: one sentence that names the field.
    Spec(String),
    /// There is one of this name.
    Twice(String),
    /// Another guest has some of its grant.
    Overlap {
        /// The name of the guest that was to be added.
        guest: String,
        /// The name of the guest that has it.
        other: String,
        /// What both have.
        what: &'static str,
    },
    /// There are as many as there may be.
    TooMany,
    /// There is none of this name.
    Unknown(String),
    /// The system has no thread or no descriptor for it.
    System(String),
}

impl std::fmt::Display for GuestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GuestError::Spec(why) => f.write_str(why),
            GuestError::Twice(name) => write!(
                f,
                "there is a guest \"{name}\" already: remove it first, or choose another name"
            ),
            GuestError::Overlap { guest, other, what } => write!(
                f,
                "the guests \"{guest}\" and \"{other}\" would share {what}: narrow the grant of one, or have one observe"
            ),
            GuestError::TooMany => write!(f, "there may be {GUESTS_MAX} guests at most"),
            GuestError::Unknown(name) => write!(f, "there is no guest \"{name}\""),
            GuestError::System(why) => write!(f, "the guest cannot be served: {why}"),
        }
    }
}

impl std::error::Error for GuestError {}

impl std::fmt::Debug for Guests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.guests().keys()).finish()
    }
}

impl Guests {
    /// None yet. `rouse` has workers look after them; `event_sink` is told what guests do.
    pub fn new(rouse: impl Rouse, event_sink: Arc<dyn EventSink>) -> Guests {
        Guests { workers: Workers::new(rouse), event_sink, guests: Mutex::default() }
    }

    /// Serves another guest, over TLS where `tls` is given. What is returned makes its application,
    /// one instance for each worker, to be lined up with the others.
    ///
    /// # Errors
    /// Why not; nothing is left behind then.
    pub fn add(
        &self,
        spec: GuestSpec,
        tls: Option<GuestTls>,
    ) -> Result<impl Fn() -> GuestApp + Clone + Send + Sync + 'static, GuestError> {
        spec.check().map_err(GuestError::Spec)?;
        let mut guests = self.guests();
        if guests.contains_key(&spec.name) {
            return Err(GuestError::Twice(spec.name));
        }
        if guests.len() == GUESTS_MAX {
            return Err(GuestError::TooMany);
        }
        let grant = Grant::of(spec.clone());
        let shares = |served: &Served| grant.overlap(&served.guest.grant);
        let mut others = guests.iter();
        if let Some((other, what)) =
            others.find_map(|(name, served)| Some((name.clone(), shares(served)?)))
        {
            return Err(GuestError::Overlap { guest: spec.name, other, what });
        }
        let name = spec.name.clone();
        let system = |error: std::io::Error| GuestError::System(error.to_string());
        let guest = Guest::new(spec, self.workers.clone(), tls).map_err(system)?;
        let serving =
            GuestThread::new(Arc::clone(&guest), Arc::clone(&self.event_sink)).map_err(system)?;
        let thread = thread::Builder::new().name(format!("guest {name}"));
        let thread = thread.spawn(move || serving.run()).map_err(system)?;
        guests.insert(name, Served { guest: Arc::clone(&guest), thread });
        Ok(move || GuestApp::of(Arc::clone(&guest)))
    }

    /// Ends the service of a guest. Its application is to leave the line-up first.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn remove(&self, name: &str) -> Result<(), GuestError> {
        let served = self.guests().remove(name).ok_or_else(|| unknown(name))?;
        served.guest.end();
        // It ends within one tick.
        let _ = served.thread.join();
        let name = name.to_owned();
        self.event_sink.emit(ControllerEvent::Guest { name, state: "removed", reason: None });
        Ok(())
    }

    /// Pauses a guest: requests pass it by, and its connections end.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn pause(&self, name: &str) -> Result<(), GuestError> {
        self.guests().get(name).map(|served| served.guest.pause()).ok_or_else(|| unknown(name))
    }

    /// Serves a guest again that was paused or quarantined.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn resume(&self, name: &str) -> Result<(), GuestError> {
        self.guests().get(name).map(|served| served.guest.resume()).ok_or_else(|| unknown(name))
    }

    /// The bounds of the guest of this name are those of `spec` from now on: rate, queue, weight,
    /// and what becomes of requests that it cannot take. Its connections stay.
    ///
    /// # Errors
    /// They cannot be, `spec` differs in more than them, or there is none of this name.
    pub fn bound(&self, spec: &GuestSpec) -> Result<(), GuestError> {
        spec.check().map_err(GuestError::Spec)?;
        let guests = self.guests();
        let guest = &guests.get(&spec.name).ok_or_else(|| unknown(&spec.name))?.guest;
        if !guest.grant.spec().differs_in_bounds_alone(spec) {
            return Err(GuestError::Twice(spec.name.clone()));
        }
        guest.bounds.set(spec);
        Ok(())
    }

    /// Connections to a guest that are opened from now on are encrypted so.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn encrypt(&self, name: &str, tls: GuestTls) -> Result<(), GuestError> {
        let guests = self.guests();
        let served = guests.get(name).ok_or_else(|| unknown(name))?;
        served.guest.set_tls(Some(tls));
        Ok(())
    }

    /// All of them, by name.
    pub fn statuses(&self) -> Vec<GuestStatus> {
        self.guests().values().map(|served| served.guest.status()).collect()
    }

    /// What is said of the one of this name.
    pub fn spec(&self, name: &str) -> Option<GuestSpec> {
        self.guests().get(name).map(|served| served.guest.spec())
    }

    /// Ends the service of all.
    pub fn stop(&self) {
        let guests = std::mem::take(&mut *self.guests());
        guests.values().for_each(|served| served.guest.end());
        guests.into_values().for_each(|served| drop(served.thread.join()));
    }

    fn guests(&self) -> MutexGuard<'_, BTreeMap<String, Served>> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unknown(name: &str) -> GuestError {
    GuestError::Unknown(name.to_owned())
}
