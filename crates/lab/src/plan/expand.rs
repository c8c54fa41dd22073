//! The points of a plan on a machine: every combination of what its runs vary, each measured or
//! simulated.
//!
//! A point is measured where the machine has a core for each worker and one for the load, and
//! simulated where it has not. Where workers stand on the x axis and some of them are simulated,
//! all are simulated, and those that fit are measured as well: a line that changes its origin
//! half-way would show the change and not the design.

use super::{
    ControllerCommand, Fewer, OfferedRate, Plan, PlanAxis, PlanForm, PlanKnobs, PlanMetric,
    PlanRun, rate,
};
use crate::results::{self, ValueOrigin, X};
use aldis_emulator::load::DemandSpread;
use aldis_engine::Design;
use aldis_engine::design::Read;

/// What a point is asked of.
#[derive(Clone, PartialEq, Debug)]
pub enum PointSubject {
    /// A design of ours, with the point's knobs.
    Design(Design),
    /// The null controller.
    Null,
    /// Another project's controller.
    Foreign(Box<ControllerCommand>),
}

/// One combination.
#[derive(Clone, PartialEq, Debug)]
pub struct PlanPoint {
    /// Which of the plan's runs it comes from.
    pub run: usize,
    /// What is measured or simulated.
    pub subject: PointSubject,
    /// The knobs of a design, as `aldis run --set` takes them.
    pub settings: Vec<String>,
    /// Subject and knobs without what the run sweeps: whose capacity its rates are parts of.
    pub base: (PointSubject, Vec<String>),
    /// The legend's name.
    pub series: String,
    /// Where it stands; nothing where that is the rate that is offered and has yet to be found.
    pub x: Option<X>,
    /// Workers.
    pub workers: usize,
    /// Switches beside those that probe.
    pub switches: u32,
    /// Addresses a switch.
    pub macs: u32,
    /// How the rate is divided.
    pub spread: DemandSpread,
    /// What is offered: one rate, or several that follow each other.
    pub rates: Vec<OfferedRate>,
    /// Measured or simulated.
    pub origin: ValueOrigin,
}

/// What is to be done, and what cannot be.
#[derive(Clone, PartialEq, Debug)]
pub struct Expansion {
    /// In the order in which they are run.
    pub points: Vec<PlanPoint>,
    /// What a reader has to know: what is simulated, what is left out.
    pub notes: Vec<String>,
}

impl PlanPoint {
    /// What it is called when it is spoken of.
    pub fn label(&self) -> String {
        let PlanPoint { series, workers, switches, .. } = self;
        let plural = if *workers == 1 { "" } else { "s" };
        let rates: Vec<String> = self.rates.iter().map(OfferedRate::to_string).collect();
        let x = self.x.as_ref().map(|x| format!(" at {x}")).unwrap_or_default();
        format!(
            "{series}{x} ({workers} worker{plural}, {switches} switches, {} {})",
            rates.join(" "),
            rate::word(self.spread)
        )
    }

    /// The capacity that its rates are parts of: points with the same key share one.
    pub fn capacity_key(&self) -> String {
        let PlanPoint { workers, switches, macs, origin, base: (subject, settings), .. } = self;
        let name = subject.name();
        format!("{name} {settings:?} {workers} {switches} {macs} {origin:?}")
    }

    /// The same with queues always full, and nothing swept: what its capacity is measured with.
    pub fn at_full(&self) -> PlanPoint {
        let (subject, settings) = self.base.clone();
        PlanPoint { subject, settings, rates: vec![OfferedRate::Full], ..self.clone() }
    }

    /// Threads of its design that read and do not work.
    pub fn io_threads(&self) -> usize {
        match &self.subject {
            PointSubject::Design(Design { read: Read::SharedQueue { io_threads, .. }, .. }) => {
                *io_threads
            }
            PointSubject::Design(_) | PointSubject::Null | PointSubject::Foreign(_) => 0,
        }
    }

    /// Whether its rates are parts of a capacity.
    pub fn needs_capacity(&self) -> bool {
        self.rates.iter().any(|rate| matches!(rate, OfferedRate::Times(_)))
    }
}

impl PointSubject {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            PointSubject::Design(design) => design.name,
            PointSubject::Null => "null",
            PointSubject::Foreign(controller) => &controller.name,
        }
    }
}

/// The lists of a run in one form.
pub(super) struct PlanLists<'a> {
    pub(super) subjects: &'a [String],
    pub(super) workers: &'a [usize],
    pub(super) switches: &'a [u32],
    pub(super) macs: &'a [u32],
    pub(super) rates: &'a [OfferedRate],
    pub(super) ibt: &'a [usize],
    pub(super) bdu_us: &'a [u64],
    pub(super) prt: &'a [usize],
}

impl PlanRun {
    /// What it varies in this form.
    pub(super) fn lists(&self, form: results::RunForm) -> PlanLists<'_> {
        static NONE: Fewer = Fewer::none();
        let quick = if form == results::RunForm::Quick { &self.quick } else { &NONE };
        PlanLists {
            subjects: quick.subjects.as_ref().unwrap_or(&self.subjects),
            workers: quick.workers.as_ref().unwrap_or(&self.workers),
            switches: quick.switches.as_ref().unwrap_or(&self.switches),
            macs: quick.macs.as_ref().unwrap_or(&self.macs),
            rates: quick.rates.as_ref().unwrap_or(&self.rates),
            ibt: quick.ibt.as_ref().unwrap_or(&self.ibt),
            bdu_us: quick.bdu_us.as_ref().unwrap_or(&self.bdu_us),
            prt: quick.prt.as_ref().unwrap_or(&self.prt),
        }
    }

    /// Whether it belongs to this form.
    pub fn is_in(&self, form: results::RunForm) -> bool {
        // What is long differs from what is full in how long it takes.
        let form = if form == results::RunForm::Long { results::RunForm::Full } else { form };
        self.forms.as_ref().is_none_or(|forms| forms.contains(&form))
    }

    /// How many switches probe in this form.
    pub fn probes_in(&self, form: &PlanForm) -> u32 {
        match self.probes {
            0 => 0,
            own => form.probes.unwrap_or(own),
        }
    }

    /// Whether a simulation can stand for a measurement of it.
    fn can_be_simulated(&self) -> bool {
        let said = |metric: &PlanMetric| metric.is_simulated();
        self.simulate && !self.latency && self.metrics.iter().any(said)
    }
}

impl Fewer {
    const fn none() -> Fewer {
        Fewer {
            subjects: None,
            workers: None,
            switches: None,
            macs: None,
            rates: None,
            ibt: None,
            bdu_us: None,
            prt: None,
        }
    }
}

impl Plan {
    /// The points of one form on a machine with so many cores.
    ///
    /// # Errors
    /// A combination that cannot be, without its place.
    pub fn expand(&self, form: results::RunForm, cores: usize) -> Result<Expansion, String> {
        let mut expansion = Expansion { points: Vec::new(), notes: self.said.notes.clone() };
        for (index, run) in self.said.runs.iter().enumerate() {
            if run.get_ref().is_in(form) {
                Combining { plan: self, run: run.get_ref(), index, form, cores }
                    .combine(&mut expansion)?;
            }
        }
        let simulated = |point: &PlanPoint| point.origin == ValueOrigin::Simulated;
        if cores == 1 && !expansion.points.iter().all(simulated) {
            let note = "This machine has one core, which controller and load shared.";
            expansion.notes.push(note.into());
        }
        Ok(expansion)
    }
}

/// One run in one form.
struct Combining<'a> {
    plan: &'a Plan,
    run: &'a PlanRun,
    index: usize,
    form: results::RunForm,
    cores: usize,
}

/// Everything but the subject and the workers.
#[derive(Clone, Copy)]
struct CommonSettings {
    switches: u32,
    macs: u32,
    spread: DemandSpread,
    rate: Option<OfferedRate>,
    ibt: Option<usize>,
    bdu_us: Option<u64>,
    prt: Option<usize>,
}

impl Combining<'_> {
    /// Subjects vary fastest: what is compared is measured side by side.
    fn combine(&self, expansion: &mut Expansion) -> Result<(), String> {
        let lists = self.run.lists(self.form);
        let rests = self.rests(&lists);
        let all_simulated = self.run.x == PlanAxis::Workers
            && self.run.can_be_simulated()
            && lists.workers.iter().any(|workers| !self.fits(*workers));
        for &workers in lists.workers {
            for rest in &rests {
                for name in lists.subjects {
                    self.push(name, workers, *rest, all_simulated, expansion)?;
                }
            }
        }
        Ok(())
    }

    fn rests(&self, lists: &PlanLists<'_>) -> Vec<CommonSettings> {
        fn some<T: Copy>(list: &[T]) -> Vec<Option<T>> {
            if list.is_empty() { vec![None] } else { list.iter().copied().map(Some).collect() }
        }
        let rates = if self.run.steps.is_empty() { some(lists.rates) } else { vec![None] };
        let mut rests = Vec::new();
        for &switches in lists.switches {
            for &macs in lists.macs {
                for &spread in &self.run.spread {
                    for &rate in &rates {
                        for &ibt in &some(lists.ibt) {
                            for &bdu_us in &some(lists.bdu_us) {
                                for &prt in &some(lists.prt) {
                                    let rest = CommonSettings {
                                        switches,
                                        macs,
                                        spread,
                                        rate,
                                        ibt,
                                        bdu_us,
                                        prt,
                                    };
                                    rests.push(rest);
                                }
                            }
                        }
                    }
                }
            }
        }
        rests
    }

    fn push(
        &self,
        name: &str,
        workers: usize,
        rest: CommonSettings,
        all_simulated: bool,
        expansion: &mut Expansion,
    ) -> Result<(), String> {
        let (subject, settings) = self.subject(name, rest)?;
        let unswept = self.unswept(rest);
        // Fixed batching cannot be without its threshold.
        let base = self.subject(name, unswept).unwrap_or((subject.clone(), settings.clone()));
        let mut point = PlanPoint {
            run: self.index,
            settings,
            base,
            series: self.series(name, workers, rest),
            x: self.place(name, workers, rest),
            workers,
            switches: rest.switches,
            macs: rest.macs,
            spread: rest.spread,
            rates: rest.rate.map_or_else(|| self.run.steps.clone(), |rate| vec![rate]),
            origin: ValueOrigin::Measured,
            subject,
        };
        self.bound(&mut point, expansion);
        let fits = self.fits(workers);
        if fits {
            self.note_shared_cores(&point, expansion);
            expansion.points.push(point.clone());
        }
        if !fits || all_simulated {
            self.simulate(PlanPoint { origin: ValueOrigin::Simulated, ..point }, fits, expansion);
        }
        Ok(())
    }

    /// Without the knobs that the run sweeps. A list of one value is no sweep: the design has that
    /// value.
    fn unswept(&self, rest: CommonSettings) -> CommonSettings {
        fn kept<T: Copy>(list: &[T]) -> Option<T> {
            match list {
                &[only] => Some(only),
                _ => None,
            }
        }
        let run = self.run;
        CommonSettings {
            ibt: kept(&run.ibt),
            bdu_us: kept(&run.bdu_us),
            prt: kept(&run.prt),
            ..rest
        }
    }

    /// Whether there is a core for each worker and, unless they share, one for the load. The only
    /// core of a machine is shared.
    fn fits(&self, workers: usize) -> bool {
        workers < self.cores || workers == 1 || self.run.share_cores && workers == self.cores
    }

    /// Says where threads that only read have no core of their own.
    fn note_shared_cores(&self, point: &PlanPoint, expansion: &mut Expansion) {
        let (workers, io_threads) = (point.workers, point.io_threads());
        if io_threads > 0 && workers + io_threads >= self.cores {
            let name = point.subject.name();
            let [working, reading, cores] = [
                counted(workers, "worker"),
                counted(io_threads, "reading thread"),
                counted(workers, "core"),
            ];
            let sentence = format!(
                "{name}: measured, its {working} and {reading} share {cores}; simulated, each has its own."
            );
            note(expansion, sentence);
        }
    }

    fn subject(
        &self,
        name: &str,
        rest: CommonSettings,
    ) -> Result<(PointSubject, Vec<String>), String> {
        if name == "null" {
            return Ok((PointSubject::Null, Vec::new()));
        }
        if let Some(controller) = self.plan.controller(name) {
            return Ok((PointSubject::Foreign(Box::new(controller)), Vec::new()));
        }
        let preset: Design = name.parse().map_err(|unknown| {
            format!("{unknown}; further subjects are null and the [[controller]]s, as {}", {
                super::catalogue::controllers().join(", ")
            })
        })?;
        let knobs =
            PlanKnobs { ibt: rest.ibt, bdu_us: rest.bdu_us, prt: rest.prt, ..self.run.knobs };
        Ok((PointSubject::Design(knobs.over(preset)?), knobs.settings(preset)))
    }

    /// Other controllers may serve fewer.
    fn bound(&self, point: &mut PlanPoint, expansion: &mut Expansion) {
        let PointSubject::Foreign(controller) = &point.subject else { return };
        let name = &controller.name;
        if let Some(most) = controller.switches_max.filter(|most| *most < point.switches) {
            point.switches = most;
            note(expansion, format!("{name} was given {most} switches, the most it serves."));
        }
        if let Some(most) = controller.macs_max.filter(|most| *most < point.macs) {
            point.macs = most;
            let why = "it would be long in learning more";
            note(expansion, format!("{name} was given {most} addresses a switch: {why}."));
        }
    }

    fn simulate(&self, point: PlanPoint, fits: bool, expansion: &mut Expansion) {
        let (workers, io_threads, name) = (point.workers, point.io_threads(), point.subject.name());
        let reading = match io_threads {
            0 => String::new(),
            some => format!(", {}", counted(some, "reading thread")),
        };
        let needs = format!(
            "{workers} workers{reading} and the load need {} cores, and this machine has {}",
            workers + io_threads + 1,
            self.cores
        );
        let PointSubject::Design(design) = &point.subject else {
            if !fits {
                note(expansion, format!("{name}: {needs}; left out, as it cannot be simulated."));
            }
            return;
        };
        if !self.run.can_be_simulated() {
            return note(expansion, format!("{name}: {needs}; left out."));
        }
        if !design.core_binding {
            let why = "a simulated worker never leaves its core";
            return note(expansion, format!("{}: {why}; not simulated.", point.series));
        }
        if !fits {
            note(expansion, format!("More cores than this machine has: simulated. {needs}."));
        }
        let full = point.rates.contains(&OfferedRate::Full);
        for metric in &self.run.metrics {
            if !metric.is_simulated() || metric.is_delay_of_all() && full {
                let why = "a simulation does not say";
                note(expansion, format!("{why} {} here.", metric.name()));
            }
        }
        expansion.points.push(point);
    }

    fn place(&self, name: &str, workers: usize, rest: CommonSettings) -> Option<X> {
        let number = |number: u64| Some(X::Number(number as f64));
        match self.run.x {
            PlanAxis::Workers => number(workers as u64),
            PlanAxis::Switches => number(rest.switches.into()),
            PlanAxis::Macs => number(rest.macs.into()),
            PlanAxis::Ibt => number(rest.ibt? as u64),
            PlanAxis::BduUs => number(rest.bdu_us?),
            PlanAxis::Prt => number(rest.prt? as u64),
            PlanAxis::Subject => Some(X::Word(name.into())),
            PlanAxis::Case => self.run.case.clone().map(X::Word),
            PlanAxis::Load => Some(X::Word(rest.rate?.to_string())),
            PlanAxis::Rate => match rest.rate? {
                OfferedRate::Rps(rps) => Some(X::Number(rps)),
                OfferedRate::Full | OfferedRate::Times(_) => None,
            },
        }
    }

    fn series(&self, name: &str, workers: usize, rest: CommonSettings) -> String {
        let words: [(&str, Option<String>, bool); 8] = self.words(workers, rest);
        if let Some(series) = &self.run.series {
            let named = series.replace("{subject}", name);
            return words.into_iter().fold(named, |series, (key, word, _)| {
                series.replace(&format!("{{{key}}}"), &word.unwrap_or_default())
            });
        }
        let several = words.into_iter().filter(|(_, _, several)| *several);
        several.fold(name.to_owned(), |series, (key, word, _)| {
            let word = word.unwrap_or_default();
            match key {
                "ibt" | "bdu-us" | "prt" => format!("{series}, {key} {word}"),
                _ => format!("{series}, {word}"),
            }
        })
    }

    /// What a legend may say: its key, its word, and whether there are several of them that are not
    /// on the x axis.
    fn words(
        &self,
        workers: usize,
        rest: CommonSettings,
    ) -> [(&'static str, Option<String>, bool); 8] {
        let (lists, x) = (self.run.lists(self.form), self.run.x);
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let size = |number: Option<usize>| number.map(|number| number.to_string());
        [
            (
                "workers",
                Some(counted(workers, "worker")),
                lists.workers.len() > 1 && x != PlanAxis::Workers,
            ),
            (
                "switches",
                Some(counted(rest.switches as usize, "switch")),
                lists.switches.len() > 1 && x != PlanAxis::Switches,
            ),
            (
                "macs",
                Some(format!("{} addresses", rest.macs)),
                lists.macs.len() > 1 && x != PlanAxis::Macs,
            ),
            ("spread", Some(rate::word(rest.spread)), self.run.spread.len() > 1),
            (
                "rate",
                rest.rate.map(|rate| rate.to_string()),
                lists.rates.len() > 1 && !matches!(x, PlanAxis::Rate | PlanAxis::Load),
            ),
            ("ibt", size(rest.ibt), lists.ibt.len() > 1 && x != PlanAxis::Ibt),
            ("bdu-us", number(rest.bdu_us), lists.bdu_us.len() > 1 && x != PlanAxis::BduUs),
            ("prt", size(rest.prt), lists.prt.len() > 1 && x != PlanAxis::Prt),
        ]
    }
}

/// So many of something.
fn counted(count: usize, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}{}", if one == "switch" { "es" } else { "s" }),
    }
}

/// Says it once.
fn note(expansion: &mut Expansion, sentence: String) {
    if !expansion.notes.contains(&sentence) {
        expansion.notes.push(sentence);
    }
}
