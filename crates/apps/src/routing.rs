//! Routing: the graph of switches and links, and the paths that flows take through it.
//!
//! Three things, each immutable, so that many workers read them while one publisher makes the next
//! version:
//! - [`Graph`]: the switches and the links between them. A changed version shares with the one
//!   before what is the same.
//! - [`Engine`]: what makes one path better than another. There are three, by name ([`Engines`]);
//!   another is some ten lines.
//! - [`Routes`]: what an engine finds in a graph. A destination is looked into when first asked
//!   for; after a change only those destinations are looked into again whose distances are no
//!   longer true.
//!
//! No paths are stored. A [`Tree`] says how far every switch is from one destination; the next hops
//! of a switch are all links that lead as much closer as they cost, and a flow takes one of them by
//! its hash. So all ways of equal cost are there without being listed, and a link that comes or
//! goes beside a way as good costs nothing at all.

mod app;
mod engine;
mod engines;
mod graph;
mod graph_builder;
mod metric;
mod next_hops;
mod node;
mod paths;
mod routes;
mod search;
#[cfg(test)]
pub(crate) mod tests;

pub use app::Routing;
pub use engine::{Engine, FlowSpread, LinkWeight, Shortest, Widest};
pub use engines::{Engines, UnknownEngine};
pub use graph::{Graph, GraphChange, Node, SWITCHES_MAX};
pub use graph_builder::GraphBuilder;
pub use metric::Metric;
pub use node::{LINKS_MAX, Leg};
pub use paths::{Crossing, EqualCostPaths, EqualPaths};
pub use routes::{FlowHash, RouteHop, RouteTally, Routes};
pub use search::{FAR, Tree};
