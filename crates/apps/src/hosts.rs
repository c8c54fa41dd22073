//! Hosts: which there are, their addresses, where they are attached, and when they were seen.
//!
//! ```text
//! worker (Lookout) ── Hosts::is_news? ──▶ Ledger::see ──▶ effects: new, moved, learnt, gone, refused; questions
//!    ▲                                          │                                            │
//!    └── Hosts, and what happened lately ◀── Ledger::publish, a millisecond apart at least ◀──┘
//! ```
//!
//! Workers look at every flow request against the published [`Hosts`], which takes no lock, and
//! report only what is news to it. One [`Ledger`] keeps the table and makes its versions, which
//! share all pages that did not change. It knows which ports are links between switches, where
//! nothing is learnt, and which are down.
//!
//! A host stays where it is until its port goes down or it does not answer there (`dispute`):
//! neither a frame with its source at another port nor an ARP message with its address moves
//! anything by itself.
//!
//! Not here: a host is believed where it is first seen, and an address for whom it is first
//! claimed; a network that cannot afford that has to say beforehand who may be where.

mod absent;
mod ask;
mod chains;
mod dispute;
mod held;
mod host;
mod index;
mod keeper;
mod ledger;
mod lookout;
mod paged;
mod shares;
mod sighting;
mod table;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use ask::{ASKER, Ask};
pub use dispute::{ASK_EVERY, ASKS, Claim, DISPUTES_MAX, PORT_DISPUTES_MAX, REFUSED_FOR, Subject};
pub use host::{FURTHER_MAX, Host, Identity};
pub use keeper::Seen;
pub use ledger::{Config, Counters, Effect, Gone, Ledger, PortState};
pub(crate) use lookout::Edges;
pub use lookout::Lookout;
pub use sighting::{Refusal, Sighting};
pub(crate) use table::BATCH as AT_ONCE;
pub use table::Hosts;
