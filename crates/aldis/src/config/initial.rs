//! What a controller begins with: flows, rules and secrets, of the configuration and of what is
//! kept.

use std::sync::Arc;

use aldis_apps::acl::Rule;
use aldis_apps::static_flows::StaticFlow;

use super::{Config, rules};

/// What a controller begins with beside its configuration.
#[derive(Clone, Debug)]
pub(crate) struct Initial {
    /// All static flows, those of the configuration too.
    pub(crate) flows: Vec<Arc<StaticFlow>>,
    /// All rules about packets, likewise.
    pub(crate) rules: Vec<Arc<Rule>>,
    /// The key that signs link probes.
    pub(crate) lldp_key: [u8; 32],
}

impl Config {
    /// The rules of `acl`; none where they are refused, which [`Config::app_set`] says.
    pub(crate) fn acl(&self) -> Vec<Rule> {
        rules::acl(&self.acl_rules).unwrap_or_default()
    }

    /// The flows of `static-flows`, likewise.
    pub(crate) fn static_flows(&self) -> Vec<StaticFlow> {
        rules::static_flows(&self.static_flow).unwrap_or_default()
    }

    /// The flows that `static-flows` begins with.
    pub(crate) fn initial_flows(&self) -> Vec<Arc<StaticFlow>> {
        let own = || self.static_flows().into_iter().map(Arc::new).collect();
        self.initial.as_ref().map_or_else(own, |initial| initial.flows.clone())
    }

    /// The rules that `acl` begins with.
    pub(crate) fn initial_rules(&self) -> Vec<Arc<Rule>> {
        let own = || self.acl().into_iter().map(Arc::new).collect();
        self.initial.as_ref().map_or_else(own, |initial| initial.rules.clone())
    }

    /// The key that signs link probes, where one is kept.
    pub(crate) fn lldp_key(&self) -> Option<[u8; 32]> {
        self.initial.as_ref().map(|initial| initial.lldp_key)
    }

    /// The flows and rules of `other` from now on.
    pub(crate) fn keep_as(&mut self, other: &Config) {
        self.acl_rules.clone_from(&other.acl_rules);
        self.static_flow.clone_from(&other.static_flow);
        self.guest.clone_from(&other.guest);
    }
}
