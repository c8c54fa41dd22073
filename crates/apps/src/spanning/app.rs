//! The application: what no other answered leaves by the ports that it should.

use core::hash::Hasher;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;
use std::hash::DefaultHasher;
use std::sync::Arc;

use aldis_control::app::{Next, Parallel, Slots};
use aldis_control::switch::Info;
use aldis_control::world::{PartId, Publishers};
use aldis_control::{App, Asked, Batch, On, Output, Part, Time};
use aldis_wire::msg::{Action, PacketOut, Port, PortNo};
use aldis_wire::{DatapathId, MacAddr, NO_BUFFER};

use super::outlets::{Outlets, Spans};
use crate::recent::{Recent, Verdict};

/// For so long a frame that was flooded is not flooded again. Hosts that repeat what they said do it after a second, as ARP
/// does; a little less, for clocks differ.
const REPEAT_WITHIN: Duration = Duration::from_millis(900);

/// Where it is known what all ports lead to, so often within that time: hosts may well say the same more often, and if a loop
/// stayed hidden a frame goes around no more often.
pub(super) const TIMES: u64 = 8;

/// Frames that were flooded a moment ago, by all switches: a question of one host is one for each of them. Where a second brings
/// more, they are dropped: they are a storm. Rows are not filled evenly, so that at a quarter of it one in ten thousand finds no
/// room, and at half of it seven in a thousand. Eight megabytes.
const FRAMES_MAX: usize = 1 << 20;

/// Those of them that a large network floods while it is not known what all ports lead to. Each comes back by every link of every
/// switch then; with more, the probes by which that becomes known are late, and so it stays unknown. 32 kilobytes.
pub(super) const CAREFUL_MAX: usize = 1 << 12;

/// How often people are told of a storm.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// The addresses that bridges keep to themselves, but for their last four bits (IEEE 802.1D-2004, table 7-10).
const BRIDGES: u64 = 0x0180_c200_0000;

/// Where a frame came in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inlet {
    pub(super) dpid: DatapathId,
    /// When the switch joined. What it flooded before it went away is no repeat: the network may be another one by now, as when
    /// Mininet was started again.
    pub(super) joined: Time,
    pub(super) port: PortNo,
}

/// Shared by the instances of the application.
#[derive(Debug)]
pub struct Repeats {
    secret: [u8; 16],
    frames: Recent,
    /// Those of them that were flooded while it was not known what all ports lead to.
    careful: Recent,
    /// Frames for which there was no room, and that nobody was told of.
    refused: AtomicU64,
    /// When people may be told again, in nanoseconds.
    tell_at: AtomicU64,
}

impl Repeats {
    /// Nothing was flooded yet. `secret` is random, so that nobody can make two frames that look alike.
    pub fn new(secret: [u8; 16]) -> Repeats {
        let [frames, careful] =
            [FRAMES_MAX, CAREFUL_MAX].map(|room| Recent::new(room, REPEAT_WITHIN));
        Repeats { secret, frames, careful, refused: AtomicU64::new(0), tell_at: AtomicU64::new(0) }
    }

    /// How many frames were not flooded because too many others were a moment ago, if people are to be told so now.
    fn refused(&self, now: Time) -> Option<u64> {
        let tell_at = self.tell_at.load(Relaxed);
        if self.refused.load(Relaxed) == 0 || now.0 < tell_at {
            return None;
        }
        let next = (now + TELL_EVERY).0;
        self.tell_at.compare_exchange(tell_at, next, Relaxed, Relaxed).ok()?;
        Some(self.refused.swap(0, Relaxed)).filter(|refused| *refused > 0)
    }

    /// The ports by which a switch floods a frame that came in there; none where it does not. `at_first` are its ports when it
    /// joined: they count as long as the outlets do not have it.
    pub(super) fn flood(
        &self,
        now: Time,
        at: Inlet,
        frame: &[u8],
        (outlets, at_first): (&Outlets, &[Port]),
    ) -> Vec<PortNo> {
        let mut ports: Vec<PortNo> = match outlets.switch(at.dpid) {
            Some(outlet) => outlet.flood(at.port).collect(),
            None => ports_at_first(at_first).filter(|port| *port != at.port).collect(),
        };
        // A frame that was flooded with care counts as such for as long as a copy of it may come back.
        let is_long_settled = outlets
            .settled()
            .is_some_and(|since| since == Time::START || now.since(since) >= REPEAT_WITHIN);
        if ports.is_empty() {
            return ports;
        }
        let key = self.key(at, frame);
        let admitted = match is_long_settled {
            true => self.admit(now, key, TIMES),
            false => {
                self.admit(now, key, 1)
                    && (!outlets.is_large() || self.leaves_probes_room(now, key))
            }
        };
        if !admitted {
            ports.clear();
        }
        ports
    }

    /// What a frame that a switch is to flood is known by.
    fn key(&self, at: Inlet, frame: &[u8]) -> u64 {
        let source = frame.get(6..12).and_then(|source| source.first_chunk()).copied();
        let hash = frame_hash(self.secret, at.dpid, MacAddr(source.unwrap_or_default()), frame);
        self.frames.hash((hash, at.joined.0))
    }

    /// Whether a frame may be flooded by a switch, where that may happen so many times a second; notes it if so.
    fn admit(&self, now: Time, key: u64, times: u64) -> bool {
        let mut verdicts = (0..times).map(|nth| self.frames.note(now, key.rotate_left(nth as u32)));
        match verdicts.find(|verdict| *verdict != Verdict::Known) {
            Some(verdict) => self.has_room(verdict),
            None => false,
        }
    }

    /// Whether one more frame may be flooded while probes have to find out what the ports of many switches lead to; notes it.
    fn leaves_probes_room(&self, now: Time, key: u64) -> bool {
        self.has_room(self.careful.note(now, key))
    }

    fn has_room(&self, verdict: Verdict) -> bool {
        let has_room = verdict != Verdict::Full;
        if !has_room {
            self.refused.fetch_add(1, Relaxed);
        }
        has_room
    }
}

/// Floods without loops.
#[derive(Debug)]
pub struct Spanning {
    repeats: Arc<Repeats>,
}

impl Spanning {
    /// The instance of one worker; all have the same repeats.
    pub fn new(repeats: Arc<Repeats>) -> Spanning {
        Spanning { repeats }
    }

    fn flood(
        &self,
        (now, joined): (Time, Time),
        asked: &Asked<'_>,
        outlets: &Outlets,
        out: &mut Output,
    ) {
        let is_for_bridges = |mac: MacAddr| mac.to_u64() & !0xf == BRIDGES;
        if asked.dst().is_none_or(is_for_bridges) {
            return drop_packet(asked, out);
        }
        let at = Inlet { dpid: asked.switch.dpid, joined, port: asked.in_port() };
        let ports = self.repeats.flood(now, at, asked.frame, (outlets, &asked.switch.ports));
        if ports.is_empty() {
            return drop_packet(asked, out);
        }
        if let Some(packet) = asked.packet() {
            out.answer(asked, packet.actions(ports.into_iter().map(Action::output)));
        }
    }
}

impl App for Spanning {
    type Slot = Parallel<Time>;
    const NAME: &'static str = "spanning";
    const STARTS: &'static [On] = &[On::FlowRequest];
    const READS: &'static [PartId] = &[Outlets::ID];

    fn join(&mut self, now: Time, _: &Info) -> Time {
        now
    }

    fn packet_ins(
        &mut self,
        batch: &mut Batch<'_>,
        slots: Slots<'_, Parallel<Time>>,
        out: &mut Output,
    ) {
        let (now, outlets) = (batch.now, batch.world.part::<Outlets>());
        batch.each(|asked| {
            self.flood((now, *slots.of(asked.place)), asked, outlets, out);
            Next::Stop
        });
        if let Some(refused) = self.repeats.refused(now) {
            out.far().note(format!(
                "spanning: a storm of broadcasts, or of packets for hosts that nobody knows: {refused} were not flooded"
            ));
        }
    }

    fn publishers(&self) -> Publishers {
        Publishers::of(Spans::new())
    }
}

fn ports_at_first(ports: &[Port]) -> impl Iterator<Item = PortNo> {
    ports.iter().filter(|port| port.is_up() && port.number.is_real()).map(|port| port.number)
}

/// The switch need not keep the packet any longer.
fn drop_packet(asked: &Asked<'_>, out: &mut Output) {
    let buffer_id = asked.request.buffer_id;
    if buffer_id != NO_BUFFER {
        out.answer(asked, PacketOut::buffered(buffer_id).from_port(asked.in_port()));
    }
}

/// What tells a repeat: the switch, the sender, and all of the frame. `secret` is the same for all of one controller's run
/// and nobody else's, so that nobody can make two frames that look alike.
pub fn frame_hash(secret: [u8; 16], dpid: DatapathId, source: MacAddr, frame: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(&secret);
    hasher.write_u64(dpid.0);
    hasher.write_u64(source.to_u64());
    hasher.write(frame);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_differ_in_anything_are_told_apart() {
        let hash = |secret, dpid, source: u64, frame: &[u8]| {
            frame_hash([secret; 16], DatapathId(dpid), MacAddr::from_u64(source), frame)
        };
        let one = hash(1, 1, 1, b"frame");
        assert_eq!(one, hash(1, 1, 1, b"frame"));
        let others = [hash(2, 1, 1, b"frame"), hash(1, 2, 1, b"frame"), hash(1, 1, 2, b"frame")];
        assert!(others.into_iter().chain([hash(1, 1, 1, b"frames")]).all(|other| other != one));
    }

    #[test]
    fn a_frame_is_admitted_so_many_times_a_second() {
        let repeats = Repeats::new([1; 16]);
        let admitted_since = |now, joined, dpid, times| {
            let at = Inlet { dpid: DatapathId(dpid), joined, port: PortNo(1) };
            let key = repeats.key(at, b"the same frame");
            let admits = |_: &usize| repeats.admit(now, key, times);
            (0..20usize).filter(admits).count()
        };
        let admitted = |now, dpid, times| admitted_since(now, Time::START, dpid, times);
        assert_eq!(admitted(Time::START, 1, 1), 1);
        assert_eq!(admitted(Time::START, 1, TIMES), TIMES as usize - 1);
        assert_eq!(admitted(Time::START, 2, TIMES), TIMES as usize);
        assert_eq!(admitted(Time::START + Duration::from_secs(1), 1, 1), 1);
        // It went away and came back.
        let soon = Time::START + Duration::from_millis(100);
        assert_eq!(admitted(soon, 2, TIMES), 0);
        assert_eq!(admitted_since(soon, soon, 2, 1), 1);
    }

    /// What a hundred hosts ask in one second is no storm, in the largest network of the papers.
    #[test]
    fn a_thousand_switches_flood_what_a_hundred_hosts_say_at_once() {
        let repeats = Repeats::new([1; 16]);
        let asks = (1..=1347).flat_map(|dpid| (0..100u8).map(move |host| (dpid, host)));
        let is_dropped = |(dpid, host): &(u64, u8)| {
            let at = Inlet { dpid: DatapathId(*dpid), joined: Time::START, port: PortNo(1) };
            !repeats.admit(Time::START, repeats.key(at, &[*host; 60]), TIMES)
        };
        let dropped = asks.filter(is_dropped).count() as u64;
        assert!(dropped <= 10, "{dropped} of 134,700");
        assert_eq!(repeats.refused(Time::START), (dropped > 0).then_some(dropped));
    }

    #[test]
    fn while_probes_are_out_a_large_network_floods_some_thousand_frames_and_no_more() {
        let repeats = Repeats::new([1; 16]);
        let leaves = |key: &u64| repeats.leaves_probes_room(Time::START, key << 32 | key);
        assert_eq!((0..65_536).filter(leaves).count(), CAREFUL_MAX);
        assert_eq!(repeats.refused(Time::START), Some(65_536 - CAREFUL_MAX as u64));
        assert!(repeats.leaves_probes_room(Time::START + Duration::from_secs(1), 1 << 50));
    }

    #[test]
    fn what_is_not_flooded_for_want_of_room_is_told_once_a_second() {
        let repeats = Repeats { refused: AtomicU64::new(7), ..Repeats::new([1; 16]) };
        let at = |milliseconds| Time::START + Duration::from_millis(milliseconds);
        assert_eq!(repeats.refused(at(5000)), Some(7));
        assert_eq!(repeats.refused(at(7000)), None);
        repeats.refused.store(3, Relaxed);
        assert_eq!(repeats.refused(at(5999)), None);
        assert_eq!(repeats.refused(at(6000)), Some(3));
    }
}
