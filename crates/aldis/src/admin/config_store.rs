//! What HTTP sets and finds again: the server's [`ConfigStore`], over what is persisted and what
//! the World says of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use aldis_apps::Acl;
use aldis_apps::acl::Rule;
use aldis_apps::reconcile::{FlowStatus, FlowStatuses, Owner, Status};
use aldis_apps::static_flows::{StaticFlow, StaticFlowStatuses, StaticFlows};
use aldis_control::App;
use aldis_control::weights::WeightRule;
use aldis_http::desired::{
    AclChange, ConfigStore, InstallStatus, Installed, Only, Reread, SetError, Source, Stored, Value,
};
use aldis_wire::DatapathId;
use tracing::info;

use super::Admin;
use crate::weights::{self, WeightRules};

impl Admin {
    fn runs<A: App>(&self) -> Result<(), SetError> {
        if self.settings.now().runs(A::NAME) { Ok(()) } else { Err(SetError::NotRunning(A::NAME)) }
    }

    fn status<W: Owner>(&self, name: &str) -> Vec<InstallStatus> {
        let world = self.engine.world();
        let Some(part) = world.part::<FlowStatuses<W>>() else { return vec![] };
        let status = |(switch, entries): (DatapathId, &[FlowStatus])| {
            let entry = entries.iter().find(|entry| *entry.name == *name)?;
            let there = entry.status == Status::There;
            Some(InstallStatus {
                switch: switch.to_string(),
                there,
                words: entry.status.to_string(),
            })
        };
        part.iter().filter_map(status).collect()
    }

    /// Of each flow, by its name, at how many switches it is and is not.
    fn installed(&self) -> HashMap<Arc<str>, Installed> {
        let world = self.engine.world();
        let mut all: HashMap<Arc<str>, Installed> = HashMap::new();
        for (_, entries) in
            world.part::<StaticFlowStatuses>().into_iter().flat_map(FlowStatuses::iter)
        {
            for entry in entries {
                let installed = all.entry(Arc::clone(&entry.name)).or_default();
                match entry.status {
                    Status::There => installed.there += 1,
                    _ => installed.missing += 1,
                }
            }
        }
        all
    }
}

fn source(configured: bool) -> Source {
    if configured { Source::Configuration } else { Source::Http }
}

impl ConfigStore for Admin {
    fn is_durable(&self) -> bool {
        self.persisted().is_durable()
    }

    fn static_flows(&self) -> Result<Vec<Stored<StaticFlow>>, SetError> {
        self.runs::<StaticFlows>()?;
        let installed = self.installed();
        let desired = |(flow, configured): (&Arc<StaticFlow>, bool)| Stored {
            it: StaticFlow::clone(flow),
            source: source(configured),
            installed: Some(installed.get(&flow.name).copied().unwrap_or_default()),
            at: vec![],
        };
        let mut all: Vec<_> = self.persisted().flows.iter().map(desired).collect();
        all.sort_by(|one, other| one.it.name.cmp(&other.it.name));
        Ok(all)
    }

    fn flow_status(&self, name: &str) -> Vec<InstallStatus> {
        self.status::<StaticFlows>(name)
    }

    fn change_static_flows(
        &self,
        set: Vec<StaticFlow>,
        remove: Vec<String>,
        only: Only,
    ) -> Result<(), SetError> {
        self.runs::<StaticFlows>()?;
        let mut persisted = self.persisted();
        persisted.change_flows(set, remove, only)?;
        self.tell_flows(&persisted);
        Ok(())
    }

    fn acl(&self) -> Result<Vec<Stored<Rule>>, SetError> {
        self.runs::<Acl>()?;
        let desired = |(rule, configured): (&Arc<Rule>, bool)| Stored {
            it: Rule::clone(rule),
            source: source(configured),
            installed: None,
            at: vec![],
        };
        Ok(self.persisted().acl.iter().map(desired).collect())
    }

    fn rule_status(&self, name: &str) -> Vec<InstallStatus> {
        self.status::<Acl>(name)
    }

    fn change_acl(&self, change: AclChange) -> Result<(), SetError> {
        self.runs::<Acl>()?;
        let mut persisted = self.persisted();
        persisted.change_acl(change)?;
        self.tell_rules(&persisted);
        Ok(())
    }

    fn floodlight_entries(&self) -> BTreeMap<String, Value> {
        self.persisted().floodlight_entries()
    }

    fn change_floodlight_entries(
        &self,
        changes: Vec<(String, Option<Value>)>,
    ) -> Result<(), SetError> {
        self.persisted().change_floodlight_entries(changes)
    }

    fn names(&self) -> BTreeMap<DatapathId, String> {
        self.persisted().names().clone()
    }

    fn set_name(&self, switch: DatapathId, name: Option<String>) -> Result<(), SetError> {
        self.persisted().name(switch, name)
    }

    fn weights(&self) -> (Vec<WeightRule>, Source) {
        let set = self.persisted().set_weights().is_some();
        let source = if set { Source::Http } else { Source::Configuration };
        (self.settings.now().rules.iter().cloned().collect(), source)
    }

    fn set_weights(&self, rules: Option<Vec<WeightRule>>) -> Result<(), SetError> {
        let mut persisted = self.persisted();
        persisted.weigh(rules.clone())?;
        // Each was found to make sense.
        let rules = rules.map(|rules| WeightRules::of(&rules).unwrap_or_default());
        for line in self.settings.weigh(rules) {
            info!("HTTP: {line}");
        }
        weights::warn_if_idle(&self.settings.now());
        Ok(())
    }

    fn reread(&self) -> Result<Reread, SetError> {
        if self.origin.file.is_none() {
            let why = "there is nothing to read again: the controller was started without --config";
            return Err(SetError::Configured(why.into()));
        }
        let changes = self.reread_settings().map_err(SetError::Senseless)?;
        changes.log(&self.file().unwrap_or_default());
        let waiting = changes.waiting.iter().map(|key| (*key).to_owned()).collect();
        Ok(Reread { applied: changes.applied, waiting })
    }
}
