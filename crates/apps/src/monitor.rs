//! Statistics of ports, flows, tables and queues, asked of every switch at intervals and published
//! with their rates.
//!
//! ```text
//!   second ──▶ requests, a transaction id each ──▶ replies, part by part
//!                                                     └──▶ report ──▶ Statistics
//! ```
//!
//! Each switch has its own second of the interval, so that a thousand of them do not answer at
//! once. What a switch refuses it is not asked again until it connects anew. Nothing is asked of
//! the network here that a person would notice: what is gathered is bounded
//! ([`MonitorConfig::flows_max`], [`ROWS_MAX`]), and what is left out is counted.

mod app;
mod multipart;
mod rates;
mod statistics;
#[cfg(test)]
mod tests;

use core::time::Duration;

pub use app::{AskSchedule, Monitor};
pub use multipart::{ROWS_MAX, StatisticsKind};
pub use rates::{FlowRates, PortRates, QueueRates, TableRates};
pub use statistics::{SampleTable, Statistics, StatisticsRow, SwitchStatistics};

/// How often a switch is asked, and for what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MonitorConfig {
    /// Between two samples; in whole seconds, 1 and more.
    pub interval: Duration,
    /// Whether the switches are asked for each [`StatisticsKind`], in its order.
    pub kinds: [bool; 4],
    /// Flows of a switch that are kept: those that carried most bytes. Each is some 300 bytes.
    pub flows_max: usize,
}

impl Default for MonitorConfig {
    /// All of it every ten seconds, 256 flows of each switch.
    fn default() -> MonitorConfig {
        MonitorConfig { interval: Duration::from_secs(10), kinds: [true; 4], flows_max: 256 }
    }
}
