//! What a worker knows of a switch: its ports as they are now, and whether the search was told.
//!
//! The queue to the search may be full. What was not told is not lost: the switch is *behind*, and told of as a whole, once a
//! second, until there is room.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use aldis_control::Time;
use aldis_control::switch::Info;
use aldis_wire::msg::{Port, PortChange, PortNo};
use aldis_wire::{DatapathId, MacAddr, Version};

/// Between two questions for the round trip to a switch. With [`super::SAMPLES`] of them the last minute counts.
const ROUND_TRIP_EVERY: Duration = Duration::from_secs(5);

/// A port as it is now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PortNow {
    pub(super) mac: MacAddr,
    pub(super) speed_kbps: u32,
    pub(super) up: bool,
}

impl PortNow {
    /// One that is not there.
    pub(super) const GONE: PortNow = PortNow { mac: MacAddr([0; 6]), speed_kbps: 0, up: false };

    fn of(port: &Port) -> PortNow {
        PortNow { mac: port.hw_addr, speed_kbps: port.speed_kbps, up: port.is_up() }
    }
}

/// A switch as it is now, with its real ports.
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
    /// The question for the round trip that is out, and when it was asked.
    asked: Option<(u32, Time)>,
    ask_at: Time,
}

impl Watch {
    pub(super) fn new(now: Time, switch: &Info) -> Watch {
        let real = switch.ports.iter().filter(|port| port.number.is_real());
        let ports = real.map(|port| (port.number, PortNow::of(port))).collect();
        let (dpid, version) = (switch.dpid, switch.version);
        Watch(Mutex::new(Watched {
            now: SwitchNow { dpid, version, since: now, ports },
            behind: true,
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
    /// A port changed: how it is now. None for one that nobody looks at.
    pub(super) fn change(&mut self, change: &PortChange) -> Option<PortNow> {
        let number = change.port.number;
        if !number.is_real() {
            return None;
        }
        let port = PortNow { up: !change.is_loss(), ..PortNow::of(&change.port) };
        match port.up {
            true => self.now.ports.insert(number, port),
            false => self.now.ports.remove(&number),
        };
        Some(port)
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
