//! The application: looks at every flow request for a host that is news, and sends the probes that
//! the tracker wants.

use std::time::Duration;

use aldis_control::app::{Next, Slots, TickCtx};
use aldis_control::batch::Request;
use aldis_control::controller_event::{Found, HostNow};
use aldis_control::world::{PartId, Publishers, View};
use aldis_control::{App, Batch, Commands, EventKind, Output, Part, SwitchPort, Time};
use aldis_packet::Ethernet;
use aldis_wire::msg::{PacketOut, PortNo};
use aldis_wire::{DatapathId, MacAddr, NO_BUFFER};

use crate::exact_cache::ExactCache;
use crate::recent_set::{Recency, RecentSet};
use crate::send::send_out;
use crate::topology::{self, Map, MapSwitch, Search, SearchReport};

use super::host::{Host, Identity, PackedIdentity};
use super::move_check::{MoveClaim, Subject};
use super::observation::{Observation, plain_sender};
use super::probe::PROBER;
use super::publisher::{HostPublisher, HostReport};
use super::table::{BATCH as AT_ONCE, Hosts, seconds};
use super::tracker::{Effect, Gone, HostsConfig};

/// For how long a worker does not say the same thing again: by then it was published, if it is
/// believed.
const SAID_FOR: Duration = Duration::from_millis(100);

/// Things that a worker has said for so long; with more it says some twice.
const SAID_MAX: usize = 4096;

/// How often the search is told that a port still shows a host: it remembers it for five minutes.
const SHOWN_EVERY: Duration = Duration::from_secs(30);

/// Ports of which it was told; of more it is told more often.
const SHOWN_MAX: usize = 16_384;

/// Where the table is full another host leaves it for each new one, which costs a hundred times
/// what a request does. How often a port may bring one then, as far as [`RecentSet`] can tell: some
/// fifty times a second.
const NEWCOMER_EVERY: Duration = Duration::from_millis(10);

/// Ports of which that is remembered at once.
const NEWCOMERS_MAX: usize = 16_384;

/// How many all ports of a worker may bring in that time.
const NEWCOMERS_AT_ONCE: u32 = 32;

/// Of which so many may come by one switch, so that one that makes up ports leaves room for others.
const SWITCH_NEWCOMERS_AT_ONCE: u32 = 8;

/// The application: one instance for each worker.
#[derive(Debug)]
pub struct HostTracker {
    config: HostsConfig,
    said: RecentSet,
    shown: RecentSet,
    newcomers: RecentSet,
    /// How many came since then.
    newcome: (Time, u32),
    /// Senders that are no news at their ports in their generation, until when.
    no_news: ExactCache<NewsAt, 8>,
}

/// What the cache keeps is asked for under another hash after so many bits of seconds: four and a
/// half hours.
const REMEMBERED_BITS: u32 = 14;

/// Frames that are looked into together: where they came in, their senders where they are
/// [plain](plain_sender), 0 otherwise, and what the cache knows each by, 0 where it is not asked.
struct Block<'b> {
    len: usize,
    /// The first `len` of each are in use.
    frames: [&'b [u8]; AT_ONCE],
    ports: [SwitchPort; AT_ONCE],
    senders: [PackedIdentity; AT_ONCE],
    hashes: [u64; AT_ONCE],
}

/// The second in which a host that is seen is news again, modulo 18 hours: nine to come, and those
/// for which it may be remembered ([`REMEMBERED_BITS`]).
#[derive(Clone, Copy, Debug, Default)]
struct NewsAt(u16);

impl NewsAt {
    /// So many seconds from now, or nine hours.
    fn within(left_s: u32, now: Time) -> NewsAt {
        NewsAt((seconds(now) as u16).wrapping_add(left_s.min(i16::MAX as u32) as u16))
    }

    #[inline]
    fn is_to_come(self, now: Time) -> bool {
        (self.0.wrapping_sub(seconds(now) as u16) as i16) > 0
    }
}

impl<'b> Block<'b> {
    fn new() -> Block<'b> {
        let ports = [SwitchPort::default(); AT_ONCE];
        let senders = [PackedIdentity::NONE; AT_ONCE];
        Block { len: 0, frames: [&[]; AT_ONCE], ports, senders, hashes: [0; AT_ONCE] }
    }

    /// What the frame at a place says, if that is anything.
    #[inline]
    fn observation(&self, place: usize) -> Option<Observation> {
        let at = self.ports[place];
        match self.senders[place] {
            PackedIdentity::NONE => Observation::of_frame(self.frames[place], at).ok(),
            sender => Some(Observation { id: sender.identity(), at, ip: None, router: None }),
        }
    }

    /// Adds a frame, for which there is room; whether the block is full then.
    #[inline]
    fn is_full_with(
        &mut self,
        (frame, at): (&'b [u8], SwitchPort),
        (sender, hash): (PackedIdentity, u64),
    ) -> bool {
        let place = self.len % AT_ONCE;
        (self.frames[place], self.ports[place]) = (frame, at);
        (self.senders[place], self.hashes[place]) = (sender, hash);
        self.len = place + 1;
        self.len == AT_ONCE
    }
}

/// The lower ports of one switch that were looked into in a block: requests of a switch follow
/// each other, and what was found out for one of a port holds for the next of them.
#[derive(Default)]
struct NotedPorts {
    dpid: DatapathId,
    /// A bit for each ([`bit_of`]).
    ports: u64,
}

impl NotedPorts {
    /// Whether a port is not among them, as far as that is known. From now on it is.
    fn is_first(&mut self, at: SwitchPort) -> bool {
        if at.dpid != self.dpid {
            *self = NotedPorts { dpid: at.dpid, ports: 0 };
        }
        let bit = bit_of(at.port);
        let is_first = self.ports & bit == 0;
        self.ports |= bit;
        is_first
    }
}

/// The bit of a port below 64; others have none.
#[inline]
fn bit_of(port: PortNo) -> u64 {
    if port.0 < u64::BITS { 1 << port.0 } else { 0 }
}

impl HostTracker {
    /// An instance; those of other workers get the same settings.
    pub fn new(config: HostsConfig) -> HostTracker {
        HostTracker {
            config,
            said: RecentSet::new(SAID_MAX, SAID_FOR),
            shown: RecentSet::new(SHOWN_MAX, SHOWN_EVERY),
            newcomers: RecentSet::new(NEWCOMERS_MAX, NEWCOMER_EVERY),
            newcome: (Time::START, 0),
            no_news: ExactCache::new(config.seed),
        }
    }

    /// Reports an observation of which the tracker has to find out whether it can be believed: its
    /// port is not known yet. With more of them than a worker remembers at once, some are not told.
    fn report_doubtful(&self, now: Time, observation: Observation, out: &mut Output) {
        let Observation { id, at, ip, router } = observation;
        if self.said.note(now, self.said.hash((id, at, ip, router))) == Recency::New {
            let _ = out.report::<Hosts>(HostReport { now, observation });
        }
    }

    /// Reports an observation that is news, and that its port shows a host.
    fn report(&self, now: Time, map: &Map, observation: Observation, out: &mut Output) {
        let Observation { id, at, ip, router } = observation;
        if self.said.note(now, self.said.hash((id, at, ip, router))) == Recency::Known {
            return;
        }
        // Where there is no room, the host is seen again.
        let _ = out.report::<Hosts>(HostReport { now, observation });
        self.show(now, map, at, out);
    }

    /// Reports that a port shows a host, of any address.
    fn show(&self, now: Time, map: &Map, at: SwitchPort, out: &mut Output) {
        let set = match map.port(at) {
            Some(port) if port.host => &self.shown,
            Some(_) => &self.said,
            None => return,
        };
        if set.note(now, set.hash(at)) != Recency::Known {
            let _ = out.report::<Search>(SearchReport::host_shown(now, at));
        }
    }

    /// Reports what is news in a block, and empties it.
    fn look(
        &mut self,
        now: Time,
        known: (&Hosts, &Map, bool),
        block: &mut Block<'_>,
        out: &mut Output,
    ) {
        let count = std::mem::take(&mut block.len);
        // The places of those that the cache cannot say to be no news.
        let (mut places, mut len) = ([0u8; AT_ONCE], 0);
        for (at, &hash) in block.hashes[..count].iter().enumerate() {
            places[len] = at as u8;
            let is_known = |hash| self.no_news.get(hash).is_some_and(|at| at.is_to_come(now));
            len += usize::from(hash == 0 || !is_known(hash));
        }
        self.no_news.count(count, count - len);
        if len > 0 {
            self.look_into(now, known, (block, &places[..len]), out);
        }
    }

    /// The same of the frames at these places, of which the cache knows nothing.
    fn look_into(
        &mut self,
        now: Time,
        (hosts, map, is_full): (&Hosts, &Map, bool),
        (block, places): (&Block<'_>, &[u8]),
        out: &mut Output,
    ) {
        let (mut seen, mut senders) = ([0u8; AT_ONCE], [PackedIdentity::NONE; AT_ONCE]);
        let (mut found, mut len) = ([None; AT_ONCE], 0);
        for &place in places {
            let at = usize::from(place);
            let mut sender = block.senders[at];
            if sender == PackedIdentity::NONE {
                let Some(observation) = block.observation(at) else { continue };
                sender = observation.id.into();
            } else if !sender.is_host() {
                continue;
            }
            (seen[len], senders[len]) = (place, sender);
            len += 1;
        }
        hosts.by_few_macs(&senders[..len], &mut found);
        let (mut shown, mut newcomers) = (NotedPorts::default(), NotedPorts::default());
        for (&place, &host) in seen[..len].iter().zip(&found) {
            let place = usize::from(place);
            let (at, hash) = (block.ports[place], block.hashes[place]);
            // One of a block has a chance: a port brings one in NEWCOMER_EVERY at most.
            let is_refused =
                is_full && host.is_none() && !(newcomers.is_first(at) && self.admits(now, at));
            if is_refused {
                if shown.is_first(at) {
                    self.show(now, map, at, out);
                }
                continue;
            }
            let is_plain = block.senders[place] != PackedIdentity::NONE;
            if is_plain && host.is_some_and(|host| hosts.is_no_news_of(host, at, now)) && hash == 0
            {
                continue;
            }
            let Some(observation) = block.observation(place) else { continue };
            if let Some(left_s) = hosts.no_news_for(host, &observation, now) {
                if hash != 0 {
                    self.no_news.put(hash, NewsAt::within(left_s, now));
                }
            } else if host.is_none_or(|host| may_have_moved(host, at, map)) {
                self.report(now, map, observation, out);
            } else {
                self.report_doubtful(now, observation, out);
            }
        }
    }

    /// An answer to a probe of ours: it says nothing new, and that is what was asked.
    #[cold]
    fn answered(&mut self, now: Time, map: &Map, request: &Request<'_>, out: &mut Output) -> Next {
        let at = SwitchPort::of(request.switch.dpid, request.in_port());
        let Ok(observation) = Observation::of_frame(request.frame, at) else {
            return Next::Continue;
        };
        self.report(now, map, observation, out);
        if request.header.buffer_id != NO_BUFFER {
            let packet = PacketOut::buffered(request.header.buffer_id);
            out.answer(request, packet.from_port(request.in_port()));
        }
        Next::Stop
    }

    /// Whether one more unknown host may push another out of the full table. Those that may not are
    /// seen again.
    fn admits(&mut self, now: Time, at: SwitchPort) -> bool {
        let (since, count) = self.newcome;
        if now.since(since) >= NEWCOMER_EVERY {
            self.newcome = (now, 0);
        } else if count >= NEWCOMERS_AT_ONCE {
            return false;
        }
        let is_new = |hash| self.newcomers.note(now, hash) != Recency::Known;
        let of_switch = (at.dpid, self.newcome.1 % SWITCH_NEWCOMERS_AT_ONCE);
        let admits = is_new(self.newcomers.hash(at)) && is_new(self.newcomers.hash(of_switch));
        self.newcome.1 += u32::from(admits);
        admits
    }
}

/// Where the requests of a batch came in, as far as hosts may be there. The requests of one switch
/// follow each other, so that the switch is looked for once, and each of its lower ports once.
#[derive(Debug)]
pub(crate) struct Edges<'m> {
    map: &'m Map,
    /// Whether hosts may be at a port that the map does not have.
    unknown: bool,
    dpid: Option<DatapathId>,
    switch: Option<&'m MapSwitch>,
    /// A bit for each port below 64 that was looked at, and one where hosts may be there.
    looked: u64,
    edges: u64,
}

impl<'m> Edges<'m> {
    /// Of the network as it is in this version of the map.
    pub(crate) fn new(map: &'m Map) -> Edges<'m> {
        Edges { map, unknown: false, dpid: None, switch: None, looked: 0, edges: 0 }
    }

    /// The same, with ports that are not known yet: the tracker decides about what was seen there.
    fn shown(map: &'m Map) -> Edges<'m> {
        Edges { unknown: true, ..Edges::new(map) }
    }

    /// Where a request came in, if a host may be there.
    #[inline]
    pub(crate) fn of(&mut self, request: &Request<'_>) -> Option<SwitchPort> {
        let at = SwitchPort::of(request.switch.dpid, request.in_port());
        if self.dpid != Some(at.dpid) {
            *self = Edges {
                dpid: Some(at.dpid),
                switch: self.map.switch(at.dpid),
                unknown: self.unknown,
                ..Edges::new(self.map)
            };
        }
        let bit = bit_of(at.port);
        if self.looked & bit == 0 {
            let is_edge = self.is_edge(at.port);
            self.looked |= bit;
            self.edges |= if is_edge { bit } else { 0 };
            return is_edge.then_some(at);
        }
        (self.edges & bit != 0).then_some(at)
    }

    fn is_edge(&self, port: PortNo) -> bool {
        match self.switch {
            _ if port == PortNo::LOCAL => true,
            // It joined a moment ago: the tracker decides.
            None => port.is_real(),
            Some(switch) => match switch.port(port) {
                Some(port) => !port.is_link(),
                None => self.unknown && port.is_real(),
            },
        }
    }
}

/// Whether a host that is known elsewhere can be believed to be here: not before it is known what
/// the port leads to, for a broadcast comes in by links too, unless it cannot be where it was any
/// more.
fn may_have_moved(host: &Host, to: SwitchPort, map: &Map) -> bool {
    let known = |port: &topology::MapPort| port.known;
    let stays = || !host.is_nowhere() && map.port(host.at()).is_some_and(|port| !port.is_link());
    host.at() == to || !stays() || map.port(to).is_some_and(known)
}

/// The warning about a claim that is not believed.
fn refusal(claim: &MoveClaim) -> String {
    let MoveClaim { what, by, at } = claim;
    match what {
        Subject::Place(id) => format!(
            "hosts: {id:?} says to be at {at}, and is not believed: it answers elsewhere, or cannot be asked"
        ),
        Subject::Address(ip, _) => format!(
            "hosts: {by:?} at {at} says to have {ip}, and is not believed: the host that has it answers"
        ),
    }
}

impl App for HostTracker {
    type Slot = ();

    const NAME: &'static str = "hosts";
    const EVENTS: &'static [EventKind] = &[EventKind::FlowRequest, EventKind::Publication];
    const READS: &'static [PartId] = &[Hosts::ID, Map::ID];

    fn packet_ins(&mut self, batch: &mut Batch<'_>, _: Slots<'_, ()>, out: &mut Output) {
        let (now, world) = (batch.now, batch.world);
        let (hosts, map) = (world.part::<Hosts>(), world.part::<Map>());
        let is_full = hosts.len() >= self.config.hosts_max;
        self.no_news.fit(hosts.len());
        // Whether a host is news depends on nothing but its generation and the time.
        let hours = u64::from(seconds(now) >> REMEMBERED_BITS);
        let known = (hosts, map, is_full);
        // While one block is filled, what the cache knows of the other is on its way.
        let (mut edges, mut blocks, mut turn) =
            (Edges::shown(map), [Block::new(), Block::new()], 0);
        // The requests of one switch follow each other.
        let (mut dpid, mut salt) = (DatapathId(0), self.no_news.salt(0, hours));
        batch.each(|request| {
            let Some(at) = edges.of(request) else { return Next::Continue };
            let Some(frame) = Ethernet::new(request.frame) else { return Next::Continue };
            if frame.addresses().0 == PROBER.to_u64() {
                return self.answered(now, map, request, out);
            }
            if at.dpid != dpid {
                (dpid, salt) = (at.dpid, self.no_news.salt(at.dpid.0, hours));
            }
            let sender = plain_sender(&frame);
            let hash = match sender {
                PackedIdentity::NONE => 0,
                _ if self.no_news.rests() => 0,
                PackedIdentity(word) => {
                    let generation = hosts.generation(MacAddr::from_u64(word));
                    self.no_news.ask_for(salt, generation, (word, at.port.0.into()))
                }
            };
            if blocks[turn].is_full_with((request.frame, at), (sender, hash)) {
                turn = 1 - turn;
                self.look(now, known, &mut blocks[turn], out);
            }
            Next::Continue
        });
        self.look(now, known, &mut blocks[1 - turn], out);
        self.look(now, known, &mut blocks[turn], out);
    }

    fn published(&mut self, before: View<'_>, ctx: TickCtx<'_>, commands: &mut Commands) {
        let (old, new) = (before.part::<Hosts>(), ctx.world.part::<Hosts>());
        let map = ctx.world.part::<Map>();
        commands.not_told(new.changes().missed(old.changes()));
        for effect in new.changes().since(old.changes()) {
            match *effect {
                Effect::Probe(probe) => {
                    if let Some(switch) = map.switch(probe.at.dpid) {
                        send_out(commands, switch.version, probe.at, &probe.frame());
                    }
                }
                Effect::New(id, at) => {
                    commands.found(HostTracker::NAME, found(id, at, HostNow::Seen))
                }
                Effect::Moved { id, from, to } => {
                    let now = HostNow::Moved { from };
                    commands.found(HostTracker::NAME, found(id, to, now));
                }
                Effect::Gone(id, at, why) => {
                    let why = match why {
                        Gone::Aged => "it was silent for too long",
                        Gone::Evicted => "there was no room for it",
                        Gone::Link => "its port leads to a switch",
                        Gone::Switch => "its switch is gone",
                    };
                    commands.found(HostTracker::NAME, found(id, at, HostNow::Gone { why }));
                }
                Effect::Refused(claim) => commands.warn(refusal(&claim)),
                Effect::Learnt(..) | Effect::Lost(..) => {}
            }
        }
    }

    fn publishers(&self) -> Publishers {
        Publishers::of(HostPublisher::new(self.config))
    }
}

fn found(id: Identity, at: SwitchPort, now: HostNow) -> Found {
    Found::Host { mac: id.mac, vlan: id.vlan, at, now }
}

#[cfg(test)]
mod tests;
