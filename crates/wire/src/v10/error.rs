//! ERROR (§5.4.4): what the peer did not like, and why.

use crate::open::open_enum;
use crate::reader::{Malformed, Reader};
use crate::writer::Writer;
use alloc::vec::Vec;
use core::fmt;

open_enum! {
    /// The large class of an error: `enum ofp_error_type`.
    pub struct ErrorType(u16) "OFPET_" {
        /// The HELLO was refused.
        HELLO_FAILED = 0,
        /// A request was not understood.
        BAD_REQUEST = 1,
        /// An action was not understood.
        BAD_ACTION = 2,
        /// A FLOW_MOD failed.
        FLOW_MOD_FAILED = 3,
        /// A PORT_MOD failed.
        PORT_MOD_FAILED = 4,
        /// A queue operation failed.
        QUEUE_OP_FAILED = 5,
    }
}

open_enum! {
    /// `enum ofp_hello_failed_code`
    pub struct HelloFailedCode(u16) "OFPHFC_" {
        /// No version in common.
        INCOMPATIBLE = 0,
        /// Not permitted.
        EPERM = 1,
    }
}

open_enum! {
    /// `enum ofp_bad_request_code`
    pub struct BadRequestCode(u16) "OFPBRC_" {
        /// The header's version is not spoken.
        BAD_VERSION = 0,
        /// The header's type is not known.
        BAD_TYPE = 1,
        /// The kind of statistics is not known.
        BAD_STAT = 2,
        /// The vendor is not known.
        BAD_VENDOR = 3,
        /// The vendor's message is not known.
        BAD_SUBTYPE = 4,
        /// Not permitted.
        EPERM = 5,
        /// The length does not fit the type.
        BAD_LEN = 6,
        /// The buffer was used already.
        BUFFER_EMPTY = 7,
        /// There is no such buffer.
        BUFFER_UNKNOWN = 8,
    }
}

open_enum! {
    /// `enum ofp_bad_action_code`
    pub struct BadActionCode(u16) "OFPBAC_" {
        /// The type is not known.
        BAD_TYPE = 0,
        /// The length does not fit the type.
        BAD_LEN = 1,
        /// The vendor is not known.
        BAD_VENDOR = 2,
        /// The vendor's action is not known.
        BAD_VENDOR_TYPE = 3,
        /// There is no such output port.
        BAD_OUT_PORT = 4,
        /// The argument cannot be.
        BAD_ARGUMENT = 5,
        /// Not permitted.
        EPERM = 6,
        /// More actions than the switch can do.
        TOO_MANY = 7,
        /// There is no such queue.
        BAD_QUEUE = 8,
    }
}

open_enum! {
    /// `enum ofp_flow_mod_failed_code`
    pub struct FlowModFailedCode(u16) "OFPFMFC_" {
        /// No room left.
        ALL_TABLES_FULL = 0,
        /// It overlaps another flow, and CHECK_OVERLAP was set.
        OVERLAP = 1,
        /// Not permitted.
        EPERM = 2,
        /// An emergency flow has a timeout.
        BAD_EMERG_TIMEOUT = 3,
        /// The command is not known.
        BAD_COMMAND = 4,
        /// The list of actions cannot be done in its order.
        UNSUPPORTED = 5,
    }
}

open_enum! {
    /// `enum ofp_port_mod_failed_code`
    pub struct PortModFailedCode(u16) "OFPPMFC_" {
        /// There is no such port.
        BAD_PORT = 0,
        /// It has another hardware address.
        BAD_HW_ADDR = 1,
    }
}

open_enum! {
    /// `enum ofp_queue_op_failed_code`
    pub struct QueueOpFailedCode(u16) "OFPQOFC_" {
        /// There is no such port.
        BAD_PORT = 0,
        /// There is no such queue.
        BAD_QUEUE = 1,
        /// Not permitted.
        EPERM = 2,
    }
}

/// What went wrong: the error's type and, within it, its code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum ErrorCode {
    /// `OFPET_HELLO_FAILED`
    HelloFailed(HelloFailedCode),
    /// `OFPET_BAD_REQUEST`
    BadRequest(BadRequestCode),
    /// `OFPET_BAD_ACTION`
    BadAction(BadActionCode),
    /// `OFPET_FLOW_MOD_FAILED`
    FlowModFailed(FlowModFailedCode),
    /// `OFPET_PORT_MOD_FAILED`
    PortModFailed(PortModFailedCode),
    /// `OFPET_QUEUE_OP_FAILED`
    QueueOpFailed(QueueOpFailedCode),
    /// A type that this version does not know.
    Unknown {
        /// The type.
        kind: ErrorType,
        /// The code.
        code: u16,
    },
}

impl ErrorCode {
    /// The error that the two numbers on the wire stand for.
    pub const fn from_wire(kind: u16, code: u16) -> ErrorCode {
        match ErrorType(kind) {
            ErrorType::HELLO_FAILED => ErrorCode::HelloFailed(HelloFailedCode(code)),
            ErrorType::BAD_REQUEST => ErrorCode::BadRequest(BadRequestCode(code)),
            ErrorType::BAD_ACTION => ErrorCode::BadAction(BadActionCode(code)),
            ErrorType::FLOW_MOD_FAILED => ErrorCode::FlowModFailed(FlowModFailedCode(code)),
            ErrorType::PORT_MOD_FAILED => ErrorCode::PortModFailed(PortModFailedCode(code)),
            ErrorType::QUEUE_OP_FAILED => ErrorCode::QueueOpFailed(QueueOpFailedCode(code)),
            kind => ErrorCode::Unknown { kind, code },
        }
    }

    /// Its type.
    pub const fn error_type(self) -> ErrorType {
        match self {
            ErrorCode::HelloFailed(_) => ErrorType::HELLO_FAILED,
            ErrorCode::BadRequest(_) => ErrorType::BAD_REQUEST,
            ErrorCode::BadAction(_) => ErrorType::BAD_ACTION,
            ErrorCode::FlowModFailed(_) => ErrorType::FLOW_MOD_FAILED,
            ErrorCode::PortModFailed(_) => ErrorType::PORT_MOD_FAILED,
            ErrorCode::QueueOpFailed(_) => ErrorType::QUEUE_OP_FAILED,
            ErrorCode::Unknown { kind, .. } => kind,
        }
    }

    /// Its code, whose meaning depends on the type.
    pub const fn code(self) -> u16 {
        match self {
            ErrorCode::HelloFailed(code) => code.0,
            ErrorCode::BadRequest(code) => code.0,
            ErrorCode::BadAction(code) => code.0,
            ErrorCode::FlowModFailed(code) => code.0,
            ErrorCode::PortModFailed(code) => code.0,
            ErrorCode::QueueOpFailed(code) => code.0,
            ErrorCode::Unknown { code, .. } => code,
        }
    }

    /// The specification's name of the code, as `OFPBRC_BAD_TYPE`.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            ErrorCode::HelloFailed(code) => code.name(),
            ErrorCode::BadRequest(code) => code.name(),
            ErrorCode::BadAction(code) => code.name(),
            ErrorCode::FlowModFailed(code) => code.name(),
            ErrorCode::PortModFailed(code) => code.name(),
            ErrorCode::QueueOpFailed(code) => code.name(),
            ErrorCode::Unknown { .. } => None,
        }
    }

    /// What usually causes it, in one plain sentence.
    pub const fn hint(self) -> Option<&'static str> {
        match self {
            ErrorCode::HelloFailed(code) => hello_failed_hint(code),
            ErrorCode::BadRequest(code) => bad_request_hint(code),
            ErrorCode::BadAction(code) => bad_action_hint(code),
            ErrorCode::FlowModFailed(code) => flow_mod_failed_hint(code),
            ErrorCode::PortModFailed(code) => port_mod_failed_hint(code),
            ErrorCode::QueueOpFailed(code) => queue_op_failed_hint(code),
            ErrorCode::Unknown { .. } => None,
        }
    }
}

/// Type and code by name, as `OFPET_BAD_REQUEST/OFPBRC_BAD_TYPE`; by number where they have none.
impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{}/{name}", self.error_type()),
            None => write!(f, "{}/{}", self.error_type(), self.code()),
        }
    }
}

const fn hello_failed_hint(code: HelloFailedCode) -> Option<&'static str> {
    Some(match code {
        HelloFailedCode::INCOMPATIBLE => {
            "the two ends share no OpenFlow version: enable another one on the switch (Open vSwitch: protocols=...)"
        }
        HelloFailedCode::EPERM => {
            "the switch does not accept this controller: look at its access rules"
        }
        _ => return None,
    })
}

const fn bad_request_hint(code: BadRequestCode) -> Option<&'static str> {
    Some(match code {
        BadRequestCode::BAD_VERSION => {
            "a message carried another version than the one agreed on in the HELLOs"
        }
        BadRequestCode::BAD_TYPE => {
            "the switch does not implement this message; many leave out queues and barriers"
        }
        BadRequestCode::BAD_STAT => "the switch does not keep this kind of statistics",
        BadRequestCode::BAD_VENDOR => "the switch knows no extensions of this vendor",
        BadRequestCode::BAD_SUBTYPE => {
            "the switch knows the vendor, but not this extension of it; its software may be too old"
        }
        BadRequestCode::EPERM => {
            "the switch allows this to another controller only, or its configuration forbids it"
        }
        BadRequestCode::BAD_LEN => {
            "the switch counts another length for this message: one of the two ends has a bug"
        }
        BadRequestCode::BUFFER_EMPTY => {
            "the buffered frame was sent already: two answers were given to one PACKET_IN"
        }
        BadRequestCode::BUFFER_UNKNOWN => {
            "the switch has let go of the buffered frame: the answer came too late, or its buffers are few"
        }
        _ => return None,
    })
}

const fn bad_action_hint(code: BadActionCode) -> Option<&'static str> {
    Some(match code {
        BadActionCode::BAD_TYPE => {
            "the switch does not implement this action; see its FEATURES_REPLY"
        }
        BadActionCode::BAD_LEN => {
            "the switch counts another length for this action: one of the two ends has a bug"
        }
        BadActionCode::BAD_VENDOR => "the switch knows no actions of this vendor",
        BadActionCode::BAD_VENDOR_TYPE => {
            "the switch knows the vendor, but not this action of it; its software may be too old"
        }
        BadActionCode::BAD_OUT_PORT => {
            "the port does not exist, is gone, or is the one the flow's frames come in by (use IN_PORT for that)"
        }
        BadActionCode::BAD_ARGUMENT => {
            "a value does not fit its field, such as a VLAN id above 4095 or a TOS with its low bits set"
        }
        BadActionCode::EPERM => "the switch's configuration forbids this action",
        BadActionCode::TOO_MANY => "the list of actions is longer than the hardware can do",
        BadActionCode::BAD_QUEUE => {
            "the port has no such queue: it is to be set up on the switch first"
        }
        _ => return None,
    })
}

const fn flow_mod_failed_hint(code: FlowModFailedCode) -> Option<&'static str> {
    Some(match code {
        FlowModFailedCode::ALL_TABLES_FULL => {
            "the flow tables are full: use coarser flows or shorter idle timeouts"
        }
        FlowModFailedCode::OVERLAP => {
            "a flow of the same priority matches some of the same frames, and CHECK_OVERLAP forbids that"
        }
        FlowModFailedCode::EPERM => {
            "the switch allows changes of its flows to another controller only, or its configuration forbids this one"
        }
        FlowModFailedCode::BAD_EMERG_TIMEOUT => "an emergency flow must not have a timeout",
        FlowModFailedCode::BAD_COMMAND => "the switch does not know this command of FLOW_MOD",
        FlowModFailedCode::UNSUPPORTED => {
            "the switch can do these actions, but not in this order; put changes before outputs"
        }
        _ => return None,
    })
}

const fn port_mod_failed_hint(code: PortModFailedCode) -> Option<&'static str> {
    Some(match code {
        PortModFailedCode::BAD_PORT => "the port does not exist, or is gone",
        PortModFailedCode::BAD_HW_ADDR => {
            "the port has another hardware address than the message says: it may have been replaced"
        }
        _ => return None,
    })
}

const fn queue_op_failed_hint(code: QueueOpFailedCode) -> Option<&'static str> {
    Some(match code {
        QueueOpFailedCode::BAD_PORT => "the port does not exist, or is gone",
        QueueOpFailedCode::BAD_QUEUE => {
            "the port has no such queue: it is to be set up on the switch first"
        }
        QueueOpFailedCode::EPERM => "the switch's configuration forbids looking at its queues",
        _ => return None,
    })
}

/// `OFPT_ERROR`: `struct ofp_error_msg`, 12 bytes with the header, then the data.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Error {
    /// What went wrong.
    pub code: ErrorCode,
    /// At least the first 64 bytes of the message that failed; text where a HELLO failed.
    pub data: Vec<u8>,
}

impl Error {
    /// What usually causes it, in one plain sentence.
    pub fn hint(&self) -> Option<&'static str> {
        self.code.hint()
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let kind = reader.u16("error_msg.type")?;
        let code = ErrorCode::from_wire(kind, reader.u16("error_msg.code")?);
        Ok(Error { code, data: reader.remaining().to_vec() })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u16(self.code.error_type().0);
        writer.u16(self.code.code());
        writer.bytes(&self.data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_numbers_on_the_wire_survive() {
        for (kind, code) in (0..8).flat_map(|kind| (0..12).map(move |code| (kind, code))) {
            let error = ErrorCode::from_wire(kind, code);
            assert_eq!((error.error_type().0, error.code()), (kind, code));
        }
    }

    /// How many codes each type has (§5.4.4); every one has a name and a hint, and nothing else
    /// has.
    #[test]
    fn every_code_has_a_name_and_a_hint() {
        for (kind, codes) in [2, 9, 9, 6, 2, 3, 0].into_iter().enumerate() {
            for code in 0..16 {
                let error = ErrorCode::from_wire(kind as u16, code);
                assert_eq!(error.name().is_some(), code < codes, "{error}");
                assert_eq!(error.hint().is_some(), code < codes, "{error}");
            }
        }
    }

    #[test]
    fn errors_are_shown_by_name() {
        assert_eq!(ErrorCode::from_wire(1, 1).to_string(), "OFPET_BAD_REQUEST/OFPBRC_BAD_TYPE");
        assert_eq!(ErrorCode::from_wire(3, 99).to_string(), "OFPET_FLOW_MOD_FAILED/99");
        assert_eq!(ErrorCode::from_wire(0xb0c2, 1).to_string(), "45250/1");
    }
}
