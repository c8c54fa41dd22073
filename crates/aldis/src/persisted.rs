//! What a controller keeps over restarts (`--store`), as far as it runs by it: flows, rules,
//! weights, names, guests and the key of its probes. Without a store the same is kept until it
//! ends.

pub(crate) mod acl;
#[cfg(feature = "http")]
mod change;
pub(crate) mod flows;
#[cfg(feature = "store")]
mod load;

#[cfg(feature = "http")]
use std::collections::BTreeMap;
use std::sync::Arc;

use aldis_control::weights::WeightRule;
use aldis_guest::GuestSpec;
#[cfg(feature = "http")]
use aldis_store::Store;
#[cfg(feature = "http")]
use aldis_wire::DatapathId;
use tracing::warn;

use crate::config::{Config, Initial};
use crate::weights::WeightRules;
use acl::AclRules;
use flows::Flows;

/// The name, on the shelf of weights, of the rules that were set over HTTP: they count instead of
/// all others.
#[cfg(feature = "http")]
const RULES: &str = "rules";

/// What is kept, open as long as the controller runs: nothing else changes it meanwhile.
pub(crate) struct Persisted {
    #[cfg(feature = "http")]
    store: Option<Box<dyn Store>>,
    pub(crate) flows: Flows,
    pub(crate) acl: AclRules,
    #[cfg(feature = "http")]
    names: BTreeMap<DatapathId, String>,
    /// Guests that were added over HTTP, and are there after a restart.
    pub(crate) guests: Vec<GuestSpec>,
    /// Those that were set over HTTP, where any were.
    weights: Option<Vec<WeightRule>>,
    /// Those that were imported: they count behind all others.
    imported: Vec<WeightRule>,
    lldp_key: [u8; 32],
}

impl Persisted {
    /// Nothing so far, and no store.
    pub(crate) fn in_memory() -> Persisted {
        Persisted {
            #[cfg(feature = "http")]
            store: None,
            flows: Flows::default(),
            acl: AclRules::default(),
            #[cfg(feature = "http")]
            names: BTreeMap::new(),
            guests: vec![],
            weights: None,
            imported: vec![],
            lldp_key: crate::app_registry::random(),
        }
    }

    /// As the configuration says, in its store or without one.
    ///
    /// # Errors
    /// One sentence that names the entry that makes no sense.
    pub(crate) fn of(config: &Config) -> Result<Persisted, String> {
        #[cfg(feature = "store")]
        if let Some(file) = &config.store {
            return Persisted::open(file);
        }
        let _ = config;
        Ok(Persisted::in_memory())
    }

    /// The configuration with the weights and knobs that count, and with applications that can work
    /// together.
    ///
    /// # Errors
    /// One sentence that begins with the place of what is wrong.
    pub(crate) fn settle(&self, config: Config) -> Result<Config, String> {
        let mut config = config.settle(&self.imported)?;
        if let Some(set) = &self.weights {
            config.rules =
                WeightRules::of(set).map_err(|why| format!("the store: weights: {why}"))?;
        }
        config.app_set()?;
        Ok(config)
    }

    /// The same with what is kept: the controller begins with that.
    pub(crate) fn begin(&mut self, mut config: Config) -> Config {
        self.configure(&config);
        if self.weights.is_some() && !config.said.is_empty() {
            warn!(
                "the weights that were set over HTTP count, and not those of the configuration and the command line; \"aldis \
                 weights --reset\" has those count again"
            );
        }
        let initial = Initial {
            flows: self.flows.iter().map(|(flow, _)| Arc::clone(flow)).collect(),
            rules: self.acl.iter().map(|(rule, _)| Arc::clone(rule)).collect(),
            lldp_key: self.lldp_key,
        };
        config.initial = Some(initial);
        config
    }

    /// What is kept follows the configuration; where both name the same, that is said.
    pub(crate) fn configure(&mut self, config: &Config) {
        config.warn_of_old_spellings();
        let flows = self.flows.configure(config.static_flows());
        let rules = self.acl.configure(config.acl());
        for (what, names) in [("flow", flows), ("rule", rules)] {
            for name in names {
                warn!(
                    "the {what} \"{name}\" was set over HTTP, and the configuration has one of this name, which counts instead"
                );
            }
        }
    }
}
