//! Maestro's RouteFlow: a flow request is answered with the whole path.
//!
//! 1. The path is planned through the [`Routes`](crate::routing::Routes) of the moment: one
//!    [`Rule`] for each switch, the last hop first, so that nothing arrives where no flow is yet.
//!    All of them go, or none: the sender reserves room at every switch first.
//! 2. The packet leaves at the last switch, by the port of its destination, and overtakes its
//!    flows.
//! 3. Requests that were on their way when the first was answered get the packet sent, and no flows
//!    again.
//! 4. What was installed is remembered ([`Paths`]), up to a bound: where a link goes, the paths
//!    over it are planned again, and the rules that no longer hold are removed ([`Reroute`]).
//!
//! ```text
//! each worker   Planner ── rules ──▶ Encoder ──▶ switches
//!                  └─ what was installed ──▶ PathLog ──▶ Maintenance ◀── a change of the World
//!                                                      └─ rules to install and remove ──▶ Encoder
//! ```
//!
//! While links are being found a packet may be flooded and come back from several sides: `flooded`
//! says how its receiver gets it once.
//!
//! A request for an unknown host, or for one to which no path is known, is left to the applications
//! that come later: they flood it.

mod app;
#[cfg(test)]
mod dialogues;
mod encoder;
mod flooded;
mod maintenance;
mod path;
mod path_log;
mod paths;
mod planner;
mod prefetch;
mod rule;
mod switches;
mod table_full;
#[cfg(test)]
mod tests;

pub use app::RouteFlow;
pub use maintenance::Maintenance;
pub use path_log::PathLog;
pub use paths::{Paths, Reroute};
pub use planner::{IN_FLIGHT, Planner, RouteAnswer};
pub use rule::{Key, Rule, Style};
pub use switches::{ConnectedSwitches, Report, SwitchVersion};
