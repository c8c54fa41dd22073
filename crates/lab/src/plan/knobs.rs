//! The knobs of a design as a plan turns them: for `aldis run --set`, and for a simulation.
//!
//! Those that a plan sweeps (IBT, BDU, PRT) are lists of their own in a [`super::PlanRun`]; these
//! are the others.

use aldis_control::batching::{Bdu, Ibt};
use aldis_engine::Design;
use aldis_engine::design::{Batching, Read, Write};
use serde::Deserialize;
use std::time::Duration;

/// What is different from the preset. A knob that is not named stays as the preset has it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlanKnobs {
    /// When a batch is large enough; `fixed` goes with an IBT.
    pub batching: Option<PlanBatching>,
    /// When replies are written.
    pub write: Option<PlanWrite>,
    /// The most bytes that one read may take.
    pub max_read_bytes: Option<usize>,
    /// Whether a worker never leaves its core.
    pub core_binding: Option<bool>,
    /// Whether one worker does all of a request from parsing on.
    pub request_binding: Option<bool>,
    /// Whether all replies of a batch to one switch are written together.
    pub output_batching: Option<bool>,
    /// Whether what is urgent of a switch passes what waits of it.
    pub priorities: Option<bool>,
    /// How often dynamic partition divides switches anew, in milliseconds; other designs of the run
    /// take no notice.
    pub period_ms: Option<u32>,
    /// What its busiest worker has to get rid of before a switch moves, in percent, likewise.
    pub hysteresis_pct: Option<u32>,
    /// Input batching threshold, in requests.
    #[serde(skip)]
    pub ibt: Option<usize>,
    /// Batching delay upper bound, in microseconds.
    #[serde(skip)]
    pub bdu_us: Option<u64>,
    /// Pending request threshold, in requests.
    #[serde(skip)]
    pub prt: Option<usize>,
}

/// `per-read`, `fixed` or `adaptive`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanBatching {
    /// With what one read brings.
    PerRead,
    /// With as many as the IBT says.
    Fixed,
    /// With as many as serve best, within the BDU.
    Adaptive,
}

/// `batched`, `immediate` or `per-loop`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanWrite {
    /// Together.
    Batched,
    /// Each by itself.
    Immediate,
    /// The first of an I/O loop by itself, the others in the next.
    PerLoop,
}

impl PlanKnobs {
    /// The preset with these knobs.
    ///
    /// # Errors
    /// The sentence that says what is out of range, or does not go together.
    pub fn over(&self, preset: Design) -> Result<Design, String> {
        let design = Design {
            read: self.read_over(preset.read),
            read_max: self.max_read_bytes.unwrap_or(preset.read_max),
            batching: self.batching_over(preset.batching)?,
            write: match self.write {
                Some(PlanWrite::Batched) => Write::Batched,
                Some(PlanWrite::Immediate) => Write::Immediate,
                Some(PlanWrite::PerLoop) => Write::PerLoop,
                None => preset.write,
            },
            core_binding: self.core_binding.unwrap_or(preset.core_binding),
            request_binding: self.request_binding.unwrap_or(preset.request_binding),
            output_batching: self.output_batching.unwrap_or(preset.output_batching),
            priorities: self.priorities.unwrap_or(preset.priorities),
            prt: self.prt.or(preset.prt),
            ..preset
        };
        let refused = |why| format!("design {}: {why}", preset.name);
        design.check().map_err(|why| refused(why.to_string())).map(|()| design)
    }

    fn read_over(&self, mut preset: Read) -> Read {
        if let Read::DynamicPartition { period, hysteresis } = &mut preset {
            let ms = self.period_ms.map(|ms| Duration::from_millis(ms.into()));
            *period = ms.unwrap_or(*period);
            *hysteresis = self.hysteresis_pct.unwrap_or(*hysteresis);
        }
        preset
    }

    /// Whether it says how switches are divided, which one design alone can be told.
    pub fn divides(&self) -> bool {
        self.period_ms.is_some() || self.hysteresis_pct.is_some()
    }

    fn batching_over(&self, preset: Batching) -> Result<Batching, String> {
        let ibt = self.ibt.map(Ibt::new).transpose().map_err(|why| why.to_string())?;
        let bdu = self.bdu_us.map(|us| Bdu::new(Duration::from_micros(us))).transpose();
        let bdu = bdu.map_err(|why| why.to_string())?;
        match (self.batching, preset, ibt, bdu) {
            (_, _, Some(_), Some(_)) => Err("an IBT and a BDU: a batch follows one of them".into()),
            (Some(PlanBatching::Fixed) | None, _, Some(ibt), None) => Ok(Batching::Fixed(ibt)),
            (Some(PlanBatching::Adaptive) | None, _, None, Some(bdu)) => {
                Ok(Batching::Adaptive(bdu))
            }
            (None, preset, None, None) => Ok(preset),
            (Some(PlanBatching::PerRead), _, None, None) => Ok(Batching::PerRead),
            (Some(PlanBatching::Adaptive), same @ Batching::Adaptive(_), None, None) => Ok(same),
            (Some(PlanBatching::Adaptive), _, None, None) => Ok(Batching::ADAPTIVE),
            (Some(PlanBatching::Fixed), same @ Batching::Fixed(_), None, None) => Ok(same),
            (Some(PlanBatching::Fixed), ..) => {
                Err("fixed batching needs its threshold: give ibt too, in requests".into())
            }
            (Some(PlanBatching::PerRead | PlanBatching::Adaptive), ..) => {
                Err("ibt goes with fixed batching, and bdu-us with adaptive batching".into())
            }
        }
    }

    /// The same for `aldis run --set`, under this preset.
    pub fn settings(&self, preset: Design) -> Vec<String> {
        let divides = matches!(preset.read, Read::DynamicPartition { .. });
        let [period, hysteresis] =
            [self.period_ms, self.hysteresis_pct].map(|knob| knob.filter(|_| divides));
        let batching = match (self.batching, self.ibt, self.bdu_us) {
            (_, Some(_), _) => Some("fixed"),
            (_, _, Some(_)) => Some("adaptive"),
            (Some(PlanBatching::PerRead), ..) => Some("per-read"),
            (Some(PlanBatching::Fixed), ..) => Some("fixed"),
            (Some(PlanBatching::Adaptive), ..) => Some("adaptive"),
            (None, None, None) => None,
        };
        let write = self.write.map(|write| match write {
            PlanWrite::Batched => "batched",
            PlanWrite::Immediate => "immediate",
            PlanWrite::PerLoop => "per-loop",
        });
        let on_off = |key: &str, on: Option<bool>| on.map(|on| format!("{key}={on}"));
        let settings = [
            batching.map(|name| format!("batching={name}")),
            write.map(|name| format!("write={name}")),
            self.max_read_bytes.map(|bytes| format!("max-read-bytes={bytes}")),
            on_off("core-binding", self.core_binding),
            on_off("request-binding", self.request_binding),
            on_off("output-batching", self.output_batching),
            on_off("priorities", self.priorities),
            self.ibt.map(|ibt| format!("ibt={ibt}")),
            self.bdu_us.map(|us| format!("bdu-us={us}")),
            self.prt.map(|prt| format!("prt={prt}")),
            period.map(|ms| format!("period-ms={ms}")),
            hysteresis.map(|percent| format!("hysteresis-pct={percent}")),
        ];
        settings.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preset(name: &str) -> Design {
        name.parse().unwrap()
    }

    #[test]
    fn nothing_said_is_the_preset() {
        for design in Design::ALL {
            assert_eq!(PlanKnobs::default().over(design), Ok(design));
            assert!(PlanKnobs::default().settings(design).is_empty());
        }
    }

    #[test]
    fn a_threshold_fixes_the_batch_and_a_bound_lets_it_adapt() {
        let fixed = PlanKnobs { ibt: Some(512), ..PlanKnobs::default() };
        let design = fixed.over(preset("maestro-round-robin")).unwrap();
        assert_eq!(design.batching, Batching::Fixed(Ibt::new(512).unwrap()));
        assert_eq!(fixed.settings(design), ["batching=fixed", "ibt=512"]);
        let bound = PlanKnobs { bdu_us: Some(3000), ..PlanKnobs::default() };
        let design = bound.over(preset("nox")).unwrap();
        assert_eq!(
            design.batching,
            Batching::Adaptive(Bdu::new(Duration::from_millis(3)).unwrap())
        );
        assert_eq!(bound.settings(design), ["batching=adaptive", "bdu-us=3000"]);
    }

    #[test]
    fn only_dynamic_partition_is_told_how_to_divide() {
        let knobs =
            PlanKnobs { period_ms: Some(50), hysteresis_pct: Some(0), ..PlanKnobs::default() };
        let design = knobs.over(preset("maestro-dynamic-partition")).unwrap();
        let period = Duration::from_millis(50);
        assert_eq!(design.read, Read::DynamicPartition { period, hysteresis: 0 });
        assert_eq!(knobs.settings(design), ["period-ms=50", "hysteresis-pct=0"]);
        assert_eq!(knobs.over(preset("nox")), Ok(preset("nox")));
        assert!(knobs.settings(preset("nox")).is_empty());
        let often = PlanKnobs { period_ms: Some(9), ..knobs };
        let refused = often.over(preset("maestro-dynamic-partition")).unwrap_err();
        assert!(refused.contains("10 ms or more"), "{refused}");
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let queue = preset("maestro-shared-queue");
        for (knobs, design, why) in [
            (PlanKnobs { ibt: Some(0), ..PlanKnobs::default() }, queue, "1 request"),
            (
                PlanKnobs { ibt: Some(10), bdu_us: Some(9), ..PlanKnobs::default() },
                queue,
                "one of them",
            ),
            (
                PlanKnobs { write: Some(PlanWrite::Immediate), ..PlanKnobs::default() },
                queue,
                "choose one",
            ),
            (
                PlanKnobs { batching: Some(PlanBatching::Fixed), ..PlanKnobs::default() },
                queue,
                "give ibt too",
            ),
            (
                PlanKnobs {
                    batching: Some(PlanBatching::PerRead),
                    ibt: Some(20),
                    ..PlanKnobs::default()
                },
                queue,
                "goes with fixed",
            ),
            (
                PlanKnobs { prt: Some(9), ..PlanKnobs::default() },
                preset("beacon"),
                "needs requests that wait",
            ),
        ] {
            let refused = knobs.over(design).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
