//! The application: what no other answered leaves by the ports that it should.

use core::hash::Hasher;
use core::time::Duration;
use std::hash::DefaultHasher;
use std::sync::Arc;

use aldis_control::app::{Next, Slots};
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

/// Frames that were flooded a moment ago. Where a second brings more, they are dropped: they are a storm. Half a megabyte.
const FRAMES_MAX: usize = 1 << 16;

/// The addresses that bridges keep to themselves, but for their last four bits (IEEE 802.1D-2004, table 7-10).
const BRIDGES: u64 = 0x0180_c200_0000;

/// Shared by the instances of the application.
#[derive(Debug)]
pub struct Repeats {
    secret: [u8; 16],
    frames: Recent,
}

impl Repeats {
    /// Nothing was flooded yet. `secret` is random, so that nobody can make two frames that look alike.
    pub fn new(secret: [u8; 16]) -> Repeats {
        Repeats { secret, frames: Recent::new(FRAMES_MAX, REPEAT_WITHIN) }
    }

    /// The ports by which a switch floods a frame that came in by `in_port`; none where it does not. `at_first` are its ports
    /// when it joined: they count as long as the outlets do not have it.
    pub(super) fn flood(
        &self,
        now: Time,
        (dpid, in_port): (DatapathId, PortNo),
        frame: &[u8],
        (outlets, at_first): (&Outlets, &[Port]),
    ) -> Vec<PortNo> {
        let mut ports: Vec<PortNo> = match outlets.switch(dpid) {
            Some(outlet) => outlet.flood(in_port).collect(),
            None => ports_at_first(at_first).filter(|port| *port != in_port).collect(),
        };
        // A frame that was flooded with care counts as such for as long as a copy of it may come back.
        let is_long_settled = outlets
            .settled()
            .is_some_and(|since| since == Time::START || now.since(since) >= REPEAT_WITHIN);
        let times = if is_long_settled { TIMES } else { 1 };
        if !ports.is_empty() && !self.admit(now, dpid, frame, times) {
            ports.clear();
        }
        ports
    }

    /// Whether a frame may be flooded by a switch, where that may happen so many times a second; notes it if so.
    fn admit(&self, now: Time, dpid: DatapathId, frame: &[u8], times: u64) -> bool {
        let source = frame.get(6..12).and_then(|source| source.first_chunk()).copied();
        let hash = frame_hash(self.secret, dpid, MacAddr(source.unwrap_or_default()), frame);
        let mut verdicts =
            (0..times).map(|nth| self.frames.note(now, hash.rotate_left(nth as u32)));
        verdicts.find(|verdict| *verdict != Verdict::Known) == Some(Verdict::New)
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

    fn flood(&self, now: Time, asked: &Asked<'_>, outlets: &Outlets, out: &mut Output) {
        let is_for_bridges = |mac: MacAddr| mac.to_u64() & !0xf == BRIDGES;
        if asked.dst().is_none_or(is_for_bridges) {
            return drop_packet(asked, out);
        }
        let at = (asked.switch.dpid, asked.in_port());
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
    type Slot = ();
    const NAME: &'static str = "spanning";
    const STARTS: &'static [On] = &[On::FlowRequest];
    const READS: &'static [PartId] = &[Outlets::ID];

    fn join(&mut self, _: Time, _: &Info) {}

    fn packet_ins(&mut self, batch: &mut Batch<'_>, _: Slots<'_, ()>, out: &mut Output) {
        let (now, outlets) = (batch.now, batch.world.part::<Outlets>());
        batch.each(|asked| {
            self.flood(now, asked, outlets, out);
            Next::Stop
        });
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
        let admitted = |now, dpid, times| {
            let admits = |_: &usize| repeats.admit(now, DatapathId(dpid), b"the same frame", times);
            (0..20usize).filter(admits).count()
        };
        assert_eq!(admitted(Time::START, 1, 1), 1);
        assert_eq!(admitted(Time::START, 1, TIMES), TIMES as usize - 1);
        assert_eq!(admitted(Time::START, 2, TIMES), TIMES as usize);
        assert_eq!(admitted(Time::START + Duration::from_secs(1), 1, 1), 1);
    }
}
