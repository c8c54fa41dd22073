//! The newest of something, in a bounded ring, numbered from 1; and its followers.
//!
//! A follower has a place and no queue. One that is slow, or was away, goes on from where it was,
//! and is told how many it missed where the ring has them no more. However many followers there
//! are, they keep nothing from being forgotten. Events and lines of the log are kept so.

mod follower;
mod stream;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::problem::Problem;
use crate::routes::Shared;

pub(crate) use follower::Follower;
pub(crate) use stream::stream;

/// Something of which the newest are kept.
pub(crate) trait RingItem: Sized {
    /// What those that are kept may cost together.
    const COST_MAX: usize;
    /// What one is called, in a sentence.
    const NAME: &'static str;

    /// What it costs to keep it.
    fn cost(&self) -> usize;

    /// Its lines among server-sent events.
    fn sent(&self) -> String;

    /// Stands where so many are missing; `restarted` where the follower knows another run of the
    /// controller.
    fn gap(id: String, at: &str, missed: u64, restarted: bool) -> Self;

    /// Those of this server.
    fn all(shared: &Shared) -> &Newest<Self>;
}

/// The newest, and what tells their followers.
#[derive(Debug)]
pub(crate) struct Newest<T> {
    ring: Mutex<Ring<T>>,
    /// The number of the newest.
    news: watch::Sender<u64>,
}

impl<T: RingItem> Newest<T> {
    /// None yet, in a run of the controller of this name.
    pub(crate) fn new(run: String) -> Newest<T> {
        Newest { ring: Mutex::new(Ring::new(run)), news: watch::channel(0).0 }
    }

    /// Keeps what is made of its id.
    pub(crate) fn push(&self, make: impl FnOnce(String) -> T) {
        // Told while the ring is held: a follower is never told of an older number behind a newer.
        let mut ring = self.ring();
        let number = ring.push(make);
        self.news.send_replace(number);
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        *self.news.borrow()
    }

    /// At most `max` behind a place, which goes on behind them; `at` is now.
    pub(crate) fn read(&self, place: &mut RingCursor, max: usize, at: &str) -> Vec<Arc<T>> {
        self.ring().read(place, max, at)
    }

    /// The place behind the one that a follower saw last; `oldest` is before all that are kept, and
    /// nothing behind them.
    ///
    /// # Errors
    /// The id is none.
    pub(crate) fn place(&self, last: Option<&str>) -> Result<RingCursor, Problem> {
        let ring = self.ring();
        match last {
            None => Ok(ring.newest()),
            Some("oldest") => Ok(ring.oldest()),
            Some(id) => ring.behind(id).ok_or_else(|| {
                let name = T::NAME;
                let detail = format!(
                    "{id:?} is no {name}'s id; give that of the last {name} seen, or \"oldest\""
                );
                Problem::bad("bad-event-id", detail)
            }),
        }
    }

    /// Is told when there is more.
    pub(crate) fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    fn ring(&self) -> MutexGuard<'_, Ring<T>> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Items, oldest first.
#[derive(Debug)]
struct Ring<T> {
    /// Tells the items of this run of the controller from those of others.
    run: String,
    /// The number of the first that is kept.
    first: u64,
    kept: VecDeque<Arc<T>>,
    /// Of those that are kept.
    cost: usize,
}

/// Behind which item a follower is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RingCursor {
    behind: u64,
    /// It saw items of another run, and none of this one.
    restarted: bool,
}

impl<T: RingItem> Ring<T> {
    fn new(run: String) -> Ring<T> {
        Ring { run, first: 1, kept: VecDeque::new(), cost: 0 }
    }

    /// Keeps one; its number is returned.
    fn push(&mut self, make: impl FnOnce(String) -> T) -> u64 {
        let number = self.newest().behind + 1;
        let item = make(self.id(number));
        self.cost += item.cost();
        self.kept.push_back(Arc::new(item));
        while self.cost > T::COST_MAX
            && let Some(oldest) = self.kept.pop_front()
        {
            self.first += 1;
            self.cost -= oldest.cost();
        }
        number
    }

    /// At most `max` items behind a place, which goes on behind them. Where some are not kept any
    /// more, the first that is read says so.
    fn read(&self, place: &mut RingCursor, max: usize, at: &str) -> Vec<Arc<T>> {
        let oldest = self.oldest().behind;
        let missed = oldest.saturating_sub(place.behind);
        let from = place.behind.max(oldest);
        let has_gap = place.restarted || missed > 0;
        let gap = has_gap.then(|| Arc::new(T::gap(self.id(from), at, missed, place.restarted)));
        let kept = self.kept.iter().skip((from - oldest) as usize).take(max).cloned();
        let read: Vec<_> = gap.into_iter().chain(kept).collect();
        let behind = from + (read.len() - usize::from(has_gap)) as u64;
        *place = RingCursor { behind, restarted: false };
        read
    }

    fn newest(&self) -> RingCursor {
        RingCursor { behind: self.first - 1 + self.kept.len() as u64, restarted: false }
    }

    fn oldest(&self) -> RingCursor {
        RingCursor { behind: self.first - 1, restarted: false }
    }

    /// Behind the item of this id, where it is one: of this run, or of another.
    fn behind(&self, id: &str) -> Option<RingCursor> {
        let (run, number) = id.split_once('-')?;
        let behind: u64 = number.parse().ok()?;
        if run == self.run {
            return (behind <= self.newest().behind)
                .then_some(RingCursor { behind, restarted: false });
        }
        let is_run = !run.is_empty() && run.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_run.then_some(RingCursor { behind: 0, restarted: true })
    }

    fn id(&self, number: u64) -> String {
        format!("{}-{number}", self.run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An id, what it costs, and what is missing before it.
    #[derive(Debug, PartialEq)]
    struct TestItem(String, usize, Option<(u64, bool)>);

    impl RingItem for TestItem {
        const COST_MAX: usize = 100;
        const NAME: &'static str = "item";

        fn cost(&self) -> usize {
            self.1
        }

        fn sent(&self) -> String {
            self.0.clone()
        }

        fn gap(id: String, _: &str, missed: u64, restarted: bool) -> TestItem {
            TestItem(id, 0, Some((missed, restarted)))
        }

        fn all(_: &Shared) -> &Newest<TestItem> {
            unreachable!("no server has them")
        }
    }

    fn ring(items: u64) -> Ring<TestItem> {
        let mut ring = Ring::new("ab12".into());
        for _ in 0..items {
            ring.push(|id| TestItem(id, 1, None));
        }
        ring
    }

    fn ids(read: &[Arc<TestItem>]) -> Vec<&str> {
        read.iter().map(|kept| kept.0.as_str()).collect()
    }

    #[test]
    fn a_follower_goes_on_where_it_was() {
        let ring = ring(5);
        let mut place = ring.behind("ab12-2").unwrap();
        assert_eq!(ids(&ring.read(&mut place, 2, "now")), ["ab12-3", "ab12-4"]);
        assert_eq!(ids(&ring.read(&mut place, 2, "now")), ["ab12-5"]);
        assert!(ring.read(&mut place, 2, "now").is_empty());
        assert_eq!(place, ring.newest());
        assert_eq!(ids(&ring.read(&mut ring.oldest(), 1, "now")), ["ab12-1"]);
    }

    #[test]
    fn a_follower_that_was_away_too_long_is_told_how_much_is_missing() {
        let ring = ring(110);
        let mut place = ring.behind("ab12-3").unwrap();
        let read = ring.read(&mut place, 1, "now");
        assert_eq!(read[0].2, Some((7, false)));
        assert_eq!(ids(&read), ["ab12-10", "ab12-11"], "behind the note nothing more is missing");
        assert_eq!(ids(&ring.read(&mut place, 1, "now")), ["ab12-12"]);
    }

    #[test]
    fn items_of_another_run_begin_anew() {
        let ring = ring(2);
        let read = ring.read(&mut ring.behind("99-77").unwrap(), 9, "now");
        assert_eq!(read[0].2, Some((0, true)));
        assert_eq!(ids(&read[1..]), ["ab12-1", "ab12-2"]);
        for id in ["", "7", "-", "ab12-", "ab12-3", "ab12--1", "x-1", "ab12-1-1", "-1"] {
            assert_eq!(ring.behind(id), None, "{id}");
        }
    }

    #[test]
    fn what_is_kept_never_costs_more_than_it_may() {
        let mut ring = Ring::new("ab12".into());
        for cost in [60, 30, 20, 5, 100, 1, 101, 7] {
            ring.push(|id| TestItem(id, cost, None));
            let sum: usize = ring.kept.iter().map(|kept| kept.cost()).sum();
            assert!(sum == ring.cost && sum <= 100, "{sum} of {cost}");
        }
        assert_eq!(ids(&ring.read(&mut ring.oldest(), 9, "now")), ["ab12-8"]);
        assert_eq!(ring.newest().behind, 8);
    }
}
