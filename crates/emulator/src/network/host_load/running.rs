//! Load while it is offered: whose packet is due, and which have arrived.

use super::{HostLoad, HostLoadFate, OfferedPhase, OfferedSwitch};
use crate::load::pace::{Pace, TICK};
use crate::load::rng::SplitMix64;
use crate::load::{Volume, delays};
use crate::network::checks::Pinged;
use crate::network::fabric::Fabric;
use crate::network::frame::Stamp;
use crate::topology::Topology;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// Most packets that the hosts of one switch send in one turn: half of what a link holds, so that a
/// turn fills none.
const TURN_PACKETS_MAX: u64 = 50;
/// Of so many packets that were sent last is known which have arrived: four seconds at the highest
/// rate.
const WINDOW: u64 = 1 << 22;
/// The first UDP port of a flow: those below belong to services.
const PORT_FIRST: u16 = 1024;
/// Beside the seed, so that which hosts talk to each other and which switch offers how much are
/// apart.
const PEERS_SEED: u64 = 0x0070_6565_7273;

pub(in crate::network) struct RunningLoad<'a> {
    offer: &'a HostLoad,
    pace: Pace,
    /// The switches with hosts.
    senders: Vec<HostSender>,
    /// Every host, h1 first.
    talkers: Vec<Talker>,
    rng: SplitMix64,
    /// When it began, and when a switch is due again.
    begun: Option<Duration>,
    next: Duration,
    /// When each phase ends, counted from the beginning; and the number of the first packet of each
    /// that began.
    ends: Vec<Duration>,
    firsts: Vec<u64>,
    /// How many packets have been sent, which is the number of the next.
    sent: u64,
    arrivals: ArrivalWindow,
    offered: HostLoadFate,
    turns: Vec<(usize, u64, u64)>,
}

/// The hosts of one switch.
struct HostSender {
    hosts: Vec<u32>,
    /// Whose turn it is.
    next: usize,
    /// Packets that have become due, and those of them that were sent or given up.
    due: u64,
    settled: u64,
}

/// A host.
#[derive(Default)]
struct Talker {
    /// The host that it sends to.
    peers: Vec<u32>,
    /// The peer and the port of the flow in hand, and how many more packets it has.
    to: u32,
    port: u16,
    left: u32,
}

impl<'a> RunningLoad<'a> {
    /// Nothing is sent before [`RunningLoad::begin`].
    pub(in crate::network) fn new(
        offer: &'a HostLoad,
        topology: &Topology,
        seed: u64,
    ) -> RunningLoad<'a> {
        let mut by_switch: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (host, end) in (1..).zip(topology.hosts()) {
            by_switch.entry(end.switch).or_default().push(host);
        }
        let switch = |&switch| OfferedSwitch { switch, sent: 0, arrived: 0 };
        let switches: Vec<OfferedSwitch> = by_switch.keys().map(switch).collect();
        let sender = |hosts| HostSender { hosts, next: 0, due: 0, settled: 0 };
        let how = (offer.spread, offer.on_off);
        let volume = Volume::of(&offer.steps);
        let ends = offer.steps.iter().scan(Duration::ZERO, |end, step| {
            *end += step.length;
            Some(*end)
        });
        let mut rng = SplitMix64::new(seed ^ PEERS_SEED);
        RunningLoad {
            offer,
            pace: Pace::shared(volume, how, switches.len() as u32, seed),
            senders: by_switch.into_values().map(sender).collect(),
            talkers: talkers(topology.hosts().len() as u32, offer.peers, &mut rng),
            rng,
            begun: None,
            next: Duration::ZERO,
            ends: ends.collect(),
            firsts: Vec::new(),
            sent: 0,
            arrivals: ArrivalWindow::default(),
            offered: HostLoadFate { switches, ..HostLoadFate::default() },
            turns: Vec::new(),
        }
    }

    /// Which hosts are to find each other beforehand, and whether over IPv6.
    pub(in crate::network) fn pairs(&self) -> (Vec<(u32, u32)>, bool) {
        let pairs = (1..).zip(&self.talkers);
        let pairs = pairs.flat_map(|(from, talker)| talker.peers.iter().map(move |&to| (from, to)));
        (pairs.collect(), self.offer.v6)
    }

    /// These found each other, or did not.
    pub(in crate::network) fn found(&mut self, pinged: &Pinged) {
        (self.offered.pairs, self.offered.found) = (pinged.pairs.len(), pinged.received());
        self.offered.finding = pinged.took;
        self.talkers.iter_mut().for_each(|talker| talker.peers.clear());
        for &(from, to, answer) in &pinged.pairs {
            if answer.is_some() {
                self.talkers[from as usize - 1].peers.push(to);
            }
        }
    }

    /// Begins to send.
    pub(in crate::network) fn begin(&mut self, now: Duration) {
        self.begun = Some(now);
        self.next = now;
        self.begin_phase();
    }

    fn begin_phase(&mut self) {
        let Some(step) = self.offer.steps.get(self.firsts.len()) else { return };
        self.firsts.push(self.sent);
        self.offered.phases.push(OfferedPhase {
            rate: step.rate,
            planned: step.length,
            length: step.length,
            due: 0,
            sent: 0,
            missed: 0,
            unaddressed: 0,
            arrived: 0,
            again: 0,
            delay: delays(),
        });
    }

    /// When a switch is due; `None` where none will be any more.
    pub(in crate::network) fn next_due(&self) -> Option<Duration> {
        (self.begun.is_some() && !self.ends.is_empty()).then_some(self.next)
    }

    /// Whether everything has been sent, and has arrived or been waited for.
    pub(in crate::network) fn is_done(&self, now: Duration, patience: Duration) -> bool {
        let arrived = self.arrived_in_all();
        let end = self.begun.map(|begun| begun + self.offer.length() + patience);
        self.ends.is_empty() && (arrived == self.sent || end.is_some_and(|end| now >= end))
    }

    /// Sends what is due.
    pub(in crate::network) fn turn(&mut self, fabric: &mut Fabric<'_>, now: Duration) {
        let Some(begun) = self.begun else { return };
        while let Some(end) = self.ends.first().copied().filter(|&end| begun + end <= now) {
            self.serve(end, true, fabric, now);
            self.ends.remove(0);
            self.begin_phase();
        }
        if self.ends.is_empty() || now < self.next {
            return;
        }
        let more = self.serve(now - begun, false, fabric, now);
        self.next = if more { now } else { now + TICK };
    }

    /// What is due so long after the beginning; whether some is left over. The last turn of a phase
    /// has all senders in it, and leaves nothing over.
    fn serve(
        &mut self,
        elapsed: Duration,
        last: bool,
        fabric: &mut Fabric<'_>,
        now: Duration,
    ) -> bool {
        let mut turns = std::mem::take(&mut self.turns);
        turns.clear();
        turns.extend(self.pace.turns(elapsed));
        while last && turns.len() < self.senders.len() {
            turns.extend(self.pace.turns(elapsed));
        }
        let mut more = false;
        for &(place, due, burst) in &turns {
            more |= self.send_due(place, (due, burst), last, fabric, now);
        }
        self.turns = turns;
        more
    }

    fn send_due(
        &mut self,
        place: usize,
        (due, burst): (u64, u64),
        last: bool,
        fabric: &mut Fabric<'_>,
        now: Duration,
    ) -> bool {
        let Some(phase) = self.offered.phases.last_mut() else { return false };
        let sender = &mut self.senders[place];
        phase.due += due.saturating_sub(sender.due);
        sender.due = sender.due.max(due);
        let owed = sender.due - sender.settled;
        let sends = owed.min(burst).min(TURN_PACKETS_MAX);
        let late = owed - sends;
        let missed = if last { late } else { owed.saturating_sub(burst).min(late) };
        phase.missed += missed;
        sender.settled += sends + missed;
        for _ in 0..sends {
            self.send(place, fabric, now);
        }
        late > missed
    }

    /// One packet of the host whose turn it is.
    fn send(&mut self, place: usize, fabric: &mut Fabric<'_>, now: Duration) {
        let Some((from, to, port)) = self.next_packet(place) else { return self.unaddressed() };
        let target = fabric.host_mut(to).address;
        let target = if self.offer.v6 { IpAddr::from(target.ipv6) } else { target.ipv4.into() };
        let Some(mac) = fabric.host_mut(from).neighbour(target) else { return self.unaddressed() };
        let stamp =
            Stamp { number: self.sent, sent_ns: now.as_nanos() as u64, place: place as u32 };
        self.arrivals.expect(self.sent);
        self.sent += 1;
        self.offered.switches[place].sent += 1;
        if let Some(phase) = self.offered.phases.last_mut() {
            phase.sent += 1;
        }
        let len = self.offer.frame_len as usize;
        fabric.with_host(from, now, |host, out| {
            out.push(host.address.datagram(mac, target, port, stamp, len));
        });
    }

    fn unaddressed(&mut self) {
        if let Some(phase) = self.offered.phases.last_mut() {
            phase.unaddressed += 1;
        }
    }

    /// Which host of this switch sends to which, from which port.
    fn next_packet(&mut self, place: usize) -> Option<(u32, u32, u16)> {
        let HostSender { hosts, next, .. } = &mut self.senders[place];
        for _ in 0..hosts.len() {
            let from = hosts[*next];
            *next = (*next + 1) % hosts.len();
            let talker = &mut self.talkers[from as usize - 1];
            if !talker.peers.is_empty() {
                let (to, port) = talker.speak(self.offer.flow_packets, &mut self.rng);
                return Some((from, to, port));
            }
        }
        None
    }

    /// A packet arrived.
    pub(in crate::network) fn arrived(&mut self, stamp: Stamp, now: Duration) {
        let place = stamp.place as usize;
        if stamp.number >= self.sent || place >= self.senders.len() {
            return;
        }
        let phase = self.firsts.partition_point(|&first| first <= stamp.number) - 1;
        let phase = &mut self.offered.phases[phase];
        match self.arrivals.arrive(stamp.number, self.sent) {
            Some(true) => {
                phase.arrived += 1;
                self.offered.switches[place].arrived += 1;
                phase
                    .delay
                    .saturating_record((now.as_nanos() as u64).saturating_sub(stamp.sent_ns));
            }
            Some(false) => phase.again += 1,
            None => {}
        }
    }

    /// How much longer it is to be offered, and how many packets are on their way or lost; nothing
    /// before it begins.
    pub(in crate::network) fn unfinished(&self, now: Duration) -> (Duration, u64) {
        let Some(begun) = self.begun.filter(|_| !self.ends.is_empty()) else {
            return (Duration::ZERO, self.sent - self.arrived_in_all());
        };
        ((begun + self.offer.length()).saturating_sub(now), self.sent - self.arrived_in_all())
    }

    /// How many packets have been sent, and how many of them have arrived.
    pub(in crate::network) fn packets(&self) -> (u64, u64) {
        (self.sent, self.arrived_in_all())
    }

    fn arrived_in_all(&self) -> u64 {
        self.offered.phases.iter().map(|phase| phase.arrived).sum()
    }

    /// What became of it until now.
    pub(in crate::network) fn finish(mut self, now: Duration) -> HostLoadFate {
        if let (Some(begun), Some(&end), Some(phase)) =
            (self.begun, self.ends.first(), self.offered.phases.last_mut())
        {
            let left = (begun + end).saturating_sub(now);
            phase.length = phase.planned.saturating_sub(left);
        }
        self.offered
    }
}

impl Talker {
    /// The peer and the port of the next packet.
    fn speak(&mut self, flow_packets: u32, rng: &mut SplitMix64) -> (u32, u16) {
        if self.left == 0 {
            self.left = flow_packets;
            self.to = self.peers[rng.below(self.peers.len())];
            self.port = self.port.checked_add(1).unwrap_or(PORT_FIRST).max(PORT_FIRST);
        }
        self.left -= 1;
        (self.to, self.port)
    }
}

/// So many peers for each host, or all others where there are no more: of chance, and none twice.
fn talkers(hosts: u32, peers: u32, rng: &mut SplitMix64) -> Vec<Talker> {
    let mut talker = |own: u32| {
        let mut chosen = Vec::new();
        // Floyd's choice without repetition, of the numbers 0 to `hosts` - 2, which are the others
        // in their order.
        let others = hosts - 1;
        for last in others - peers.min(others)..others {
            let drawn = rng.below(last as usize + 1) as u32;
            chosen.push(if chosen.contains(&drawn) { last } else { drawn });
        }
        let number = |other: u32| other + 1 + u32::from(other + 1 >= own);
        Talker { peers: chosen.into_iter().map(number).collect(), ..Talker::default() }
    };
    (1..=hosts).map(&mut talker).collect()
}

/// Which of the packets that were sent last have arrived: a bit each.
#[derive(Default)]
struct ArrivalWindow(Vec<u64>);

impl ArrivalWindow {
    /// This one is on its way.
    fn expect(&mut self, number: u64) {
        self.0.resize((WINDOW / 64) as usize, 0);
        self.0[ArrivalWindow::word(number)] &= !(1 << (number % 64));
    }

    /// Whether this one arrives for the first time; `None` where that was too long ago to be known.
    /// `sent` have been.
    fn arrive(&mut self, number: u64, sent: u64) -> Option<bool> {
        if number + WINDOW < sent {
            return None;
        }
        let (word, bit) = (&mut self.0[ArrivalWindow::word(number)], 1 << (number % 64));
        let is_first = *word & bit == 0;
        *word |= bit;
        Some(is_first)
    }

    fn word(number: u64) -> usize {
        (number % WINDOW / 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{DemandSpread, OnOff, RateStep};
    use crate::network::NetworkPlan;
    use crate::topology::Shape;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn every_host_has_peers_of_chance_and_none_twice() {
        for (hosts, peers) in [(2, 1), (2, 4), (10, 3), (10, 9), (10, 1000)] {
            let talkers = talkers(hosts, peers, &mut SplitMix64::new(1));
            for (own, talker) in (1..).zip(&talkers) {
                let set: HashSet<u32> = talker.peers.iter().copied().collect();
                assert_eq!(set.len(), talker.peers.len());
                assert_eq!(set.len() as u32, peers.min(hosts - 1));
                assert!(set.iter().all(|peer| (1..=hosts).contains(peer) && *peer != own));
            }
        }
        let drawn = |seed| {
            talkers(10, 3, &mut SplitMix64::new(seed)).into_iter().map(|talker| talker.peers)
        };
        assert!(drawn(1).eq(drawn(1)) && drawn(1).ne(drawn(2)));
    }

    #[test]
    fn a_flow_has_so_many_packets_of_one_port() {
        let mut talker = Talker { peers: vec![2, 3], ..Talker::default() };
        let mut rng = SplitMix64::new(1);
        let spoken: Vec<(u32, u16)> = (0..9).map(|_| talker.speak(3, &mut rng)).collect();
        let ports: Vec<u16> = spoken.iter().map(|packet| packet.1).collect();
        assert_eq!(ports, [1024, 1024, 1024, 1025, 1025, 1025, 1026, 1026, 1026]);
        assert!(spoken.chunks(3).all(|flow| flow.iter().all(|packet| packet.0 == flow[0].0)));
        talker.port = u16::MAX;
        assert_eq!(talker.speak(1, &mut rng).1, PORT_FIRST);
    }

    #[test]
    fn an_arrival_is_told_from_its_copies_as_long_as_it_is_known() {
        let mut window = ArrivalWindow::default();
        (0..3).for_each(|number| window.expect(number));
        assert_eq!(
            [1, 1, 0].map(|number| window.arrive(number, 3)),
            [Some(true), Some(false), Some(true)]
        );
        window.expect(WINDOW + 1);
        assert_eq!(window.arrive(WINDOW + 1, WINDOW + 2), Some(true), "its place was another's");
        assert_eq!(window.arrive(1, WINDOW + 2), None);
    }

    /// Without sockets: hosts that know each other, wires, and switches whose tables are empty.
    fn offer_for(offer: &HostLoad, shape: &str, moments: &[u64]) -> (HostLoadFate, bool) {
        let topology = shape.parse::<Shape>().unwrap().lay_out(None, 1).unwrap();
        assert_eq!(offer.check(&topology), Ok(()));
        let controller = "127.0.0.1:1".parse().unwrap();
        let plan = NetworkPlan::new(controller, aldis_wire::Version::V13, topology);
        let mut fabric = Fabric::new(&plan, std::iter::empty()).unwrap();
        let mut load = RunningLoad::new(offer, &plan.topology, 1);
        let (pairs, v6) = load.pairs();
        for &(from, to) in &pairs {
            let answer = fabric.host_mut(to).address;
            let other = fabric.host_mut(from).address;
            let target = if v6 { IpAddr::from(answer.ipv6) } else { answer.ipv4.into() };
            let mut out = Vec::new();
            fabric.host_mut(from).ping(target, 1, Duration::ZERO, &mut out);
            let question = out.remove(0);
            fabric.host_mut(to).frame(&question, &mut out);
            fabric.host_mut(from).frame(&out.remove(0), &mut Vec::new());
            assert_ne!(answer, other);
        }
        let pairs = pairs.into_iter().map(|(from, to)| (from, to, Some(Duration::ZERO))).collect();
        let action = crate::network::ScriptAction::PingAll { pairs: None, v6 };
        let (at, took) = (Duration::ZERO, Duration::ZERO);
        load.found(&Pinged { action, at, pairs, waiting: 0, unsent: 0, took });
        load.begin(Duration::ZERO);
        for &ms in moments {
            let now = Duration::from_millis(ms);
            while load.next_due().is_some_and(|due| due <= now) {
                load.turn(&mut fabric, now);
            }
        }
        let last = Duration::from_millis(*moments.last().unwrap());
        let is_done = load.is_done(last, Duration::ZERO);
        (load.finish(last), is_done)
    }

    fn steps(rates: &[(f64, u64)]) -> Vec<RateStep> {
        let step = |&(rate, ms): &(f64, u64)| RateStep { rate, length: Duration::from_millis(ms) };
        rates.iter().map(step).collect()
    }

    #[test]
    fn every_phase_sends_what_is_due_in_it() {
        let base = HostLoad::new(1.0, Duration::from_secs(1));
        let offer =
            HostLoad { steps: steps(&[(1000.0, 500), (100.0, 1000), (2000.0, 250)]), ..base };
        let every_ms: Vec<u64> = (0..=1750).collect();
        for v6 in [false, true] {
            let (offered, is_done) =
                offer_for(&HostLoad { v6, ..offer.clone() }, "linear,5,2", &every_ms);
            let sent: Vec<u64> = offered.phases.iter().map(|phase| phase.sent).collect();
            for (sent, expected) in sent.iter().zip([500, 100, 500]) {
                assert!((expected - 5..=expected + 5).contains(sent), "{sent} of {expected}");
            }
            assert!(is_done);
            assert!(offered.phases.iter().all(|phase| phase.due == phase.sent));
            assert!(offered.switches.iter().all(|switch| (219..=221).contains(&switch.sent)));
            assert_eq!((offered.pairs, offered.found), (40, 40));
        }
    }

    #[test]
    fn who_does_not_keep_up_says_so() {
        let offer = HostLoad::new(10_000.0, Duration::from_secs(2));
        let (offered, is_done) = offer_for(&offer, "linear,2", &[0, 1000, 2000]);
        let [phase] = &offered.phases[..] else { panic!("{offered:?}") };
        assert!(is_done);
        assert_eq!(phase.due, 20_000);
        assert_eq!(phase.due, phase.sent + phase.missed);
        // What can be made up for is a tenth of a second a time; in its last turn each switch sends
        // fifty.
        assert_eq!(phase.sent, 2 * (500 + 50));
    }

    #[test]
    fn what_is_cut_is_as_long_as_it_was() {
        let base = HostLoad::new(1.0, Duration::from_secs(1));
        let offer = HostLoad { steps: steps(&[(100.0, 500), (100.0, 1000), (100.0, 250)]), ..base };
        let until: Vec<u64> = (0..=800).collect();
        let (offered, is_done) = offer_for(&offer, "linear,2", &until);
        let lengths: Vec<u128> =
            offered.phases.iter().map(|phase| phase.length.as_millis()).collect();
        assert_eq!((lengths, is_done), (vec![500, 300], false), "the third did not begin");
        assert!((29..=31).contains(&offered.phases[1].sent), "{:?}", offered.phases[1]);
    }

    #[test]
    fn skewed_and_now_and_then_are_what_the_spread_says() {
        let length = Duration::from_secs(4);
        let every_ms: Vec<u64> = (0..=4000).collect();
        let skewed = HostLoad { spread: DemandSpread::Zipf(1.0), ..HostLoad::new(5000.0, length) };
        let (offered, _) = offer_for(&skewed, "linear,8", &every_ms);
        let parts = skewed.spread.parts(8, 1);
        for (switch, part) in offered.switches.iter().zip(parts) {
            assert!((switch.sent as f64 - part * 20_000.0).abs() <= 2.0, "{switch:?}");
        }
        let second = Duration::from_secs(1);
        let on_off = OnOff { on: (second, second), off: (second, second) };
        let bursty = HostLoad { on_off: Some(on_off), ..HostLoad::new(1000.0, length) };
        let (offered, _) = offer_for(&bursty, "linear,8", &every_ms);
        assert!((3990..=4010).contains(&offered.phases[0].sent), "{:?}", offered.phases[0].sent);
    }

    #[test]
    fn what_cannot_be_offered_is_a_sentence() {
        let topology = |shape: &str| shape.parse::<Shape>().unwrap().lay_out(None, 1).unwrap();
        let base = || HostLoad::new(1000.0, Duration::from_secs(1));
        for (offer, shape, words) in [
            (base(), "single,1", "load needs two"),
            (HostLoad::new(2e6, Duration::from_secs(1)), "linear,2", "up to 1000000 packets"),
            (HostLoad::new(f64::NAN, Duration::from_secs(1)), "linear,2", "up to 1000000 packets"),
            (HostLoad::new(1.0, Duration::MAX), "linear,2", "a week at most"),
            (HostLoad { steps: vec![], ..base() }, "linear,2", "1 to 100 steps"),
            (HostLoad { peers: 0, ..base() }, "linear,2", "1 to 1000 peers"),
            (HostLoad { frame_len: 60, ..base() }, "linear,2", "has 90 to 1514 bytes"),
            (HostLoad { peers: 1000, ..base() }, "linear,3000", "fewer peers"),
        ] {
            let wrong = offer.check(&topology(shape)).unwrap_err();
            assert!(wrong.contains(words), "{wrong}");
        }
    }

    proptest! {
        /// Whatever a frame claims, nothing that was not sent is counted.
        #[test]
        fn no_stamp_makes_it_panic(number: u64, sent_ns: u64, place: u32, now in 0u64..1000) {
            let offer = HostLoad::new(1.0, Duration::from_secs(1));
            let topology = "linear,2".parse::<Shape>().unwrap().lay_out(None, 1).unwrap();
            let mut load = RunningLoad::new(&offer, &topology, 1);
            load.arrived(Stamp { number, sent_ns, place }, Duration::from_millis(now));
            prop_assert_eq!(load.finish(Duration::ZERO).phases.len(), 0);
        }
    }
}
