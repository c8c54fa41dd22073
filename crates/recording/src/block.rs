//! Blocks and options of pcapng (draft-ietf-opsawg-pcapng §3), in little-endian order.

/// Types of blocks.
pub(crate) mod kind {
    pub(crate) const SECTION: u32 = 0x0a0d_0d0a;
    pub(crate) const INTERFACE: u32 = 1;
    pub(crate) const PACKET: u32 = 6;
    pub(crate) const CUSTOM: u32 = 0x0bad;
}

/// Codes of options.
pub(crate) mod code {
    pub(crate) const END: u16 = 0;
    pub(crate) const COMMENT: u16 = 1;
    /// Of a section: what wrote it.
    pub(crate) const APPLICATION: u16 = 4;
    /// Of an interface: what one unit of time is.
    pub(crate) const RESOLUTION: u16 = 9;
    /// Of an interface: its name.
    pub(crate) const NAME: u16 = 2;
    /// Of a packet: how many were lost before it.
    pub(crate) const DROPPED: u16 = 4;
    /// Bytes with a meaning of their own.
    pub(crate) const CUSTOM: u16 = 2989;
}

/// What says in which order the bytes of numbers stand.
pub(crate) const BYTE_ORDER: u32 = 0x1a2b_3c4d;

/// The enterprise number of custom blocks and options: that of examples (RFC 5612), for Aldis has
/// none of its own. [`OURS`] behind it tells ours from those of others.
pub(crate) const ENTERPRISE: u32 = 32_473;

/// The first bytes of what is ours.
pub(crate) const OURS: [u8; 4] = *b"ALDS";

/// Bytes of a block that are none of its body: type, and length before and behind.
pub(crate) const AROUND: usize = 12;

/// Writes a block, whose body `fill` writes.
pub(crate) fn block(out: &mut Vec<u8>, kind: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    fill(out);
    pad(out, begin);
    let len = (out.len() - begin + 4) as u32;
    out[begin + 4..begin + 8].copy_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&len.to_le_bytes());
}

/// Writes a custom block of ours: of this kind, with this body.
pub(crate) fn custom(out: &mut Vec<u8>, of: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    block(out, kind::CUSTOM, |out| {
        out.extend_from_slice(&ENTERPRISE.to_le_bytes());
        out.extend_from_slice(&OURS);
        out.extend_from_slice(&[of, 0, 0, 0]);
        fill(out);
    });
}

/// Writes an option.
pub(crate) fn option(out: &mut Vec<u8>, code: u16, value: &[&[u8]]) {
    let len: usize = value.iter().map(|part| part.len()).sum();
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&(len as u16).to_le_bytes());
    let begin = out.len();
    value.iter().for_each(|part| out.extend_from_slice(part));
    pad(out, begin);
}

/// Fills up to a multiple of four bytes since `begin`.
pub(crate) fn pad(out: &mut Vec<u8>, begin: usize) {
    let more = (out.len() - begin).wrapping_neg() % 4;
    out.extend_from_slice(&[0; 3][..more]);
}

/// The value of the first option of ours, of those that stand here.
pub(crate) fn ours(mut options: &[u8]) -> Option<&[u8]> {
    while let Some((&[a, b, c, d], rest)) = options.split_first_chunk() {
        let (code, len) = (u16::from_le_bytes([a, b]), usize::from(u16::from_le_bytes([c, d])));
        let value = rest.get(..len)?;
        if code == code::CUSTOM
            && let Some(value) = ours_of(value)
        {
            return Some(value);
        }
        if code == code::END {
            return None;
        }
        options = rest.get(len.next_multiple_of(4)..)?;
    }
    None
}

/// What stands behind the enterprise number and the mark that it is ours.
pub(crate) fn ours_of(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(&ENTERPRISE.to_le_bytes())?.strip_prefix(&OURS)
}
