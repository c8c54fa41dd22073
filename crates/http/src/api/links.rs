//! The links between switches.

use aldis_apps::SwitchPort;
use aldis_apps::topology::{Ends, LinkState, MapLink};
use aldis_wire::DatapathId;
use aldis_wire::msg::PortNo;
use axum::extract;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::{IntoParams, ToSchema};

use super::Page;
use crate::extract::{Dpid, Query};
use crate::problem::Problem;
use crate::routes::Ctx;
use crate::timestamp::Calendar;

/// A link between two switches.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Link {
    /// The lower one of its ends
    pub a: LinkEnd,
    /// The other
    pub b: LinkEnd,
    /// How far it can be relied on
    #[cfg_attr(test, schema(value_type = ApiLinkState))]
    pub state: LinkState,
    /// Since when it has been in this state, in UTC (RFC 3339)
    pub since: String,
    /// Whether it is a cable; otherwise it leads through switches that are not ours
    pub cable: bool,
    /// Whether it takes so much longer than others that a device may be in between
    pub slow: bool,
    /// What it takes from the lower end to the other, in microseconds, to a quarter; absent where it is not known
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_us: Option<u32>,
}

/// One end of a link.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct LinkEnd {
    /// The switch
    #[cfg_attr(test, schema(example = "0000000000000001"))]
    pub dpid: String,
    /// Its port
    pub port: u32,
}

/// How far a link can be relied on.
#[cfg(test)]
#[derive(ToSchema)]
#[cfg_attr(test, schema(as = LinkState, rename_all = "kebab-case"))]
#[expect(dead_code, reason = "it describes `topology::LinkState`")]
enum ApiLinkState {
    /// Probes come through both ways
    Up,
    /// Probes come through one way only: it carries no traffic
    OneWay,
    /// Both ways, but it may be two hosts that hand probes on: it carries no traffic until it is as fast as others
    Unproven,
}

/// Which links, and how many at once.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct LinkFilter {
    /// Items of a page, 1 to 10000; everything on one page where it is absent
    limit: Option<usize>,
    /// `next` of the page before
    cursor: Option<String>,
    /// Only those that end at this switch
    dpid: Option<String>,
    /// Only those in this state
    #[cfg_attr(test, param(inline, value_type = Option<ApiLinkState>))]
    state: Option<LinkState>,
}

/// The links between switches, by their lower ends
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/links", operation_id = "links", tag = "network", params(LinkFilter), responses(
    (status = 200, description = "Links", body = Page<Link>),
    (status = 400, description = "A filter that cannot be understood", body = Problem),
    (status = 404, description = "No application looks for links", body = Problem),
)))]
pub(crate) async fn list(
    extract::State(shared): Ctx,
    Query(filter): Query<LinkFilter>,
) -> Result<Page<Link>, Problem> {
    let dpid = filter.dpid.as_deref().map(Dpid::read).transpose()?;
    let links = shared.controller.links().ok_or_else(|| super::not_published("links"))?;
    let lets = |link: &MapLink| {
        dpid.is_none_or(|Dpid(dpid)| link.ends.ports().iter().any(|end| end.dpid == dpid))
            && filter.state.is_none_or(|state| state == link.state)
    };
    let mut links: Vec<_> = links.into_iter().filter(lets).collect();
    links.sort_unstable_by_key(place);
    let cursor = filter.cursor.as_deref().map(LinkCursor::read).transpose()?;
    Page::cut(&links, filter.limit, cursor, place, |link| Link::new(&shared.calendar, link))
}

/// Both ends, as `DPID-PORT-DPID-PORT`.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct LinkCursor(Ends);

fn place(link: &MapLink) -> LinkCursor {
    LinkCursor(link.ends)
}

impl std::fmt::Display for LinkCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b] = self.0.ports();
        write!(f, "{}-{}-{}-{}", a.dpid, a.port.0, b.dpid, b.port.0)
    }
}

impl LinkCursor {
    fn read(text: &str) -> Result<LinkCursor, Problem> {
        let parts: Vec<_> = text.split('-').collect();
        let read = match parts[..] {
            [a, port, b, other] => {
                end(a, port).zip(end(b, other)).map(|(a, b)| LinkCursor(Ends::new(a, b)))
            }
            _ => None,
        };
        read.ok_or_else(|| super::bad_cursor(text))
    }
}

fn end(dpid: &str, port: &str) -> Option<SwitchPort> {
    let dpid: DatapathId = dpid.parse().ok()?;
    Some(SwitchPort::of(dpid, PortNo(port.parse().ok()?)))
}

impl Link {
    pub(crate) fn new(calendar: &Calendar, link: &MapLink) -> Link {
        let end = |at: SwitchPort| LinkEnd { dpid: at.dpid.to_string(), port: at.port.0 };
        let [a, b] = link.ends.ports().map(end);
        Link {
            a,
            b,
            state: link.state,
            since: calendar.date(link.since),
            cable: link.cable,
            slow: link.slow,
            latency_us: link.latency_us,
        }
    }
}
