//! Memory for large tables: in pages of 2 MB where the kernel has them.
//!
//! The tables of a learning switch are read at random. With pages of 4 KB nearly every look needs an address translation
//! that the processor does not have at hand: on the machine of `docs/performance.md` a request of 64 switches × 100,000
//! hosts cost the application 28 ns with them and 22 ns with pages of 2 MB (`cargo bench -p aldis-apps` at the time,
//! without this allocator and with it). The kernel gives such pages only to memory that is aligned to them and was asked for (`madvise`).

use std::alloc::{GlobalAlloc, Layout, System};

use rustix::mm::{Advice, madvise};

/// The size of a large page in bytes, on x86-64 and on most others.
const PAGE: usize = 2 * 1024 * 1024;

/// The system's allocator, which gives whole large pages to whoever asks for at least one.
pub(crate) struct Pages;

/// The layout of `layout` in whole large pages, if it is large enough to fill one.
fn in_pages(layout: Layout) -> Option<Layout> {
    let size = layout.size().checked_next_multiple_of(PAGE)?;
    (layout.size() >= PAGE).then(|| Layout::from_size_align(size, PAGE.max(layout.align())).ok())?
}

// SAFETY: memory comes from the system's allocator and goes back to it with the layout it was asked for: which one that
// is follows from the caller's layout alone. What `in_pages` adds is never less than the caller asked for.
unsafe impl GlobalAlloc for Pages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(pages) = in_pages(layout) else {
            // SAFETY: the caller's promise is passed on.
            return unsafe { System.alloc(layout) };
        };
        // SAFETY: as large as the caller's, and so not empty.
        let memory = unsafe { System.alloc(pages) };
        if !memory.is_null() {
            // SAFETY: the range is ours, whole pages of it, and the advice changes nothing of what it holds. Where the
            // kernel does not take it, pages are small: slower, and nothing else.
            let _ = unsafe { madvise(memory.cast(), pages.size(), Advice::LinuxHugepage) };
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` came from `alloc` with this layout, and so from the system with the layout chosen there.
        unsafe { System.dealloc(memory, in_pages(layout).unwrap_or(layout)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_pages_are_large() {
        let layout = |size, align| Layout::from_size_align(size, align).unwrap();
        assert_eq!(in_pages(layout(PAGE - 1, 64)), None);
        assert_eq!(in_pages(layout(PAGE, 64)), Some(layout(PAGE, PAGE)));
        assert_eq!(in_pages(layout(PAGE + 1, 1)), Some(layout(2 * PAGE, PAGE)));
    }

    #[test]
    fn large_memory_is_aligned_and_can_be_used_grown_and_given_back() {
        let mut bytes = vec![1u8; PAGE];
        assert_eq!(bytes.as_ptr().addr() % PAGE, 0);
        bytes.resize(3 * PAGE + 5, 2);
        assert_eq!(bytes.as_ptr().addr() % PAGE, 0);
        assert!(bytes[..PAGE].iter().all(|&byte| byte == 1));
        bytes.truncate(10);
        bytes.shrink_to_fit();
        assert_eq!(bytes, [1; 10]);
    }
}
