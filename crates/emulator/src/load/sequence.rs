//! Which host speaks to which: the order of the addresses in a switch's flow requests.
//!
//! The source runs through the switch's addresses in order, the destination through the same ones with a stride that
//! visits each of them once in a round and jumps about in any table. An address always lives on the same port, and the
//! destination on another than the source, or a learning switch would rightly drop the packet.

/// Who is spoken to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destinations {
    /// Every address of the switch in turn.
    All,
    /// One more address that never speaks itself, alone on the last port: what cbench does.
    One,
}

/// One flow request: indices of addresses, and the port it came in by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hop {
    pub(crate) source: u32,
    pub(crate) destination: u32,
    pub(crate) in_port: u32,
}

/// Where the addresses of a switch live.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Homes {
    macs: u32,
    /// Ports that sources share, numbered from 1.
    source_ports: u32,
    destinations: Destinations,
}

impl Homes {
    /// `macs` addresses (one at least) over `ports` ports (two at least). One address alone has nobody to speak to but
    /// the extra one of [`Destinations::One`].
    pub(crate) fn new(macs: u32, ports: u32, destinations: Destinations) -> Homes {
        let destinations = if macs == 1 { Destinations::One } else { destinations };
        let source_ports = match destinations {
            Destinations::All => ports,
            Destinations::One => ports - 1,
        };
        Homes { macs, source_ports, destinations }
    }

    /// How many addresses there are to be learned, the extra one included.
    pub(crate) fn addresses(&self) -> u32 {
        match self.destinations {
            Destinations::All => self.macs,
            Destinations::One => self.macs + 1,
        }
    }

    /// The port of an address.
    pub(crate) fn port(&self, index: u32) -> u32 {
        if index == self.macs { self.source_ports + 1 } else { 1 + index % self.source_ports }
    }

    pub(crate) fn destinations(&self) -> Destinations {
        self.destinations
    }
}

/// A place in the endless order of requests. Residues are carried along, so that a step costs no division.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequence {
    homes: Homes,
    stride: u32,
    stride_residue: u32,
    macs_residue: u32,
    source: u32,
    source_residue: u32,
    destination: u32,
    destination_residue: u32,
}

impl Sequence {
    pub(crate) fn new(homes: Homes) -> Sequence {
        let (macs, ports) = (homes.macs, homes.source_ports);
        let stride = stride(macs);
        Sequence {
            homes,
            stride,
            stride_residue: stride % ports,
            macs_residue: macs % ports,
            source: 0,
            source_residue: 0,
            destination: macs / 2,
            destination_residue: macs / 2 % ports,
        }
    }

    /// The request at this place; then goes on to the next.
    #[inline]
    pub(crate) fn step(&mut self) -> Hop {
        let hop = Hop {
            source: self.source,
            destination: self.reachable(),
            in_port: 1 + self.source_residue,
        };
        let ports = self.homes.source_ports;
        self.source += 1;
        self.source_residue = wrap(self.source_residue + 1, ports);
        if self.source == self.homes.macs {
            (self.source, self.source_residue) = (0, 0);
        }
        self.destination += self.stride;
        self.destination_residue = wrap(self.destination_residue + self.stride_residue, ports);
        if self.destination >= self.homes.macs {
            self.destination -= self.homes.macs;
            let residue = self.destination_residue + ports - self.macs_residue;
            self.destination_residue = wrap(residue, ports);
        }
        hop
    }

    /// The destination, or its neighbour where it lives on the source's port: neighbours never share one.
    #[inline]
    fn reachable(&self) -> u32 {
        match self.homes.destinations {
            Destinations::One => self.homes.macs,
            Destinations::All if self.destination_residue != self.source_residue => {
                self.destination
            }
            Destinations::All if self.destination + 1 < self.homes.macs => self.destination + 1,
            Destinations::All => self.destination - 1,
        }
    }

    /// Goes on by `steps` at once.
    pub(crate) fn skip(&mut self, steps: u64) {
        let (macs, ports) = (u64::from(self.homes.macs), self.homes.source_ports);
        let on = |at: u32, by: u64| ((u64::from(at) + steps % macs * by) % macs) as u32;
        self.source = on(self.source, 1);
        self.source_residue = self.source % ports;
        self.destination = on(self.destination, u64::from(self.stride));
        self.destination_residue = self.destination % ports;
    }
}

/// `value` below twice `modulus`, brought below `modulus`.
#[inline]
fn wrap(value: u32, modulus: u32) -> u32 {
    if value >= modulus { value - modulus } else { value }
}

/// A step that visits every address before any a second time, near the golden ratio, which spreads them best.
fn stride(macs: u32) -> u32 {
    let golden = (u64::from(macs) * 618 / 1000) as u32;
    (golden.max(1)..=macs).find(|&stride| coprime(stride, macs)).unwrap_or(1)
}

fn coprime(mut a: u32, mut b: u32) -> bool {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        /// Every source speaks once a round, from its own port, to an address on another.
        #[test]
        fn a_round_visits_every_source_and_crosses_ports(macs in 1u32..500, ports in 2u32..9, one: bool) {
            let destinations = if one { Destinations::One } else { Destinations::All };
            let homes = Homes::new(macs, ports, destinations);
            let mut sequence = Sequence::new(homes);
            for round in 0..3 {
                let mut sources = HashSet::new();
                for _ in 0..macs {
                    let Hop { source, destination, in_port } = sequence.step();
                    prop_assert_eq!(in_port, homes.port(source));
                    prop_assert!(in_port <= ports && homes.port(destination) <= ports);
                    prop_assert_ne!(in_port, homes.port(destination));
                    prop_assert!(destination < homes.addresses());
                    sources.insert(source);
                }
                prop_assert_eq!(sources.len(), macs as usize, "round {}", round);
            }
        }

        /// Skipping is stepping.
        #[test]
        fn to_skip_is_to_step(macs in 1u32..500, ports in 2u32..9, first in 0u64..50, steps in 0u64..2000) {
            let mut walked = Sequence::new(Homes::new(macs, ports, Destinations::All));
            walked.skip(first);
            let mut skipped = walked;
            for _ in 0..steps {
                walked.step();
            }
            skipped.skip(steps);
            prop_assert_eq!(walked.step(), skipped.step());
        }
    }
}
