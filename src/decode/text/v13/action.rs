//! Actions and instructions of OpenFlow 1.3 in words.

use super::matching;
use crate::decode::text::{hex, joined, port};
use aldis_wire::v13::{Action, Instruction};
use std::fmt::{self, Display, Formatter};

/// A list of actions; an empty one drops the packet.
pub(super) fn actions(actions: &[Action]) -> impl Display {
    fmt::from_fn(move |f| match actions {
        [] => f.write_str("drop"),
        _ => write!(f, "{}", joined(actions, ",", action)),
    })
}

/// What a flow does: the actions it applies stand among the other instructions as they are.
pub(super) fn instructions(instructions: &[Instruction]) -> impl Display {
    let words: Vec<String> =
        instructions.iter().map(instruction).filter(|words| !words.is_empty()).collect();
    fmt::from_fn(move |f| match words.is_empty() {
        true => f.write_str("drop"),
        false => f.write_str(&words.join(",")),
    })
}

fn instruction(instruction: &Instruction) -> String {
    match instruction {
        Instruction::GotoTable(table) => format!("goto_table:{}", table.0),
        Instruction::WriteMetadata { metadata, mask: u64::MAX } => {
            format!("write_metadata:{metadata:#x}")
        }
        Instruction::WriteMetadata { metadata, mask } => {
            format!("write_metadata:{metadata:#x}/{mask:#x}")
        }
        Instruction::WriteActions(list) => format!("write_actions({})", actions(list)),
        Instruction::ApplyActions(list) => joined(list, ",", action).to_string(),
        Instruction::ClearActions(list) if list.is_empty() => "clear_actions".to_owned(),
        // It should have none, but they are there.
        Instruction::ClearActions(list) => format!("clear_actions({})", actions(list)),
        Instruction::Meter(meter) => format!("meter:{}", meter.0),
        Instruction::Experimenter { experimenter, body } => {
            format!("experimenter({experimenter:#010x},{})", hex(body))
        }
        Instruction::Unknown { kind, body } => format!("instruction({kind},{})", hex(body)),
    }
}

fn action(f: &mut Formatter<'_>, action: &Action) -> fmt::Result {
    match action {
        Action::Output { port, max_len } => write!(f, "{}", port::output(port.0, *max_len)),
        Action::CopyTtlOut => f.write_str("copy_ttl_out"),
        Action::CopyTtlIn => f.write_str("copy_ttl_in"),
        Action::SetMplsTtl(ttl) => write!(f, "set_mpls_ttl({ttl})"),
        Action::DecMplsTtl => f.write_str("dec_mpls_ttl"),
        Action::PushVlan(ethertype) => write!(f, "push_vlan:{ethertype:#06x}"),
        Action::PopVlan => f.write_str("pop_vlan"),
        Action::PushMpls(ethertype) => write!(f, "push_mpls:{ethertype:#06x}"),
        Action::PopMpls(ethertype) => write!(f, "pop_mpls:{ethertype:#06x}"),
        Action::SetQueue(queue) => write!(f, "set_queue:{}", queue.0),
        Action::Group(group) => write!(f, "group:{}", group.0),
        Action::SetNwTtl(ttl) => write!(f, "mod_nw_ttl:{ttl}"),
        Action::DecNwTtl => f.write_str("dec_ttl"),
        Action::SetField(field) => write!(f, "set_field:{}", matching::set(field)),
        Action::PushPbb(ethertype) => write!(f, "push_pbb:{ethertype:#06x}"),
        Action::PopPbb => f.write_str("pop_pbb"),
        Action::Experimenter { experimenter, body } => {
            write!(f, "experimenter({experimenter:#010x},{})", hex(body))
        }
        Action::Unknown { kind, body } => write!(f, "action({kind},{})", hex(body)),
    }
}
