//! A bounded multi-producer, multi-consumer queue whose memory grows with what waits in it.
//!
//! An array of the whole bound would be resident from the start: each place has a word that is
//! written when the array is made. For example, the queues of the World's parts have room for
//! 16,384 reports each, which were 9 MB in a controller without a switch. Here items lie in blocks
//! of some tens, which are made when they are needed and freed when they are empty.

use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_queue::SegQueue;

/// A bounded queue, first in, first out. Any thread may push and pop; none ever waits.
pub struct GrowingQueue<T> {
    items: SegQueue<T>,
    /// The items, and those that are being pushed or were popped just now.
    len: AtomicUsize,
    capacity: usize,
}

impl<T> GrowingQueue<T> {
    /// Empty and without memory, with room for so many items.
    pub const fn new(capacity: usize) -> Self {
        GrowingQueue { items: SegQueue::new(), len: AtomicUsize::new(0), capacity }
    }

    /// Adds an item.
    ///
    /// # Errors
    /// The item: there is no room. Near the bound, an item that another thread is pushing or
    /// popping at this moment takes room, too.
    pub fn push(&self, item: T) -> Result<(), T> {
        // The counter orders nothing: the queue itself hands the items over.
        if self.len.fetch_add(1, Ordering::Relaxed) >= self.capacity {
            self.len.fetch_sub(1, Ordering::Relaxed);
            return Err(item);
        }
        self.items.push(item);
        Ok(())
    }

    /// The oldest item.
    pub fn pop(&self) -> Option<T> {
        let item = self.items.pop()?;
        self.len.fetch_sub(1, Ordering::Relaxed);
        Some(item)
    }

    /// Whether no item waits.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Items that wait.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Items that may wait at once.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }
}

impl<T> fmt::Debug for GrowingQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} items", self.len(), self.capacity)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use alloc::sync::Arc;
    use alloc::vec::Vec;
    use core::sync::atomic::AtomicBool;

    #[test]
    fn items_leave_in_order_and_one_too_many_comes_back() {
        let queue = GrowingQueue::new(100);
        for round in 0..5 {
            assert!(queue.is_empty() && queue.pop().is_none());
            assert!((0..100).all(|item| queue.push(item + round).is_ok()));
            assert_eq!((queue.push(7), queue.len()), (Err(7), 100));
            assert!((0..100).all(|item| queue.pop() == Some(item + round)));
        }
        assert_eq!(GrowingQueue::new(0).push(1), Err(1));
    }

    #[test]
    fn many_threads_lose_nothing_and_never_pass_the_bound() {
        const EACH: usize = 20_000;
        let queue = GrowingQueue::new(64);
        let over = AtomicBool::new(false);
        let mut seen: Vec<usize> = std::thread::scope(|scope| {
            for producer in 0..3 {
                let queue = &queue;
                scope.spawn(move || {
                    for item in 0..EACH {
                        while queue.push(producer * EACH + item).is_err() {
                            std::thread::yield_now();
                        }
                    }
                });
            }
            let consumers = [0, 1].map(|_| {
                let (queue, over) = (&queue, &over);
                scope.spawn(move || {
                    let mut seen = Vec::new();
                    while seen.len() < 3 * EACH / 2 {
                        if queue.items.len() > queue.capacity {
                            over.store(true, Ordering::Relaxed);
                        }
                        match queue.pop() {
                            Some(item) => seen.push(item),
                            None => std::thread::yield_now(),
                        }
                    }
                    seen
                })
            });
            consumers.into_iter().flat_map(|consumer| consumer.join().unwrap()).collect()
        });
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..3 * EACH) && queue.is_empty());
        assert!(!over.into_inner(), "more items than the bound waited");
        assert_eq!(queue.len.into_inner(), 0);
    }

    #[test]
    fn what_waits_is_dropped_with_the_queue() {
        let item = Arc::new(());
        let queue = GrowingQueue::new(50);
        (0..40).for_each(|_| queue.push(Arc::clone(&item)).unwrap());
        drop(queue);
        assert_eq!(Arc::strong_count(&item), 1);
    }
}
