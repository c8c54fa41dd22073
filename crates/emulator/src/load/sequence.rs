//! Which host speaks to which: the order of the addresses in a switch's flow requests.
//!
//! The source runs through the switch's addresses in order, the destination through the same ones
//! with a stride that visits each of them once in a round and jumps about in any table. An address
//! always lives on the same port, and the destination on another than the source, or a learning
//! switch would rightly drop the packet. All switches of a run have the same order, so that one
//! round is worked out beforehand ([`Round`]) and a request costs one look into it. Only where a
//! port is hot its switch has an order of its own, in which the sources of that port come more
//! often.

use super::Load;
use super::roles::SwitchRole;
use std::sync::Arc;

/// Which destinations requests name.
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
    /// `macs` addresses (one at least) over `ports` ports (two at least). One address alone has no
    /// other to speak to but the extra one of [`Destinations::One`].
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

    /// The destination to take the place of `destination`, which may live on the port of `source`:
    /// neighbours never share one.
    fn reachable(&self, source: u32, destination: u32) -> u32 {
        match self.destinations {
            Destinations::One => self.macs,
            Destinations::All if self.port(destination) != self.port(source) => destination,
            Destinations::All if destination + 1 < self.macs => destination + 1,
            Destinations::All => destination - 1,
        }
    }
}

/// Most requests in a round with a hot port: 32 MiB.
const HOT_ROUND_MAX: u32 = 1 << 22;

/// Source and destination of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RequestPair {
    /// The index of the address that speaks.
    pub(crate) source: u32,
    /// The index of the address spoken to.
    pub(crate) destination: u32,
    /// The port of the source.
    pub(crate) in_port: u32,
}

/// The bits of an address's index, up to [`super::MACS_MAX`], and those of a port's number, in a
/// [`Packed`] hop.
const INDEX_BITS: u32 = 20;
const PORT_BITS: u32 = 12;
const _: () = assert!(super::MACS_MAX < 1 << INDEX_BITS && super::PORTS_MAX < 1 << PORT_BITS);

/// A hop in 8 bytes, so that a round of many addresses takes little of the cache: in port, source,
/// destination.
#[derive(Clone, Copy, Debug)]
struct Packed(u64);

impl Packed {
    fn new(hop: RequestPair) -> Packed {
        let ends = u64::from(hop.source) << INDEX_BITS | u64::from(hop.destination);
        Packed(u64::from(hop.in_port) << (2 * INDEX_BITS) | ends)
    }

    #[inline]
    fn hop(self) -> RequestPair {
        let index = |bits: u64| bits as u32 & ((1 << INDEX_BITS) - 1);
        RequestPair {
            source: index(self.0 >> INDEX_BITS),
            destination: index(self.0),
            in_port: (self.0 >> (2 * INDEX_BITS)) as u32,
        }
    }
}

/// One round of requests.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    hops: Arc<[Packed]>,
    /// Whether the sources come in the order of their indices.
    in_order: bool,
}

/// How far is looked ahead for the next request of a source in a round that is not in order.
const LOOK_AHEAD_MAX: u32 = 4096;

impl Round {
    /// Every source once.
    pub(crate) fn new(homes: &Homes) -> Round {
        Round { hops: hops(homes).map(Packed::new).collect(), in_order: true }
    }

    /// Port 1 sends `factor` requests for each one of every other port that has addresses.
    pub(crate) fn with_hot_port(homes: &Homes, factor: u32) -> Round {
        let ports = homes.source_ports.min(homes.macs);
        let all: Vec<Packed> = hops(homes).map(Packed::new).collect();
        let cycle_len = factor + ports - 1;
        let cycles = (homes.macs / ports).min(HOT_ROUND_MAX / cycle_len).max(1);
        let mut hot = all.iter().step_by(homes.source_ports as usize).cycle();
        let mut round = Vec::with_capacity((cycles * cycle_len) as usize);
        for cycle in 0..cycles {
            let first = (cycle * homes.source_ports) as usize;
            let mut others = all[first + 1..].iter().take(ports as usize - 1);
            for slot in 0..cycle_len {
                // Spread evenly: whenever the hot port's part of the cycle so far has grown by one.
                let is_hot = (slot + 1) * factor / cycle_len > slot * factor / cycle_len;
                round.extend(if is_hot { hot.next() } else { others.next() });
            }
        }
        Round { hops: round.into(), in_order: false }
    }
}

/// The rounds of a run's switches.
#[derive(Clone, Debug)]
pub(crate) struct SequenceRounds {
    usual: Round,
    probes: Round,
    hot: Option<Round>,
}

impl SequenceRounds {
    pub(crate) fn new(load: &Load) -> SequenceRounds {
        let homes = load.homes(SwitchRole::Normal);
        let hot = || Round::with_hot_port(&homes, load.hot_port);
        SequenceRounds {
            usual: Round::new(&homes),
            probes: Round::new(&load.homes(SwitchRole::Probe)),
            hot: load.has_hot_port().then(hot),
        }
    }

    /// The round of switch `number`: with a hot port only for the first.
    pub(crate) fn of(&self, load: &Load, number: u32) -> Round {
        match (load.role(number), &self.hot) {
            (SwitchRole::Probe, _) => self.probes.clone(),
            (_, Some(hot)) if number == 1 => hot.clone(),
            _ => self.usual.clone(),
        }
    }
}

/// The hop of each source.
fn hops(homes: &Homes) -> impl Iterator<Item = RequestPair> {
    let macs = homes.macs;
    let stride = u64::from(stride(macs, homes.source_ports));
    // With such a start and such a stride the destination is always on the next port, as long as
    // the ports are equally full; where they are not, some destinations have to be moved.
    let start = u64::from(macs / 2 / homes.source_ports * homes.source_ports + 1);
    (0..macs).map(move |source| {
        let wanted = (start + u64::from(source) * stride) % u64::from(macs);
        let destination = homes.reachable(source, wanted as u32);
        RequestPair { source, destination, in_port: homes.port(source) }
    })
}

/// A switch's place in its endless rounds.
#[derive(Clone, Debug)]
pub(crate) struct SwitchSequence {
    round: Round,
    place: usize,
}

impl SwitchSequence {
    pub(crate) fn new(round: Round) -> SwitchSequence {
        SwitchSequence { round, place: 0 }
    }

    /// The next `count` requests, which stay the next ones until they are passed.
    #[inline]
    pub(crate) fn ahead(&self, count: u32) -> impl ExactSizeIterator<Item = RequestPair> {
        let round = &*self.round.hops;
        let mut place = self.place;
        (0..count).map(move |_| {
            let next = round[place].hop();
            place += 1;
            if place == round.len() {
                place = 0;
            }
            next
        })
    }

    /// The request that was passed `back` requests ago; 1 is the last.
    pub(crate) fn passed(&self, back: u32) -> RequestPair {
        let len = self.round.hops.len();
        self.round.hops[(self.place + len - back as usize % len) % len].hop()
    }

    /// How many requests behind the one that was passed `back` requests ago the next one of
    /// `source` was passed; none if it was not, or too far behind in a round that is not in order.
    pub(crate) fn passed_from(&self, back: u32, source: u32) -> Option<u32> {
        let behind = match self.round.in_order {
            false => {
                let mut places = 0..back.min(LOOK_AHEAD_MAX);
                places.find(|behind| self.passed(back - behind).source == source)?
            }
            true => {
                let len = self.round.hops.len() as u32;
                (source < len).then(|| (source + len - self.passed(back).source) % len)?
            }
        };
        (behind < back).then_some(behind)
    }

    /// Goes on by `count` requests.
    #[inline]
    pub(crate) fn pass(&mut self, count: u32) {
        self.place = (self.place + count as usize) % self.round.hops.len();
    }
}

/// A step that visits every address before any a second time and goes from port to port as the
/// sources do; near the golden ratio, which spreads them best.
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
            let mut sequence = SwitchSequence::new(Round::new(&homes));
            sequence.pass(macs * 3);
            for (index, hop) in sequence.ahead(macs * 2).enumerate() {
                prop_assert_eq!(hop.source, index as u32 % macs);
                prop_assert_eq!(hop.in_port, homes.port(hop.source));
                prop_assert!(hop.in_port <= ports && homes.port(hop.destination) <= ports);
                prop_assert_ne!(hop.in_port, homes.port(hop.destination));
                prop_assert!(hop.destination < homes.addresses());
            }
        }

        /// Passing some goes on with those behind them.
        #[test]
        fn to_pass_is_to_take(macs in 1u32..500, first in 0u32..900, steps in 0u32..900) {
            let mut sequence = SwitchSequence::new(Round::new(&Homes::new(macs, 4, Destinations::All)));
            sequence.pass(first);
            let expected = sequence.ahead(steps + 1).last();
            sequence.pass(steps);
            prop_assert_eq!(sequence.ahead(1).next(), expected);
            sequence.pass(2);
            prop_assert_eq!(Some(sequence.passed(2)), expected);
        }

        /// A hot port has so many times the requests of each other port, at any time; addresses
        /// stay where they live.
        #[test]
        fn a_hot_port_is_hot(macs in 2u32..300, ports in 2u32..20, factor in 2u32..50) {
            let homes = Homes::new(macs, ports, Destinations::All);
            let round = Round::with_hot_port(&homes, factor);
            let mut counts = vec![0; ports as usize];
            for (index, packed) in (1..).zip(round.hops.iter()) {
                let hop = packed.hop();
                prop_assert_eq!(hop.in_port, homes.port(hop.source));
                prop_assert_ne!(hop.in_port, homes.port(hop.destination));
                counts[hop.in_port as usize - 1] += 1;
                let cycle_len = factor + ports.min(macs) - 1;
                prop_assert!((index * factor / cycle_len).abs_diff(counts[0]) <= 1);
            }
            let inhabited = &counts[..ports.min(macs) as usize];
            prop_assert!(inhabited[1..].iter().all(|&others| others * factor == counts[0]), "{:?}", counts);
        }

        /// What was passed is found by its source, in rounds of either kind.
        #[test]
        fn what_was_passed_is_found_by_its_source(macs in 2u32..300, factor in 1u32..9, passed in 1u32..900, source in 0u32..320) {
            let homes = Homes::new(macs, 4, Destinations::All);
            let round = if factor == 1 { Round::new(&homes) } else { Round::with_hot_port(&homes, factor) };
            let mut sequence = SwitchSequence::new(round);
            sequence.pass(17);
            let sources: Vec<u32> = sequence.ahead(passed).map(|hop| hop.source).collect();
            sequence.pass(passed);
            let expected = sources.iter().position(|&other| other == source).map(|behind| behind as u32);
            prop_assert_eq!(sequence.passed_from(passed, source), expected);
        }

        #[test]
        fn packing_loses_nothing(source in 0..=super::super::MACS_MAX, destination in 0..=super::super::MACS_MAX, in_port in 1..=super::super::PORTS_MAX) {
            let hop = RequestPair { source, destination, in_port };
            prop_assert_eq!(Packed::new(hop).hop(), hop);
        }
    }

    #[test]
    fn every_address_is_spoken_to_once_a_round() {
        for macs in [4, 1000, 100_000] {
            let round = Round::new(&Homes::new(macs, 4, Destinations::All));
            let mut spoken_to: Vec<u32> =
                round.hops.iter().map(|packed| packed.hop().destination).collect();
            spoken_to.sort_unstable();
            assert!(spoken_to.into_iter().eq(0..macs), "{macs}");
        }
    }
}
