//! Flows and packets: one table, one list of actions.

use alloc::vec;
use alloc::vec::Vec;

use super::{
    Packet, actions_from_neutral, actions_to_neutral, match_from_neutral, match_to_neutral, narrow,
    unsupported,
};
use crate::msg::{
    FlowMod, FlowModCommand, FlowModFlags, FlowRemoved, FlowRemovedReason, GroupNo, Instruction,
    Match, PacketIn, PacketInReason, PacketOut, PortNo, TableNo, Unsupported,
};
use crate::v10;

/// The only table that a change of 1.0 is about.
const FIRST: TableNo = TableNo(0);

/// The cookie of a packet that no flow sent to the controller (1.3.5 §7.4.1).
const COOKIE_NONE: u64 = u64::MAX;

/// The flags that both versions have.
const COMMON_FLAGS: u16 = FlowModFlags::SEND_FLOW_REM.0 | FlowModFlags::CHECK_OVERLAP.0;

pub(super) fn flow_mod(exact: &v10::FlowMod) -> Option<FlowMod> {
    let command = FlowModCommand(u8::try_from(exact.command.0).ok()?);
    let match_ = match_to_neutral(&exact.match_)?;
    Some(FlowMod {
        cookie: exact.cookie,
        cookie_mask: 0,
        table_id: if deletes(command) { TableNo::ALL } else { FIRST },
        command,
        idle_timeout: exact.idle_timeout,
        hard_timeout: exact.hard_timeout,
        priority: exact.priority,
        buffer_id: exact.buffer_id,
        out_port: PortNo(exact.out_port.widen()),
        out_group: GroupNo::ANY,
        flags: flags(exact.flags, command)?,
        instructions: instructions(&exact.actions, &match_)?,
        match_,
    })
}

pub(super) fn flow_mod_from_neutral(neutral: &FlowMod) -> Result<v10::FlowMod, Unsupported> {
    let deletes = deletes(neutral.command);
    if neutral.table_id != FIRST && !(deletes && neutral.table_id == TableNo::ALL) {
        return Err(unsupported("a table other than the first"));
    }
    if neutral.cookie_mask != 0 {
        return Err(unsupported("only flows of a cookie"));
    }
    if neutral.out_group != GroupNo::ANY {
        return Err(unsupported("a group"));
    }
    Ok(v10::FlowMod {
        match_: match_from_neutral(&neutral.match_)?,
        cookie: neutral.cookie,
        command: v10::FlowModCommand(neutral.command.0.into()),
        idle_timeout: neutral.idle_timeout,
        hard_timeout: neutral.hard_timeout,
        priority: neutral.priority,
        buffer_id: neutral.buffer_id,
        out_port: narrow(neutral.out_port)?,
        flags: flags_from_neutral(neutral.flags, neutral.command)?,
        actions: instructions_from_neutral(&neutral.instructions, &neutral.match_)?,
    })
}

fn deletes(command: FlowModCommand) -> bool {
    matches!(command, FlowModCommand::DELETE | FlowModCommand::DELETE_STRICT)
}

/// An ADD of 1.0 resets the counters, and the neutral words say so. Emergency flows have no neutral
/// form.
fn flags(exact: v10::FlowModFlags, command: FlowModCommand) -> Option<FlowModFlags> {
    let flags = FlowModFlags(exact.0);
    match (exact.0 & !COMMON_FLAGS, command) {
        (0, FlowModCommand::ADD) => Some(flags | FlowModFlags::RESET_COUNTS),
        (0, _) => Some(flags),
        _ => None,
    }
}

fn flags_from_neutral(
    neutral: FlowModFlags,
    command: FlowModCommand,
) -> Result<v10::FlowModFlags, Unsupported> {
    match neutral.0 & !COMMON_FLAGS {
        0 => {}
        more if more == FlowModFlags::RESET_COUNTS.0 && command == FlowModCommand::ADD => {}
        more if FlowModFlags(more).contains(FlowModFlags::RESET_COUNTS) => {
            return Err(unsupported("a change that resets the counters"));
        }
        _ => return Err(unsupported("a flow that does not count")),
    }
    Ok(v10::FlowModFlags(neutral.0 & COMMON_FLAGS))
}

/// What a flow does: at once, all of it.
pub(super) fn instructions(exact: &[v10::Action], match_: &Match) -> Option<Vec<Instruction>> {
    Some(match exact {
        [] => Vec::new(),
        _ => {
            let actions = actions_to_neutral(exact, Packet::matching(match_))?;
            vec![Instruction::ApplyActions(actions)]
        }
    })
}

pub(super) fn instructions_from_neutral(
    neutral: &[Instruction],
    match_: &Match,
) -> Result<Vec<v10::Action>, Unsupported> {
    let feature = match neutral {
        [] => return Ok(Vec::new()),
        [Instruction::ApplyActions(actions)] => {
            return actions_from_neutral(actions, Packet::matching(match_));
        }
        [.., Instruction::GotoTable(_)] | [Instruction::GotoTable(_), ..] => "goto another table",
        [Instruction::WriteMetadata { .. }, ..] => "metadata for later tables",
        [Instruction::WriteActions(_) | Instruction::ClearActions(_), ..] => "an action set",
        [Instruction::Meter(_), ..] => "a meter",
        _ => "more instructions than to act at once",
    };
    Err(unsupported(feature))
}

pub(super) fn flow_removed(exact: &v10::FlowRemoved) -> Option<FlowRemoved> {
    exact.reason.name()?;
    Some(FlowRemoved {
        cookie: exact.cookie,
        priority: exact.priority,
        reason: FlowRemovedReason(exact.reason.0),
        table_id: FIRST,
        duration_sec: exact.duration_sec,
        duration_nsec: exact.duration_nsec,
        idle_timeout: exact.idle_timeout,
        hard_timeout: 0,
        packet_count: exact.packet_count,
        byte_count: exact.byte_count,
        match_: match_to_neutral(&exact.match_)?,
    })
}

pub(super) fn flow_removed_from_neutral(
    neutral: &FlowRemoved,
) -> Result<v10::FlowRemoved, Unsupported> {
    let reason = v10::FlowRemovedReason(neutral.reason.0);
    if reason.name().is_none() {
        return Err(unsupported("this reason for the removal of a flow"));
    }
    if neutral.table_id != FIRST {
        return Err(unsupported("the table of a removed flow"));
    }
    if neutral.hard_timeout != 0 {
        return Err(unsupported("the hard timeout of a removed flow"));
    }
    Ok(v10::FlowRemoved {
        match_: match_from_neutral(&neutral.match_)?,
        cookie: neutral.cookie,
        priority: neutral.priority,
        reason,
        duration_sec: neutral.duration_sec,
        duration_nsec: neutral.duration_nsec,
        idle_timeout: neutral.idle_timeout,
        packet_count: neutral.packet_count,
        byte_count: neutral.byte_count,
    })
}

pub(super) fn packet_in(exact: &v10::PacketIn) -> Option<PacketIn> {
    exact.reason.name()?;
    Some(PacketIn {
        buffer_id: exact.buffer_id,
        total_len: exact.total_len,
        reason: PacketInReason(exact.reason.0),
        table_id: FIRST,
        cookie: COOKIE_NONE,
        match_: Match::new().in_port(PortNo(exact.in_port.widen())),
        data: exact.data.clone(),
    })
}

pub(super) fn packet_in_from_neutral(neutral: &PacketIn) -> Result<v10::PacketIn, Unsupported> {
    let reason = v10::PacketInReason(neutral.reason.0);
    if reason.name().is_none() {
        return Err(unsupported("this reason for a PACKET_IN"));
    }
    if neutral.table_id != FIRST || neutral.cookie != COOKIE_NONE {
        return Err(unsupported("the flow that a PACKET_IN comes from"));
    }
    let in_port = match neutral.match_.fields[..] {
        [crate::msg::Field::InPort(port)] => narrow(port)?,
        _ => return Err(unsupported("more of a PACKET_IN than its port")),
    };
    Ok(v10::PacketIn {
        buffer_id: neutral.buffer_id,
        total_len: neutral.total_len,
        in_port,
        reason,
        data: neutral.data.clone(),
    })
}

pub(super) fn packet_out(exact: &v10::PacketOut) -> Option<PacketOut> {
    let in_port = match exact.in_port {
        v10::PortNo::NONE => PortNo::CONTROLLER,
        // 1.0 does not say what this would be.
        v10::PortNo::CONTROLLER => return None,
        port => PortNo(port.widen()),
    };
    Some(PacketOut {
        buffer_id: exact.buffer_id,
        in_port,
        actions: actions_to_neutral(&exact.actions, Packet::framed(&exact.data))?,
        data: exact.data.clone(),
    })
}

pub(super) fn packet_out_from_neutral(neutral: &PacketOut) -> Result<v10::PacketOut, Unsupported> {
    let in_port = match neutral.in_port {
        PortNo::CONTROLLER => v10::PortNo::NONE,
        port => narrow(port)?,
    };
    Ok(v10::PacketOut {
        buffer_id: neutral.buffer_id,
        in_port,
        actions: actions_from_neutral(&neutral.actions, Packet::framed(&neutral.data))?,
        data: neutral.data.clone(),
    })
}
