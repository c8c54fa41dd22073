//! One measurement: the run, its observer, what is printed and what is saved.

use super::args::{BenchLoadArgs, ModeArg};
use super::controller::{BenchController, UsageSample};
use super::distributed::{self, BenchCoordinator};
use super::{handshakes, save, table};
use crate::failure;
use crate::interrupt;
use aldis_emulator::load::{self, Gate, GeneratorPart, Load, LoadFailure, Moment, Watch};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long nothing is said.
const QUIET: Duration = Duration::from_secs(2);

/// Measures, prints and saves.
pub(super) fn run(args: &BenchLoadArgs) -> Result<ExitCode, failure::CommandFailure> {
    if let Some(coordinator) = args.join {
        return distributed::join(coordinator, &*interrupt::watched()?)
            .map_err(failure::CommandFailure::from);
    }
    let load = args.load().map_err(failure::CommandFailure::Usage)?;
    let target = args.save.as_deref().map(save::SaveTarget::new).transpose();
    let target = target.map_err(failure::CommandFailure::Usage)?;
    let stop = interrupt::watched()?;
    let measure = if args.what() == ModeArg::Connect { connect } else { measure };
    let measure = |load: &Load, target: Option<&save::SaveTarget>| {
        target.map_or(Ok(()), save::SaveTarget::check).map_err(failure::CommandFailure::from)?;
        measure(args, load, target, &stop)
    };
    if !args.ranged_test {
        return measure(&load, target.as_ref());
    }
    let powers = (0..).map(|power| 1 << power).take_while(|&switches| switches < load.switches);
    for switches in powers.chain([load.switches]) {
        let target = target.as_ref().map(|target| target.of_switches(switches));
        let load = Load { switches, ..load.clone() };
        let code = measure(&load, target.as_ref())?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
        println!();
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(
    args: &BenchLoadArgs,
    load: &Load,
    target: Option<&save::SaveTarget>,
    stop: &AtomicBool,
) -> Result<ExitCode, failure::CommandFailure> {
    let mut onlooker = MeasureWatch::new(load, args, controller(args, load)?, stop);
    let here = onlooker.gather(load, args)?;
    let mut outcome = load::measure(&here, &mut onlooker);
    if let Some(coordinator) = onlooker.coordinator.take() {
        let cut_short = outcome.failure.is_some();
        let failure = coordinator.collect(cut_short, |report| outcome.report.merge(report));
        outcome.failure = outcome.failure.take().or(failure);
    }
    onlooker.clear();
    let report = outcome.report;
    let why = match outcome.failure {
        Some(failure) if report.is_empty() => return Err(refusal(&failure)),
        failure => failure.map(|failure| sentence(&failure)),
    };
    let why = match why {
        None if report.counts.offered == 0 => {
            Some("no request was due in the time that was measured".into())
        }
        None if report.answered() == 0 => Some(format!(
            "the controller answered none of {} requests; is a switch application running in it?",
            report.counts.offered
        )),
        why => why,
    };
    let measured = table::BenchRun {
        load,
        report: &report,
        mode: args.what(),
        usage: onlooker.usage(),
        samples: onlooker.samples,
        partial: why.as_deref(),
    };
    let finding = save::SavedResult {
        seed: load.seed,
        rows: &table::rows(&measured),
        served: report.served(load),
        delays: vec![("request", &report.delay), ("probe", &report.probes.delay)],
    };
    publish(args, &finding, target, why.as_deref()).map_err(failure::CommandFailure::from)
}

/// Why nothing was measured: the command line asks for what there is not, or something failed.
fn refusal(failure: &LoadFailure) -> failure::CommandFailure {
    match failure {
        LoadFailure::OutOfRange { .. } => failure::CommandFailure::Usage(sentence(failure)),
        _ => failure::CommandFailure::Failed(sentence(failure)),
    }
}

/// What happened, and the option that helps.
fn sentence(failure: &LoadFailure) -> String {
    match failure {
        LoadFailure::Unanswered { .. } => format!("{failure} (--no-teach leaves this out)"),
        _ => failure.to_string(),
    }
}

/// Counts handshakes, prints and saves.
fn connect(
    args: &BenchLoadArgs,
    load: &Load,
    target: Option<&save::SaveTarget>,
    stop: &AtomicBool,
) -> Result<ExitCode, failure::CommandFailure> {
    let mut onlooker = MeasureWatch::new(load, args, controller(args, load)?, stop);
    let here = onlooker.gather(load, args)?;
    let (mut result, mut failure) = load::handshakes(&here, &mut onlooker);
    if let Some(coordinator) = onlooker.coordinator.take() {
        let lost = coordinator.collect(failure.is_some(), |report| result.merge(&report));
        failure = failure.or(lost);
    }
    onlooker.clear();
    let why = match failure {
        Some(failure) if result.elapsed.is_zero() => return Err(refusal(&failure)),
        failure => failure.map(|failure| failure.to_string()),
    };
    let why = match why {
        None if result.done == 0 => {
            Some("no handshake was over in the time that was measured".into())
        }
        why => why,
    };
    let finding = save::SavedResult {
        seed: load.seed,
        rows: &handshakes::rows(load, &result, onlooker.usage().as_ref(), why.as_deref()),
        served: Vec::new(),
        delays: vec![("handshake", &result.delay)],
    };
    publish(args, &finding, target, why.as_deref()).map_err(failure::CommandFailure::from)
}

fn controller(args: &BenchLoadArgs, load: &Load) -> Result<Option<BenchController>, String> {
    match args.pid {
        Some(pid) => BenchController::with_pid(pid).map(Some),
        None => Ok(BenchController::listening_on(load.controller)),
    }
}

/// Prints and saves; `partial` says why there is only a part of it, if there is.
fn publish(
    args: &BenchLoadArgs,
    finding: &save::SavedResult<'_>,
    target: Option<&save::SaveTarget>,
    partial: Option<&str>,
) -> Result<ExitCode, String> {
    match args.json {
        true => println!("{}", table::json(finding.rows)),
        false => print!("{}", table::text(finding.rows)),
    }
    if let Some(target) = target {
        let saved = target.write(finding)?;
        if !args.json {
            println!("{:<12} {saved}", "saved");
        }
    }
    Ok(match partial {
        None => ExitCode::SUCCESS,
        Some(why) => super::partial(why),
    })
}

/// The observer: says what happens, on a terminal's stderr, once it has taken longer than a person
/// likes to wait without a word; and looks at the controller's process at the beginning, at the end
/// of each phase, and at the end.
struct MeasureWatch<'a> {
    switches: u32,
    length: Duration,
    begun: Instant,
    silent: bool,
    written: bool,
    is_soak: bool,
    stop: &'a AtomicBool,
    controller: Option<BenchController>,
    /// What the controller held at the beginning and at the end of each phase.
    samples: Vec<UsageSample>,
    measuring_since: Instant,
    /// The other parts, where there are any.
    coordinator: Option<BenchCoordinator>,
}

impl<'a> MeasureWatch<'a> {
    fn new(
        load: &Load,
        args: &BenchLoadArgs,
        controller: Option<BenchController>,
        stop: &'a AtomicBool,
    ) -> MeasureWatch<'a> {
        let now = Instant::now();
        MeasureWatch {
            switches: load.switches_here(),
            length: load.measured_length(),
            begun: now,
            silent: args.json || !std::io::stderr().is_terminal(),
            written: false,
            is_soak: args.what() == ModeArg::Soak,
            stop,
            controller,
            samples: Vec::new(),
            measuring_since: now,
            coordinator: None,
        }
    }

    /// Waits for the other parts, where there are any; what of the load this process plays.
    fn gather(&mut self, load: &Load, args: &BenchLoadArgs) -> Result<Load, String> {
        let part = GeneratorPart { index: 0, of: args.parts.unwrap_or(1) };
        if let Some(address) = args.coordinate {
            self.coordinator = Some(BenchCoordinator::gather(address, part.of, self.stop)?);
        }
        Ok(Load { part, ..load.clone() })
    }

    fn look(&mut self, moment: Moment) {
        let Some(controller) = &mut self.controller else { return };
        match moment {
            Moment::MeasureBegins => controller.begin(),
            Moment::MeasureEnds => controller.end(),
            Moment::PhaseEnds(_) => {}
            Moment::Connected(_) | Moment::Taught(_) => return,
        }
        if moment != Moment::MeasureEnds {
            self.samples.extend(controller.sample());
        }
    }

    fn say(&mut self, moment: Moment) {
        if self.silent || self.begun.elapsed() < QUIET && moment != Moment::MeasureBegins {
            return;
        }
        let of = self.switches;
        let words = match moment {
            Moment::Connected(done) => format!("{done} of {of} switches connected"),
            Moment::Taught(done) => format!("{done} of {of} switches have told their addresses"),
            Moment::MeasureBegins if self.length > QUIET => {
                format!("measuring for {:.1} s", self.length.as_secs_f64())
            }
            Moment::PhaseEnds(_) if self.is_soak => self.soaked(),
            Moment::MeasureBegins | Moment::PhaseEnds(_) | Moment::MeasureEnds => return,
        };
        eprint!("\r\x1b[K{words}");
        let _ = std::io::stderr().flush();
        self.written = true;
    }

    fn soaked(&self) -> String {
        let since = self.measuring_since.elapsed().as_secs_f64();
        let memory = self.samples.last().map_or(String::new(), |sample| {
            format!("; the controller holds {} MiB", sample.resident_bytes >> 20)
        });
        format!("{since:.0} of {:.0} s{memory}", self.length.as_secs_f64())
    }

    fn clear(&self) {
        if self.written {
            eprint!("\r\x1b[K");
        }
    }

    fn usage(&mut self) -> Option<super::controller::Usage> {
        self.controller.take().and_then(BenchController::usage)
    }
}

impl Watch for MeasureWatch<'_> {
    fn tell(&mut self, moment: Moment) {
        if moment == Moment::MeasureBegins {
            self.measuring_since = Instant::now();
        }
        self.look(moment);
        self.say(moment);
    }

    fn is_stopped(&mut self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn pass(&mut self, gate: Gate) -> Result<(), LoadFailure> {
        let stop = self.stop;
        self.coordinator.as_mut().map_or(Ok(()), |coordinator| coordinator.pass(gate, stop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_answered_is_told_what_leaves_the_question_out() {
        let failure = LoadFailure::Unanswered { switch: 1, after: QUIET };
        assert!(sentence(&failure).ends_with("running in it? (--no-teach leaves this out)"));
        assert_eq!(sentence(&LoadFailure::Stopped), LoadFailure::Stopped.to_string());
    }
}
