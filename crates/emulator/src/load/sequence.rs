//! Which host speaks to which: the order of the addresses in a switch's flow requests.
//!
//! The source runs through the switch's addresses in order, the destination through the same ones with a stride that
//! visits each of them once in a round and jumps about in any table. An address always lives on the same port, and the
//! destination on another than the source, or a learning switch would rightly drop the packet. All switches of a run have
//! the same order, so that one round is worked out beforehand ([`Round`]) and a request costs one look into it.

use std::sync::Arc;

/// Who is spoken to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destinations {
    /// Every address of the switch in turn.
    All,
    /// One more address that never speaks itself, alone on the last port: what cbench does.
    One,
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

    /// Whom to speak to instead of `destination`, which may live on the port of `source`: neighbours never share one.
    fn reachable(&self, source: u32, destination: u32) -> u32 {
        match self.destinations {
            Destinations::One => self.macs,
            Destinations::All if self.port(destination) != self.port(source) => destination,
            Destinations::All if destination + 1 < self.macs => destination + 1,
            Destinations::All => destination - 1,
        }
    }
}

/// What a request says beside its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hop {
    /// The index of the address spoken to.
    pub(crate) destination: u32,
    /// The port of the source.
    pub(crate) in_port: u32,
}

/// One round of requests: the hop of each source.
#[derive(Clone, Debug)]
pub(crate) struct Round(Arc<[Hop]>);

impl Round {
    pub(crate) fn new(homes: &Homes) -> Round {
        let macs = homes.macs;
        let stride = u64::from(stride(macs, homes.source_ports));
        // With such a start and such a stride the destination is always on the next port, as long as the ports are
        // equally full; where they are not, some destinations have to be moved.
        let start = u64::from(macs / 2 / homes.source_ports * homes.source_ports + 1);
        let hop = |source: u32| {
            let wanted = (start + u64::from(source) * stride) % u64::from(macs);
            let destination = homes.reachable(source, wanted as u32);
            Hop { destination, in_port: homes.port(source) }
        };
        Round((0..macs).map(hop).collect())
    }
}

/// A switch's place in its endless rounds.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    round: Round,
    source: usize,
}

impl Sequence {
    pub(crate) fn new(round: Round) -> Sequence {
        Sequence { round, source: 0 }
    }

    /// The next `count` requests, source and hop, which stay the next ones until they are passed.
    #[inline]
    pub(crate) fn ahead(&self, count: u32) -> impl ExactSizeIterator<Item = (u32, Hop)> {
        let round = &*self.round.0;
        let mut source = self.source;
        (0..count).map(move |_| {
            let next = (source as u32, round[source]);
            source += 1;
            if source == round.len() {
                source = 0;
            }
            next
        })
    }

    /// Goes on by `count` requests.
    #[inline]
    pub(crate) fn pass(&mut self, count: u32) {
        self.source = (self.source + count as usize) % self.round.0.len();
    }
}

/// A step that visits every address before any a second time and goes from port to port as the sources do; near the golden
/// ratio, which spreads them best.
fn stride(macs: u32, ports: u32) -> u32 {
    let golden = (u64::from(macs) * 618 / 1000) as u32;
    let fits = |&stride: &u32| stride % ports == 1 && coprime(stride, macs);
    (golden..macs).find(fits).unwrap_or(1)
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

    proptest! {
        /// Every source speaks once a round, from its own port, to an address on another.
        #[test]
        fn a_round_visits_every_source_and_crosses_ports(macs in 1u32..500, ports in 2u32..9, one: bool) {
            let destinations = if one { Destinations::One } else { Destinations::All };
            let homes = Homes::new(macs, ports, destinations);
            let mut sequence = Sequence::new(Round::new(&homes));
            sequence.pass(macs * 3);
            for (index, (source, hop)) in sequence.ahead(macs * 2).enumerate() {
                prop_assert_eq!(source, index as u32 % macs);
                prop_assert_eq!(hop.in_port, homes.port(source));
                prop_assert!(hop.in_port <= ports && homes.port(hop.destination) <= ports);
                prop_assert_ne!(hop.in_port, homes.port(hop.destination));
                prop_assert!(hop.destination < homes.addresses());
            }
        }

        /// Passing some goes on with those behind them.
        #[test]
        fn to_pass_is_to_take(macs in 1u32..500, first in 0u32..900, steps in 0u32..900) {
            let mut sequence = Sequence::new(Round::new(&Homes::new(macs, 4, Destinations::All)));
            sequence.pass(first);
            let expected = sequence.ahead(steps + 1).last();
            sequence.pass(steps);
            prop_assert_eq!(sequence.ahead(1).next(), expected);
        }
    }

    #[test]
    fn every_address_is_spoken_to_once_a_round() {
        for macs in [4, 1000, 100_000] {
            let round = Round::new(&Homes::new(macs, 4, Destinations::All));
            let mut spoken_to: Vec<u32> = round.0.iter().map(|hop| hop.destination).collect();
            spoken_to.sort_unstable();
            assert!(spoken_to.into_iter().eq(0..macs), "{macs}");
        }
    }
}
