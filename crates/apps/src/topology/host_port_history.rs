//! Host port history: the ports that showed a host before they went down. A host cannot clear it by
//! taking its port down and up again.
//!
//! A port is its number, its own address and the session of its switch. One that comes back with
//! another address is another port, and a switch that connects again may be one of another network:
//! nothing that was seen before counts for these.
//!
//! What is remembered is bounded, for a switch can name four billion ports and have each of them
//! show a host.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aldis_control::{SwitchPort, Time};
use aldis_wire::{DatapathId, MacAddr};

/// How long it is remembered.
const REMEMBERED_FOR: Duration = Duration::from_secs(600);

/// Of so many ports: fifty of each of ten thousand switches. They are 42 MB. One more, and the
/// oldest is forgotten.
const REMEMBERED_MAX: usize = 1 << 19;

/// Ports that are down, and when each of them went down with a host, by which address of its own.
#[derive(Debug, Default)]
pub(super) struct HostPortHistory {
    since: BTreeMap<SwitchPort, (Time, MacAddr)>,
    order: BTreeSet<(Time, SwitchPort)>,
}

impl HostPortHistory {
    /// A port with this address is down, which went down with a host at `then`: now, or the last
    /// time.
    pub(super) fn note(&mut self, now: Time, (at, mac): (SwitchPort, MacAddr), then: Time) {
        self.forget(at);
        self.since.insert(at, (then, mac));
        self.order.insert((then, at));
        while let Some(&(then, oldest)) = self.order.first()
            && (self.order.len() > REMEMBERED_MAX || now.since(then) >= REMEMBERED_FOR)
        {
            self.forget(oldest);
        }
    }

    /// A port with this address comes up: when it went down with a host, if it is the same and that
    /// is not too long ago. It is remembered here no more.
    pub(super) fn take(&mut self, now: Time, at: SwitchPort, mac: MacAddr) -> Option<Time> {
        let (then, was) = self.forget(at)?;
        Some(then).filter(|&then| was == mac && now.since(then) < REMEMBERED_FOR)
    }

    /// The session of a switch ended, and with it what was known of its ports.
    pub(super) fn forget_switch(&mut self, dpid: DatapathId) {
        let ports: Vec<_> = self.since.range(SwitchPort::all_of(dpid)).map(|(&at, _)| at).collect();
        for at in ports {
            self.forget(at);
        }
    }

    fn forget(&mut self, at: SwitchPort) -> Option<(Time, MacAddr)> {
        let (then, mac) = self.since.remove(&at)?;
        self.order.remove(&(then, at));
        Some((then, mac))
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

    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);

    #[test]
    fn a_host_is_remembered_for_ten_minutes() {
        let (mut past, then) = (HostPortHistory::default(), Time(5));
        past.note(then, (at(1), MAC), then);
        past.note(then, (at(2), MAC), then);
        let late = then + REMEMBERED_FOR;
        assert_eq!(past.take(Time(late.0 - 1), at(1), MAC), Some(then));
        assert_eq!((past.take(then, at(1), MAC), past.take(late, at(2), MAC)), (None, None));
        past.note(then, (at(3), MAC), then);
        past.note(late, (at(4), MAC), late);
        assert_eq!((past.len(), past.take(late, at(4), MAC)), (1, Some(late)));
    }

    #[test]
    fn a_port_with_another_address_or_of_another_session_is_another_port() {
        let mut past = HostPortHistory::default();
        (1..4).for_each(|port| past.note(Time(5), (at(port), MAC), Time(5)));
        past.note(Time(5), (SwitchPort::new(2, 1), MAC), Time(5));
        assert_eq!(past.take(Time(6), at(1), MacAddr([2, 0, 0, 0, 0, 8])), None);
        assert_eq!(past.take(Time(6), at(2), MAC), Some(Time(5)));
        past.forget_switch(DatapathId(1));
        assert_eq!((past.len(), past.order.len()), (1, 1));
        assert_eq!(past.take(Time(6), at(3), MAC), None);
        assert_eq!(past.take(Time(6), SwitchPort::new(2, 1), MAC), Some(Time(5)));
    }

    #[test]
    fn so_many_ports_are_remembered_and_no_more() {
        let mut past = HostPortHistory::default();
        for port in 0..REMEMBERED_MAX as u32 + 3 {
            past.note(Time(u64::from(port)), (at(port), MAC), Time(u64::from(port)));
        }
        let now = Time(REMEMBERED_MAX as u64 + 3);
        assert_eq!((past.len(), past.order.len()), (REMEMBERED_MAX, REMEMBERED_MAX));
        assert_eq!((past.take(now, at(2), MAC), past.take(now, at(3), MAC)), (None, Some(Time(3))));
    }
}
