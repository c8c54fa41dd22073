//! The load that the hosts of an emulated network offer: its options, and what became of it in
//! words and as JSON.

use crate::bench::args::{SCENARIOS, on_off, positive, spread, step};
use aldis_emulator::load::{DemandSpread, OnOff, RateStep};
use aldis_emulator::network::{
    FLOW_PACKETS_MAX, FRAME_LEN, HostLoad, HostLoadFate, OfferedPhase, OfferedSwitch, PEERS_MAX,
};
use serde_json::{Value, json};
use std::time::Duration;

/// How long it lasts where the options do not say.
const LENGTH: Duration = Duration::from_secs(10);

/// Offer load: packets from host to host, over the flows that the controller sets.
#[derive(clap::Args)]
#[command(next_help_heading = "Offered load")]
pub(super) struct LoadArgs {
    /// Hosts send so many packets a second, all together, for as long as --for says, 10 s
    /// otherwise: up to 1,000,000.
    #[arg(long, value_name = "PPS", value_parser = positive)]
    load: Option<f64>,
    /// One rate after another, for example 1000x10,5000x2.5 (packets a second, seconds).
    #[arg(long, value_name = "PPSxSECONDS,…", value_delimiter = ',', value_parser = step, conflicts_with_all = ["load", "scenario"])]
    load_steps: Vec<RateStep>,
    /// As Maestro's figure 6 divides it: 1 is 4,000,000 a second nearly uniform, 2 the same skewed,
    /// 3 is 1,400,000 skewed, 4 is 850,000 skewed; with --scale, because no network in one thread
    /// carries as much.
    #[arg(long, value_name = "1-4", value_parser = clap::value_parser!(u8).range(1..=4), conflicts_with_all = ["load", "spread"])]
    scenario: Option<u8>,
    /// Multiply all these rates: 0.001 is a thousandth of them.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = positive)]
    scale: f64,
    /// How a rate is divided among the switches that have hosts: even, near-uniform, skewed
    /// (zipf:1) or zipf:S, as in aldis bench.
    #[arg(long, value_name = "HOW", default_value = "even", value_parser = spread)]
    spread: DemandSpread,
    /// The hosts of every switch are on for ON seconds and off for OFF seconds, round and round, as
    /// in aldis bench: 1,4 or 0.5-2,1-3.
    #[arg(long, value_name = "ON,OFF", value_parser = on_off)]
    on_off: Option<OnOff>,
    /// How many others each host sends to, drawn once from --seed; they find each other with a ping
    /// beforehand.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=i64::from(PEERS_MAX)))]
    peers: u32,
    /// Packets of a host that follow each other to one peer and from one UDP port; then come
    /// another peer and the next port.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(FLOW_PACKETS_MAX)))]
    flow_packets: u32,
    /// Bytes of a frame, without the checksum.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(i64::from(*FRAME_LEN.start())..=i64::from(*FRAME_LEN.end())))]
    frame_bytes: u32,
}

impl LoadArgs {
    /// What they ask for, if anything; `length` is what --for says.
    pub(super) fn offer(
        &self,
        length: Option<Duration>,
        v6: bool,
    ) -> Result<Option<HostLoad>, String> {
        let length = length.unwrap_or(LENGTH);
        let scenario = self.scenario.map(|number| SCENARIOS[usize::from(number) - 1]);
        let rate = self.load.or(scenario.map(|(rate, _)| rate));
        let steps = match rate {
            Some(rate) => vec![RateStep { rate, length }],
            None => self.load_steps.clone(),
        };
        if steps.is_empty() {
            let is_asked = self.on_off.is_some() || self.spread != DemandSpread::Even;
            return match is_asked {
                true => Err("--spread and --on-off divide a rate: say --load, --load-steps or --scenario as well".into()),
                false => Ok(None),
            };
        }
        let scaled = |step: RateStep| RateStep { rate: step.rate * self.scale, ..step };
        Ok(Some(HostLoad {
            steps: steps.into_iter().map(scaled).collect(),
            spread: scenario.map_or(self.spread, |(_, spread)| spread),
            on_off: self.on_off,
            peers: self.peers,
            flow_packets: self.flow_packets,
            frame_len: self.frame_bytes,
            v6,
        }))
    }
}

/// A line for each rate, and one that names the switches that offered the most and the least.
pub(super) fn words(offered: &HostLoadFate) -> Vec<String> {
    let mut lines: Vec<String> = offered.phases.iter().map(phase).collect();
    let by_sent = |switch: &&OfferedSwitch| switch.sent;
    let most = offered.switches.iter().max_by_key(by_sent);
    let least = offered.switches.iter().min_by_key(by_sent);
    if let (Some(most), Some(least)) = (most, least)
        && most.switch != least.switch
    {
        let told = |switch: &OfferedSwitch| {
            format!("s{}: {} sent, {} arrived", switch.switch, switch.sent, switch.arrived)
        };
        lines.push(format!("most from {}; least from {}", told(most), told(least)));
    }
    lines
}

fn phase(phase: &OfferedPhase) -> String {
    let cut = match phase.length < phase.planned {
        true => format!(" of {:.3} s", phase.planned.as_secs_f64()),
        false => String::new(),
    };
    let mut text = format!(
        "{} packets/s for {:.3} s{cut}: {} sent, {} arrived",
        (phase.rate * 1e6).round() / 1e6,
        phase.length.as_secs_f64(),
        phase.sent,
        phase.arrived
    );
    let also = [
        (phase.again, "copies more"),
        (phase.unaddressed, "not sent for want of an address"),
        (phase.missed, "not sent in time: the emulator is the limit"),
    ];
    for (count, what) in also.into_iter().filter(|(count, _)| *count > 0) {
        text += &format!(", {count} {what}");
    }
    if phase.arrived > 0 {
        let ms = |ns: u64| ns as f64 / 1e6;
        let delay = &phase.delay;
        text += &format!(
            "; delay {:.3} ms (median), {:.3} (p99), {:.3} (longest)",
            ms(delay.value_at_quantile(0.5)),
            ms(delay.value_at_quantile(0.99)),
            ms(delay.max())
        );
    }
    text
}

/// All of it; times are in seconds.
pub(super) fn object(offered: &HostLoadFate) -> Value {
    let phase = |phase: &OfferedPhase| {
        let s = |ns: u64| (phase.arrived > 0).then_some(ns as f64 / 1e9);
        json!({
            "rate": phase.rate,
            "length_s": phase.length.as_secs_f64(),
            "planned_s": phase.planned.as_secs_f64(),
            "due": phase.due,
            "sent": phase.sent,
            "missed": phase.missed,
            "unaddressed": phase.unaddressed,
            "arrived": phase.arrived,
            "copies": phase.again,
            "delay_s": {
                "mean": s(phase.delay.mean() as u64),
                "median": s(phase.delay.value_at_quantile(0.5)),
                "p99": s(phase.delay.value_at_quantile(0.99)),
                "max": s(phase.delay.max()),
            },
        })
    };
    let switch = |switch: &OfferedSwitch| {
        json!({
            "switch": format!("s{}", switch.switch), "sent": switch.sent, "arrived": switch.arrived,
        })
    };
    json!({
        "pairs": offered.pairs,
        "found": offered.found,
        "finding_s": offered.finding.as_secs_f64(),
        "phases": offered.phases.iter().map(phase).collect::<Vec<Value>>(),
        "switches": offered.switches.iter().map(switch).collect::<Vec<Value>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: LoadArgs,
    }

    fn offer(words: &str) -> Result<Option<HostLoad>, String> {
        let all = ["emulate"].into_iter().chain(words.split_whitespace());
        Command::try_parse_from(all).unwrap().args.offer(Some(Duration::from_secs(3)), false)
    }

    #[test]
    fn options_become_an_offer() {
        assert_eq!(offer(""), Ok(None));
        let second = Duration::from_secs(1);
        assert_eq!(offer("--load 500"), Ok(Some(HostLoad::new(500.0, 3 * second))));
        let scenario = offer("--scenario 3 --scale 0.001 --peers 2").unwrap().unwrap();
        assert_eq!((scenario.steps[0].rate, scenario.spread), (1400.0, DemandSpread::Zipf(1.0)));
        assert_eq!(scenario.peers, 2);
        let steps = offer("--load-steps 100x1,20x2 --on-off 1,1").unwrap().unwrap();
        let expected = [(100.0, second), (20.0, 2 * second)];
        assert!(steps.steps.iter().map(|step| (step.rate, step.length)).eq(expected));
        assert!(offer("--spread skewed").unwrap_err().contains("--load"));
    }

    /// Maestro's figure 6: its rates, how each is divided, and the 79 switches that it has.
    #[test]
    fn the_scenarios_are_those_of_the_paper() {
        let paper = [(1, 4e6, false), (2, 4e6, true), (3, 1.4e6, true), (4, 0.85e6, true)];
        for (number, rate, skewed) in paper {
            let offer = offer(&format!("--scenario {number}")).unwrap().unwrap();
            assert!(offer.steps.iter().map(|step| step.rate).eq([rate]), "scenario {number}");
            let mut parts = offer.spread.parts(79, 1);
            parts.sort_by(f64::total_cmp);
            let (least, most) = (parts[0] * rate, parts[78] * rate);
            match skewed {
                true => assert!((most / least - 79.0).abs() < 1e-6, "scenario {number}"),
                false => assert!(least < most && most / least < 1.1 / 0.9, "{least} to {most}"),
            }
        }
    }

    #[test]
    fn what_became_of_it_is_told() {
        let mut delay = aldis_emulator::load::Delays::new(3).unwrap();
        delay.record_n(250_000, 8).unwrap();
        let one = OfferedPhase {
            rate: 10.0,
            planned: Duration::from_secs(1),
            length: Duration::from_secs(1),
            due: 10,
            sent: 9,
            missed: 1,
            unaddressed: 0,
            arrived: 8,
            again: 2,
            delay,
        };
        let said = phase(&one);
        assert!(
            said.starts_with(
                "10 packets/s for 1.000 s: 9 sent, 8 arrived, 2 copies more, 1 not sent in time"
            ),
            "{said}"
        );
        assert!(said.contains("delay 0.250 ms (median)"), "{said}");
        let cut = OfferedPhase { planned: Duration::from_secs(30), ..one.clone() };
        assert!(phase(&cut).starts_with("10 packets/s for 1.000 s of 30.000 s: 9 sent"));
        let offered = HostLoadFate { phases: vec![one], ..HostLoadFate::default() };
        assert_eq!(object(&offered)["phases"][0]["missed"], 1);
    }
}
