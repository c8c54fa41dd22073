//! What groups, meters and tables can do.

use crate::datapath::bounds::{BANDS_MAX, FLOWS_MAX, GROUPS_MAX, METERS_MAX, TABLES};
use aldis_wire::FixedText;
use aldis_wire::v13::action::ActionType;
use aldis_wire::v13::instruction::InstructionType;
use aldis_wire::v13::meter_band::BandType;
use aldis_wire::v13::meter_mod::MeterFlags;
use aldis_wire::v13::oxm::{OxmClass, OxmHeader, OxmId};
use aldis_wire::v13::stats::group_features::GroupCapabilities;
use aldis_wire::v13::stats::table_features::{ActionId, InstructionId};
use aldis_wire::v13::stats::{GroupFeatures, MeterFeatures, TableFeatures, TableProperty};
use aldis_wire::v13::table_mod::{TableConfig, TableNo};

/// The actions that are done.
const ACTIONS: [ActionType; 8] = [
    ActionType::OUTPUT,
    ActionType::PUSH_VLAN,
    ActionType::POP_VLAN,
    ActionType::SET_QUEUE,
    ActionType::GROUP,
    ActionType::SET_NW_TTL,
    ActionType::DEC_NW_TTL,
    ActionType::SET_FIELD,
];

const INSTRUCTIONS: [InstructionType; 6] = [
    InstructionType::GOTO_TABLE,
    InstructionType::WRITE_METADATA,
    InstructionType::WRITE_ACTIONS,
    InstructionType::APPLY_ACTIONS,
    InstructionType::CLEAR_ACTIONS,
    InstructionType::METER,
];

/// The fields that flows can match: number, width in bytes, whether masked, whether an action can
/// set it.
const FIELDS: [(u8, u8, bool, bool); 33] = [
    (0, 4, false, false),
    (2, 8, true, true),
    (3, 6, true, true),
    (4, 6, true, true),
    (5, 2, false, false),
    (6, 2, true, true),
    (7, 1, false, true),
    (8, 1, false, true),
    (9, 1, false, true),
    (10, 1, false, false),
    (11, 4, true, true),
    (12, 4, true, true),
    (13, 2, false, true),
    (14, 2, false, true),
    (15, 2, false, true),
    (16, 2, false, true),
    (17, 2, false, true),
    (18, 2, false, true),
    (19, 1, false, true),
    (20, 1, false, true),
    (21, 2, false, true),
    (22, 4, true, true),
    (23, 4, true, true),
    (24, 6, true, true),
    (25, 6, true, true),
    (26, 16, true, true),
    (27, 16, true, true),
    (28, 4, true, true),
    (29, 1, false, true),
    (30, 1, false, true),
    (31, 16, false, false),
    (32, 6, false, false),
    (33, 6, false, false),
];

pub(super) fn groups() -> GroupFeatures {
    let actions = ACTIONS.iter().fold(0, |bits, action| bits | 1 << action.0);
    GroupFeatures {
        types: 0b1111,
        capabilities: GroupCapabilities::SELECT_WEIGHT
            | GroupCapabilities::SELECT_LIVENESS
            | GroupCapabilities::CHAINING,
        max_groups: [GROUPS_MAX as u32; 4],
        actions: [actions; 4],
    }
}

pub(super) fn meters() -> MeterFeatures {
    let flags = MeterFlags::KBPS | MeterFlags::PKTPS | MeterFlags::BURST | MeterFlags::STATS;
    MeterFeatures {
        max_meter: METERS_MAX as u32,
        band_types: 1 << BandType::DROP.0,
        capabilities: flags.0.into(),
        max_bands: BANDS_MAX as u8,
        max_color: 0,
    }
}

/// All tables can do the same, and go on to all behind them.
pub(super) fn table(number: u8) -> TableFeatures {
    let last = number + 1 == TABLES;
    let instructions =
        INSTRUCTIONS.iter().filter(|kind| !last || **kind != InstructionType::GOTO_TABLE);
    let instructions =
        instructions.map(|kind| InstructionId { kind: *kind, rest: vec![] }).collect();
    let actions = || ACTIONS.iter().map(|kind| ActionId { kind: *kind, rest: vec![] }).collect();
    let ids = |settable: bool, masks: bool| -> Vec<OxmId> {
        let fields = FIELDS.iter().filter(|(.., set)| !settable || *set);
        fields.map(|(field, width, mask, _)| id(*field, *width, masks && *mask)).collect()
    };
    TableFeatures {
        table_id: TableNo(number),
        name: FixedText::new(&format!("table{number}")),
        metadata_match: u64::MAX,
        metadata_write: u64::MAX,
        config: TableConfig::EMPTY,
        max_entries: FLOWS_MAX,
        properties: vec![
            TableProperty::Instructions { miss: false, ids: instructions },
            TableProperty::NextTables {
                miss: false,
                tables: (number + 1..TABLES).map(TableNo).collect(),
            },
            TableProperty::WriteActions { miss: false, ids: actions() },
            TableProperty::ApplyActions { miss: false, ids: actions() },
            TableProperty::Match { ids: ids(false, true) },
            TableProperty::Wildcards { ids: ids(false, false) },
            TableProperty::WriteSetField { miss: false, ids: ids(true, false) },
            TableProperty::ApplySetField { miss: false, ids: ids(true, false) },
        ],
    }
}

fn id(field: u8, width: u8, mask: bool) -> OxmId {
    let length = width * (1 + u8::from(mask));
    let header = OxmHeader::new(OxmClass::OPENFLOW_BASIC, field, mask, length);
    OxmId { header, experimenter: None }
}
