//! The eight bytes that begin every OpenFlow message of every version (OpenFlow 1.0 §5.1, 1.3.5
//! §7.1.1).

use crate::reader::{Malformed, Reason};

/// Length of the header in bytes, and so the shortest message there is.
pub const HEADER_LEN: usize = 8;

/// The longest message that the 16-bit length can say, in bytes.
pub const MESSAGE_LEN_MAX: usize = u16::MAX as usize;

/// The transaction id used by messages that answer nothing and await nothing.
pub const XID_NONE: u32 = 0;

/// Message types whose numbers are the same in every version, and those that the data path looks at
/// before anything else is parsed.
pub mod kind {
    /// `OFPT_HELLO`
    pub const HELLO: u8 = 0;
    /// `OFPT_ERROR`
    pub const ERROR: u8 = 1;
    /// `OFPT_ECHO_REQUEST`
    pub const ECHO_REQUEST: u8 = 2;
    /// `OFPT_ECHO_REPLY`
    pub const ECHO_REPLY: u8 = 3;
    /// `OFPT_EXPERIMENTER`; with OpenFlow 1.0 `OFPT_VENDOR`
    pub const EXPERIMENTER: u8 = 4;
    /// `OFPT_SET_CONFIG`
    pub const SET_CONFIG: u8 = 9;
    /// `OFPT_PACKET_IN`
    pub const PACKET_IN: u8 = 10;
    /// `OFPT_FLOW_REMOVED`
    pub const FLOW_REMOVED: u8 = 11;
    /// `OFPT_PORT_STATUS`
    pub const PORT_STATUS: u8 = 12;
    /// `OFPT_PACKET_OUT`
    pub const PACKET_OUT: u8 = 13;
    /// `OFPT_FLOW_MOD`
    pub const FLOW_MOD: u8 = 14;
}

/// A version that Aldis speaks. The byte on the wire is [`Version::wire`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Version {
    /// OpenFlow 1.0
    V10,
    /// OpenFlow 1.3
    V13,
}

impl Version {
    /// Every version, lowest first.
    pub const ALL: [Version; 2] = [Version::V10, Version::V13];

    /// The byte that stands for this version in a header.
    pub const fn wire(self) -> u8 {
        match self {
            Version::V10 => 0x01,
            Version::V13 => 0x04,
        }
    }

    /// The version that a header byte stands for, if Aldis speaks it.
    pub const fn from_wire(byte: u8) -> Option<Version> {
        match byte {
            0x01 => Some(Version::V10),
            0x04 => Some(Version::V13),
            _ => None,
        }
    }
}

impl core::fmt::Display for Version {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Version::V10 => "OpenFlow 1.0",
            Version::V13 => "OpenFlow 1.3",
        })
    }
}

/// A message header: `version | type | length | xid`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The version byte, kept raw: a peer may speak one that we do not.
    pub version: u8,
    /// The message type; its meaning depends on the version.
    pub kind: u8,
    /// Length of the whole message in bytes, this header included; at least [`HEADER_LEN`].
    pub length: u16,
    /// Transaction id: a reply carries that of its request.
    pub xid: u32,
}

impl Header {
    /// Reads the header at the start of `bytes`; `None` while fewer than eight are there.
    ///
    /// # Errors
    /// A length below [`HEADER_LEN`]: the stream cannot be cut any further.
    #[inline]
    pub fn peek(bytes: &[u8]) -> Result<Option<Header>, Malformed> {
        let Some((head, _)) = bytes.split_first_chunk::<HEADER_LEN>() else { return Ok(None) };
        let [version, kind, l0, l1, x0, x1, x2, x3] = *head;
        let length = u16::from_be_bytes([l0, l1]);
        if (length as usize) < HEADER_LEN {
            return Err(Malformed { field: "header.length", offset: 2, reason: Reason::BadLength });
        }
        Ok(Some(Header { version, kind, length, xid: u32::from_be_bytes([x0, x1, x2, x3]) }))
    }

    /// The header as it stands on the wire.
    #[inline]
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let [l0, l1] = self.length.to_be_bytes();
        let [x0, x1, x2, x3] = self.xid.to_be_bytes();
        [self.version, self.kind, l0, l1, x0, x1, x2, x3]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peek_is_the_inverse_of_to_bytes() {
        let header = Header { version: 4, kind: 10, length: 82, xid: 0xdead_beef };
        assert_eq!(Header::peek(&header.to_bytes()), Ok(Some(header)));
    }

    #[test]
    fn seven_bytes_are_not_yet_a_header() {
        assert_eq!(Header::peek(&[1, 0, 0, 8, 0, 0, 0]), Ok(None));
    }

    #[test]
    fn a_length_below_eight_is_refused() {
        for length in 0..8u8 {
            let error = Header::peek(&[1, 0, 0, length, 0, 0, 0, 0]).unwrap_err();
            assert_eq!((error.field, error.offset), ("header.length", 2));
        }
    }
}
