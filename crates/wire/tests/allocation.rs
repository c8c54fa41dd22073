//! What decoding may allocate: a fixed multiple of the message, whatever its lengths claim.

#[path = "common/golden.rs"]
mod golden;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting what this thread asks for.
struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    // A thread that is being torn down has no counter any more, and nobody to read it.
    let _ = ASKED.try_with(|asked| asked.set(asked.get() + bytes));
}

// SAFETY: every call is passed on unchanged to the system's allocator; counting touches one thread-local number and does
// not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `System` above, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size);
        // SAFETY: `pointer` came from `System` above, with this layout.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes that may be asked for in all for each byte of a message of 1.0; 9.7 at worst: an action of 8 bytes is one of 32
/// in memory, in a list that doubles as it grows, with a body of its own.
const PER_BYTE_MAX_V10: usize = 12;

/// The same for 1.3; 48 at worst: a match field of 4 bytes is one of 48 in memory, in a list that doubles as it grows and
/// has just doubled.
const PER_BYTE_MAX_V13: usize = 48;

/// Bytes that may be asked for besides: the first step of a growing list.
const BESIDES_MAX: usize = 1024;

/// Fails where `decode` asks for more than the bound over `message`.
fn check<T>(name: &str, decode: impl Fn(&[u8]) -> T, message: &[u8], per_byte_max: usize) {
    ASKED.set(0);
    let decoded = decode(message);
    let asked = ASKED.get();
    drop(decoded);
    let allowed = per_byte_max * message.len() + BESIDES_MAX;
    assert!(asked <= allowed, "{name}: {asked} bytes for a message of {}", message.len());
}

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
        check(&golden.name, &decode, &golden.bytes, per_byte_max);
        for place in 0..golden.bytes.len() - 1 {
            let mut lying = golden.bytes.clone();
            lying[place..place + 2].fill(0xff);
            check(&golden.name, &decode, &lying, per_byte_max);
        }
        for tail in [8, 16, 24, 48, 88, 104] {
            if golden.bytes.len() >= 8 + tail {
                check(&golden.name, &decode, &swollen(&golden.bytes, tail), per_byte_max);
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

/// The structure of 1.3 that takes most memory for its length: a match field of no class without a value. Of so many of
/// them, the last makes the list double.
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
    assert!(decode(&packet_in).is_ok());
    check("fields", decode, &packet_in, PER_BYTE_MAX_V13);
}
