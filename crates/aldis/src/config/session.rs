//! The settings of connections with switches, and of the application that knows no network beyond
//! one switch.

use aldis_apps::learning_switch::{self, Seed};
use aldis_control::session;
use serde::Deserialize;

use super::MIB;
use super::value::{Seconds, Within};

/// `[session]`
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SessionTable {
    /// Beacon's knob: delete the flows that a switch has when it connects.
    delete_flows: bool,
    handshake_within_s: Seconds,
    echo_every_s: Seconds,
    echo_within_s: Seconds,
    stuck_within_s: Seconds,
    joining_within_s: Seconds,
    /// MiB that are kept on account of each switch; 16, or fewer where there is little memory, when
    /// absent.
    switch_mib_max: Option<Within<1, 4096>>,
}

impl Default for SessionTable {
    fn default() -> Self {
        let session = session::Config::default();
        SessionTable {
            delete_flows: session.delete_flows,
            handshake_within_s: Seconds(session.handshake_within),
            echo_every_s: Seconds(session.echo_every),
            echo_within_s: Seconds(session.echo_within),
            stuck_within_s: Seconds(session.stuck_within),
            joining_within_s: Seconds(session.joining_within),
            switch_mib_max: None,
        }
    }
}

impl SessionTable {
    /// As the engine wants them.
    pub(super) fn config(&self) -> session::Config {
        session::Config {
            handshake_within: self.handshake_within_s.0,
            echo_every: self.echo_every_s.0,
            echo_within: self.echo_within_s.0,
            stuck_within: self.stuck_within_s.0,
            joining_within: self.joining_within_s.0,
            delete_flows: self.delete_flows,
            ..session::Config::default()
        }
    }

    /// Bytes that are kept on account of each switch, where it is said.
    pub(super) fn switch_bytes(&self) -> Option<usize> {
        let bytes = |Within(mib)| usize::try_from(mib * MIB).unwrap_or(usize::MAX);
        self.switch_mib_max.map(bytes)
    }
}

/// `[learning-switch]`
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LearningSwitchTable {
    /// Seconds after which a flow that carries nothing is removed, 1 to 65535; 0 keeps it for ever.
    pub(super) idle_timeout_s: u16,
}

impl Default for LearningSwitchTable {
    fn default() -> Self {
        let usual = learning_switch::LearningConfig::new(Seed::new([0; 16]));
        LearningSwitchTable { idle_timeout_s: usual.idle_timeout_s }
    }
}
