//! Maestro's RouteFlow: a flow request is answered with the whole path.
//!
//! 1. The path is planned through the [`Routes`](crate::routing::Routes) of the moment: one
//!    [`Rule`] for each switch, the
//!    last hop first, so that nothing arrives where no flow is yet. All of them go, or none: whoever sends them reserves
//!    room at every switch first.
//! 2. The packet leaves at the last switch, by the port of its destination, and overtakes its
//!    flows.
//! 3. Requests that were on their way when the first was answered get the packet sent, and no flows
//!    again.
//! 4. What was installed is remembered ([`Paths`]), up to a bound: where a link goes, the paths
//!    over it are planned again,
//!    and the rules that no longer hold are removed ([`Reroute`]).
//!
//! ```text
//! each worker   Planner ── rules ──▶ Pen ──▶ switches
//!                  └─ what was installed ──▶ Book ──▶ Keeper ◀── a change of the World, on one worker
//!                                                      └─ rules to install and remove ──▶ Pen
//! ```
//!
//! While links are being found a packet may be flooded and come back from several sides: `flooded`
//! says how its receiver gets it once.
//!
//! A request for a host that nobody knows, or to which no way is known, is left to the applications
//! that come later: they flood it.

mod ahead;
mod app;
mod book;
#[cfg(test)]
mod dialogues;
mod fleet;
mod flooded;
mod full;
mod keeper;
mod paths;
mod pen;
mod planner;
mod rule;
#[cfg(test)]
mod tests;
mod way;

pub use app::RouteFlow;
pub use book::Book;
pub use fleet::{Fleet, Report, Voice};
pub use keeper::Keeper;
pub use paths::{Paths, Reroute};
pub use planner::{Answer, IN_FLIGHT, Planner};
pub use rule::{Key, Rule, Style};
