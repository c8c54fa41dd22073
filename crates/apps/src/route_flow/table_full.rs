//! What is known of a switch while it is connected: since when, and whether its table is full.
//!
//! A switch without room for another flow is in order otherwise: packets for which it has no flow
//! are sent on one by one, and no flows are sent that it would refuse. Now and then one is tried.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

use aldis_control::Time;

/// For so long after it refused a flow a switch is sent none for packets that it asks about. Then
/// all that is asked for in one batch is tried.
const FULL_FOR: Duration = Duration::from_secs(1);

/// How often the operator is told how many flows a switch refused.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// Whether the flow table of a switch is full, and how many flows it refused.
#[derive(Debug)]
pub struct TableFull {
    /// When the switch joined.
    pub(super) joined: Time,
    full_until: AtomicU64,
    refused: AtomicU64,
    tell_at: AtomicU64,
}

impl TableFull {
    /// Of a switch that has room, as far as is known.
    pub(super) fn new(now: Time) -> TableFull {
        let [full_until, refused, tell_at] = [0; 3].map(AtomicU64::new);
        TableFull { joined: now, full_until, refused, tell_at }
    }

    /// Whether it has no room for flows just now.
    #[inline]
    pub(super) fn is_full(&self, now: Time) -> bool {
        now.0 < self.full_until.load(Ordering::Relaxed)
    }

    /// It refused a flow. How many so far, where the operator is to be told again.
    pub(super) fn refuses(&self, now: Time) -> Option<u64> {
        self.full_until.store((now + FULL_FOR).0, Ordering::Relaxed);
        let refused = self.refused.fetch_add(1, Ordering::Relaxed) + 1;
        let due = self.tell_at.load(Ordering::Relaxed);
        let next = (now + TELL_EVERY).0;
        let is_due = due <= now.0
            && self
                .tell_at
                .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        is_due.then_some(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_table_is_tried_again_after_a_second_and_told_once_a_minute() {
        let start = Time::START + Duration::from_secs(5);
        let table_full = TableFull::new(start);
        assert!(!table_full.is_full(start));
        assert_eq!([table_full.refuses(start), table_full.refuses(start)], [Some(1), None]);
        assert!(table_full.is_full(start + FULL_FOR / 2) && !table_full.is_full(start + FULL_FOR));
        assert_eq!(table_full.refuses(start + TELL_EVERY), Some(3));
    }
}
