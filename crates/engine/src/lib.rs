//! Threads, sockets and clocks: the workers that serve the switches.
//!
//! # Threads, and what they tell each other
//!
//! ```text
//!                       Adopt                         Published
//!   acceptor (1) ─────────────────▶ ┌───────────────┐ ◀──────────────── publisher (0 or 1)
//!   accepts, deals in turn          │  worker (N)   │                   builds the World
//!                                   │  read   chop  │ ────────────────▶
//!   any thread: Handle              │  parse  batch │  unpark           ▲
//!     command() ──────────────────▶ │  pipeline     │                   │ reports, unpark
//!              QueuedCommand        │  outbox write │        Handle::report()
//!     ◀────────────────────────────  └───────────────┘
//!              Answer                  │           ▲
//!                                      └───────────┘  to other workers: Ready, Arm, Forget,
//!                                                     Take, Heard, Second
//! ```
//!
//! - The *acceptor* accepts connections and gives each to a worker, its *home*.
//! - A *worker* polls the sockets of its own connections and serves any connection that its read
//!   design picks. Where the design hands batches on, I/O threads are workers too.
//! - The *publisher* builds each World from what the applications report. It is absent where no
//!   application publishes a part.
//! - A [`Handle`] is what the outside holds. Its reads take no lock that a worker needs to serve.
//!
//! Every message between threads is a type of `messages.rs`. A worker gets them from its inbox
//! (`shared/inbox.rs`). A connection gets `Signal`s, which its next claimant receives.
//!
//! # Rooms, from the lowest floor to the highest
//!
//! A module uses those above it in this list, and its own room.
//!
//! | room | what it holds |
//! | --- | --- |
//! | `limits`, `design`, `clock`, `pin` | bounds with reasons, the settings, time, cores |
//! | `sync` | atomics and locks that loom can replace; a versioned value |
//! | `command` | encoding a command, and the answer to it |
//! | `conn/` | one connection: claim, in-flight visits, output, timer, locks, flood, held switch |
//! | `tap/` | what is read and written, copied aside for a recorder |
//! | `messages` | everything that one thread tells another |
//! | `net/` | sockets: epoll, TLS |
//! | `write/` | the write designs: when replies are sent |
//! | `read/` | the read designs: which connection a worker serves next |
//! | `shared/` | what all workers share: inboxes, switch map, registry, parking, the World, the line-up |
//! | `worker/` | the phases: read, chop, parse, batch, pipeline, outbox, write |
//! | `metrics`, `handle` | counters; what the outside sees, reports, sets and commands |
//! | `reporter` | what reports from outside into the World, or to an application |
//! | `lifecycle` | applications that are started, stopped, added and removed meanwhile |
//! | `engine/` | assembling and starting: workers, acceptor, publisher |
//! | `replay/` | the same workers, driven by a recording of the control channel |
//! | `sim/` | the same workers over simulated cores, or over sockets in memory |
//!
//! The engine is handed applications and an event sink; it knows neither by name.

#![deny(unsafe_code)]

mod clock;
pub mod command;
mod conn;
pub mod design;
mod engine;
mod guard;
mod handle;
mod lifecycle;
pub mod limits;
mod messages;
pub mod metrics;
mod net;
pub mod pin;
mod read;
pub mod replay;
mod reporter;
mod shared;
pub mod sim;
mod sync;
pub mod tap;
mod worker;
mod write;

pub use design::Design;
pub use engine::{Config, Engine, Secure, StartError};
pub use handle::Handle;
pub use lifecycle::LifecycleError;
pub use net::tls::Identity;
pub use reporter::Reporter;
