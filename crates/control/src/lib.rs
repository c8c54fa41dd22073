//! What a controller decides, without a socket, a clock, a thread or a log: time and bytes come in,
//! bytes and deadlines go out.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod account;
pub mod app;
pub mod batch;
pub mod batching;
pub mod command;
pub mod controller_event;
pub mod fair;
pub mod flows;
pub mod growing_queue;
pub mod limits;
pub mod outbox;
pub mod output;
pub mod parse;
pub mod pipeline;
pub mod session;
pub mod shed;
pub mod stats;
pub mod switch;
pub mod switch_port;
pub mod time;
pub mod weights;
pub mod world;

pub use account::Account;
pub use app::{App, Event, EventKind};
pub use batch::{Batch, Request, RequestHeader, Run};
pub use flows::{Cookie, Tables};
pub use growing_queue::GrowingQueue;
pub use output::{Commands, Output};
pub use pipeline::{AppSet, Pipeline, Pipelines};
pub use session::Session;
pub use switch::Switch;
pub use switch_port::SwitchPort;
pub use time::Time;
pub use world::{Part, Publisher, World};
