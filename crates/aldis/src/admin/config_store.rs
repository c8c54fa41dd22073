//! What HTTP sets and finds again: the server's [`Keeps`], over what is persisted and what the
//! World says of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use aldis_apps::Acl;
use aldis_apps::reconcile::{FlowStatuses, Owner, Status};
use aldis_apps::static_flows::StaticFlows;
use aldis_control::App;
use aldis_control::weights::WeightRule;
use aldis_http::kept::{
    self, AclChange, Fate, Keeps, Only, Refused, Reread, Source, StaticFlow, Value,
};
use aldis_wire::DatapathId;
use tracing::info;

use super::Admin;
use crate::persisted::{acl, flows};
use crate::weights::{self, Rules};

impl Admin {
    fn runs<A: App>(&self) -> Result<(), Refused> {
        if self.settings.now().runs(A::NAME) { Ok(()) } else { Err(Refused::NotRunning(A::NAME)) }
    }

    fn fates<W: Owner>(&self, name: &str) -> Vec<Fate> {
        let world = self.engine.world();
        let Some(part) = world.part::<FlowStatuses<W>>() else { return vec![] };
        let fate = |(switch, entries): (DatapathId, &[aldis_apps::reconcile::FlowStatus])| {
            let entry = entries.iter().find(|entry| *entry.name == *name)?;
            let there = entry.status == Status::There;
            Some(Fate { switch, there, words: entry.status.to_string() })
        };
        part.iter().filter_map(fate).collect()
    }

    /// Of each name, at how many switches it is and is not.
    fn counts<W: Owner>(&self) -> HashMap<Arc<str>, (usize, usize)> {
        let world = self.engine.world();
        let mut counts: HashMap<Arc<str>, (usize, usize)> = HashMap::new();
        for (_, entries) in world.part::<FlowStatuses<W>>().into_iter().flat_map(FlowStatuses::iter)
        {
            for entry in entries {
                let (there, missing) = counts.entry(Arc::clone(&entry.name)).or_default();
                *if entry.status == Status::There { there } else { missing } += 1;
            }
        }
        counts
    }
}

fn shown<A, B>(
    of: impl Iterator<Item = (A, bool)>,
    counts: &HashMap<Arc<str>, (usize, usize)>,
    theirs: impl Fn(A) -> (Arc<str>, B),
) -> Vec<kept::Kept<Arc<B>>> {
    let one = |(it, configured)| {
        let source = if configured { Source::Configuration } else { Source::Http };
        let (name, it) = theirs(it);
        let (there, missing) = counts.get(&name).copied().unwrap_or_default();
        kept::Kept { it: Arc::new(it), source, there, missing }
    };
    of.map(one).collect()
}

impl Keeps for Admin {
    fn is_durable(&self) -> bool {
        self.persisted().is_durable()
    }

    fn static_flows(&self) -> Result<Vec<kept::Kept<Arc<StaticFlow>>>, Refused> {
        self.runs::<StaticFlows>()?;
        let counts = self.counts::<StaticFlows>();
        let persisted = self.persisted();
        let theirs = |flow: &Arc<_>| {
            let flow = flows::change::theirs(flow);
            (Arc::clone(&flow.name), flow)
        };
        let mut all = shown(persisted.flows.iter(), &counts, theirs);
        all.sort_by(|one, other| one.it.name.cmp(&other.it.name));
        Ok(all)
    }

    fn fates_of_flow(&self, name: &str) -> Vec<Fate> {
        self.fates::<StaticFlows>(name)
    }

    fn change_static_flows(
        &self,
        set: Vec<StaticFlow>,
        remove: Vec<String>,
        only: Only,
    ) -> Result<(), Refused> {
        self.runs::<StaticFlows>()?;
        let mut persisted = self.persisted();
        persisted.change_flows(set, remove, only)?;
        self.tell_flows(&persisted);
        Ok(())
    }

    fn acl(&self) -> Result<Vec<kept::Kept<Arc<kept::AclRule>>>, Refused> {
        self.runs::<Acl>()?;
        let counts = self.counts::<Acl>();
        let theirs = |rule: &Arc<_>| {
            let rule = acl::change::theirs(rule);
            (Arc::clone(&rule.name), rule)
        };
        Ok(shown(self.persisted().acl.iter(), &counts, theirs))
    }

    fn fates_of_rule(&self, name: &str) -> Vec<Fate> {
        self.fates::<Acl>(name)
    }

    fn change_acl(&self, change: AclChange) -> Result<(), Refused> {
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
    ) -> Result<(), Refused> {
        self.persisted().change_floodlight_entries(changes)
    }

    fn names(&self) -> BTreeMap<DatapathId, String> {
        self.persisted().names().clone()
    }

    fn set_name(&self, switch: DatapathId, name: Option<String>) -> Result<(), Refused> {
        self.persisted().name(switch, name)
    }

    fn weights(&self) -> (Vec<WeightRule>, Source) {
        let set = self.persisted().set_weights().is_some();
        let source = if set { Source::Http } else { Source::Configuration };
        (self.settings.now().rules.iter().cloned().collect(), source)
    }

    fn set_weights(&self, rules: Option<Vec<WeightRule>>) -> Result<(), Refused> {
        let mut persisted = self.persisted();
        persisted.weigh(rules.clone())?;
        // Each was found to make sense.
        let rules = rules.map(|rules| Rules::of(&rules).unwrap_or_default());
        for line in self.settings.weigh(rules) {
            info!("HTTP: {line}");
        }
        weights::warn_if_idle(&self.settings.now());
        Ok(())
    }

    fn reread(&self) -> Result<Reread, Refused> {
        if self.origin.file.is_none() {
            let why = "there is nothing to read again: the controller was started without --config";
            return Err(Refused::Configured(why.into()));
        }
        let changes = self.reread_settings().map_err(Refused::Senseless)?;
        changes.log(&self.file().unwrap_or_default());
        let waiting = changes.waiting.iter().map(|key| (*key).to_owned()).collect();
        Ok(Reread { applied: changes.applied, waiting })
    }
}
