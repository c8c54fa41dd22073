//! What is asked of a network: pings, copies of a broadcast, and how long a fault keeps two hosts
//! apart.

use super::fabric::{Fabric, STORM};
use super::host::Heard;
use super::script::ScriptAction;
use crate::load::rng::SplitMix64;
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

/// Most pings of one step that are not answered yet.
const AT_ONCE: usize = 32;
/// The time between two pings of a watch.
const WATCH_EVERY: Duration = Duration::from_millis(10);
/// Most pings of a watch that are remembered: a minute of them.
const PROBES_MAX: usize = 6_000;
/// How long no copy of a broadcast may have come for it to be over.
const BROADCAST_QUIET: Duration = Duration::from_millis(500);
/// Most frames that a storm sends before others have their turn; what it owes beyond that it does
/// not send.
const STORM_BURST: u64 = 500;
/// How long no ping may have been sent or answered for those that are open to be waited for in
/// vain, most likely.
const LULL: Duration = Duration::from_millis(250);
/// How often a storm sends.
const STORM_EVERY: Duration = Duration::from_millis(1);

/// What became of a ping, a pingall or their like.
#[derive(Clone, PartialEq, Debug)]
pub struct Pinged {
    /// What was asked.
    pub action: ScriptAction,
    /// When, counted from when the network was ready: which line of the script it was, where
    /// several are alike.
    pub at: Duration,
    /// Which host pinged which, and how long the answer took; `None` where there was none. Those of
    /// which it was not known when the run was told to stop are not among them.
    pub pairs: Vec<(u32, u32, Option<Duration>)>,
    /// Pings whose answer was still waited for then.
    pub waiting: usize,
    /// Pairs that had not been asked to ping yet.
    pub unsent: usize,
    /// How long all of it took.
    pub took: Duration,
}

impl Pinged {
    /// How many were answered.
    pub fn received(&self) -> usize {
        self.pairs.iter().filter(|(.., answer)| answer.is_some()).count()
    }

    /// How many were sent.
    pub fn sent(&self) -> usize {
        self.pairs.len() + self.waiting
    }
}

/// Copies of one broadcast.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broadcast {
    /// The host that sent it.
    pub from: u32,
    /// When it was asked for, counted from when the network was ready.
    pub at: Duration,
    /// Copies that each host saw, h1 first; the sender itself should see none.
    pub copies: Vec<u32>,
}

impl Broadcast {
    /// How many other hosts there are, and how many of them saw it exactly once.
    pub fn exactly_once(&self) -> (usize, usize) {
        let others = self.copies.len() - 1;
        (others, self.others().filter(|&copies| copies == 1).count())
    }

    /// The most copies that one of the other hosts saw.
    pub fn copies_max(&self) -> u32 {
        self.others().max().unwrap_or(0)
    }

    /// How many of the other hosts saw none.
    pub fn missed(&self) -> usize {
        self.others().filter(|&copies| copies == 0).count()
    }

    fn others(&self) -> impl Iterator<Item = u32> {
        let own = self.from as usize - 1;
        self.copies.iter().enumerate().filter(move |&(index, _)| index != own).map(|(_, &n)| n)
    }
}

/// How long two hosts were apart after a fault.
#[derive(Clone, PartialEq, Debug)]
pub struct Recovery {
    /// The pairs of hosts that watch each other.
    pub from: u32,
    /// The other.
    pub to: u32,
    /// The fault.
    pub fault: ScriptAction,
    /// How long after it the first ping that was sent behind it had its answer; `None` where none
    /// had.
    pub after: Option<Duration>,
    /// Pings sent behind the fault that had no answer before.
    pub lost: u64,
}

/// Something that was found out.
#[derive(Clone, PartialEq, Debug)]
pub enum CheckFinding {
    /// Of pings.
    Pinged(Pinged),
    /// Of a broadcast.
    Broadcast(Broadcast),
    /// Of a watch.
    Recovery(Recovery),
}

/// All that is being asked.
pub(super) struct Checks {
    seed: u64,
    patience: Duration,
    /// The number of the last ping or broadcast.
    last: u32,
    open: HashMap<u32, SentPing>,
    /// When each ping is given up; all are given as long.
    ends: VecDeque<(Duration, u32)>,
    jobs: Vec<Job>,
    /// Pings that were asked for, and those of them that were answered.
    pub(super) pings: (u64, u64),
    /// When one of their pings was last sent or answered.
    moved: Duration,
    /// What became of the pings with which hosts find each other.
    acquainted: Option<Pinged>,
    watches: Vec<PingWatch>,
    broadcasts: Vec<BroadcastSpread>,
    storms: Vec<Storm>,
    /// Frames that storms sent.
    pub(super) storm_frames: u64,
    findings: Vec<CheckFinding>,
}

struct SentPing {
    owner: PingOwner,
    from: u32,
    at: Duration,
}

#[derive(Clone, Copy)]
enum PingOwner {
    /// The so-manieth pair of the job with this number.
    Job(u32, usize),
    /// The watch with this index.
    Watch(usize),
}

struct Job {
    number: u32,
    pinged: Pinged,
    /// Not asked for: hosts find each other.
    silent: bool,
    v6: bool,
    begun: Duration,
    next: usize,
    open: usize,
}

struct PingWatch {
    from: u32,
    to: u32,
    next: Duration,
    /// When each was sent, and whether it was answered; the oldest first.
    probes: VecDeque<(u32, Duration, bool)>,
    faults: Vec<(ScriptAction, Duration)>,
}

struct BroadcastSpread {
    number: u32,
    sent: Duration,
    last: Duration,
    broadcast: Broadcast,
}

struct Storm {
    host: u32,
    rate: u32,
    begun: Duration,
    sent: u64,
    next: Duration,
}

impl Checks {
    pub(super) fn new(seed: u64, patience: Duration) -> Checks {
        Checks {
            seed,
            patience,
            last: STORM,
            open: HashMap::new(),
            ends: VecDeque::new(),
            jobs: Vec::new(),
            pings: (0, 0),
            moved: Duration::ZERO,
            acquainted: None,
            watches: Vec::new(),
            broadcasts: Vec::new(),
            storms: Vec::new(),
            storm_frames: 0,
            findings: Vec::new(),
        }
    }

    fn number(&mut self) -> u32 {
        self.last = self.last.checked_add(1).unwrap_or(STORM + 1);
        self.last
    }

    /// What was found out since the last call.
    pub(super) fn take_findings(&mut self) -> Vec<CheckFinding> {
        std::mem::take(&mut self.findings)
    }

    /// Whether everything that was asked has its answer.
    pub(super) fn is_done(&self) -> bool {
        let recovered = self.watches.iter().all(|watch| watch.faults.is_empty());
        self.jobs.is_empty() && self.broadcasts.is_empty() && recovered
    }

    /// Whether pings go and come, and are not only waited for.
    pub(super) fn are_under_way(&self, now: Duration) -> bool {
        !self.jobs.is_empty() && now.saturating_sub(self.moved) < LULL
    }

    /// Begins to ping, as a script asks for at `at`.
    pub(super) fn ping(
        &mut self,
        (action, at): (ScriptAction, Duration),
        hosts: u32,
        now: Duration,
    ) {
        let (pairs, v6) = match action {
            ScriptAction::Ping { from, to, v6 } => (vec![(from, to)], v6),
            ScriptAction::PingAll { pairs, v6 } => (self.pairs(hosts, pairs), v6),
            _ => return,
        };
        self.begin((action, at, v6), pairs, false, now);
    }

    /// Has hosts find each other; of one pair at least.
    pub(super) fn acquaint(&mut self, pairs: Vec<(u32, u32)>, v6: bool, now: Duration) {
        let action = ScriptAction::PingAll { pairs: Some(pairs.len() as u32), v6 };
        self.begin((action, Duration::ZERO, v6), pairs, true, now);
    }

    /// What became of that, once all have.
    pub(super) fn take_acquainted(&mut self) -> Option<Pinged> {
        let acquainted = self.acquainted.take()?;
        self.pings = (0, 0);
        Some(acquainted)
    }

    fn begin(
        &mut self,
        (action, at, v6): (ScriptAction, Duration, bool),
        pairs: Vec<(u32, u32)>,
        silent: bool,
        now: Duration,
    ) {
        self.pings.0 += pairs.len() as u64;
        let pairs = pairs.into_iter().map(|(from, to)| (from, to, None)).collect();
        let pinged = Pinged { action, at, pairs, waiting: 0, unsent: 0, took: Duration::ZERO };
        let number = self.number();
        self.moved = now;
        self.jobs.push(Job { number, pinged, silent, v6, begun: now, next: 0, open: 0 });
    }

    /// All pairs of hosts, or so many of chance.
    fn pairs(&self, hosts: u32, some: Option<u32>) -> Vec<(u32, u32)> {
        let all = u64::from(hosts) * u64::from(hosts - 1);
        let pair = |index: u64| {
            let (from, to) = (index / u64::from(hosts - 1), index % u64::from(hosts - 1));
            (from as u32 + 1, to as u32 + 1 + u32::from(to >= from))
        };
        match some {
            Some(some) if u64::from(some) < all => {
                let mut rng = SplitMix64::new(self.seed);
                (0..some).map(|_| pair(rng.below(all as usize) as u64)).collect()
            }
            _ => (0..all).map(pair).collect(),
        }
    }

    /// Begins to watch.
    pub(super) fn watch(&mut self, from: u32, to: u32, now: Duration) {
        let (probes, faults) = (VecDeque::new(), Vec::new());
        self.watches.push(PingWatch { from, to, next: now, probes, faults });
    }

    /// A fault happens now.
    pub(super) fn fault(&mut self, fault: ScriptAction, now: Duration) {
        self.watches.iter_mut().for_each(|watch| watch.faults.push((fault, now)));
    }

    /// Sends a broadcast, as a script asks for at `at`.
    pub(super) fn broadcast(
        &mut self,
        (from, at): (u32, Duration),
        fabric: &mut Fabric<'_>,
        now: Duration,
    ) {
        let number = self.number();
        let broadcast = Broadcast { from, at, copies: vec![0; fabric.hosts() as usize] };
        self.broadcasts.push(BroadcastSpread { number, sent: now, last: now, broadcast });
        fabric.with_host(from, now, |host, out| out.push(host.address.broadcast(number)));
    }

    /// Begins a storm, or gives one another rate.
    pub(super) fn storm(&mut self, host: u32, rate: u32, now: Duration) {
        self.calm(host);
        self.storms.push(Storm { host, rate, begun: now, sent: 0, next: now });
    }

    /// Ends it.
    pub(super) fn calm(&mut self, host: u32) {
        self.storms.retain(|storm| storm.host != host);
    }

    /// When there is something to do again; `None` where only a frame can change anything.
    pub(super) fn next_due(&self) -> Option<Duration> {
        let watches = self.watches.iter().map(|watch| watch.next);
        let storms = self.storms.iter().map(|storm| storm.next);
        let ends = self.ends.front().map(|(end, _)| *end);
        watches.chain(storms).chain(ends).min()
    }

    /// Sends what is due, and gives up what took too long.
    pub(super) fn turn(&mut self, fabric: &mut Fabric<'_>, now: Duration) {
        for index in 0..self.jobs.len() {
            self.ping_more(index, fabric, now);
        }
        for index in 0..self.watches.len() {
            if self.watches[index].next <= now {
                self.probe(index, fabric, now);
            }
        }
        for storm in self.storms.iter_mut().filter(|storm| storm.next <= now) {
            self.storm_frames += storm.blow(fabric, now);
        }
        while let Some((_, number)) = self.ends.pop_front_if(|(end, _)| *end <= now) {
            if let Some(sent) = self.open.remove(&number) {
                fabric.host_mut(sent.from).give_up(number);
                self.settle(&sent, None, now);
            }
        }
        self.settle_broadcasts(now);
    }

    /// Has hosts ask again for addresses that they were not told. Now and then is enough.
    pub(super) fn ask_again(&mut self, fabric: &mut Fabric<'_>, now: Duration) {
        for sent in self.open.values() {
            fabric.with_host(sent.from, now, |host, out| host.ask_again(now, out));
        }
        self.give_up_watches(now);
    }

    fn ping_more(&mut self, index: usize, fabric: &mut Fabric<'_>, now: Duration) {
        loop {
            let job = &mut self.jobs[index];
            let at = job.next;
            if job.open >= AT_ONCE || at == job.pinged.pairs.len() {
                return;
            }
            job.next += 1;
            job.open += 1;
            self.moved = now;
            let ((from, to, _), v6, number) = (job.pinged.pairs[at], job.v6, job.number);
            self.send(PingOwner::Job(number, at), (from, to), v6, fabric, now);
        }
    }

    fn probe(&mut self, index: usize, fabric: &mut Fabric<'_>, now: Duration) {
        let watch = &mut self.watches[index];
        watch.next = now + WATCH_EVERY;
        let pair = (watch.from, watch.to);
        let number = self.send(PingOwner::Watch(index), pair, false, fabric, now);
        let probes = &mut self.watches[index].probes;
        if probes.len() == PROBES_MAX {
            probes.pop_front();
        }
        probes.push_back((number, now, false));
    }

    fn send(
        &mut self,
        owner: PingOwner,
        (from, to): (u32, u32),
        v6: bool,
        fabric: &mut Fabric<'_>,
        now: Duration,
    ) -> u32 {
        let number = self.number();
        let target = fabric.host_mut(to).address;
        let target = if v6 { IpAddr::from(target.ipv6) } else { target.ipv4.into() };
        self.open.insert(number, SentPing { owner, from, at: now });
        self.ends.push_back((now + self.patience, number));
        fabric.with_host(from, now, |host, out| host.ping(target, number, now, out));
        number
    }

    /// A host heard something.
    pub(super) fn heard(&mut self, host: u32, heard: Heard, now: Duration) {
        match heard {
            Heard::Pong(number) => {
                // Another host's pings are not its own.
                if self.open.get(&number).is_some_and(|sent| sent.from == host)
                    && let Some(sent) = self.open.remove(&number)
                {
                    self.answered(number, &sent, now);
                }
            }
            Heard::Broadcast(number) => {
                let spread = self.broadcasts.iter_mut().find(|spread| spread.number == number);
                if let Some(spread) = spread {
                    spread.last = now;
                    let copies = &mut spread.broadcast.copies[host as usize - 1];
                    *copies = copies.saturating_add(1);
                }
            }
            Heard::Nothing | Heard::Spoilt | Heard::Load(_) => {}
        }
    }

    fn answered(&mut self, number: u32, sent: &SentPing, now: Duration) {
        if let PingOwner::Watch(index) = sent.owner {
            let Checks { watches, findings, .. } = self;
            watches[index].answered(number, sent.at, now, findings);
        }
        self.settle(sent, Some(now - sent.at), now);
    }

    /// Enters what became of a job's ping.
    fn settle(&mut self, sent: &SentPing, answer: Option<Duration>, now: Duration) {
        let PingOwner::Job(number, at) = sent.owner else { return };
        let Some(index) = self.jobs.iter().position(|job| job.number == number) else { return };
        if answer.is_some() {
            self.pings.1 += 1;
            self.moved = now;
        }
        let job = &mut self.jobs[index];
        job.open -= 1;
        job.pinged.pairs[at].2 = answer;
        if job.open == 0 && job.next == job.pinged.pairs.len() {
            let mut job = self.jobs.remove(index);
            job.pinged.took = now - job.begun;
            match job.silent {
                true => self.acquainted = Some(job.pinged),
                false => self.findings.push(CheckFinding::Pinged(job.pinged)),
            }
        }
    }

    fn settle_broadcasts(&mut self, now: Duration) {
        let patience = self.patience;
        let is_over = |spread: &mut BroadcastSpread| {
            let quiet = now - spread.last >= BROADCAST_QUIET && spread.broadcast.missed() == 0;
            quiet || now - spread.sent >= patience
        };
        let over = self.broadcasts.extract_if(.., is_over);
        self.findings.extend(over.map(|spread| CheckFinding::Broadcast(spread.broadcast)));
    }

    /// Reports faults after which nothing came again for as long as anything is waited for.
    fn give_up_watches(&mut self, now: Duration) {
        let patience = self.patience;
        for watch in &mut self.watches {
            let (from, to) = (watch.from, watch.to);
            for (fault, at) in watch.faults.extract_if(.., |(_, at)| now - *at >= patience) {
                let sent = watch.probes.iter().filter(|(_, sent, _)| *sent >= at).count() as u64;
                let recovery = Recovery { from, to, fault, after: None, lost: sent };
                self.findings.push(CheckFinding::Recovery(recovery));
            }
        }
    }

    /// What is asked and not over: pings, broadcasts, and faults that are watched.
    pub(super) fn open(&self) -> [usize; 3] {
        let pings = |job: &Job| job.open + job.pinged.pairs.len() - job.next;
        [
            self.jobs.iter().map(pings).sum(),
            self.broadcasts.len(),
            self.watches.iter().map(|watch| watch.faults.len()).sum(),
        ]
    }

    /// The end of the run: of what is still open nothing is known.
    pub(super) fn finish(&mut self, now: Duration) -> Vec<CheckFinding> {
        for mut job in std::mem::take(&mut self.jobs).into_iter().filter(|job| !job.silent) {
            self.cut_short(&mut job);
            job.pinged.took = now - job.begun;
            self.findings.push(CheckFinding::Pinged(job.pinged));
        }
        let broadcasts = std::mem::take(&mut self.broadcasts).into_iter();
        self.findings.extend(broadcasts.map(|spread| CheckFinding::Broadcast(spread.broadcast)));
        self.patience = Duration::ZERO;
        self.give_up_watches(now);
        self.take_findings()
    }

    /// Leaves of a job's pairs those that are settled, and counts the others.
    fn cut_short(&self, job: &mut Job) {
        let owners = self.open.values().map(|sent| sent.owner);
        let waiting: HashSet<usize> = owners
            .filter_map(|owner| match owner {
                PingOwner::Job(number, at) if number == job.number => Some(at),
                PingOwner::Job(..) | PingOwner::Watch(_) => None,
            })
            .collect();
        let Pinged { pairs, waiting: still, unsent, .. } = &mut job.pinged;
        (*still, *unsent) = (waiting.len(), pairs.len() - job.next);
        pairs.truncate(job.next);
        let mut places = 0..;
        pairs.retain(|_| places.next().is_none_or(|place| !waiting.contains(&place)));
    }
}

impl PingWatch {
    /// The probe with this number, sent at that time, was answered: every fault before it is over.
    fn answered(
        &mut self,
        number: u32,
        at: Duration,
        now: Duration,
        findings: &mut Vec<CheckFinding>,
    ) {
        if let Ok(index) = self.probes.binary_search_by_key(&number, |probe| probe.0) {
            self.probes[index].2 = true;
        }
        let (from, to, probes) = (self.from, self.to, &self.probes);
        for (fault, begun) in self.faults.extract_if(.., |(_, begun)| *begun <= at) {
            let behind = probes.iter().filter(|(_, sent, _)| (begun..at).contains(sent));
            let lost = behind.filter(|(.., answered)| !answered).count() as u64;
            let after = Some(now - begun);
            findings.push(CheckFinding::Recovery(Recovery { from, to, fault, after, lost }));
        }
    }
}

impl Storm {
    /// Sends what is due; how many.
    fn blow(&mut self, fabric: &mut Fabric<'_>, now: Duration) -> u64 {
        self.next = now + STORM_EVERY;
        let due = ((now - self.begun).as_secs_f64() * f64::from(self.rate)) as u64;
        let frames = due.saturating_sub(self.sent).min(STORM_BURST);
        self.sent = due;
        for _ in 0..frames {
            fabric.with_host(self.host, now, |host, out| out.push(host.address.broadcast(STORM)));
        }
        frames
    }
}
