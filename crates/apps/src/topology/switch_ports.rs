//! The ports of a switch as the workers see them now, and whether the search was told.
//!
//! The queue to the search may be full, and ports may flap. What was not told is not lost: the
//! switch is *behind*, and told of as a whole, once a second, until there is room; the more ports
//! it has, the less often, so that no switch has the search for itself.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use aldis_control::account::{Held, PORT_BYTES};
use aldis_control::limits::PORTS_MAX;
use aldis_control::switch::SwitchInfo;
use aldis_control::{Account, Time};
use aldis_wire::msg::{Port, PortChange, PortChangeReason, PortNo};
use aldis_wire::{DatapathId, MacAddr, Version};

/// Between two questions for the round trip to a switch. With [`super::SAMPLES`] of them the last
/// minute counts.
const ROUND_TRIP_EVERY: Duration = Duration::from_secs(5);

/// Changes of ports that are told of one switch in a second, each by itself: those of a line card.
/// Where there are more, the switch is told of as a whole.
const TOLD_PER_S: u32 = 64;

/// How long a switch rests for each of its ports after it was told of as a whole: the search takes
/// some microseconds for each.
const REST_PER_PORT: Duration = Duration::from_micros(500);

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

/// What is kept for each switch. Several workers may hold it, and none for long: it is looked at
/// where a port changes, and once a second.
#[derive(Debug)]
pub struct SwitchPorts(Mutex<PortsState>);

/// What a switch is due once a second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    /// The search is to be told of it as a whole.
    pub(super) whole: bool,
    /// The flows that bring probes are to be installed again.
    pub(super) flows: bool,
    /// It is to be asked for the round trip.
    pub(super) round_trip: bool,
}

#[derive(Debug)]
pub(super) struct PortsState {
    pub(super) now: SwitchNow,
    /// Whether the search was not told of the last change.
    pub(super) behind: bool,
    /// When it may be told of as a whole again.
    whole_at: Time,
    /// Changes that were told since the second began.
    told: u32,
    /// Its ports, on its account.
    held: Option<Held>,
    /// Whether there was no room for one there, and that was not said.
    is_over: bool,
    /// Whether that was said.
    was_over: bool,
    /// Whether a flow that brings probes was removed.
    pub(super) is_deaf: bool,
    /// The question for the round trip that is out, and when it was asked.
    request: Option<(u32, Time)>,
    ask_at: Time,
}

impl SwitchPorts {
    pub(super) fn new(now: Time, switch: &SwitchInfo) -> SwitchPorts {
        let up = switch.ports.iter().filter(|port| port.number.is_real() && port.is_up());
        let ports = up.map(|port| (port.number, PortNow::of(port, now))).collect();
        let (dpid, version) = (switch.dpid, switch.version);
        SwitchPorts(Mutex::new(PortsState {
            now: SwitchNow { dpid, version, since: now, ports },
            behind: true,
            whole_at: now,
            told: 0,
            held: None,
            is_over: false,
            was_over: false,
            is_deaf: false,
            request: None,
            ask_at: now,
        }))
    }

    /// Looks at it, alone.
    pub(super) fn with<R>(&self, act: impl FnOnce(&mut PortsState) -> R) -> R {
        // A panic here leaves it as it was: each change is one assignment.
        act(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

impl PortsState {
    /// Puts its ports on its account, by their numbers; those for which there is no room are passed
    /// over.
    pub(super) fn charge(&mut self, account: &Account) {
        let mut held = account.hold();
        let before = self.now.ports.len();
        self.now.ports.retain(|_, _| held.more(PORT_BYTES));
        self.is_over |= self.now.ports.len() < before;
        self.held = Some(held);
    }

    /// Whether ports were passed over, and that is to be said now. Once.
    pub(super) fn takes_notice(&mut self) -> bool {
        let is_first = self.is_over && !self.was_over;
        self.was_over |= self.is_over;
        is_first
    }

    /// Whether a change may be told by itself.
    pub(super) fn may_tell(&mut self) -> bool {
        self.told += 1;
        !self.behind && self.told <= TOLD_PER_S
    }

    /// A second passed: what is to be done about it, all in one look.
    pub(super) fn second(&mut self, now: Time) -> Due {
        self.told = 0;
        let flows = std::mem::take(&mut self.is_deaf);
        Due { whole: self.behind, flows, round_trip: now >= self.ask_at }
    }

    /// The switch as it is now, where the search has to be told of it as a whole.
    pub(super) fn whole(&mut self, now: Time) -> Option<SwitchNow> {
        let is_due = self.behind && self.whole_at <= now;
        is_due.then(|| {
            let count = u32::try_from(self.now.ports.len()).unwrap_or(u32::MAX);
            self.whole_at = now + REST_PER_PORT * count;
            self.now.clone()
        })
    }

    /// A port changed; whether that is anything to the search. Of more ports than a switch may
    /// have, those that come up last are passed over.
    pub(super) fn change(&mut self, now: Time, change: &PortChange) -> bool {
        let PortChange { reason, port } = change;
        let before = self.now.ports.get(&port.number).copied();
        if change.is_loss() {
            let was = self.now.ports.remove(&port.number).is_some();
            if was && let Some(held) = &mut self.held {
                held.less(PORT_BYTES);
            }
            return was;
        }
        if !port.number.is_real() {
            return false;
        }
        let has_room = |held: &mut Option<Held>| {
            held.as_mut().is_none_or(|held: &mut Held| held.more(PORT_BYTES))
        };
        if before.is_none() && (self.now.ports.len() >= PORTS_MAX || !has_room(&mut self.held)) {
            self.is_over = true;
            return false;
        }
        // One that is new has only its number in common with the one before.
        let stays = before.filter(|_| *reason != PortChangeReason::Added);
        let is = PortNow::of(port, stays.map_or(now, |before| before.up_at));
        self.now.ports.insert(port.number, is);
        before != Some(is)
    }

    /// It is asked, with this transaction id; with none, it is not asked this time.
    pub(super) fn ask(&mut self, now: Time, xid: Option<u32>) {
        (self.request, self.ask_at) = (xid.map(|xid| (xid, now)), now + ROUND_TRIP_EVERY);
    }

    /// A reply with this transaction id came: how long it took, if it is the one that was asked
    /// for.
    pub(super) fn answered(&mut self, now: Time, xid: u32) -> Option<Duration> {
        let (_, asked_at) = self.request.take_if(|(request, _)| *request == xid)?;
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

    fn state() -> PortsState {
        let ports = [(1, true), (2, false)];
        let ports = ports.map(|(number, up)| change(PortChangeReason::Added, number, 1, up).port);
        let (dpid, version) = (DatapathId(1), Version::V13);
        let info = SwitchInfo { dpid, version, buffers: 0, tables: 1, ports: ports.to_vec() };
        SwitchPorts::new(Time(5), &info).0.into_inner().unwrap()
    }

    #[test]
    fn a_port_that_came_anew_is_another_one() {
        use PortChangeReason::{Added, Modified, Removed};
        let mut state = state();
        let mut tell = |now, reason, number, mac, up| {
            let tells = state.change(Time(now), &change(reason, number, mac, up));
            let is = state.now.ports.get(&PortNo(number));
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
    fn no_more_ports_are_kept_than_there_is_room_for_on_the_account() {
        let mut state = state();
        let account = Account::new(3 * PORT_BYTES + 1);
        state.charge(&account);
        let mut tell = |number, up| {
            state.change(Time(9), &change(PortChangeReason::Added, number, 1, up));
            (state.now.ports.len(), state.takes_notice())
        };
        assert_eq!([tell(5, true), tell(6, true)], [(2, false), (3, false)]);
        assert_eq!([tell(7, true), tell(8, true)], [(3, true), (3, false)], "said once");
        assert_eq!([tell(5, false), tell(7, true)], [(2, false), (3, false)]);
        drop(state);
        assert_eq!(account.used(), 0);
    }

    #[test]
    fn ports_that_flap_are_told_together_and_the_less_often_the_more_there_are() {
        let mut state = state();
        state.behind = false;
        assert_eq!((0..1000).filter(|_| state.may_tell()).count(), TOLD_PER_S as usize);
        state.behind = true;
        (10..2010).for_each(|number| {
            state.change(Time(9), &change(PortChangeReason::Added, number, 1, true));
        });
        let second = Duration::from_secs(1);
        assert_eq!(state.whole(Time(9)).map(|now| now.ports.len()), Some(2001));
        assert!(state.whole(Time(9) + second).is_none(), "a second for 2000 of them");
        assert!(state.whole(Time(9) + 2 * second).is_some());
    }

    #[test]
    fn no_more_ports_are_kept_than_a_switch_may_have() {
        let mut state = state();
        let numbers = 1..=PORTS_MAX as u32 + 10;
        let tell = |state: &mut PortsState, number, up| {
            state.change(Time(9), &change(PortChangeReason::Added, number, 1, up))
        };
        assert_eq!(numbers.filter(|&number| tell(&mut state, number, true)).count(), PORTS_MAX);
        assert_eq!(state.now.ports.len(), PORTS_MAX);
        assert!(tell(&mut state, 7, false) && tell(&mut state, u32::MAX >> 8, true));
    }
}
