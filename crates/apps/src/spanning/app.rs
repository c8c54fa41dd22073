//! The application: what no other answered leaves by the ports that it should.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;
use std::sync::Arc;

use aldis_control::app::{Next, Parallel, Slots};
use aldis_control::switch::SwitchInfo;
use aldis_control::world::{PartId, Publishers};
use aldis_control::{App, Batch, EventKind, Output, Part, Request, Time};
use aldis_wire::msg::{PacketOutHead, PortNo};
use aldis_wire::{DatapathId, MacAddr, NO_BUFFER};

use super::flood_ports::{FloodPorts, FloodPortsPublisher};
use super::heads::{Head, Heads};
use super::shares::{DIVIDED, Divided, FloodShares, FloodSpent, LEAST, Of};
use crate::recent_set::{Recency, RecentSet};

/// For so long a frame that was flooded is not flooded again. Hosts that repeat what they said do
/// it after a second, as ARP does; a little less, for clocks differ.
const REPEAT_WITHIN: Duration = Duration::from_millis(900);

/// Where it is known what all ports lead to, so often within that time: hosts may well say the same
/// more often, and if a loop stayed hidden a frame goes around no more often.
pub(super) const TIMES: u64 = 8;

/// Frames that were flooded a moment ago, by all switches: a question of one host is one for each
/// of them. Where a second brings more, they are dropped: they are a storm. Rows are not filled
/// evenly, so that at a quarter of it one in ten thousand finds no room, and at half of it seven in
/// a thousand. Eight megabytes.
const FRAMES_MAX: usize = 1 << 20;

/// Those of them that a large network floods while it is not known what all ports lead to. Each
/// comes back by every link of every switch then; with more, the probes by which that becomes known
/// are late, and so it stays unknown. 32 kilobytes.
pub(super) const CAREFUL_MAX: usize = 1 << 12;

/// How often people are told of a storm.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// The addresses that bridges keep to themselves, but for their last four bits (IEEE 802.1D-2004,
/// table 7-10).
const BRIDGES: u64 = 0x0180_c200_0000;

/// Requests that are looked ahead: as many lines as memory brings at a time, twice over.
const AHEAD: usize = 32;

/// Where a frame came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Inlet {
    pub(super) dpid: DatapathId,
    /// When the switch joined. What it flooded before it went away is no repeat: the network may be
    /// another one by now, as when Mininet was started again.
    pub(super) joined: Time,
    pub(super) port: PortNo,
}

/// What is known of a switch.
#[derive(Debug)]
pub struct JoinedSwitch {
    at: Time,
    spent: FloodSpent,
}

/// Shared by the instances of the application.
#[derive(Debug)]
pub struct Repeats {
    frames: RecentSet,
    /// Those of them that were flooded while it was not known what all ports lead to.
    careful: RecentSet,
    shares: FloodShares,
    /// Frames for which there was no room, and that were not told of.
    refused: AtomicU64,
    /// When people may be told again, in nanoseconds.
    tell_at: AtomicU64,
}

impl Default for Repeats {
    /// Nothing was flooded yet.
    fn default() -> Repeats {
        Repeats::with_room(Repeats::FRAMES_MAX)
    }
}

impl Repeats {
    /// Frames that are remembered, unless told otherwise.
    pub const FRAMES_MAX: usize = FRAMES_MAX;

    /// Nothing was flooded yet, with room for so many frames: where there is little memory.
    pub fn with_room(frames_max: usize) -> Repeats {
        let [frames, careful] =
            [frames_max, CAREFUL_MAX].map(|room| RecentSet::new(room, REPEAT_WITHIN));
        let (shares, refused, tell_at) =
            (FloodShares::default(), AtomicU64::new(0), AtomicU64::new(0));
        Repeats { frames, careful, shares, refused, tell_at }
    }
}

impl Repeats {
    /// How many frames were not flooded because too many others were a moment ago, if people are to
    /// be told so now.
    fn refused(&self, now: Time) -> Option<u64> {
        let tell_at = self.tell_at.load(Relaxed);
        if self.refused.load(Relaxed) == 0 || now.0 < tell_at {
            return None;
        }
        let next = (now + TELL_EVERY).0;
        self.tell_at.compare_exchange(tell_at, next, Relaxed, Relaxed).ok()?;
        Some(self.refused.swap(0, Relaxed)).filter(|refused| *refused > 0)
    }

    /// What a frame that a switch is to flood is known by: the switch, since when it is here, and
    /// all of the frame. The hash is of a function that this controller alone has, so that a sender
    /// cannot make two frames that look alike.
    pub(super) fn key(&self, at: Inlet, frame: &[u8]) -> u64 {
        self.frames.hash((at.dpid.0, at.joined.0, frame))
    }

    /// Starts to bring what is known of such a frame.
    fn ask_for(&self, key: u64) {
        self.frames.ask_for(key);
    }

    /// Whether a switch may flood one frame more: of what that is.
    fn take(&self, now: Time, switch: &JoinedSwitch, flood_ports: &FloodPorts) -> Option<Of> {
        let switches = flood_ports.count();
        let divided = match flood_ports.is_large() && flood_ports.settled().is_none() {
            true => Divided { floods: CAREFUL_MAX as u64, switches, least: 1 },
            false => Divided { floods: DIVIDED, switches, least: LEAST },
        };
        let of = self.shares.take(now, &switch.spent, divided);
        if of.is_none() {
            self.refused.fetch_add(1, Relaxed);
        }
        of
    }

    /// Whether a switch may flood this frame now; notes it if so. `of` is what the flood is of.
    pub(super) fn admits(&self, now: Time, (key, of): (u64, Of), flood_ports: &FloodPorts) -> bool {
        // A frame that was flooded with care counts as such for as long as a copy of it may come
        // back.
        let is_long_settled = flood_ports
            .settled()
            .is_some_and(|since| since == Time::START || now.since(since) >= REPEAT_WITHIN);
        match is_long_settled {
            true => self.admit(now, key, TIMES),
            false => {
                self.admit(now, key, 1)
                    && (!flood_ports.is_large()
                        || of == Of::Part
                        || self.leaves_probes_room(now, key))
            }
        }
    }

    /// Whether a frame may be flooded by a switch, where that may happen so many times a second;
    /// notes it if so.
    fn admit(&self, now: Time, key: u64, times: u64) -> bool {
        let verdict = self.frames.note_times(now, key, times);
        verdict != Recency::Known && self.has_room(verdict)
    }

    /// Whether one more frame may be flooded while probes have to find out what the ports of many
    /// switches lead to; notes it.
    fn leaves_probes_room(&self, now: Time, key: u64) -> bool {
        self.has_room(self.careful.note(now, key))
    }

    fn has_room(&self, verdict: Recency) -> bool {
        let has_room = verdict != Recency::Full;
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
    heads: Heads,
    /// The requests of a batch that no other application answered.
    left: Vec<Left>,
    /// What may be flooded of them, in their order.
    floods: Vec<Option<FloodedFrame>>,
}

/// A request: its run, and its place in the batch.
#[derive(Clone, Copy, Debug, Default)]
struct Left {
    run: u32,
    index: u32,
}

impl Left {
    fn place(self) -> (usize, usize) {
        (self.run as usize, self.index as usize)
    }
}

/// A frame that leaves by some port, and that its switch has a flood for.
#[derive(Clone, Copy, Debug)]
struct FloodedFrame {
    /// What the frame is known by.
    key: u64,
    of: Of,
}

/// Whether a frame leaves its switch, by the lower ports of one run that were asked for: the
/// requests of a run follow each other.
#[derive(Default)]
struct OpenPorts {
    run: u32,
    /// A bit for each port below 64 that was asked for, and one where frames leave.
    asked: u64,
    open: u64,
}

impl OpenPorts {
    /// Whether this port is one. `is_open` finds out, where it was not asked for in this run.
    #[inline]
    fn holds(&mut self, (run, port): (u32, u32), is_open: impl FnOnce() -> bool) -> bool {
        if run != self.run {
            *self = OpenPorts { run, ..OpenPorts::default() };
        }
        let bit = 1u64.checked_shl(port).unwrap_or(0);
        if self.asked & bit == 0 {
            let is_open = is_open();
            self.asked |= bit;
            self.open |= if is_open { bit } else { 0 };
            return is_open;
        }
        self.open & bit != 0
    }
}

impl Spanning {
    /// The instance of one worker; all have the same repeats.
    pub fn new(repeats: Arc<Repeats>) -> Spanning {
        Spanning { repeats, heads: Heads::default(), left: Vec::new(), floods: Vec::new() }
    }

    /// Finds out which requests are left to be answered. Without a branch for each: which of them
    /// others answered cannot be foreseen.
    fn find_left(&mut self, batch: &Batch<'_>) {
        self.left.clear();
        self.left.resize(batch.requests.len(), Left::default());
        let mut len = 0;
        for (run, stretch) in batch.runs.iter().enumerate() {
            for index in stretch.requests.clone() {
                self.left[len] = Left { run: run as u32, index: index as u32 };
                len += usize::from(!batch.requests[index].stopped);
            }
        }
        self.left.truncate(len);
    }

    /// Reads the frames of a batch, so that what is known of each can be brought before it is
    /// needed. A frame for which its switch has no flood left is dropped here, before anything is
    /// looked up for it.
    fn read(
        &mut self,
        batch: &Batch<'_>,
        slots: &Slots<'_, Parallel<JoinedSwitch>>,
        (version, flood_ports): (u64, &FloodPorts),
    ) {
        let Spanning { repeats, heads, left, floods } = self;
        floods.clear();
        let mut open = OpenPorts::default();
        for left in left.iter() {
            let (run, index) = left.place();
            let run = &batch.runs[run];
            let (switch, slot) = (&batch.switches[run.switch].info, slots.of(run.switch));
            let request = &batch.requests[index];
            let at = Inlet { dpid: switch.dpid, joined: slot.at, port: PortNo(request.in_port) };
            let frame = batch.frame(request);
            let is_open = || !heads.of(version, at, (flood_ports, switch)).floods.is_empty();
            let leaves = !stays(frame) && open.holds((left.run, request.in_port), is_open);
            let of = if leaves { repeats.take(batch.now, slot, flood_ports) } else { None };
            floods.push(of.map(|of| FloodedFrame { key: repeats.key(at, frame), of }));
        }
        floods.iter().take(AHEAD).flatten().for_each(|flood| repeats.ask_for(flood.key));
    }

    /// Floods the packet of a request, or has its switch forget it.
    #[inline]
    fn answer(
        &mut self,
        now: Time,
        (request, slot, flood): (&Request<'_>, &JoinedSwitch, Option<FloodedFrame>),
        (version, flood_ports): (u64, &FloodPorts),
        out: &mut Output,
    ) {
        let Spanning { repeats, heads, .. } = self;
        let is_flooded = flood.is_some_and(|FloodedFrame { key, of }| {
            let admits = repeats.admits(now, (key, of), flood_ports);
            if !admits {
                repeats.shares.give_back(now, &slot.spent, of);
            }
            admits
        });
        let at = Inlet { dpid: request.switch.dpid, joined: slot.at, port: request.in_port() };
        let Head { floods, drop } = heads.of(version, at, (flood_ports, request.switch));
        let is_sent = is_flooded && send(request, floods, out);
        // The switch need not keep the packet any longer.
        if !is_sent && request.header.buffer_id != NO_BUFFER {
            drop.as_ref().map(|head| out.send(request, head));
        }
    }
}

/// Sends the packet of a request behind each of these heads. Where the switch holds it and sent a
/// part of it only, it goes by the first alone.
#[inline]
fn send(request: &Request<'_>, heads: &[PacketOutHead], out: &mut Output) -> bool {
    let Some((first, others)) = heads.split_first() else { return false };
    let is_sent = out.send(request, first);
    for head in others {
        out.send_again(request, head);
    }
    is_sent
}

/// Whether a frame goes to no other switch: it is too short to have a receiver, or for bridges
/// only.
fn stays(frame: &[u8]) -> bool {
    let is_for_bridges = |mac: &[u8; 6]| MacAddr(*mac).to_u64() & !0xf == BRIDGES;
    frame.first_chunk().is_none_or(is_for_bridges)
}

impl App for Spanning {
    type Slot = Parallel<JoinedSwitch>;
    const NAME: &'static str = "spanning";
    const EVENTS: &'static [EventKind] = &[EventKind::FlowRequest];
    const READS: &'static [PartId] = &[FloodPorts::ID];

    fn init_switch(&mut self, now: Time, _: &SwitchInfo) -> JoinedSwitch {
        JoinedSwitch { at: now, spent: FloodSpent::default() }
    }

    fn packet_ins(
        &mut self,
        batch: &mut Batch<'_>,
        slots: Slots<'_, Parallel<JoinedSwitch>>,
        out: &mut Output,
    ) {
        let now = batch.now;
        let flood_ports = (batch.world.version(), batch.world.part::<FloodPorts>());
        self.find_left(batch);
        self.read(batch, &slots, flood_ports);
        for at in 0..self.left.len() {
            if let Some(Some(ahead)) = self.floods.get(at + AHEAD) {
                self.repeats.ask_for(ahead.key);
            }
            let flood = self.floods[at];
            batch.one(self.left[at].place(), |request| {
                let slot = slots.of(request.switch_index);
                self.answer(now, (request, slot, flood), flood_ports, out);
                Next::Stop
            });
        }
        if let Some(refused) = self.repeats.refused(now) {
            out.commands().warn(format!(
                "spanning: a storm of broadcasts, or of packets for hosts that nobody knows: {refused} were not flooded"
            ));
        }
    }

    fn publishers(&self) -> Publishers {
        Publishers::of(FloodPortsPublisher::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_looked_up_once_a_run_and_high_ones_each_time() {
        let (mut open, mut looked_up) = (OpenPorts::default(), vec![]);
        let asked = [(0, 1), (0, 2), (0, 1), (0, 2), (1, 1), (1, 1), (1, 65), (1, 65), (0, 1)];
        let holds: Vec<bool> = asked
            .map(|at| {
                open.holds(at, || {
                    looked_up.push(at);
                    at != (0, 1)
                })
            })
            .to_vec();
        assert_eq!(holds, asked.map(|at| at != (0, 1)));
        assert_eq!(looked_up, [(0, 1), (0, 2), (1, 1), (1, 65), (1, 65), (0, 1)]);
    }

    #[test]
    fn frames_that_differ_in_anything_are_told_apart() {
        let repeats = Repeats::default();
        let key = |dpid, joined, frame: &[u8]| {
            let at = Inlet { dpid: DatapathId(dpid), joined: Time(joined), port: PortNo(1) };
            repeats.key(at, frame)
        };
        let one = key(1, 1, b"frame");
        assert_eq!(one, key(1, 1, b"frame"));
        let others = [key(2, 1, b"frame"), key(1, 2, b"frame"), key(1, 1, b"frames")];
        assert!(others.into_iter().all(|other| other != one));
        // Another controller has another hash.
        let at = Inlet { dpid: DatapathId(1), joined: Time(1), port: PortNo(1) };
        assert_ne!(Repeats::default().key(at, b"frame"), one);
    }

    #[test]
    fn a_frame_is_admitted_so_many_times_a_second() {
        let repeats = Repeats::default();
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
        let repeats = Repeats::default();
        let asks = (1..=1347).flat_map(|dpid| (0..100u8).map(move |host| (dpid, host)));
        let is_dropped = |(dpid, host): &(u64, u8)| {
            let at = Inlet { dpid: DatapathId(*dpid), joined: Time::START, port: PortNo(1) };
            !repeats.admit(Time::START, repeats.key(at, &[*host; 60]), TIMES)
        };
        let dropped = asks.filter(is_dropped).count() as u64;
        assert!(dropped <= 10, "{dropped} of 134,700");
        assert_eq!(repeats.refused(Time::START), (dropped > 0).then_some(dropped));
    }

    /// One switch floods without end, as a broken network card does, and another one asks what a
    /// hundred hosts ask.
    #[test]
    fn a_storm_at_one_switch_costs_another_none_of_its_floods() {
        let repeats = Repeats::default();
        let flood_ports = FloodPorts::default();
        let joined = || JoinedSwitch { at: Time::START, spent: FloodSpent::default() };
        let floods = |dpid, switch: &JoinedSwitch, frames: u32| {
            let is_flooded = |number: &u32| {
                let at = Inlet { dpid: DatapathId(dpid), joined: switch.at, port: PortNo(1) };
                repeats.take(Time::START, switch, &flood_ports).is_some()
                    && repeats.admit(Time::START, repeats.key(at, &number.to_be_bytes()), TIMES)
            };
            (0..frames).filter(is_flooded).count()
        };
        assert!(floods(1, &joined(), 2_000_000) > 50_000);
        assert_eq!(floods(2, &joined(), 100), 100);
        assert!(repeats.refused(Time::START) > Some(1_900_000));
    }

    #[test]
    fn while_probes_are_out_a_large_network_floods_some_thousand_frames_and_no_more() {
        let repeats = Repeats::default();
        let leaves = |key: &u64| repeats.leaves_probes_room(Time::START, key << 32 | key);
        assert_eq!((0..65_536).filter(leaves).count(), CAREFUL_MAX);
        assert_eq!(repeats.refused(Time::START), Some(65_536 - CAREFUL_MAX as u64));
        assert!(repeats.leaves_probes_room(Time::START + Duration::from_secs(1), 1 << 50));
    }

    #[test]
    fn what_is_not_flooded_for_want_of_room_is_told_once_a_second() {
        let repeats = Repeats { refused: AtomicU64::new(7), ..Repeats::default() };
        let at = |milliseconds| Time::START + Duration::from_millis(milliseconds);
        assert_eq!(repeats.refused(at(5000)), Some(7));
        assert_eq!(repeats.refused(at(7000)), None);
        repeats.refused.store(3, Relaxed);
        assert_eq!(repeats.refused(at(5999)), None);
        assert_eq!(repeats.refused(at(6000)), Some(3));
    }
}
