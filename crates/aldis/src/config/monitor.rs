//! `[monitor]`: how often switches are asked for their counters, and for which.

use aldis_apps::monitor::MonitorConfig;
use serde::{Deserialize, Deserializer, de};

use super::value::Seconds;

/// The most flows of a switch that may be kept, some 300 bytes each.
const FLOWS_MAX: i64 = 4096;

/// The table.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct MonitorTable {
    interval_s: Seconds,
    ports: bool,
    flows: bool,
    tables: bool,
    queues: bool,
    #[serde(deserialize_with = "flows_max")]
    flows_max: usize,
}

impl Default for MonitorTable {
    fn default() -> Self {
        let MonitorConfig { interval, kinds: [ports, flows, tables, queues], flows_max } =
            MonitorConfig::default();
        MonitorTable { interval_s: Seconds(interval), ports, flows, tables, queues, flows_max }
    }
}

impl MonitorTable {
    /// As the application wants them.
    pub(crate) fn settings(&self) -> MonitorConfig {
        let MonitorTable { interval_s: Seconds(interval), flows_max, .. } = *self;
        MonitorConfig {
            interval,
            kinds: [self.ports, self.flows, self.tables, self.queues],
            flows_max,
        }
    }
}

fn flows_max<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    let flows = i64::deserialize(from)?;
    match usize::try_from(flows) {
        Ok(most) if flows <= FLOWS_MAX => Ok(most),
        _ => Err(de::Error::custom(format!("{flows} flows; accepted are 0 to {FLOWS_MAX}"))),
    }
}
