//! `/wm/topology` and `/wm/device`: links, ways and hosts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aldis_apps::SwitchPort;
use aldis_apps::hosts::Host;
use aldis_apps::routing::Crossing;
use aldis_apps::topology::{LinkState, MapLink};
use aldis_wire::DatapathId;
use aldis_wire::msg::PortNo;
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};

use super::words::dpid;
use crate::api::not_published;
use crate::api::switches::not_connected;
use crate::compat::ryu::body::{beginning, number};
use crate::compat::ryu::topology::carrying;
use crate::extract::{Dpid, Path, Query};
use crate::limits::{PATHS_HOPS_MAX, PATHS_MAX};
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

type FloodlightList = Result<Json<Vec<Value>>, Problem>;

fn all(shared: &Shared) -> Result<Vec<MapLink>, Problem> {
    shared.controller.links().ok_or_else(|| not_published("links"))
}

fn show(links: &[MapLink], is: impl Fn(&&MapLink) -> bool) -> Json<Vec<Value>> {
    let show = |link: &MapLink| {
        let [src, dst] = link.ends.ports();
        json!({
            "src-switch": dpid(src.dpid),
            "src-port": src.port.0,
            "dst-switch": dpid(dst.dpid),
            "dst-port": dst.port.0,
            "type": if link.cable { "internal" } else { "external" },
            "direction": if link.state == LinkState::OneWay { "unidirectional" } else { "bidirectional" },
            // Milliseconds, whole ones.
            "latency": link.latency_us.map_or(0, |us| us / 1000),
        })
    };
    Json(links.iter().filter(is).map(show).collect())
}

pub(super) async fn links(State(shared): Ctx) -> FloodlightList {
    Ok(show(&all(&shared)?, |link| link.state == LinkState::Up))
}

pub(super) async fn directed(State(shared): Ctx) -> FloodlightList {
    Ok(show(&all(&shared)?, |link| link.state == LinkState::OneWay))
}

pub(super) async fn external(State(shared): Ctx) -> FloodlightList {
    Ok(show(&all(&shared)?, |link| link.state == LinkState::Up && !link.cable))
}

/// The parts of the network that hang together, by the first switch of each.
pub(super) async fn clusters(State(shared): Ctx) -> Result<Json<Value>, Problem> {
    let switches = shared.controller.switches();
    let switches = switches.iter().map(|seen| seen.switch.info.dpid).collect();
    let links: Vec<_> = carrying(&all(&shared)?).map(|[a, b]| (a.dpid, b.dpid)).collect();
    let parts = parts(switches, &links);
    let show = |part: &BTreeSet<DatapathId>| part.iter().map(|one| dpid(*one)).collect::<Vec<_>>();
    let shown = parts.iter().map(|(first, part)| (dpid(*first), json!(show(part))));
    Ok(Json(Value::Object(shown.collect())))
}

fn parts(
    mut left: BTreeSet<DatapathId>,
    links: &[(DatapathId, DatapathId)],
) -> BTreeMap<DatapathId, BTreeSet<DatapathId>> {
    let mut next: BTreeMap<DatapathId, Vec<DatapathId>> = BTreeMap::new();
    for (a, b) in links {
        next.entry(*a).or_default().push(*b);
        next.entry(*b).or_default().push(*a);
    }
    let mut parts = BTreeMap::new();
    while let Some(first) = left.pop_first() {
        let (mut part, mut ahead) = (BTreeSet::from([first]), vec![first]);
        while let Some(here) = ahead.pop() {
            for there in next.get(&here).into_iter().flatten() {
                if left.remove(there) {
                    part.insert(*there);
                    ahead.push(*there);
                }
            }
        }
        parts.insert(first, part);
    }
    parts
}

/// From where to where.
#[derive(Debug, Deserialize)]
pub(super) struct RouteEnds {
    src_dpid: String,
    src_port: String,
    dst_dpid: String,
    dst_port: String,
}

/// The ports that a packet passes from one to the other, both included: an even number of them, in
/// and out of a switch by turns. None where no way leads there.
pub(super) async fn route(State(shared): Ctx, Path(between): Path<RouteEnds>) -> FloodlightList {
    let [src, dst] = between.ends()?;
    for SwitchPort { dpid, .. } in [src, dst] {
        shared.controller.switch(dpid).ok_or_else(|| not_connected(dpid))?;
    }
    let found = shared.controller.paths(src.dpid, dst.dpid, 1, PATHS_HOPS_MAX);
    let found = found.ok_or_else(|| not_published("ways"))?;
    let passed = found.paths.first().map_or(vec![], |path| passed(src, path, dst));
    let show = |at: &SwitchPort| json!({ "switch": dpid(at.dpid), "port": at.port.0 });
    Ok(Json(passed.iter().map(show).collect()))
}

/// The same as [`route`], as `/wm/routing` has it.
pub(super) async fn path(shared: Ctx, between: Path<RouteEnds>) -> Result<Json<Value>, Problem> {
    let Json(passed) = route(shared, between).await?;
    Ok(Json(json!({ "results": passed })))
}

/// From which switch to which, and how many ways at most.
#[derive(Debug, Deserialize)]
pub(super) struct PathsAsked {
    src_dpid: String,
    dst_dpid: String,
    count: String,
}

/// The ways of least cost; their latency is in milliseconds.
pub(super) async fn paths(
    State(shared): Ctx,
    Path(asked): Path<PathsAsked>,
) -> Result<Json<Value>, Problem> {
    let [Dpid(src), Dpid(dst)] = [Dpid::read(&asked.src_dpid)?, Dpid::read(&asked.dst_dpid)?];
    for dpid in [src, dst] {
        shared.controller.switch(dpid).ok_or_else(|| not_connected(dpid))?;
    }
    let count = number(&asked.count).filter(|count| (1..=PATHS_MAX as u64).contains(count));
    let refused = || Problem::bad("bad-query", format!("accepted: 1 to {PATHS_MAX} paths"));
    let count = count.ok_or_else(refused)? as usize;
    let found = shared.controller.paths(src, dst, count, PATHS_HOPS_MAX);
    let found = found.ok_or_else(|| not_published("ways"))?;
    let latency: HashMap<_, _> = all(&shared)?
        .into_iter()
        .map(|link| (link.ends.ports(), u64::from(link.latency_us.unwrap_or(0))))
        .collect();
    let took = |crossing: &Crossing| {
        let [there, back] = [[crossing.from, crossing.to], [crossing.to, crossing.from]];
        latency.get(&there).or_else(|| latency.get(&back)).copied().unwrap_or(0)
    };
    let show = |(index, path): (usize, &Vec<Crossing>)| {
        let ports = path.iter().flat_map(|crossing| [crossing.from, crossing.to]);
        json!({
            "src_dpid": dpid(src),
            "dst_dpid": dpid(dst),
            "hop_count": path.len().to_string(),
            "latency": (path.iter().map(took).sum::<u64>() / 1000).to_string(),
            "path_index": index.to_string(),
            "path": ports
                .map(|at| json!({ "dpid": dpid(at.dpid), "port": at.port.0.to_string() }))
                .collect::<Vec<_>>(),
        })
    };
    Ok(Json(json!({ "results": found.paths.iter().enumerate().map(show).collect::<Vec<_>>() })))
}

impl RouteEnds {
    fn ends(&self) -> Result<[SwitchPort; 2], Problem> {
        let end = |dpid: &str, port: &str| -> Result<SwitchPort, Problem> {
            let Dpid(dpid) = Dpid::read(dpid)?;
            let number = number(port).and_then(|number| u32::try_from(number).ok());
            let refused =
                || Problem::bad("bad-port", format!("{:?} is no port number", beginning(port)));
            Ok(SwitchPort::of(dpid, PortNo(number.ok_or_else(refused)?)))
        };
        Ok([end(&self.src_dpid, &self.src_port)?, end(&self.dst_dpid, &self.dst_port)?])
    }
}

/// No packet leaves by the port that it came in by.
fn passed(src: SwitchPort, path: &[Crossing], dst: SwitchPort) -> Vec<SwitchPort> {
    if path.is_empty() && src == dst {
        return vec![];
    }
    let between = path.iter().flat_map(|crossing| [crossing.from, crossing.to]);
    std::iter::once(src).chain(between).chain([dst]).collect()
}

/// Which hosts.
#[derive(Debug, Deserialize)]
pub(super) struct DeviceFilter {
    mac: Option<String>,
    ipv4: Option<String>,
    ipv6: Option<String>,
    vlan: Option<String>,
    dpid: Option<String>,
    port: Option<String>,
}

/// A list of them, as it was before Floodlight 1.2, and as most scripts read it: ports are numbers.
pub(super) async fn devices(
    State(shared): Ctx,
    Query(which): Query<DeviceFilter>,
) -> FloodlightList {
    let hosts = which.found(&shared)?;
    Ok(Json(hosts.iter().map(|host| show_host(&shared, host, host.at().port.0.into())).collect()))
}

/// Under the name that they have since 1.2: ports are texts.
pub(super) async fn all_devices(
    State(shared): Ctx,
    Query(which): Query<DeviceFilter>,
) -> Result<Json<Value>, Problem> {
    let hosts = which.found(&shared)?;
    let shown =
        hosts.iter().map(|host| show_host(&shared, host, host.at().port.0.to_string().into()));
    Ok(Json(json!({ "devices": shown.collect::<Vec<_>>() })))
}

impl DeviceFilter {
    fn found(&self, shared: &Shared) -> Result<Vec<Host>, Problem> {
        let at = self.dpid.as_deref().map(Dpid::read).transpose()?.map(|Dpid(dpid)| dpid);
        let mut hosts = shared.hosts()?;
        let is_at = |host: &Host, at| host.place().is_some_and(|place| place.dpid == at);
        hosts.retain(|host| self.lets(host) && at.is_none_or(|at| is_at(host, at)));
        hosts.sort_unstable_by_key(|host| (host.mac().to_u64(), host.id().vlan));
        Ok(hosts)
    }

    fn lets(&self, host: &Host) -> bool {
        let is =
            |wanted: &Option<String>, has: &dyn Fn(&str) -> bool| wanted.as_deref().is_none_or(has);
        let has_ip = |wanted: &str| host.addresses().any(|ip| wanted.parse() == Ok(ip));
        is(&self.mac, &|mac| mac.eq_ignore_ascii_case(&host.mac().to_string()))
            && is(&self.ipv4, &has_ip)
            && is(&self.ipv6, &has_ip)
            && is(&self.vlan, &|vlan| number(vlan) == Some(host.id().vlan.into()))
            && is(&self.port, &|port| host.place().is_some_and(|at| port == at.port.0.to_string()))
    }
}

/// The switch has the name that it had before 1.2 beside the later one.
fn show_host(shared: &Shared, host: &Host, port: Value) -> Value {
    let ips = |v4: bool| {
        let those = host.addresses().filter(move |ip| ip.is_ipv4() == v4);
        those.map(|ip| ip.to_string()).collect::<Vec<_>>()
    };
    let switch = dpid(host.at().dpid);
    let place =
        json!({ "switchDPID": switch, "switch": switch, "port": port, "errorStatus": null });
    json!({
        "entityClass": "DefaultEntityClass",
        "mac": [host.mac().to_string()],
        "ipv4": ips(true),
        "ipv6": ips(false),
        "vlan": [format!("{:#x}", host.id().vlan)],
        "attachmentPoint": (!host.is_nowhere()).then_some(place).as_slice(),
        "lastSeen": shared.calendar.millis(host.last_seen()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_together_is_one_part() {
        let switches = (1..=6).map(DatapathId).collect();
        let link = |a, b| (DatapathId(a), DatapathId(b));
        let parts = parts(switches, &[link(5, 4), link(2, 5), link(3, 3), link(1, 9)]);
        let numbers: Vec<Vec<u64>> =
            parts.values().map(|part| part.iter().map(|dpid| dpid.0).collect()).collect();
        assert_eq!(numbers, [vec![1], vec![2, 4, 5], vec![3], vec![6]]);
        assert!(parts.iter().all(|(first, part)| part.first() == Some(first)));
    }

    #[test]
    fn a_route_is_the_ports_that_a_packet_passes() {
        let at = SwitchPort::new;
        let path =
            [Crossing { from: at(1, 3), to: at(2, 1) }, Crossing { from: at(2, 2), to: at(3, 7) }];
        let all = [at(1, 1), at(1, 3), at(2, 1), at(2, 2), at(3, 7), at(3, 1)];
        assert_eq!(passed(at(1, 1), &path, at(3, 1)), all);
        assert_eq!(passed(at(1, 1), &[], at(1, 2)), [at(1, 1), at(1, 2)]);
        assert!(passed(at(1, 1), &[], at(1, 1)).is_empty());
    }
}
