//! Rules as `rest_firewall` and `rest_qos` have them: numbered for each switch and VLAN. Each is a
//! static flow, whose name says which rule it is. So rules are kept as static flows are, and this
//! module has no state of its own.
//!
//! What a rule lets pass goes on to the second table where the application `acl` gives the first to
//! rules; elsewhere the switch forwards it itself (`NORMAL`), as Ryu has it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use aldis_apps::static_flows::StaticFlow;
use aldis_wire::Version;
use aldis_wire::msg::{Action, Instruction, Match, PortNo, TableNo};
use axum::Json;
use axum::http::StatusCode;
use serde_json::{Map, Value, json};
use tokio::sync::MutexGuard;

use super::body::{DictBody, PathParts, whole, wrong};
use super::fields;
use super::switch_request::AskedSwitch;
use crate::api::{not_set, set};
use crate::desired::Only;
use crate::extract::Dpid;
use crate::limits::{INSTALLED_AGAIN, SWITCH_WITHIN};
use crate::problem::Problem;
use crate::routes::Shared;

/// What is shown of switches, one after the other.
pub(super) type OfSwitches = Result<Json<Vec<Value>>, Problem>;

/// The priority below all rules; flows that forward have lower ones.
pub(super) const BELOW: u16 = 33_000;

/// The highest priority of a rule, above [`BELOW`].
const PRIORITY_MAX: u64 = 26_000;

/// VLANs that rules can be about; 0 is none in particular.
const VLAN_MAX: u16 = 4094;

const DL_TYPES: [(&str, u64); 3] = [("ARP", 0x0806), ("IPv4", 0x0800), ("IPv6", 0x86dd)];
const NW_PROTOS: [(&str, u64); 4] = [("TCP", 6), ("UDP", 17), ("ICMP", 1), ("ICMPv6", 58)];

/// In what an application's words differ from another's.
pub(super) struct RuleWords {
    /// The first word of the names of its flows.
    pub(super) app: &'static str,
    /// What its complaints call a switch.
    pub(super) role: &'static str,
    /// The field with a rule's number.
    pub(super) id: &'static str,
    /// What is shown of a switch, and below it of a VLAN.
    pub(super) listed: [&'static str; 2],
    pub(super) added: &'static str,
    pub(super) deleted: &'static str,
    /// No rule at all, and none of this number.
    pub(super) missing: [&'static str; 2],
}

/// Which rule a flow is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct RuleKey {
    switch: AskedSwitch,
    vlan: u16,
    id: u32,
}

impl RuleKey {
    fn name(self, words: &RuleWords) -> String {
        let RuleKey { switch, vlan, id } = self;
        format!("{} {} vlan {vlan} rule {id}", words.app, switch.dpid)
    }

    fn read(words: &RuleWords, switch: AskedSwitch, name: &str) -> Option<RuleKey> {
        let rest = name.strip_prefix(words.app)?.strip_prefix(' ')?;
        let rest = rest.strip_prefix(&switch.dpid.to_string())?.strip_prefix(" vlan ")?;
        let (vlan, id) = rest.split_once(" rule ")?;
        Some(RuleKey { switch, vlan: vlan.parse().ok()?, id: id.parse().ok()? })
    }
}

/// The VLANs that a path names.
#[derive(Clone, Copy)]
enum Vlans {
    All,
    One(u16),
}

impl Vlans {
    fn at(at: &PathParts) -> Result<Vlans, Problem> {
        match at.part("vlanid") {
            None => Ok(Vlans::One(0)),
            Some(text) if text.eq_ignore_ascii_case("all") => Ok(Vlans::All),
            Some(text) => {
                let read =
                    text.parse().ok().filter(|vlan| *vlan == 0 || (2..=VLAN_MAX).contains(vlan));
                let refused = || {
                    let detail = format!("Invalid {{vlan_id}} value. Set [2-{VLAN_MAX}]");
                    Problem::bad("bad-field", detail)
                };
                read.map(Vlans::One).ok_or_else(refused)
            }
        }
    }

    fn contains(self, vlan: u16) -> bool {
        matches!(self, Vlans::All) || matches!(self, Vlans::One(one) if one == vlan)
    }
}

/// The switches that a path names: one by its datapath id, or all that are connected.
///
/// # Errors
/// No datapath id, or none is connected.
pub(super) fn switches(
    shared: &Shared,
    at: &PathParts,
    role: &str,
) -> Result<Vec<AskedSwitch>, Problem> {
    let text = at.part("switchid").filter(|text| !text.eq_ignore_ascii_case("all"));
    let away =
        |which: &str| Problem::bad("no-such-switch", format!("{role} sw is not connected.{which}"));
    if let Some(text) = text {
        let Dpid(dpid) = Dpid::read(text)?;
        let found = AskedSwitch::find(shared, dpid);
        return found.map(|one| vec![one]).map_err(|_| away(&format!(" : switchID={dpid}")));
    }
    let all = shared.controller.switches();
    let all: Vec<_> = all.iter().map(AskedSwitch::of).collect();
    if all.is_empty() { Err(away("")) } else { Ok(all) }
}

/// As Ryu answers about a switch.
pub(super) fn shown(switch: AskedSwitch, key: &str, value: impl Into<Value>) -> Value {
    json!({ "switch_id": switch.dpid.to_string(), key: value.into() })
}

/// That something was done, or not.
pub(super) fn result(is_done: bool, details: impl Into<String>) -> Value {
    json!({ "result": if is_done { "success" } else { "failure" }, "details": details.into() })
}

/// The flows that are kept, of whatever owner.
///
/// # Errors
/// The application `static-flows` does not run.
pub(super) fn kept(shared: &Shared) -> Result<Vec<StaticFlow>, Problem> {
    let all = shared.config_store.static_flows().map_err(|refused| not_set(&refused))?;
    Ok(all.into_iter().map(|stored| stored.it).collect())
}

/// A flow in the first table of a switch.
pub(super) fn flow(
    name: impl Into<String>,
    switch: AskedSwitch,
    priority: u16,
    match_: Match,
    instructions: Vec<Instruction>,
) -> Result<StaticFlow, Problem> {
    let switches = switch.dpid.to_string().parse();
    Ok(StaticFlow {
        name: name.into().into(),
        switches: switches.map_err(|why| Problem::bad("bad-dpid", why))?,
        table: Some(TableNo(0)),
        priority,
        match_,
        instructions,
    })
}

/// Has packets forwarded that these actions were applied to.
pub(super) fn pass(
    shared: &Shared,
    switch: AskedSwitch,
    mut actions: Vec<Action>,
) -> Vec<Instruction> {
    let is_staged = switch.version == Version::V13 && shared.config_store.acl().is_ok();
    if !is_staged {
        actions.push(Action::Output { port: PortNo::NORMAL, max_len: 0 });
        return vec![Instruction::ApplyActions(actions)];
    }
    let applied = (!actions.is_empty()).then_some(Instruction::ApplyActions(actions));
    applied.into_iter().chain([Instruction::GotoTable(TableNo(1))]).collect()
}

/// Sets and removes flows; done when their switches have them. What a switch refuses is not kept.
/// Others may change rules again as soon as these are set.
///
/// # Errors
/// It makes no sense, the disk did not take it, or a switch refused it.
pub(super) async fn change(
    shared: &Shared,
    alone: MutexGuard<'_, ()>,
    add: Vec<StaticFlow>,
    remove: Vec<String>,
) -> Result<(), Problem> {
    let names: Vec<String> = add.iter().map(|flow| flow.name.to_string()).collect();
    let (mut coming, mut going) = (names.clone(), remove.clone());
    set(shared, move |store| store.change_static_flows(add, remove, Only::Always)).await?;
    drop(alone);
    let deadline = Instant::now() + SWITCH_WITHIN;
    let installed = loop {
        match is_installed(shared, &mut coming, &mut going) {
            Ok(false) if Instant::now() < deadline => tokio::time::sleep(INSTALLED_AGAIN).await,
            Ok(false) => {
                let detail = "the switch has not confirmed it yet; GET /api/v1/static-flows says";
                return Err(Problem::new(StatusCode::GATEWAY_TIMEOUT, "too-late", detail));
            }
            decided => break decided,
        }
    };
    if installed.is_err() {
        set(shared, move |store| store.change_static_flows(vec![], names, Only::Always)).await?;
    }
    installed.map(drop)
}

/// Whether the flows of the first names are where they should be, and those of the others nowhere;
/// names of which that is so go from the lists, and are not looked for again.
fn is_installed(
    shared: &Shared,
    coming: &mut Vec<String>,
    going: &mut Vec<String>,
) -> Result<bool, Problem> {
    let mut refused = None;
    coming.retain(|name| {
        let at = shared.config_store.flow_status(name);
        let is_refused =
            |words: &str| ["refused", "not sent"].iter().any(|it| words.starts_with(it));
        if let Some(at) = at.iter().find(|at| is_refused(&at.words)) {
            refused = Some(format!("switch {}: {}", at.switch, at.words));
        }
        at.is_empty() || at.iter().any(|at| !at.there)
    });
    going.retain(|name| !shared.config_store.flow_status(name).is_empty());
    match refused {
        Some(detail) => Err(Problem::bad("refused", detail)),
        None => Ok(coming.is_empty() && going.is_empty()),
    }
}

/// The rules of a switch.
fn of(words: &RuleWords, switch: AskedSwitch, all: &[StaticFlow]) -> Vec<(RuleKey, StaticFlow)> {
    let read = |flow: &StaticFlow| Some((RuleKey::read(words, switch, &flow.name)?, flow.clone()));
    all.iter().filter_map(read).collect()
}

/// Shows rules by VLAN; `does` says what one does.
///
/// # Errors
/// See [`switches`] and [`kept`].
pub(super) fn list(
    shared: &Shared,
    at: &PathParts,
    words: &RuleWords,
    does: fn(&StaticFlow) -> Value,
) -> OfSwitches {
    let (switches, vlans) = (switches(shared, at, words.role)?, Vlans::at(at)?);
    let all = kept(shared)?;
    let of_switch = |switch: &AskedSwitch| {
        let mut by_vlan: BTreeMap<u16, Vec<Value>> = BTreeMap::new();
        for (key, flow) in of(words, *switch, &all) {
            if vlans.contains(key.vlan) {
                by_vlan.entry(key.vlan).or_default().push(show(words, key, &flow, does));
            }
        }
        let show = |(vlan, rules): (u16, Vec<Value>)| match vlan {
            0 => json!({ words.listed[1]: rules }),
            vlan => json!({ "vlan_id": vlan, words.listed[1]: rules }),
        };
        shown(*switch, words.listed[0], by_vlan.into_iter().map(show).collect::<Vec<_>>())
    };
    Ok(Json(switches.iter().map(of_switch).collect()))
}

fn show(
    words: &RuleWords,
    key: RuleKey,
    flow: &StaticFlow,
    does: fn(&StaticFlow) -> Value,
) -> Value {
    let mut shown = show_match(&flow.match_);
    shown.insert(words.id.into(), key.id.into());
    shown.insert("priority".into(), flow.priority.saturating_sub(BELOW).into());
    shown.insert("actions".into(), does(flow));
    Value::Object(shown)
}

/// Adds a rule to each switch and VLAN that the path names. `said` is its match with its priority.
///
/// # Errors
/// A rule that cannot be, or that a switch refuses.
pub(super) async fn add(
    shared: &Shared,
    at: &PathParts,
    words: &RuleWords,
    said: Map<String, Value>,
    does: impl Fn(AskedSwitch) -> Result<Vec<Instruction>, Problem>,
) -> OfSwitches {
    let (switches, vlans) = (switches(shared, at, words.role)?, Vlans::at(at)?);
    let (mut new, mut replaced, mut answers) = (vec![], vec![], vec![]);
    let alone = shared.rules_changing.lock().await;
    let all = kept(shared)?;
    for switch in switches {
        let there = of(words, switch, &all);
        let known = there.iter().map(|(key, _)| key.vlan).chain([0]);
        let vlans: Vec<u16> = match vlans {
            Vlans::One(vlan) => vec![vlan],
            Vlans::All => known.collect::<BTreeSet<_>>().into_iter().collect(),
        };
        let mut done = vec![];
        for vlan in vlans {
            let taken = there.iter().filter(|(key, _)| key.vlan == vlan).map(|(key, _)| key.id);
            let id = taken.max().unwrap_or(0).saturating_add(1);
            let (match_, priority) = read(said.clone(), vlan)?;
            // One that says the same of the same packets takes its place, as in a switch of Ryu's.
            let is_same = |flow: &StaticFlow| flow.priority == priority && flow.match_ == match_;
            let same = there.iter().filter(|(key, flow)| key.vlan == vlan && is_same(flow));
            replaced.extend(same.map(|(_, flow)| flow.name.to_string()));
            let name = RuleKey { switch, vlan, id }.name(words);
            new.push(flow(name, switch, priority, match_, does(switch)?)?);
            let mut one = result(true, format!("{}{id}", words.added));
            if vlan != 0 {
                one["vlan_id"] = vlan.into();
            }
            done.push(one);
        }
        answers.push(shown(switch, "command_result", done));
    }
    change(shared, alone, new, replaced).await?;
    Ok(Json(answers))
}

/// Removes a rule by its number, or `all`, from each switch and VLAN that the path names.
///
/// # Errors
/// No number, or the disk did not take it.
pub(super) async fn delete(
    shared: &Shared,
    at: &PathParts,
    words: &RuleWords,
    body: &DictBody,
) -> OfSwitches {
    let (switches, vlans) = (switches(shared, at, words.role)?, Vlans::at(at)?);
    let only = match body.dict().field(words.id) {
        Some(Value::String(text)) if text.eq_ignore_ascii_case("all") => None,
        Some(_) => Some(body.dict().needed(words.id, u32::MAX.into())? as u32),
        None => return Err(wrong(words.id, &Value::Null, "a number, or \"all\"")),
    };
    let (mut gone, mut answers) = (vec![], vec![]);
    let alone = shared.rules_changing.lock().await;
    let all = kept(shared)?;
    for switch in switches {
        let mut by_vlan: BTreeMap<u16, Vec<String>> = BTreeMap::new();
        for (key, flow) in of(words, switch, &all) {
            if vlans.contains(key.vlan) && only.is_none_or(|id| id == key.id) {
                by_vlan.entry(key.vlan).or_default().push(key.id.to_string());
                gone.push(flow.name.to_string());
            }
        }
        let missing = match only {
            Some(id) => format!("{}{}{id}", words.missing[0], words.missing[1]),
            None => words.missing[0].to_owned(),
        };
        let done = by_vlan.into_iter().map(|(vlan, ids)| {
            let mut one = result(true, format!("{}{}", words.deleted, ids.join(",")));
            if vlan != 0 {
                one["vlan_id"] = vlan.into();
            }
            one
        });
        let done: Vec<_> = done.collect();
        let none = done.is_empty();
        let said = if none { result(false, missing) } else { Value::Array(done) };
        answers.push(shown(switch, "command_result", said));
    }
    if !gone.is_empty() {
        change(shared, alone, vec![], gone).await?;
    }
    Ok(Json(answers))
}

/// The match of a rule in a VLAN, and the priority of its flow.
fn read(mut said: Map<String, Value>, vlan: u16) -> Result<(Match, u16), Problem> {
    let priority = said.remove("priority").unwrap_or_else(|| 1.into());
    let refused = || {
        let detail = format!("Invalid priority value. Set [1-{PRIORITY_MAX}]");
        Problem::bad("bad-field", detail)
    };
    let read = whole(&priority).filter(|number| (1..=PRIORITY_MAX).contains(number));
    let priority = BELOW + read.ok_or_else(refused)? as u16;
    if vlan != 0 {
        said.insert("dl_vlan".into(), vlan.into());
    }
    for (key, names) in [("dl_type", &DL_TYPES[..]), ("nw_proto", &NW_PROTOS[..])] {
        let named = said.get(key).and_then(|text| {
            names.iter().find(|(name, _)| text.as_str().is_some_and(|text| text == *name))
        });
        if let Some((_, number)) = named {
            said.insert(key.into(), (*number).into());
        }
    }
    // All bits of an address are the address, and shown so.
    for (key, all) in
        [("nw_src", "/32"), ("nw_dst", "/32"), ("ipv6_src", "/128"), ("ipv6_dst", "/128")]
    {
        let whole =
            said.get(key).and_then(|text| text.as_str()?.strip_suffix(all)).map(str::to_owned);
        said.extend(whole.map(|address| (key.to_owned(), address.into())));
    }
    if !said.contains_key("dl_type") {
        let has = |keys: &[&str]| keys.iter().any(|key| said.contains_key(*key));
        let is_v6 = has(&["ipv6_src", "ipv6_dst"]) || said.get("nw_proto") == Some(&58.into());
        let kind: Option<u64> = match () {
            () if is_v6 => Some(0x86dd),
            () if has(&["nw_src", "nw_dst", "nw_proto"]) => Some(0x0800),
            () => None,
        };
        said.extend(kind.map(|kind| ("dl_type".to_owned(), kind.into())));
    }
    let body = DictBody(Map::from_iter([("match".to_owned(), Value::Object(said))]));
    Ok((fields::read(&body.dict(), Version::V13)?, priority))
}

fn show_match(match_: &Match) -> Map<String, Value> {
    let Value::Object(mut shown) = fields::show(match_, Version::V13) else { return Map::new() };
    for (key, names) in [("dl_type", &DL_TYPES[..]), ("nw_proto", &NW_PROTOS[..])] {
        if let Some(value) = shown.get_mut(key) {
            let named = names.iter().find(|(_, number)| value.as_u64() == Some(*number));
            *value = named.map_or_else(|| value.clone(), |(name, _)| (*name).into());
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_is_read_in_the_words_of_the_book_and_shown_in_them() {
        for (said, shown) in [
            (
                json!({"nw_src": "10.0.0.1/32", "nw_dst": "10.0.0.2", "nw_proto": "ICMP"}),
                json!({"dl_type": "IPv4", "nw_src": "10.0.0.1", "nw_dst": "10.0.0.2", "nw_proto": "ICMP"}),
            ),
            (
                json!({"nw_proto": "UDP", "tp_dst": "5002"}),
                json!({"dl_type": "IPv4", "nw_proto": "UDP", "tp_dst": 5002}),
            ),
            (
                json!({"nw_proto": "ICMPv6", "ipv6_dst": "fe80::1/128"}),
                json!({"dl_type": "IPv6", "nw_proto": "ICMPv6", "ipv6_dst": "fe80::1"}),
            ),
            (
                json!({"dl_type": "ARP", "nw_src": "10.0.0.1"}),
                json!({"dl_type": "ARP", "arp_spa": "10.0.0.1"}),
            ),
            (json!({"in_port": "1"}), json!({"in_port": 1})),
        ] {
            let (match_, priority) = read(said.as_object().unwrap().clone(), 0).unwrap();
            assert_eq!(
                (Value::Object(show_match(&match_)), priority),
                (shown, BELOW + 1),
                "{said}"
            );
        }
        let (tagged, priority) =
            read(Map::from_iter([("priority".into(), "7".into())]), 110).unwrap();
        assert_eq!((show_match(&tagged)["dl_vlan"].clone(), priority), ("110".into(), BELOW + 7));
        for (said, words) in [
            (json!({"priority": 26_001}), "Invalid priority value. Set [1-26000]"),
            (json!({"priority": 0}), "Invalid priority value"),
            (json!({"dl_type": "IPX"}), "dl_type"),
            (json!({"nw_sorc": "10.0.0.1"}), "nw_sorc"),
        ] {
            let why = read(said.as_object().unwrap().clone(), 0).unwrap_err().detail;
            assert!(why.contains(words), "{why}");
        }
    }

    #[test]
    fn the_name_of_a_flow_says_which_rule_it_is() {
        let words = &super::super::firewall::WORDS;
        let switch = AskedSwitch { dpid: aldis_wire::DatapathId(0x1f), version: Version::V13 };
        let key = RuleKey { switch, vlan: 110, id: 3 };
        let name = key.name(words);
        assert_eq!(name, "ryu-firewall 000000000000001f vlan 110 rule 3");
        assert_eq!(RuleKey::read(words, switch, &name), Some(key));
        let other = AskedSwitch { dpid: aldis_wire::DatapathId(1), ..switch };
        assert_eq!(RuleKey::read(words, other, &name), None);
        for name in ["", "ryu-firewall", "ryu-firewall 000000000000001f vlan x rule 3", "uplink"] {
            assert_eq!(RuleKey::read(words, switch, name), None, "{name}");
        }
    }
}
