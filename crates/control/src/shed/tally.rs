//! How many requests of a switch were dropped, port by port.

use alloc::vec::Vec;

use super::ShedPort;
use crate::limits::SHED_PORTS_MAX;

/// One switch's count. It allocates when a port is cut for the first time, up to [`SHED_PORTS_MAX`]
/// ports.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Port and requests dropped, by port.
    ports: Vec<(u32, u64)>,
    others: u64,
}

impl Tally {
    /// Adds what was dropped ([`super::Shed::ports`]).
    pub fn add(&mut self, ports: &[ShedPort]) {
        for port in ports.iter().filter(|port| port.dropped > 0) {
            *self.count(port.number) += u64::from(port.dropped);
        }
    }

    /// Adds what another connection of the switch counted.
    pub fn merge(&mut self, other: &Tally) {
        for (number, dropped) in &other.ports {
            *self.count(*number) += dropped;
        }
        self.others += other.others;
    }

    /// The ports that were cut, and requests dropped of each.
    pub fn ports(&self) -> &[(u32, u64)] {
        &self.ports
    }

    /// Requests dropped of ports for which there is no count of their own.
    pub fn others(&self) -> u64 {
        self.others
    }

    /// Requests dropped.
    pub fn total(&self) -> u64 {
        self.ports.iter().map(|(_, dropped)| dropped).sum::<u64>() + self.others
    }

    fn count(&mut self, number: u32) -> &mut u64 {
        match self.ports.binary_search_by_key(&number, |(port, _)| *port) {
            Ok(at) => &mut self.ports[at].1,
            Err(_) if self.ports.len() == SHED_PORTS_MAX => &mut self.others,
            Err(at) => {
                self.ports.insert(at, (number, 0));
                &mut self.ports[at].1
            }
        }
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Tally {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct PortCount {
            port: u32,
            sheds: u64,
        }
        serializer.collect_seq(self.ports.iter().map(|&(port, sheds)| PortCount { port, sheds }))
    }
}
