//! What a worker knows of a switch: its ports as they are now, and whether the search was told.
//!
//! The queue to the search may be full. What was not told is not lost: the switch is *behind*, and told of as a whole, once a
//! second, until there is room.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use aldis_control::Time;
use aldis_control::bounds::PORTS_MAX;
use aldis_control::switch::Info;
use aldis_wire::msg::{Port, PortChange, PortChangeReason, PortNo};
use aldis_wire::{DatapathId, MacAddr, Version};

/// Between two questions for the round trip to a switch. With [`super::SAMPLES`] of them the last minute counts.
const ROUND_TRIP_EVERY: Duration = Duration::from_secs(5);

/// A port that is up, as it is now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PortNow {
    pub(super) mac: MacAddr,
    pub(super) speed_kbps: u32,
    /// When it came up: one that went down meanwhile is another.
    pub(super) up_at: Time,
}

impl PortNow {
    fn of(port: &Port, up_at: Time) -> PortNow {
        PortNow { mac: port.hw_addr, speed_kbps: port.speed_kbps, up_at }
    }
}

/// A switch as it is now, with its real ports that are up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SwitchNow {
    pub(super) dpid: DatapathId,
    pub(super) version: Version,
    /// When this connection of it came up.
    pub(super) since: Time,
    pub(super) ports: BTreeMap<PortNo, PortNow>,
}

/// What is kept for each switch. Several workers may hold it, and none for long: it is looked at where a port changes, and
/// once a second.
#[derive(Debug)]
pub struct Watch(Mutex<Watched>);

#[derive(Debug)]
pub(super) struct Watched {
    pub(super) now: SwitchNow,
    /// Whether the search was not told of the last change.
    pub(super) behind: bool,
    /// Whether a flow that brings probes was removed.
    pub(super) is_deaf: bool,
    /// The question for the round trip that is out, and when it was asked.
    asked: Option<(u32, Time)>,
    ask_at: Time,
}

impl Watch {
    pub(super) fn new(now: Time, switch: &Info) -> Watch {
        let up = switch.ports.iter().filter(|port| port.number.is_real() && port.is_up());
        let ports = up.map(|port| (port.number, PortNow::of(port, now))).collect();
        let (dpid, version) = (switch.dpid, switch.version);
        Watch(Mutex::new(Watched {
            now: SwitchNow { dpid, version, since: now, ports },
            behind: true,
            is_deaf: false,
            asked: None,
            ask_at: now,
        }))
    }

    /// Looks at it, alone.
    pub(super) fn look<R>(&self, look: impl FnOnce(&mut Watched) -> R) -> R {
        // Whoever panicked here left it as it was: each change is one assignment.
        look(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl Watched {
    /// A port changed; whether that is anything to the search. Of more ports than a switch may have, those that come up last are
    /// passed over.
    pub(super) fn change(&mut self, now: Time, change: &PortChange) -> bool {
        let PortChange { reason, port } = change;
        let before = self.now.ports.get(&port.number).copied();
        if change.is_loss() {
            return self.now.ports.remove(&port.number).is_some();
        }
        if !port.number.is_real() || before.is_none() && self.now.ports.len() >= PORTS_MAX {
            return false;
        }
        // One that is new has only its number in common with the one before.
        let stays = before.filter(|_| *reason != PortChangeReason::Added);
        let is = PortNow::of(port, stays.map_or(now, |before| before.up_at));
        self.now.ports.insert(port.number, is);
        before != Some(is)
    }

    /// Whether it is time to ask for the round trip.
    pub(super) fn asks(&self, now: Time) -> bool {
        now >= self.ask_at
    }

    /// It is asked, with this transaction id.
    pub(super) fn ask(&mut self, now: Time, xid: u32) {
        (self.asked, self.ask_at) = (Some((xid, now)), now + ROUND_TRIP_EVERY);
    }

    /// A reply with this transaction id came: how long it took, if it is the one that was asked for.
    pub(super) fn answered(&mut self, now: Time, xid: u32) -> Option<Duration> {
        let (_, asked_at) = self.asked.take_if(|(asked, _)| *asked == xid)?;
        Some(now.since(asked_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_wire::FixedText;
    use aldis_wire::msg::PortDetails;

    fn change(reason: PortChangeReason, number: u32, mac: u64, up: bool) -> PortChange {
        let port = Port {
            number: PortNo(number),
            hw_addr: MacAddr::from_u64(mac),
            name: FixedText::default(),
            admin_down: false,
            link_down: !up,
            speed_kbps: 0,
            details: PortDetails::default(),
        };
        PortChange { reason, port }
    }

    fn watched() -> Watched {
        let ports = [(1, true), (2, false)];
        let ports = ports.map(|(number, up)| change(PortChangeReason::Added, number, 1, up).port);
        let (dpid, version) = (DatapathId(1), Version::V13);
        let info = Info { dpid, version, buffers: 0, tables: 1, ports: ports.to_vec() };
        Watch::new(Time(5), &info).0.into_inner().unwrap()
    }

    #[test]
    fn a_port_that_came_anew_is_another_one() {
        use PortChangeReason::{Added, Modified, Removed};
        let mut watched = watched();
        let mut tell = |now, reason, number, mac, up| {
            let tells = watched.change(Time(now), &change(reason, number, mac, up));
            let is = watched.now.ports.get(&PortNo(number));
            (tells, is.map(|port| (port.mac.to_u64(), port.up_at.0)))
        };
        assert_eq!(tell(6, Modified, 1, 1, true), (false, Some((1, 5))));
        assert_eq!(tell(7, Modified, 1, 2, true), (true, Some((2, 5))));
        assert_eq!(tell(8, Added, 1, 2, true), (true, Some((2, 8))));
        assert_eq!(tell(9, Modified, 1, 2, false), (true, None));
        assert_eq!(tell(9, Removed, 1, 2, true), (false, None));
        assert_eq!(tell(9, Modified, 2, 1, false), (false, None));
        assert_eq!(tell(9, Modified, 2, 1, true), (true, Some((1, 9))));
        assert_eq!(tell(9, Added, PortNo::LOCAL.0, 1, true), (false, None));
    }

    #[test]
    fn no_more_ports_are_kept_than_a_switch_may_have() {
        let mut watched = watched();
        let numbers = 1..=PORTS_MAX as u32 + 10;
        let tell = |watched: &mut Watched, number, up| {
            watched.change(Time(9), &change(PortChangeReason::Added, number, 1, up))
        };
        assert_eq!(numbers.filter(|&number| tell(&mut watched, number, true)).count(), PORTS_MAX);
        assert_eq!(watched.now.ports.len(), PORTS_MAX);
        assert!(tell(&mut watched, 7, false) && tell(&mut watched, u32::MAX >> 8, true));
    }
}
