//! `/wm/topology` and `/wm/device`: links and hosts.

use std::collections::{BTreeMap, BTreeSet};

use aldis_wire::DatapathId;
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};

use super::words::dpid;
use crate::api::links::LinkState;
use crate::api::not_published;
use crate::extract::{Dpid, Query};
use crate::problem::Problem;
use crate::routes::{From, Shared};
use crate::ryu::topology::carrying;
use crate::source::{Host, Link};

type Listed = Result<Json<Vec<Value>>, Problem>;

fn all(shared: &Shared) -> Result<Vec<Link>, Problem> {
    shared.controller.links().ok_or_else(|| not_published("links"))
}

fn show(links: &[Link], is: impl Fn(&&Link) -> bool) -> Json<Vec<Value>> {
    let show = |link: &Link| {
        let [src, dst] = link.ends;
        json!({
            "src-switch": dpid(src.0),
            "src-port": src.1,
            "dst-switch": dpid(dst.0),
            "dst-port": dst.1,
            "type": if link.cable { "internal" } else { "external" },
            "direction": if link.state == LinkState::OneWay { "unidirectional" } else { "bidirectional" },
            // Milliseconds, whole ones.
            "latency": link.latency_us.map_or(0, |us| us / 1000),
        })
    };
    Json(links.iter().filter(is).map(show).collect())
}

pub(super) async fn links(State(shared): From) -> Listed {
    Ok(show(&all(&shared)?, |link| link.state == LinkState::Up))
}

pub(super) async fn directed(State(shared): From) -> Listed {
    Ok(show(&all(&shared)?, |link| link.state == LinkState::OneWay))
}

pub(super) async fn external(State(shared): From) -> Listed {
    Ok(show(&all(&shared)?, |link| link.state == LinkState::Up && !link.cable))
}

/// The parts of the network that hang together, by the first switch of each.
pub(super) async fn clusters(State(shared): From) -> Result<Json<Value>, Problem> {
    let switches = shared.controller.switches();
    let switches = switches.iter().map(|seen| seen.switch.info.dpid).collect();
    let links: Vec<_> = carrying(&all(&shared)?).map(|[a, b]| (a.0, b.0)).collect();
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

/// Which hosts.
#[derive(Debug, Deserialize)]
pub(super) struct Which {
    mac: Option<String>,
    ipv4: Option<String>,
    ipv6: Option<String>,
    vlan: Option<String>,
    dpid: Option<String>,
    port: Option<String>,
}

pub(super) async fn devices(
    State(shared): From,
    Query(which): Query<Which>,
) -> Result<Json<Value>, Problem> {
    let at = which.dpid.as_deref().map(Dpid::read).transpose()?;
    let mut hosts = shared.controller.hosts().ok_or_else(|| not_published("hosts"))?;
    hosts.sort_unstable_by_key(|host| (host.mac.to_u64(), host.vlan));
    let lets = |host: &&Host| {
        let is =
            |wanted: &Option<String>, has: &dyn Fn(&str) -> bool| wanted.as_deref().is_none_or(has);
        let has_ip = |wanted: &str| host.ips.iter().any(|ip| wanted.parse() == Ok(*ip));
        is(&which.mac, &|mac| mac.eq_ignore_ascii_case(&host.mac.to_string()))
            && is(&which.ipv4, &has_ip)
            && is(&which.ipv6, &has_ip)
            && is(&which.vlan, &|vlan| crate::ryu::body::number(vlan) == Some(host.vlan.into()))
            && is(&which.port, &|port| port == host.at.1.to_string())
            && at.is_none_or(|Dpid(at)| at == host.at.0)
    };
    let show = |host: &Host| {
        let ips = |v4: bool| {
            let those = host.ips.iter().filter(move |ip| ip.is_ipv4() == v4);
            those.map(ToString::to_string).collect::<Vec<_>>()
        };
        json!({
            "entityClass": "DefaultEntityClass",
            "mac": [host.mac.to_string()],
            "ipv4": ips(true),
            "ipv6": ips(false),
            "vlan": [format!("{:#x}", host.vlan)],
            "attachmentPoint": [{ "switch": dpid(host.at.0), "port": host.at.1.to_string() }],
            "lastSeen": shared.calendar.millis(host.last_seen),
        })
    };
    Ok(Json(json!({ "devices": hosts.iter().filter(lets).map(show).collect::<Vec<_>>() })))
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
}
