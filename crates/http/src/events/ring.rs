//! An event as it is kept, and how many of one kind are.

use std::collections::HashMap;

use aldis_control::Time;

use crate::api::events::{ApiEventKind, Event};
use crate::limits::{EVENTS_KEPT, EVENTS_OF_A_KIND, EVENTS_PER};
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

    #[test]
    fn what_strangers_cause_is_limited() {
        let mut limits = Limits::default();
        let event = Event::left_out(1);
        let kept = (0..1000).filter(|_| limits.judge(Time::START, &event).1).count();
        assert_eq!(kept, EVENTS_OF_A_KIND as usize);
        assert_eq!(limits.judge(Time::START + EVENTS_PER, &event), (900, true));
    }
}
