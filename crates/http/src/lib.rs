//! What serves people: REST, events and metrics over HTTP, and the document that describes them.
//!
//! ```text
//!   browser, curl, aldis ──▶ server ──▶ gate ──▶ guard ──▶ routes ──▶ api/… ──▶ Controller
//!                            one thread                                          (source)
//! ```
//!
//! All of it runs on one thread of its own and never on a worker. What it shows it reads from what is published anyway,
//! through [`Controller`]; it does not know the engine behind that.
//!
//! 1. [`server`] — the thread, its connections and their bounds ([`limits`], `patient`);
//! 2. `gate` — who may ask: this machine, and no page of a stranger in its browser;
//! 3. `guard` — how long an answer may take, and what every answer says;
//! 4. [`extract`], [`problem`] — what was asked, and what was wrong with it;
//! 5. [`api`] — the resources, one a file, `metrics` beside them, and [`openapi`], which describes all, for people in `docs`;
//! 6. [`events`] — what happened, kept for those who follow it.
//!
//! Deliberately absent: files. Nothing that is asked for names one.

#![forbid(unsafe_code)]

pub mod api;
mod docs;
mod etag;
pub mod events;
pub mod extract;
mod gate;
mod guard;
pub mod limits;
mod metrics;
pub mod openapi;
mod patient;
pub mod problem;
mod routes;
pub mod server;
pub mod source;
mod when;

pub use server::{Listening, Refused, Server};
pub use source::{Commanded, Controller};
