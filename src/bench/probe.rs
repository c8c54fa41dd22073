//! Switches that probe: their options, and what they saw in words.

use super::args::number;
use super::table::delay_words;
use aldis_emulator::load::{self, Probes};

/// How many switches probe, and how often.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ProbeArgs {
    /// N further switches that send a few requests a second each, at times of chance and whether or
    /// not the earlier ones were answered; every delay is recorded, by a thread of their own.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=i64::from(load::SWITCHES_MAX)))]
    pub(crate) probes: u32,
    /// Requests a second of each probing switch: above 0, at most 100.
    #[arg(long, value_name = "RPS", default_value_t = 5.0, value_parser = rate)]
    pub(crate) probe_rate: f64,
}

fn rate(text: &str) -> Result<f64, String> {
    match number(text) {
        Some(rate) if rate > 0.0 && rate <= load::PROBE_RATE_MAX => Ok(rate),
        _ => Err("a number of requests a second is wanted, above 0 and at most 100".into()),
    }
}

/// Their delays, and how long their own thread was late, in microseconds.
pub(crate) fn words(probes: &Probes) -> String {
    let wait = probes.processor_wait.as_secs_f64() * 1e6;
    format!("{} · {wait:.1} waited for a processor", delay_words(&probes.delay))
}
