//! The settings as they run now: shown over HTTP, and changed from there or by reading the file
//! again, one after the other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use aldis_engine::Handle;
#[cfg(feature = "http")]
use aldis_http::api::weights::BadKnob;
#[cfg(feature = "http")]
use serde::Deserialize;

use crate::config::Config;
#[cfg(feature = "http")]
use crate::knobs::{self, RunKnobs};
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

    /// These knobs count from now on, the others as they do.
    ///
    /// # Errors
    /// The first that cannot; nothing was changed.
    #[cfg(feature = "http")]
    pub(crate) fn turn(
        &self,
        said: serde_json::Map<String, serde_json::Value>,
    ) -> Result<(), BadKnob> {
        let bad = |key: &str, why: &dyn std::fmt::Display| BadKnob {
            key: key.to_owned(),
            why: why.to_string(),
        };
        let mut knobs = RunKnobs::default();
        for (key, value) in said {
            if let Some(waits) = knobs::waiting(&key) {
                return Err(bad(
                    waits,
                    &"only a restart applies it: set it in the configuration, or by --set",
                ));
            }
            let one =
                RunKnobs::deserialize(serde_json::Map::from_iter([(key.clone(), number(value))]));
            let one = one.map_err(|why| bad(&key, &aldis_plain::plain(&why.to_string())))?;
            knobs = knobs.or_rather(one);
        }
        let mut config = self.now();
        let design = knobs.over(config.design);
        config.design =
            design.map_err(|why| bad(why.keys.first().copied().unwrap_or_default(), &why.why))?;
        self.engine.set_knobs(reload::knobs(&config));
        Ok(())
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

/// A number or truth value that is written as a text is one, as behind `--set`.
#[cfg(feature = "http")]
fn number(value: serde_json::Value) -> serde_json::Value {
    let text = value.as_str().map(str::trim).unwrap_or_default();
    match (text.parse::<i64>(), text.parse::<bool>()) {
        (Ok(number), _) => number.into(),
        (_, Ok(truth)) => truth.into(),
        _ => value,
    }
}
