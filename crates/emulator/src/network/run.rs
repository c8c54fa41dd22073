//! The loop of a network, and its phases.

mod driven;

pub use driven::{DrivenNetwork, drive};

use super::checks::Checks;
use super::fabric::Fabric;
use super::host::Heard;
use super::host_load::RunningLoad;
use super::idle_time::IdleTime;
use super::multi::StartBarrier;
use super::script::{ScriptAction, ScriptNode, links_between};
use super::unfinished::Unfinished;
use super::{
    CheckFinding, HostLoad, NetworkFailure, NetworkMoment, NetworkPlan, NetworkProgress,
    NetworkReport, ScriptStep,
};
use crate::descriptors;
use crate::load::{PORTS_MAX_V10, Probing};
use aldis_wire::Version;
use std::io;
use std::time::{Duration, Instant};

/// How often is looked at what no socket and no frame announces.
const TICK: Duration = Duration::from_millis(50);

/// How often a network that is ready looks whether those beside it are.
const LOOK: Duration = Duration::from_millis(1);

/// How long a controller is waited for that is not done with its switches.
const QUIET_WITHIN: Duration = Duration::from_secs(1);

/// Descriptors beside the switches' sockets.
const DESCRIPTORS_SPARE: u64 = 64;

pub(super) struct NetworkRun<'a> {
    plan: &'a NetworkPlan,
    barrier: &'a StartBarrier<'a>,
    tell: &'a mut dyn FnMut(NetworkMoment<'_>),
    begun: Instant,
    last_tick: Duration,
    /// Since when how far it has come is told, and how long it goes on.
    told_since: Option<(Duration, Duration)>,
    fabric: Fabric<'a>,
    checks: Checks,
    load: Option<RunningLoad<'a>>,
    probing: Option<Probing>,
    idle_time: IdleTime,
    /// Why the last attempt to connect failed.
    why: Option<String>,
    report: NetworkReport,
}

impl<'a> NetworkRun<'a> {
    pub(super) fn new(
        plan: &'a NetworkPlan,
        barrier: &'a StartBarrier<'a>,
        tell: &'a mut dyn FnMut(NetworkMoment<'_>),
    ) -> Result<NetworkRun<'a>, NetworkFailure> {
        Ok(NetworkRun {
            plan,
            barrier,
            tell,
            begun: Instant::now(),
            last_tick: Duration::ZERO,
            told_since: None,
            fabric: Fabric::new(plan, moves(plan))?,
            checks: Checks::new(plan.seed, plan.patience),
            load: plan
                .load
                .as_ref()
                .map(|offer| RunningLoad::new(offer, &plan.topology, plan.seed)),
            probing: None,
            idle_time: IdleTime::default(),
            why: None,
            report: NetworkReport::default(),
        })
    }

    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(super) fn run(mut self) -> Result<NetworkReport, NetworkFailure> {
        self.fabric.tick(Duration::ZERO, Duration::ZERO);
        let connected = self.connect()?;
        if connected && self.summon()? && self.settle()? && self.find()? && self.gather()? {
            let start = self.now();
            (self.tell)(NetworkMoment::Ready(start));
            self.report.partial = self.act(start)?.sentence();
            self.report.length = self.now() - start;
            self.report.idle = self.idle_time.idle();
            let in_time = !self.is_stopped();
            if !self.hear_out()? && in_time {
                let sentence = "told to stop while switches that probe waited for answers";
                self.report.partial = Some(sentence.into());
            }
        } else {
            self.report.partial = Some("told to stop before the network was ready".into());
        }
        self.report.stopped = self.is_stopped();
        Ok(self.finish())
    }

    fn is_stopped(&self) -> bool {
        self.barrier.is_over()
    }

    /// Until every handshake is over; whether it is.
    fn connect(&mut self) -> Result<bool, NetworkFailure> {
        let mut told = None;
        loop {
            let (up, late) = self.fabric.up();
            if told.replace(up) != Some(up) {
                (self.tell)(NetworkMoment::Connected(up));
            }
            let now = self.now();
            let Some(switch) = late else {
                self.report.connected_after = Some(now);
                return Ok(true);
            };
            if self.is_stopped() {
                return Ok(false);
            }
            if now >= self.plan.connect_within && self.last_tick > Duration::ZERO {
                self.report_lost();
                let why = self.why.take();
                let (controller, of) = (self.plan.controller, self.plan.topology.switches());
                let after = self.plan.connect_within;
                return Err(NetworkFailure::NotConnected {
                    controller,
                    up,
                    of,
                    switch,
                    why,
                    after,
                });
            }
            self.turn(now + TICK)?;
        }
    }

    /// Until the switches that probe, if there are any, have shaken hands and told where their
    /// hosts live; whether it was not stopped.
    fn summon(&mut self) -> Result<bool, NetworkFailure> {
        if self.plan.probes > 0 {
            self.probing = Some(Probing::start(self.plan.probing())?);
        }
        while let Some(probing) = &mut self.probing
            && !probing.is_ready()
            && !self.barrier.is_over()
        {
            if probing.is_over()
                && let Some((_, Some(failure))) = probing.finish()
            {
                return Err(failure.into());
            }
            self.turn(self.now() + TICK)?;
        }
        Ok(!self.is_stopped())
    }

    /// Until the switches that probe have the answers to what they asked; whether it was not
    /// stopped.
    fn hear_out(&mut self) -> Result<bool, NetworkFailure> {
        self.probing.iter().for_each(Probing::end);
        while self.probing.as_ref().is_some_and(|probing| !probing.is_over()) && !self.is_stopped()
        {
            self.turn(self.now() + TICK)?;
        }
        Ok(self.probing.as_ref().is_none_or(Probing::is_over))
    }

    /// As long as was asked for; whether it was not stopped.
    fn settle(&mut self) -> Result<bool, NetworkFailure> {
        let connected = self.now();
        let mut told = None;
        loop {
            let now = self.now();
            let (crossed, crossings) = self.fabric.wires.crossed();
            if told.replace(crossed) != Some(crossed) {
                (self.tell)(NetworkMoment::Crossed(crossed));
            }
            let awaits = self.plan.await_links && crossed < crossings;
            if self.is_stopped() {
                return Ok(false);
            }
            let is_quiet = self.fabric.is_quiet() || now - connected >= QUIET_WITHIN;
            if now - connected >= self.plan.settle && is_quiet && !awaits {
                return Ok(true);
            }
            if awaits && now - connected >= self.plan.settle.max(self.plan.connect_within) {
                let after = now - connected;
                return Err(NetworkFailure::NotCrossed { crossed, crossings, after });
            }
            self.turn(now + TICK)?;
        }
    }

    /// Until the hosts that are to offer load know each other; whether it was not stopped.
    fn find(&mut self) -> Result<bool, NetworkFailure> {
        let Some(load) = &self.load else { return Ok(true) };
        let (pairs, v6) = load.pairs();
        let now = self.now();
        self.checks.acquaint(pairs, v6, now);
        self.told_since = Some((now, Duration::ZERO));
        while !self.is_stopped() {
            if let (Some(pinged), Some(load)) = (self.checks.take_acquainted(), &mut self.load) {
                load.found(&pinged);
                (self.tell)(NetworkMoment::Met(pinged.received(), pinged.pairs.len(), pinged.took));
                return Ok(true);
            }
            self.turn(self.now() + TICK)?;
        }
        Ok(false)
    }

    /// Until the networks beside this one are ready as well; whether it was not stopped.
    fn gather(&mut self) -> Result<bool, NetworkFailure> {
        self.barrier.arrive();
        while !self.barrier.is_complete() && !self.is_stopped() {
            self.turn(self.now() + LOOK)?;
        }
        Ok(!self.is_stopped())
    }

    /// The script, and as long as was asked for; what is left of it when it is told to stop.
    fn act(&mut self, start: Duration) -> Result<Unfinished, NetworkFailure> {
        let mut steps: Vec<ScriptStep> = self.plan.script.clone();
        // What is to happen at the same time happens in the order in which it is written.
        steps.sort_by_key(|step| step.at);
        let mut steps = steps.into_iter().peekable();
        let ends =
            !self.plan.script.is_empty() || self.plan.length.is_some() || self.load.is_some();
        if let Some(load) = &mut self.load {
            load.begin(start);
        }
        self.probing.iter().for_each(Probing::begin);
        let end = start + self.plan.length.unwrap_or(Duration::ZERO);
        self.told_since = Some((start, self.length()));
        while !self.is_stopped() {
            let now = self.now();
            while let Some(step) = steps.next_if(|step| start + step.at <= now) {
                self.apply(&step, now);
            }
            let next = steps.peek().map(|step| start + step.at);
            let loads = self.load.as_ref();
            let offered = loads.is_none_or(|it| it.is_done(now, self.plan.patience));
            if ends && next.is_none() && now >= end && self.checks.is_done() && offered {
                return Ok(Unfinished::default());
            }
            let is_offered = self.load.as_ref().is_some_and(|it| it.next_due().is_some());
            self.idle_time.note(is_offered || self.checks.are_under_way(now));
            self.turn(next.unwrap_or(now + TICK))?;
        }
        let now = self.now();
        Ok(Unfinished {
            steps: steps.count(),
            open: self.checks.open(),
            load: self.load.as_ref().map(|load| load.unfinished(now)).unwrap_or_default(),
            length: end.saturating_sub(now),
        })
    }

    /// How long it goes on at the least.
    fn length(&self) -> Duration {
        let NetworkPlan { length, load, script, .. } = self.plan;
        let steps = script.iter().map(|step| step.at);
        steps.chain(*length).chain(load.as_ref().map(HostLoad::length)).max().unwrap_or_default()
    }

    /// One turn of everything; waits until `wake` at most.
    fn turn(&mut self, wake: Duration) -> Result<(), NetworkFailure> {
        let now = self.now();
        self.fabric.carry(now);
        // What arrived has arrived by now: a delay is rather a turn too long than too short.
        let now = self.now();
        for (host, heard) in self.fabric.take_heard() {
            match (heard, &mut self.load) {
                (Heard::Load(stamp), Some(load)) => load.arrived(stamp, now),
                _ => self.checks.heard(host, heard, now),
            }
        }
        self.checks.turn(&mut self.fabric, now);
        if let Some(load) = &mut self.load {
            load.turn(&mut self.fabric, now);
        }
        self.fabric.flush(now);
        self.look_at_links(now);
        for finding in self.checks.take_findings() {
            self.found(finding);
        }
        let frame = self.fabric.wires.next_due();
        let trial = self.checks.next_due();
        let tick = Some(self.last_tick + TICK);
        let offer = self.load.as_ref().and_then(RunningLoad::next_due);
        let next = [frame, trial, offer, tick].into_iter().flatten().fold(wake, Duration::min);
        let begun = self.begun;
        let timeout = next.saturating_sub(self.now());
        self.fabric.serve(timeout, || begun.elapsed())?;
        let now = self.now();
        if now >= self.last_tick + TICK {
            self.checks.ask_again(&mut self.fabric, now);
            self.fabric.tick(now, now - self.last_tick);
            self.last_tick = now;
            self.report_lost();
            self.tell_progress(now);
        }
        Ok(())
    }

    fn tell_progress(&mut self, now: Duration) {
        let Some((since, length)) = self.told_since else { return };
        (self.tell)(NetworkMoment::Goes(NetworkProgress {
            elapsed: now - since,
            length,
            packets: self.load.as_ref().map(RunningLoad::packets).unwrap_or_default(),
            pings: self.checks.pings,
        }));
    }

    fn look_at_links(&mut self, now: Duration) {
        let (crossed, crossings) = self.fabric.wires.crossed();
        if crossed == crossings
            && crossings > 0
            && self.report.crossed_after.is_none()
            && let Some(connected) = self.report.connected_after
        {
            self.report.crossed_after = Some(now.saturating_sub(connected));
        }
    }

    /// Says which connections were lost.
    fn report_lost(&mut self) {
        let lost = self.fabric.take_lost();
        let were_up = lost.iter().filter(|(_, up, _)| *up);
        if let Some((switch, _, why)) = were_up.clone().next() {
            let count = were_up.clone().count() as u32;
            self.report.lost.0 += u64::from(count);
            (self.tell)(NetworkMoment::Lost(count, *switch, why));
        }
        self.report.lost.1 += lost.iter().filter(|(_, up, _)| !up).count() as u64;
        if let Some((.., why)) = lost.last() {
            self.why = Some(why.to_string());
        }
    }

    fn found(&mut self, finding: CheckFinding) {
        (self.tell)(NetworkMoment::Found(&finding));
        self.report.findings.push(finding);
    }

    fn apply(&mut self, step: &ScriptStep, now: Duration) {
        if step.action.is_fault() {
            self.checks.fault(step.action, now);
        }
        let note = self.act_out(step, now).err();
        (self.tell)(NetworkMoment::Did(&step.action, note));
    }

    /// Does it; an error says why nothing happened.
    fn act_out(
        &mut self,
        &ScriptStep { at, action }: &ScriptStep,
        now: Duration,
    ) -> Result<(), String> {
        let cannot = |error: io::Error| error.to_string();
        let fabric = &mut self.fabric;
        match action {
            ScriptAction::LinkDown(a, b) => self.cut(a, b, true, now)?,
            ScriptAction::LinkUp(a, b) => self.cut(a, b, false, now)?,
            ScriptAction::SwitchGone(switch) => fabric.power(switch, false, now),
            ScriptAction::SwitchBack(switch) => fabric.power(switch, true, now),
            ScriptAction::Reset(switch) if !fabric.reset(switch, now) => {
                return Err(format!("s{switch} has no connection now"));
            }
            ScriptAction::Reset(_) => {}
            ScriptAction::SlowReader(switch, rate) => {
                fabric.read_slowly(switch, Some(rate)).map_err(cannot)?;
            }
            ScriptAction::FastReader(switch) => fabric.read_slowly(switch, None).map_err(cannot)?,
            ScriptAction::DuplicateDpid(switch) => fabric.double(switch),
            ScriptAction::HostMove(host, switch) => fabric.move_host(host, switch, now),
            ScriptAction::Storm(host, rate) => self.checks.storm(host, rate, now),
            ScriptAction::Calm(host) => self.checks.calm(host),
            ScriptAction::Broadcast(host) => self.checks.broadcast((host, at), fabric, now),
            ScriptAction::Ping { .. } | ScriptAction::PingAll { .. } => {
                self.checks.ping((action, at), fabric.hosts(), now);
            }
            ScriptAction::Watch { from, to } => self.checks.watch(from, to, now),
        }
        Ok(())
    }

    fn cut(
        &mut self,
        a: ScriptNode,
        b: ScriptNode,
        broken: bool,
        now: Duration,
    ) -> Result<(), String> {
        if let (ScriptNode::Host(host), ScriptNode::Switch(switch))
        | (ScriptNode::Switch(switch), ScriptNode::Host(host)) = (a, b)
        {
            return match self.fabric.cut_host(host, switch, broken, now) {
                true => Ok(()),
                false => Err(format!("h{host} is not plugged in at s{switch} any more")),
            };
        }
        for link in links_between(&self.plan.topology, a, b) {
            self.fabric.cut(link, broken, now);
        }
        Ok(())
    }

    fn finish(mut self) -> NetworkReport {
        self.report_lost();
        for finding in self.checks.finish(self.now()) {
            self.found(finding);
        }
        (self.report.crossed, self.report.crossings) = self.fabric.wires.crossed();
        self.report.frames = self.fabric.wires.frames;
        self.report.spoilt = self.fabric.spoilt;
        self.report.storm = (self.checks.storm_frames, self.fabric.storm_copies);
        self.report.messages = std::mem::take(&mut self.fabric.messages);
        let now = self.now();
        self.report.offered = self.load.take().map(|load| load.finish(now));
        let probed = self.probing.as_mut().and_then(Probing::finish);
        self.report.probes = probed.map(|(probes, why)| (probes, why.map(|why| why.to_string())));
        let why = [self.report.partial.take(), self.forsaken()].into_iter().flatten();
        self.report.partial = why.reduce(|told, lost| format!("{told}; {lost}"));
        self.report
    }

    /// Which switches have lost the controller for good, in a sentence.
    fn forsaken(&mut self) -> Option<String> {
        if let (count, Some(first)) = self.fabric.forsaken() {
            let (of, why) = (self.plan.topology.switches(), self.why.take().unwrap_or_default());
            return Some(format!(
                "{count} of {of} switches had lost the controller at the end, s{first} first: {why}"
            ));
        }
        let (_, ended) = self.report.probes.as_ref()?;
        let why = ended.as_ref()?;
        Some(format!("the switches that probe ended before the run did: {why}"))
    }
}

/// Refuses what cannot run, before anything connects: each plan for itself, and all of them beside
/// each other.
pub(super) fn admit(plans: &[NetworkPlan]) -> Result<(), NetworkFailure> {
    plans.iter().try_for_each(check)?;
    let mut in_order: Vec<&NetworkPlan> = plans.iter().collect();
    in_order.sort_by_key(|plan| plan.first_dpid);
    for pair in in_order.windows(2) {
        let [plan, next] = [pair[0], pair[1]];
        if next.first_dpid - plan.first_dpid < plan.span() {
            return Err(NetworkFailure::Plan(format!(
                "a network that begins with the datapath id {} has some or addresses in common with one that begins with {}: \
                 {} at the least",
                next.first_dpid,
                plan.first_dpid,
                plan.first_dpid.saturating_add(plan.span())
            )));
        }
    }
    let needed = plans.iter().map(descriptors_of).sum::<u64>() + DESCRIPTORS_SPARE;
    let allowed = descriptors::allow(needed)?;
    match allowed < needed {
        true => Err(NetworkFailure::Descriptors { needed, allowed }),
        false => Ok(()),
    }
}

/// A network's sockets.
fn descriptors_of(plan: &NetworkPlan) -> u64 {
    let is_double = |step: &&ScriptStep| matches!(step.action, ScriptAction::DuplicateDpid(_));
    let doubles = plan.script.iter().filter(is_double).count() as u64;
    u64::from(plan.topology.switches()) + u64::from(plan.probes) + doubles
}

fn check(plan: &NetworkPlan) -> Result<(), NetworkFailure> {
    for ScriptStep { at, action } in &plan.script {
        let wrong =
            |wrong| NetworkFailure::Plan(format!("{action}, at {} s: {wrong}", at.as_secs_f64()));
        action.check(&plan.topology).map_err(wrong)?;
    }
    plan.probing().check()?;
    if let Some(offer) = &plan.load {
        offer.check(&plan.topology).map_err(NetworkFailure::Plan)?;
    }
    let max = match plan.version {
        Version::V10 => PORTS_MAX_V10,
        Version::V13 => crate::topology::PORTS_MAX,
    };
    let mut ports: Vec<u32> =
        (1..=plan.topology.switches()).map(|switch| plan.topology.ports(switch)).collect();
    moves(plan).for_each(|switch| ports[switch as usize - 1] += 1);
    match (1..).zip(ports).find(|&(_, ports)| ports > max) {
        Some((switch, ports)) => Err(NetworkFailure::Plan(format!(
            "switch s{switch} would have {ports} ports, and one that speaks {} has at most {max}",
            plan.version
        ))),
        None => Ok(()),
    }
}

/// The switches to which hosts will be moved, each time one is.
fn moves(plan: &NetworkPlan) -> impl Iterator<Item = u32> {
    plan.script.iter().filter_map(|step| match step.action {
        ScriptAction::HostMove(_, switch) => Some(switch),
        _ => None,
    })
}
