//! Flooding without loops, over whatever network there is.
//!
//! Every broadcast is asked about, so that applications before this one see it: hosts are learnt of
//! broadcasts, and proxies answer them. What none of them answered leaves by PACKET_OUT, at each
//! switch by the ports that it should. Two things keep it from circling, each enough by itself:
//! - The [`Forest`]: of the links between switches, floods leave only by those that span each
//!   connected part as a tree. It is the minimum spanning tree under an order in which no two links
//!   are equal, so there is one, whatever happened before, and where a link comes or goes at most
//!   one other changes. What arrives by a link that is not of the forest was sent before its sender
//!   knew that, and goes no further.
//! - The [`RecentSet`](crate::recent_set::RecentSet) frames: a switch floods the same frame of the
//!   same host once a second. This is what holds as long as the links are not all known: a switch
//!   of which some port was not probed twice ([`FloodMode::Carefully`]) floods by all ports. It
//!   works on a lone switch at once. Once all is known the same frame is flooded a few times a
//!   second and no more, so that an unseen loop is no storm.
//!
//! Each switch has its part of the frames that are remembered, so that one that floods without end
//! costs no other its broadcasts.
//!
//! Not here: flows that flood. They would spare the controller broadcasts, and hide them from it.

mod app;
mod flood_ports;
mod forest;
mod heads;
mod shares;
#[cfg(test)]
mod tests;

pub use app::{Repeats, Spanning};
pub use flood_ports::{FloodMode, FloodPorts, SwitchFloodPorts};
pub use forest::Forest;
