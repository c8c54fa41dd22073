//! Prefetching: the receivers of a batch's requests are looked up together. The memory that one
//! look-up needs is fetched while others go on, and what the answers will need is fetched before
//! the first of them is given.

use aldis_control::{Batch, SwitchPort, Time};
use aldis_packet::Ethernet;
use aldis_wire::msg::PortNo;
use aldis_wire::{DatapathId, MacAddr};

use super::planner::{IN_FLIGHT, Planner};
use super::rule::Key;
use crate::exact_cache::ExactCache;
use crate::hosts::{AT_ONCE, Host, Hosts, PackedIdentity};
use crate::learning_switch::Seed;
use crate::recent_set::{ShortTick, Tick};
use crate::routing::{Graph, Node};

/// What the requests of a batch are about, by their places there.
#[derive(Debug)]
pub(super) struct Prefetch {
    lookups: Vec<Lookup>,
    runs: Vec<From>,
    /// What those are about that were looked into lately, by the places of their requests.
    seen: Box<[Seen; RING]>,
    /// Of those of which it is known, the flows.
    flows: Box<[HostFlow; RING]>,
    /// What the cache knows those by that were asked for lately; 0 where it was not asked.
    hashes: Box<[u64; RING]>,
    /// So many were looked into.
    found: usize,
    /// So many were asked for.
    asked: usize,
    /// Those that were looked into last, which are answered when the next are.
    last: Option<Block>,
    in_flight: InFlight,
}

/// Requests that were looked into together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// The first of them.
    start: usize,
    /// The places behind it of those that are handed out.
    places: [u8; AT_ONCE],
    len: usize,
}

impl Block {
    /// Those that are handed out, in their order.
    #[inline]
    pub(super) fn requests(&self) -> impl Iterator<Item = usize> {
        self.places[..self.len].iter().map(|&place| self.start + usize::from(place))
    }
}

/// Flows that are at hand: those that are looked into together, and those before them that wait for
/// their answers.
const RING: usize = 2 * AT_ONCE;

/// What a request is about, before anything is looked for.
#[derive(Clone, Copy, Debug)]
struct Lookup {
    /// The VLAN of its flow, and the sender in the lower 48 bits.
    src: u64,
    /// The receiver; [`NO_FLOW`] where it is about no flow from one host to another.
    dst: u64,
    in_port: u32,
    /// Its run.
    run: u32,
}

/// No address of a host.
const NO_FLOW: u64 = u64::MAX;

impl Lookup {
    const NOTHING: Lookup = Lookup { src: 0, dst: NO_FLOW, in_port: 0, run: 0 };

    fn key(&self) -> Key {
        let [src, dst] = [self.src, self.dst].map(MacAddr::from_u64);
        Key { src, dst, vlan: (self.src >> 48) as u16 }
    }
}

/// The switch of a run.
#[derive(Clone, Copy, Debug)]
struct From {
    dpid: DatapathId,
    node: Option<Node>,
    /// What its flows have in common in the cache.
    salt: u64,
}

/// What is known of a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seen {
    /// It is about no flow from one host to another whose place is known.
    Nothing,
    /// It is about such a flow: [`Prefetch::flow`].
    Flow,
    /// Its flow was on its way too long ago to be so now, and led out of this port of its switch.
    /// It still does: its receiver's generation is the same. Becomes [`Seen::Flow`] before it is
    /// handed out.
    Again(PortNo),
    /// Its flow is on its way, and leads out of this port of its switch.
    InFlight(PortNo),
}

/// A flow from one host to another whose place is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostFlow {
    /// The flow.
    pub(super) key: Key,
    /// Where its receiver is.
    pub(super) to: SwitchPort,
    /// What the planner calls it.
    pub(super) hash: u64,
    /// What the cache of installed flows calls it; 0 where that was not asked.
    pub(super) cached_as: u64,
    /// Where it comes in.
    pub(super) first: GraphEnd,
    /// Where it leaves.
    pub(super) last: GraphEnd,
}

/// An end of a flow in the graph.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GraphEnd {
    /// Its switch, if that is there.
    pub(super) node: Option<Node>,
    /// Whether its port leads to a switch, or one was heard there.
    pub(super) leads_on: bool,
}

impl HostFlow {
    /// Of a request that is about none.
    const NONE: HostFlow = {
        let nobody = MacAddr([0; 6]);
        let nowhere = GraphEnd { node: None, leads_on: false };
        let key = Key { src: nobody, dst: nobody, vlan: 0 };
        HostFlow {
            key,
            to: SwitchPort::new(0, 0),
            hash: 0,
            cached_as: 0,
            first: nowhere,
            last: nowhere,
        }
    };
}

impl GraphEnd {
    /// A port of a host.
    fn host(node: Option<Node>) -> GraphEnd {
        GraphEnd { node, leads_on: false }
    }

    #[inline]
    fn of(node: Option<Node>, port: PortNo, graph: &Graph) -> GraphEnd {
        GraphEnd { node, leads_on: node.is_some_and(|node| graph.is_end_of(node, port)) }
    }
}

/// What is known when a batch is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'w> {
    /// When the batch was closed.
    pub(super) now: Time,
    /// The hosts.
    pub(super) hosts: &'w Hosts,
    /// The switches and links.
    pub(super) graph: &'w Graph,
    /// The version of the World, but for where hosts are.
    pub(super) version: u64,
}

impl Prefetch {
    /// Nothing is known. The seed spreads flows over the cache.
    pub(super) fn new(seed: Seed) -> Prefetch {
        let (seen, flows) = (Box::new([Seen::Nothing; RING]), Box::new([HostFlow::NONE; RING]));
        let (hashes, in_flight) = (Box::new([0; RING]), InFlight::new(seed));
        let (lookups, runs) = (vec![], vec![]);
        let (found, asked, last) = (0, 0, None);
        Prefetch { lookups, runs, seen, flows, hashes, found, asked, last, in_flight }
    }

    /// Reads the frames of a batch; whether any of its requests is left to be answered.
    pub(super) fn read(&mut self, batch: &Batch<'_>, known: Known<'_>) -> bool {
        (self.found, self.asked, self.last) = (0, 0, None);
        self.lookups.clear();
        self.lookups.resize(batch.requests.len(), Lookup::NOTHING);
        self.runs.clear();
        self.in_flight.fit(known.hosts.len());
        let mut is_left = false;
        for (at, run) in batch.runs.iter().enumerate() {
            let dpid = batch.switches[run.switch].info.dpid;
            let salt = self.in_flight.salt(dpid, known.version);
            self.runs.push(From { dpid, node: known.graph.node(dpid), salt });
            let requests = &batch.requests[run.requests.clone()];
            for (lookup, request) in self.lookups[run.requests.clone()].iter_mut().zip(requests) {
                (lookup.in_port, lookup.run) = (request.in_port, at as u32);
                if !request.stopped {
                    is_left = true;
                    if let Some((src, dst)) = words(batch.frame(request)) {
                        (lookup.src, lookup.dst) = (src, dst);
                    }
                }
            }
        }
        is_left
    }

    /// The next requests, in their order. Those that come behind them are looked into first, so
    /// that what they need is at hand when their turn comes, and not so early that it is gone
    /// again. The requests that are about no flow whose receiver's place is known are left out,
    /// unless `all` are asked for.
    pub(super) fn next(&mut self, known: Known<'_>, planner: &Planner, all: bool) -> Option<Block> {
        if self.last.is_none() {
            self.last = self.look_into_next(known, planner, all);
        }
        let next = self.look_into_next(known, planner, all);
        core::mem::replace(&mut self.last, next)
    }

    fn look_into_next(&mut self, known: Known<'_>, planner: &Planner, all: bool) -> Option<Block> {
        let some = self.found..self.lookups.len().min(self.found + AT_ONCE);
        if some.is_empty() {
            return None;
        }
        // The cache is asked for those behind them too, so that it brings these meanwhile.
        self.ask(some.end + AT_ONCE, known.hosts);
        self.found = some.end;
        // Blocks of half of the ring: the one before it is not written over.
        let first = some.start % RING;
        let ring = first..first + some.len();
        let seen = (&mut self.seen[ring.clone()], &mut self.flows[ring.clone()]);
        let lookups = (&self.lookups[some.clone()], &self.hashes[ring.clone()], &self.runs[..]);
        find(lookups, known, (planner, &mut self.in_flight), seen);
        // Without a branch for each: which of them has an answer cannot be foreseen.
        let mut block = Block { start: some.start, places: [0; AT_ONCE], len: 0 };
        for (at, seen) in self.seen[ring].iter().enumerate() {
            block.places[block.len] = at as u8;
            block.len += usize::from(all || !matches!(seen, Seen::Nothing));
        }
        Some(block)
    }

    /// The run of a request.
    #[inline]
    pub(super) fn run(&self, at: usize) -> usize {
        self.lookups[at].run as usize
    }

    /// What a request of the last [`Prefetch::next`] is about.
    #[inline]
    pub(super) fn seen(&self, at: usize) -> Seen {
        self.seen[at % RING]
    }

    /// Asks the cache for all requests before this one that it was not asked for.
    #[inline]
    fn ask(&mut self, end: usize, hosts: &Hosts) {
        let end = end.min(self.lookups.len());
        let is_of_use = !self.in_flight.0.rests();
        for (at, lookup) in (self.asked..end).zip(&self.lookups[self.asked..end]) {
            let salt = self.runs[lookup.run as usize].salt;
            self.hashes[at % RING] =
                if is_of_use { self.in_flight.ask_for(lookup, hosts, salt) } else { 0 };
        }
        self.asked = end;
    }

    /// The flow of a request of which [`Prefetch::seen`] just said that it is about one.
    #[inline]
    pub(super) fn flow(&self, at: usize) -> HostFlow {
        self.flows[at % RING]
    }

    /// A flow that comes in there is on its way since then. It is kept if it begins and ends in one
    /// switch: for others' packets more has to be looked at.
    #[inline]
    pub(super) fn in_flight(&mut self, since: Tick, (from, flow): (SwitchPort, &HostFlow)) {
        if flow.cached_as != 0 && from.dpid == flow.to.dpid && !flow.first.leads_on {
            self.in_flight.put(since, flow.cached_as, flow.to.port);
        }
    }
}

/// What is done for one request here does not wait for what is done for another.
fn find(
    (lookups, hashes, runs): (&[Lookup], &[u64], &[From]),
    known: Known<'_>,
    (planner, in_flight): (&Planner, &mut InFlight),
    (seen, flows): (&mut [Seen], &mut [HostFlow]),
) {
    in_flight.look_up(known.now, hashes, seen);
    // The places of those of which nothing is known yet, and their receivers.
    let (mut places, mut ids, mut len) = ([0u8; AT_ONCE], [PackedIdentity::NONE; AT_ONCE], 0);
    for (at, (lookup, seen)) in lookups.iter().zip(&mut *seen).enumerate() {
        if let Seen::Again(port) = *seen {
            let (key, from, hash) = (lookup.key(), runs[lookup.run as usize], hashes[at]);
            planner.foresee_hash(hash);
            let (to, place) = (SwitchPort::of(from.dpid, port), GraphEnd::host(from.node));
            flows[at] = HostFlow { key, to, hash, cached_as: hash, first: place, last: place };
            *seen = Seen::Flow;
        } else if lookup.dst != NO_FLOW && matches!(seen, Seen::Nothing) {
            let vlan = lookup.key().host_vlan();
            (places[len], ids[len]) = (at as u8, PackedIdentity::new(lookup.dst, vlan));
            len += 1;
        }
    }
    if len == 0 {
        return;
    }
    let mut found = [None; AT_ONCE];
    known.hosts.by_few_macs(&ids[..len], &mut found);
    // Without a branch for each: whether a receiver is known cannot be foreseen.
    let (mut known_ones, mut count) = ([0u8; AT_ONCE], 0);
    for (place, host) in found[..len].iter().enumerate() {
        known_ones[count] = place as u8;
        count += usize::from(host.is_some());
    }
    for &place in &known_ones[..count] {
        let place = usize::from(place);
        let at = usize::from(places[place]);
        let Some(to) = found[place].and_then(Host::place) else { continue };
        let (lookup, key) = (&lookups[at], lookups[at].key());
        let from = runs[lookup.run as usize];
        let port = PortNo(lookup.in_port);
        // Where the cache is asked, its hash holds all that the answer depends on.
        let hash = match hashes[at] {
            0 => {
                let generation = u64::from(known.hosts.generation(key.dst));
                let version = known.version.rotate_left(32) ^ generation;
                planner.foresee(key, (SwitchPort::of(from.dpid, port), to), version)
            }
            hash => planner.foresee_hash(hash),
        };
        let graph = known.graph;
        let node = if to.dpid == from.dpid { from.node } else { graph.node(to.dpid) };
        let (first, last) =
            (GraphEnd::of(from.node, port, graph), GraphEnd::of(node, to.port, graph));
        seen[at] = Seen::Flow;
        flows[at] = HostFlow { key, to, hash, cached_as: hashes[at], first, last };
    }
}

/// The flows within one switch of which this worker found out that they are on their way: further
/// packets of them are sent on, and nothing needs to be looked for.
#[derive(Debug)]
struct InFlight(ExactCache<(u16, ShortTick), 6>);

impl InFlight {
    fn new(seed: Seed) -> InFlight {
        InFlight(ExactCache::new(seed))
    }

    /// Makes room for a flow of each of so many hosts.
    fn fit(&mut self, hosts: usize) {
        self.0.fit(hosts);
    }

    fn salt(&self, dpid: DatapathId, version: u64) -> u64 {
        self.0.salt(dpid.0, version)
    }

    /// Keeps a flow, if its port is below 65,536.
    fn put(&mut self, since: Tick, hash: u64, port: PortNo) {
        if let Ok(port) = u16::try_from(port.0) {
            self.0.put(hash, (port, since.short()));
        }
    }

    /// The hash of a flow, of which it brings what is known; 0 where there is none.
    #[inline]
    fn ask_for(&self, lookup: &Lookup, hosts: &Hosts, salt: u64) -> u64 {
        // Two words hold a port below 65,536.
        if lookup.dst == NO_FLOW || lookup.in_port >> 16 != 0 {
            return 0;
        }
        let generation = hosts.generation(MacAddr::from_u64(lookup.dst));
        let key = (lookup.src, lookup.dst | u64::from(lookup.in_port) << 48);
        self.0.ask_for(salt, generation, key)
    }

    /// Writes down which of the flows that were asked for are known.
    #[inline]
    fn look_up(&mut self, now: Time, hashes: &[u64], seen: &mut [Seen]) {
        seen.fill(Seen::Nothing);
        if self.0.rests() {
            self.0.count(hashes.len(), 0);
            return;
        }
        let (now, mut answered) = (Tick::of(now), 0);
        for (&hash, seen) in hashes.iter().zip(seen) {
            match self.0.get(hash) {
                Some((port, since)) if hash != 0 => {
                    let is_on_its_way = since.is_young(IN_FLIGHT, now);
                    let port = PortNo(port.into());
                    *seen = if is_on_its_way { Seen::InFlight(port) } else { Seen::Again(port) };
                    answered += 1;
                }
                _ => {}
            }
        }
        self.0.count(hashes.len(), answered);
    }
}

/// The flow of a frame from one host to another.
pub(super) fn key(frame: &[u8]) -> Option<Key> {
    let (src, dst) = words(frame)?;
    Some(Lookup { src, dst, ..Lookup::NOTHING }.key())
}

/// The same, as it stands in a [`Lookup`].
#[inline]
fn words(frame: &[u8]) -> Option<(u64, u64)> {
    /// The bit of an address that makes it a group's.
    const GROUP: u64 = 1 << 40;
    let frame = Ethernet::new(frame)?;
    let (dst, src) = frame.addresses();
    let vlan = frame.tags().next().map_or(Key::UNTAGGED, |tag| tag.vid());
    ((src | dst) & GROUP == 0).then_some((src | u64::from(vlan) << 48, dst))
}
