//! Topologies: which switches there are, how they are linked, and where hosts are plugged in.
//!
//! A [`Shape`] says what is wanted, spelled as Mininet spells it where it has the shape
//! (`torus,3,3`); [`Shape::lay_out`] makes a [`Topology`] of it, the same one for the same seed, or
//! says what is wrong. A topology is always connected.
//!
//! Switches are numbered from 1, and so are the ports of each: first those of its hosts, then those
//! of its links in the order in which they are named. Where Mininet has the shape, switches and
//! ports have the numbers that they have there.
//!
//! Pure: no clock and no thread; of files, one that describes a topology is read.

mod builder;
mod graphml;
mod random;
mod refusal;
mod regular;
mod rocketfuel;
mod shape;

pub use refusal::ShapeRefusal;
pub use shape::Shape;

/// Most switches in a topology.
pub const SWITCHES_MAX: u32 = crate::load::SWITCHES_MAX;
/// Most links in a topology: 25 a switch where there are most switches.
pub const LINKS_MAX: usize = 250_000;
/// Most hosts in a topology: each has its own IPv4 address in 10.0.0.0/8, and costs memory while it
/// is emulated.
pub const HOSTS_MAX: usize = 100_000;
/// Most ports of a switch, those of its hosts included.
pub const PORTS_MAX: u32 = crate::load::PORTS_MAX;
/// The largest file of a topology, in bytes; the largest of the Topology Zoo has not a tenth of it.
pub const FILE_LEN_MAX: u64 = 16 << 20;

/// One end of a link: a port of a switch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct End {
    /// The switch, from 1; also its datapath id.
    pub switch: u32,
    /// Its port, from 1.
    pub port: u32,
}

/// A link between two switches. Two switches may have several.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TopologyLink {
    /// One end.
    pub a: End,
    /// The other, at another switch.
    pub b: End,
}

/// Switches, links and hosts; connected, and no port is used twice.
#[derive(Clone, PartialEq, Debug)]
pub struct Topology {
    /// The ports of each switch.
    ports: Vec<u32>,
    links: Vec<TopologyLink>,
    hosts: Vec<End>,
    labels: Vec<String>,
}

impl Topology {
    /// How many switches there are: at least one, at most [`SWITCHES_MAX`]. They are numbered
    /// from 1.
    pub fn switches(&self) -> u32 {
        self.ports.len() as u32
    }

    /// How many ports a switch has, numbered from 1; each is that of a host or of a link.
    ///
    /// # Panics
    /// There is no such switch.
    pub fn ports(&self, switch: u32) -> u32 {
        self.ports[switch as usize - 1]
    }

    /// The links, at most [`LINKS_MAX`].
    pub fn links(&self) -> &[TopologyLink] {
        &self.links
    }

    /// Where each host is plugged in, at most [`HOSTS_MAX`] of them; host h1 is the first.
    pub fn hosts(&self) -> &[End] {
        &self.hosts
    }

    /// What the file that it was read from calls a switch; `None` where it has no name there.
    pub fn label(&self, switch: u32) -> Option<&str> {
        let label = self.labels.get((switch as usize).checked_sub(1)?)?;
        (!label.is_empty()).then_some(label)
    }
}

#[cfg(test)]
mod tests;
