//! `OFPT_ERROR` (§7.4.4): what the other side could not do, by name, and what usually causes it.

mod codes;
mod hints;

pub use codes::*;

use crate::reader::{Malformed, Reader};
use crate::writer::Writer;
use alloc::vec::Vec;
use core::fmt;

/// An error message.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Error {
    /// What went wrong.
    pub code: ErrorCode,
    /// At least the first 64 bytes of the message it is about; for `OFPET_HELLO_FAILED`, text.
    pub data: Vec<u8>,
}

/// The type of an error and its code, whose meaning depends on the type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum ErrorCode {
    /// `OFPET_HELLO_FAILED`
    HelloFailed(HelloFailedCode),
    /// `OFPET_BAD_REQUEST`
    BadRequest(BadRequestCode),
    /// `OFPET_BAD_ACTION`
    BadAction(BadActionCode),
    /// `OFPET_BAD_INSTRUCTION`
    BadInstruction(BadInstructionCode),
    /// `OFPET_BAD_MATCH`
    BadMatch(BadMatchCode),
    /// `OFPET_FLOW_MOD_FAILED`
    FlowModFailed(FlowModFailedCode),
    /// `OFPET_GROUP_MOD_FAILED`
    GroupModFailed(GroupModFailedCode),
    /// `OFPET_PORT_MOD_FAILED`
    PortModFailed(PortModFailedCode),
    /// `OFPET_TABLE_MOD_FAILED`
    TableModFailed(TableModFailedCode),
    /// `OFPET_QUEUE_OP_FAILED`
    QueueOpFailed(QueueOpFailedCode),
    /// `OFPET_SWITCH_CONFIG_FAILED`
    SwitchConfigFailed(SwitchConfigFailedCode),
    /// `OFPET_ROLE_REQUEST_FAILED`
    RoleRequestFailed(RoleRequestFailedCode),
    /// `OFPET_METER_MOD_FAILED`
    MeterModFailed(MeterModFailedCode),
    /// `OFPET_TABLE_FEATURES_FAILED`
    TableFeaturesFailed(TableFeaturesFailedCode),
    /// `OFPET_EXPERIMENTER`
    Experimenter {
        /// The experimenter's own type of error.
        exp_type: u16,
        /// Whose.
        experimenter: u32,
    },
    /// A type that this version does not name.
    Unknown {
        /// The type.
        kind: ErrorType,
        /// The code.
        code: u16,
    },
}

impl ErrorCode {
    /// Its type.
    pub fn error_type(self) -> ErrorType {
        match self {
            ErrorCode::HelloFailed(_) => ErrorType::HELLO_FAILED,
            ErrorCode::BadRequest(_) => ErrorType::BAD_REQUEST,
            ErrorCode::BadAction(_) => ErrorType::BAD_ACTION,
            ErrorCode::BadInstruction(_) => ErrorType::BAD_INSTRUCTION,
            ErrorCode::BadMatch(_) => ErrorType::BAD_MATCH,
            ErrorCode::FlowModFailed(_) => ErrorType::FLOW_MOD_FAILED,
            ErrorCode::GroupModFailed(_) => ErrorType::GROUP_MOD_FAILED,
            ErrorCode::PortModFailed(_) => ErrorType::PORT_MOD_FAILED,
            ErrorCode::TableModFailed(_) => ErrorType::TABLE_MOD_FAILED,
            ErrorCode::QueueOpFailed(_) => ErrorType::QUEUE_OP_FAILED,
            ErrorCode::SwitchConfigFailed(_) => ErrorType::SWITCH_CONFIG_FAILED,
            ErrorCode::RoleRequestFailed(_) => ErrorType::ROLE_REQUEST_FAILED,
            ErrorCode::MeterModFailed(_) => ErrorType::METER_MOD_FAILED,
            ErrorCode::TableFeaturesFailed(_) => ErrorType::TABLE_FEATURES_FAILED,
            ErrorCode::Experimenter { .. } => ErrorType::EXPERIMENTER,
            ErrorCode::Unknown { kind, .. } => kind,
        }
    }

    /// The number of its code, or an experimenter's type of error.
    pub fn code(self) -> u16 {
        match self {
            ErrorCode::HelloFailed(code) => code.0,
            ErrorCode::BadRequest(code) => code.0,
            ErrorCode::BadAction(code) => code.0,
            ErrorCode::BadInstruction(code) => code.0,
            ErrorCode::BadMatch(code) => code.0,
            ErrorCode::FlowModFailed(code) => code.0,
            ErrorCode::GroupModFailed(code) => code.0,
            ErrorCode::PortModFailed(code) => code.0,
            ErrorCode::TableModFailed(code) => code.0,
            ErrorCode::QueueOpFailed(code) => code.0,
            ErrorCode::SwitchConfigFailed(code) => code.0,
            ErrorCode::RoleRequestFailed(code) => code.0,
            ErrorCode::MeterModFailed(code) => code.0,
            ErrorCode::TableFeaturesFailed(code) => code.0,
            ErrorCode::Experimenter { exp_type, .. } => exp_type,
            ErrorCode::Unknown { code, .. } => code,
        }
    }

    /// The specification's name of the code, such as `OFPBAC_BAD_TYPE`, if it has one.
    pub fn name(self) -> Option<&'static str> {
        match self {
            ErrorCode::HelloFailed(code) => code.name(),
            ErrorCode::BadRequest(code) => code.name(),
            ErrorCode::BadAction(code) => code.name(),
            ErrorCode::BadInstruction(code) => code.name(),
            ErrorCode::BadMatch(code) => code.name(),
            ErrorCode::FlowModFailed(code) => code.name(),
            ErrorCode::GroupModFailed(code) => code.name(),
            ErrorCode::PortModFailed(code) => code.name(),
            ErrorCode::TableModFailed(code) => code.name(),
            ErrorCode::QueueOpFailed(code) => code.name(),
            ErrorCode::SwitchConfigFailed(code) => code.name(),
            ErrorCode::RoleRequestFailed(code) => code.name(),
            ErrorCode::MeterModFailed(code) => code.name(),
            ErrorCode::TableFeaturesFailed(code) => code.name(),
            ErrorCode::Experimenter { .. } | ErrorCode::Unknown { .. } => None,
        }
    }

    /// What usually causes it, in one plain sentence, where there is something to say.
    pub fn hint(self) -> Option<&'static str> {
        hints::hint(self)
    }

    /// The error that the two numbers on the wire stand for, an experimenter's excepted, whose id
    /// comes behind them.
    pub fn from_wire(kind: u16, code: u16) -> ErrorCode {
        match ErrorType(kind) {
            ErrorType::HELLO_FAILED => ErrorCode::HelloFailed(HelloFailedCode(code)),
            ErrorType::BAD_REQUEST => ErrorCode::BadRequest(BadRequestCode(code)),
            ErrorType::BAD_ACTION => ErrorCode::BadAction(BadActionCode(code)),
            ErrorType::BAD_INSTRUCTION => ErrorCode::BadInstruction(BadInstructionCode(code)),
            ErrorType::BAD_MATCH => ErrorCode::BadMatch(BadMatchCode(code)),
            ErrorType::FLOW_MOD_FAILED => ErrorCode::FlowModFailed(FlowModFailedCode(code)),
            ErrorType::GROUP_MOD_FAILED => ErrorCode::GroupModFailed(GroupModFailedCode(code)),
            ErrorType::PORT_MOD_FAILED => ErrorCode::PortModFailed(PortModFailedCode(code)),
            ErrorType::TABLE_MOD_FAILED => ErrorCode::TableModFailed(TableModFailedCode(code)),
            ErrorType::QUEUE_OP_FAILED => ErrorCode::QueueOpFailed(QueueOpFailedCode(code)),
            ErrorType::SWITCH_CONFIG_FAILED => {
                ErrorCode::SwitchConfigFailed(SwitchConfigFailedCode(code))
            }
            ErrorType::ROLE_REQUEST_FAILED => {
                ErrorCode::RoleRequestFailed(RoleRequestFailedCode(code))
            }
            ErrorType::METER_MOD_FAILED => ErrorCode::MeterModFailed(MeterModFailedCode(code)),
            ErrorType::TABLE_FEATURES_FAILED => {
                ErrorCode::TableFeaturesFailed(TableFeaturesFailedCode(code))
            }
            kind => ErrorCode::Unknown { kind, code },
        }
    }
}

/// `OFPET_BAD_ACTION/OFPBAC_BAD_TYPE`, with numbers where there are no names.
impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.name()) {
            (_, Some(name)) => write!(f, "{}/{name}", self.error_type()),
            (ErrorCode::Experimenter { exp_type, experimenter }, _) => {
                write!(
                    f,
                    "{}/type {exp_type} of experimenter {experimenter:#010x}",
                    self.error_type()
                )
            }
            _ => write!(f, "{}/{}", self.error_type(), self.code()),
        }
    }
}

impl Error {
    /// What usually causes it, in one plain sentence, where there is something to say.
    pub fn hint(&self) -> Option<&'static str> {
        self.code.hint()
    }

    /// The data as text, for `OFPET_HELLO_FAILED` alone: without NULs at its end, and only where it
    /// is UTF-8.
    pub fn text(&self) -> Option<&str> {
        match self.code {
            ErrorCode::HelloFailed(_) => {
                core::str::from_utf8(&self.data).ok().map(|text| text.trim_end_matches('\0'))
            }
            _ => None,
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Error, Malformed> {
        let kind = reader.u16("error.type")?;
        let code = reader.u16("error.code")?;
        let code = match ErrorType(kind) {
            ErrorType::EXPERIMENTER => ErrorCode::Experimenter {
                exp_type: code,
                experimenter: reader.u32("error.experimenter")?,
            },
            _ => ErrorCode::from_wire(kind, code),
        };
        Ok(Error { code, data: reader.remaining().to_vec() })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u16(self.code.error_type().0);
        writer.u16(self.code.code());
        if let ErrorCode::Experimenter { experimenter, .. } = self.code {
            writer.u32(experimenter);
        }
        writer.bytes(&self.data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn an_error_is_called_by_its_names() {
        let shown = |kind, code| ErrorCode::from_wire(kind, code).to_string();
        assert_eq!(shown(2, 0), "OFPET_BAD_ACTION/OFPBAC_BAD_TYPE");
        assert_eq!(shown(5, 1), "OFPET_FLOW_MOD_FAILED/OFPFMFC_TABLE_FULL");
        assert_eq!(shown(12, 99), "OFPET_METER_MOD_FAILED/99");
        assert_eq!(shown(77, 3), "77/3");
        let nicira = ErrorCode::Experimenter { exp_type: 2, experimenter: 0x2320 };
        assert_eq!(nicira.to_string(), "OFPET_EXPERIMENTER/type 2 of experimenter 0x00002320");
    }

    #[test]
    fn every_type_but_the_experimenters_has_codes_of_its_own() {
        for kind in ErrorType::NAMED.iter().filter(|kind| **kind != ErrorType::EXPERIMENTER) {
            let code = ErrorCode::from_wire(kind.0, 0);
            assert_eq!((code.error_type(), code.code()), (*kind, 0));
            assert!(code.name().is_some(), "{kind}");
        }
    }

    #[test]
    fn every_code_with_a_name_has_a_hint() {
        for kind in ErrorType::NAMED {
            for code in (0..20).map(|code| ErrorCode::from_wire(kind.0, code)) {
                let unspecified = code.name().is_some_and(|name| name.ends_with("_UNKNOWN"));
                let unspecified = unspecified && code.code() == 0;
                let explained = code.name().is_some() && !unspecified;
                assert!(!explained || code.hint().is_some(), "{code}");
            }
        }
    }

    #[test]
    fn hello_failed_carries_text() {
        let code = ErrorCode::HelloFailed(HelloFailedCode::INCOMPATIBLE);
        let error = Error { code, data: b"no common version\0".to_vec() };
        assert_eq!(error.text(), Some("no common version"));
        assert!(error.hint().is_some());
    }
}
