//! Instructions (§7.2.4): what a flow does with the packets it matches.

use super::action::Action;
use super::meter_mod::MeterNo;
use super::table_mod::TableNo;
use super::{list, tlv8};
use crate::open::open_enum;
use crate::reader::{Malformed, Reader, Reason};
use crate::writer::Writer;
use alloc::vec::Vec;

open_enum! {
    /// `OFPIT_*`: the type of an instruction.
    pub struct InstructionType(u16) "OFPIT_" {
        /// Goes on to another table.
        GOTO_TABLE = 1,
        /// Notes something for later tables.
        WRITE_METADATA = 2,
        /// Adds to the action set.
        WRITE_ACTIONS = 3,
        /// Acts at once.
        APPLY_ACTIONS = 4,
        /// Empties the action set.
        CLEAR_ACTIONS = 5,
        /// Passes through a meter.
        METER = 6,
        /// An experimenter's.
        EXPERIMENTER = 0xffff,
    }
}

/// One instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Instruction {
    /// Goes on to a table, of a higher number than this flow's.
    GotoTable(TableNo),
    /// Notes something for later tables.
    WriteMetadata {
        /// The bits to note.
        metadata: u64,
        /// Which of them are changed.
        mask: u64,
    },
    /// Adds to the action set, which is done where the tables end.
    WriteActions(Vec<Action>),
    /// Acts at once, in this order.
    ApplyActions(Vec<Action>),
    /// Empties the action set. The specification wants the list of actions empty.
    ClearActions(Vec<Action>),
    /// Passes through a meter, which may drop the packet.
    Meter(MeterNo),
    /// An experimenter's.
    Experimenter {
        /// Whose.
        experimenter: u32,
        /// The rest, to a multiple of eight bytes.
        body: Vec<u8>,
    },
    /// Of a type that this version does not name.
    Unknown {
        /// Its type.
        kind: InstructionType,
        /// Its body, to a multiple of eight bytes with the four before it.
        body: Vec<u8>,
    },
}

impl Instruction {
    /// Its type.
    pub fn instruction_type(&self) -> InstructionType {
        match self {
            Instruction::GotoTable(_) => InstructionType::GOTO_TABLE,
            Instruction::WriteMetadata { .. } => InstructionType::WRITE_METADATA,
            Instruction::WriteActions(_) => InstructionType::WRITE_ACTIONS,
            Instruction::ApplyActions(_) => InstructionType::APPLY_ACTIONS,
            Instruction::ClearActions(_) => InstructionType::CLEAR_ACTIONS,
            Instruction::Meter(_) => InstructionType::METER,
            Instruction::Experimenter { .. } => InstructionType::EXPERIMENTER,
            Instruction::Unknown { kind, .. } => *kind,
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Instruction, Malformed> {
        let (kind, mut body) = tlv8(reader, "instruction.length", 8)?;
        let instruction = Instruction::read_body(InstructionType(kind), &mut body)?;
        // A length beyond what the type has is as wrong as one below it.
        body.end("instruction.length").map_err(|e| Malformed { reason: Reason::BadLength, ..e })?;
        Ok(instruction)
    }

    fn read_body(kind: InstructionType, body: &mut Reader<'_>) -> Result<Instruction, Malformed> {
        Ok(match kind {
            InstructionType::GOTO_TABLE => {
                let table = TableNo(body.u8("instruction_goto_table.table_id")?);
                body.pad("instruction_goto_table.pad", 3)?;
                Instruction::GotoTable(table)
            }
            InstructionType::WRITE_METADATA => {
                body.pad("instruction_write_metadata.pad", 4)?;
                let metadata = body.u64("instruction_write_metadata.metadata")?;
                let mask = body.u64("instruction_write_metadata.metadata_mask")?;
                Instruction::WriteMetadata { metadata, mask }
            }
            InstructionType::WRITE_ACTIONS => Instruction::WriteActions(actions(body)?),
            InstructionType::APPLY_ACTIONS => Instruction::ApplyActions(actions(body)?),
            InstructionType::CLEAR_ACTIONS => Instruction::ClearActions(actions(body)?),
            InstructionType::METER => {
                Instruction::Meter(MeterNo(body.u32("instruction_meter.meter_id")?))
            }
            InstructionType::EXPERIMENTER => Instruction::Experimenter {
                experimenter: body.u32("instruction_experimenter.experimenter")?,
                body: body.remaining().to_vec(),
            },
            _ => Instruction::Unknown { kind, body: body.remaining().to_vec() },
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(2);
        writer.u16(self.instruction_type().0);
        writer.u16(0);
        match self {
            Instruction::GotoTable(table) => writer.u8(table.0),
            Instruction::WriteMetadata { metadata, mask } => {
                writer.pad(4);
                writer.u64(*metadata);
                writer.u64(*mask);
            }
            Instruction::WriteActions(actions)
            | Instruction::ApplyActions(actions)
            | Instruction::ClearActions(actions) => {
                writer.pad(4);
                actions.iter().for_each(|action| action.write(writer));
            }
            Instruction::Meter(meter) => writer.u32(meter.0),
            Instruction::Experimenter { experimenter, body } => {
                writer.u32(*experimenter);
                writer.bytes(body);
            }
            Instruction::Unknown { body, .. } => writer.bytes(body),
        }
        writer.pad8_then_close(open);
    }
}

fn actions(body: &mut Reader<'_>) -> Result<Vec<Action>, Malformed> {
    body.pad("instruction_actions.pad", 4)?;
    list(body, Action::read)
}
