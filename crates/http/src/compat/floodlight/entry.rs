//! A static entry as it is sent: `{"switch": "00:…:01", "name": "one", "priority": "100",
//! "in_port": "1", "actions": "output=2"}`.
//!
//! It is put in Ryu's words, whose matches and actions are read already: Floodlight's names for
//! fields differ in a few, and its actions are a text with commas. Values are text or numbers
//! alike.

use aldis_wire::msg::{Field, FlowMod};
use aldis_wire::{DatapathId, Version};
use serde_json::{Map, Value, json};

use crate::compat::ryu::body::{DictBody, beginning, dpid, number};
use crate::compat::ryu::{actions, fields};
use crate::problem::Problem;

/// The longest name, in bytes.
const NAME_MAX: usize = 256;

/// What Floodlight gives an entry without a priority.
const PRIORITY: u64 = 32768;

/// Fields that are about the entry and not its packets.
const OWN: [&str; 11] = [
    "name",
    "switch",
    "cookie",
    "priority",
    "table",
    "idle_timeout",
    "hard_timeout",
    "active",
    "actions",
    "entry_type",
    "flags",
];

/// Names of fields that Floodlight has, or had before its version 1.0, and ours has not.
const FIELDS: [(&str, &str); 18] = [
    ("eth_vlan_vid", "vlan_vid"),
    ("eth_vlan_pcp", "vlan_pcp"),
    ("arp_opcode", "arp_op"),
    ("ip_tos", "nw_tos"),
    ("ipv6_label", "ipv6_flabel"),
    ("ipv6_nd_ssl", "ipv6_nd_sll"),
    ("ipv6_nd_ttl", "ipv6_nd_tll"),
    ("ingress_port", "in_port"),
    ("src_mac", "eth_src"),
    ("dst_mac", "eth_dst"),
    ("vlan_id", "vlan_vid"),
    ("vlan_priority", "vlan_pcp"),
    ("ether_type", "eth_type"),
    ("src_ip", "nw_src"),
    ("dst_ip", "nw_dst"),
    ("protocol", "ip_proto"),
    ("src_port", "tp_src"),
    ("dst_port", "tp_dst"),
];

/// An entry, as it is kept: a switch may come that speaks another version than the one before it.
#[derive(Clone, Debug)]
pub(super) struct PusherEntry {
    pub(super) name: String,
    pub(super) switch: DatapathId,
    pub(super) active: bool,
    body: Map<String, Value>,
}

impl PusherEntry {
    /// As it was sent, to be read again.
    pub(super) fn written(&self) -> Value {
        Value::Object(self.body.clone())
    }

    /// # Errors
    /// No name, no switch, or something that is no entry.
    pub(super) fn read(body: DictBody) -> Result<PusherEntry, Problem> {
        let dict = body.dict();
        let (name, switch) = (name(&body)?, dpid(dict.text("switch")?)?);
        let kind = dict.field("entry_type").map_or(Ok("flow"), |_| dict.text("entry_type"))?;
        if kind != "flow" {
            let detail = format!("entry_type {:?}: flows alone are kept here", beginning(kind));
            return Err(Problem::bad("bad-field", detail));
        }
        let active = match dict.field("active") {
            None | Some(Value::Bool(true)) => true,
            Some(Value::Bool(false)) => false,
            Some(_) => match dict.text("active")? {
                "true" => true,
                "false" => false,
                _ => return Err(Problem::bad("bad-field", "active: true or false")),
            },
        };
        let entry = PusherEntry { name, switch, active, body: body.0 };
        // What no version can say is not kept.
        entry.flow(Version::V13).or_else(|why| entry.flow(Version::V10).map_err(|_| why))?;
        Ok(entry)
    }

    /// As a switch of this version is told.
    ///
    /// # Errors
    /// A field that is not known, or is no value.
    pub(super) fn flow(&self, version: Version) -> Result<FlowMod, Problem> {
        let (mut match_, mut acts) = (Map::new(), vec![]);
        for (name, value) in &self.body {
            let plain = name.replace('-', "_").to_ascii_lowercase();
            if let Some(instruction) = plain.strip_prefix("instruction_") {
                acts.extend(words_of_instruction(instruction, value)?);
            } else if plain == "actions" {
                acts.extend(words_of_actions(value)?);
            } else if !OWN.contains(&plain.as_str()) {
                let known = FIELDS.iter().find(|(theirs, _)| *theirs == plain);
                let ours = known.map_or(plain.as_str(), |(_, ours)| ours);
                match_.insert(ours.into(), value_of(ours, value));
            }
        }
        let theirs = DictBody(Map::from_iter([
            ("match".into(), Value::Object(match_)),
            ("actions".into(), Value::Array(acts)),
        ]));
        let (dict, own) = (theirs.dict(), DictBody(self.body.clone()));
        let own = own.dict();
        let match_ = fields::read(&dict, version)?;
        let short = |key, default| own.number(key, default, 0xffff).map(|number| number as u16);
        let new = FlowMod::add(match_.clone());
        Ok(FlowMod {
            cookie: own.number("cookie", 0, u64::MAX)?,
            priority: short("priority", PRIORITY)?,
            idle_timeout: short("idle_timeout", 0)?,
            hard_timeout: short("hard_timeout", 0)?,
            instructions: actions::instructions(&dict, &match_, version)?,
            ..new
        }
        .table(aldis_wire::msg::TableNo(own.number("table", 0, 254)? as u8)))
    }
}

/// The name that is meant.
///
/// # Errors
/// None, or one that is too long.
pub(super) fn name(body: &DictBody) -> Result<String, Problem> {
    let dict = body.dict();
    let name = match dict.field("name") {
        Some(Value::Number(number)) => number.to_string(),
        _ => dict.text("name")?.to_owned(),
    };
    match name.len() {
        1..=NAME_MAX => Ok(name),
        _ => Err(Problem::bad("bad-field", format!("name: 1 to {NAME_MAX} bytes"))),
    }
}

/// A value as Ryu has it.
fn value_of(field: &str, value: &Value) -> Value {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match (field, text.as_str()) {
        // The bit that says that there is a tag may stand there or not; without a mask it is meant.
        ("vlan_vid", text) if !text.contains('/') => match number(text) {
            Some(vid @ 0x1000..0x2000) => (vid & 0xfff).into(),
            Some(vid) => vid.into(),
            None => value.clone(),
        },
        ("ip_proto", "tcp") => 6.into(),
        ("ip_proto", "udp") => 17.into(),
        ("ip_proto", "icmp") => 1.into(),
        ("eth_type", "arp") => 0x0806.into(),
        ("eth_type", "ip" | "ipv4") => 0x0800.into(),
        ("eth_type", "ipv6") => 0x86dd.into(),
        _ => Value::String(text),
    }
}

fn words_of_instruction(name: &str, value: &Value) -> Result<Vec<Value>, Problem> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Ok(match name {
        "apply_actions" => words_of_actions(value)?,
        "write_actions" => {
            vec![json!({"type": "WRITE_ACTIONS", "actions": words_of_actions(value)?})]
        }
        "clear_actions" => vec![json!({"type": "CLEAR_ACTIONS"})],
        "goto_table" => vec![json!({"type": "GOTO_TABLE", "table_id": text})],
        "goto_meter" => vec![json!({"type": "METER", "meter_id": text})],
        "write_metadata" => {
            let (metadata, mask) = text.split_once('/').unwrap_or((&text, "0xffffffffffffffff"));
            vec![json!({"type": "WRITE_METADATA", "metadata": metadata, "metadata_mask": mask})]
        }
        other => {
            let detail = format!("instruction_{}: there is no such field", beginning(other));
            return Err(Problem::bad("bad-field", detail));
        }
    })
}

/// Actions with commas between them, in Ryu's words.
fn words_of_actions(value: &Value) -> Result<Vec<Value>, Problem> {
    let Value::String(text) = value else {
        return Err(Problem::bad("bad-field", "actions: a text such as \"output=2\""));
    };
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty() && *part != "drop");
    parts.map(action).collect()
}

fn action(text: &str) -> Result<Value, Problem> {
    let refused = || {
        let detail = format!("actions: there is no {:?}", beginning(text));
        Problem::bad("bad-field", detail)
    };
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let name = name.trim().replace('-', "_").to_ascii_lowercase();
    let value = value.trim();
    let one = |kind: &str, key: &str| json!({"type": kind, key: value});
    let port = value.replace('-', "_").to_ascii_uppercase();
    let port = if port == "INGRESS_PORT" { "IN_PORT".to_owned() } else { port };
    Ok(match name.as_str() {
        "output" => json!({"type": "OUTPUT", "port": port, "max_len": "NO_BUFFER"}),
        "enqueue" => {
            let (port, queue) = value.split_once(':').ok_or_else(refused)?;
            json!({"type": "ENQUEUE", "port": port, "queue_id": queue})
        }
        "set_queue" => one("SET_QUEUE", "queue_id"),
        "group" => one("GROUP", "group_id"),
        "set_field" => {
            let (field, value) = value.split_once("->").ok_or_else(refused)?;
            let field = field.trim().replace('-', "_");
            let known = FIELDS.iter().find(|(theirs, _)| *theirs == field);
            let ours = known.map_or(field.as_str(), |(_, ours)| ours);
            // It is checked here, so that the complaint has the name that was used.
            if ours != "vlan_vid" && !Field::NAMES.contains(&ours) {
                return Err(refused());
            }
            json!({"type": "SET_FIELD", "field": ours, "value": value_of(ours, &value.trim().into())})
        }
        "set_eth_src" | "set_src_mac" => one("SET_DL_SRC", "dl_src"),
        "set_eth_dst" | "set_dst_mac" => one("SET_DL_DST", "dl_dst"),
        "set_vlan_vid" | "set_vlan_id" => one("SET_VLAN_VID", "vlan_vid"),
        "set_vlan_pcp" | "set_vlan_priority" => one("SET_VLAN_PCP", "vlan_pcp"),
        "strip_vlan" => json!({"type": "STRIP_VLAN"}),
        "set_ipv4_src" | "set_src_ip" => one("SET_NW_SRC", "nw_src"),
        "set_ipv4_dst" | "set_dst_ip" => one("SET_NW_DST", "nw_dst"),
        "set_ip_tos" | "set_tos_bits" => one("SET_NW_TOS", "nw_tos"),
        "set_tp_src" | "set_src_port" => one("SET_TP_SRC", "tp_src"),
        "set_tp_dst" | "set_dst_port" => one("SET_TP_DST", "tp_dst"),
        "set_ip_ttl" => one("SET_NW_TTL", "nw_ttl"),
        "dec_ip_ttl" => json!({"type": "DEC_NW_TTL"}),
        "copy_ip_ttl_in" | "copy_ttl_in" => json!({"type": "COPY_TTL_IN"}),
        "copy_ip_ttl_out" | "copy_ttl_out" => json!({"type": "COPY_TTL_OUT"}),
        "set_mpls_ttl" => one("SET_MPLS_TTL", "mpls_ttl"),
        "dec_mpls_ttl" => json!({"type": "DEC_MPLS_TTL"}),
        "push_vlan" => one("PUSH_VLAN", "ethertype"),
        "pop_vlan" => json!({"type": "POP_VLAN"}),
        "push_mpls" => one("PUSH_MPLS", "ethertype"),
        "pop_mpls" => one("POP_MPLS", "ethertype"),
        "push_pbb" => one("PUSH_PBB", "ethertype"),
        "pop_pbb" => json!({"type": "POP_PBB"}),
        _ => return Err(refused()),
    })
}

#[cfg(test)]
mod tests {
    use super::super::words::{does, matching};
    use super::*;

    fn entry(fields: Value) -> Result<PusherEntry, String> {
        let mut body = fields.as_object().unwrap().clone();
        body.insert("switch".into(), "00:00:00:00:00:00:00:01".into());
        body.insert("name".into(), "one".into());
        PusherEntry::read(DictBody(body)).map_err(|problem| problem.detail)
    }

    fn again(fields: Value, version: Version) -> (Value, Value) {
        let flow = entry(fields).unwrap().flow(version).unwrap();
        (matching(&flow.match_), does(&flow.instructions, &flow.match_, version).1)
    }

    #[test]
    fn an_entry_is_shown_as_it_was_said() {
        let (match_, does) = again(
            json!({
                "cookie": "0", "priority": "32768", "in_port": "1", "active": "true", "eth_type": "0x0800", "ipv4_dst": "10.0.0.2",
                "eth_vlan_vid": "0x1064", "actions": "pop_vlan,set_field=eth_dst->00:00:00:00:00:02,output=2",
            }),
            Version::V13,
        );
        let expected = json!({"in_port": "1", "eth_type": "0x800", "ipv4_dst": "10.0.0.2", "eth_vlan_vid": "0x1064"});
        assert_eq!(match_, expected);
        let text = "pop_vlan,set_field=eth_dst->00:00:00:00:00:02,output=2";
        assert_eq!(does, json!({"instruction_apply_actions": {"actions": text}}));
    }

    #[test]
    fn instructions_and_old_names_are_read_too() {
        let (match_, does) = again(
            json!({
                "ether-type": "0x806", "arp_opcode": 1, "instruction_write_actions": "output=flood",
                "instruction_goto_table": "3", "instruction_goto_meter": 2,
            }),
            Version::V13,
        );
        assert_eq!(match_, json!({"eth_type": "0x806", "arp_opcode": "1"}));
        let expected = json!({
            "instruction_goto_meter": {"meter_id": 2},
            "instruction_write_actions": {"actions": "output=flood"},
            "instruction_goto_table": {"table_id": 3},
        });
        assert_eq!(does, expected);
        let (match_, does) = again(
            json!({"ingress-port": "1", "eth_type": 2048, "ip_proto": "tcp", "tp_dst": 80, "actions": "set-dst-ip=10.0.0.9,enqueue=2:1"}),
            Version::V10,
        );
        assert_eq!(
            match_,
            json!({"in_port": "1", "eth_type": "0x800", "ip_proto": "0x6", "tcp_dst": "80"})
        );
        assert_eq!(does, json!({"actions": "set_ipv4_dst=10.0.0.9,enqueue=2:1"}));
        assert_eq!(again(json!({}), Version::V10).1, json!({"none": "drop"}));
    }

    #[test]
    fn what_is_no_entry_is_refused_by_name() {
        for (fields, words) in [
            (json!({"actions": "fly=1"}), "actions: there is no \"fly=1\""),
            (json!({"actions": ["output=1"]}), "actions: a text"),
            (json!({"actions": "set_field=eth_dts->1"}), "there is no \"set_field=eth_dts->1\""),
            (json!({"eth_dts": "1"}), "eth_dts: there is no such field"),
            (json!({"priority": "70000"}), "priority: \"70000\""),
            (json!({"active": "maybe"}), "active: true or false"),
            (json!({"entry_type": "group"}), "flows alone"),
            (json!({"instruction_fly": "1"}), "instruction_fly"),
        ] {
            let refused = entry(fields).unwrap_err();
            assert!(refused.contains(words), "{words}: {refused}");
        }
        for body in
            [json!({"switch": "1"}), json!({"name": "x"}), json!({"name": "", "switch": "1"})]
        {
            assert!(
                PusherEntry::read(DictBody(body.as_object().unwrap().clone())).is_err(),
                "{body}"
            );
        }
    }
}
