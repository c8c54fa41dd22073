//! The networks whose routes are measured.

use aldis_apps::SwitchPort;
use aldis_apps::routing::{GraphChange, Metric};
use aldis_wire::DatapathId;
use aldis_wire::msg::PortNo;

/// Links that each of them brings along.
const BROUGHT: usize = 2;

/// Ports of a switch of the fat tree.
const FAT: u64 = 32;

/// Puts together what was found out about a network.
#[derive(Default)]
struct FoundNetwork {
    changes: Vec<GraphChange>,
    ports: Vec<u32>,
    random: u64,
}

impl FoundNetwork {
    fn of(switches: u64) -> FoundNetwork {
        let changes = (1..=switches).map(|dpid| GraphChange::SwitchUp(DatapathId(dpid))).collect();
        let ports = vec![0; switches as usize + 1];
        FoundNetwork { changes, ports, random: 0x9e37_79b9_7f4a_7c15 }
    }

    /// A link of 10 µs to 1 ms and 1, 10 or 100 Gbit/s.
    fn link(&mut self, a: u64, b: u64) {
        let latency = 10 + self.draw(100) as u32 * 10;
        let kbps = [1_000_000, 10_000_000, 100_000_000][self.draw(3)];
        let metric = Metric::new(latency, kbps);
        let [from, to] = [a, b].map(|dpid| {
            self.ports[dpid as usize] += 1;
            SwitchPort::of(DatapathId(dpid), PortNo(self.ports[dpid as usize]))
        });
        let both = [(from, to), (to, from)];
        self.changes.extend(both.map(|(from, to)| GraphChange::Link { from, to, metric }));
    }

    fn draw(&mut self, below: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % below as u64) as usize
    }
}

/// Every switch is linked to earlier ones, to those with many links rather than to others.
pub(crate) fn grown(switches: u64) -> Vec<GraphChange> {
    let mut builder = FoundNetwork::of(switches);
    // Each switch as often as it has links.
    let mut drawn = vec![1, 2];
    builder.link(1, 2);
    for dpid in 3..=switches {
        let mut peers = Vec::new();
        while peers.len() < BROUGHT {
            let peer = drawn[builder.draw(drawn.len())];
            if !peers.contains(&peer) {
                peers.push(peer);
            }
        }
        for peer in peers {
            builder.link(peer, dpid);
            drawn.extend([peer, dpid]);
        }
    }
    builder.changes
}

/// Three layers of 32-port switches: 32 pods of 16 edge and 16 aggregation switches, and 256 core
/// switches.
pub(crate) fn fat_tree() -> Vec<GraphChange> {
    let half = FAT / 2;
    let (edge, aggregation, core) = (1, FAT * half + 1, 2 * FAT * half + 1);
    let mut builder = FoundNetwork::of(FAT * FAT + half * half);
    for pod in 0..FAT {
        for above in 0..half {
            let above_dpid = aggregation + pod * half + above;
            (0..half).for_each(|below| builder.link(edge + pod * half + below, above_dpid));
            (0..half).for_each(|top| builder.link(above_dpid, core + above * half + top));
        }
    }
    builder.changes
}
