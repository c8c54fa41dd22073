//! Memory for large tables: in pages of 2 MB where the kernel has them.
//!
//! Two kinds of memory belong to large tables: pieces of 2 MB and more, and the many small pieces
//! of a table that versions share ([`Pool`]): each is a little over 4 KB long, and a version copies
//! those that changed.
//!
//! The tables of a learning switch are read at random. With pages of 4 KB nearly every look needs
//! an address translation that the processor does not have at hand: on the machine of
//! `docs/performance.md` a request of 64 switches × 100,000 hosts cost the application 28 ns with
//! them and 22 ns with pages of 2 MB (`cargo bench -p aldis-apps` at the time, without this
//! allocator and with it). The kernel gives such pages only to memory that is aligned to them and
//! was asked for (`madvise`).

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::Mutex;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// The size of a large page in bytes, on x86-64 and on most others.
const PAGE: usize = 2 * 1024 * 1024;

/// The system's allocator, which gives whole large pages for what fills at least one, and pieces of
/// them for the pages of tables that versions share.
pub(crate) struct Pages;

/// Pieces of the length of a shared table's page, cut from large pages.
static POOL: Pool = Pool(Mutex::new(Free::NOTHING));

/// The lengths that are taken from the pool: 4 KB of items behind the counts of an `Arc`, which
/// items of 64 bytes move to the next multiple of that.
const PIECE_MIN: usize = 4096 + 1;
const PIECE: usize = 4096 + 64;

/// Before the first large page is cut, so many smaller ones are: a controller without switches has
/// few pieces, and a large page is resident as a whole from its first byte on.
const SMALL_CUTS: usize = 4;
const SMALL_CUT: usize = 64 * 1024;

/// Whether memory of this layout is a piece of the pool. Without a range's methods, which are calls
/// where code is to be little, and each allocation would make them.
#[inline(always)]
fn is_piece(layout: Layout) -> bool {
    matches!(layout.size(), PIECE_MIN..=PIECE) && layout.align() <= 64
}

/// Pieces that are free. Tables grow to a bound and keep their size, so that what was cut once is
/// used again and does not go back to the system. One lock for all: a piece is taken when a table
/// changes, which one thread does.
struct Pool(Mutex<Free>);

/// A list of free pieces, each of which begins with the address of the next.
struct Free {
    first: *mut u8,
    /// How often memory was cut into pieces.
    cuts: usize,
}

// SAFETY: the pieces of the list are memory without another owner; a pointer to it may go to
// another thread.
unsafe impl Send for Free {}

impl Pool {
    /// A piece; null where the system has no memory.
    fn take(&self) -> *mut u8 {
        // A panic cannot leave the list half changed: nothing in between panics.
        let mut free = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if free.first.is_null() {
            free.cut();
        }
        let piece = free.first;
        if !piece.is_null() {
            // SAFETY: a piece of the list begins with the address of the next one, aligned to 64.
            free.first = unsafe { piece.cast::<*mut u8>().read() };
        }
        piece
    }

    /// Takes a piece back.
    ///
    /// # Safety
    /// It came from [`Pool::take`], and is not used any more.
    unsafe fn give_back(&self, piece: *mut u8) {
        let mut free = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // SAFETY: the caller's promise.
        unsafe { free.push(piece) };
    }
}

impl Free {
    const NOTHING: Free = Free { first: ptr::null_mut(), cuts: 0 };

    /// Cuts new memory into pieces: a large page, but for the first times.
    fn cut(&mut self) {
        let (size, align) = if self.cuts < SMALL_CUTS { (SMALL_CUT, 64) } else { (PAGE, PAGE) };
        let page = Layout::from_size_align(size, align).expect("a power of two is a layout");
        // SAFETY: the layout is not empty; `Pages` asks for memory that large not of the pool.
        let memory = unsafe { Pages.alloc(page) };
        if memory.is_null() {
            return;
        }
        self.cuts += 1;
        for piece in (0..size / PIECE).rev() {
            // SAFETY: it lies within the memory, which is ours, and has no owner yet.
            unsafe { self.push(memory.add(piece * PIECE)) };
        }
    }

    /// # Safety
    /// It is a piece, and has no owner.
    unsafe fn push(&mut self, piece: *mut u8) {
        // SAFETY: it is longer than an address, and aligned to 64, for large pages and the length
        // of pieces are.
        unsafe { piece.cast::<*mut u8>().write(self.first) };
        self.first = piece;
    }
}

const _: () = assert!(PIECE.is_multiple_of(64) && SMALL_CUT > PIECE);

/// The bytes of the whole large pages for memory of this layout, if it is large enough to fill one.
#[inline(always)]
fn in_pages(layout: Layout) -> Option<usize> {
    if layout.size() < PAGE || layout.align() > PAGE {
        return None;
    }
    layout.size().checked_next_multiple_of(PAGE)
}

/// Whole large pages from the kernel, of zeros: none is resident before it is written to. `size` is
/// a multiple of a large page, and so is the address. Null where the kernel has no memory.
fn map(size: usize) -> *mut u8 {
    let Some(room) = size.checked_add(PAGE) else { return ptr::null_mut() };
    let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: a new mapping where the kernel has room touches no memory that is in use.
    let Ok(whole) = (unsafe { mmap_anonymous(ptr::null_mut(), room, access, flags) }) else {
        return ptr::null_mut();
    };
    let whole = whole.cast::<u8>();
    let before = whole.align_offset(PAGE);
    let behind = PAGE - before;
    // SAFETY: what lies before and behind the aligned pages is ours, has whole small pages, and is
    // used by nothing. The advice changes nothing of what memory holds; where the kernel does not
    // take it, pages are small: slower, and nothing else.
    unsafe {
        let memory = whole.add(before);
        if before > 0 {
            let _ = munmap(whole.cast(), before);
        }
        let _ = munmap(memory.add(size).cast(), behind);
        let _ = madvise(memory.cast(), size, Advice::LinuxHugepage);
        memory
    }
}

// SAFETY: memory comes from the pool, from the kernel in whole large pages, or from the system's
// allocator, and goes back to where it came from: which of them that is follows from the caller's
// layout alone. What `in_pages` adds is never less than the caller asked for.
unsafe impl GlobalAlloc for Pages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_piece(layout) {
            return POOL.take();
        }
        match in_pages(layout) {
            Some(size) => map(size),
            // SAFETY: the caller's promise is passed on.
            None => unsafe { System.alloc(layout) },
        }
    }

    /// Pages of the kernel are zeros: a large table that is not used yet is not resident either.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_piece(layout) {
            let piece = POOL.take();
            if !piece.is_null() {
                // SAFETY: a piece is at least as long as its layouts are.
                unsafe { piece.write_bytes(0, layout.size()) };
            }
            return piece;
        }
        match in_pages(layout) {
            Some(size) => map(size),
            // SAFETY: the caller's promise is passed on.
            None => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if is_piece(layout) {
            // SAFETY: memory of this layout came from the pool, and the caller has no use for it
            // any more.
            return unsafe { POOL.give_back(memory) };
        }
        match in_pages(layout) {
            // SAFETY: memory of this layout is a mapping of so many bytes, and the caller has no
            // use for it any more.
            Some(size) => drop(unsafe { munmap(memory.cast(), size) }),
            // SAFETY: `memory` came from the system's allocator with this layout.
            None => unsafe { System.dealloc(memory, layout) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_pages_are_large() {
        let layout = |size, align| Layout::from_size_align(size, align).unwrap();
        assert_eq!(in_pages(layout(PAGE - 1, 64)), None);
        assert_eq!(in_pages(layout(PAGE, 64)), Some(PAGE));
        assert_eq!(in_pages(layout(PAGE + 1, 1)), Some(2 * PAGE));
    }

    #[test]
    fn a_large_table_of_zeros_is_resident_where_it_was_written_to() {
        fn resident() -> usize {
            let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
            pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * rustix::param::page_size()
        }
        let before = resident();
        let mut table = vec![0u8; 100 * PAGE];
        table[7 * PAGE] = 1;
        assert!(resident().saturating_sub(before) < 50 * PAGE, "all of it is resident");
        assert_eq!(table.iter().map(|&byte| usize::from(byte)).sum::<usize>(), 1);
    }

    #[test]
    fn a_piece_that_was_used_is_zeros_where_zeros_are_asked_for() {
        for _ in 0..3 {
            let mut piece = vec![0u8; PIECE];
            assert!(piece.iter().all(|&byte| byte == 0));
            piece.fill(7);
        }
    }

    #[test]
    fn pieces_of_tables_do_not_overlap_and_are_used_again() {
        let pool = Pool(Mutex::new(Free::NOTHING));
        let few = SMALL_CUTS * (SMALL_CUT / PIECE);
        let mut pieces: Vec<_> = (0..few).map(|_| pool.take().addr()).collect();
        assert_eq!(pool.0.lock().unwrap().cuts, SMALL_CUTS, "few pieces take no large page");
        pieces.extend((0..2 * (PAGE / PIECE) + 1).map(|_| pool.take().addr()));
        assert!(pieces.iter().all(|piece| *piece != 0 && piece % 64 == 0));
        pieces.sort_unstable();
        assert!(pieces.windows(2).all(|pair| pair[1] - pair[0] >= PIECE));
        let (mut left, mut piece) = (0, pool.0.lock().unwrap().first);
        while !piece.is_null() {
            left += 1;
            // SAFETY: a piece of the list begins with the address of the next one.
            piece = unsafe { piece.cast::<*mut u8>().read() };
        }
        assert_eq!(left, PAGE / PIECE - 1, "no page is cut before the last one is used up");
        let piece = pool.take();
        // SAFETY: it was taken just now.
        unsafe { pool.give_back(piece) };
        assert_eq!(pool.take(), piece);
    }

    #[test]
    fn what_versions_of_a_table_share_is_written_and_read_by_several_threads() {
        let version: Vec<std::sync::Arc<[u64; 512]>> =
            (0..600).map(|page| std::sync::Arc::new([page; 512])).collect();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let mut mine = version.clone();
                scope.spawn(move || {
                    for page in mine.iter_mut().skip(thread).step_by(4) {
                        std::sync::Arc::make_mut(page)[7] += 1_000_000;
                    }
                    let sum: u64 = mine.iter().map(|page| page[7] - page[8]).sum();
                    assert_eq!(sum, 150 * 1_000_000);
                });
            }
        });
        assert!(version.iter().enumerate().all(|(at, page)| page.iter().all(|n| *n == at as u64)));
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
