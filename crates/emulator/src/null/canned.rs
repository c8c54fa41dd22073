//! The answers of the null controller, made once and patched.

use aldis_wire::Raw;
use aldis_wire::header::{Header, Version, kind};

const V10: u8 = Version::V10.wire();
const V13: u8 = Version::V13.wire();

/// `OFPT_FEATURES_REQUEST`, the same number in both versions.
const FEATURES_REQUEST: u8 = 5;

/// The buffer id that means that the switch kept no copy of the packet.
const NO_BUFFER: [u8; 4] = [0xff; 4];

/// The greeting: the highest version spoken; a lower one in the switch's HELLO is answered in kind.
pub(super) const HELLO: [u8; 8] = [V13, kind::HELLO, 0, 8, 0, 0, 0, 1];

/// Where the frame begins in a PACKET_IN of 1.0 (OpenFlow 1.0 §5.4.1).
const FRAME_V10: usize = 18;

/// Where the match begins in a PACKET_IN of 1.3 (OpenFlow 1.3.5 §7.4.1), and the shortest message
/// that has one.
const MATCH_V13: usize = 24;
const PACKET_IN_LEN_MIN_V13: usize = MATCH_V13 + 8 + 2;

/// OpenFlow 1.0 §5.3.3: wildcards 0, in_port 1, idle_timeout 5, priority 32768, output to port 2.
const FLOW_MOD_V10: [u8; 80] = {
    let mut bytes = [0; 80];
    (bytes[0], bytes[1], bytes[3]) = (V10, kind::FLOW_MOD, 80);
    bytes[13] = 1;
    bytes[59] = 5;
    bytes[62] = 0x80;
    (bytes[68], bytes[69]) = (0xff, 0xff);
    (bytes[75], bytes[77]) = (8, 2);
    bytes
};
const FLOW_MOD_V10_BUFFER_ID: usize = 64;

/// OpenFlow 1.3.5 §7.3.4.2: in_port 1 in the match, idle_timeout 5, priority 32768, apply: output
/// to port 2.
const FLOW_MOD_V13: [u8; 88] = {
    let mut bytes = [0; 88];
    (bytes[0], bytes[1], bytes[3]) = (V13, kind::FLOW_MOD, 88);
    bytes[27] = 5;
    bytes[30] = 0x80;
    let mut any = 36;
    while any < 44 {
        bytes[any] = 0xff;
        any += 1;
    }
    // The match: type OXM, 12 bytes, one field of four bytes, padded to 16.
    (bytes[49], bytes[51], bytes[52], bytes[55], bytes[59]) = (1, 12, 0x80, 4, 1);
    // The instruction: apply actions, 24 bytes, one output of 16.
    (bytes[65], bytes[67], bytes[75], bytes[79]) = (4, 24, 16, 2);
    bytes
};
const FLOW_MOD_V13_BUFFER_ID: usize = 32;

/// OpenFlow 1.0 §5.3.6: no buffer, output to port 2; the frame follows.
const PACKET_OUT_V10: [u8; 24] = {
    let mut bytes = [0; 24];
    (bytes[0], bytes[1]) = (V10, kind::PACKET_OUT);
    (bytes[8], bytes[9], bytes[10], bytes[11]) = (0xff, 0xff, 0xff, 0xff);
    (bytes[15], bytes[19], bytes[21]) = (8, 8, 2);
    bytes
};

/// OpenFlow 1.3.5 §7.3.7: no buffer, output to port 2; the frame follows.
const PACKET_OUT_V13: [u8; 40] = {
    let mut bytes = [0; 40];
    (bytes[0], bytes[1]) = (V13, kind::PACKET_OUT);
    (bytes[8], bytes[9], bytes[10], bytes[11]) = (0xff, 0xff, 0xff, 0xff);
    (bytes[17], bytes[27], bytes[31]) = (16, 16, 2);
    bytes
};

/// Appends what answers `message`, if anything does.
#[inline]
pub(super) fn answer(message: &Raw<'_>, out: &mut Vec<u8>) {
    match (message.header.kind, message.header.version) {
        (kind::PACKET_IN, V10) if message.bytes.len() >= FRAME_V10 => packet_in_v10(message, out),
        (kind::PACKET_IN, V13) if message.bytes.len() >= PACKET_IN_LEN_MIN_V13 => {
            packet_in_v13(message, out);
        }
        (kind::HELLO, version) => {
            let header = Header { version, kind: FEATURES_REQUEST, length: 8, xid: 2 };
            out.extend_from_slice(&header.to_bytes());
        }
        (kind::ECHO_REQUEST, _) => {
            out.extend_from_slice(&Header { kind: kind::ECHO_REPLY, ..message.header }.to_bytes());
            out.extend_from_slice(&message.bytes[8..]);
        }
        _ => {}
    }
}

#[inline]
fn packet_in_v10(message: &Raw<'_>, out: &mut Vec<u8>) {
    let bytes = message.bytes;
    flow_mod::<80, FLOW_MOD_V10_BUFFER_ID>(&FLOW_MOD_V10, bytes, out);
    if bytes[8..12] == NO_BUFFER {
        packet_out(&PACKET_OUT_V10, bytes, &bytes[FRAME_V10..], out);
    }
}

#[inline]
fn packet_in_v13(message: &Raw<'_>, out: &mut Vec<u8>) {
    let bytes = message.bytes;
    flow_mod::<88, FLOW_MOD_V13_BUFFER_ID>(&FLOW_MOD_V13, bytes, out);
    if bytes[8..12] == NO_BUFFER {
        let match_len = u16::from_be_bytes([bytes[MATCH_V13 + 2], bytes[MATCH_V13 + 3]]) as usize;
        let frame = MATCH_V13 + match_len.next_multiple_of(8) + 2;
        packet_out(&PACKET_OUT_V13, bytes, bytes.get(frame..).unwrap_or_default(), out);
    }
}

/// A copy of the template with the xid and the buffer id of the request.
#[inline]
fn flow_mod<const LEN: usize, const BUFFER_ID: usize>(
    template: &[u8; LEN],
    request: &[u8],
    out: &mut Vec<u8>,
) {
    let answer = append(template, out);
    answer[4..8].copy_from_slice(&request[4..8]);
    answer[BUFFER_ID..BUFFER_ID + 4].copy_from_slice(&request[8..12]);
}

/// A copy of the template with the request's xid, then `frame`; nothing where that would be too
/// long for a message.
fn packet_out<const LEN: usize>(
    template: &[u8; LEN],
    request: &[u8],
    frame: &[u8],
    out: &mut Vec<u8>,
) {
    let Ok(length) = u16::try_from(LEN + frame.len()) else { return };
    let answer = append(template, out);
    answer[2..4].copy_from_slice(&length.to_be_bytes());
    answer[4..8].copy_from_slice(&request[4..8]);
    out.extend_from_slice(frame);
}

/// Appends a copy of `template` to `out` and hands it out to be patched.
///
/// Patching the copy is what makes it fast: to patch the template and copy it then would load bytes
/// in wide words that were just stored in narrow ones, and the processor waits for each such load
/// (measured: 8 ns a message).
#[inline(always)]
fn append<'a, const LEN: usize>(template: &[u8; LEN], out: &'a mut Vec<u8>) -> &'a mut [u8; LEN] {
    out.extend_from_slice(template);
    out.last_chunk_mut().expect("LEN bytes were appended")
}
