//! Maestro's RouteFlow: a flow request is answered with the whole path.
//!
//! 1. The path is planned through the [`Routes`](crate::routing::Routes) of the moment: one [`Rule`] for each switch, the
//!    last hop first, so that nothing arrives where no flow is yet. All of them go, or none: whoever sends them reserves
//!    room at every switch first.
//! 2. The packet leaves at the last switch, by the port of its destination, and overtakes its flows.
//! 3. Requests that were on their way when the first was answered get the packet sent, and no flows again.
//! 4. What was installed is remembered ([`Paths`]), up to a bound: where a link goes, the paths over it are planned again,
//!    and the rules that no longer hold are removed ([`Reroute`]).
//!
//! Here is what to say to which switch; who says it, and how it is sent, is the platform's.

mod paths;
mod planner;
mod rule;
#[cfg(test)]
mod tests;

pub use paths::{Paths, Reroute};
pub use planner::{Answer, IN_FLIGHT, Planner};
pub use rule::{Key, Rule, Style};
