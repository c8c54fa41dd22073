//! The applications that Aldis brings along, a module each.
//!
//! They are written as a user's would be: time comes as an argument, answers go to an
//! [`Output`](aldis_control::Output), and nothing here knows a clock, a thread or a socket.

pub mod hosts;
pub mod learning_switch;
mod place;
#[cfg(test)]
mod random;
pub mod topology;

pub use learning_switch::LearningSwitch;
pub use place::SwitchPort;
