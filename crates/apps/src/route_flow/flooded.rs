//! Duplicate suppression while links are being found: what was flooded a moment ago, so that no
//! copy of it reaches its receiver a second time.
//!
//! A packet to whose receiver no path is known is flooded by every port, and comes to the
//! receiver's switch from several sides. Three rules keep it from arriving twice:
//! 1. A frame that a switch flooded, or that was sent to it, within [`STAYS`] is not sent to that
//!    switch again.
//! 2. A port of which it is not known where it leads gets no flow, unless the flow's sender is
//!    known to be there: by such a flow a switch would pass copies on without asking.
//! 3. A flow that was flooded within [`STAYS`] gets none either: copies of its packets are on their
//!    way, and would meet it.
//!
//! For example, in a ring of five switches the first packets from one host to another are flooded
//! by both ways around. The receiver's switch asks about both copies, and the second is dropped.
//!
//! None of this is looked at where every port of the network is known, and was for [`STAYS`].

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;

use aldis_control::Time;
use aldis_wire::DatapathId;

use super::rule::Key;
use crate::recent_set::{Recency, RecentSet};
use crate::topology::Map;

/// A copy of a frame that was flooded may come so much later: what a controller that is busy with
/// the handshakes of a new network has waiting, and the links. For example, the long way around a
/// ring of five switches is four links, with 50 ms each two fifths of it.
const STAYS: Duration = Duration::from_millis(500);

/// Frames and flows that are remembered, each once for every switch that flooded it. Where there
/// are more, a copy may arrive. Half a megabyte each.
const ROOM: usize = 1 << 16;

/// What was flooded a moment ago: shared by all workers.
#[derive(Debug)]
pub(super) struct Flooded {
    frames: RecentSet,
    flows: RecentSet,
    /// Until then copies are looked for, in nanoseconds.
    until: AtomicU64,
}

/// A switch, and when it joined: what an earlier network's switch of that name was sent is no copy.
pub(super) type Joined = (DatapathId, Option<Time>);

impl Default for Flooded {
    /// Nothing was flooded yet.
    fn default() -> Flooded {
        let [frames, flows] = [ROOM, ROOM].map(|room| RecentSet::new(room, STAYS));
        Flooded { frames, flows, until: AtomicU64::new(0) }
    }
}

impl Flooded {
    /// Whether copies of what was flooded may be on their way: asked once a batch.
    pub(super) fn may_return(&self, now: Time, map: &Map) -> bool {
        if map.is_known() {
            return now.0 < self.until.load(Relaxed);
        }
        self.until.fetch_max((now + STAYS).0, Relaxed);
        true
    }

    /// A switch is about to flood a packet of this flow.
    pub(super) fn note(&self, now: Time, at: Joined, (key, frame): (&Key, &[u8])) {
        self.frames.note(now, self.frames.hash((at, frame)));
        self.flows.note(now, self.flows.hash(key));
    }

    /// Whether a frame that is about to be sent to a switch was flooded by it or sent to it a
    /// moment ago; notes that it is sent.
    pub(super) fn is_copy(&self, now: Time, to: Joined, frame: &[u8]) -> bool {
        self.frames.note(now, self.frames.hash((to, frame))) == Recency::Known
    }

    /// Whether packets of this flow were flooded a moment ago.
    pub(super) fn has_flow(&self, now: Time, key: &Key) -> bool {
        self.flows.knows(now, self.flows.hash(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{MapPort, MapSwitch};
    use aldis_wire::msg::PortNo;
    use aldis_wire::{MacAddr, Version};

    const KEY: Key = Key { src: MacAddr([2; 6]), dst: MacAddr([4; 6]), vlan: Key::UNTAGGED };

    #[test]
    fn a_frame_is_sent_once_to_a_switch_and_its_flow_waits() {
        let flooded = Flooded::default();
        let [one, other] = [1, 2].map(|dpid| (DatapathId(dpid), Some(Time(7))));
        let now = Time::START + Duration::from_secs(1);
        flooded.note(now, one, (&KEY, b"frame"));
        assert!(flooded.is_copy(now, one, b"frame") && !flooded.is_copy(now, one, b"another"));
        assert!(!flooded.is_copy(now, other, b"frame") && flooded.is_copy(now, other, b"frame"));
        let again = (DatapathId(1), Some(Time(8)));
        assert!(!flooded.is_copy(now, again, b"frame"), "it joined anew");
        let dst = MacAddr([6; 6]);
        assert!(flooded.has_flow(now, &KEY) && !flooded.has_flow(now, &Key { dst, ..KEY }));
        // Four links of 50 ms, and a busy controller.
        let later = now + Duration::from_millis(300);
        assert!(flooded.has_flow(later, &KEY) && flooded.is_copy(later, one, b"frame"));
        assert!(!flooded.has_flow(later + STAYS, &KEY));
        assert!(!flooded.is_copy(later + STAYS, one, b"frame"));
    }

    #[test]
    fn copies_are_looked_for_until_half_a_second_after_all_ports_are_known() {
        let flooded = Flooded::default();
        let map = |known| -> Map {
            let (dpid, version, since) = (DatapathId(1), Version::V13, Time::START);
            let port = MapPort {
                number: PortNo(1),
                mac: MacAddr::default(),
                speed_kbps: 0,
                known,
                host: false,
                link: None,
                far: vec![],
            };
            [MapSwitch { dpid, version, since, ports: vec![port] }].into_iter().collect()
        };
        let now = Time::START + Duration::from_secs(1);
        assert!(!flooded.may_return(now, &map(true)));
        assert!(flooded.may_return(now, &map(false)) && flooded.may_return(now, &map(true)));
        assert!(!flooded.may_return(now + STAYS, &map(true)));
    }
}
