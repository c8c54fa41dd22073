//! The search for links: probes out, probes in, and what follows from them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aldis_control::{SwitchPort, Time};
use aldis_wire::{DatapathId, MacAddr};

use super::host_port_history::HostPortHistory;
use super::link::{Ends, Link, LinkState};
use super::lldp::{LldpFrame, LldpProbe, Reach, TagKey};
use super::map;
use super::port::{FAR_MAX, FAST_TURNS, ProbedPort};
use super::relay::{Baseline, SAMPLES_MIN, Window};
use super::schedule::Schedule;
use super::{ProbeRefusal, TopologyConfig, TopologyCounters};

/// Between the first probes of a port, and after one that did not come through.
const FAST: Duration = Duration::from_millis(500);

/// A port without a cable to a switch of ours sends every third probe through switches that are
/// not.
const FAR_TURN: u32 = 3;

/// How long a probe may take: a slower control channel is of no use.
const LIFE: Duration = Duration::from_secs(2);

/// A direction in which so many probes in a row did not come through is gone: at a loss of one in a
/// hundred, one link in a hundred million is given up wrongly, each time.
const LOST_AFTER: u8 = 4;

/// After a port came up or the other switch joined, so long at the least hosts that showed at it do
/// not stand against a link: frames may come through the new cable before the first probe, and did
/// come before the other switch was ours.
const FRESH: Duration = Duration::from_secs(5);

/// How long a host that showed stands against a link; after that one has to prove itself. That the
/// host is elsewhere by now shortens nothing: an attacker that relays probes between two ports
/// could let a host of its own move about.
const SHOWN_FOR: Duration = Duration::from_secs(300);

/// Probes that a link which has to prove itself needs, where there is nothing to compare it with:
/// half a second apart they are twelve seconds. A longer wait does not expose a relay, and until it
/// is over a link carries nothing.
const PATIENCE: u32 = 24;

/// Slow probes leave at multiples of this: each moment at which any leaves wakes the publisher and
/// a worker, and a thousand switches at moments of chance woke them a hundred times a second.
const MOMENTS: Duration = Duration::from_millis(100);

/// The same for the probes of quiet ports, which are most of an idle network's: what they find may
/// come half a second later.
const QUIET_MOMENTS: Duration = Duration::from_millis(500);

/// A quiet port is probed once in so many intervals. A cable that is plugged in brings the port
/// down and up, and then it is probed fast; the slow probes find what no port notices, for example
/// a link through a media converter.
const QUIET_ROUNDS: u32 = 3;

/// How often it is looked at what links are usually like.
const BASELINE_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct KnownSwitch {
    up_at: Time,
    /// When its ports that need no haste are probed next: all at once, in one write.
    round: Time,
    /// The same of its quiet ports ([`ProbedPort::is_quiet`]).
    quiet_round: Time,
    /// Round trips between it and the controller.
    control: Window,
}

/// What was seen at a port that says something against a link; the more it says, the later it
/// comes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum LinkDoubt {
    /// Nothing.
    None,
    /// There was a host once: the link may be hosts that hand probes on, and has to prove that it
    /// is a cable.
    HostPortHistory,
    /// There is a host.
    Host,
}

impl TopologyConfig {
    fn fast(&self) -> Duration {
        FAST.min(self.interval)
    }

    /// How long a link has to prove itself where there is nothing to compare it with. Through a
    /// switch that is not ours each third probe counts.
    pub(super) fn patience(&self, reach: Reach) -> Duration {
        let turns = if reach == Reach::Far { FAR_TURN } else { 1 };
        self.fast() * PATIENCE * turns
    }
}

/// All ports and links.
#[derive(Debug)]
pub struct Discovery {
    config: TopologyConfig,
    key: TagKey,
    switches: BTreeMap<DatapathId, KnownSwitch>,
    /// Those that are up.
    ports: BTreeMap<SwitchPort, ProbedPort>,
    past: HostPortHistory,
    links: BTreeMap<Ends, Link>,
    schedule: Schedule,
    sequence: u64,
    baseline: Baseline,
    baseline_at: Time,
    counters: TopologyCounters,
    /// Switches of which something changed that others can see.
    touched: BTreeSet<DatapathId>,
}

impl Discovery {
    /// Nothing is known yet.
    pub fn new(config: TopologyConfig, key: TagKey) -> Discovery {
        Discovery {
            config,
            key,
            switches: BTreeMap::new(),
            ports: BTreeMap::new(),
            past: HostPortHistory::default(),
            links: BTreeMap::new(),
            schedule: Schedule::new(config.probes_per_s_max),
            sequence: 0,
            baseline: Baseline::default(),
            baseline_at: Time::START,
            counters: TopologyCounters::default(),
            touched: BTreeSet::new(),
        }
    }

    /// What was done since the start.
    pub fn counters(&self) -> &TopologyCounters {
        &self.counters
    }

    /// All links, in the order of their ends.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.links.values()
    }

    /// The link between two ports.
    pub fn link(&self, ends: Ends) -> Option<&Link> {
        self.links.get(&ends)
    }

    /// Whether a port has a cable to a switch of ours: hosts are not behind it. A link that has to
    /// prove itself counts.
    pub fn is_link(&self, port: SwitchPort) -> bool {
        self.ports.get(&port).is_some_and(|port| port.link.is_some())
    }

    /// Whether it is known what a port that is up leads to: a link of ours that begins there would
    /// have been found.
    pub fn is_known(&self, port: SwitchPort) -> bool {
        self.ports.get(&port).is_some_and(|port| self.leads_known(port))
    }

    /// A cable that worked one way only up to now counts for nothing: where floods left it out and
    /// there is no other way yet, what was flooded would be lost.
    fn leads_known(&self, port: &ProbedPort) -> bool {
        let link = port.link.and_then(|ends| self.links.get(&ends));
        port.is_searched() || link.is_some_and(Link::is_both_ways)
    }

    /// The ports of a switch that are up, as others see them, by number. Their speed is not known
    /// here: 0.
    pub(super) fn ports_of(&self, dpid: DatapathId) -> impl Iterator<Item = map::MapPort> {
        self.ports.range(SwitchPort::all_of(dpid)).map(|(at, port)| map::MapPort {
            number: at.port,
            mac: port.mac,
            speed_kbps: 0,
            known: self.leads_known(port),
            host: port.shown.is_some(),
            link: port.link.and_then(|ends| self.peer(ends, *at)),
            far: port.far.iter().filter_map(|&ends| self.peer(ends, *at)).collect(),
        })
    }

    /// The switches of which something changed since this was last asked.
    pub(super) fn take_touched(&mut self) -> BTreeSet<DatapathId> {
        core::mem::take(&mut self.touched)
    }

    fn peer(&self, ends: Ends, from: SwitchPort) -> Option<map::LinkPeer> {
        self.links.get(&ends).map(|link| link.peer_from(from))
    }

    /// A switch joined. Its ports come by [`Discovery::port_up`].
    pub fn switch_up(&mut self, now: Time, dpid: DatapathId) {
        let (round, quiet_round) = (now, now);
        let switch = KnownSwitch { up_at: now, round, quiet_round, control: Window::EMPTY };
        self.switches.insert(dpid, switch);
        self.touched.insert(dpid);
    }

    /// A switch is gone, and with it all its ports and what was known of them: what connects under
    /// its name next may be another one, of another network.
    pub fn switch_down(&mut self, now: Time, dpid: DatapathId) {
        self.switches.remove(&dpid);
        self.touched.insert(dpid);
        let ports: Vec<_> =
            self.ports.range(SwitchPort::all_of(dpid)).map(|(&port, _)| port).collect();
        for port in ports {
            self.port_down(now, port);
        }
        self.past.forget_switch(dpid);
    }

    /// A port with this address of a switch that joined came up: it is probed at once. One that is
    /// up already may have got another address, and is left as it is but for that.
    pub fn port_up(&mut self, now: Time, at: SwitchPort, mac: MacAddr) {
        match self.ports.get_mut(&at) {
            Some(port) if port.mac == mac => return,
            Some(port) => port.mac = mac,
            None if self.switches.contains_key(&at.dpid) => {
                let history = self.past.take(now, at, mac);
                self.ports.insert(at, ProbedPort::new(mac, now, history));
                self.schedule.add(now, at);
            }
            None => return,
        }
        self.touched.insert(at.dpid);
    }

    /// A port went down or away.
    pub fn port_down(&mut self, now: Time, at: SwitchPort) {
        let Some(port) = self.ports.remove(&at) else { return };
        self.schedule.remove(port.due, at);
        self.touched.insert(at.dpid);
        let is_believed = |ends: &Ends| self.links.get(ends).is_some_and(|link| !link.must_prove);
        // What showed at a port that led to other switches may have come from there.
        let led_on = port.had_any() || port.link.iter().chain(&port.far).any(is_believed);
        if let Some(then) = port.shown.map(|_| now).or(port.history).filter(|_| !led_on) {
            self.past.note(now, (at, port.mac), then);
        }
        for ends in port.link.into_iter().chain(port.far) {
            self.lose(now, ends);
        }
    }

    /// A host was seen at a port, which is no link between switches of ours.
    pub fn host_shown(&mut self, now: Time, at: SwitchPort) {
        if let Some(port) = self.ports.get_mut(&at).filter(|port| port.link.is_none())
            && port.shown.replace(now).is_none()
        {
            self.touched.insert(at.dpid);
        }
    }

    /// What a message and its answer took, to a switch and back.
    pub fn control_rtt(&mut self, dpid: DatapathId, took: Duration) {
        if let Some(switch) = self.switches.get_mut(&dpid) {
            switch.control.add(took);
        }
    }

    /// When [`Discovery::probe`] has something to send.
    pub fn next(&self) -> Option<Time> {
        self.schedule.next()
    }

    /// Writes the next probe that is due, and says which port it leaves by. To be called until
    /// there is none.
    pub fn probe(&mut self, now: Time, frame: &mut Vec<u8>) -> Option<SwitchPort> {
        let from = self.schedule.pop(now)?;
        let reach = self.reach(from);
        self.expect(now, from, reach);
        self.sequence += 1;
        let (sequence, nonce) = (self.sequence, self.key.nonce(self.sequence));
        let probe = LldpProbe { from, reach, sequence, nonce };
        let due = self.due(now, from, nonce[0]);
        let port = self.ports.get_mut(&from).expect("only ports that are up have a probe due");
        if port.send(now, &probe) {
            self.touched.insert(from.dpid);
        }
        port.due = due;
        probe.write(&self.key, port.mac, frame);
        self.schedule.add(port.due, from);
        self.counters.sent += 1;
        Some(from)
    }

    /// How many probes there were so far: the number of the last one.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The last probe of a port left no sooner than now: what it takes is counted from here.
    pub(super) fn left(&mut self, now: Time, from: SwitchPort, sequence: u64) {
        if let Some(port) = self.ports.get_mut(&from) {
            port.left(now, sequence);
        }
    }

    /// A frame came in that says to be a probe, and was read with the key.
    pub(super) fn hear(&mut self, now: Time, at: SwitchPort, read: LldpFrame) {
        let believed = match read {
            LldpFrame::Foreign => {
                self.counters.foreign += 1;
                return;
            }
            LldpFrame::Untrue(Some(said)) if self.was_sent(&said) => Err(ProbeRefusal::Altered),
            LldpFrame::Untrue(_) => Err(ProbeRefusal::Forged),
            LldpFrame::Ours(probe) => self.admit(now, at, &probe).map(|sent| (probe, sent)),
        };
        match believed {
            Ok((probe, sent)) => {
                self.counters.heard += 1;
                self.confirm(now, at, &probe, sent);
            }
            Err(why) => self.counters.refuse(why),
        }
    }

    fn was_sent(&mut self, probe: &LldpProbe) -> bool {
        self.ports.get_mut(&probe.from).is_some_and(|port| port.sent(probe).is_some())
    }

    /// Whether a probe of ours may have come in at `at` now: when it was sent.
    fn admit(
        &mut self,
        now: Time,
        at: SwitchPort,
        probe: &LldpProbe,
    ) -> Result<Time, ProbeRefusal> {
        let ends = Ends::new(probe.from, at);
        let is_known = self.links.get(&ends).is_some_and(|link| link.reach == probe.reach);
        let to = self.ports.get(&at).filter(|_| at != probe.from);
        let to_up_at = to.map(|port| port.up_at).ok_or(ProbeRefusal::WrongPort)?;
        let from = self.ports.get_mut(&probe.from).ok_or(ProbeRefusal::Late)?;
        let sent = from.sent(probe).ok_or(ProbeRefusal::Replayed)?;
        if !sent.arrive(at, is_known) {
            return Err(ProbeRefusal::Replayed);
        }
        let sent_at = sent.at;
        if now.since(sent_at) > LIFE || sent_at < to_up_at {
            return Err(ProbeRefusal::Late);
        }
        if is_known {
            return Ok(sent_at);
        }
        if !ends.ports().into_iter().all(|end| self.is_free(end, probe.reach)) {
            return Err(ProbeRefusal::WrongPort);
        }
        match self.doubt(now, ends, probe.reach) {
            LinkDoubt::Host => Err(ProbeRefusal::HostPort),
            LinkDoubt::HostPortHistory | LinkDoubt::None => Ok(sent_at),
        }
    }

    /// Whether a link may begin at a port that has none of the kind.
    fn is_free(&self, at: SwitchPort, reach: Reach) -> bool {
        let far_max = if reach == Reach::Far { FAR_MAX } else { usize::MAX };
        self.ports.get(&at).is_some_and(|port| port.link.is_none() && port.far.len() < far_max)
    }

    /// What stands against a link that was not there: the worse of what was seen at its ends.
    fn doubt(&self, now: Time, ends: Ends, reach: Reach) -> LinkDoubt {
        if reach == Reach::Far && self.config.far_with_hosts {
            return LinkDoubt::None;
        }
        let [one, other] = ends.ports().map(|end| self.doubt_at(now, ends, end));
        one.max(other)
    }

    /// What was seen at one end. Where the link was there before, what showed meanwhile may have
    /// come through it.
    fn doubt_at(&self, now: Time, ends: Ends, at: SwitchPort) -> LinkDoubt {
        let Some(port) = self.ports.get(&at).filter(|port| !port.had(ends)) else {
            return LinkDoubt::None;
        };
        match port.shown.filter(|_| !self.is_excused(now, port, ends.across(at))) {
            Some(shown) if now.since(shown) < SHOWN_FOR => LinkDoubt::Host,
            None if port.history.is_none() => LinkDoubt::None,
            _ => LinkDoubt::HostPortHistory,
        }
    }

    /// Whether what showed at a port may have come from `other`, before the first probes could:
    /// these wait where there are many ports.
    fn is_excused(&self, now: Time, port: &ProbedPort, other: SwitchPort) -> bool {
        let is_fresh = |since: Time| now.since(since) < FRESH;
        let joined = self.switches.get(&other.dpid).map_or(Time::START, |switch| switch.up_at);
        let joins = |other: &ProbedPort| !other.settled && other.up_at == joined;
        let other_joined = is_fresh(joined) || self.ports.get(&other).is_some_and(joins);
        let came_up = is_fresh(port.up_at) || !port.settled;
        other_joined || came_up && port.history.is_none()
    }

    /// A probe that can be believed came in.
    fn confirm(&mut self, now: Time, at: SwitchPort, probe: &LldpProbe, sent: Time) {
        let ends = Ends::new(probe.from, at);
        let is_new = self.links.get(&ends).is_none_or(|link| link.reach != probe.reach);
        if is_new {
            self.join(now, ends, probe.reach);
        }
        let latency = self.latency(probe.from, at, now.since(sent));
        self.look_around(now);
        let Some(link) = self.links.get_mut(&ends) else { return };
        if link.heard(probe.from, now, latency) {
            self.touched.extend(ends.ports().map(|port| port.dpid));
        }
        let needs_answer = !link.is_both_ways();
        self.judge(now, ends, is_new);
        if needs_answer {
            self.hasten(now, at);
        }
    }

    /// A link that was not known.
    fn join(&mut self, now: Time, ends: Ends, reach: Reach) {
        let must_prove = self.doubt(now, ends, reach) != LinkDoubt::None;
        if reach == Reach::Direct {
            let far = ends.ports().into_iter().filter_map(|port| self.ports.get(&port));
            let far: Vec<Ends> = far.flat_map(|port| port.far.iter().copied()).collect();
            far.into_iter().for_each(|ends| self.lose(now, ends));
        }
        for end in ends.ports() {
            let Some(port) = self.ports.get_mut(&end) else { continue };
            match reach {
                Reach::Direct => (port.link, port.shown) = (Some(ends), None),
                Reach::Far => port.far.push(ends),
            }
        }
        self.links.insert(ends, Link::new(ends, reach, must_prove, now));
    }

    /// A link is gone. What its ports lead to now is not known: it is looked for at once.
    fn lose(&mut self, now: Time, ends: Ends) {
        let Some(link) = self.links.remove(&ends) else { return };
        for end in ends.ports() {
            self.touched.insert(end.dpid);
            let Some(port) = self.ports.get_mut(&end) else { continue };
            port.lose(ends, !link.must_prove);
            self.hasten(now, end);
        }
    }

    /// What a probe took on the link itself, as far as that can be known.
    fn latency(&self, from: SwitchPort, to: SwitchPort, took: Duration) -> Option<Duration> {
        let control = |port: SwitchPort| self.switches.get(&port.dpid)?.control.quartile();
        Some(took.saturating_sub((control(from)? + control(to)?) / 2))
    }

    /// Looks what links are usually like, now and then.
    fn look_around(&mut self, now: Time) {
        if now < self.baseline_at {
            return;
        }
        self.baseline_at = now + BASELINE_EVERY;
        let believed = self.links.values().filter(|link| {
            link.state == LinkState::Up && link.reach == Reach::Direct && !link.slow
        });
        let halves = believed.flat_map(|link| link.halves.iter().flatten());
        let ready = halves.filter(|half| half.window.len() >= SAMPLES_MIN);
        self.baseline = Baseline::of(ready.filter_map(|half| half.window.quartile()).collect());
    }

    /// What state a link is in after a probe came or did not come.
    fn judge(&mut self, now: Time, ends: Ends, is_new: bool) {
        let Some(link) = self.links.get_mut(&ends) else { return };
        let slow = |half: &super::link::Half| self.baseline.stands_out(&half.window);
        let slow: Vec<_> = link.halves.iter().flatten().map(slow).collect();
        let stands_out = slow.contains(&Some(true));
        let is_slow = link.reach == Reach::Direct && stands_out;
        let is_known = slow.iter().all(Option::is_some);
        let probed = link.halves.iter().flatten().map(|half| half.window.len()).min();
        // Where there is nothing to compare with, or no round trip known, all that can be asked for
        // is patience.
        let had_time = now.since(link.since) >= self.config.patience(link.reach);
        let compared = is_known && probed.is_some_and(|probed| probed >= SAMPLES_MIN);
        if link.is_both_ways() && !stands_out && (compared || had_time) {
            link.must_prove = false;
        }
        let state = match link.is_both_ways() {
            true if link.must_prove => LinkState::Unproven,
            true => LinkState::Up,
            false => LinkState::OneWay,
        };
        if is_new || state != link.state {
            (link.state, link.since) = (state, now);
            self.touched.extend(ends.ports().map(|port| port.dpid));
        }
        if is_slow != link.slow && (is_slow || is_known) {
            link.slow = is_slow;
            self.counters.slow += u64::from(is_slow);
            self.touched.extend(ends.ports().map(|port| port.dpid));
        }
    }

    /// A probe leaves: directions in which too many before it did not come through are given up.
    fn expect(&mut self, now: Time, from: SwitchPort, reach: Reach) {
        let Some(port) = self.ports.get(&from) else { return };
        let links: Vec<Ends> = match reach {
            Reach::Direct => port.link.into_iter().collect(),
            Reach::Far => port.far.clone(),
        };
        for ends in links {
            let Some(link) = self.links.get_mut(&ends) else { continue };
            let Some(half) = link.half_mut(from) else { continue };
            if half.unheard < LOST_AFTER {
                half.unheard += 1;
                continue;
            }
            *link.half_mut(from) = None;
            self.touched.extend(ends.ports().map(|port| port.dpid));
            if link.halves.iter().all(Option::is_none) {
                self.lose(now, ends);
            } else if link.state != LinkState::OneWay {
                (link.state, link.since) = (LinkState::OneWay, now);
            }
        }
    }

    fn reach(&self, from: SwitchPort) -> Reach {
        let is_far =
            |port: &ProbedPort| port.link.is_none() && port.turns % FAR_TURN == FAR_TURN - 1;
        if self.ports.get(&from).is_some_and(is_far) { Reach::Far } else { Reach::Direct }
    }

    /// When the next probe leaves the port, after one that leaves now.
    fn due(&mut self, now: Time, from: SwitchPort, random: u8) -> Time {
        let switch = self.switches.get_mut(&from.dpid);
        let (Some(port), Some(switch)) = (self.ports.get(&from), switch) else {
            return now + self.config.interval;
        };
        let waits = |ends: &Ends| {
            let Some(link) = self.links.get(ends) else { return false };
            let unheard = link.halves.iter().flatten().any(|half| half.unheard >= 2);
            unheard || link.state == LinkState::Unproven
        };
        if port.turns + 1 < FAST_TURNS || port.link.iter().chain(&port.far).any(waits) {
            return now + self.config.fast();
        }
        // A port whose time is another than that of its switch falls in with the others once.
        let (round, interval, moments) = match port.is_quiet() {
            true => (&mut switch.quiet_round, self.config.interval * QUIET_ROUNDS, QUIET_MOMENTS),
            false => (&mut switch.round, self.config.interval, MOMENTS),
        };
        let (soon, late) = (now + interval * 2 / 5, now + interval * 6 / 5 + moments);
        if *round < soon || *round > late {
            // Four to six fifths, by a byte of the nonce.
            let delay = interval * (4 * 255 + 2 * u32::from(random)) / (5 * 255);
            *round = (now + delay).rounded_up(moments);
        }
        *round
    }

    /// The other end of a link was heard of and not this one: it is probed now, if it was not just
    /// a moment ago.
    fn hasten(&mut self, now: Time, at: SwitchPort) {
        let waits = |port: &&mut ProbedPort| port.due > now + FAST;
        let Some(port) = self.ports.get_mut(&at).filter(waits) else { return };
        self.schedule.remove(port.due, at);
        port.due = now;
        self.schedule.add(now, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A switch can name four billion ports.
    #[test]
    fn ports_that_are_gone_are_forgotten_but_for_some_that_showed_hosts() {
        let mut discovery = Discovery::new(TopologyConfig::default(), TagKey::new([1; 32]));
        discovery.switch_up(Time::START, DatapathId(1));
        for number in 1..1000 {
            let at = SwitchPort::new(1, number);
            discovery.port_up(Time::START, at, MacAddr::from_u64(1));
            if number % 2 == 0 {
                discovery.host_shown(Time::START, at);
            }
            discovery.port_down(Time::START, at);
        }
        assert_eq!((discovery.ports.len(), discovery.past.len()), (0, 499));
        assert_eq!(discovery.next(), None);
    }
}
