//! Flooding without loops, over whatever network there is.
//!
//! Two things keep a broadcast from circling, each enough by itself:
//! - The [`Forest`]: of the links between switches, floods leave only by those that span each connected part as a tree. It
//!   is the minimum spanning tree under an order in which no two links are equal, so there is one, whatever happened
//!   before, and where a link comes or goes at most one other changes. Ports are closed before others are opened
//!   ([`Transition`]), so that at no moment, in whatever order switches carry it out, there is a loop.
//! - The [`Recent`](crate::recent::Recent) frames: a switch floods the same frame of the same host once a second. This is
//!   what holds as long as the links are not all known: a switch of which some port was not probed twice
//!   ([`Ports::manner`]) has no flow that floods, and asks about every broadcast. It works on a lone switch at once.

mod forest;
mod ports;
#[cfg(test)]
mod tests;

pub use forest::{Forest, Transition};
pub use ports::{Manner, PROBES_MIN, Ports, frame_hash};
