//! Reading the store when the controller starts.

use std::path::Path;

use aldis_control::weights::WeightRule;
use aldis_http::desired::check_floodlight_entry;
use aldis_store::{Embedded, Shelf, Store, StoreChange, StoreEntry, Value};

use super::acl::AclRules;
use super::{Persisted, RULES};

/// The name, on the shelf of keys, of that which signs link probes: with the same one, probes of
/// the run before are old, not forged.
const LLDP: &str = "lldp";

impl Persisted {
    /// Opens the store and reads what is kept there.
    ///
    /// # Errors
    /// One sentence that names the entry that makes no sense.
    pub(super) fn open(file: &Path) -> Result<Persisted, String> {
        let opened = Embedded::open(file).map_err(|error| error.to_string())?;
        let entries = |shelf| opened.entries(shelf);
        let placed = |shelf: Shelf, name: &str, why: &str| {
            format!("the store {}: {shelf}, \"{name}\": {why}", file.display())
        };
        let mut kept = Persisted::in_memory();
        for (name, StoreEntry { value, .. }) in entries(Shelf::StaticFlows) {
            let flow = aldis_http::api::static_flows::read(&name, &value);
            kept.flows.add(flow.map_err(|why| placed(Shelf::StaticFlows, &name, &why))?);
        }
        let mut rules = vec![];
        for (name, StoreEntry { value, .. }) in entries(Shelf::Acl) {
            let rule = aldis_http::api::acl::read(&name, &value);
            rules.push(rule.map_err(|why| placed(Shelf::Acl, &name, &why))?);
        }
        kept.acl = AclRules::of(rules);
        for (name, StoreEntry { value, .. }) in entries(Shelf::Names) {
            let wrong = |why: &str| placed(Shelf::Names, &name, why);
            let dpid = name.parse().map_err(|_| wrong("no datapath id"))?;
            let called = value.as_str().ok_or_else(|| wrong("no text"))?.to_owned();
            kept.names.insert(dpid, called);
        }
        for (name, StoreEntry { value, .. }) in entries(Shelf::Guests) {
            let spec = aldis_http::api::guests::read(&name, &value);
            kept.guests.push(spec.map_err(|why| placed(Shelf::Guests, &name, &why))?);
        }
        for (name, StoreEntry { value, .. }) in entries(Shelf::FloodlightEntries) {
            let checked = check_floodlight_entry(&name, &value);
            checked.map_err(|why| placed(Shelf::FloodlightEntries, &name, &why))?;
        }
        for (name, StoreEntry { value, .. }) in entries(Shelf::Weights) {
            let wrong = |why: String| placed(Shelf::Weights, &name, &why);
            match name.as_str() {
                RULES => kept.weights = Some(rules_of(&value).map_err(wrong)?),
                _ => kept.imported.push(format!("{name}={value}").parse().map_err(wrong)?),
            }
        }
        kept.imported.sort_by_key(|rule| breadth(&rule.switches));
        if let Some((_, StoreEntry { value, .. })) =
            entries(Shelf::Keys).into_iter().find(|(name, _)| name == LLDP)
        {
            let key = value.as_str().and_then(unhex);
            kept.lldp_key =
                key.ok_or_else(|| placed(Shelf::Keys, LLDP, "no 64 hexadecimal digits"))?;
        } else {
            let change = StoreChange::set(Shelf::Keys, LLDP, hex(&kept.lldp_key).into());
            opened.change(&[change]).map_err(|error| error.to_string())?;
        }
        Ok(Persisted { store: Some(Box::new(opened)), ..kept })
    }
}

/// `[["1-100", 4], …]`
fn rules_of(value: &Value) -> Result<Vec<WeightRule>, String> {
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
    use std::sync::Arc;

    #[test]
    fn what_names_fewer_switches_comes_first() {
        let mut all = ["*", "00:00:*", "0000000000000007", "1-100", "5"];
        all.sort_by_key(|switches| breadth(switches));
        assert_eq!(all, ["0000000000000007", "5", "00:00:*", "1-100", "*"]);
    }

    /// What controllers wrote that had a form of the store's own; `then` was there where it was
    /// empty too.
    #[test]
    fn a_store_that_an_older_controller_wrote_is_read() {
        let file = std::env::temp_dir().join(format!("aldis-old-store-{}", std::process::id()));
        let flow = serde_json::json!({
            "actions": ["output:2"], "match": {"eth_type": "0x0800", "ipv4_dst": "10.0.0.0/8"},
            "priority": 7, "switch": "0000000000000001-0000000000000009", "table": 3,
            "then": ["meter:4", "clear", "write:group:9", "goto-table:5"],
        });
        let drops = serde_json::json!({
            "actions": [], "match": {}, "priority": 32768, "switch": "*", "then": [],
        });
        let rule = |place: u64, port: &str| {
            serde_json::json!({
                "action": "mirror", "match": {"in_port": port}, "mirror_to": "local",
                "place": place, "switches": ["0000000000000001"],
            })
        };
        let written = [
            StoreChange::set(Shelf::StaticFlows, "up link", flow.clone()),
            StoreChange::set(Shelf::StaticFlows, "drop", drops),
            StoreChange::set(Shelf::Acl, "a", rule(1, "1")),
            StoreChange::set(Shelf::Acl, "b", rule(0, "2")),
        ];
        Embedded::open(&file).unwrap().change(&written).unwrap();
        let mut kept = Persisted::open(&file).unwrap();
        let names: Vec<_> = kept.acl.iter().map(|(rule, _)| rule.name.to_string()).collect();
        assert_eq!(names, ["b", "a"]);
        let flows: Vec<_> = kept.flows.iter().map(|(flow, _)| Arc::clone(flow)).collect();
        assert_eq!((&*flows[0].name, flows[0].instructions.len()), ("drop", 0));
        assert_eq!((&*flows[1].name, flows[1].instructions.len()), ("up link", 5));
        // What is written again is the same.
        let again = aldis_apps::static_flows::StaticFlow::clone(&flows[1]);
        kept.change_flows(vec![again], vec![], aldis_http::desired::Only::Always).unwrap();
        std::mem::drop(kept);
        let store = Embedded::open(&file).unwrap();
        let entries = store.entries(Shelf::StaticFlows);
        let entry = entries.into_iter().find(|(name, _)| name == "up link").unwrap();
        assert_eq!(entry.1.value, flow);
        std::mem::drop(store);
        std::fs::remove_file(&file).unwrap();
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
