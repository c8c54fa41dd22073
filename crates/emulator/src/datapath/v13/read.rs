//! Matches, actions and instructions of 1.3 in the datapath's own words.
//!
//! What is checked, and in which order, follows OpenFlow 1.3.5 §7.2.3.6 (prerequisites) and §7.2.4
//! (instructions), and Open vSwitch where it is stricter.

mod actions;
mod matches;

pub(super) use actions::{bucket_actions, packet_out_actions};
pub(super) use matches::pattern;

use crate::datapath::Datapath;
use crate::datapath::action::ActionProgram;
use crate::datapath::bounds::TABLES;
use crate::datapath::fields::Pattern;
use actions::Sight;
use aldis_wire::v13::error::{BadInstructionCode, ErrorCode, MeterModFailedCode};
use aldis_wire::v13::instruction::{Instruction, InstructionType};

/// What a flow of these instructions does in `table`.
pub(super) fn program(
    switch: &Datapath,
    table: u8,
    pattern: &Pattern,
    said: &[Instruction],
) -> Result<ActionProgram, ErrorCode> {
    let bad = |code| Err(ErrorCode::BadInstruction(code));
    let kinds: Vec<InstructionType> = said.iter().map(Instruction::instruction_type).collect();
    if (1..kinds.len()).any(|at| kinds[..at].contains(&kinds[at])) {
        return bad(BadInstructionCode::UNKNOWN_INST);
    }
    let mut program = ActionProgram::default();
    let mut sight = Sight::of(pattern);
    // The actions that are done at once come before those that are set aside, wherever they stand.
    let order = |instruction: &&Instruction| match instruction {
        Instruction::ApplyActions(_) => 0,
        _ => 1,
    };
    let mut ordered: Vec<&Instruction> = said.iter().collect();
    ordered.sort_by_key(order);
    for instruction in ordered {
        match instruction {
            Instruction::GotoTable(next) => {
                if next.0 <= table || next.0 >= TABLES {
                    return bad(BadInstructionCode::BAD_TABLE_ID);
                }
                program.goto = Some(next.0);
            }
            Instruction::WriteMetadata { metadata, mask } => {
                program.metadata = Some((*metadata, *mask));
            }
            Instruction::ApplyActions(said) => {
                program.apply = actions::flow_actions(switch, said, &mut sight)?.into();
            }
            Instruction::WriteActions(said) => {
                program.write = actions::flow_actions(switch, said, &mut sight.clone())?.into();
            }
            Instruction::ClearActions(said) if !said.is_empty() => {
                return bad(BadInstructionCode::BAD_LEN);
            }
            Instruction::ClearActions(_) => program.clear = true,
            Instruction::Meter(meter) => {
                if !switch.world.meters.contains_key(&meter.0) {
                    return Err(ErrorCode::MeterModFailed(MeterModFailedCode::INVALID_METER));
                }
                program.meter = Some(meter.0);
            }
            Instruction::Experimenter { .. } => return bad(BadInstructionCode::BAD_EXPERIMENTER),
            Instruction::Unknown { .. } => return bad(BadInstructionCode::UNKNOWN_INST),
        }
    }
    Ok(program)
}
