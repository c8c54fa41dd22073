//! `[learning-switch]`: the settings of the application.

use aldis_apps::learning_switch::{Config, Seed};
use serde::Deserialize;

/// `[learning-switch]`
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LearningSwitchSettings {
    /// Seconds after which a flow that carries nothing is removed, 1 to 65535; 0 keeps it for ever.
    pub(super) idle_timeout_s: u16,
}

impl Default for LearningSwitchSettings {
    fn default() -> Self {
        LearningSwitchSettings { idle_timeout_s: Config::new(Seed::new([0; 16])).idle_timeout_s }
    }
}
