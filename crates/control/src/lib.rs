//! What a controller decides, without a socket, a clock, a thread or a log: time and bytes come in,
//! bytes and deadlines go out.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod account;
pub mod app;
pub mod batch;
pub mod batching;
pub mod bits;
pub mod bounds;
pub mod command;
pub mod fact;
pub mod fair;
pub mod flows;
pub mod gather;
pub mod outbox;
pub mod output;
pub mod pipeline;
pub mod session;
pub mod shed;
pub mod stats;
pub mod switch;
pub mod time;
pub mod trace;
pub mod weights;
pub mod world;

pub use account::Account;
pub use app::{App, Event, On};
pub use batch::{Asked, Batch, Request, Run};
pub use flows::{Cookie, Tables};
pub use output::{Far, Output};
pub use pipeline::{Pipeline, Program, Recipe};
pub use session::Session;
pub use switch::Switch;
pub use time::Time;
pub use world::{Part, Publisher, World};
