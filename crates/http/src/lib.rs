//! What serves people: REST, events and metrics over HTTP, and the document that describes them.
//!
//! ```text
//!   browser, curl, aldis ──▶ server ──▶ guard ──▶ gate ──▶ door ──▶ routes ──▶ api/… ──▶ Controller
//!                            one thread                                                  
//! ```
//!
//! All of it runs on one thread of its own and never on a worker. What it shows it reads from what is published anyway,
//! through [`Controller`]; it does not know the engine behind that.
//!
//! 1. [`server`] — the thread, its connections and their bounds ([`limits`], `patient`), and
//!    its end (`linger`);
//! 2. `gate` — no page of a stranger in a browser;
//! 3. `door` — who comes in, with which key ([`access`]);
//! 4. `guard` — how long an answer may take, and what every answer says;
//! 5. [`extract`], [`problem`] — what was asked, and what was wrong with it, in plain words;
//! 6. [`api`] — the resources, one a file, `metrics` beside them, and [`openapi`], which describes all, for people in `docs`;
//! 7. `ryu`, `floodlight` — the same controller in the words of others, for scripts that were written for those;
//! 8. [`desired`] — what an operator set and finds again;
//! 9. [`events`] — what happened, kept for those who follow it.
//!
//! Deliberately absent: files. Nothing that is asked for names one.

#![forbid(unsafe_code)]

pub mod access;
pub mod api;
pub mod controller;
pub mod desired;
mod docs;
mod door;
mod etag;
pub mod events;
pub mod extract;
mod floodlight;
mod gate;
mod guard;
pub mod limits;
mod linger;
mod metrics;
pub mod openapi;
mod patient;
pub mod problem;
mod routes;
mod ryu;
mod seats;
pub mod server;
mod when;

pub use access::Access;
pub use controller::{Commanded, Controller};
pub use server::{Admission, Listening, Refused, Server};
pub use when::civil as date_of_day;
