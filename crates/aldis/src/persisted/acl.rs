//! Rules about packets: those of the configuration, and behind them those that were set over HTTP.

#[cfg(feature = "http")]
pub(crate) mod change;

use std::collections::HashSet;
use std::sync::Arc;

use aldis_apps::acl::Rule;

/// All of them, in order. What the configuration says goes before what was set under the same name.
#[derive(Default)]
pub(crate) struct AclRules {
    configured: Vec<Arc<Rule>>,
    set: Vec<Arc<Rule>>,
}

impl AclRules {
    /// The configuration says these. The names that were set over HTTP too, and do not count now.
    pub(crate) fn configure(&mut self, rules: Vec<Rule>) -> Vec<Arc<str>> {
        self.configured = rules.into_iter().map(Arc::new).collect();
        let names = self.set.iter().map(|rule| &rule.name);
        names.filter(|name| self.is_configured(name)).cloned().collect()
    }

    /// Those that count, in order, each with whether it is one of the configuration.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<Rule>, bool)> {
        let names: HashSet<_> = self.configured.iter().map(|rule| &rule.name).collect();
        let set = self.set.iter().filter(move |rule| !names.contains(&rule.name));
        let configured = self.configured.iter().map(|rule| (rule, true));
        configured.chain(set.map(|rule| (rule, false)))
    }

    fn is_configured(&self, name: &str) -> bool {
        self.configured.iter().any(|rule| *rule.name == *name)
    }
}
