//! The hosts that were seen.

use std::net::IpAddr;

use aldis_apps::hosts;
use aldis_wire::DatapathId;
use axum::extract::State;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::{IntoParams, ToSchema};

use super::Page;
use crate::extract::{Dpid, Query};
use crate::problem::Problem;
use crate::routes::Ctx;
use crate::timestamp::Calendar;

/// A host.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Host {
    /// Its Ethernet address
    #[cfg_attr(test, schema(example = "00:00:00:00:00:01"))]
    pub mac: String,
    /// The VLAN that it was seen in; 0 where frames carry none
    pub vlan: u16,
    /// Its IP addresses
    #[cfg_attr(test, schema(example = json!(["10.0.0.1", "fe80::1"])))]
    pub ips: Vec<String>,
    /// The switch that it is attached to, or was last
    #[cfg_attr(test, schema(example = "0000000000000001"))]
    pub dpid: String,
    /// The port of that switch
    pub port: u32,
    /// Whether it is attached there; false where the port went down, until the host is seen again
    #[serde(default = "attached")]
    pub attached: bool,
    /// When it was first seen, in UTC (RFC 3339), to a second
    pub first_seen: String,
    /// When it was last seen, in UTC (RFC 3339); an eighth of the ageing time late at most
    pub last_seen: String,
    /// Whether it is a router, where it said so or the contrary
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub router: Option<bool>,
}

/// What a host is in the answer of a controller that does not say so.
fn attached() -> bool {
    true
}

/// Which hosts, and how many at once.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct HostFilter {
    /// Items of a page, 1 to 10000; everything on one page where it is absent
    limit: Option<usize>,
    /// `next` of the page before
    cursor: Option<String>,
    /// Only those with this Ethernet address
    mac: Option<String>,
    /// Only those with this IP address
    ip: Option<String>,
    /// Only those that are attached to this switch, or were last
    dpid: Option<String>,
    /// Only those in this VLAN
    vlan: Option<u16>,
}

/// The hosts that were seen, by Ethernet address and VLAN
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/hosts", operation_id = "hosts", tag = "network", params(HostFilter), responses(
    (status = 200, description = "Hosts", body = Page<Host>),
    (status = 400, description = "A filter that cannot be understood", body = Problem),
    (status = 404, description = "No application looks for hosts", body = Problem),
)))]
pub(crate) async fn list(
    State(shared): Ctx,
    Query(filter): Query<HostFilter>,
) -> Result<Page<Host>, Problem> {
    let wanted = HostQuery::read(&filter)?;
    let hosts = shared.host_table()?;
    shared.room_for_hosts(filter.limit.unwrap_or(usize::MAX).min(hosts.len()))?;
    let cursor = filter.cursor.as_deref().map(HostCursor::read).transpose()?;
    let found = hosts.iter().filter(|host| wanted.lets(host));
    let show = |host: &&hosts::Host| Host::new(&shared.calendar, host);
    Page::pick(found, filter.limit, cursor, |host| place(host), show)
}

/// A filter whose values were read.
struct HostQuery {
    mac: Option<u64>,
    ip: Option<IpAddr>,
    dpid: Option<DatapathId>,
    vlan: Option<u16>,
}

impl HostQuery {
    fn read(filter: &HostFilter) -> Result<HostQuery, Problem> {
        let bad = |key: &str, text: &str, like: &str| {
            let detail = format!("{key}: {text:?} is none; write it as {like}");
            Problem::bad("bad-query", detail)
        };
        let mac = filter
            .mac
            .as_deref()
            .map(|text| mac(text).ok_or_else(|| bad("mac", text, "00:00:00:00:00:01")));
        let ip = filter
            .ip
            .as_deref()
            .map(|text| text.parse().map_err(|_| bad("ip", text, "10.0.0.1 or fe80::1")));
        let dpid = filter.dpid.as_deref().map(|text| Dpid::read(text).map(|Dpid(dpid)| dpid));
        Ok(HostQuery {
            mac: mac.transpose()?,
            ip: ip.transpose()?,
            dpid: dpid.transpose()?,
            vlan: filter.vlan,
        })
    }

    fn lets(&self, host: &hosts::Host) -> bool {
        self.mac.is_none_or(|mac| mac == host.mac().to_u64())
            && self.ip.is_none_or(|ip| host.has(ip))
            && self.dpid.is_none_or(|dpid| dpid == host.at().dpid)
            && self.vlan.is_none_or(|vlan| vlan == host.id().vlan)
    }
}

/// Six octets of two hexadecimal digits, with colons or hyphens between them.
pub(super) fn mac(text: &str) -> Option<u64> {
    let octets: Vec<_> = text.split([':', '-']).collect();
    let octet =
        |octet: &&str| octet.len() == 2 && octet.bytes().all(|byte| byte.is_ascii_hexdigit());
    let all = octets.len() == 6 && octets.iter().all(octet);
    all.then(|| u64::from_str_radix(&octets.concat(), 16).ok()).flatten()
}

/// Address and VLAN, as `000000000001-0`.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct HostCursor(u64, u16);

fn place(host: &hosts::Host) -> HostCursor {
    HostCursor(host.mac().to_u64(), host.id().vlan)
}

impl std::fmt::Display for HostCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:012x}-{}", self.0, self.1)
    }
}

impl HostCursor {
    fn read(text: &str) -> Result<HostCursor, Problem> {
        let parts = text.split_once('-');
        let read = parts.and_then(|(mac, vlan)| {
            Some(HostCursor(u64::from_str_radix(mac, 16).ok()?, vlan.parse().ok()?))
        });
        read.ok_or_else(|| super::bad_cursor(text))
    }
}

impl Host {
    pub(crate) fn new(calendar: &Calendar, host: &hosts::Host) -> Host {
        Host {
            mac: host.mac().to_string(),
            vlan: host.id().vlan,
            ips: host.addresses().map(|ip| ip.to_string()).collect(),
            dpid: host.at().dpid.to_string(),
            port: host.at().port.0,
            attached: !host.is_nowhere(),
            first_seen: calendar.date(host.first_seen()),
            last_seen: calendar.date(host.last_seen()),
            router: host.is_router(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_people_write_it() {
        assert_eq!(mac("00:00:00:00:01:0A"), Some(0x010a));
        assert_eq!(mac("ff-ff-ff-ff-ff-ff"), Some(0xffff_ffff_ffff));
        for text in ["", "1", "00:00:00:00:00", "00:00:00:00:00:0g", "00:00:00:00:00:+1", "::::::"]
        {
            assert_eq!(mac(text), None, "{text}");
        }
    }
}
