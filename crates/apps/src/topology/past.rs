//! Ports that showed a host before they went down: whoever takes his port down and up again is not forgotten.
//!
//! What is remembered is bounded, for a switch can name four billion ports and have each of them show a host.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aldis_control::Time;

use crate::place::SwitchPort;

/// How long it is remembered.
const REMEMBERED_FOR: Duration = Duration::from_secs(600);

/// Of so many ports: all those of ten thousand switches that went down together. They are 36 MB. One more, and the oldest is
/// forgotten.
const REMEMBERED_MAX: usize = 1 << 19;

/// Ports that are down, and when each of them went down with a host.
#[derive(Debug, Default)]
pub(super) struct Past {
    since: BTreeMap<SwitchPort, Time>,
    order: BTreeSet<(Time, SwitchPort)>,
}

impl Past {
    /// A port is down, which went down with a host at `then`: now, or the last time.
    pub(super) fn note(&mut self, now: Time, at: SwitchPort, then: Time) {
        self.take(now, at);
        self.since.insert(at, then);
        self.order.insert((then, at));
        while let Some(&(then, oldest)) = self.order.first()
            && (self.order.len() > REMEMBERED_MAX || now.since(then) >= REMEMBERED_FOR)
        {
            self.take(now, oldest);
        }
    }

    /// The port comes up: when it went down with a host, if that is not too long ago. It is remembered here no more.
    pub(super) fn take(&mut self, now: Time, at: SwitchPort) -> Option<Time> {
        let then = self.since.remove(&at)?;
        self.order.remove(&(then, at));
        Some(then).filter(|&then| now.since(then) < REMEMBERED_FOR)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.since.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u32) -> SwitchPort {
        SwitchPort::new(1, port)
    }

    #[test]
    fn a_host_is_remembered_for_ten_minutes() {
        let (mut past, then) = (Past::default(), Time(5));
        past.note(then, at(1), then);
        past.note(then, at(2), then);
        let late = then + REMEMBERED_FOR;
        assert_eq!(past.take(Time(late.0 - 1), at(1)), Some(then));
        assert_eq!((past.take(then, at(1)), past.take(late, at(2))), (None, None));
        past.note(then, at(3), then);
        past.note(late, at(4), late);
        assert_eq!((past.len(), past.take(late, at(4))), (1, Some(late)));
    }

    #[test]
    fn so_many_ports_are_remembered_and_no_more() {
        let mut past = Past::default();
        for port in 0..REMEMBERED_MAX as u32 + 3 {
            past.note(Time(u64::from(port)), at(port), Time(u64::from(port)));
        }
        let now = Time(REMEMBERED_MAX as u64 + 3);
        assert_eq!((past.len(), past.order.len()), (REMEMBERED_MAX, REMEMBERED_MAX));
        assert_eq!((past.take(now, at(2)), past.take(now, at(3))), (None, Some(Time(3))));
    }
}
