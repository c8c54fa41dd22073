//! Static flows: those of the configuration, and those that were set over HTTP.

#[cfg(feature = "http")]
pub(crate) mod change;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use aldis_apps::static_flows::StaticFlow;
/// Flows that may be kept, over all switches.
pub(crate) const FLOWS_MAX: usize = 65_536;

/// All of them. What the configuration says goes before what was set under the same name.
#[derive(Default)]
pub(crate) struct Flows {
    configured: Vec<Arc<StaticFlow>>,
    names: HashSet<Arc<str>>,
    set: BTreeMap<Arc<str>, Arc<StaticFlow>>,
}

impl Flows {
    /// The configuration says these. The names that were set over HTTP too, and do not count now.
    pub(crate) fn configure(&mut self, flows: Vec<StaticFlow>) -> Vec<Arc<str>> {
        self.configured = flows.into_iter().map(Arc::new).collect();
        self.names = self.configured.iter().map(|flow| Arc::clone(&flow.name)).collect();
        self.set.keys().filter(|name| self.names.contains(*name)).cloned().collect()
    }

    /// Those that count, each with whether it is one of the configuration.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<StaticFlow>, bool)> {
        let set = self.set.values().filter(|flow| !self.names.contains(&flow.name));
        let configured = self.configured.iter().map(|flow| (flow, true));
        configured.chain(set.map(|flow| (flow, false)))
    }
}
