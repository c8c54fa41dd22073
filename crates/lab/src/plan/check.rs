//! What a plan may not say, beyond its types: with the byte where it says it.

use super::{OfferedRate, Plan, PlanAxis, PlanForm, PlanMetric, PlanRun};
use crate::results;
use aldis_emulator::load::{MACS_MAX, SWITCHES_MAX, WINDOW_MAX};
use aldis_engine::Design;
use aldis_engine::design::Read;
use aldis_engine::sim::SIMULATED_WORKERS_MAX;

/// The longest a form may take, in seconds: a minute, and four hours where the user chose to wait.
const QUICK_SECONDS_MAX: u32 = 60;
const FULL_SECONDS_MAX: u32 = 4 * 3600;

/// The longest time a point is measured, in milliseconds: ten minutes.
const MEASURE_MS_MAX: u32 = 600_000;

/// The most repeats of a point.
const REPEATS_MAX: u32 = 100;

/// The most requests of a simulated point.
const SIMULATED_REQUESTS_MAX: u64 = 1_000_000_000;

/// The most points of a form: more have nowhere to be drawn.
const POINTS_MAX: usize = 2000;

/// Where something is wrong, and what.
type PlanFault = (usize, String);

impl Plan {
    pub(super) fn check(&self) -> Result<(), PlanFault> {
        let top = |why: String| (0, why);
        for (name, form, most) in [
            ("quick", Some(&self.said.quick), QUICK_SECONDS_MAX),
            ("full", Some(&self.said.full), FULL_SECONDS_MAX),
            ("long", self.said.long.as_ref(), FULL_SECONDS_MAX),
        ] {
            let Some(form) = form else { continue };
            let at = self.text.find(&format!("[{name}]")).unwrap_or_default();
            form.check(most).map_err(|why| (at, format!("[{name}]: {why}")))?;
        }
        for controller in &self.said.controllers {
            controller.get_ref().check().map_err(|why| (controller.span().start, why))?;
        }
        if self.said.runs.is_empty() {
            return Err(top("there is no [[run]]".into()));
        }
        for run in &self.said.runs {
            let at = |why: String| (run.span().start, format!("this [[run]]: {why}"));
            run.get_ref().check().map_err(at)?;
        }
        self.check_points()?;
        crate::figure::check(&self.said.plots, &self.said.papers).map_err(top)?;
        self.check_plots()
    }

    /// A combination that cannot be is found by trying all of them.
    fn check_points(&self) -> Result<(), PlanFault> {
        for form in [results::RunForm::Quick, results::RunForm::Full] {
            for run in &self.said.runs {
                let alone = Plan {
                    said: super::PlanFile { runs: vec![run.clone()], ..self.said.clone() },
                    ..self.clone()
                };
                let at = |why| (run.span().start, format!("this [[run]]: {why}"));
                let points =
                    alone.expand(form, SIMULATED_WORKERS_MAX + 1).map_err(at)?.points.len();
                if points > POINTS_MAX {
                    let why = format!("{points} points; accepted are {POINTS_MAX}");
                    return Err(at(why));
                }
            }
        }
        Ok(())
    }

    /// A plot of what is not measured would be empty.
    fn check_plots(&self) -> Result<(), PlanFault> {
        let measured = |name: &str| {
            let mut runs = self.said.runs.iter().flat_map(|run| &run.get_ref().metrics);
            runs.any(|metric| metric.name() == name)
        };
        for axis in self.said.plots.iter().flat_map(|plot| plot.metrics()) {
            if !measured(&axis.metric) {
                let at = self.text.find(&format!("\"{}\"", axis.metric)).unwrap_or_default();
                return Err((at, format!("no [[run]] measures the metric `{}`", axis.metric)));
            }
        }
        Ok(())
    }
}

impl PlanForm {
    fn check(&self, seconds_max: u32) -> Result<(), String> {
        let within = |key: &str, number: u64, least: u64, most: u64| match number {
            number if (least..=most).contains(&number) => Ok(()),
            number => Err(format!("{key} = {number}; accepted are {least} to {most}")),
        };
        within("seconds", self.seconds.into(), 1, seconds_max.into())?;
        within("repeats", self.repeats.into(), 1, REPEATS_MAX.into())?;
        within("warm-up-ms", self.warm_up_ms.into(), 0, MEASURE_MS_MAX.into())?;
        within("measure-ms", self.measure_ms.into(), 50, MEASURE_MS_MAX.into())?;
        within("simulated-requests", self.simulated_requests, 1000, SIMULATED_REQUESTS_MAX)
    }
}

impl PlanRun {
    fn check(&self) -> Result<(), String> {
        self.check_lists(results::RunForm::Full)?;
        self.check_lists(results::RunForm::Quick)?;
        self.check_mode()?;
        self.check_axis()?;
        self.metrics.iter().try_for_each(|metric| self.check_metric(*metric))
    }

    fn check_lists(&self, form: results::RunForm) -> Result<(), String> {
        let lists = self.lists(form);
        let several = [
            ("subjects", lists.subjects.len()),
            ("workers", lists.workers.len()),
            ("switches", lists.switches.len()),
            ("macs", lists.macs.len()),
            ("spread", self.spread.len()),
            ("rates", lists.rates.len()),
            ("metrics", self.metrics.len()),
        ];
        if let Some((key, _)) = several.into_iter().find(|(_, count)| *count == 0) {
            return Err(format!("{key} is empty"));
        }
        let most = SIMULATED_WORKERS_MAX;
        if let Some(wrong) = lists.workers.iter().find(|count| !(1..=most).contains(*count)) {
            return Err(format!("{wrong} workers; accepted are 1 to {most}"));
        }
        if let Some(wrong) = lists
            .switches
            .iter()
            .find(|count| !(1..=SWITCHES_MAX - self.probes.min(100)).contains(count))
        {
            return Err(format!(
                "{wrong} switches; accepted are 1 to {SWITCHES_MAX}, with those that probe"
            ));
        }
        match lists.macs.iter().find(|count| !(1..=MACS_MAX).contains(count)) {
            Some(wrong) => Err(format!("{wrong} addresses a switch; accepted are 1 to {MACS_MAX}")),
            None => Ok(()),
        }
    }

    fn check_mode(&self) -> Result<(), String> {
        let divided = self.subjects.iter().any(|subject| {
            let design = subject.parse::<Design>();
            design.is_ok_and(|design| matches!(design.read, Read::DynamicPartition { .. }))
        });
        if self.knobs.divides() && !divided {
            return Err("`period-ms` and `hysteresis-pct` are knobs of dynamic partition, which is not among the subjects".into());
        }
        if self.probes > 100 {
            return Err(format!("{} probing switches; accepted are 0 to 100", self.probes));
        }
        if !(self.probe_rate > 0.0 && self.probe_rate <= 100.0) {
            return Err(format!("probe-rate = {}; accepted is up to 100", self.probe_rate));
        }
        if self.latency && self.outstanding.is_some() {
            return Err("latency means one request outstanding: leave `outstanding` out".into());
        }
        if self.outstanding.is_some_and(|window| !(1..=WINDOW_MAX).contains(&window)) {
            return Err(format!("outstanding: accepted are 1 to {WINDOW_MAX}"));
        }
        let rated = self.rates != [OfferedRate::Full];
        if !self.steps.is_empty() && (rated || self.quick.rates.is_some()) {
            return Err("`steps` and `rates`: choose one".into());
        }
        if self.steps.contains(&OfferedRate::Full) {
            return Err("a step has a rate: \"full\" has none; write \"2.35x\"".into());
        }
        if self.latency && (rated || !self.steps.is_empty()) {
            return Err(
                "with latency a switch asks when it was answered: leave the rates out".into()
            );
        }
        match self.ibt.is_empty() || self.bdu_us.is_empty() {
            true => Ok(()),
            false => Err("`ibt` and `bdu-us`: a batch follows one of them".into()),
        }
    }

    fn check_axis(&self) -> Result<(), String> {
        let missing = |key: &str| Err(format!("`{key}` stands on the x axis and is not given"));
        let rates = self.rates.iter().chain(self.quick.rates.iter().flatten());
        match self.x {
            PlanAxis::Ibt if self.ibt.is_empty() => missing("ibt"),
            PlanAxis::BduUs if self.bdu_us.is_empty() => missing("bdu-us"),
            PlanAxis::Prt if self.prt.is_empty() => missing("prt"),
            PlanAxis::Case if self.case.is_none() => missing("case"),
            PlanAxis::Rate | PlanAxis::Load if !self.steps.is_empty() => missing("rates"),
            PlanAxis::Rate if rates.into_iter().any(|rate| *rate == OfferedRate::Full) => {
                Err("\"full\" is no number of requests a second: take x = \"load\"".into())
            }
            _ if self.case.is_some() && self.x != PlanAxis::Case => {
                Err("`case` needs x = \"case\"".into())
            }
            _ => Ok(()),
        }
    }

    fn check_metric(&self, metric: PlanMetric) -> Result<(), String> {
        let name = metric.name();
        if metric.needs_probes() && self.probes == 0 {
            return Err(format!("{name} needs probing switches: give `probes`"));
        }
        if metric.needs_steps() && self.steps.is_empty() {
            return Err(format!("{name} needs `steps`"));
        }
        let latency = matches!(
            metric,
            PlanMetric::LatencyMean | PlanMetric::LatencyP50 | PlanMetric::LatencyP99
        );
        match latency == self.latency || metric == PlanMetric::Throughput {
            true => Ok(()),
            false if latency => Err(format!("{name} needs `latency = true`")),
            false => Err(format!("{name} is not measured with `latency = true`")),
        }
    }
}
