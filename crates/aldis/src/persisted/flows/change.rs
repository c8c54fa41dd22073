//! Changes of static flows, over HTTP.

use std::collections::HashSet;
use std::sync::Arc;

use aldis_apps::static_flows::StaticFlow;
use aldis_http::desired::{Only, SetError};
use aldis_store::{Shelf, StoreChange, Value};

use super::{FLOWS_MAX, Flows};
use crate::persisted::Persisted;

impl Flows {
    /// One that is kept already.
    #[cfg(feature = "store")]
    pub(in crate::persisted) fn add(&mut self, flow: StaticFlow) {
        self.set.insert(Arc::clone(&flow.name), Arc::new(flow));
    }

    /// Whether this may be done to that.
    fn check(
        &self,
        set: &[Arc<StaticFlow>],
        remove: &[String],
        only: Only,
    ) -> Result<(), SetError> {
        let mut touched = HashSet::new();
        for name in set.iter().map(|flow| &*flow.name).chain(remove.iter().map(String::as_str)) {
            if self.names.contains(name) {
                let why =
                    format!("the flow \"{name}\" is one of the configuration: change it there");
                return Err(SetError::Configured(why));
            }
            if !touched.insert(name) {
                return Err(SetError::Senseless(format!("the flow \"{name}\" is named twice")));
            }
        }
        if let Some(name) = remove.iter().find(|name| !self.set.contains_key(name.as_str())) {
            return Err(SetError::Missing(name.clone()));
        }
        let there = |flow: &&Arc<StaticFlow>| self.set.contains_key(&flow.name);
        if let (Only::IfNew, Some(flow)) = (only, set.iter().find(there)) {
            return Err(SetError::NotSo(format!("there is a flow \"{}\" already", flow.name)));
        }
        let added = set.iter().filter(|flow| !there(flow)).count();
        if self.configured.len() + self.set.len() + added > FLOWS_MAX + remove.len() {
            return Err(SetError::Senseless(format!("{FLOWS_MAX} flows are kept, and no more")));
        }
        let stays = self.iter().map(|(flow, _)| flow).filter(|flow| !touched.contains(&*flow.name));
        let mut others = HashSet::new();
        // Of what stays only what could be overwritten has to be looked at closely.
        let places: HashSet<_> = set.iter().map(|flow| place(flow)).collect();
        others.extend(stays.filter(|flow| places.contains(&place(flow))).map(by_match));
        for flow in set {
            if let Some(other) = others.replace(by_match(flow)) {
                return Err(SetError::Senseless(format!(
                    "the flow \"{}\" has the switch, the table, the match and the priority of \"{}\": one would overwrite the \
                     other",
                    flow.name, other.0.name
                )));
            }
        }
        Ok(())
    }
}

impl Persisted {
    /// Sets and removes flows, all or none; on disk when this returns.
    pub(crate) fn change_flows(
        &mut self,
        set: Vec<StaticFlow>,
        remove: Vec<String>,
        only: Only,
    ) -> Result<(), SetError> {
        let sets =
            set.iter().map(|flow| StoreChange::set(Shelf::StaticFlows, &*flow.name, written(flow)));
        let removes =
            remove.iter().map(|name| StoreChange::remove(Shelf::StaticFlows, name.clone()));
        let changes: Vec<_> = sets.chain(removes).collect();
        let set: Vec<_> = set.into_iter().map(Arc::new).collect();
        self.flows.check(&set, &remove, only)?;
        self.write(&changes)?;
        remove.iter().for_each(|name| drop(self.flows.set.remove(name.as_str())));
        self.flows.set.extend(set.into_iter().map(|flow| (Arc::clone(&flow.name), flow)));
        Ok(())
    }
}

/// Where it is on a switch, but for its match.
fn place(flow: &StaticFlow) -> (&aldis_control::weights::Switches, Option<u8>, u16) {
    (&flow.switches, flow.table.map(|table| table.0), flow.priority)
}

/// A flow that is the same as another where one would overwrite the other.
struct ByMatch<'f>(&'f StaticFlow, String);

fn by_match(flow: &Arc<StaticFlow>) -> ByMatch<'_> {
    ByMatch(flow, format!("{:?}", flow.match_))
}

impl PartialEq for ByMatch<'_> {
    fn eq(&self, other: &Self) -> bool {
        place(self.0) == place(other.0) && self.1 == other.1
    }
}

impl Eq for ByMatch<'_> {}

impl std::hash::Hash for ByMatch<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        place(self.0).hash(state);
        self.1.hash(state);
    }
}

/// A flow as the store has it: without its name, which is the key.
fn written(flow: &StaticFlow) -> Value {
    let mut value = serde_json::to_value(flow).unwrap_or_default();
    value.as_object_mut().map(|object| object.remove("name"));
    value
}
