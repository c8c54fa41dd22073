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

/// Bytes that may be asked for in all for each byte of a message; 9.7 at worst: an action of 8 bytes is one of 32 in
/// memory, in a list that doubles as it grows, with a body of its own.
const PER_BYTE_MAX: usize = 12;

/// Bytes that may be asked for besides: the first step of a growing list.
const BESIDES_MAX: usize = 1024;

/// Fails where `decode` asks for more than the bound over `message`.
fn check<T>(name: &str, decode: impl Fn(&[u8]) -> T, message: &[u8]) {
    ASKED.set(0);
    let decoded = decode(message);
    let asked = ASKED.get();
    drop(decoded);
    let allowed = PER_BYTE_MAX * message.len() + BESIDES_MAX;
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

fn check_corpus<T>(version: &str, decode: impl Fn(&[u8]) -> T) {
    for golden in golden::corpus(version) {
        check(&golden.name, &decode, &golden.bytes);
        for place in 0..golden.bytes.len() - 1 {
            let mut lying = golden.bytes.clone();
            lying[place..place + 2].fill(0xff);
            check(&golden.name, &decode, &lying);
        }
        for tail in [8, 16, 24, 48, 88, 104] {
            if golden.bytes.len() >= 8 + tail {
                check(&golden.name, &decode, &swollen(&golden.bytes, tail));
            }
        }
    }
}

#[test]
fn decoding_openflow_1_0_allocates_no_more_than_its_input_warrants() {
    check_corpus("v10", aldis_wire::v10::Message::decode);
}
