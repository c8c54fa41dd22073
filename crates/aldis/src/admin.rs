//! The administration of a running controller: what people decide over HTTP ([`config_store`]), by
//! SIGHUP and in the store comes together here. It is persisted first, and counts then: knobs and
//! weights through the engine's handle, flows and rules as parts of the World.

#[cfg(feature = "http")]
mod config_store;

#[cfg(feature = "sandbox")]
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use aldis_apps::Acl;
use aldis_apps::acl::{CompiledRule, DesiredAclRules};
use aldis_apps::static_flows::{DesiredStaticFlows, StaticFlows};
use aldis_control::App;
use aldis_control::world::Part;
use aldis_engine::Handle;
use aldis_guest::GuestSpec;
#[cfg(feature = "sandbox")]
use aldis_wire::DatapathId;
use tracing::warn;

use crate::config::Config;
use crate::guests::GuestSet;
use crate::persisted::Persisted;
use crate::reload::{self, ReloadChanges};
use crate::secure::TlsHandles;
use crate::settings::Settings;

/// Between two attempts to tell a publisher that has no room: it takes thousands of reports each
/// millisecond.
const TOLD_AGAIN: Duration = Duration::from_millis(5);

/// After so many attempts it is not there any more: the controller is ending.
const TOLD_AGAIN_MAX: u32 = 1000;

/// Where the settings come from, as often as they are read.
pub(crate) struct SettingsOrigin {
    /// The configuration file, if there is one.
    pub(crate) file: Option<PathBuf>,
    /// Reads them: the file's, with those of the command line and of the program over them.
    pub(crate) read: Box<dyn Fn() -> Result<Config, String> + Send + Sync>,
}

/// Changes what runs, one change after the other.
pub(crate) struct Admin {
    origin: SettingsOrigin,
    settings: Arc<Settings>,
    persisted: Mutex<Persisted>,
    engine: Handle,
    /// What gets other certificates and keys, once it is open.
    tls: OnceLock<TlsHandles>,
    /// The guests, once they are served.
    guests: OnceLock<Weak<GuestSet>>,
}

impl Admin {
    pub(crate) fn new(
        origin: SettingsOrigin,
        settings: Arc<Settings>,
        persisted: Persisted,
        engine: Handle,
    ) -> Admin {
        let (persisted, tls) = (Mutex::new(persisted), OnceLock::new());
        Admin { origin, settings, persisted, engine, tls, guests: OnceLock::new() }
    }

    /// These get other certificates and keys when they are read again.
    pub(crate) fn serves(&self, tls: TlsHandles) {
        let _ = self.tls.set(tls);
    }

    /// These follow the configuration when it is read again.
    pub(crate) fn hosts(&self, guests: &Arc<GuestSet>) {
        let _ = self.guests.set(Arc::downgrade(guests));
    }

    fn guests(&self) -> Option<Arc<GuestSet>> {
        self.guests.get()?.upgrade()
    }

    /// Reads certificates and keys again: the command line names files too.
    ///
    /// # Errors
    /// One sentence; the old ones stay.
    pub(crate) fn reread_access(&self) -> Result<(), String> {
        self.read_tls_again(&self.settings.now())?;
        self.guests().iter().for_each(|guests| guests.read_tls_again());
        Ok(())
    }

    fn read_tls_again(&self, config: &Config) -> Result<(), String> {
        self.tls.get().map_or(Ok(()), |tls| tls.read_again(config))
    }

    /// The configuration's file, if there is one.
    pub(crate) fn file(&self) -> Option<String> {
        self.origin.file.as_ref().map(|file| file.display().to_string())
    }

    /// Reads the settings again; what of them counts at once does.
    ///
    /// # Errors
    /// One sentence; the old settings stay.
    pub(crate) fn reread_settings(&self) -> Result<ReloadChanges, String> {
        let mut persisted = self.persisted();
        let config = persisted.settle((self.origin.read)()?)?;
        self.read_tls_again(&config)?;
        persisted.configure(&config);
        let mut changes = self.settings.reread(config);
        self.tell_flows(&persisted);
        self.tell_rules(&persisted);
        // Guests wait for workers and switches, and ask for those that are kept.
        drop(persisted);
        if let Some(guests) = self.guests() {
            let specs = self.settings.now().guests();
            guests.read_tls_again();
            let mut lines = guests.configure(specs);
            reload::shorten(&mut lines);
            changes.applied.extend(lines);
        }
        Ok(changes)
    }

    /// The names of the switches; nothing while something is written to disk.
    #[cfg(feature = "sandbox")]
    pub(crate) fn names_at_once(&self) -> Option<BTreeMap<DatapathId, String>> {
        self.persisted.try_lock().ok().map(|persisted| persisted.names().clone())
    }

    /// The guests that were added over HTTP, and are there after a restart.
    pub(crate) fn kept_guests(&self) -> Vec<GuestSpec> {
        self.persisted().guests.clone()
    }

    /// The guest is there again after a restart, or, where none is given, not.
    ///
    /// # Errors
    /// One sentence: the disk did not take it.
    #[cfg(feature = "http")]
    pub(crate) fn keep_guest(&self, name: &str, spec: Option<&GuestSpec>) -> Result<(), String> {
        self.persisted().keep_guest(name, spec).map_err(|why| why.to_string())
    }

    fn persisted(&self) -> MutexGuard<'_, Persisted> {
        // It is changed after all that can fail.
        self.persisted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_flows(&self, persisted: &Persisted) {
        if self.settings.now().runs(StaticFlows::NAME) {
            let all: Arc<[_]> = persisted.flows.iter().map(|(flow, _)| Arc::clone(flow)).collect();
            self.tell::<DesiredStaticFlows>(&all);
        }
    }

    fn tell_rules(&self, persisted: &Persisted) {
        if self.settings.now().runs(Acl::NAME) {
            let all = persisted.acl.iter().map(|(rule, _)| CompiledRule::new(Arc::clone(rule)));
            self.tell::<DesiredAclRules>(&all.collect::<Arc<[_]>>());
        }
    }

    /// Until it is told: the application runs, and its publisher makes room.
    fn tell<P: Part<Report: Clone>>(&self, report: &P::Report) {
        for _ in 0..TOLD_AGAIN_MAX {
            if self.engine.report::<P>(report.clone()).is_ok() {
                return;
            }
            std::thread::sleep(TOLD_AGAIN);
        }
        warn!("what changed could not be told to the applications: it counts after a restart");
    }
}
