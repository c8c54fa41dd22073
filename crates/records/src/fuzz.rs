//! Any bytes as commands: what a component returns must not do to its host.

use super::{COMMAND_HEADER_LEN, CommandReader, Garbage, NO_INDEX, command};

/// Reads `bytes` as commands. The first four bytes are how many events they answer, and how many
/// commands are allowed. Panics where the reader breaks its word.
pub fn commands(bytes: &[u8]) {
    let Some((limits, bytes)) = bytes.split_first_chunk::<4>() else { return };
    let events = u32::from(u16::from_le_bytes([limits[0], limits[1]]));
    let most = usize::from(u16::from_le_bytes([limits[2], limits[3]]));
    let read = match CommandReader::check(bytes, events, most) {
        Ok(read) => read,
        Err(Garbage::Field { at, .. }) => return assert!(at < bytes.len() && at % 8 == 0),
        Err(garbage) => return assert_eq!(garbage, Garbage::TooMany(most)),
    };
    let (mut count, mut len) = (0, 0);
    for one in read {
        assert!((command::STOP..=command::COUNT).contains(&one.kind));
        let is_about_event = one.kind <= command::ANSWER;
        assert_eq!(one.request < events, is_about_event, "{one:?}");
        assert!(is_about_event || (one.request, one.flags) == (NO_INDEX, 0));
        assert!(one.kind != command::FLOW || one.flow().is_some());
        count += 1;
        len += (COMMAND_HEADER_LEN + one.body.len()).next_multiple_of(8);
    }
    assert!(count <= most && len == bytes.len());
}
