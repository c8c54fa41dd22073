//! The switches that are connected.

use std::collections::BTreeMap;

use aldis_control::stats::SwitchCounts;
use aldis_control::switch::Seen;
use aldis_wire::DatapathId;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::{IntoParams, ToSchema};

use super::Page;
use super::version::number;
use crate::extract::{Dpid, Query};
use crate::problem::Problem;
use crate::routes::Ctx;
use crate::timestamp::Calendar;

/// A switch that is connected.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Switch {
    /// Its datapath id, sixteen hexadecimal digits
    #[cfg_attr(test, schema(example = "0000000000000001"))]
    pub dpid: String,
    /// What people call it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where its main connection comes from
    #[cfg_attr(test, schema(example = "127.0.0.1:41234"))]
    pub address: String,
    /// The version of OpenFlow agreed on
    #[cfg_attr(test, schema(example = "1.3"))]
    pub version: String,
    /// Whether it reads what it is sent
    pub state: Standing,
    /// When it finished its handshake, in UTC (RFC 3339)
    #[cfg_attr(test, schema(example = "2026-02-03T04:05:06.789Z"))]
    pub up_since: String,
    /// Number of its ports, reserved ones included
    pub ports: usize,
    /// Ports that are configured up and have a link
    pub ports_up: usize,
    /// Number of its flow tables
    pub tables: u8,
    /// Packets it can hold back while it asks; 0 when it always sends them whole
    pub buffers: u32,
    /// Auxiliary connections that it has besides its main one
    pub auxiliaries: usize,
    /// Its share compared to that of others, from 1
    pub weight: u32,
    /// Its home worker, from 0
    pub worker: usize,
    /// What is kept on its account
    pub kept: SwitchAccount,
    /// What was counted for it since it connected
    pub counters: SwitchCounters,
}

/// What is kept of what a switch says: its answers and its ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct SwitchAccount {
    /// Bytes that are kept now
    pub bytes: usize,
    /// The most that are kept (`switch-mib-max`)
    pub bytes_max: usize,
    /// How often something was not kept for want of room
    pub refused: u64,
}

/// What a switch is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, schema(as = SwitchState))]
pub enum Standing {
    /// It can be programmed
    Up,
    /// It is connected, but does not read what it is sent
    NotReading,
}

/// What was counted for a switch since it connected.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct SwitchCounters {
    /// Flow requests that were handed to the applications
    pub requests: u64,
    /// Flow requests that were dropped on purpose, because their port flooded
    pub sheds: u64,
    /// Batches, or parts of batches, that its requests made
    pub batches: u64,
    /// Bytes that were read from it
    pub bytes_in: u64,
    /// Bytes that were to be written to it
    pub bytes_out: u64,
    /// Bytes that wait for it to read
    pub bytes_waiting: u64,
    /// Visits by workers, empty-handed ones included
    pub visits: u64,
    /// Visits that were put off, because another worker was there
    pub skips: u64,
    /// Times that reading from it paused
    pub pauses: u64,
    /// Times that it went to another worker for good
    pub moves: u64,
    /// Nanoseconds from its becoming ready to its visit, summed over its visits
    pub queue_wait_ns: u64,
    /// The longest of these waits, in nanoseconds
    pub queue_wait_ns_max: u64,
}

/// Which switches, and how many at once.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct SwitchFilter {
    /// Items of a page, 1 to 10000; everything on one page where it is absent
    limit: Option<usize>,
    /// `next` of the page before
    cursor: Option<String>,
    /// Only those that speak this version of OpenFlow, as `1.3`
    version: Option<String>,
    /// Only those in this state
    #[cfg_attr(test, param(inline))]
    state: Option<Standing>,
}

/// The switches that are connected, by datapath id
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/switches", operation_id = "switches", tag = "switches", params(SwitchFilter), responses(
    (status = 200, description = "Switches", body = Page<Switch>),
    (status = 400, description = "A filter that cannot be understood", body = Problem),
)))]
pub(crate) async fn list(
    State(shared): Ctx,
    Query(filter): Query<SwitchFilter>,
) -> Result<Page<Switch>, Problem> {
    let mut switches = shared.controller.switches();
    switches.retain(|seen| filter.lets(seen));
    let cursor = filter.cursor.as_deref().map(cursor).transpose()?;
    let dpid = |seen: &Seen| seen.switch.info.dpid;
    let names = shared.config_store.names();
    let show = |seen: &Seen| Switch::new(&shared.calendar, &names, seen);
    Page::cut(&switches, filter.limit, cursor, dpid, show)
}

/// One switch
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/switches/{dpid}", operation_id = "switch", tag = "switches",
    params(("dpid" = String, Path, description = "Its datapath id, however it is written: 1, 0x1, 16 hex digits, of:…")),
    responses(
        (status = 200, description = "The switch", body = Switch),
        (status = 400, description = "No datapath id", body = Problem),
        (status = 404, description = "It is not connected", body = Problem),
)))]
pub(crate) async fn show(State(shared): Ctx, Dpid(dpid): Dpid) -> Result<Json<Switch>, Problem> {
    let seen = shared.controller.switch(dpid).ok_or_else(|| not_connected(dpid))?;
    Ok(Json(Switch::new(&shared.calendar, &shared.config_store.names(), &seen)))
}

/// Nothing is known of this switch now.
pub(crate) fn not_connected(dpid: DatapathId) -> Problem {
    Problem::missing("no-such-switch", format!("switch {dpid} is not connected"))
}

fn cursor(text: &str) -> Result<DatapathId, Problem> {
    text.parse().map_err(|_| super::bad_cursor(text))
}

impl SwitchFilter {
    fn lets(&self, seen: &Seen) -> bool {
        let version = self.version.as_ref();
        version.is_none_or(|version| *version == number(seen.switch.info.version))
            && self.state.is_none_or(|state| state == Standing::of(seen))
    }
}

impl Standing {
    fn of(seen: &Seen) -> Standing {
        if seen.reads { Standing::Up } else { Standing::NotReading }
    }
}

impl Switch {
    pub(crate) fn new(
        calendar: &Calendar,
        names: &BTreeMap<DatapathId, String>,
        seen: &Seen,
    ) -> Switch {
        let info = &seen.switch.info;
        Switch {
            dpid: info.dpid.to_string(),
            name: names.get(&info.dpid).cloned(),
            address: seen.peer.to_string(),
            version: number(info.version),
            state: Standing::of(seen),
            up_since: calendar.date(seen.up_since),
            ports: seen.ports().len(),
            ports_up: seen.ports().iter().filter(|port| port.is_up()).count(),
            tables: info.tables,
            buffers: info.buffers,
            auxiliaries: seen.auxiliaries,
            weight: seen.counted.weight,
            worker: seen.counted.worker,
            kept: SwitchAccount::of(&seen.switch.account),
            counters: SwitchCounters::new(&seen.counted.counts),
        }
    }
}

impl SwitchAccount {
    fn of(account: &aldis_control::Account) -> SwitchAccount {
        SwitchAccount {
            bytes: account.used(),
            bytes_max: account.max(),
            refused: account.refused(),
        }
    }
}

impl SwitchCounters {
    fn new(counts: &SwitchCounts) -> SwitchCounters {
        SwitchCounters {
            requests: counts.requests,
            sheds: counts.sheds,
            batches: counts.batches,
            bytes_in: counts.bytes_in,
            bytes_out: counts.bytes_out,
            bytes_waiting: counts.bytes_waiting,
            visits: counts.visits,
            skips: counts.skips,
            pauses: counts.pauses,
            moves: counts.moves,
            queue_wait_ns: counts.queue_wait_ns,
            queue_wait_ns_max: counts.queue_wait_ns_max,
        }
    }
}
