//! The settings as they run now: shown over HTTP, and changed from there or by reading the file
//! again, one after the other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use aldis_engine::Handle;

use crate::config::Config;
use crate::reload::{self, ReloadChanges};
#[cfg(feature = "http")]
use crate::weights::WeightRules;

/// What runs, and the hands that change it.
pub(crate) struct Settings {
    config: Mutex<Config>,
    engine: Handle,
}

impl Settings {
    /// As it was started.
    pub(crate) fn new(config: Config, engine: Handle) -> Settings {
        Settings { config: Mutex::new(config), engine }
    }

    /// As it runs now. No worker waits for this lock.
    pub(crate) fn now(&self) -> MutexGuard<'_, Config> {
        self.config.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file was read again: what of it counts at once does.
    pub(crate) fn reread(&self, read: Config) -> ReloadChanges {
        let mut config = self.now();
        let changes = reload::apply(&mut config, read);
        self.engine.set_knobs(reload::knobs(&config));
        changes
    }

    /// These rules about weights count from now on, or those that were said where there are none; a
    /// line for each difference.
    #[cfg(feature = "http")]
    pub(crate) fn weigh(&self, rules: Option<WeightRules>) -> Vec<String> {
        let mut config = self.now();
        let rules = rules.unwrap_or_else(|| config.said.clone());
        let mut changes = config.rules.changes(&rules);
        reload::shorten(&mut changes);
        config.rules = rules;
        self.engine.set_knobs(reload::knobs(&config));
        changes
    }
}
