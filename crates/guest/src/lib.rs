//! Guests: other controllers, and applications written for them, each in a process of its own, to
//! which Aldis presents its switches over OpenFlow.
//!
//! ```text
//!   worker: packet_ins ──▶ queue of a switch ──▶ guest's thread ──▶ socket ──▶ guest
//!   worker: roused     ◀── queue of a switch ◀── checked, renumbered ◀── socket ◀── guest
//! ```
//!
//! A few requests at a time the worker writes to the socket itself, and what the guest says it
//! reads itself where that is little, which spares waking the thread.
//!
//! A guest sees a switch where Aldis has one: the same datapath id, the guest's version. What it
//! may see and change is its grant. Its flows carry its mark in their cookies, so that what others
//! installed is neither shown to it nor removed by it.

mod allowance;
mod app;
mod bounds;
mod conn;
mod cookie;
mod datapath;
mod fit;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod grant;
mod guest;
mod guests;
mod inbound;
mod kept;
pub mod limits;
mod outbound;
mod refusal;
mod relay;
mod serving;
mod session;
mod shares;
mod spec;
mod status;
mod thread;
mod tls;
mod trial;
mod wire;

pub use app::GuestApp;
pub use guest::Rouse;
pub use guests::{GuestError, Guests};
pub use spec::{ExperimenterIds, GuestAddress, GuestSpec, GuestTlsFiles, NumberRanges, Otherwise};
pub use status::{GuestCounts, GuestState, GuestStatus, GuestSwitch};
pub use tls::GuestTls;
