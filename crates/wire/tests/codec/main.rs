//! Messages of both versions through the codec: golden vectors, arbitrary messages, and bytes that
//! lie, under an allocator that counts.

mod allocation;
mod arbitrary_v10;
mod arbitrary_v13;
mod hostile;
mod meaning;
mod neutral;
mod oracle;
mod v10;
mod v13;

use aldis_testkit::counting::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that may be asked for in all for each byte of a message of 1.0; 9.7 at worst: an action of
/// 8 bytes is one of 32 in memory, in a list that doubles as it grows, with a body of its own.
const PER_BYTE_MAX_V10: usize = 12;

/// The same for 1.3; 48 at worst: a match field of 4 bytes is one of 48 in memory, in a list that
/// doubles as it grows and has just doubled.
const PER_BYTE_MAX_V13: usize = 48;
