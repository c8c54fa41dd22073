//! A counting allocator: how often memory was asked for, how much is in use, and what one call may
//! ask for.
//!
//! It counts where a test makes it the allocator of its process:
//!
//! ```
//! use aldis_testkit::counting::{Counting, allocations};
//!
//! #[global_allocator]
//! static ALLOCATOR: Counting = Counting;
//!
//! let before = allocations();
//! drop(Box::new(1));
//! assert!(allocations() > before);
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The system's allocator, counting over the whole process and for each thread.
#[derive(Debug)]
pub struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static IN_USE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

/// How often the process asked for memory, so far.
pub fn allocations() -> u64 {
    ALLOCATIONS.load(Ordering::Relaxed)
}

/// Bytes that the process asked for and did not give back.
pub fn in_use() -> usize {
    IN_USE.load(Ordering::Relaxed)
}

/// Bytes that may be asked for besides: the first step of a growing list.
const BESIDES_MAX: usize = 1024;

/// What `decode` makes of `message`.
///
/// # Panics
/// Where this thread asks for more memory meanwhile than `per_byte_max` for each byte of the
/// message, and 1 KiB.
pub fn bounded<T>(
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

fn count(bytes: usize) {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    IN_USE.fetch_add(bytes, Ordering::Relaxed);
    // A thread that is being torn down has no counter any more, and no reader of it.
    let _ = ASKED.try_with(|asked| asked.set(asked.get() + bytes));
}

// SAFETY: every call is passed on unchanged to the system's allocator; counting touches two atomics
// and a thread-local number, and does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `pointer` came from `System` above, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size);
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `pointer` came from `System` above, with this layout.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}
