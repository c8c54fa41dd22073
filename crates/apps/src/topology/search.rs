//! The search for links, beside the workers: it takes what they report, and publishes the probes
//! that are to be sent. The map of what was found is another part, made of this one: probes leave
//! all the time, and readers of the map are not called for that.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use aldis_control::world::{Counts, PartId, PublishCtx};
use aldis_control::{Part, Publisher, SwitchPort, Time};
use aldis_wire::msg::PortNo;
use aldis_wire::{DatapathId, Version};

use crate::log::Log;

use super::lldp::{LldpFrame, TagKey};
use super::map::{self, Map};
use super::switch_ports::{PortNow, SwitchNow};
use super::{Discovery, TopologyConfig, TopologyCounters};

/// Between two rounds of probes: each is a version of the World. What is due meanwhile leaves with
/// the next.
pub(super) const ROUND: Duration = Duration::from_millis(10);

/// The same after a round of fewer probes than [`FEW`]: each round wakes workers and is answered by
/// them, which costs more than such a round.
const QUIET_ROUND: Duration = Duration::from_millis(50);

/// See [`QUIET_ROUND`]. For example, a thousand ports without links have two hundred probes a
/// second.
const FEW: usize = 32;

/// How long the map of a switch stays as it is, for each of its ports, after it was drawn: drawing
/// takes a tenth of a microsecond for each, and switches with thousands of ports that flap would
/// have the search for themselves.
const DRAWN_PER_PORT: Duration = Duration::from_micros(20);

/// Ports of a switch that is drawn whenever something changed.
const DRAWN_AT_ONCE: usize = 128;

/// Probes that were not reported to have left, of which it is remembered which they are: as many as
/// the log of them holds.
const UNSENT_MAX: usize = 16_384;

/// The search, as it is published.
#[derive(Debug, Default)]
pub struct Search {
    probes: Log<OutgoingProbe>,
    map: Map,
    counters: TopologyCounters,
}

impl Part for Search {
    type Report = SearchReport;
    const NAME: &'static str = "search";

    fn counts(&self) -> Counts {
        let of = &self.counters;
        let counters = vec![
            ("probes_sent", of.sent),
            ("probes_heard", of.heard),
            ("probes_foreign", of.foreign),
            ("probes_forged", of.forged),
            ("probes_altered", of.altered),
            ("probes_replayed", of.replayed),
            ("probes_late", of.late),
            ("probes_at_wrong_port", of.wrong_port),
            ("probes_at_host_port", of.host_port),
            ("links_slow", of.slow),
        ];
        Counts { counters, now: vec![] }
    }
}

impl Search {
    /// What was done since the start; of what was refused where it came in, as it was a second ago.
    pub fn counters(&self) -> &TopologyCounters {
        &self.counters
    }

    /// The probes that are to be sent.
    pub(super) fn probes(&self) -> &Log<OutgoingProbe> {
        &self.probes
    }
}

/// A probe that is to leave by a port.
#[derive(Debug)]
pub(super) struct OutgoingProbe {
    pub(super) from: SwitchPort,
    pub(super) version: Version,
    pub(super) frame: Box<[u8]>,
}

/// What applications report to the search.
#[derive(Debug)]
pub struct SearchReport(pub(super) ReportBody);

/// What there is to be told.
#[derive(Debug)]
pub(super) enum ReportBody {
    /// A switch can be programmed, or is told of once more: as it is now.
    Switch(Box<SwitchNow>),
    /// A port of a connection of a switch, which came up at `since`, changed; none where it is not
    /// up any more.
    Port { dpid: DatapathId, since: Time, number: PortNo, port: Option<PortNow> },
    /// That connection is gone.
    Gone { dpid: DatapathId, since: Time },
    /// A frame came in that says to be a probe.
    Heard { now: Time, at: SwitchPort, read: LldpFrame },
    /// The probes up to this place of the log were sent.
    Left { now: Time, ended: u64 },
    /// What a barrier took to a switch and back.
    RoundTrip { dpid: DatapathId, took: Duration },
    /// Frames that were refused where they came in.
    Refused(TopologyCounters),
    /// A host was seen at a port.
    Shown { now: Time, at: SwitchPort },
}

impl SearchReport {
    /// A host was seen at a port: a link from there is looked at with care.
    pub fn host_shown(now: Time, at: SwitchPort) -> SearchReport {
        SearchReport(ReportBody::Shown { now, at })
    }
}

/// What is known of a switch and nothing to the search itself.
#[derive(Debug)]
struct SwitchRecord {
    version: Version,
    since: Time,
    ports: BTreeMap<PortNo, PortNow>,
}

/// The searcher: the publisher of [`Search`].
#[derive(Debug)]
pub(super) struct SearchPublisher {
    discovery: Discovery,
    records: BTreeMap<DatapathId, SwitchRecord>,
    map: Map,
    probes: Log<OutgoingProbe>,
    /// The probes that were not reported to have left, from `left` of the log on: their ports and
    /// numbers.
    unsent: VecDeque<(SwitchPort, u64)>,
    left: u64,
    /// Switches of which something changed that is none of the search's business, as the speeds of
    /// their ports.
    touched: BTreeSet<DatapathId>,
    /// When switches with many ports may be drawn again.
    rests: BTreeMap<DatapathId, Time>,
    refused: TopologyCounters,
    round_at: Time,
}

impl SearchPublisher {
    pub(super) fn new(config: TopologyConfig, key: TagKey) -> SearchPublisher {
        SearchPublisher {
            discovery: Discovery::new(config, key),
            records: BTreeMap::new(),
            map: Map::default(),
            probes: Log::default(),
            unsent: VecDeque::new(),
            left: 0,
            touched: BTreeSet::new(),
            rests: BTreeMap::new(),
            refused: TopologyCounters::default(),
            round_at: Time::START,
        }
    }

    fn hear(&mut self, now: Time, SearchReport(news): SearchReport) {
        match news {
            ReportBody::Switch(switch) => self.switch(now, *switch),
            ReportBody::Port { dpid, since, number, port } => {
                self.port(now, (dpid, since), number, port)
            }
            ReportBody::Gone { dpid, since } => self.gone(now, dpid, since),
            ReportBody::Heard { now, at, read } => self.discovery.hear(now, at, read),
            ReportBody::Left { now, ended } => self.left(now, ended),
            ReportBody::RoundTrip { dpid, took } => self.discovery.control_rtt(dpid, took),
            ReportBody::Refused(counters) => self.refused.add(&counters),
            ReportBody::Shown { now, at } => self.discovery.host_shown(now, at),
        }
    }

    /// A switch as it is now. Of two connections the later one counts.
    fn switch(&mut self, now: Time, switch: SwitchNow) {
        let SwitchNow { dpid, version, since, ports } = switch;
        let known = self.records.get(&dpid).map(|record| record.since);
        if known.is_some_and(|known| known > since) {
            return;
        }
        if known != Some(since) {
            self.discovery.switch_down(now, dpid);
            self.discovery.switch_up(now, dpid);
            self.records.insert(dpid, SwitchRecord { version, since, ports: BTreeMap::new() });
        }
        let known = self.records.get(&dpid).into_iter().flat_map(|record| record.ports.keys());
        let gone: Vec<_> = known.filter(|number| !ports.contains_key(number)).copied().collect();
        for number in gone {
            self.port(now, (dpid, since), number, None);
        }
        for (number, port) in ports {
            self.port(now, (dpid, since), number, Some(port));
        }
    }

    fn port(
        &mut self,
        now: Time,
        (dpid, since): (DatapathId, Time),
        number: PortNo,
        port: Option<PortNow>,
    ) {
        let Some(record) = self.records.get_mut(&dpid).filter(|record| record.since == since)
        else {
            return;
        };
        let at = SwitchPort::of(dpid, number);
        let before = match port {
            Some(port) => record.ports.insert(number, port),
            None => record.ports.remove(&number),
        };
        // It may have gone down and come up again before that could be reported.
        if before.map(|before| before.up_at) != port.map(|port| port.up_at) {
            self.discovery.port_down(now, at);
        }
        if let Some(port) = port {
            self.touched.insert(dpid);
            self.discovery.port_up(now, at, port.mac);
        }
    }

    fn gone(&mut self, now: Time, dpid: DatapathId, since: Time) {
        if self.records.get(&dpid).is_some_and(|record| record.since == since) {
            self.records.remove(&dpid);
            self.discovery.switch_down(now, dpid);
        }
    }

    fn left(&mut self, now: Time, ended: u64) {
        let count = ended.saturating_sub(self.left).min(self.unsent.len() as u64);
        self.left += count;
        for (from, sequence) in self.unsent.drain(..count as usize) {
            self.discovery.left(now, from, sequence);
        }
    }

    /// The probes that are due.
    fn round(&mut self, now: Time) -> Vec<OutgoingProbe> {
        let mut round = Vec::new();
        if now < self.round_at {
            return round;
        }
        let mut frame = Vec::new();
        while let Some(from) = self.discovery.probe(now, &mut frame) {
            let Some(record) = self.records.get(&from.dpid) else { continue };
            let version = record.version;
            round.push(OutgoingProbe { from, version, frame: frame.as_slice().into() });
            self.unsent.push_back((from, self.discovery.sequence()));
        }
        let forgotten = self.unsent.len().saturating_sub(UNSENT_MAX);
        self.left += self.unsent.drain(..forgotten).count() as u64;
        if !round.is_empty() {
            self.round_at = now + if round.len() < FEW { QUIET_ROUND } else { ROUND };
        }
        round
    }

    /// Brings the map up to date; whether it is another. Switches with many ports are drawn once in
    /// a while.
    fn draw(&mut self, now: Time) -> bool {
        let mut touched = self.discovery.take_touched();
        touched.append(&mut self.touched);
        let mut changed = false;
        for dpid in touched {
            let Some(record) = self.records.get(&dpid) else {
                self.rests.remove(&dpid);
                changed |= self.map.take(dpid);
                continue;
            };
            if self.rests.get(&dpid).is_some_and(|until| *until > now) {
                self.touched.insert(dpid);
                continue;
            }
            let picture = record.picture(dpid, &self.discovery);
            if picture.ports.len() > DRAWN_AT_ONCE {
                let rest = DRAWN_PER_PORT * u32::try_from(picture.ports.len()).unwrap_or(u32::MAX);
                self.rests.insert(dpid, now + rest);
            }
            changed |= self.map.put(picture);
        }
        changed
    }

    /// When a switch that was touched may be drawn.
    fn draw_at(&self) -> Time {
        let rests = self.touched.iter().map(|dpid| self.rests.get(dpid).copied());
        rests.map(|until| until.unwrap_or(Time::START)).min().unwrap_or(Time::NEVER)
    }
}

impl SwitchRecord {
    fn picture(&self, dpid: DatapathId, discovery: &Discovery) -> map::MapSwitch {
        let with_speed = |port: map::MapPort| {
            let speed_kbps = self.ports.get(&port.number).map_or(0, |port| port.speed_kbps);
            map::MapPort { speed_kbps, ..port }
        };
        let ports = discovery.ports_of(dpid).map(with_speed).collect();
        map::MapSwitch { dpid, version: self.version, since: self.since, ports }
    }
}

impl Publisher for SearchPublisher {
    type Part = Search;

    fn begin(&mut self) -> Search {
        Search::default()
    }

    fn revise(&mut self, now: Time, mut ctx: PublishCtx<'_, Search>) -> Option<Search> {
        while let Some(told) = ctx.report() {
            self.hear(now, told);
        }
        let round = self.round(now);
        if !self.draw(now) && round.is_empty() {
            return None;
        }
        self.probes.push(round);
        let mut counters = *self.discovery.counters();
        counters.add(&self.refused);
        Some(Search { probes: self.probes.clone(), map: self.map.clone(), counters })
    }

    fn next(&self) -> Time {
        let probe = self.discovery.next().map_or(Time::NEVER, |next| next.max(self.round_at));
        probe.min(self.draw_at())
    }
}

/// The publisher of the map.
#[derive(Debug)]
pub(super) struct MapPublisher;

impl Publisher for MapPublisher {
    type Part = Map;

    const READS: &'static [PartId] = &[Search::ID];

    fn begin(&mut self) -> Map {
        Map::default()
    }

    fn revise(&mut self, _: Time, ctx: PublishCtx<'_, Map>) -> Option<Map> {
        let map = &ctx.world().part::<Search>().map;
        (!map.is(ctx.current())).then(|| map.clone())
    }
}
