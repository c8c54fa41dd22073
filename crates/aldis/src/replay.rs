//! A replay: the assembly of `aldis run`, driven by a recording of the control channel.

use std::path::PathBuf;
use std::sync::Arc;

use aldis_apps::topology::RecordedTags;
use aldis_engine::replay::Replay;

use crate::app_registry::AppName;
use crate::config::{Config, Workers};

/// What is to be assembled.
#[derive(Clone, Debug, Default)]
pub struct ReplayPlan {
    /// The configuration file, as of `aldis run --config`.
    pub config: Option<PathBuf>,
    /// The applications, in order; those of the configuration where it does not say.
    pub apps: Option<Vec<String>>,
    /// The workers of the controller that was recorded, 1 to 256.
    pub workers: usize,
}

impl ReplayPlan {
    /// The names of the applications that would run, in order.
    ///
    /// # Errors
    /// One sentence: the configuration cannot be read or makes no sense.
    pub fn app_names(&self) -> Result<Vec<String>, String> {
        Ok(self.read()?.apps().iter().map(|app| app.name().to_owned()).collect())
    }

    /// Assembles it. Link probes get the tags that were recorded. Nothing is listened to, and no
    /// store is read.
    ///
    /// # Errors
    /// One sentence: the configuration makes no sense, or the applications cannot work together.
    pub fn start(&self, recorded: RecordedTags) -> Result<Replay, String> {
        let mut config = self.read()?;
        config.recorded_tags = Some(Arc::new(recorded));
        let app_set = config.app_set()?;
        Replay::start(&config.engine(), app_set).map_err(|why| why.to_string())
    }

    fn read(&self) -> Result<Config, String> {
        let mut config = match &self.config {
            Some(path) => Config::read(path)?,
            None => Config::default(),
        };
        if let Some(apps) = &self.apps {
            let Ok(names) = apps.iter().map(|name| name.parse::<AppName>()).collect();
            config.set_apps(names);
        }
        config.workers = Some(Workers(self.workers));
        config.settle(&[])
    }
}
