//! The settings of the applications that know the network: its links and its hosts.

use std::time::Duration;

use aldis_apps::hosts;
use aldis_apps::learning_switch::Seed;
use aldis_apps::topology;
use serde::Deserialize;

use super::value::{Seconds, Within};
use crate::room::MemoryBudget;

/// `[topology]`
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TopologySettings {
    /// Seconds between two probes of a port that is known.
    probe_every_s: Seconds,
    /// Probes a second, of all ports together.
    probes_per_s_max: Within<1, 1_000_000>,
    /// Whether a link through a switch that is not ours may end at a port that shows hosts.
    far_with_hosts: bool,
}

impl Default for TopologySettings {
    fn default() -> Self {
        let topology::TopologyConfig { interval, probes_per_s_max, far_with_hosts } =
            topology::TopologyConfig::default();
        TopologySettings {
            probe_every_s: Seconds(interval),
            probes_per_s_max: Within(probes_per_s_max.into()),
            far_with_hosts,
        }
    }
}

impl TopologySettings {
    pub(super) fn config(&self) -> topology::TopologyConfig {
        topology::TopologyConfig {
            interval: self.probe_every_s.0,
            probes_per_s_max: u32::try_from(self.probes_per_s_max.0).unwrap_or(u32::MAX),
            far_with_hosts: self.far_with_hosts,
        }
    }
}

/// The most hosts that there is a number for.
const HOSTS_MAX: u64 = 16_777_214;

/// `[hosts]`
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct HostsSettings {
    /// Hosts that there is room for; a million, or fewer where there is little memory, when absent.
    hosts_max: Option<Within<1, HOSTS_MAX>>,
    /// Of which so many behind one port; half of them when absent.
    port_hosts_max: Option<Within<1, HOSTS_MAX>>,
    /// Seconds of silence after which a host is forgotten.
    ageing_s: Within<8, 86_400>,
}

impl Default for HostsSettings {
    fn default() -> Self {
        let config = hosts::HostsConfig::new(Seed::new([0; 16]));
        HostsSettings {
            hosts_max: None,
            port_hosts_max: None,
            ageing_s: Within(config.ageing.as_secs()),
        }
    }
}

impl HostsSettings {
    pub(super) fn config(&self, room: MemoryBudget) -> hosts::HostsConfig {
        let usual = hosts::HostsConfig::new(Seed::random());
        let fitting = || room.hosts(usual.hosts_max as u64);
        let hosts_max = self.hosts_max.map_or_else(fitting, |Within(max)| max);
        let port_hosts_max = self.port_hosts_max.map_or(hosts_max.div_ceil(2), |Within(max)| max);
        hosts::HostsConfig {
            hosts_max: hosts_max as usize,
            port_hosts_max: port_hosts_max as usize,
            ageing: Duration::from_secs(self.ageing_s.0),
            ..usual
        }
    }
}
