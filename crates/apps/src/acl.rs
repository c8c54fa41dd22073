//! Access control: ordered rules that say which packets pass, which do not, and which are copied to
//! a port besides. The first rule that matches a packet counts, and what no rule matches passes.
//!
//! The rules are installed when a switch joins, before its first request. Where a switch has
//! several tables they have the first, and the flows of all others are behind it
//! ([`Tables::Guarded`]): a packet that passes goes on there. A switch with one table can be told
//! what to drop; what it cannot be told is refused with the reason, and shown
//! ([`AclRuleStatuses`]). Requests that come to the controller all the same are decided by the same
//! rules before other applications see them.
//!
//! Rules name fields of packets and not places of hosts, and so a host that moves is under the same
//! rules. Which rules there are is a part of the World ([`DesiredAclRules`]), and others take their
//! place while it runs.

mod app;
#[cfg(feature = "serde")]
mod form;
mod plan;
mod rule;
#[cfg(test)]
mod tests;

#[cfg(doc)]
use aldis_control::Tables;

pub use app::{Acl, AclRuleStatuses, DesiredAclRules, RULES_MAX};
pub use rule::{CompiledRule, Rule, Verdict, never_reached};
