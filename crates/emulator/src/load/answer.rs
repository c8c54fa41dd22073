//! What a FLOW_MOD or PACKET_OUT says about the request it answers.
//!
//! A controller is free to choose the xids of what it sends, and most of them do; so an xid is only
//! one of four ways in which an answer names its request, and the weakest. See [`super`] for their
//! order.

use super::packet_in::{NO_BUFFER, number_in};
use aldis_wire::header::kind;
use aldis_wire::{Malformed, Raw, Reason, Version};

/// By what the answers without a buffer id were recognised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AnswerForm {
    /// The frame that a PACKET_OUT carries.
    Frame,
    /// The source address that a FLOW_MOD matches on.
    Match,
    /// The xid.
    Xid,
}

/// `OFPFC_ADD`, `OFPFC_MODIFY` and `OFPFC_MODIFY_STRICT`; what is above deletes (1.0 §5.3.3, 1.3.5
/// §7.3.4.2).
const COMMAND_MAX: u16 = 2;

/// `OFPFW_DL_SRC` (1.0 §5.2.3).
const WILDCARD_DL_SRC: u32 = 1 << 2;

/// `OXM_OF_ETH_SRC`, class, field and length, without a mask (1.3.5 §7.2.3.7).
const OXM_ETH_SRC: [u8; 4] = [0x80, 0x00, 4 << 1, 6];

/// The buffer id that it names, if any.
///
/// # Errors
/// It ends before its buffer id.
#[inline]
pub(super) fn buffer_id(message: &Raw<'_>, version: Version) -> Result<Option<u32>, Malformed> {
    // OpenFlow 1.0 §5.3.3, 1.3.5 §7.3.4.2; §5.3.6, §7.3.7.
    let offset = match (message.header.kind, version) {
        (kind::FLOW_MOD, Version::V10) => 64,
        (kind::FLOW_MOD, Version::V13) => 32,
        _ => 8,
    };
    let buffer_id = message.bytes.get(offset..offset + 4).and_then(|id| id.first_chunk());
    match buffer_id.map(|&id| u32::from_be_bytes(id)) {
        None => Err(Malformed { field: "buffer_id", offset, reason: Reason::Truncated }),
        Some(NO_BUFFER) => Ok(None),
        buffer_id => Ok(buffer_id),
    }
}

/// The sender's address and the number of the frame that a PACKET_OUT carries, if it carries one as
/// long as ours.
pub(super) fn frame(message: &Raw<'_>, version: Version) -> Option<(u64, u32)> {
    let (actions_len, head) = match version {
        Version::V10 => (message.bytes.get(14..16)?, 16),
        Version::V13 => (message.bytes.get(16..18)?, 24),
    };
    let actions_len = usize::from(actions_len[0]) << 8 | usize::from(actions_len[1]);
    let frame = message.bytes.get(head + actions_len..)?;
    Some((mac(frame.get(6..12)?), number_in(frame)?))
}

/// The sender's address on which the rule of a FLOW_MOD matches, if it is one that adds or changes
/// a rule and has an exact one.
pub(super) fn source(message: &Raw<'_>, version: Version) -> Option<u64> {
    let bytes = message.bytes;
    match version {
        Version::V10 => {
            let wildcards = u32::from_be_bytes(*bytes.get(8..12)?.first_chunk()?);
            let command = u16::from_be_bytes(*bytes.get(56..58)?.first_chunk()?);
            let is_exact = wildcards & WILDCARD_DL_SRC == 0 && command <= COMMAND_MAX;
            is_exact.then(|| mac(&bytes[14..20]))
        }
        Version::V13 if u16::from(*bytes.get(25)?) <= COMMAND_MAX => eth_src(bytes.get(48..)?),
        Version::V13 => None,
    }
}

/// The `OXM_OF_ETH_SRC` of a match of 1.3.
fn eth_src(matching: &[u8]) -> Option<u64> {
    let len = usize::from(u16::from_be_bytes(*matching.get(2..4)?.first_chunk()?));
    let mut fields = matching.get(4..len)?;
    while let Some((header, rest)) = fields.split_first_chunk::<4>() {
        let value = rest.get(..header[3].into())?;
        if *header == OXM_ETH_SRC {
            return Some(mac(value));
        }
        fields = &rest[value.len()..];
    }
    None
}

/// Six bytes as a number.
fn mac(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |mac, &byte| mac << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_wire::Chop;
    use proptest::prelude::*;

    fn message(version: Version, kind: u8, body: &[u8]) -> Vec<u8> {
        let length = (8 + body.len() as u16).to_be_bytes();
        [&[version.wire(), kind, length[0], length[1], 0, 0, 0, 0], body].concat()
    }

    proptest! {
        /// Whatever a controller sends, nothing panics.
        #[test]
        fn no_bytes_panic(body in prop::collection::vec(any::<u8>(), 0..200), v13: bool) {
            let version = if v13 { Version::V13 } else { Version::V10 };
            for kind in [kind::FLOW_MOD, kind::PACKET_OUT] {
                let bytes = message(version, kind, &body);
                let raw = Chop::new(&bytes).next().unwrap().unwrap();
                let _ = (buffer_id(&raw, version), frame(&raw, version), source(&raw, version));
            }
        }

        /// The address is found behind any other fields; a deletion names none.
        #[test]
        fn a_source_is_found_behind_other_fields(
            before in prop::collection::vec((0u8..40, prop::collection::vec(any::<u8>(), 0..9)), 0..5),
            mac: [u8; 6],
            command in 0u8..5,
        ) {
            let mut fields: Vec<u8> = before
                .iter()
                .filter(|(field, _)| *field != 4)
                .flat_map(|(field, value)| [&[0x80, 0, field << 1, value.len() as u8], &value[..]].concat())
                .collect();
            fields.extend([&OXM_ETH_SRC[..], &mac].concat());
            let mut body = vec![0; 40];
            body[17] = command;
            body.extend([0, 1, 0, 4 + fields.len() as u8]);
            body.extend(fields);
            let bytes = message(Version::V13, kind::FLOW_MOD, &body);
            let raw = Chop::new(&bytes).next().unwrap().unwrap();
            let expected = (command <= 2).then(|| super::mac(&mac));
            prop_assert_eq!(source(&raw, Version::V13), expected);
        }
    }
}
