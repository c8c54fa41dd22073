//! Bytes that lie: every length field with every value that could hurt, every truncation, every
//! version and type.
//!
//! The corpus is the golden vectors, which cover every message and every structure. Wherever a
//! message is changed, the outcome is one of two: [`Malformed`], at a place inside the message, or
//! a message that is kept whole, which means that it encodes and decodes to itself again. Nothing
//! panics, and nothing asks for more memory than its input warrants.

use crate::{PER_BYTE_MAX_V10, PER_BYTE_MAX_V13};
use aldis_testkit::counting::bounded;
use aldis_testkit::golden::{self, Golden};
use aldis_wire::{Malformed, Reason, Version, msg, v10, v13};
use std::collections::{BTreeMap, BTreeSet};

/// A version's decoder, held to the law above.
struct Decoder {
    /// The folder of its golden vectors.
    folder: &'static str,
    version: u8,
    /// How many message types it has; they are numbered from 0.
    types: u8,
    /// Decodes, and holds what comes out to the law.
    decode: fn(&str, &[u8]) -> Result<(), Malformed>,
    /// The length fields that there are, by the names that [`Malformed`] gives them.
    lengths: &'static [&'static str],
}

const V10: Decoder = Decoder {
    folder: "v10",
    version: 1,
    types: v10::MessageType::NAMED.len() as u8,
    decode: decode_v10,
    lengths: &[
        "action.len",
        "flow_stats.length",
        "header.length",
        "packet_out.actions_len",
        "packet_queue.len",
        "queue_prop.len",
    ],
};

const V13: Decoder = Decoder {
    folder: "v13",
    version: 4,
    types: v13::MessageType::NAMED.len() as u8,
    decode: decode_v13,
    lengths: &[
        "action.length",
        "action_id.length",
        "bucket.len",
        "flow_stats.length",
        "group_desc.length",
        "group_stats.length",
        "header.length",
        "hello.element.length",
        "instruction.length",
        "instruction_id.length",
        "match.length",
        "meter_band.len",
        "meter_config.length",
        "meter_stats.len",
        "oxm.length",
        "packet_out.actions_len",
        "packet_queue.len",
        "queue_prop.len",
        "table_feature_prop.length",
        "table_features.length",
    ],
};

/// The first bytes, in hex: the rest of a long message is more of the same.
fn shown(bytes: &[u8]) -> String {
    format!("{:02x?} ({} bytes)", &bytes[..bytes.len().min(160)], bytes.len())
}

/// What a version's own words keep, the neutral ones keep too: `bytes` are written as `again`.
fn keep_neutral(name: &str, version: Version, bytes: &[u8], again: &[u8]) {
    let decode = |bytes: &[u8]| msg::Message::decode(version, bytes);
    // The exact words are read on the way to the neutral ones, which are those of 1.3.
    let (xid, neutral) = bounded(name, PER_BYTE_MAX_V10 + PER_BYTE_MAX_V13, decode, bytes)
        .expect("the exact words were read");
    let mut written = Vec::new();
    let encoded = neutral.encode(version, xid, &mut written);
    encoded.unwrap_or_else(|error| panic!("{name}: {error}: {}", shown(bytes)));
    assert!(written == again, "{name}: {} became {}", shown(again), shown(&written));
    neutral.meaning();
}

macro_rules! decoder {
    ($decode:ident, $version:ident, $Version:expr, $per_byte_max:expr) => {
        fn $decode(name: &str, bytes: &[u8]) -> Result<(), Malformed> {
            let view = bounded(
                name,
                $per_byte_max,
                |bytes| $version::packet_in::view(bytes).map(drop),
                bytes,
            );
            let decoded = bounded(name, $per_byte_max, $version::Message::decode, bytes);
            if let (Err(refusal), Ok((_, $version::Message::PacketIn(_)))) = (view, &decoded) {
                // The one thing that a PACKET_IN may lack, and that is needed all the same.
                assert_eq!(refusal.field, "packet_in.in_port", "{name}");
            }
            let (xid, message) = decoded?;
            let mut again = Vec::new();
            message
                .encode(xid, &mut again)
                .unwrap_or_else(|error| panic!("{name}: {error}: {}", shown(bytes)));
            let kept = $version::Message::decode(&again);
            assert!(
                kept == Ok((xid, message)),
                "{name}: {} became {}",
                shown(bytes),
                shown(&again)
            );
            keep_neutral(name, $Version, bytes, &again);
            Ok(())
        }
    };
}

decoder!(decode_v10, v10, Version::V10, PER_BYTE_MAX_V10);
decoder!(decode_v13, v13, Version::V13, PER_BYTE_MAX_V13);

impl Decoder {
    /// Decodes a message that may lie.
    fn try_on(&self, name: &str, bytes: &[u8]) -> Result<(), Malformed> {
        let outcome = (self.decode)(name, bytes);
        if let Err(Malformed { field, offset, .. }) = outcome {
            assert!(offset <= bytes.len(), "{name}: {field} at {offset} of {} bytes", bytes.len());
        }
        outcome
    }

    fn corpus(&self) -> Vec<Golden> {
        let corpus = golden::corpus(self.folder);
        assert!(!corpus.is_empty());
        corpus
    }
}

/// The two bytes at `place`.
fn u16_at(bytes: &[u8], place: usize) -> u16 {
    u16::from_be_bytes([bytes[place], bytes[place + 1]])
}

fn with_u16(bytes: &[u8], place: usize, value: u16) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    changed[place..place + 2].copy_from_slice(&value.to_be_bytes());
    changed
}

/// The first `len` bytes, in a header that says so.
fn cut(bytes: &[u8], len: usize) -> Vec<u8> {
    with_u16(&bytes[..len], 2, len as u16)
}

/// Values that a length in `place` could do harm with: all that could be the minimum of a structure
/// and those beside it, those around what the length was, those around what is left of the message,
/// counted from the field, from the structure's type before it or from behind it, and the largest.
fn lengths_to_try(bytes: &[u8], place: usize) -> BTreeSet<u16> {
    let left = (bytes.len() - place) as u16;
    let around = |value: u16| (-9..=9).filter_map(move |step| value.checked_add_signed(step));
    let mut values: BTreeSet<u16> = (0..=20).collect();
    values.extend((24..=136).step_by(8).flat_map(|eights| [eights - 1, eights, eights + 1]));
    values.extend(around(u16_at(bytes, place)));
    values.extend(around(left));
    values.extend([0x7fff, 0x8000, 0xfff8, 0xffff]);
    values
}

/// Tries them on every two bytes of every message: whichever of them are a length field.
fn lie_about_lengths(decoder: &Decoder) {
    let mut seen = BTreeSet::new();
    for Golden { name, bytes, .. } in decoder.corpus() {
        for place in 0..bytes.len() - 1 {
            for value in lengths_to_try(&bytes, place) {
                let outcome = decoder.try_on(&name, &with_u16(&bytes, place, value));
                if let Err(Malformed { field, reason: Reason::BadLength, .. }) = outcome {
                    seen.insert(field);
                }
            }
        }
    }
    assert_eq!(seen, decoder.lengths.iter().copied().collect(), "length fields that were refused");
}

/// Tries many values on every single byte: OXM lengths, types, counts, flags.
fn lie_about_bytes(decoder: &Decoder) {
    for Golden { name, mut bytes, .. } in decoder.corpus() {
        for place in 0..bytes.len() {
            let true_value = bytes[place];
            let flipped = (0..8).map(|bit| true_value ^ 1 << bit);
            let beside = [true_value.wrapping_sub(1), true_value.wrapping_add(1)];
            for value in
                (0..=9).chain([0x0f, 0x10, 0x7f, 0x80, 0xfe, 0xff]).chain(beside).chain(flipped)
            {
                bytes[place] = value;
                let _ = decoder.try_on(&name, &bytes);
            }
            bytes[place] = true_value;
        }
    }
}

/// The places of all length fields of two bytes: where either byte alone makes a length that cannot
/// be.
fn length_fields(decoder: &Decoder, name: &str, bytes: &[u8]) -> BTreeMap<usize, &'static str> {
    let refused = |place, value| match decoder.try_on(name, &with_u16(bytes, place, value)) {
        Err(Malformed { field, reason: Reason::BadLength, .. }) => Some(field),
        _ => None,
    };
    let is_length = |place| {
        let value = u16_at(bytes, place);
        let field = refused(place, value | 0xff00)?;
        let alone = refused(place, value | 0x00ff) == Some(field) && field != "oxm.length";
        alone.then_some(field)
    };
    (0..bytes.len() - 1).filter_map(|place| Some((place, is_length(place)?))).collect()
}

/// No structure is shorter than its own header, and none longer than what is left.
fn refuse_lengths_that_cannot_be(decoder: &Decoder) {
    let mut tried = 0;
    for Golden { name, bytes, .. } in decoder.corpus() {
        for (place, field) in length_fields(decoder, &name, &bytes) {
            let left = (bytes.len() - place) as u16;
            // Without actions, what was their bytes is the frame's.
            let too_short = (0..2).filter(|_| field != "packet_out.actions_len");
            for value in too_short.chain([left + 5, 0xffff]) {
                let outcome = decoder.try_on(&name, &with_u16(&bytes, place, value));
                assert!(outcome.is_err(), "{name}: {field} at {place} may be {value}");
                tried += 1;
            }
        }
    }
    assert!(tried > 4 * decoder.corpus().len(), "{tried}");
}

fn truncate(decoder: &Decoder) {
    for Golden { name, bytes, .. } in decoder.corpus() {
        for len in 0..bytes.len() {
            let reason =
                decoder.try_on(&name, &bytes[..len]).expect_err("shorter than it says").reason;
            let expected = if len < 8 { Reason::Truncated } else { Reason::BadLength };
            assert_eq!(reason, expected, "{name} cut to {len}");
        }
        for len in 8..bytes.len() {
            let _ = decoder.try_on(&name, &cut(&bytes, len));
        }
    }
}

/// Bytes behind the end, with a header that counts them in.
fn lengthen(decoder: &Decoder) {
    for Golden { name, bytes, .. } in decoder.corpus() {
        for more in 1..=64 {
            for filler in [0x00, 0x01, 0xff] {
                let mut longer = bytes.clone();
                longer.resize(bytes.len() + more, filler);
                let _ = decoder.try_on(&name, &cut(&longer, longer.len()));
            }
        }
    }
}

/// The longest messages there can be, of the same few bytes again and again.
fn swell(decoder: &Decoder) {
    for Golden { name, bytes, .. } in decoder.corpus() {
        for tail in [1, 2, 4, 8, 16, 24, 32, 40, 48, 64, 72, 80, 88, 96, 104, 112] {
            if bytes.len() < 8 + tail {
                continue;
            }
            for most in [65_528, 65_534, 65_535] {
                let mut swollen = bytes.clone();
                while swollen.len() + tail <= most {
                    swollen.extend_from_within(swollen.len() - tail..);
                }
                let _ = decoder.try_on(&name, &cut(&swollen, swollen.len()));
            }
        }
    }
}

fn every_version_and_type(decoder: &Decoder) {
    for Golden { name, mut bytes, .. } in decoder.corpus() {
        for version in 0..=255 {
            for kind in 0..=255 {
                (bytes[0], bytes[1]) = (version, kind);
                let expected = match (version == decoder.version, kind < decoder.types) {
                    (false, _) => Reason::BadVersion,
                    (true, false) => Reason::BadType,
                    (true, true) => {
                        let _ = decoder.try_on(&name, &bytes);
                        continue;
                    }
                };
                let error = decoder.try_on(&name, &bytes).expect_err("neither version nor type");
                assert_eq!(error.reason, expected, "{name} as version {version} type {kind}");
            }
        }
    }
}

macro_rules! for_both_versions {
    ($($name:ident: $body:path;)*) => {$(
        mod $name {
            #[test]
            fn in_openflow_1_0() {
                $body(&super::V10);
            }

            #[test]
            fn in_openflow_1_3() {
                $body(&super::V13);
            }
        }
    )*};
}

for_both_versions! {
    any_length_in_any_place_is_refused_or_kept: crate::hostile::lie_about_lengths;
    any_byte_in_any_place_is_refused_or_kept: crate::hostile::lie_about_bytes;
    lengths_that_cannot_be_are_refused: crate::hostile::refuse_lengths_that_cannot_be;
    a_message_cut_anywhere_is_refused_or_kept: crate::hostile::truncate;
    a_message_with_more_behind_it_is_refused_or_kept: crate::hostile::lengthen;
    a_message_as_long_as_can_be_is_refused_or_kept: crate::hostile::swell;
    other_versions_and_types_are_refused: crate::hostile::every_version_and_type;
}
