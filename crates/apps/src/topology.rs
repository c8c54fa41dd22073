//! Topology: which ports of which switches are joined by links, found by probes and believed with
//! care.
//!
//! Every port sends LLDP that says which port it is; where it comes in, a link ends. Any host can
//! make LLDP, so each probe carries a tag that only the controller can make, over bytes that were
//! never sent before (`lldp`); it counts once, within two seconds, where it can have come. What is
//! left to an attacker is to hand on real probes, so a port that showed a host does not become a
//! link, one that went down and up to have that forgotten has to prove itself, and a link that
//! takes longer than the others is pointed out (`relay`). Hong et al., "Poisoning Network
//! Visibility in Software-Defined Networks" (NDSS 2015), and Skowyra et al., "Effective Topology
//! Tampering Attacks and Defenses" (DSN 2018), describe these attacks.
//!
//! ```text
//! workers: Topology                          beside them: the search           all readers
//! switches, ports, round trips ──reports──▶  Discovery ──▶ switches that changed ──▶ Map
//! PACKET_IN of a probe, read   ──reports──▶            ──▶ the next probes, when they are due
//! probes to be sent  ◀────────────────────── Search
//! ```
//!
//! What can be said of a frame alone, whether it is ours and was changed, a worker says where it
//! comes in, so that a flood of forged ones costs no other worker anything.
//!
//! Not found: a relay that never showed a host and is as fast as a cable.

mod app;
mod discovery;
mod host_port_history;
mod link;
mod lldp;
mod map;
mod port;
mod recorded_tags;
mod relay;
mod schedule;
mod search;
mod switch_ports;
#[cfg(test)]
mod tests;

pub use app::Topology;
pub use discovery::Discovery;
pub use link::{Ends, Link, LinkState};
pub use lldp::{FAR_ETHERTYPE, Reach, TagKey};
pub use map::{LinkPeer, Map, MapChange, MapLink, MapPort, MapSwitch};
pub use port::FAR_MAX;
pub use recorded_tags::RecordedTags;
pub use relay::{MARGIN, SAMPLES, SAMPLES_MIN, SPREADS};
pub use search::{Search, SearchReport};

use std::time::Duration;

/// The settings of the search for links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TopologyConfig {
    /// Between two probes of a port, once it was probed three times; a fifth more or less.
    pub interval: Duration,
    /// Probes a second, of all ports together. Where there are more ports than that allows, the
    /// interval grows.
    pub probes_per_s_max: u32,
    /// Whether a link through a switch that is not ours may end at a port that shows hosts. Hosts
    /// of that switch show there; but any host can hand on a broadcast, so it has to be asked for.
    pub far_with_hosts: bool,
}

impl Default for TopologyConfig {
    /// Every five seconds, 40,000 a second.
    fn default() -> TopologyConfig {
        TopologyConfig {
            interval: Duration::from_secs(5),
            probes_per_s_max: 40_000,
            far_with_hosts: false,
        }
    }
}

/// Why a probe is not believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProbeRefusal {
    /// Its tag is not ours.
    Forged,
    /// It was ours, and something was changed.
    Altered,
    /// It came in before, or was sent too long ago to be remembered.
    Replayed,
    /// It took longer than two seconds, or one of the ports went down meanwhile.
    Late,
    /// It came in where it cannot have come: at the port that it left, at one that is down, or at
    /// one that has a link to another.
    WrongPort,
    /// One of the ports shows a host.
    HostPort,
}

/// What was done since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TopologyCounters {
    /// Probes sent.
    pub sent: u64,
    /// Probes that came in and were believed.
    pub heard: u64,
    /// LLDP and the like of others.
    pub foreign: u64,
    /// Refused: [`ProbeRefusal::Forged`].
    pub forged: u64,
    /// Refused: [`ProbeRefusal::Altered`].
    pub altered: u64,
    /// Refused: [`ProbeRefusal::Replayed`].
    pub replayed: u64,
    /// Refused: [`ProbeRefusal::Late`].
    pub late: u64,
    /// Refused: [`ProbeRefusal::WrongPort`].
    pub wrong_port: u64,
    /// Refused: [`ProbeRefusal::HostPort`].
    pub host_port: u64,
    /// Links pointed out as slow.
    pub slow: u64,
}

impl TopologyCounters {
    /// And those of another worker.
    fn add(&mut self, other: &TopologyCounters) {
        *self = TopologyCounters {
            sent: self.sent + other.sent,
            heard: self.heard + other.heard,
            foreign: self.foreign + other.foreign,
            forged: self.forged + other.forged,
            altered: self.altered + other.altered,
            replayed: self.replayed + other.replayed,
            late: self.late + other.late,
            wrong_port: self.wrong_port + other.wrong_port,
            host_port: self.host_port + other.host_port,
            slow: self.slow + other.slow,
        };
    }

    fn refuse(&mut self, why: ProbeRefusal) {
        *match why {
            ProbeRefusal::Forged => &mut self.forged,
            ProbeRefusal::Altered => &mut self.altered,
            ProbeRefusal::Replayed => &mut self.replayed,
            ProbeRefusal::Late => &mut self.late,
            ProbeRefusal::WrongPort => &mut self.wrong_port,
            ProbeRefusal::HostPort => &mut self.host_port,
        } += 1;
    }
}
