//! An event as it is kept, and how many of one kind are.

use std::collections::HashMap;
use std::time::Duration;

use aldis_control::Time;
use aldis_wire::DatapathId;

use crate::api::events::{ApiEventKind, Event};
use crate::limits::{EVENTS_KEPT, EVENTS_OF_A_KIND, EVENTS_PER, LEFT_OUT_WITHIN};
use crate::newest::{Newest, RingItem};
use crate::routes::Shared;

/// An event as it is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EncodedEvent {
    pub(crate) id: String,
    pub(crate) kind: ApiEventKind,
    pub(crate) event: Event,
    pub(crate) json: String,
}

impl EncodedEvent {
    /// An event under this id, of that moment.
    pub(super) fn new(id: String, event: Event, at: &str) -> EncodedEvent {
        let event = Event { id: id.clone(), at: at.to_owned(), ..event };
        let json = serde_json::to_string(&event).unwrap_or_default();
        EncodedEvent { id, kind: event.kind, event, json }
    }
}

impl RingItem for EncodedEvent {
    const COST_MAX: usize = EVENTS_KEPT;
    const NAME: &'static str = "event";

    /// So many are kept, however long they are.
    fn cost(&self) -> usize {
        1
    }

    fn sent(&self) -> String {
        format!("id: {}\nevent: {}\ndata: {}\n\n", self.id, self.kind.name(), self.json)
    }

    fn gap(id: String, at: &str, missed: u64, restarted: bool) -> EncodedEvent {
        let event = if restarted { Event::restarted(missed) } else { Event::missed(missed) };
        EncodedEvent::new(id, event, at)
    }

    fn all(shared: &Shared) -> &Newest<EncodedEvent> {
        shared.events.newest()
    }
}

/// How many events of one kind may come from one switch, or from strangers together: machines
/// outside can cause them at will, and the ring is for all.
#[derive(Debug, Default)]
pub(super) struct Limits {
    since: Time,
    counts: HashMap<(ApiEventKind, Option<DatapathId>), u32>,
    /// Events that were left out, and not told yet.
    left_out: u64,
    /// When that is told, where some were.
    told_at: Option<Time>,
}

impl Limits {
    /// Whether one more of this kind is kept of this switch.
    pub(super) fn allows(&mut self, now: Time, of: (ApiEventKind, Option<DatapathId>)) -> bool {
        if now.since(self.since) >= EVENTS_PER {
            self.counts.clear();
            self.since = now;
        }
        let count = self.counts.entry(of).or_default();
        *count += 1;
        let allowed = *count <= EVENTS_OF_A_KIND;
        self.leave_out(now, u64::from(!allowed));
        allowed
    }

    /// So many were left out. They are told together.
    pub(super) fn leave_out(&mut self, now: Time, count: u64) {
        if count > 0 {
            self.left_out += count;
            self.told_at.get_or_insert(now + LEFT_OUT_WITHIN);
        }
    }

    /// How long until [`Limits::due`] has something to say.
    pub(super) fn wait(&self, now: Time) -> Option<Duration> {
        self.told_at.map(|at| at.since(now))
    }

    /// How many were left out, where it is time to tell it.
    pub(super) fn due(&mut self, now: Time) -> Option<u64> {
        self.told_at.take_if(|at| *at <= now)?;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_strangers_cause_is_limited() {
        let (mut limits, start) = (Limits::default(), Time::START);
        let (strangers, a_switch) = ((ApiEventKind::Stranger, None), Some(DatapathId(1)));
        let kept = (0..1000).filter(|_| limits.allows(start, strangers)).count();
        assert_eq!(kept, EVENTS_OF_A_KIND as usize);
        assert!(limits.allows(start, (ApiEventKind::Stranger, a_switch)));
        assert!(limits.allows(start + EVENTS_PER, strangers));
    }

    #[test]
    fn what_is_left_out_is_told_together_and_soon() {
        let (mut limits, start) = (Limits::default(), Time::START);
        assert_eq!((limits.wait(start), limits.due(start)), (None, None));
        limits.leave_out(start, 3);
        limits.leave_out(start + LEFT_OUT_WITHIN / 2, 4);
        assert_eq!(limits.wait(start), Some(LEFT_OUT_WITHIN));
        assert_eq!(limits.due(start + LEFT_OUT_WITHIN / 2), None);
        assert_eq!(limits.due(start + LEFT_OUT_WITHIN), Some(7));
        assert_eq!((limits.wait(start), limits.due(start + EVENTS_PER)), (None, None));
    }
}
