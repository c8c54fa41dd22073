//! The guests of the controller: each is an application of the line-up, served by a thread of its
//! own.

mod reload;

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};

use aldis_control::controller_event::EventSink;
use aldis_control::pipeline::AppEntry;
use aldis_engine::{Handle, LifecycleError};
#[cfg(feature = "http")]
use aldis_guest::GuestStatus;
use aldis_guest::{GuestApp, GuestError, GuestSpec, GuestTls, Guests, Rouse};
use rustls::pki_types::ServerName;
use tracing::{info, warn};

use crate::added::{interned, marks_flows_apart, place};
use crate::admin::Admin;
use crate::own_flows::{remove_all, restore_table_miss};
use crate::tls::{self, TlsIdentity};

/// Has the workers of the engine look after guests.
struct Rousing(Handle);

impl Rouse for Rousing {
    fn rouse(&self, worker: usize) {
        self.0.rouse(worker);
    }

    fn rouse_when_readable(&self, worker: usize, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        self.0.rouse_when_readable(worker, descriptor)
    }
}

/// Guests, and the engine whose switches are presented to them.
pub(crate) struct GuestSet {
    engine: Handle,
    guests: Guests,
    /// Those of the configuration, as it was last read.
    configured: Mutex<Vec<GuestSpec>>,
    /// Remembers those that were added over HTTP.
    admin: Arc<Admin>,
}

/// Why a guest was not added, or not changed.
#[derive(Debug)]
pub(crate) enum NotAGuest {
    /// The guest itself.
    Guest(GuestError),
    /// Its place among the applications.
    Engine(LifecycleError),
    /// The disk did not take it, in a sentence.
    #[cfg(feature = "http")]
    Disk(String),
}

impl fmt::Display for NotAGuest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotAGuest::Guest(why) => why.fmt(f),
            NotAGuest::Engine(why) => why.fmt(f),
            #[cfg(feature = "http")]
            NotAGuest::Disk(why) => f.write_str(why),
        }
    }
}

impl GuestSet {
    /// With those of the configuration, and those that were added over HTTP in runs before. Each
    /// that cannot be added is told about.
    pub(crate) fn start(
        engine: Handle,
        event_sink: Arc<dyn EventSink>,
        specs: &[GuestSpec],
        admin: &Arc<Admin>,
    ) -> GuestSet {
        let guests = Guests::new(Rousing(engine.clone()), event_sink);
        let configured = Mutex::new(specs.to_vec());
        let set = GuestSet { engine, guests, configured, admin: Arc::clone(admin) };
        specs.iter().for_each(|spec| set.begin(spec));
        for spec in admin.kept_guests() {
            match specs.iter().any(|configured| configured.name == spec.name) {
                true => warn!(
                    "the guest \"{}\" was added over HTTP, and the configuration has one of this name, which counts instead",
                    spec.name
                ),
                false => set.begin(&spec),
            }
        }
        set
    }

    fn begin(&self, spec: &GuestSpec) {
        if let Err(why) = self.add(spec.clone()) {
            warn!("the guest \"{}\" is not there: {why}", spec.name);
        }
    }

    /// Adds a guest that is there after a restart too, where a store keeps it.
    ///
    /// # Errors
    /// Why not; nothing is left behind then.
    #[cfg(feature = "http")]
    pub(crate) fn add_and_keep(&self, spec: GuestSpec) -> Result<(), NotAGuest> {
        self.add(spec.clone())?;
        let kept = self.admin.keep_guest(&spec.name, Some(&spec));
        kept.map_err(|why| {
            // It was added a moment ago: where a worker is late, its thread ends all the same.
            let _ = self.give_up(&spec.name);
            NotAGuest::Disk(why)
        })
    }

    /// Changes the bounds of a guest. One that was added over HTTP has them after a restart too,
    /// where a store keeps it; those of one of the configuration are read again then.
    ///
    /// # Errors
    /// Why not; its bounds are as they were then.
    #[cfg(feature = "http")]
    pub(crate) fn bound_and_keep(&self, spec: &GuestSpec) -> Result<(), NotAGuest> {
        let before = self.guests.spec(&spec.name);
        self.guests.bound(spec).map_err(NotAGuest::Guest)?;
        // One with another grant stands back behind that of the configuration.
        let is_kept = |kept: &GuestSpec| kept.differs_in_bounds_alone(spec);
        if !self.admin.kept_guests().iter().any(is_kept) {
            return Ok(());
        }
        self.admin.keep_guest(&spec.name, Some(spec)).map_err(|why| {
            // It may have been removed meanwhile.
            let _ = before.map(|before| self.guests.bound(&before));
            NotAGuest::Disk(why)
        })
    }

    /// Adds a guest: its application comes in front of the first that answers whatever it sees.
    ///
    /// # Errors
    /// Why not; nothing is left behind then.
    pub(crate) fn add(&self, spec: GuestSpec) -> Result<(), NotAGuest> {
        let name = interned(&spec.name);
        let marked = marks_flows_apart(&self.engine, name);
        marked.map_err(|why| NotAGuest::Guest(GuestError::Spec(format!("name: {why}"))))?;
        let (connect, events) = (spec.connect.0, GuestApp::events(&spec));
        let tls = tls_of(&spec);
        let tls = tls.map_err(|why| NotAGuest::Guest(GuestError::Spec(format!("tls: {why}"))))?;
        let instances = self.guests.add(spec, tls).map_err(NotAGuest::Guest)?;
        let entry = AppEntry::of(instances).named(name, events);
        if let Err(why) = self.engine.add_app(entry, place(&self.engine)) {
            // Where a worker was late, the workers have it.
            let _ = self.engine.remove_app(name);
            let _ = self.guests.remove(name);
            return Err(NotAGuest::Engine(why));
        }
        info!("{name}: its switches are presented to it at {connect}");
        Ok(())
    }

    /// Removes a guest, and its flows from all switches. Where the configuration has it, it is
    /// there again after a restart.
    ///
    /// # Errors
    /// There is none of this name, the disk did not take it, or a worker does not follow.
    #[cfg(feature = "http")]
    pub(crate) fn remove(&self, name: &str) -> Result<(), NotAGuest> {
        if self.guests.spec(name).is_some() {
            self.admin.keep_guest(name, None).map_err(NotAGuest::Disk)?;
        }
        self.give_up(name)
    }

    fn give_up(&self, name: &str) -> Result<(), NotAGuest> {
        let unknown = || NotAGuest::Guest(GuestError::Unknown(name.to_owned()));
        let spec = self.guests.spec(name).ok_or_else(unknown)?;
        self.engine.remove_app(name).map_err(NotAGuest::Engine)?;
        self.guests.remove(name).map_err(NotAGuest::Guest)?;
        remove_all(&self.engine, name);
        if spec.may_replace_table_miss() {
            restore_table_miss(&self.engine, &spec);
        }
        Ok(())
    }

    /// Pauses a guest, or serves it again.
    ///
    /// # Errors
    /// There is none of this name.
    #[cfg(feature = "http")]
    pub(crate) fn pause(&self, name: &str, pause: bool) -> Result<(), NotAGuest> {
        let done = if pause { self.guests.pause(name) } else { self.guests.resume(name) };
        done.map_err(NotAGuest::Guest)
    }

    /// All of them, by name.
    #[cfg(feature = "http")]
    pub(crate) fn statuses(&self) -> Vec<GuestStatus> {
        self.guests.statuses()
    }

    /// Ends the service of all; their flows stay.
    pub(crate) fn stop(&self) {
        self.guests.stop();
    }
}

/// How connections to the guest are encrypted, from its files as they are now.
///
/// # Errors
/// One sentence.
fn tls_of(spec: &GuestSpec) -> Result<Option<GuestTls>, String> {
    let Some(files) = &spec.tls else { return Ok(None) };
    let authorities = tls::certificates(&files.authority)?;
    let name = match &files.name {
        Some(name) => ServerName::try_from(name.clone())
            .map_err(|_| format!("{name:?} is no name that a certificate can have"))?,
        None => ServerName::IpAddress(spec.connect.0.0.ip().into()),
    };
    let shown = files.certificate.as_ref().zip(files.key.as_ref());
    let identity = shown.map(|(certificate, key)| TlsIdentity::read(certificate, key));
    let identity = identity.transpose()?.map(|TlsIdentity { chain, key }| (chain, key));
    GuestTls::new(name, authorities, identity).map(Some).map_err(|why| match shown {
        Some((certificate, key)) => tls::mismatch(certificate, key, &why),
        None => format!("{} holds no authority that can be used: {why}", files.authority.display()),
    })
}
