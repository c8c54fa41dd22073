//! A scenario is played: its network is connected to a controller with the application, each step
//! is done, and what must come of it is waited for.

use std::thread;
use std::time::{Duration, Instant};

use aldis_emulator::network::ScriptAction;
use aldis_emulator::network::{CheckFinding, DrivenNetwork, NetworkFailure, NetworkPlan, drive};
use aldis_http::api::apps::App;
use aldis_http::api::flows::Flow;
use aldis_wire::Version;

use super::controller::{CodeFolder, ControllerView, TestController};
use super::frame;
use super::frame::{FrameFields, HostName};
use super::scenario::{CountIs, FlowStep, Scenario, ScenarioStep, SendStep, StepKind, SwitchName};
use crate::failure::CommandFailure;

/// How long the network goes on before what is waited for is looked at again.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How long a host that must not receive a frame may still do so when all that must have.
const GRACE: Duration = Duration::from_millis(50);
/// Characters of an answer that are repeated.
const QUOTE_MAX: usize = 200;
/// How long connecting may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(30);
/// How long a ping is waited for.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a controller has behind the last handshake, at the least.
const SETTLE: Duration = Duration::from_millis(100);

/// What became of a scenario with one version of OpenFlow.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Played {
    pub(super) scenario: String,
    pub(super) version: Version,
    /// How many steps there are.
    pub(super) steps: usize,
    /// What went wrong, with the line of its step where there is one.
    pub(super) wrong: Vec<(usize, String)>,
    /// Pings that were sent, and those of them that were answered.
    pub(super) pings: (usize, usize),
    /// Flows of the application on the switches at the end.
    pub(super) flows: usize,
    /// Failures of the application.
    pub(super) failures: u64,
    /// Commands that were refused, and what the controller told of the application.
    pub(super) refused: u64,
    pub(super) told: Vec<String>,
    /// What the application wrote to the log; whether a line is a warning.
    pub(super) log: Vec<(bool, String)>,
    /// How long it took.
    pub(super) took: Duration,
}

/// A scenario that is being played.
struct Play<'p, 'n> {
    network: &'p mut DrivenNetwork<'n>,
    view: ControllerView,
    switches: u32,
    /// The number of the last frame.
    last: u32,
    pings: (usize, usize),
}

/// Plays a scenario.
///
/// # Errors
/// It cannot be begun: an application that there is not, a package that is refused.
pub(super) fn play(
    scenario: &Scenario,
    version: Version,
    app: (&str, &[u8]),
    code: &CodeFolder,
) -> Result<Played, CommandFailure> {
    let controller = TestController::start(app, &scenario.apps, code)?;
    let played = played(scenario, version, &controller);
    controller.stop();
    played.map_err(CommandFailure::Failed)
}

fn played(
    scenario: &Scenario,
    version: Version,
    controller: &TestController,
) -> Result<Played, String> {
    let begun = Instant::now();
    let plan = NetworkPlan {
        script: scenario.script(),
        connect_within: CONNECT_WITHIN,
        settle: SETTLE,
        patience: PATIENCE,
        ..NetworkPlan::new(controller.address()?, version, scenario.topology.clone())
    };
    let view = controller.view();
    let mut played = drive(&plan, |network| {
        let switches = scenario.topology.switches();
        let mut play = Play { network, view: view.clone(), switches, last: 0, pings: (0, 0) };
        let wrong = play.steps(&scenario.steps)?;
        let flows = play.own_flows()?;
        Ok(Played {
            scenario: scenario.name.clone(),
            version,
            steps: scenario.steps.len(),
            wrong: wrong.into_iter().collect(),
            pings: play.pings,
            flows: flows.unwrap_or_default(),
            failures: 0,
            refused: 0,
            told: vec![],
            log: vec![],
            took: Duration::ZERO,
        })
    })
    .map_err(|why| why.to_string())?;
    played.look(&view.app()?, &view, scenario)?;
    played.took = begun.elapsed();
    Ok(played)
}

impl Played {
    /// Whether nothing went wrong.
    pub(super) fn is_good(&self) -> bool {
        self.wrong.is_empty()
    }

    /// What the application did besides.
    fn look(&mut self, app: &App, view: &ControllerView, of: &Scenario) -> Result<(), String> {
        let counted = app.counted.clone().unwrap_or_default();
        self.failures = counted.failures;
        self.refused = counted.own.get("refused").copied().unwrap_or(0);
        self.log = view.lines()?.into_iter().map(|line| (line.warns, line.text)).collect();
        self.told = view.told()?;
        let reason = app.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        if self.failures > of.failures {
            let more =
                format!("it failed {} times, and may {}{reason}", self.failures, of.failures);
            self.wrong.push((0, more));
        }
        if self.refused > of.refused {
            let (count, may) = (self.refused, of.refused);
            self.wrong.push((0, format!("{count} of its commands were refused, and {may} may be")));
        }
        Ok(())
    }
}

impl Play<'_, '_> {
    /// Does the steps until one goes wrong; which, and how.
    fn steps(&mut self, steps: &[ScenarioStep]) -> Result<Option<(usize, String)>, NetworkFailure> {
        for step in steps {
            let done = match &step.what {
                StepKind::Send(sent) => self.send(sent, step.within)?,
                StepKind::Ping(from, to, answered) => {
                    let ping = ScriptAction::Ping { from: from.0, to: to.0, v6: false };
                    self.ping(ping, *answered)?
                }
                StepKind::PingAll => {
                    self.ping(ScriptAction::PingAll { pairs: None, v6: false }, true)?
                }
                StepKind::Wait(time) => {
                    self.network.pass(*time)?;
                    Ok(())
                }
                StepKind::Act(action) => self.network.act(*action),
                StepKind::Flow(flow) => {
                    self.until(step.within, |view, switches| has_flow(flow, view, switches))?
                }
                StepKind::Log(words) => self.until(step.within, |view, _| has_line(words, view))?,
                StepKind::Get(path, words) => {
                    self.until(step.within, |view, _| answers(path, words, view))?
                }
                StepKind::Count(name, is) => {
                    self.until(step.within, |view, _| has_count(name, *is, view))?
                }
            };
            if let Err(why) = done {
                return Ok(Some((step.line, why)));
            }
        }
        Ok(None)
    }

    fn send(
        &mut self,
        step: &SendStep,
        within: Duration,
    ) -> Result<Result<(), String>, NetworkFailure> {
        self.last += 1;
        let frame = step.frame.build(step.from, self.last);
        self.network.take_arrived();
        self.network.send(step.from.0, &frame);
        let mut seen = Arrivals { number: self.last, ..Arrivals::default() };
        let end = Instant::now() + within;
        let is_quiet = step.received_by.as_ref().is_some_and(Vec::is_empty);
        let waits = step.received_by.is_some() || step.answered_with.is_some();
        while waits && Instant::now() < end {
            self.network.pass(LOOK_EVERY)?;
            seen.take(self.network.take_arrived(), step);
            if !is_quiet && seen.has_all(step) {
                break;
            }
        }
        if waits && !is_quiet {
            self.network.pass(GRACE)?;
            seen.take(self.network.take_arrived(), step);
        }
        Ok(seen.judge(step, within))
    }

    fn ping(
        &mut self,
        action: ScriptAction,
        answered: bool,
    ) -> Result<Result<(), String>, NetworkFailure> {
        if let Err(why) = self.network.act(action) {
            return Ok(Err(why));
        }
        self.network.finish_checks()?;
        let mut lost = vec![];
        for finding in self.network.take_findings() {
            let CheckFinding::Pinged(pinged) = finding else { continue };
            self.pings.0 += pinged.pairs.len();
            self.pings.1 += pinged.received();
            let pairs = pinged.pairs.iter().filter(|(.., after)| after.is_some() != answered);
            lost.extend(pairs.map(|(from, to, _)| format!("h{from} → h{to}")));
        }
        Ok(match (lost.is_empty(), answered) {
            (true, _) => Ok(()),
            (false, true) => Err(format!("{action}: no answer: {}", lost.join(", "))),
            (false, false) => Err(format!("{action}: there was an answer: {}", lost.join(", "))),
        })
    }

    /// Looks at the controller until something is so, or the time is over.
    fn until(
        &mut self,
        within: Duration,
        look: impl Fn(&ControllerView, u32) -> Result<(), String> + Sync,
    ) -> Result<Result<(), String>, NetworkFailure> {
        let end = Instant::now() + within;
        loop {
            let (view, switches) = (self.view.clone(), self.switches);
            let seen = self.beside(|| look(&view, switches))?;
            match seen {
                Err(why) if Instant::now() >= end => {
                    return Ok(Err(format!("{why}, after {}", seconds(within))));
                }
                Err(_) => self.network.pass(4 * LOOK_EVERY)?,
                Ok(()) => return Ok(Ok(())),
            }
        }
    }

    /// How many flows of the application there are.
    fn own_flows(&mut self) -> Result<Result<usize, String>, NetworkFailure> {
        let (view, switches) = (self.view.clone(), self.switches);
        self.beside(|| {
            let own = |flow: &Flow| flow.owner.as_deref() == Some(view.name());
            let of = |switch| Ok(view.flows(switch)?.iter().filter(|flow| own(flow)).count());
            (1..=switches).map(of).sum()
        })
    }

    /// Asks on another thread, while the network goes on: the switches may have to answer.
    fn beside<T: Send>(&mut self, ask: impl FnOnce() -> T + Send) -> Result<T, NetworkFailure> {
        thread::scope(|scope| {
            let asked = scope.spawn(ask);
            while !asked.is_finished() {
                self.network.pass(Duration::from_millis(1))?;
            }
            Ok(asked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }
}

/// What hosts received of one frame, and in answer to it.
#[derive(Default)]
struct Arrivals {
    number: u32,
    /// The receivers of the frame, with it.
    copies: Vec<(HostName, Vec<u8>)>,
    answered: bool,
    /// Other frames that the sender received.
    others: Vec<String>,
}

impl Arrivals {
    fn take(&mut self, arrived: Vec<(u32, Vec<u8>)>, step: &SendStep) {
        for (host, bytes) in arrived {
            let is_copy = frame::number(&bytes) == Some(self.number);
            if host == step.from.0 && !is_copy {
                let answers = |fields: &FrameFields| fields.differs(&bytes).is_none();
                self.answered |= step.answered_with.as_ref().is_some_and(answers);
                self.others.push(frame::in_words(&bytes));
            }
            if is_copy {
                self.copies.push((HostName(host), bytes));
            }
        }
    }

    fn has_all(&self, step: &SendStep) -> bool {
        let has = |host: &HostName| self.copies.iter().any(|(by, _)| by == host);
        let received = step.received_by.as_ref().is_none_or(|hosts| hosts.iter().all(has));
        received && (self.answered || step.answered_with.is_none())
    }

    fn judge(&self, step: &SendStep, within: Duration) -> Result<(), String> {
        let after = seconds(within);
        if let Some(wanted) = &step.received_by {
            let mut by: Vec<HostName> = self.copies.iter().map(|(host, _)| *host).collect();
            by.sort();
            by.dedup();
            if let Some(missing) = wanted.iter().find(|host| !by.contains(host)) {
                let who = names(&by);
                let why = format!("h{} did not receive the frame within {after}", missing.0);
                return Err(format!("{why}; {who} did"));
            }
            if let Some(other) = by.iter().find(|host| !wanted.contains(host)) {
                let why = format!("h{} received the frame", other.0);
                return Err(format!("{why}, and {} may alone", names(wanted)));
            }
        }
        for (host, bytes) in &self.copies {
            if let Some(why) = step.with.as_ref().and_then(|with| with.differs(bytes)) {
                return Err(format!("h{} received the frame, and {why}", host.0));
            }
        }
        if step.answered_with.is_some() && !self.answered {
            let others = match self.others.last() {
                None => "h{} received nothing".replace("{}", &step.from.0.to_string()),
                Some(last) => format!("what h{} received last: {last}", step.from.0),
            };
            return Err(format!("no such answer within {after}; {others}"));
        }
        Ok(())
    }
}

fn names(hosts: &[HostName]) -> String {
    match hosts {
        [] => "no host".to_owned(),
        hosts => hosts.iter().map(|host| format!("h{}", host.0)).collect::<Vec<_>>().join(", "),
    }
}

fn has_flow(step: &FlowStep, view: &ControllerView, switches: u32) -> Result<(), String> {
    let (fields, owner) = (&step.matching.0, step.owner.as_deref().unwrap_or(view.name()));
    let mut of_owner = vec![];
    for switch in 1..=switches {
        if step.switch.is_none_or(|SwitchName(only)| only == switch) {
            of_owner.extend(view.flows(switch)?);
        }
    }
    of_owner.retain(|flow| flow.owner.as_deref() == Some(owner));
    let fits = |flow: &&Flow| {
        fields.iter().all(|(name, value)| flow.matching.get(name) == Some(value))
            && step.actions.as_ref().is_none_or(|actions| *actions == flow.actions)
    };
    let count = of_owner.iter().filter(fits).count() as u64;
    let (good, wanted) = match step.count {
        Some(wanted) => (count == wanted, wanted.to_string()),
        None => (count > 0, "one at least".to_owned()),
    };
    let there = of_owner.last().map(|flow| {
        let fields = flow.matching.iter().map(|(name, value)| format!("{name}={value}"));
        let fields = fields.collect::<Vec<_>>().join(",");
        format!(", the last of which has {fields} and does {}", flow.actions.join(","))
    });
    match good {
        true => Ok(()),
        false => Err(format!(
            "{count} such flows of {owner} are there, and {wanted} should be; it has {} flows{}",
            of_owner.len(),
            there.unwrap_or_default()
        )),
    }
}

fn has_line(words: &str, view: &ControllerView) -> Result<(), String> {
    let lines = view.lines()?;
    match lines.iter().any(|line| line.text.contains(words)) {
        true => Ok(()),
        false => Err(format!("no line of the log has \"{words}\"")),
    }
}

fn answers(path: &str, words: &str, view: &ControllerView) -> Result<(), String> {
    let answer = view.get(path)?;
    let beginning: String = answer.chars().take(QUOTE_MAX).collect();
    match answer.contains(words) {
        true => Ok(()),
        false => Err(format!("the answer to {path} has no \"{words}\": {beginning}")),
    }
}

fn has_count(name: &str, is: CountIs, view: &ControllerView) -> Result<(), String> {
    let counted = view.app()?.counted.unwrap_or_default();
    let has = counted.own.get(name).copied();
    match (has, is) {
        (Some(has), CountIs::Exactly(wanted)) if has == wanted => Ok(()),
        (Some(has), CountIs::AtLeast(wanted)) if has >= wanted => Ok(()),
        (None, CountIs::Exactly(0)) => Ok(()),
        (None, _) => Err(format!("it did not count \"{name}\" yet")),
        (Some(has), CountIs::Exactly(wanted)) => Err(format!("{name} is {has}, not {wanted}")),
        (Some(has), CountIs::AtLeast(wanted)) => {
            Err(format!("{name} is {has}, not {wanted} at least"))
        }
    }
}

/// A length of time, as people say it.
pub(super) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(received_by: Option<Vec<HostName>>) -> SendStep {
        let frame = FrameFields::default();
        SendStep { from: HostName(1), frame, received_by, with: None, answered_with: None }
    }

    #[test]
    fn a_frame_is_received_by_those_that_are_named_and_by_no_others() {
        let frame = FrameFields::default().build(HostName(1), 7);
        let judge = |wanted: &[u32], by: &[u32]| {
            let step = step(Some(wanted.iter().map(|host| HostName(*host)).collect()));
            let mut seen = Arrivals { number: 7, ..Arrivals::default() };
            seen.take(by.iter().map(|host| (*host, frame.clone())).collect(), &step);
            // Another frame is none of this one.
            seen.take(vec![(3, FrameFields::default().build(HostName(1), 8))], &step);
            seen.judge(&step, GRACE)
        };
        assert_eq!(judge(&[2], &[2, 2]), Ok(()));
        assert_eq!(judge(&[], &[]), Ok(()));
        assert!(judge(&[2], &[]).unwrap_err().starts_with("h2 did not receive the frame"));
        assert!(judge(&[2], &[2, 3]).unwrap_err().starts_with("h3 received the frame, and h2"));
        assert!(judge(&[], &[3]).unwrap_err().contains("no host may alone"));
    }
}
