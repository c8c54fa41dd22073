//! The newest events, numbered from 1, and places among them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use aldis_control::Time;

use crate::api::events::{ApiEventKind, Event};
use crate::limits::{EVENTS_KEPT, EVENTS_OF_A_KIND, EVENTS_PER};

/// An event as it is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EncodedEvent {
    pub(crate) id: String,
    pub(crate) kind: ApiEventKind,
    pub(crate) event: Event,
    pub(crate) json: String,
}

/// Events, oldest first.
#[derive(Debug)]
pub(super) struct EventRing {
    /// Tells the events of this run of the controller from those of others.
    run: String,
    /// The number of the first that is kept.
    first: u64,
    kept: VecDeque<Arc<EncodedEvent>>,
}

/// Behind which event a follower is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RingCursor {
    behind: u64,
    /// It saw events of another run, and none of this one.
    restarted: bool,
}

impl EventRing {
    pub(super) fn new(run: String) -> EventRing {
        EventRing { run, first: 1, kept: VecDeque::new() }
    }

    /// Keeps an event; its number is returned.
    pub(super) fn push(&mut self, event: Event, at: &str) -> u64 {
        let number = self.newest().behind + 1;
        if self.kept.len() == EVENTS_KEPT {
            self.kept.pop_front();
            self.first += 1;
        }
        self.kept.push_back(self.keep(number, event, at));
        number
    }

    /// At most `max` events behind a place, which goes on behind them. Where some are not kept any
    /// more, the first that is read says so.
    pub(super) fn read(
        &self,
        place: &mut RingCursor,
        max: usize,
        at: &str,
    ) -> Vec<Arc<EncodedEvent>> {
        let oldest = self.oldest().behind;
        let missed = oldest.saturating_sub(place.behind);
        let note = match (place.restarted, missed) {
            (true, missed) => Some(Event::restarted(missed)),
            (false, 0) => None,
            (false, missed) => Some(Event::missed(missed)),
        };
        let from = place.behind.max(oldest);
        let kept = self.kept.iter().skip((from - oldest) as usize).take(max).cloned();
        let read: Vec<_> =
            note.map(|note| self.keep(from, note, at)).into_iter().chain(kept).collect();
        let notes = usize::from(place.restarted || missed > 0);
        *place = RingCursor { behind: from + (read.len() - notes) as u64, restarted: false };
        read
    }

    pub(super) fn newest(&self) -> RingCursor {
        RingCursor { behind: self.first - 1 + self.kept.len() as u64, restarted: false }
    }

    pub(super) fn oldest(&self) -> RingCursor {
        RingCursor { behind: self.first - 1, restarted: false }
    }

    /// Behind the event of this id, where it is one: of this run, or of another.
    pub(super) fn behind(&self, id: &str) -> Option<RingCursor> {
        let (run, number) = id.split_once('-')?;
        let behind: u64 = number.parse().ok()?;
        if run == self.run {
            return (behind <= self.newest().behind)
                .then_some(RingCursor { behind, restarted: false });
        }
        let is_run = !run.is_empty() && run.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_run.then_some(RingCursor { behind: 0, restarted: true })
    }

    fn keep(&self, number: u64, event: Event, at: &str) -> Arc<EncodedEvent> {
        let id = format!("{}-{number}", self.run);
        let event = Event { id: id.clone(), at: at.to_owned(), ..event };
        let json = serde_json::to_string(&event).unwrap_or_default();
        Arc::new(EncodedEvent { id, kind: event.kind, event, json })
    }
}

/// How many events of one kind may come from one switch, or from strangers together: machines
/// outside can cause them at will, and the ring is for all.
#[derive(Debug, Default)]
pub(super) struct Limits {
    since: Time,
    counts: HashMap<(ApiEventKind, Option<String>), u32>,
    left_out: u64,
}

impl Limits {
    /// Whether one more is kept; and how many were not, where a while is over.
    pub(super) fn judge(&mut self, now: Time, event: &Event) -> (u64, bool) {
        let mut left_out = 0;
        if now.since(self.since) >= EVENTS_PER {
            left_out = self.left_out;
            *self = Limits { since: now, ..Limits::default() };
        }
        let count = self.counts.entry((event.kind, event.dpid.clone())).or_default();
        *count += 1;
        let allowed = *count <= EVENTS_OF_A_KIND;
        self.left_out += u64::from(!allowed);
        (left_out, allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(events: u64) -> EventRing {
        let mut ring = EventRing::new("ab12".into());
        for _ in 0..events {
            ring.push(Event::left_out(1), "then");
        }
        ring
    }

    fn ids(read: &[Arc<EncodedEvent>]) -> Vec<&str> {
        read.iter().map(|kept| kept.id.as_str()).collect()
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
    fn who_was_away_too_long_is_told_how_much_is_missing() {
        let ring = ring(EVENTS_KEPT as u64 + 10);
        let mut place = ring.behind("ab12-3").unwrap();
        let read = ring.read(&mut place, 1, "now");
        assert_eq!((read[0].kind, read[0].event.missed), (ApiEventKind::Missed, Some(7)));
        assert_eq!(
            ids(&read),
            ["ab12-10", "ab12-11"],
            "who resumes behind the note misses nothing more"
        );
        assert_eq!(ids(&ring.read(&mut place, 1, "now")), ["ab12-12"]);
    }

    #[test]
    fn events_of_another_run_begin_anew() {
        let ring = ring(2);
        let read = ring.read(&mut ring.behind("99-77").unwrap(), 9, "now");
        assert_eq!(read[0].kind, ApiEventKind::Restarted);
        assert_eq!(ids(&read[1..]), ["ab12-1", "ab12-2"]);
        for id in ["", "7", "-", "ab12-", "ab12-3", "ab12--1", "x-1", "ab12-1-1", "-1"] {
            assert_eq!(ring.behind(id), None, "{id}");
        }
    }

    #[test]
    fn what_strangers_cause_is_limited() {
        let mut limits = Limits::default();
        let event = Event::left_out(1);
        let kept = (0..1000).filter(|_| limits.judge(Time::START, &event).1).count();
        assert_eq!(kept, EVENTS_OF_A_KIND as usize);
        assert_eq!(limits.judge(Time::START + EVENTS_PER, &event), (900, true));
    }
}
