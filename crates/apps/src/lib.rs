//! The applications that Aldis brings along, a module each.
//!
//! They are written as a user's would be: time comes as an argument, answers go to an
//! [`Output`](aldis_control::Output), and nothing here knows a clock, a thread or a socket.

pub mod acl;
pub mod arp_proxy;
pub mod dhcp;
mod exact_cache;
mod hash_lines;
pub mod hosts;
pub mod hub;
pub mod learning_switch;
pub mod log;
pub mod match_bits;
pub mod monitor;
pub mod nd_proxy;
pub mod orphan_flows;
pub mod proxy;
pub mod recent_set;
pub mod reconcile;
pub mod route_flow;
pub mod routing;
mod send;
pub mod spanning;
#[cfg(feature = "serde")]
pub mod spelling;
pub mod static_flows;
mod sync;
#[cfg(test)]
mod testing;
pub mod topology;
pub mod trace;

pub use acl::Acl;
pub use aldis_control::SwitchPort;
pub use arp_proxy::ArpProxy;
pub use dhcp::DhcpProxy;
pub use hub::Hub;
pub use learning_switch::LearningSwitch;
pub use monitor::Monitor;
pub use nd_proxy::NdProxy;
pub use orphan_flows::OrphanFlows;
