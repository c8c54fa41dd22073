//! REST, events and metrics over HTTP, and the OpenAPI document that describes them.
//!
//! ```text
//! browser, curl, aldis ──▶ server ──▶ response_limits ──▶ origin ──▶ auth ──▶ routes ──▶ api/…
//!                          one thread                                                      │
//!                                                              Controller, ConfigStore ◀───┘
//! ```
//!
//! All of it runs on one thread of its own and never on a worker. The server shows what is
//! published anyway, which it reads through [`Controller`]; it does not know the engine behind
//! that.
//!
//! 1. [`server`] — the thread, its connections and their bounds ([`limits`], `connection_limit`,
//!    `write_timeout`), and its end (`linger`, a lingering close);
//! 2. `response_limits` — how long an answer may take, and the headers of every answer;
//! 3. `origin` — the origin check: no foreign page in a browser gets in;
//! 4. `auth` — authentication: the key of a request, its role and its rate ([`access`]);
//! 5. [`extract`], [`problem`] — the parts of a request, and errors in plain words;
//! 6. [`api`] — the resources, one a file, `metrics` beside them, and [`openapi`], which describes
//!    all of them, for people in `docs`; `app_pages`, the pages that applications bring along;
//!    `report_pages`, what the laboratory wrote;
//! 7. `compat` — the interfaces of Ryu and Floodlight, for scripts that were written for those;
//! 8. [`desired`] — the desired state: what an operator set and finds again;
//! 9. [`events`], [`log`] — the newest events and the newest lines of the log, for their
//!    followers; both on `newest`, a ring;
//! 10. [`recording`] — the control channel as a file, on its way to a client;
//! 11. [`snapshots`] — the lists of the network, whole, for applications in their sandbox;
//! 12. `ui`, a feature — the web interface, built in `web/`.
//!
//! Deliberately absent: files. No request can name one, but for those of the folder of results that
//! the operator chose to show.

#![forbid(unsafe_code)]

pub mod access;
pub mod api;
mod app_pages;
mod auth;
mod compat;
mod connection_limit;
pub mod controller;
pub mod desired;
mod docs;
mod etag;
pub mod events;
pub mod extract;
pub mod limits;
mod linger;
pub mod log;
mod memory;
mod metrics;
mod newest;
pub mod openapi;
mod origin;
pub mod problem;
pub mod recording;
mod report_pages;
mod response_limits;
mod routes;
pub mod server;
pub mod snapshots;
mod timestamp;
#[cfg(feature = "ui")]
mod ui;
mod write_timeout;

pub use access::Access;
pub use controller::{Commanded, Controller};
pub use server::{AccessControl, BindError, HttpServer, Listening};
pub use timestamp::civil as date_of_day;
