//! A learning switch: remembers behind which port it saw each host, and lets flows carry what is
//! sent to them.
//!
//! The example of how an application is written. It is *parallel*: several workers may run it over
//! the requests of one switch at once, because what they share, [`SwitchHosts`], is lock-free. The
//! application is in `app`; how a batch is answered (`batch`, `prefetch`) and the messages of the
//! answers (`replies`) are other modules.

mod age;
mod app;
mod batch;
mod config;
mod counters;
mod hosts;
mod lookup;
mod moves;
mod ports;
mod prefetch;
mod removal;
mod replies;
pub(crate) mod simd;
mod table;
#[cfg(test)]
mod tests;

pub use app::LearningSwitch;
pub use {
    config::LearningConfig, counters::LearningCounters, hosts::SwitchHosts, ports::PORTS_MAX,
    table::Seed,
};
