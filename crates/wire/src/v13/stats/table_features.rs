//! `OFPMP_TABLE_FEATURES` (§7.3.5.5): what flow tables can do, and how a controller wants them
//! arranged.

use crate::open::open_enum;
use crate::reader::{Malformed, Reader, Reason};
use crate::types::FixedText;
use crate::v13::action::ActionType;
use crate::v13::instruction::InstructionType;
use crate::v13::oxm::OxmId;
use crate::v13::table_mod::{TableConfig, TableNo};
use crate::v13::{list, sized, tlv, tlv_then_pad8};
use crate::writer::Writer;
use alloc::vec::Vec;

/// What one table can do.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TableFeatures {
    /// Which table.
    pub table_id: TableNo,
    /// Its name, for people.
    pub name: FixedText<32>,
    /// The bits of metadata that it can match.
    pub metadata_match: u64,
    /// The bits of metadata that it can write.
    pub metadata_write: u64,
    /// Its configuration.
    pub config: TableConfig,
    /// How many flows it can hold at most.
    pub max_entries: u32,
    /// Everything else.
    pub properties: Vec<TableProperty>,
}

open_enum! {
    /// `OFPTFPT_*`: the type of a property. Odd ones are about the table-miss flow.
    pub struct TablePropertyType(u16) "OFPTFPT_" {
        /// Instructions.
        INSTRUCTIONS = 0,
        /// Instructions of the table-miss flow.
        INSTRUCTIONS_MISS = 1,
        /// Tables to go on to.
        NEXT_TABLES = 2,
        /// Tables that the table-miss flow can go on to.
        NEXT_TABLES_MISS = 3,
        /// Actions of write-actions.
        WRITE_ACTIONS = 4,
        /// Those of the table-miss flow.
        WRITE_ACTIONS_MISS = 5,
        /// Actions of apply-actions.
        APPLY_ACTIONS = 6,
        /// Those of the table-miss flow.
        APPLY_ACTIONS_MISS = 7,
        /// Fields to match.
        MATCH = 8,
        /// Fields that may be left out.
        WILDCARDS = 10,
        /// Fields that write-actions can set.
        WRITE_SETFIELD = 12,
        /// Those of the table-miss flow.
        WRITE_SETFIELD_MISS = 13,
        /// Fields that apply-actions can set.
        APPLY_SETFIELD = 14,
        /// Those of the table-miss flow.
        APPLY_SETFIELD_MISS = 15,
        /// An experimenter's.
        EXPERIMENTER = 0xfffe,
        /// An experimenter's, about the table-miss flow.
        EXPERIMENTER_MISS = 0xffff,
    }
}

/// One property of a table. `miss` says that it is about the table-miss flow and not about the
/// others.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[allow(missing_docs)] // The fields are the same in each.
pub enum TableProperty {
    /// The instructions that flows can have.
    Instructions { miss: bool, ids: Vec<InstructionId> },
    /// The tables that flows can go on to.
    NextTables { miss: bool, tables: Vec<TableNo> },
    /// The actions that write-actions takes.
    WriteActions { miss: bool, ids: Vec<ActionId> },
    /// The actions that apply-actions takes.
    ApplyActions { miss: bool, ids: Vec<ActionId> },
    /// The fields that flows can match; with the mask bit, also masked.
    Match { ids: Vec<OxmId> },
    /// The fields that flows can leave out.
    Wildcards { ids: Vec<OxmId> },
    /// The fields that write-actions can set.
    WriteSetField { miss: bool, ids: Vec<OxmId> },
    /// The fields that apply-actions can set.
    ApplySetField { miss: bool, ids: Vec<OxmId> },
    /// What the experimenter defines.
    Experimenter { miss: bool, experimenter: u32, exp_type: u32, body: Vec<u8> },
    /// Of a type that this version does not name.
    Unknown { kind: TablePropertyType, body: Vec<u8> },
}

/// The type of an instruction, without the instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct InstructionId {
    /// The type.
    pub kind: InstructionType,
    /// What follows the header: the experimenter's id and type for an experimenter's instruction;
    /// otherwise nothing, or the padding that some switches send.
    pub rest: Vec<u8>,
}

/// The type of an action, without the action.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ActionId {
    /// The type.
    pub kind: ActionType,
    /// As in [`InstructionId`].
    pub rest: Vec<u8>,
}

impl TableFeatures {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<TableFeatures, Malformed> {
        let offset = reader.offset();
        let mut body = sized(reader, "table_features.length", 64)?;
        if (body.left() + 2) % 8 != 0 {
            let field = "table_features.length";
            return Err(Malformed { field, offset, reason: Reason::BadLength });
        }
        let table_id = TableNo(body.u8("table_features.table_id")?);
        body.pad("table_features.pad", 5)?;
        Ok(TableFeatures {
            table_id,
            name: FixedText(body.array("table_features.name")?),
            metadata_match: body.u64("table_features.metadata_match")?,
            metadata_write: body.u64("table_features.metadata_write")?,
            config: TableConfig(body.u32("table_features.config")?),
            max_entries: body.u32("table_features.max_entries")?,
            properties: list(&mut body, TableProperty::read)?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(0);
        writer.u16(0);
        writer.u8(self.table_id.0);
        writer.pad(5);
        writer.bytes(&self.name.0);
        writer.u64(self.metadata_match);
        writer.u64(self.metadata_write);
        writer.u32(self.config.0);
        writer.u32(self.max_entries);
        self.properties.iter().for_each(|property| property.write(writer));
        writer.close(open);
    }
}

impl TableProperty {
    /// Its type.
    pub fn property_type(&self) -> TablePropertyType {
        let (base, miss) = match self {
            TableProperty::Instructions { miss, .. } => (TablePropertyType::INSTRUCTIONS, *miss),
            TableProperty::NextTables { miss, .. } => (TablePropertyType::NEXT_TABLES, *miss),
            TableProperty::WriteActions { miss, .. } => (TablePropertyType::WRITE_ACTIONS, *miss),
            TableProperty::ApplyActions { miss, .. } => (TablePropertyType::APPLY_ACTIONS, *miss),
            TableProperty::Match { .. } => (TablePropertyType::MATCH, false),
            TableProperty::Wildcards { .. } => (TablePropertyType::WILDCARDS, false),
            TableProperty::WriteSetField { miss, .. } => (TablePropertyType::WRITE_SETFIELD, *miss),
            TableProperty::ApplySetField { miss, .. } => (TablePropertyType::APPLY_SETFIELD, *miss),
            TableProperty::Experimenter { miss, .. } => (TablePropertyType::EXPERIMENTER, *miss),
            TableProperty::Unknown { kind, .. } => (*kind, false),
        };
        TablePropertyType(base.0 | u16::from(miss))
    }

    fn read(reader: &mut Reader<'_>) -> Result<TableProperty, Malformed> {
        let (kind, mut body) = tlv_then_pad8(reader, "table_feature_prop.length", 4)?;
        TableProperty::read_body(TablePropertyType(kind), &mut body)
    }

    fn read_body(
        kind: TablePropertyType,
        body: &mut Reader<'_>,
    ) -> Result<TableProperty, Malformed> {
        let miss = kind.0 & 1 == 1;
        Ok(match kind {
            TablePropertyType::INSTRUCTIONS | TablePropertyType::INSTRUCTIONS_MISS => {
                TableProperty::Instructions { miss, ids: list(body, InstructionId::read)? }
            }
            TablePropertyType::NEXT_TABLES | TablePropertyType::NEXT_TABLES_MISS => {
                let tables = body.remaining().iter().map(|table| TableNo(*table)).collect();
                TableProperty::NextTables { miss, tables }
            }
            TablePropertyType::WRITE_ACTIONS | TablePropertyType::WRITE_ACTIONS_MISS => {
                TableProperty::WriteActions { miss, ids: list(body, ActionId::read)? }
            }
            TablePropertyType::APPLY_ACTIONS | TablePropertyType::APPLY_ACTIONS_MISS => {
                TableProperty::ApplyActions { miss, ids: list(body, ActionId::read)? }
            }
            TablePropertyType::MATCH => TableProperty::Match { ids: list(body, OxmId::read)? },
            TablePropertyType::WILDCARDS => {
                TableProperty::Wildcards { ids: list(body, OxmId::read)? }
            }
            TablePropertyType::WRITE_SETFIELD | TablePropertyType::WRITE_SETFIELD_MISS => {
                TableProperty::WriteSetField { miss, ids: list(body, OxmId::read)? }
            }
            TablePropertyType::APPLY_SETFIELD | TablePropertyType::APPLY_SETFIELD_MISS => {
                TableProperty::ApplySetField { miss, ids: list(body, OxmId::read)? }
            }
            TablePropertyType::EXPERIMENTER | TablePropertyType::EXPERIMENTER_MISS => {
                TableProperty::Experimenter {
                    miss,
                    experimenter: body.u32("table_feature_prop_experimenter.experimenter")?,
                    exp_type: body.u32("table_feature_prop_experimenter.exp_type")?,
                    body: body.remaining().to_vec(),
                }
            }
            _ => TableProperty::Unknown { kind, body: body.remaining().to_vec() },
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        let open = writer.open_u16(2);
        writer.u16(self.property_type().0);
        writer.u16(0);
        match self {
            TableProperty::Instructions { ids, .. } => {
                ids.iter().for_each(|id| write_id(writer, id.kind.0, &id.rest));
            }
            TableProperty::NextTables { tables, .. } => {
                tables.iter().for_each(|table| writer.u8(table.0));
            }
            TableProperty::WriteActions { ids, .. } | TableProperty::ApplyActions { ids, .. } => {
                ids.iter().for_each(|id| write_id(writer, id.kind.0, &id.rest));
            }
            TableProperty::Match { ids }
            | TableProperty::Wildcards { ids }
            | TableProperty::WriteSetField { ids, .. }
            | TableProperty::ApplySetField { ids, .. } => {
                ids.iter().for_each(|id| id.write(writer));
            }
            TableProperty::Experimenter { experimenter, exp_type, body, .. } => {
                writer.u32(*experimenter);
                writer.u32(*exp_type);
                writer.bytes(body);
            }
            TableProperty::Unknown { body, .. } => writer.bytes(body),
        }
        writer.close_then_pad8(open);
    }
}

impl InstructionId {
    fn read(reader: &mut Reader<'_>) -> Result<InstructionId, Malformed> {
        let (kind, mut rest) = tlv(reader, "instruction_id.length", 4)?;
        Ok(InstructionId { kind: InstructionType(kind), rest: rest.remaining().to_vec() })
    }
}

impl ActionId {
    fn read(reader: &mut Reader<'_>) -> Result<ActionId, Malformed> {
        let (kind, mut rest) = tlv(reader, "action_id.length", 4)?;
        Ok(ActionId { kind: ActionType(kind), rest: rest.remaining().to_vec() })
    }
}

fn write_id(writer: &mut Writer<'_>, kind: u16, rest: &[u8]) {
    let open = writer.open_u16(2);
    writer.u16(kind);
    writer.u16(0);
    writer.bytes(rest);
    writer.close(open);
}
