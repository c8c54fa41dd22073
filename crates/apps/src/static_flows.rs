//! Named flows, kept on their switches: sent when a switch joins, as far as they are not there
//! already, read back, restored when they are removed, and their errors shown by name
//! ([`StaticFlowStatuses`] says of each what became of it). Which flows they are is a part of the
//! World too ([`DesiredStaticFlows`]), and others take their place while it runs.

mod app;
mod flow;
#[cfg(feature = "serde")]
mod form;
#[cfg(test)]
mod tests;

pub use crate::reconcile::FLOWS_MAX;
pub use app::{DesiredStaticFlows, StaticFlowStatuses, StaticFlows};
pub use flow::{BadValue, PRIORITY_MAX, StaticFlow, TABLE_MAX};
