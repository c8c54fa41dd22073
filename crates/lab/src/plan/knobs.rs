//! The knobs of a design as a plan turns them: for `aldis run --set`, and for a simulation.
//!
//! Those that a plan sweeps (IBT, BDU, PRT) are lists of their own in a [`super::Run`]; these are
//! the others.

use aldis_control::batching::{Bdu, Ibt};
use aldis_engine::Design;
use aldis_engine::design::{Batching, Write};
use serde::Deserialize;
use std::time::Duration;

/// What is different from the preset. A knob that is not named stays as the preset has it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Knobs {
    /// When a batch is large enough; `fixed` goes with an IBT.
    pub batching: Option<BatchingName>,
    /// When replies are written.
    pub write: Option<WriteName>,
    /// The most bytes that one read may take.
    pub max_read_bytes: Option<usize>,
    /// Whether a worker never leaves its core.
    pub core_binding: Option<bool>,
    /// Whether a request is answered by the worker that read it.
    pub request_binding: Option<bool>,
    /// Whether all replies of a batch to one switch are written together.
    pub output_batching: Option<bool>,
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
pub enum BatchingName {
    /// With what one read brings.
    PerRead,
    /// With as many as the IBT says.
    Fixed,
    /// With as many as serve best, within the BDU.
    Adaptive,
}

/// `batched` or `immediate`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteName {
    /// Together.
    Batched,
    /// Each by itself.
    Immediate,
}

impl Knobs {
    /// The preset with these knobs.
    ///
    /// # Errors
    /// The sentence that says what is out of range, or does not go together.
    pub fn over(&self, preset: Design) -> Result<Design, String> {
        let design = Design {
            read_max: self.max_read_bytes.unwrap_or(preset.read_max),
            batching: self.batching_over(preset.batching)?,
            write: match self.write {
                Some(WriteName::Batched) => Write::Batched,
                Some(WriteName::Immediate) => Write::Immediate,
                None => preset.write,
            },
            core_binding: self.core_binding.unwrap_or(preset.core_binding),
            request_binding: self.request_binding.unwrap_or(preset.request_binding),
            output_batching: self.output_batching.unwrap_or(preset.output_batching),
            prt: self.prt.or(preset.prt),
            ..preset
        };
        let refused = |why| format!("design {}: {why}", preset.name);
        design.check().map_err(|why| refused(why.to_string())).map(|()| design)
    }

    fn batching_over(&self, preset: Batching) -> Result<Batching, String> {
        let ibt = self.ibt.map(Ibt::new).transpose().map_err(|why| why.to_string())?;
        let bdu = self.bdu_us.map(|us| Bdu::new(Duration::from_micros(us))).transpose();
        let bdu = bdu.map_err(|why| why.to_string())?;
        match (self.batching, preset, ibt, bdu) {
            (_, _, Some(_), Some(_)) => Err("an IBT and a BDU: a batch follows one of them".into()),
            (Some(BatchingName::Fixed) | None, _, Some(ibt), None) => Ok(Batching::Fixed(ibt)),
            (Some(BatchingName::Adaptive) | None, _, None, Some(bdu)) => {
                Ok(Batching::Adaptive(bdu))
            }
            (None, preset, None, None) => Ok(preset),
            (Some(BatchingName::PerRead), _, None, None) => Ok(Batching::PerRead),
            (Some(BatchingName::Adaptive), same @ Batching::Adaptive(_), None, None) => Ok(same),
            (Some(BatchingName::Adaptive), _, None, None) => Ok(Batching::ADAPTIVE),
            (Some(BatchingName::Fixed), same @ Batching::Fixed(_), None, None) => Ok(same),
            (Some(BatchingName::Fixed), ..) => {
                Err("fixed batching needs its threshold: give ibt too, in requests".into())
            }
            (Some(BatchingName::PerRead | BatchingName::Adaptive), ..) => {
                Err("ibt goes with fixed batching, and bdu-us with adaptive batching".into())
            }
        }
    }

    /// The same for `aldis run --set`.
    pub fn settings(&self) -> Vec<String> {
        let batching = match (self.batching, self.ibt, self.bdu_us) {
            (_, Some(_), _) => Some("fixed"),
            (_, _, Some(_)) => Some("adaptive"),
            (Some(BatchingName::PerRead), ..) => Some("per-read"),
            (Some(BatchingName::Fixed), ..) => Some("fixed"),
            (Some(BatchingName::Adaptive), ..) => Some("adaptive"),
            (None, None, None) => None,
        };
        let write = self.write.map(|write| match write {
            WriteName::Batched => "batched",
            WriteName::Immediate => "immediate",
        });
        let on_off = |key: &str, on: Option<bool>| on.map(|on| format!("{key}={on}"));
        let settings = [
            batching.map(|name| format!("batching={name}")),
            write.map(|name| format!("write={name}")),
            self.max_read_bytes.map(|bytes| format!("max-read-bytes={bytes}")),
            on_off("core-binding", self.core_binding),
            on_off("request-binding", self.request_binding),
            on_off("output-batching", self.output_batching),
            self.ibt.map(|ibt| format!("ibt={ibt}")),
            self.bdu_us.map(|us| format!("bdu-us={us}")),
            self.prt.map(|prt| format!("prt={prt}")),
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
            assert_eq!(Knobs::default().over(design), Ok(design));
            assert!(Knobs::default().settings().is_empty());
        }
    }

    #[test]
    fn a_threshold_fixes_the_batch_and_a_bound_lets_it_adapt() {
        let fixed = Knobs { ibt: Some(512), ..Knobs::default() };
        let design = fixed.over(preset("maestro-round-robin")).unwrap();
        assert_eq!(design.batching, Batching::Fixed(Ibt::new(512).unwrap()));
        assert_eq!(fixed.settings(), ["batching=fixed", "ibt=512"]);
        let bound = Knobs { bdu_us: Some(3000), ..Knobs::default() };
        let design = bound.over(preset("nox")).unwrap();
        assert_eq!(
            design.batching,
            Batching::Adaptive(Bdu::new(Duration::from_millis(3)).unwrap())
        );
        assert_eq!(bound.settings(), ["batching=adaptive", "bdu-us=3000"]);
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let queue = preset("maestro-shared-queue");
        for (knobs, design, why) in [
            (Knobs { ibt: Some(9), ..Knobs::default() }, queue, "10"),
            (Knobs { ibt: Some(10), bdu_us: Some(9), ..Knobs::default() }, queue, "one of them"),
            (Knobs { write: Some(WriteName::Immediate), ..Knobs::default() }, queue, "choose one"),
            (
                Knobs { batching: Some(BatchingName::Fixed), ..Knobs::default() },
                queue,
                "give ibt too",
            ),
            (
                Knobs { batching: Some(BatchingName::PerRead), ibt: Some(20), ..Knobs::default() },
                queue,
                "goes with fixed",
            ),
            (Knobs { request_binding: Some(true), ..Knobs::default() }, queue, "another thread"),
            (
                Knobs { prt: Some(9), ..Knobs::default() },
                preset("beacon"),
                "needs requests that wait",
            ),
        ] {
            let refused = knobs.over(design).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
