//! The ports of a datapath.

use aldis_wire::{FixedText, MacAddr};
use std::time::Duration;

/// A port to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSpec {
    /// Its number: 1 to 0xfeff for 1.0, to 0xffff_ff00 for 1.3.
    pub number: u32,
    /// Its own address.
    pub address: MacAddr,
    /// Its name, at most 15 bytes of it.
    pub name: String,
}

/// What the administrator or controller says of a port: the bits that both versions number alike,
/// and 1.0's `NO_FLOOD`.
pub(crate) mod config {
    pub(crate) const DOWN: u32 = 1 << 0;
    pub(crate) const NO_RECV: u32 = 1 << 2;
    pub(crate) const NO_FLOOD: u32 = 1 << 4;
    pub(crate) const NO_FWD: u32 = 1 << 5;
    pub(crate) const NO_PACKET_IN: u32 = 1 << 6;
}

/// A port and what it counted.
#[derive(Clone, Debug)]
pub(crate) struct DatapathPort {
    pub(crate) number: u32,
    pub(crate) address: MacAddr,
    pub(crate) name: FixedText<16>,
    pub(crate) config: u32,
    pub(crate) link: bool,
    pub(crate) since: Duration,
    pub(crate) rx_packets: u64,
    pub(crate) rx_bytes: u64,
    pub(crate) rx_dropped: u64,
    pub(crate) tx_packets: u64,
    pub(crate) tx_bytes: u64,
    pub(crate) tx_dropped: u64,
}

impl DatapathPort {
    pub(crate) fn new(spec: &PortSpec) -> DatapathPort {
        DatapathPort {
            number: spec.number,
            address: spec.address,
            name: FixedText::new(&spec.name),
            config: 0,
            link: true,
            since: Duration::ZERO,
            rx_packets: 0,
            rx_bytes: 0,
            rx_dropped: 0,
            tx_packets: 0,
            tx_bytes: 0,
            tx_dropped: 0,
        }
    }

    pub(crate) fn has(&self, config: u32) -> bool {
        self.config & config != 0
    }

    /// Whether frames pass: it was not taken down, and there is a link.
    pub(crate) fn is_live(&self) -> bool {
        self.link && !self.has(config::DOWN)
    }

    /// Counts a frame that came in; whether it may go on.
    pub(crate) fn receive(&mut self, bytes: usize) -> bool {
        if !self.is_live() {
            return false;
        }
        self.rx_packets += 1;
        self.rx_bytes += bytes as u64;
        let goes_on = !self.has(config::NO_RECV);
        self.rx_dropped += u64::from(!goes_on);
        goes_on
    }

    /// Counts a frame that is to go out; whether it does.
    pub(crate) fn send(&mut self, bytes: usize) -> bool {
        let goes = self.is_live() && !self.has(config::NO_FWD);
        if goes {
            self.tx_packets += 1;
            self.tx_bytes += bytes as u64;
        } else {
            self.tx_dropped += 1;
        }
        goes
    }
}

/// The ports of a datapath, by number.
#[derive(Clone, Debug)]
pub(crate) struct DatapathPorts(Vec<DatapathPort>);

impl DatapathPorts {
    /// Of two with the same number the first counts.
    pub(crate) fn new(specs: &[PortSpec]) -> DatapathPorts {
        let mut ports: Vec<DatapathPort> = specs.iter().map(DatapathPort::new).collect();
        ports.sort_by_key(|port| port.number);
        ports.dedup_by_key(|port| port.number);
        ports.shrink_to_fit();
        DatapathPorts(ports)
    }

    pub(crate) fn get(&self, number: u32) -> Option<&DatapathPort> {
        self.0.get(self.at(number)?)
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut DatapathPort> {
        let at = self.at(number)?;
        self.0.get_mut(at)
    }

    /// Mostly they count from 1 without a gap.
    #[inline]
    fn at(&self, number: u32) -> Option<usize> {
        let guess = (number as usize).wrapping_sub(1);
        if self.0.get(guess).is_some_and(|port| port.number == number) {
            return Some(guess);
        }
        self.0.binary_search_by_key(&number, |port| port.number).ok()
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &DatapathPort> + Clone {
        self.0.iter()
    }
}
