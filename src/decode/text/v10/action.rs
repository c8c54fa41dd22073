//! Actions of OpenFlow 1.0 in words.

use crate::decode::text::{hex, joined, port};
use aldis_wire::v10::Action;
use std::fmt::{self, Display, Formatter};

/// A list of actions; an empty one drops the frame.
pub(super) fn actions(actions: &[Action]) -> impl Display {
    fmt::from_fn(move |f| match actions {
        [] => f.write_str("drop"),
        _ => write!(f, "{}", joined(actions, ",", action)),
    })
}

fn action(f: &mut Formatter<'_>, action: &Action) -> fmt::Result {
    match action {
        Action::Output { port, max_len } if port.name().is_some() => {
            write!(f, "{}", port::output(port.widen(), *max_len))
        }
        Action::Output { port, .. } => write!(f, "output:{port}"),
        Action::SetVlanVid(vid) => write!(f, "mod_vlan_vid:{vid}"),
        Action::SetVlanPcp(priority) => write!(f, "mod_vlan_pcp:{priority}"),
        Action::StripVlan => f.write_str("strip_vlan"),
        Action::SetDlSrc(mac) => write!(f, "mod_dl_src:{mac}"),
        Action::SetDlDst(mac) => write!(f, "mod_dl_dst:{mac}"),
        Action::SetNwSrc(ip) => write!(f, "mod_nw_src:{ip}"),
        Action::SetNwDst(ip) => write!(f, "mod_nw_dst:{ip}"),
        Action::SetNwTos(tos) => write!(f, "mod_nw_tos:{tos}"),
        Action::SetTpSrc(port) => write!(f, "mod_tp_src:{port}"),
        Action::SetTpDst(port) => write!(f, "mod_tp_dst:{port}"),
        Action::Enqueue { port, queue_id } => write!(f, "enqueue:{port}:{queue_id}"),
        Action::Vendor { vendor, body } => write!(f, "vendor({vendor:#010x},{})", hex(body)),
        Action::Unknown { kind, body } => write!(f, "action({kind},{})", hex(body)),
    }
}
