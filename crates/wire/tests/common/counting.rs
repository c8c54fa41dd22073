//! An allocator that counts, and what decoding may ask of it: a fixed multiple of the message,
//! whatever its lengths claim.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting what this thread asks for.
struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    // A thread that is being torn down has no counter any more, and no reader of it.
    let _ = ASKED.try_with(|asked| asked.set(asked.get() + bytes));
}

// SAFETY: every call is passed on unchanged to the system's allocator; counting touches one
// thread-local number and does not allocate.
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

/// Bytes that may be asked for in all for each byte of a message of 1.0; 9.7 at worst: an action of
/// 8 bytes is one of 32 in memory, in a list that doubles as it grows, with a body of its own.
pub(crate) const PER_BYTE_MAX_V10: usize = 12;

/// The same for 1.3; 48 at worst: a match field of 4 bytes is one of 48 in memory, in a list that
/// doubles as it grows and has just doubled.
pub(crate) const PER_BYTE_MAX_V13: usize = 48;

/// Bytes that may be asked for besides: the first step of a growing list.
const BESIDES_MAX: usize = 1024;

/// What `decode` makes of `message`.
///
/// # Panics
/// Where it asks for more memory than the bound.
pub(crate) fn bounded<T>(
    name: &str,
    per_byte_max: usize,
    decode: impl Fn(&[u8]) -> T,
    message: &[u8],
) -> T {
    ASKED.set(0);
    let decoded = decode(message);
    let asked = ASKED.get();
    let allowed = per_byte_max * message.len() + BESIDES_MAX;
    assert!(asked <= allowed, "{name}: {asked} bytes for a message of {}", message.len());
    decoded
}
