//! Changes over HTTP: each is on disk when it returns.

use std::collections::BTreeMap;

use aldis_control::weights::WeightRule;
use aldis_guest::GuestSpec;
use aldis_http::desired::SetError;
use aldis_store::{Shelf, StoreChange, Value};
use aldis_wire::DatapathId;

use super::{Persisted, RULES};

impl Persisted {
    /// Whether it outlives the controller.
    pub(crate) fn is_durable(&self) -> bool {
        self.store.is_some()
    }

    /// The weights that were set over HTTP, and count instead of all others.
    pub(crate) fn set_weights(&self) -> Option<&[WeightRule]> {
        self.weights.as_deref()
    }

    /// Others in their place, or none; on disk when this returns.
    pub(crate) fn weigh(&mut self, rules: Option<Vec<WeightRule>>) -> Result<(), SetError> {
        let pair = |rule: &WeightRule| {
            Value::from(vec![Value::from(&*rule.switches), Value::from(rule.weight)])
        };
        let value = rules.as_ref().map(|rules| rules.iter().map(pair).collect::<Value>());
        let change = match value {
            Some(value) => StoreChange::set(Shelf::Weights, RULES, value),
            None => StoreChange::remove(Shelf::Weights, RULES),
        };
        self.write(&[change])?;
        self.weights = rules;
        Ok(())
    }

    /// What scripts of Floodlight's keep on switches; the server has them in memory too.
    pub(crate) fn floodlight_entries(&self) -> BTreeMap<String, Value> {
        let entries = self.store.as_ref().map(|store| store.entries(Shelf::FloodlightEntries));
        entries.into_iter().flatten().map(|(name, entry)| (name, entry.value)).collect()
    }

    /// Changes them; on disk when this returns.
    pub(crate) fn change_floodlight_entries(
        &self,
        changes: Vec<(String, Option<Value>)>,
    ) -> Result<(), SetError> {
        let change = |(name, value)| match value {
            Some(value) => StoreChange::set(Shelf::FloodlightEntries, name, value),
            None => StoreChange::remove(Shelf::FloodlightEntries, name),
        };
        self.write(&changes.into_iter().map(change).collect::<Vec<_>>())
    }

    /// What people call switches.
    pub(crate) fn names(&self) -> &BTreeMap<DatapathId, String> {
        &self.names
    }

    /// Calls a switch so, or nothing any more; on disk when this returns.
    pub(crate) fn name(&mut self, dpid: DatapathId, name: Option<String>) -> Result<(), SetError> {
        let Some(name) = name else {
            if !self.names.contains_key(&dpid) {
                return Err(SetError::Missing(dpid.to_string()));
            }
            self.write(&[StoreChange::remove(Shelf::Names, dpid.to_string())])?;
            self.names.remove(&dpid);
            return Ok(());
        };
        if let Some((other, _)) =
            self.names.iter().find(|(other, there)| **other != dpid && **there == name)
        {
            let why = format!("switch {other} has the name \"{name}\" already");
            return Err(SetError::Senseless(why));
        }
        self.write(&[StoreChange::set(Shelf::Names, dpid.to_string(), name.clone().into())])?;
        self.names.insert(dpid, name);
        Ok(())
    }

    /// The guest is there again after a restart, or, where none is given, not; on disk when this
    /// returns.
    pub(crate) fn keep_guest(
        &mut self,
        name: &str,
        spec: Option<&GuestSpec>,
    ) -> Result<(), SetError> {
        let change = match spec.map(serde_json::to_value) {
            Some(Ok(spec)) => StoreChange::set(Shelf::Guests, name, spec),
            Some(Err(why)) => return Err(SetError::Senseless(why.to_string())),
            None => StoreChange::remove(Shelf::Guests, name),
        };
        self.write(&[change])?;
        self.guests.retain(|there| there.name != name);
        self.guests.extend(spec.cloned());
        Ok(())
    }

    /// Sees to it that these changes outlive the controller, if anything does.
    pub(crate) fn write(&self, changes: &[StoreChange]) -> Result<(), SetError> {
        let Some(store) = &self.store else { return Ok(()) };
        if changes.is_empty() {
            return Ok(());
        }
        let written = store.change(changes).map(drop);
        written.map_err(|error| match error {
            aldis_store::Error::Disk { .. } => SetError::Disk(error.to_string()),
            other => SetError::Senseless(other.to_string()),
        })
    }
}
