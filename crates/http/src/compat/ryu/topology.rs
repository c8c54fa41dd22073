//! `/v1.0/topology`: switches, links and hosts as `rest_topology` shows them: datapath ids of
//! sixteen hexadecimal digits, port numbers of eight, links once in each direction.

use std::collections::HashMap;

use aldis_apps::SwitchPort;
use aldis_apps::hosts::Host;
use aldis_apps::topology::{LinkState, MapLink};
use aldis_control::switch::Seen;
use aldis_wire::DatapathId;
use aldis_wire::msg::{Port, PortNo};
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::body::PathParts;
use crate::api::not_published;
use crate::extract::Dpid;
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

type RyuList = Result<Json<Vec<Value>>, Problem>;

/// Ports by their switches and numbers.
pub(super) type PortValues = HashMap<SwitchPort, Value>;

/// The switch that a path names, if it names one.
fn only(at: &PathParts) -> Result<Option<DatapathId>, Problem> {
    at.part("dpid").map(|text| Dpid::read(text).map(|Dpid(dpid)| dpid)).transpose()
}

pub(super) async fn switches(State(shared): Ctx, at: PathParts) -> RyuList {
    let all = match only(&at)? {
        Some(dpid) => shared.controller.switch(dpid).into_iter().collect(),
        None => shared.controller.switches(),
    };
    Ok(Json(all.iter().map(switch).collect()))
}

pub(super) async fn links(State(shared): Ctx, at: PathParts) -> RyuList {
    let only = only(&at)?;
    let links = shared.controller.links().ok_or_else(|| not_published("links"))?;
    let ports = ports(&shared.controller.switches());
    let both = carrying(&links).flat_map(|[a, b]| [[a, b], [b, a]]);
    let wanted = both.filter(|[from, _]| only.is_none_or(|dpid| from.dpid == dpid));
    Ok(Json(wanted.map(|ends| link(ends, &ports)).collect()))
}

pub(super) async fn hosts(State(shared): Ctx, at: PathParts) -> RyuList {
    let only = only(&at)?;
    let hosts = all_hosts(&shared)?;
    let ports = ports(&shared.controller.switches());
    let wanted = hosts.iter().filter(|host| only.is_none_or(|dpid| host.at().dpid == dpid));
    Ok(Json(wanted.map(|each| host(each, &ports)).collect()))
}

fn all_hosts(shared: &Shared) -> Result<Vec<Host>, Problem> {
    let mut hosts = shared.hosts()?;
    // Each has a port here.
    hosts.retain(|host| !host.is_nowhere());
    hosts.sort_unstable_by_key(|host| (host.mac().to_u64(), host.id().vlan));
    Ok(hosts)
}

/// The ends of the links that carry traffic.
pub(crate) fn carrying(links: &[MapLink]) -> impl Iterator<Item = [SwitchPort; 2]> {
    links.iter().filter(|link| link.state == LinkState::Up).map(|link| link.ends.ports())
}

pub(super) fn ports(switches: &[Seen]) -> PortValues {
    let of = |seen: &Seen| {
        let dpid = seen.switch.info.dpid;
        let at = |port: &Port| SwitchPort::of(dpid, port.number);
        let ports: Vec<_> = seen.ports().iter().map(|port| (at(port), *port)).collect();
        ports.into_iter().map(move |(key, each)| (key, port(dpid, &each)))
    };
    switches.iter().flat_map(of).collect()
}

pub(super) fn switch(seen: &Seen) -> Value {
    let dpid = seen.switch.info.dpid;
    let real = seen.ports().iter().filter(|port| port.number.is_real());
    json!({
        "dpid": dpid.to_string(),
        "ports": real.map(|each| port(dpid, each)).collect::<Vec<_>>(),
    })
}

fn port(dpid: DatapathId, port: &Port) -> Value {
    json!({
        "dpid": dpid.to_string(),
        "port_no": number(port.number),
        "hw_addr": port.hw_addr.to_string(),
        "name": port.name.to_string(),
    })
}

fn number(PortNo(number): PortNo) -> String {
    format!("{number:08x}")
}

pub(super) fn link([from, to]: [SwitchPort; 2], ports: &PortValues) -> Value {
    json!({ "src": end(from, ports), "dst": end(to, ports) })
}

/// A port, or what is known of one whose switch is gone.
fn end(at: SwitchPort, ports: &PortValues) -> Value {
    let unknown = || {
        let (dpid, number) = (at.dpid.to_string(), number(at.port));
        json!({"dpid": dpid, "port_no": number, "hw_addr": "00:00:00:00:00:00", "name": ""})
    };
    ports.get(&at).cloned().unwrap_or_else(unknown)
}

pub(super) fn host(host: &Host, ports: &PortValues) -> Value {
    let of = |v4: bool| host.addresses().filter(move |ip| ip.is_ipv4() == v4);
    json!({
        "mac": host.mac().to_string(),
        "ipv4": of(true).map(|ip| ip.to_string()).collect::<Vec<_>>(),
        "ipv6": of(false).map(|ip| ip.to_string()).collect::<Vec<_>>(),
        "port": end(host.at(), ports),
    })
}
