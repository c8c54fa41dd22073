//! The ways that routing finds between two hosts or two switches: hop by hop, with their ports, all
//! of equal cost.
//!
//! They are those of the routes as they are published now, and nothing is asked of a switch. Which
//! of several a flow takes depends on its addresses; which flows lead a packet now is told by
//! `trace`.

use std::net::IpAddr;

use aldis_apps::hosts::Host;
use aldis_apps::routing::Crossing;
use aldis_wire::{DatapathId, MacAddr};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::{IntoParams, ToSchema};

use super::hosts;
use super::not_published;
use super::switches::not_connected;
use crate::extract::Query;
use crate::limits::{PATHS, PATHS_HOPS_MAX, PATHS_MAX};
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};

/// The ways from one place to another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Paths {
    /// Where they begin
    pub from: PathEnd,
    /// Where they end
    pub to: PathEnd,
    /// What makes one way better than another: the routing engine
    #[cfg_attr(test, schema(example = "shortest"))]
    pub engine: String,
    /// How far it is, in what the engine adds up: hops, unless it was told otherwise; absent where no way leads there
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance: Option<u32>,
    /// The ways, each the switches that it passes, in order; none where no way leads there
    pub paths: Vec<Vec<Passing>>,
    /// Whether there are more ways as good, which are not shown
    pub more: bool,
}

/// Where a way begins or ends.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct PathEnd {
    /// The switch
    #[cfg_attr(test, schema(example = "0000000000000001"))]
    pub dpid: String,
    /// The port of it to which the host is attached, where one was asked for
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u32>,
    /// The host's Ethernet address
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The VLAN that the host was seen in; 0 where frames carry none
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
}

/// A switch that a way passes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = PathHop))]
pub struct Passing {
    /// The switch
    #[cfg_attr(test, schema(example = "0000000000000001"))]
    pub dpid: String,
    /// The port by which packets come in; absent at a switch where the way begins
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_port: Option<u32>,
    /// The port by which they leave; absent at a switch where the way ends
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_port: Option<u32>,
}

/// From where to where.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct PathQuery {
    /// A host, by an Ethernet or IP address, or a switch, by its datapath id
    #[cfg_attr(test, param(example = "10.0.0.1"))]
    from: String,
    /// Likewise
    #[cfg_attr(test, param(example = "00:00:00:00:00:02"))]
    to: String,
    /// The VLAN in which the hosts were seen, where they were in several
    vlan: Option<u16>,
    /// Ways that are shown, 1 to 256; 16 where it is absent
    max: Option<usize>,
}

/// The ways between two hosts or switches, as routing finds them: all of equal cost, by their ports
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/paths", operation_id = "paths", tag = "network", params(PathQuery), responses(
    (status = 200, description = "Ways; none where the network is in parts", body = Paths),
    (status = 400, description = "No address and no datapath id, or a host that was seen in several VLANs", body = Problem),
    (status = 404, description = "There is no such host or switch, or no application looks for ways", body = Problem),
)))]
pub(crate) async fn show(
    State(shared): Ctx,
    Query(between): Query<PathQuery>,
) -> Result<Json<Paths>, Problem> {
    let max = between.max.unwrap_or(PATHS);
    if !(1..=PATHS_MAX).contains(&max) {
        let detail = format!("max: {max}; accepted are 1 to {PATHS_MAX}");
        return Err(Problem::bad("bad-query", detail));
    }
    let end = |key, text: &str| EndName::read(key, text)?.find(&shared, key, between.vlan);
    let (from, to) = (end("from", &between.from)?, end("to", &between.to)?);
    let found = shared.controller.paths(from.at.0, to.at.0, max, PATHS_HOPS_MAX);
    let found = found.ok_or_else(|| not_published("ways"))?;
    Ok(Json(Paths {
        engine: found.engine,
        distance: found.distance,
        paths: found.paths.iter().map(|path| passings(path, &from, &to)).collect(),
        more: found.more,
        from: from.shown(),
        to: to.shown(),
    }))
}

/// The switches before, between and behind the links of a way.
fn passings(path: &[Crossing], from: &ResolvedEnd, to: &ResolvedEnd) -> Vec<Passing> {
    let mut passed = Vec::with_capacity(path.len() + 1);
    let mut at = from.at;
    for crossing in path {
        passed.push(passing(at, Some(crossing.from.port.0)));
        at = (crossing.to.dpid, Some(crossing.to.port.0));
    }
    passed.push(passing(at, to.at.1));
    passed
}

fn passing((dpid, in_port): (DatapathId, Option<u32>), out_port: Option<u32>) -> Passing {
    Passing { dpid: dpid.to_string(), in_port, out_port }
}

/// Where a way begins or ends: a switch, and the port of a host.
struct ResolvedEnd {
    at: (DatapathId, Option<u32>),
    host: Option<(MacAddr, u16)>,
}

impl ResolvedEnd {
    fn shown(&self) -> PathEnd {
        PathEnd {
            dpid: self.at.0.to_string(),
            port: self.at.1,
            host: self.host.map(|(mac, _)| mac.to_string()),
            vlan: self.host.map(|(_, vlan)| vlan),
        }
    }
}

/// What a text names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EndName {
    Mac(u64),
    Switch(DatapathId),
    Ip(IpAddr),
}

impl EndName {
    /// Six octets are an Ethernet address and eight a datapath id, which go before IP addresses.
    fn read(key: &str, text: &str) -> Result<EndName, Problem> {
        let mac = hosts::mac(text).map(EndName::Mac);
        let switch = || text.parse().ok().map(EndName::Switch);
        let ip = || text.parse().ok().map(EndName::Ip);
        mac.or_else(switch).or_else(ip).ok_or_else(|| {
            let detail = format!(
                "{key}: {text:?} is no host and no switch; write an Ethernet address, an IP address or a datapath id"
            );
            Problem::bad("bad-query", detail)
        })
    }

    fn find(self, shared: &Shared, key: &str, vlan: Option<u16>) -> Result<ResolvedEnd, Problem> {
        if let EndName::Switch(dpid) = self {
            shared.controller.switch(dpid).ok_or_else(|| not_connected(dpid))?;
            return Ok(ResolvedEnd { at: (dpid, None), host: None });
        }
        let hosts = shared.host_table()?;
        let mut found: Vec<_> = hosts.iter().filter(|host| self.names(host)).collect();
        found.sort_unstable_by_key(|host| host.id().vlan);
        let lets = |host: &&&Host| vlan.is_none_or(|vlan| vlan == host.id().vlan);
        let mut fitting = found.iter().filter(lets);
        match (fitting.next(), fitting.next()) {
            (Some(host), None) if host.is_nowhere() => {
                let at = host.at();
                let detail = format!(
                    "{key}: the port of host {self}, {} of switch {}, went down, and it was seen nowhere since",
                    at.port, at.dpid
                );
                Err(Problem::new(StatusCode::NOT_FOUND, "no-such-host", detail))
            }
            (Some(host), None) => {
                let at = (host.at().dpid, Some(host.at().port.0));
                Ok(ResolvedEnd { at, host: Some((host.mac(), host.id().vlan)) })
            }
            (Some(_), Some(_)) => {
                let one = |host: &&Host| format!("{} in VLAN {}", host.mac(), host.id().vlan);
                let all: Vec<_> = found.iter().map(one).collect();
                let detail = format!(
                    "{key}: {self} was seen as {}; say which, by its Ethernet address and vlan=",
                    all.join(", ")
                );
                Err(Problem::bad("ambiguous-host", detail))
            }
            (None, _) => {
                let there = vlan.map_or_else(String::new, |vlan| format!(" in VLAN {vlan}"));
                let detail = format!(
                    "{key}: no host {self} was seen{there}; /api/v1/hosts lists those that were"
                );
                Err(Problem::new(StatusCode::NOT_FOUND, "no-such-host", detail))
            }
        }
    }

    fn names(self, host: &Host) -> bool {
        match self {
            EndName::Mac(mac) => host.mac().to_u64() == mac,
            EndName::Ip(ip) => host.has(ip),
            EndName::Switch(_) => false,
        }
    }
}

impl std::fmt::Display for EndName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EndName::Mac(mac) => MacAddr::from_u64(*mac).fmt(f),
            EndName::Switch(dpid) => dpid.fmt(f),
            EndName::Ip(ip) => ip.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_switches_are_told_apart() {
        let read = |text| EndName::read("from", text).map_err(|problem| problem.detail);
        assert_eq!(read("00:00:00:00:00:0a"), Ok(EndName::Mac(10)));
        for text in ["10", "0xa", "00:00:00:00:00:00:00:0a", "of:000000000000000a"] {
            assert_eq!(read(text), Ok(EndName::Switch(DatapathId(10))), "{text}");
        }
        for text in ["10.0.0.1", "fe80::1"] {
            assert_eq!(read(text), Ok(EndName::Ip(text.parse().unwrap())), "{text}");
        }
        for text in ["", "h1", "10.0.0", "00:00:00:00:00:00:0a", "-1"] {
            assert!(read(text).unwrap_err().starts_with("from: "), "{text}");
        }
    }
}
