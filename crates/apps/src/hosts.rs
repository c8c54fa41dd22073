//! Hosts: which there are, their addresses, where they are attached, and when they were seen.
//!
//! ```text
//! worker (HostTracker) ── Hosts::is_news? ──▶ Tracker::see ──▶ effects: new, moved, learnt, gone,
//!    ▲                                          │                       refused, probe
//!    └── Hosts, and the effects ◀── Tracker::publish, a millisecond apart at least
//! ```
//!
//! Workers look at every flow request against the published [`Hosts`], which takes no lock, and
//! report only what is news to it. One [`Tracker`] keeps the table and makes its versions, which
//! share all pages that did not change. It knows which ports are links between switches, where
//! nothing is learnt, and which are down.
//!
//! A host stays where it is until its port goes down or it does not answer there (`move_check`):
//! neither a frame with its source at another port nor an ARP message with its address moves
//! anything by itself.
//!
//! Not here: a host is believed where it is first seen, and an address is believed of the host that
//! claims it first. A network that cannot afford that has to configure which host may be where.

mod absent;
mod app;
mod generations;
mod host;
mod index;
mod lru;
mod move_check;
mod observation;
mod paged;
mod pending;
mod probe;
mod publisher;
mod shares;
mod table;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod tracker;

pub(crate) use app::Edges;
pub use app::HostTracker;
pub(crate) use host::PackedIdentity;
pub use host::{FURTHER_MAX, Host, Identity};
pub use move_check::{
    CHECKS_MAX, MoveClaim, PORT_CHECKS_MAX, PROBE_EVERY, PROBES, REFUSED_FOR, Subject,
};
pub use observation::{Observation, ObservationRefusal};
pub use probe::{HostProbe, PROBER};
pub use publisher::HostReport;
pub(crate) use table::BATCH as AT_ONCE;
pub use table::Hosts;
pub use tracker::{Counters, Effect, Gone, HostsConfig, PortState, Tracker};
