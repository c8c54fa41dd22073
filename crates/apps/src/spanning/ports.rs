//! The ports of one switch, and how far it is known what they lead to.

use core::hash::Hasher;
use std::hash::DefaultHasher;

use aldis_wire::msg::PortNo;
use aldis_wire::{DatapathId, MacAddr};

use super::Forest;
use crate::place::SwitchPort;

/// Probes that have to leave by a port before it is believed to lead to no switch. One may be lost, or come before its
/// receiver's controller.
pub const PROBES_MIN: u8 = 2;

/// Ports of one switch that floods leave by: as many as a switch may have. Floods leave by no further one.
const PORTS_MAX: usize = aldis_control::bounds::PORTS_MAX;

/// How broadcasts leave a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manner {
    /// Each is asked about and leaves by PACKET_OUT, if it is not the repeat of one: it is not known yet where all ports
    /// lead. There may be no flow that floods.
    Carefully,
    /// The forest is all that is needed; a flow may flood.
    ByForest,
}

/// The ports of a switch that are up. The default has none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ports {
    // By number, with the probes that left by each, at most `PROBES_MIN`.
    up: Vec<(PortNo, u8)>,
}

impl Ports {
    /// The port came up, or a link that it was the end of vanished while it stayed up: what it leads to is not known.
    pub fn doubt(&mut self, port: PortNo) {
        match self.place(port) {
            Ok(at) => self.up[at].1 = 0,
            Err(at) if port.is_real() && self.up.len() < PORTS_MAX => self.up.insert(at, (port, 0)),
            Err(_) => {}
        }
    }

    /// The port went.
    pub fn remove(&mut self, port: PortNo) {
        if let Ok(at) = self.place(port) {
            self.up.remove(at);
        }
    }

    /// A probe left by the port.
    pub fn probed(&mut self, port: PortNo) {
        if let Ok(at) = self.place(port) {
            self.up[at].1 = PROBES_MIN.min(self.up[at].1 + 1);
        }
    }

    /// How broadcasts leave just now.
    pub fn manner(&self) -> Manner {
        match self.up.iter().all(|&(_, probes)| probes == PROBES_MIN) {
            true => Manner::ByForest,
            false => Manner::Carefully,
        }
    }

    /// The ports by which a broadcast that came in by `in_port` leaves the switch: to hosts, and by the forest.
    pub fn flood(
        &self,
        dpid: DatapathId,
        forest: &Forest,
        in_port: PortNo,
    ) -> impl Iterator<Item = PortNo> {
        let ports = self.up.iter().map(|&(port, _)| port);
        ports.filter(move |&port| port != in_port && !forest.is_closed(SwitchPort::of(dpid, port)))
    }

    fn place(&self, port: PortNo) -> Result<usize, usize> {
        self.up.binary_search_by_key(&port, |&(port, _)| port)
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

    fn flood(ports: &Ports, in_port: u32) -> Vec<u32> {
        let forest = Forest::default();
        let left = ports.flood(DatapathId(1), &forest, PortNo(in_port));
        left.map(|port| port.0).collect()
    }

    #[test]
    fn a_switch_floods_carefully_until_every_port_was_probed_twice() {
        let mut ports = Ports::default();
        [3, 1, 2, 2].into_iter().for_each(|port| ports.doubt(PortNo(port)));
        ports.doubt(PortNo::LOCAL);
        assert_eq!(flood(&ports, 2), [1, 3]);
        for _ in 0..PROBES_MIN {
            assert_eq!(ports.manner(), Manner::Carefully);
            [1, 2, 3, 9].into_iter().for_each(|port| ports.probed(PortNo(port)));
        }
        assert_eq!(ports.manner(), Manner::ByForest);
        ports.doubt(PortNo(3));
        assert_eq!(ports.manner(), Manner::Carefully);
        ports.remove(PortNo(3));
        assert_eq!(ports.manner(), Manner::ByForest);
        assert_eq!(flood(&ports, 9), [1, 2]);
    }

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
}
