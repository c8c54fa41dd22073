//! Gathering: from whole messages to the requests of a batch.
//!
//! The hot half of chopping and parsing: it takes independent flow requests off the front of what
//! was received, one after the other, and stops at the first thing that is anything else. That
//! thing is a *fence*: what came before it is finished first, and what comes after it begins later.

use alloc::vec::Vec;

use aldis_wire::header::kind::PACKET_IN;
use aldis_wire::{Header, Malformed, PacketInView, Version, v10, v13};

use crate::batch::RequestHeader;

/// Ethertype of LLDP: about links, and so never independent of what else is known of them.
const LLDP: [u8; 2] = [0x88, 0xcc];

/// Ethertype of what takes its place where a switch that is not ours lies between: such switches
/// pass it on (BDDP).
const BDDP: [u8; 2] = [0x89, 0x42];

/// Takes the flow requests at `bytes[at..]` and says where the first other thing begins: a fence,
/// the beginning of a message still to come, or the end.
///
/// A PACKET_IN that cannot be parsed, and one that carries LLDP or BDDP, are fences.
#[inline]
pub fn parse(
    version: Version,
    bytes: &[u8],
    at: usize,
    requests: &mut Vec<RequestHeader>,
) -> usize {
    match version {
        Version::V10 => parse_v10(bytes, at, requests),
        Version::V13 => parse_v13(bytes, at, requests),
    }
}

// The two loops stand apart from their callers, so that all the registers are theirs: in the midst
// of a visit what carries one request to the next was kept in memory, and each took half as long
// again.

#[inline(never)]
fn parse_v10(bytes: &[u8], at: usize, requests: &mut Vec<RequestHeader>) -> usize {
    parse_with(glance_v10, Version::V10, bytes, at, requests)
}

#[inline(never)]
fn parse_v13(bytes: &[u8], at: usize, requests: &mut Vec<RequestHeader>) -> usize {
    parse_with(v13::packet_in::glance, Version::V13, bytes, at, requests)
}

/// Chops only: says where the first thing behind the flow requests at `bytes[at..]` begins, as
/// [`parse`] does, and how many of them there are. They are parsed elsewhere.
#[inline]
pub fn chop(version: Version, bytes: &[u8], at: usize) -> (usize, usize) {
    match version {
        Version::V10 => chop_with(glance_v10, version, bytes, at),
        Version::V13 => chop_with(v13::packet_in::glance, version, bytes, at),
    }
}

/// The single flow request that is the whole of `bytes[at..at + len]`, LLDP included.
///
/// # Errors
/// What is wrong with the message.
pub fn request(
    version: Version,
    bytes: &[u8],
    at: usize,
    len: usize,
) -> Result<RequestHeader, Malformed> {
    let message = &bytes[at..at + len];
    let view = match version {
        Version::V10 => v10::packet_in::view(message)?,
        Version::V13 => v13::packet_in::view(message)?,
    };
    let xid = u32::from_be_bytes([message[4], message[5], message[6], message[7]]);
    Ok(to_request(&view, at, xid))
}

#[inline(always)]
fn glance_v10(message: &[u8]) -> Option<PacketInView<'_>> {
    v10::packet_in::view(message).ok()
}

#[inline(always)]
fn parse_with(
    glance: impl Fn(&[u8]) -> Option<PacketInView<'_>>,
    version: Version,
    bytes: &[u8],
    mut at: usize,
    requests: &mut Vec<RequestHeader>,
) -> usize {
    while let Some(rest) = bytes.get(at..)
        && let Ok(Some(header)) = Header::peek(rest)
        && header.kind == PACKET_IN
        && header.version == version.wire()
        && let Some(message) = rest.get(..header.length as usize)
    {
        match glance(message) {
            Some(view) if is_lldp(view.frame) => break,
            Some(view) => requests.push(to_request(&view, at, header.xid)),
            None if parse_other(version, bytes, at, message.len(), requests) => {}
            None => break,
        }
        at += message.len();
    }
    at
}

/// The same loop without the requests. Apart from the one that makes them, whose registers it would
/// share.
#[inline(always)]
fn chop_with(
    glance: impl Fn(&[u8]) -> Option<PacketInView<'_>>,
    version: Version,
    bytes: &[u8],
    mut at: usize,
) -> (usize, usize) {
    let mut count = 0;
    let mut other = Vec::new();
    while let Some(rest) = bytes.get(at..)
        && let Ok(Some(header)) = Header::peek(rest)
        && header.kind == PACKET_IN
        && header.version == version.wire()
        && let Some(message) = rest.get(..header.length as usize)
    {
        match glance(message) {
            Some(view) if is_lldp(view.frame) => break,
            Some(_) => {}
            None if parse_other(version, bytes, at, message.len(), &mut other) => other.clear(),
            None => break,
        }
        at += message.len();
        count += 1;
    }
    (at, count)
}

/// Takes a flow request of another form than the one that is glanced at; whether it is one. Apart
/// from the others, since a view of either origin would be put together in memory, and cost more
/// than all the rest.
#[inline(never)]
fn parse_other(
    version: Version,
    bytes: &[u8],
    at: usize,
    len: usize,
    requests: &mut Vec<RequestHeader>,
) -> bool {
    let Ok(request) = request(version, bytes, at, len) else { return false };
    let frame_at = request.frame_at as usize;
    let is_fence = is_lldp(&bytes[frame_at..frame_at + usize::from(request.frame_len)]);
    if !is_fence {
        requests.push(request);
    }
    !is_fence
}

#[inline(always)]
fn is_lldp(frame: &[u8]) -> bool {
    frame.get(12..14).is_some_and(|ethertype| ethertype == LLDP || ethertype == BDDP)
}

#[inline(always)]
fn to_request(view: &PacketInView<'_>, at: usize, xid: u32) -> RequestHeader {
    RequestHeader {
        frame_at: (at + view.frame_at as usize) as u32,
        frame_len: view.frame.len() as u16,
        head_len: view.frame_at,
        total_len: view.total_len,
        reason: view.reason,
        stopped: false,
        in_port: view.in_port,
        buffer_id: view.buffer_id,
        xid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// An OpenFlow 1.0 PACKET_IN with a frame of 64 bytes of the given ethertype.
    fn packet_in(xid: u32, ethertype: u16) -> Vec<u8> {
        let mut bytes = Vec::from(Header { version: 1, kind: 10, length: 82, xid }.to_bytes());
        bytes.extend_from_slice(&[0, 0, 0, 9, 0, 64, 0, 3, 0, 0]);
        bytes.extend_from_slice(&[0; 12]);
        bytes.extend_from_slice(&ethertype.to_be_bytes());
        bytes.resize(82, 0);
        bytes
    }

    #[test]
    fn requests_are_taken_up_to_the_fence() {
        let echo = Header { version: 1, kind: 2, length: 8, xid: 7 }.to_bytes();
        let bytes =
            [packet_in(1, 0x800), packet_in(2, 0x806), echo.to_vec(), packet_in(3, 0x800)].concat();
        let mut requests = vec![];
        assert_eq!(parse(Version::V10, &bytes, 0, &mut requests), 164);
        let seen: Vec<_> =
            requests.iter().map(|r| (r.xid, r.frame_at, r.frame_len, r.in_port)).collect();
        assert_eq!(seen, [(1, 18, 64, 3), (2, 100, 64, 3)]);
        assert_eq!(parse(Version::V10, &bytes, 172, &mut requests), bytes.len());
    }

    /// Where one stops, the other does, whatever comes.
    #[test]
    fn what_is_chopped_is_what_is_parsed() {
        let echo = Header { version: 1, kind: 2, length: 8, xid: 7 }.to_bytes().to_vec();
        let ten = [packet_in(1, 0x800), packet_in(2, 0x88cc), packet_in(3, 0x806), echo].concat();
        let thirteen = [
            packet_in_v13(0x800, false),
            packet_in_v13(0x800, true),
            packet_in_v13(0x88cc, true),
            packet_in_v13(0x800, false),
        ]
        .concat();
        for (version, bytes) in [(Version::V10, ten), (Version::V13, thirteen)] {
            for end in 0..=bytes.len() {
                for at in (0..=end).step_by(2) {
                    let mut requests = vec![];
                    let stops = parse(version, &bytes[..end], at, &mut requests);
                    let chopped = chop(version, &bytes[..end], at);
                    assert_eq!(chopped, (stops, requests.len()), "{version} {at}..{end}");
                }
            }
        }
    }

    /// The same of OpenFlow 1.3, with the metadata behind the incoming port or without.
    fn packet_in_v13(ethertype: u16, metadata: bool) -> Vec<u8> {
        let fields: &[u8] = if metadata { &[0x80, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 5] } else { &[] };
        let match_len = 12 + fields.len();
        let length = 26 + match_len.next_multiple_of(8) + 64;
        let header = Header { version: 4, kind: 10, length: length as u16, xid: 5 };
        let mut bytes = Vec::from(header.to_bytes());
        bytes.extend_from_slice(&[0, 0, 0, 9, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(&[0, 1, 0, match_len as u8, 0x80, 0, 0, 4, 0, 0, 0, 3]);
        bytes.extend_from_slice(fields);
        bytes.resize(length - 64 + 12, 0);
        bytes.extend_from_slice(&ethertype.to_be_bytes());
        bytes.resize(length, 0);
        bytes
    }

    #[test]
    fn requests_of_1_3_are_taken_whatever_their_match_says() {
        let bytes = [packet_in_v13(0x800, false), packet_in_v13(0x800, true)].concat();
        let mut requests = vec![];
        assert_eq!(parse(Version::V13, &bytes, 0, &mut requests), bytes.len());
        let seen: Vec<_> = requests.iter().map(|r| (r.frame_at, r.frame_len, r.in_port)).collect();
        assert_eq!(seen, [(42, 64, 3), (106 + 50, 64, 3)]);
        for metadata in [false, true] {
            let lldp = packet_in_v13(0x88cc, metadata);
            assert_eq!(parse(Version::V13, &lldp, 0, &mut requests), 0);
        }
    }

    #[test]
    fn lldp_another_version_and_half_a_message_are_fences() {
        let mut requests = vec![];
        let lldp = packet_in(1, 0x88cc);
        assert_eq!(parse(Version::V10, &lldp, 0, &mut requests), 0);
        assert_eq!(parse(Version::V10, &packet_in(1, 0x8942), 0, &mut requests), 0);
        assert_eq!(request(Version::V10, &lldp, 0, 82).unwrap().frame_at, 18);
        let plain = packet_in(1, 0x800);
        assert_eq!(parse(Version::V13, &plain, 0, &mut requests), 0);
        assert_eq!(parse(Version::V10, &plain[..81], 0, &mut requests), 0);
        assert!(requests.is_empty());
    }
}
