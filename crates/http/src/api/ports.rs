//! The ports of the switches that are connected.

use aldis_control::switch::Seen;
use aldis_wire::DatapathId;
use aldis_wire::msg;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::{IntoParams, ToSchema};

use super::Page;
use super::switches::not_connected;
use crate::extract::{Dpid, Path, Query};
use crate::problem::Problem;
use crate::routes::Ctx;

/// A port of a switch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Port {
    /// The datapath id of its switch
    #[cfg_attr(test, schema(example = "0000000000000001"))]
    pub dpid: String,
    /// Its number
    pub number: u32,
    /// Its name, as the switch's administrator knows it
    #[cfg_attr(test, schema(example = "s1-eth1"))]
    pub name: String,
    /// Its own Ethernet address
    #[cfg_attr(test, schema(example = "00:00:00:00:01:01"))]
    pub mac: String,
    /// Whether packets can leave and arrive here
    pub up: bool,
    /// Whether it was taken down by configuration
    pub admin_down: bool,
    /// Whether it has no link
    pub link_down: bool,
    /// Current speed in kilobits a second; 0 where the switch does not say
    pub speed_kbps: u32,
    /// Greatest speed in kilobits a second; 0 where the switch does not say
    pub max_speed_kbps: u32,
    /// Flow requests from here that were dropped on purpose, because it flooded
    #[serde(default)]
    pub sheds: u64,
}

/// Which ports, and how many at once.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct PortFilter {
    /// Items of a page, 1 to 10000; everything on one page where it is absent
    limit: Option<usize>,
    /// `next` of the page before
    cursor: Option<String>,
    /// Only those that are up, or only those that are not
    up: Option<bool>,
}

/// The ports of all switches that are connected, by datapath id and number
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/ports", operation_id = "ports", tag = "switches", params(PortFilter), responses(
    (status = 200, description = "Ports", body = Page<Port>),
    (status = 400, description = "A filter that cannot be understood", body = Problem),
)))]
pub(crate) async fn list(
    State(shared): Ctx,
    Query(filter): Query<PortFilter>,
) -> Result<Page<Port>, Problem> {
    let switches = shared.controller.switches();
    page(switches.iter(), filter)
}

/// The ports of one switch, by number
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/switches/{dpid}/ports", operation_id = "switch_ports", tag = "switches",
    params(("dpid" = String, Path, description = "The switch's datapath id, however it is written"), PortFilter),
    responses(
        (status = 200, description = "Ports", body = Page<Port>),
        (status = 400, description = "No datapath id, or a filter that cannot be understood", body = Problem),
        (status = 404, description = "The switch is not connected", body = Problem),
)))]
pub(crate) async fn of_switch(
    State(shared): Ctx,
    Dpid(dpid): Dpid,
    Query(filter): Query<PortFilter>,
) -> Result<Page<Port>, Problem> {
    let seen = shared.controller.switch(dpid).ok_or_else(|| not_connected(dpid))?;
    page([&seen].into_iter(), filter)
}

/// One port
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/switches/{dpid}/ports/{number}", operation_id = "port", tag = "switches",
    params(
        ("dpid" = String, Path, description = "The switch's datapath id, however it is written"),
        ("number" = u32, Path, description = "The port's number"),
    ),
    responses(
        (status = 200, description = "The port", body = Port),
        (status = 400, description = "No datapath id, or no number", body = Problem),
        (status = 404, description = "The switch is not connected, or has no such port", body = Problem),
)))]
pub(crate) async fn show(
    State(shared): Ctx,
    Path((dpid, number)): Path<(String, u32)>,
) -> Result<Json<Port>, Problem> {
    let Dpid(dpid) = Dpid::read(&dpid)?;
    let seen = shared.controller.switch(dpid).ok_or_else(|| not_connected(dpid))?;
    let port = seen.ports().iter().find(|port| port.number.0 == number);
    let port = port.ok_or_else(|| {
        Problem::missing("no-such-port", format!("switch {dpid} has no port {number}"))
    })?;
    Ok(Json(Port::counted(&seen, port)))
}

fn page<'a>(
    switches: impl Iterator<Item = &'a Seen>,
    filter: PortFilter,
) -> Result<Page<Port>, Problem> {
    let ports = switches.flat_map(|seen| seen.ports().iter().map(move |port| (seen, port)));
    let up = |port: &msg::Port| filter.up.is_none_or(|up| up == port.is_up());
    let ports: Vec<_> = ports.filter(|(_, port)| up(port)).collect();
    let cursor = filter.cursor.as_deref().map(PortCursor::read).transpose()?;
    let place =
        |(seen, port): &(&Seen, &msg::Port)| PortCursor(seen.switch.info.dpid, port.number.0);
    Page::cut(&ports, filter.limit, cursor, place, |(seen, port)| Port::counted(seen, port))
}

/// A switch's datapath id and a port's number.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PortCursor(pub(super) DatapathId, pub(super) u32);

impl std::fmt::Display for PortCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.0, self.1)
    }
}

impl PortCursor {
    /// As it is displayed.
    pub(super) fn read(text: &str) -> Result<PortCursor, Problem> {
        let parts = text.split_once('-');
        let read =
            parts.and_then(|(dpid, port)| Some(PortCursor(dpid.parse().ok()?, port.parse().ok()?)));
        read.ok_or_else(|| super::bad_cursor(text))
    }
}

impl Port {
    pub(crate) fn new(dpid: DatapathId, port: &msg::Port) -> Port {
        Port {
            dpid: dpid.to_string(),
            number: port.number.0,
            name: port.name.to_string(),
            mac: port.hw_addr.to_string(),
            up: port.is_up(),
            admin_down: port.admin_down,
            link_down: port.link_down,
            speed_kbps: port.speed_kbps,
            max_speed_kbps: port.details.max_speed_kbps,
            sheds: 0,
        }
    }

    pub(crate) fn counted(seen: &Seen, port: &msg::Port) -> Port {
        let shed = seen.counted.shed_ports.ports();
        let shed = shed.iter().find(|(number, _)| *number == port.number.0);
        Port {
            sheds: shed.map_or(0, |(_, sheds)| *sheds),
            ..Port::new(seen.switch.info.dpid, port)
        }
    }
}
