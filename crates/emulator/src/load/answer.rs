//! Which request a FLOW_MOD or PACKET_OUT answers.

use super::outstanding::Outstanding;
use super::packet_in::{NO_BUFFER, number_in};
use aldis_wire::header::kind;
use aldis_wire::{Malformed, Raw, Reason, Version};

/// The number of the request that it answers: its buffer id, or else [`unbuffered`].
///
/// # Errors
/// It ends before its buffer id.
#[inline]
pub(super) fn number(
    message: &Raw<'_>,
    version: Version,
    outstanding: &Outstanding,
) -> Result<u32, Malformed> {
    // The buffer id: OpenFlow 1.0 §5.3.3, 1.3.5 §7.3.4.2; §5.3.6, §7.3.7.
    let offset = match (message.header.kind, version) {
        (kind::FLOW_MOD, Version::V10) => 64,
        (kind::FLOW_MOD, Version::V13) => 32,
        _ => 8,
    };
    let buffer_id = message.bytes.get(offset..offset + 4).and_then(|id| id.first_chunk());
    match buffer_id.map(|&id| u32::from_be_bytes(id)) {
        None => Err(Malformed { field: "buffer_id", offset, reason: Reason::Truncated }),
        Some(NO_BUFFER) => Ok(unbuffered(*message, version, outstanding)),
        Some(buffer_id) => Ok(buffer_id),
    }
}

/// The same for one that names no buffer: by its xid or else by the frame it carries.
#[inline(never)]
fn unbuffered(message: Raw<'_>, version: Version, outstanding: &Outstanding) -> u32 {
    let xid = message.header.xid;
    if message.header.kind == kind::FLOW_MOD || outstanding.contains(xid) {
        return xid;
    }
    let (actions_len, head) = match version {
        Version::V10 => (message.bytes.get(14..16), 16),
        Version::V13 => (message.bytes.get(16..18), 24),
    };
    let actions_len = actions_len.map_or(0, |len| usize::from(len[0]) << 8 | usize::from(len[1]));
    message.bytes.get(head + actions_len..).and_then(number_in).unwrap_or(xid)
}
