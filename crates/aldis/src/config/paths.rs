//! The settings of the applications that find and install paths.

use std::sync::Arc;

use aldis_apps::route_flow::Style;
use aldis_apps::routing::{Engine, Engines, LinkWeight};
use aldis_control::Tables;
use serde::Deserialize;

use crate::room::MemoryBudget;

/// Paths that can be remembered: ten million take some gigabytes.
const PATHS_MAX: u32 = 10_000_000;

/// Seconds without a packet after which a flow goes, by default.
const IDLE_TIMEOUT_S: u16 = 60;

/// Paths that are remembered by default: some 100 MB where there are as many.
const PATHS: u32 = 200_000;

/// `[routing]`
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RoutingTable {
    #[serde(deserialize_with = "engine")]
    engine: String,
    weight: By,
}

/// What a link costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum By {
    Hop,
    Latency,
    Capacity,
}

/// `[route-flow]`
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RouteFlowTable {
    /// Seconds after which a flow that carries nothing is removed, 1 to 65535; 0 keeps it for ever.
    idle_timeout_s: u16,
    /// Paths that are remembered, to be led around links that go.
    #[serde(deserialize_with = "paths")]
    paths_max: Option<u32>,
}

impl Default for RoutingTable {
    fn default() -> Self {
        RoutingTable { engine: "shortest".into(), weight: By::Hop }
    }
}

impl Default for RouteFlowTable {
    fn default() -> Self {
        RouteFlowTable { idle_timeout_s: IDLE_TIMEOUT_S, paths_max: None }
    }
}

impl PartialEq for RoutingTable {
    fn eq(&self, other: &RoutingTable) -> bool {
        (&self.engine, self.weight) == (&other.engine, other.weight)
    }
}

impl Eq for RoutingTable {}

impl RoutingTable {
    /// The engine, and whether what links take is something to it.
    pub(crate) fn engine(&self) -> (Arc<dyn Engine>, bool) {
        let weight = match self.weight {
            By::Hop => LinkWeight::Hop,
            By::Latency => LinkWeight::Latency,
            By::Capacity => LinkWeight::Capacity,
        };
        let engine = Engines::new(weight).named(&self.engine);
        (engine.expect("the name was looked for when it was read"), self.weight == By::Latency)
    }
}

impl RouteFlowTable {
    /// What its flows have in common.
    pub(crate) fn style(&self, tables: Tables) -> Style {
        Style::of_route_flow(self.idle_timeout_s, tables)
    }

    /// Paths that are remembered.
    pub(crate) fn paths_max(&self, room: MemoryBudget) -> usize {
        self.paths_max.unwrap_or_else(|| room.paths(PATHS)) as usize
    }
}

fn engine<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    let engine = Engines::new(LinkWeight::Hop).named(&name);
    engine.map(|_| name).map_err(serde::de::Error::custom)
}

fn paths<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let number = i64::deserialize(from)?;
    let accepted = u32::try_from(number).ok().filter(|number| *number <= PATHS_MAX);
    accepted.map(Some).ok_or_else(|| {
        serde::de::Error::custom(format!("{number} paths; accepted are 0 to {PATHS_MAX}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_read_and_what_cannot_be_is_refused() {
        let routing: RoutingTable =
            toml::from_str("engine = \"widest\"\nweight = \"latency\"").unwrap();
        let (engine, uses_latency) = routing.engine();
        assert_eq!((engine.name(), uses_latency), ("widest", true));
        let flows: RouteFlowTable = toml::from_str("idle-timeout-s = 20\npaths-max = 7").unwrap();
        assert_eq!(
            (flows.style(Tables::One).idle_timeout_s, flows.paths_max(MemoryBudget::of(1 << 30))),
            (20, 7)
        );
        let refusals = [
            toml::from_str::<RoutingTable>("engine = \"x\"").map(|_| ()),
            toml::from_str::<RoutingTable>("weight = \"x\"").map(|_| ()),
            toml::from_str::<RouteFlowTable>("paths-max = -1").map(|_| ()),
        ];
        let accepted = ["shortest, widest, spread", "capacity", "0 to 10000000"];
        for (refusal, accepted) in refusals.into_iter().zip(accepted) {
            let refusal = refusal.unwrap_err();
            assert!(refusal.message().contains(accepted), "{refusal}");
        }
    }
}
