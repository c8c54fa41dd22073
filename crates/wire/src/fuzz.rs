//! Any bytes at all: what decoding must do with a stranger's message, whatever its version.

use crate::chop::Chop;
use crate::header::HEADER_LEN;
use crate::reader::Malformed;
use crate::writer::TooLong;
use crate::{v10, v13};
use alloc::vec::Vec;
use core::fmt::Debug;

/// Reads the bytes as a stream, and as one message whose header tells the truth about its length.
///
/// # Panics
/// Where decoding breaks its word; see [`round_trip`] for the laws.
pub fn decode(bytes: &[u8]) {
    Chop::new(bytes).map_while(Result::ok).for_each(|raw| any_version(raw.bytes));
    if bytes.len() >= HEADER_LEN
        && let Ok(length) = u16::try_from(bytes.len())
    {
        let mut message = Vec::from(bytes);
        message[2..4].copy_from_slice(&length.to_be_bytes());
        any_version(&message);
    }
}

fn any_version(bytes: &[u8]) {
    let v10 = round_trip(bytes, v10::Message::decode, v10::Message::encode);
    let v13 = round_trip(bytes, v13::Message::decode, v13::Message::encode);
    assert!(v10.is_none() || v13.is_none(), "a message of two versions");
    if let Some(v10::Message::PacketIn(packet_in)) = v10 {
        let view = v10::packet_in::view(bytes).expect("a view of what decodes");
        assert_eq!(view.frame, packet_in.data);
    }
    if let (Some(v13::Message::PacketIn(packet_in)), Ok(view)) = (v13, v13::packet_in::view(bytes))
    {
        assert_eq!(view.frame, packet_in.data);
    }
}

/// What decoding gives: a transaction id and a message.
type DecodedWithXid<M> = Result<(u32, M), Malformed>;

/// A message that is refused is refused at a place inside it; one that is read encodes to the same
/// length, and to bytes that mean the same.
fn round_trip<M: Debug + PartialEq>(
    bytes: &[u8],
    decode: fn(&[u8]) -> DecodedWithXid<M>,
    encode: fn(&M, u32, &mut Vec<u8>) -> Result<(), TooLong>,
) -> Option<M> {
    let (xid, message) = match decode(bytes) {
        Ok(read) => read,
        Err(error) => {
            assert!(error.offset <= bytes.len(), "refused outside the message: {error:?}");
            return None;
        }
    };
    let mut again = Vec::new();
    encode(&message, xid, &mut again).expect("what was read can be written");
    // Reading forgives a last structure without its padding; writing pads it.
    let padded = bytes.len().next_multiple_of(8);
    assert!([bytes.len(), padded].contains(&again.len()), "{} bytes for {message:?}", again.len());
    assert_eq!(decode(&again).as_ref(), Ok(&(xid, message)));
    decode(&again).ok().map(|(_, message)| message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_bytes_break_decoding(
            version in prop::sample::select(vec![1u8, 4]),
            kind in 0..32u8,
            body in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            decode(&[vec![version, kind, 0, 0, 0, 0, 0, 1], body].concat());
        }
    }

    #[test]
    #[should_panic(expected = "what was read can be written")]
    fn a_message_that_cannot_be_written_again_is_found() {
        round_trip(&[0; 8], |_| Ok((0, ())), |(), _, _| Err(TooLong));
    }

    #[test]
    #[should_panic(expected = "0 bytes for ()")]
    fn a_message_that_changes_its_length_is_found() {
        round_trip(&[0; 8], |_| Ok((0, ())), |(), _, _| Ok(()));
    }
}
