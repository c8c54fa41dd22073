//! `/wm/acl` and `/wm/firewall`: both are rules of the application `acl`, in this order behind
//! those of others, and what they are stands in their names. So they are kept as those are.
//!
//! ```text
//! rules of others │ floodlight-acl 1, 2, … │ broadcast, firewall rules by priority, all the rest
//! ```
//!
//! A firewall that is disabled has neither its first rule nor its last, and the others are kept for
//! a switch that there is not ([`NOWHERE`]).

use std::net::Ipv4Addr;

use aldis_apps::acl::{Rule, Verdict};
use aldis_wire::msg::{Field, Masked, Match, PortNo};
use aldis_wire::{DatapathId, MacAddr, Version};
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::entries::{not_done, refused, status};
use super::words::dpid;
use crate::api::{not_set, set};
use crate::compat::ryu::body::{DictBody, beginning, wrong};
use crate::compat::ryu::fields;
use crate::desired::{AclChange, Source};
use crate::extract::Dpid;
use crate::origin;
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

const BROADCAST: &str = "floodlight-firewall broadcast";
const REST: &str = "floodlight-firewall rest";

/// No switch has this datapath id.
const NOWHERE: DatapathId = DatapathId(0);

type Done = Result<Json<Value>, Response>;

/// Which rule of the application `acl` this is, in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum RuleKind {
    Other,
    Acl { id: u32 },
    Broadcast,
    Firewall { priority: u32, id: u32, at: Option<DatapathId> },
    Rest,
}

impl RuleKind {
    fn name(self) -> String {
        match self {
            RuleKind::Other => String::new(),
            RuleKind::Acl { id } => format!("floodlight-acl {id}"),
            RuleKind::Broadcast => BROADCAST.into(),
            RuleKind::Firewall { priority, id, at } => {
                let at = at.map_or_else(|| "all".to_owned(), |at| at.to_string());
                format!("floodlight-firewall {id} priority {priority} at {at}")
            }
            RuleKind::Rest => REST.into(),
        }
    }

    fn of(name: &str) -> RuleKind {
        let firewall = |rest: &str| {
            let (id, rest) = rest.split_once(" priority ")?;
            let (priority, at) = rest.split_once(" at ")?;
            let at = if at == "all" { None } else { Some(at.parse().ok()?) };
            Some(RuleKind::Firewall { priority: priority.parse().ok()?, id: id.parse().ok()?, at })
        };
        let acl = |rest: &str| rest.parse().ok().map(|id| RuleKind::Acl { id });
        match name {
            BROADCAST => RuleKind::Broadcast,
            REST => RuleKind::Rest,
            _ => name
                .strip_prefix("floodlight-acl ")
                .and_then(acl)
                .or_else(|| name.strip_prefix("floodlight-firewall ").and_then(firewall))
                .unwrap_or(RuleKind::Other),
        }
    }

    /// Its number among rules of its kind.
    fn id(self) -> Option<u32> {
        match self {
            RuleKind::Acl { id } | RuleKind::Firewall { id, .. } => Some(id),
            RuleKind::Other | RuleKind::Broadcast | RuleKind::Rest => None,
        }
    }

    fn is_acl(self) -> bool {
        matches!(self, RuleKind::Acl { .. })
    }

    fn is_firewall(self) -> bool {
        matches!(self, RuleKind::Firewall { .. })
    }
}

fn kind(rule: &Rule) -> RuleKind {
    RuleKind::of(&rule.name)
}

/// Those that were set over HTTP.
fn all(shared: &Shared) -> Result<Vec<Rule>, Problem> {
    let all = shared.config_store.acl().map_err(|refused| not_set(&refused))?;
    let set = all.into_iter().filter(|stored| stored.source == Source::Http);
    Ok(set.map(|stored| stored.it).collect())
}

fn is_enabled(all: &[Rule]) -> bool {
    all.iter().any(|rule| *rule.name == *REST)
}

/// These in their order, in place of all.
async fn put(shared: &Shared, mut rules: Vec<Rule>) -> Result<(), Problem> {
    rules.sort_by_key(kind);
    set(shared, move |store| store.change_acl(AclChange::All(rules))).await
}

/// The number after the last of those.
fn next(all: &[Rule], of: fn(RuleKind) -> bool) -> u32 {
    let ids = all.iter().map(kind).filter(|kind| of(*kind)).filter_map(RuleKind::id);
    ids.max().unwrap_or(0).saturating_add(1)
}

fn rule(
    kind: RuleKind,
    verdict: Verdict,
    match_: Match,
    at: Option<DatapathId>,
) -> Result<Rule, Problem> {
    let switches = at.map(|at| at.to_string().parse()).transpose();
    let switches = switches.map_err(|why| Problem::bad("bad-dpid", why))?.into_iter().collect();
    Ok(Rule { name: kind.name().into(), verdict, match_, switches })
}

/// Removes the rule with the number that a body names; whether it was there.
async fn remove(
    shared: &Shared,
    body: Result<DictBody, Problem>,
    of: fn(RuleKind) -> bool,
) -> Result<bool, Problem> {
    let id = body?.dict().needed("ruleid", u32::MAX.into())? as u32;
    let _alone = shared.rules_changing.lock().await;
    let mut rules = all(shared)?;
    let before = rules.len();
    rules.retain(|rule| !(of(kind(rule)) && kind(rule).id() == Some(id)));
    let was_there = rules.len() < before;
    put(shared, rules).await.map(|()| was_there)
}

/// A match and what is done, as both write them: fields by their names of Floodlight, of which
/// these alone are known.
fn read(
    said: &Map<String, Value>,
    known: &[(&str, &str)],
) -> Result<(Match, Option<Verdict>), Problem> {
    let (mut match_, mut verdict) = (Map::new(), None);
    for (key, value) in said {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let named = known.iter().find(|(theirs, _)| theirs.eq_ignore_ascii_case(key));
        let lower = text.to_ascii_lowercase();
        match (named, lower.as_str()) {
            (None, _) => {
                let detail = format!("{}: there is no such field", beginning(key));
                return Err(Problem::bad("bad-field", detail));
            }
            (_, "" | "any") | (Some((_, "")), _) => {}
            (Some((_, "action")), "allow" | "accept") => verdict = Some(Verdict::Allow),
            (Some((_, "action")), "deny" | "drop") => verdict = Some(Verdict::Deny),
            (Some((_, "action")), _) => return Err(wrong(key, value, "ALLOW or DENY")),
            (Some((_, ours)), _) => {
                let number: Option<u64> = match (*ours, lower.as_str()) {
                    ("dl_type", "arp") => Some(0x0806),
                    ("dl_type", "ipv4") => Some(0x0800),
                    ("nw_proto", "tcp") => Some(6),
                    ("nw_proto", "udp") => Some(17),
                    ("nw_proto", "icmp") => Some(1),
                    ("dl_type" | "nw_proto", _) => {
                        return Err(wrong(key, value, "ARP or IPv4; TCP, UDP or ICMP"));
                    }
                    _ => None,
                };
                match_.insert((*ours).into(), number.map_or(Value::String(text), Value::from));
            }
        }
    }
    let is_ip = ["nw_src", "nw_dst", "nw_proto"].iter().any(|key| match_.contains_key(*key));
    if is_ip && !match_.contains_key("dl_type") {
        match_.insert("dl_type".into(), 0x0800.into());
    }
    let body = DictBody(Map::from_iter([("match".to_owned(), Value::Object(match_))]));
    Ok((fields::read(&body.dict(), Version::V13)?, verdict))
}

const ACL_FIELDS: [(&str, &str); 6] = [
    ("src-ip", "nw_src"),
    ("dst-ip", "nw_dst"),
    ("nw-proto", "nw_proto"),
    ("tp-dst", "tp_dst"),
    ("action", "action"),
    ("ruleid", ""),
];

const FIREWALL_FIELDS: [(&str, &str); 13] = [
    ("ruleid", ""),
    ("switchid", ""),
    ("priority", ""),
    ("src-inport", "in_port"),
    ("src-mac", "eth_src"),
    ("dst-mac", "eth_dst"),
    ("dl-type", "dl_type"),
    ("src-ip", "nw_src"),
    ("dst-ip", "nw_dst"),
    ("nw-proto", "nw_proto"),
    ("tp-src", "tp_src"),
    ("tp-dst", "tp_dst"),
    ("action", "action"),
];

pub(super) async fn acl(State(shared): Ctx) -> Done {
    let all = all(&shared).map_err(failed)?;
    Ok(Json(all.iter().filter(|rule| kind(rule).is_acl()).map(show_acl).collect()))
}

fn failed(problem: Problem) -> Response {
    refused("Failed!", problem)
}

fn show_acl(rule: &Rule) -> Value {
    let seen = ShownFields::of(&rule.match_);
    let cidr = |(ip, bits): (Ipv4Addr, u32)| format!("{ip}/{bits}");
    // As a number of Java's, which has a sign.
    let number = |ip: Option<(Ipv4Addr, u32)>| ip.map_or(0, |(ip, _)| u32::from(ip) as i32);
    json!({
        "id": kind(rule).id(),
        "nw_src": seen.src.map(cidr),
        "nw_dst": seen.dst.map(cidr),
        "nw_src_prefix": number(seen.src),
        "nw_src_maskbits": seen.src.map_or(0, |(_, bits)| bits),
        "nw_dst_prefix": number(seen.dst),
        "nw_dst_maskbits": seen.dst.map_or(0, |(_, bits)| bits),
        "nw_proto": seen.proto.unwrap_or(0),
        "tp_dst": seen.tp_dst.unwrap_or(0),
        "action": if rule.verdict == Verdict::Allow { "ALLOW" } else { "DENY" },
    })
}

pub(super) async fn add_acl(State(shared): Ctx, body: Result<DictBody, Problem>) -> Done {
    let added = async {
        let (match_, verdict) = read(&body?.0, &ACL_FIELDS)?;
        let seen = ShownFields::of(&match_);
        if seen.src.or(seen.dst).is_none() {
            let detail = "Either nw_src or nw_dst must be specified.";
            return Err(Problem::bad("bad-field", detail));
        }
        let _alone = shared.rules_changing.lock().await;
        let mut rules = all(&shared)?;
        let kind = RuleKind::Acl { id: next(&rules, RuleKind::is_acl) };
        rules.push(rule(kind, verdict.unwrap_or(Verdict::Deny), match_, None)?);
        put(&shared, rules).await
    };
    added.await.map_err(failed)?;
    Ok(status("Success! New rule added."))
}

pub(super) async fn remove_acl(State(shared): Ctx, body: Result<DictBody, Problem>) -> Done {
    match remove(&shared, body, RuleKind::is_acl).await {
        Ok(true) => Ok(status("Success! Rule deleted")),
        Ok(false) => {
            Err(failed(Problem::bad("no-such-name", "a rule with this ID doesn't exist.")))
        }
        Err(why) => Err(failed(why)),
    }
}

/// As scripts ask for it, a GET; Floodlight answers nothing.
pub(super) async fn clear_acl(State(shared): Ctx, headers: HeaderMap) -> Result<(), Response> {
    let cleared = async {
        origin::own_site(&headers)?;
        let _alone = shared.rules_changing.lock().await;
        let mut rules = all(&shared)?;
        rules.retain(|rule| !kind(rule).is_acl());
        put(&shared, rules).await
    };
    cleared.await.map_err(failed)
}

pub(super) async fn module(State(shared): Ctx) -> Done {
    let is_enabled = is_enabled(&all(&shared).map_err(not_done)?);
    let words = if is_enabled { "firewall enabled" } else { "firewall disabled" };
    Ok(Json(json!({ "result": words })))
}

pub(super) async fn enable(State(shared): Ctx) -> Done {
    switch(&shared, true).await.map_err(not_done)?;
    Ok(Json(json!({ "status": "success", "details": "firewall running" })))
}

pub(super) async fn disable(State(shared): Ctx) -> Done {
    switch(&shared, false).await.map_err(not_done)?;
    Ok(Json(json!({ "status": "success", "details": "firewall stopped" })))
}

/// Where the rules of a firewall count that has this one.
fn place(at: Option<DatapathId>, is_enabled: bool) -> Option<DatapathId> {
    if is_enabled { at } else { Some(NOWHERE) }
}

async fn switch(shared: &Shared, on: bool) -> Result<(), Problem> {
    let _alone = shared.rules_changing.lock().await;
    let mut rules = vec![];
    for old in all(shared)? {
        match kind(&old) {
            RuleKind::Firewall { at, .. } => {
                rules.push(rule(kind(&old), old.verdict, old.match_, place(at, on))?);
            }
            RuleKind::Broadcast | RuleKind::Rest => {}
            RuleKind::Other | RuleKind::Acl { .. } => rules.push(old),
        }
    }
    if on {
        let all_ones = MacAddr::BROADCAST;
        let broadcast = Match { fields: vec![Field::EthDst(Masked::exact(all_ones))] };
        rules.push(rule(RuleKind::Broadcast, Verdict::Allow, broadcast, None)?);
        rules.push(rule(RuleKind::Rest, Verdict::Deny, Match::new(), None)?);
    }
    put(shared, rules).await
}

pub(super) async fn firewall(State(shared): Ctx) -> Done {
    let all = all(&shared).map_err(not_done)?;
    Ok(Json(all.iter().filter_map(show_firewall).collect()))
}

fn show_firewall(rule: &Rule) -> Option<Value> {
    let RuleKind::Firewall { priority, id, at } = kind(rule) else { return None };
    let seen = ShownFields::of(&rule.match_);
    let nothing = Ipv4Addr::UNSPECIFIED;
    let no_mac = MacAddr([0; 6]);
    Some(json!({
        "ruleid": id,
        "dpid": dpid(at.unwrap_or(NOWHERE)),
        "in_port": seen.in_port.map_or(0, |PortNo(port)| port),
        "dl_src": seen.eth_src.unwrap_or(no_mac).to_string(),
        "dl_dst": seen.eth_dst.unwrap_or(no_mac).to_string(),
        "dl_type": seen.eth_type.unwrap_or(0),
        "nw_src_prefix": seen.src.map_or(nothing, |(ip, _)| ip).to_string(),
        "nw_src_maskbits": seen.src.map_or(0, |(_, bits)| bits),
        "nw_dst_prefix": seen.dst.map_or(nothing, |(ip, _)| ip).to_string(),
        "nw_dst_maskbits": seen.dst.map_or(0, |(_, bits)| bits),
        "nw_proto": seen.proto.unwrap_or(0),
        "tp_src": seen.tp_src.unwrap_or(0),
        "tp_dst": seen.tp_dst.unwrap_or(0),
        "any_dpid": at.is_none(),
        "any_in_port": seen.in_port.is_none(),
        "any_dl_src": seen.eth_src.is_none(),
        "any_dl_dst": seen.eth_dst.is_none(),
        "any_dl_type": seen.eth_type.is_none(),
        "any_nw_src": seen.src.is_none(),
        "any_nw_dst": seen.dst.is_none(),
        "any_nw_proto": seen.proto.is_none(),
        "any_tp_src": seen.tp_src.is_none(),
        "any_tp_dst": seen.tp_dst.is_none(),
        "priority": priority,
        "action": if rule.verdict == Verdict::Allow { "ALLOW" } else { "DROP" },
    }))
}

pub(super) async fn add_firewall(State(shared): Ctx, body: Result<DictBody, Problem>) -> Done {
    let id = put_firewall(&shared, body).await.map_err(not_done)?;
    Ok(Json(json!({ "status": "Rule added", "rule-id": id.to_string() })))
}

async fn put_firewall(shared: &Shared, body: Result<DictBody, Problem>) -> Result<u32, Problem> {
    let body = body?;
    let (match_, verdict) = read(&body.0, &FIREWALL_FIELDS)?;
    let dict = body.dict();
    let priority = dict.number("priority", 0, u32::MAX.into())? as u32;
    let at = dict.field("switchid").map(|_| dict.text("switchid")).transpose()?;
    let at = at.map(Dpid::read).transpose()?.map(|Dpid(dpid)| dpid);
    let verdict = verdict.unwrap_or(Verdict::Allow);
    let _alone = shared.rules_changing.lock().await;
    let mut rules = all(shared)?;
    let id = next(&rules, RuleKind::is_firewall);
    let kind = RuleKind::Firewall { priority, id, at };
    rules.push(rule(kind, verdict, match_, place(at, is_enabled(&rules)))?);
    put(shared, rules).await.map(|()| id)
}

pub(super) async fn remove_firewall(State(shared): Ctx, body: Result<DictBody, Problem>) -> Done {
    match remove(&shared, body, RuleKind::is_firewall).await {
        Ok(true) => Ok(status("Rule deleted")),
        Ok(false) => {
            let detail = "Can't delete, a rule with this ID doesn't exist.";
            Err(not_done(Problem::bad("no-such-name", detail)))
        }
        Err(why) => Err(not_done(why)),
    }
}

/// Fields of a match as they are shown.
#[derive(Default)]
struct ShownFields {
    in_port: Option<PortNo>,
    eth_src: Option<MacAddr>,
    eth_dst: Option<MacAddr>,
    eth_type: Option<u16>,
    /// With the bits that count.
    src: Option<(Ipv4Addr, u32)>,
    dst: Option<(Ipv4Addr, u32)>,
    proto: Option<u8>,
    tp_src: Option<u16>,
    tp_dst: Option<u16>,
}

impl ShownFields {
    fn of(match_: &Match) -> ShownFields {
        let mut seen = ShownFields::default();
        for field in &match_.fields {
            match field {
                Field::InPort(port) => seen.in_port = Some(*port),
                Field::EthSrc(mac) => seen.eth_src = Some(mac.value),
                Field::EthDst(mac) => seen.eth_dst = Some(mac.value),
                Field::EthType(kind) => seen.eth_type = Some(*kind),
                Field::Ipv4Src(ip) | Field::ArpSpa(ip) => seen.src = Some(masked(*ip)),
                Field::Ipv4Dst(ip) | Field::ArpTpa(ip) => seen.dst = Some(masked(*ip)),
                Field::IpProto(proto) => seen.proto = Some(*proto),
                Field::TcpSrc(port) | Field::UdpSrc(port) => seen.tp_src = Some(*port),
                Field::TcpDst(port) | Field::UdpDst(port) => seen.tp_dst = Some(*port),
                _ => {}
            }
        }
        seen
    }
}

fn masked(ip: Masked<Ipv4Addr>) -> (Ipv4Addr, u32) {
    (ip.value, ip.mask.map_or(32, |mask| u32::from(mask).count_ones()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_stand_behind_those_of_others_and_the_firewall_last() {
        let firewall = |priority, id| RuleKind::Firewall { priority, id, at: Some(DatapathId(7)) };
        let ordered = [
            RuleKind::Other,
            RuleKind::Acl { id: 2 },
            RuleKind::Acl { id: 10 },
            RuleKind::Broadcast,
            firewall(1, 9),
            firewall(2, 3),
            firewall(10, 1),
            RuleKind::Rest,
        ];
        assert!(ordered.is_sorted());
        for kind in ordered {
            assert_eq!(RuleKind::of(&kind.name()), kind, "{}", kind.name());
        }
        for name in ["floodlight-acl x", "floodlight-firewall 1 priority 2", "floodlight-firewall"]
        {
            assert_eq!(RuleKind::of(name), RuleKind::Other);
        }
    }

    #[test]
    fn fields_are_read_by_the_names_of_floodlight() {
        let said = |said: Value| said.as_object().unwrap().clone();
        let body = said(json!({"src-ip": "10.0.0.3/32", "dst-ip": "10.0.0.7", "dl-type": "ARP"}));
        let (match_, verdict) = read(&body, &FIREWALL_FIELDS).unwrap();
        assert_eq!(verdict, None);
        let seen = ShownFields::of(&match_);
        assert_eq!((seen.eth_type, seen.src.unwrap().1), (Some(0x0806), 32));
        let body = said(json!({
            "src-ip": "10.9.9.7/24", "nw-proto": "UDP", "tp-dst": "53", "src-mac": "ANY",
            "action": "drop",
        }));
        let (match_, verdict) = read(&body, &FIREWALL_FIELDS).unwrap();
        let seen = ShownFields::of(&match_);
        assert_eq!((verdict, seen.proto, seen.tp_dst), (Some(Verdict::Deny), Some(17), Some(53)));
        assert_eq!(seen.src.map(|(ip, bits)| format!("{ip}/{bits}")).unwrap(), "10.9.9.0/24");
        for (body, words) in [
            (json!({"src-pi": "10.0.0.1"}), "src-pi: there is no such field"),
            (json!({"nw-proto": "SCTP"}), "nw-proto"),
            (json!({"action": "maybe"}), "ALLOW or DENY"),
            (json!({"src-ip": "10.0.0.256"}), "nw_src"),
        ] {
            let why = read(&said(body), &FIREWALL_FIELDS).unwrap_err().detail;
            assert!(why.contains(words), "{why}");
        }
    }
}
