//! What decoding may allocate: a fixed multiple of the message, whatever its lengths claim.

use crate::{PER_BYTE_MAX_V10, PER_BYTE_MAX_V13};
use aldis_testkit::counting::bounded;
use aldis_testkit::golden;

/// The longest message of this kind: the tail of `message`, repeated.
fn swollen(message: &[u8], tail: usize) -> Vec<u8> {
    let mut bytes = message.to_vec();
    while bytes.len() + tail <= usize::from(u16::MAX) {
        bytes.extend_from_within(bytes.len() - tail..);
    }
    let length = bytes.len() as u16;
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
    bytes
}

fn check_corpus<T>(version: &str, decode: impl Fn(&[u8]) -> T, per_byte_max: usize) {
    for golden in golden::corpus(version) {
        bounded(&golden.name, per_byte_max, &decode, &golden.bytes);
        for place in 0..golden.bytes.len() - 1 {
            let mut lying = golden.bytes.clone();
            lying[place..place + 2].fill(0xff);
            bounded(&golden.name, per_byte_max, &decode, &lying);
        }
        for tail in [8, 16, 24, 48, 88, 104] {
            if golden.bytes.len() >= 8 + tail {
                bounded(&golden.name, per_byte_max, &decode, &swollen(&golden.bytes, tail));
            }
        }
    }
}

#[test]
fn decoding_openflow_1_0_allocates_no_more_than_its_input_warrants() {
    check_corpus("v10", aldis_wire::v10::Message::decode, PER_BYTE_MAX_V10);
}

#[test]
fn decoding_openflow_1_3_allocates_no_more_than_its_input_warrants() {
    check_corpus("v13", aldis_wire::v13::Message::decode, PER_BYTE_MAX_V13);
}

/// The structure of 1.3 that takes most memory for its length: a match field of no class without a
/// value. Of so many of them, the last makes the list double.
#[test]
fn decoding_the_smallest_match_fields_allocates_no_more_than_that() {
    const FIELDS: usize = 8193;
    let mut packet_in = vec![4, 10, 0, 0];
    packet_in.extend([0; 20]);
    packet_in.extend([0, 1]);
    packet_in.extend(((4 + 4 * FIELDS) as u16).to_be_bytes());
    packet_in.extend([0x12, 0x34, 0, 0].repeat(FIELDS));
    packet_in.extend([0; 2]);
    let length = packet_in.len() as u16;
    packet_in[2..4].copy_from_slice(&length.to_be_bytes());
    let decode = aldis_wire::v13::Message::decode;
    assert!(bounded("fields", PER_BYTE_MAX_V13, decode, &packet_in).is_ok());
}
