//! What a controller keeps over restarts (`--store`), as far as it runs by it: flows, rules, weights, names and the key of its
//! probes. Without a store the same is kept until it ends.

pub(super) mod acl;
pub(super) mod flows;

use std::collections::BTreeMap;
use std::path::Path;

use aldis_http::kept::{self, Refused};
use aldis_store::{Change, Embedded, Entry, Shelf, Store, Value};
use aldis_wire::DatapathId;

use super::weights::Rule;
use acl::AclRules;
use flows::Flows;

/// The name, on the shelf of weights, of the rules that were set over HTTP: they count instead of all others.
const RULES: &str = "rules";

/// The name, on the shelf of keys, of that which signs link probes.
const LLDP: &str = "lldp";

/// What is kept, open as long as the controller runs: nobody else changes it meanwhile.
pub(super) struct Kept {
    store: Option<Embedded>,
    pub(super) flows: Flows,
    pub(super) acl: AclRules,
    names: BTreeMap<DatapathId, String>,
    /// Those that were set over HTTP, where any were.
    weights: Option<Vec<Rule>>,
    /// Those that were imported: they count behind all others.
    imported: Vec<Rule>,
    lldp_key: [u8; 32],
}

impl Kept {
    /// Opens the store, if there is to be one, and reads what is kept there.
    ///
    /// # Errors
    /// One sentence that names the entry that makes no sense.
    pub(super) fn open(store: Option<&Path>) -> Result<Kept, String> {
        let opened = store.map(Embedded::open).transpose().map_err(|error| error.to_string())?;
        let entries = |shelf| opened.as_ref().map_or_else(Vec::new, |store| store.entries(shelf));
        let placed = |shelf: Shelf, name: &str, why: &str| {
            let store = store.map(|path| path.display().to_string()).unwrap_or_default();
            format!("the store {store}: {shelf}, \"{name}\": {why}")
        };
        let mut kept = Kept {
            flows: Flows::default(),
            acl: AclRules::default(),
            names: BTreeMap::new(),
            weights: None,
            imported: vec![],
            lldp_key: crate::catalogue::random(),
            store: None,
        };
        for (name, Entry { value, .. }) in entries(Shelf::StaticFlows) {
            let flow = aldis_http::api::static_flows::read(&name, &value);
            kept.flows.add(flow.map_err(|why| placed(Shelf::StaticFlows, &name, &why))?);
        }
        let mut rules = vec![];
        for (name, Entry { value, .. }) in entries(Shelf::Acl) {
            let rule = aldis_http::api::acl::read(&name, &value);
            rules.push(rule.map_err(|why| placed(Shelf::Acl, &name, &why))?);
        }
        kept.acl = AclRules::of(rules);
        for (name, Entry { value, .. }) in entries(Shelf::Names) {
            let wrong = |why: &str| placed(Shelf::Names, &name, why);
            let dpid = name.parse().map_err(|_| wrong("no datapath id"))?;
            let called = value.as_str().ok_or_else(|| wrong("no text"))?.to_owned();
            kept.names.insert(dpid, called);
        }
        for (name, Entry { value, .. }) in entries(Shelf::FloodlightEntries) {
            let checked = kept::check_floodlight_entry(&name, &value);
            checked.map_err(|why| placed(Shelf::FloodlightEntries, &name, &why))?;
        }
        for (name, Entry { value, .. }) in entries(Shelf::Weights) {
            let wrong = |why: String| placed(Shelf::Weights, &name, &why);
            match name.as_str() {
                RULES => kept.weights = Some(rules_of(&value).map_err(wrong)?),
                _ => kept.imported.push(format!("{name}={value}").parse().map_err(wrong)?),
            }
        }
        kept.imported.sort_by_key(|rule| breadth(&rule.switches));
        if let Some((_, Entry { value, .. })) =
            entries(Shelf::Keys).into_iter().find(|(name, _)| name == LLDP)
        {
            let key = value.as_str().and_then(unhex);
            kept.lldp_key =
                key.ok_or_else(|| placed(Shelf::Keys, LLDP, "no 64 hexadecimal digits"))?;
        } else if let Some(store) = &opened {
            let change = Change::set(Shelf::Keys, LLDP, hex(&kept.lldp_key).into());
            store.change(&[change]).map_err(|error| error.to_string())?;
        }
        Ok(Kept { store: opened, ..kept })
    }

    /// Whether it outlives the controller.
    pub(super) fn is_durable(&self) -> bool {
        self.store.is_some()
    }

    /// The key that signs link probes: with the same one, those of the run before are old, not forged.
    pub(super) fn lldp_key(&self) -> [u8; 32] {
        self.lldp_key
    }

    /// The weights that were imported: what names fewer switches first, so that the rule that fits best counts.
    pub(super) fn imported_weights(&self) -> &[Rule] {
        &self.imported
    }

    /// The weights that were set over HTTP, and count instead of all others.
    pub(super) fn set_weights(&self) -> Option<&[Rule]> {
        self.weights.as_deref()
    }

    /// Others in their place, or none; on disk when this returns.
    pub(super) fn weigh(&mut self, rules: Option<Vec<Rule>>) -> Result<(), Refused> {
        let pair =
            |rule: &Rule| Value::from(vec![Value::from(&*rule.switches), Value::from(rule.weight)]);
        let value = rules.as_ref().map(|rules| rules.iter().map(pair).collect::<Value>());
        let change = match value {
            Some(value) => Change::set(Shelf::Weights, RULES, value),
            None => Change::remove(Shelf::Weights, RULES),
        };
        self.write(&[change])?;
        self.weights = rules;
        Ok(())
    }

    /// What scripts of Floodlight's keep on switches; whoever serves them has them in memory too.
    pub(super) fn floodlight_entries(&self) -> BTreeMap<String, Value> {
        let entries = self.store.as_ref().map(|store| store.entries(Shelf::FloodlightEntries));
        entries.into_iter().flatten().map(|(name, entry)| (name, entry.value)).collect()
    }

    /// Changes them; on disk when this returns.
    pub(super) fn change_floodlight_entries(
        &self,
        changes: Vec<(String, Option<Value>)>,
    ) -> Result<(), Refused> {
        let change = |(name, value)| match value {
            Some(value) => Change::set(Shelf::FloodlightEntries, name, value),
            None => Change::remove(Shelf::FloodlightEntries, name),
        };
        self.write(&changes.into_iter().map(change).collect::<Vec<_>>())
    }

    /// What people call switches.
    pub(super) fn names(&self) -> &BTreeMap<DatapathId, String> {
        &self.names
    }

    /// Calls a switch so, or nothing any more; on disk when this returns.
    pub(super) fn name(&mut self, dpid: DatapathId, name: Option<String>) -> Result<(), Refused> {
        let Some(name) = name else {
            if !self.names.contains_key(&dpid) {
                return Err(Refused::Missing(dpid.to_string()));
            }
            self.write(&[Change::remove(Shelf::Names, dpid.to_string())])?;
            self.names.remove(&dpid);
            return Ok(());
        };
        if let Some((other, _)) =
            self.names.iter().find(|(other, there)| **other != dpid && **there == name)
        {
            let why = format!("switch {other} has the name \"{name}\" already");
            return Err(Refused::Senseless(why));
        }
        self.write(&[Change::set(Shelf::Names, dpid.to_string(), name.clone().into())])?;
        self.names.insert(dpid, name);
        Ok(())
    }

    /// Sees to it that these changes outlive the controller, if anything does.
    pub(super) fn write(&self, changes: &[Change]) -> Result<(), Refused> {
        let Some(store) = &self.store else { return Ok(()) };
        if changes.is_empty() {
            return Ok(());
        }
        let written = store.change(changes).map(drop);
        written.map_err(|error| match error {
            aldis_store::Error::Disk { .. } => Refused::Disk(error.to_string()),
            other => Refused::Senseless(other.to_string()),
        })
    }
}

/// `[["1-100", 4], …]`
fn rules_of(value: &Value) -> Result<Vec<Rule>, String> {
    let pairs = value.as_array().ok_or("no list of rules")?;
    let rule = |pair: &Value| {
        let (switches, weight) = (pair.get(0).and_then(Value::as_str), pair.get(1));
        let (Some(switches), Some(weight)) = (switches, weight) else {
            return Err(format!("{pair} is no rule; one is [\"1-100\", 4]"));
        };
        format!("{switches}={weight}").parse()
    };
    pairs.iter().map(rule).collect()
}

/// How many switches a rule names, roughly.
fn breadth(switches: &str) -> u8 {
    match switches {
        "*" => 2,
        some if some.contains(['*', '-']) => 1,
        _ => 0,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[place * 2..place * 2 + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_fewer_switches_comes_first() {
        let mut all = ["*", "00:00:*", "0000000000000007", "1-100", "5"];
        all.sort_by_key(|switches| breadth(switches));
        assert_eq!(all, ["0000000000000007", "5", "00:00:*", "1-100", "*"]);
    }

    #[test]
    fn a_key_is_read_as_it_is_written() {
        let key: [u8; 32] = core::array::from_fn(|place| place as u8 * 7);
        assert_eq!(unhex(&hex(&key)), Some(key));
        for text in ["", "00", &"0".repeat(63), &"0g".repeat(32), &"é".repeat(32)] {
            assert_eq!(unhex(text), None, "{text}");
        }
    }
}
