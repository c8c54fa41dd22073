//! What the ports of all switches carried, as the application `monitor` publishes it: no switch is
//! asked.

use aldis_apps::monitor::{PortRates, Statistics, StatisticsRow};
use aldis_control::Time;
use aldis_wire::DatapathId;
use aldis_wire::msg::PortStats;
use axum::extract::State;
use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::{IntoParams, ToSchema};

use super::Page;
use super::ports::PortCursor;
use crate::extract::Query;
use crate::problem::Problem;
use crate::routes::Ctx;
use crate::timestamp::Calendar;

/// The last sample of a port.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct PortSample {
    /// The datapath id of its switch
    #[cfg_attr(test, schema(example = "0000000000000001"))]
    pub dpid: String,
    /// Its number
    pub port: u32,
    /// When its switch said so, in UTC (RFC 3339)
    pub at: String,
    /// What it counted since it is there
    pub counted: PortFigures,
    /// A second's worth of that since the sample before; absent in the first
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_s: Option<PortFigures>,
}

/// What went through a port; absent where the switch does not count it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct PortFigures {
    /// Packets received
    pub rx_packets: Option<u64>,
    /// Packets sent
    pub tx_packets: Option<u64>,
    /// Bytes received
    pub rx_bytes: Option<u64>,
    /// Bytes sent
    pub tx_bytes: Option<u64>,
    /// Packets dropped on the way in
    pub rx_dropped: Option<u64>,
    /// Packets dropped on the way out
    pub tx_dropped: Option<u64>,
    /// Errors on the way in
    pub rx_errors: Option<u64>,
    /// Errors on the way out
    pub tx_errors: Option<u64>,
}

/// How many at once.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct SampleFilter {
    /// Items of a page, 1 to 10000; everything on one page where it is absent
    limit: Option<usize>,
    /// `next` of the page before
    cursor: Option<String>,
}

/// What the ports of all switches carried, by datapath id and number
///
/// The application `monitor` asks the switches, every ten seconds where nothing else is said.
#[cfg_attr(test, utoipa::path(get, path = "/api/v1/port-statistics", operation_id = "port_statistics", tag = "statistics", params(SampleFilter), responses(
    (status = 200, description = "Samples", body = Page<PortSample>),
    (status = 400, description = "A cursor that is none", body = Problem),
    (status = 404, description = "No application asks the switches", body = Problem),
)))]
pub(crate) async fn list(
    State(shared): Ctx,
    Query(filter): Query<SampleFilter>,
) -> Result<Page<PortSample>, Problem> {
    let world = shared.controller.world();
    let statistics = world.part::<Statistics>();
    let statistics = statistics.ok_or_else(|| super::not_published("port statistics"))?;
    let rows = sampled(statistics, usize::MAX);
    let cursor = filter.cursor.as_deref().map(PortCursor::read).transpose()?;
    let place = |of: &SampledPort<'_>| PortCursor(of.dpid, of.row.stats.port_no.0);
    let show = |of: &SampledPort<'_>| of.show(&shared.calendar);
    Page::cut(&rows, filter.limit, cursor, place, show)
}

/// A port with its last sample.
pub(crate) struct SampledPort<'s> {
    dpid: DatapathId,
    at: Time,
    row: &'s StatisticsRow<PortStats>,
}

/// The ports that were sampled, `most` at most, in order.
pub(crate) fn sampled(statistics: &Statistics, most: usize) -> Vec<SampledPort<'_>> {
    let rows = statistics.iter().flat_map(|(dpid, switch)| {
        let at = switch.ports.at.unwrap_or_default();
        switch.ports.rows.iter().map(move |row| SampledPort { dpid, at, row })
    });
    let mut rows: Vec<_> = rows.take(most).collect();
    rows.sort_unstable_by_key(|of| (of.dpid, of.row.stats.port_no.0));
    rows
}

impl SampledPort<'_> {
    pub(crate) fn show(&self, calendar: &Calendar) -> PortSample {
        PortSample {
            dpid: self.dpid.to_string(),
            port: self.row.stats.port_no.0,
            at: calendar.date(self.at),
            counted: PortFigures::counted(&self.row.stats),
            per_s: self.row.rates.as_ref().map(PortFigures::per_s),
        }
    }
}

impl PortFigures {
    fn counted(stats: &PortStats) -> PortFigures {
        // All ones are what a switch says that does not count.
        let known = |count: u64| (count != u64::MAX).then_some(count);
        PortFigures {
            rx_packets: known(stats.rx_packets),
            tx_packets: known(stats.tx_packets),
            rx_bytes: known(stats.rx_bytes),
            tx_bytes: known(stats.tx_bytes),
            rx_dropped: known(stats.rx_dropped),
            tx_dropped: known(stats.tx_dropped),
            rx_errors: known(stats.rx_errors),
            tx_errors: known(stats.tx_errors),
        }
    }

    fn per_s(rates: &PortRates) -> PortFigures {
        let PortRates {
            rx_packets,
            tx_packets,
            rx_bytes,
            tx_bytes,
            rx_dropped,
            tx_dropped,
            rx_errors,
            tx_errors,
        } = *rates;
        PortFigures {
            rx_packets,
            tx_packets,
            rx_bytes,
            tx_bytes,
            rx_dropped,
            tx_dropped,
            rx_errors,
            tx_errors,
        }
    }
}
