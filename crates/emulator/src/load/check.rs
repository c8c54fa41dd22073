//! Whether a run can be as it is described.

use super::OnOff;
use super::{
    DPID_MAX, DemandRate, DemandSpread, HOT_PORT_MAX, Load, LoadFailure, MACS_MAX, Mode,
    ON_OFF_MAX, PARTS_MAX, PORTS_MAX, PORTS_MAX_V10, PROBE_RATE_MAX, RATE_MAX, SLOW_RATE_MAX,
    STEPS_MAX, SWITCHES_MAX, THREADS_MAX, WEIGHT_MAX, WINDOW_MAX,
};
use aldis_wire::Version;
use std::time::Duration;

impl Load {
    /// # Errors
    /// The first field that is out of its range.
    pub(crate) fn check(&self) -> Result<(), LoadFailure> {
        let checks = self.checks_of_switches().into_iter().chain(self.checks_of_load());
        match checks.into_iter().find(|&(holds, ..)| !holds) {
            Some((_, field, accepted)) => Err(LoadFailure::OutOfRange { field, accepted }),
            None => Ok(()),
        }
    }

    fn checks_of_switches(&self) -> [(bool, &'static str, &'static str); 9] {
        [
            (
                self.switches >= 1 && self.switches_in_all() <= SWITCHES_MAX,
                "the number of switches",
                "1 to 10,000",
            ),
            (
                (1..=MACS_MAX).contains(&self.macs),
                "the number of addresses a switch",
                "1 to 1,000,000",
            ),
            ((2..=PORTS_MAX).contains(&self.ports), "the number of ports", "2 to 4,095"),
            (
                self.version != Version::V10 || self.ports <= PORTS_MAX_V10,
                "the number of ports with OpenFlow 1.0, whose FEATURES_REPLY has to hold them all,",
                "2 to 1,364",
            ),
            (
                (1..=HOT_PORT_MAX).contains(&self.hot_port),
                "how many times the rate of the others a hot port has",
                "1 to 1,000",
            ),
            (
                is_rate(self.probe_rate, PROBE_RATE_MAX),
                "the rate of a probing switch",
                "above 0 and at most 100 a second",
            ),
            (
                (1..=SLOW_RATE_MAX).contains(&self.slow_rate),
                "the rate of a slow reader",
                "1 to 1,000,000,000 bytes a second",
            ),
            (self.weights_are_valid(), "a weight", "0.000001 to 1,000,000"),
            (
                (1..=DPID_MAX - SWITCHES_MAX).contains(&self.first_dpid),
                "the first datapath id",
                "1 to 55,535",
            ),
        ]
    }

    fn checks_of_load(&self) -> [(bool, &'static str, &'static str); 12] {
        [
            (self.window_is_valid(), "the number of requests outstanding", "1 to 262,144"),
            (self.rate_is_valid(), "the rate", "above 0 and at most 1,000,000,000 a second"),
            (
                self.steps_are_valid(),
                "the steps of the rate",
                "1 to 100, each a millisecond or more",
            ),
            (self.spread_is_valid(), "the exponent of a Zipf distribution", "0 to 10"),
            ((1..=THREADS_MAX).contains(&self.threads), "the number of threads", "1 to 64"),
            (self.loops >= 1, "the number of loops", "1 or more"),
            (
                (1..=self.loops.min(STEPS_MAX as u32)).contains(&self.slices),
                "the number of slices",
                "1 to 100 and no more than there are loops",
            ),
            (
                (1..=PARTS_MAX).contains(&self.part.of) && self.part.index < self.part.of,
                "the number of parts",
                "1 to 64, and the index of each below it",
            ),
            (
                self.on_off.is_none_or(|on_off| is_on_off(&on_off)),
                "a time of being on or off",
                "1 ms (off: 0) to 3600 s, the least no more than the most",
            ),
            (
                self.on_off.is_none() || self.rate != DemandRate::Unlimited,
                "the load of switches that are on and off",
                "one with a rate",
            ),
            (self.loop_length.as_millis() >= 1, "the length of a loop", "a millisecond or more"),
            (self.connect_group >= 1, "the number of switches that connect at once", "1 or more"),
        ]
    }

    fn weights_are_valid(&self) -> bool {
        self.weights.iter().all(|weight| (1.0 / WEIGHT_MAX..=WEIGHT_MAX).contains(weight))
    }

    fn window_is_valid(&self) -> bool {
        !matches!(self.mode, Mode::Window(window) if !(1..=WINDOW_MAX).contains(&window))
    }

    fn rate_is_valid(&self) -> bool {
        match &self.rate {
            DemandRate::Unlimited => true,
            DemandRate::Total(rate) | DemandRate::PerSwitch(rate) => is_rate(*rate, RATE_MAX),
            DemandRate::Steps(steps) => steps.iter().all(|step| is_rate(step.rate, RATE_MAX)),
        }
    }

    fn steps_are_valid(&self) -> bool {
        let DemandRate::Steps(steps) = &self.rate else { return true };
        (1..=STEPS_MAX).contains(&steps.len())
            && steps.iter().all(|step| step.length.as_millis() >= 1)
    }

    fn spread_is_valid(&self) -> bool {
        !matches!(self.spread, DemandSpread::Zipf(exponent) if !(0.0..=10.0).contains(&exponent))
    }
}

fn is_on_off(OnOff { on, off }: &OnOff) -> bool {
    let is_span = |(least, most): (Duration, Duration)| least <= most && most <= ON_OFF_MAX;
    is_span(*on) && is_span(*off) && on.0.as_millis() >= 1
}

fn is_rate(rate: f64, most: f64) -> bool {
    rate > 0.0 && rate <= most
}
