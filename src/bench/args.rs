//! The options of `aldis bench` and the run that they describe.

mod check;

use super::probe::ProbeArgs;
use super::secure::SecureArgs;
use aldis_emulator::load::{
    self, DemandRate, DemandSpread, Destinations, Load, Mode, OnOff, RateStep,
};
use aldis_wire::Version;
use clap::ValueEnum;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Copy, ValueEnum)]
enum DestinationsArg {
    /// Every address of the switch in turn.
    All,
    /// One address that never speaks itself, as cbench has it.
    One,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum VersionArg {
    #[value(name = "1.0")]
    V10,
    #[value(name = "1.3")]
    V13,
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum ModeArg {
    /// One request outstanding a switch, the delay of each recorded. What is measured unless
    /// something else is said.
    Latency,
    /// As many requests as the sockets take, or --outstanding: the same as -t.
    Throughput,
    /// The same, and how each switch was served: the worst are printed, all are saved.
    Fairness,
    /// Handshakes: every switch connects, shakes hands, disconnects and begins again.
    Connect,
    /// A long run with --outstanding, 16 unless said otherwise, for an hour unless -l and -m say
    /// otherwise: what changes between its beginning and its end, the controller's memory too.
    Soak,
}

/// Where a controller listens unless -p says otherwise.
const PORT: u16 = 6653;

/// The options of a run that this process plays a part of.
#[derive(clap::Parser)]
pub(super) struct JoinArgs {
    #[command(flatten)]
    pub(super) load: BenchLoadArgs,
}

#[derive(clap::Args)]
pub(super) struct BenchLoadArgs {
    /// The controller.
    #[arg(value_name = "HOST:PORT", value_parser = resolve, conflicts_with_all = ["host", "port"])]
    controller: Option<SocketAddr>,
    /// The controller's host, another way to say it, as cbench has it.
    #[arg(short = 'c', long = "controller", value_name = "HOST")]
    host: Option<String>,
    /// The controller's port, 6653 unless said otherwise, with -c or for localhost.
    #[arg(short, long, value_name = "PORT")]
    port: Option<u16>,
    /// What is measured.
    #[arg(long, value_name = "MODE", conflicts_with = "throughput")]
    mode: Option<ModeArg>,
    /// Switches: 1 to 10,000, those of --storm, --probes, --slow and --dead included.
    #[arg(short, long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=i64::from(load::SWITCHES_MAX)))]
    pub(super) switches: u32,
    /// Measure with 1, 2, 4 and so on up to --switches, one run after another.
    #[arg(short, long, conflicts_with_all = ["json", "coordinate"])]
    pub(super) ranged_test: bool,
    /// The datapath id of the first switch, 1 to 55,535; the others follow. Two runs against one
    /// controller need others.
    #[arg(short = 'o', long, value_name = "DPID", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=55_535))]
    dpid_offset: u32,
    /// Addresses a switch: 1 to 1,000,000.
    #[arg(short = 'M', long, visible_alias = "mac-addresses", value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=i64::from(load::MACS_MAX)))]
    macs: u32,
    /// Ports a switch: 2 to 4,095; with OpenFlow 1.0, whose FEATURES_REPLY has no room for more, to
    /// 1,364.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=i64::from(load::PORTS_MAX)))]
    ports: u32,
    /// The OpenFlow version of the switches.
    #[arg(long, value_name = "VERSION", default_value = "1.0")]
    openflow: VersionArg,
    /// Keep no packets: requests carry NO_BUFFER, as those of Open vSwitch do.
    #[arg(long)]
    no_buffer: bool,
    /// The controller that is measured.
    #[arg(long, value_name = "WHO", default_value = "all")]
    destinations: DestinationsArg,
    /// Do not tell the controller beforehand where the addresses live.
    #[arg(long)]
    no_teach: bool,
    /// Tell it, which is done anyway: cbench's letter.
    #[arg(short = 'L', long, conflicts_with = "no_teach")]
    learn_dst_macs: bool,
    /// Say what goes wrong, which is done anyway: cbench's letter.
    #[arg(short, long)]
    debug: bool,
    /// Throughput: offer as many requests as the sockets take. Without this and --outstanding:
    /// latency, one request outstanding a switch.
    #[arg(short, long, conflicts_with = "outstanding")]
    throughput: bool,
    /// Throughput with so many requests outstanding a switch: 1 to 262,144.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(load::WINDOW_MAX)))]
    outstanding: Option<u32>,
    /// Offer so many requests a second, all switches together, instead of as many as the mode
    /// allows.
    #[arg(long, value_name = "RPS", value_parser = positive)]
    rate: Option<f64>,
    /// Offer so many requests a second and switch, on average where --spread makes them unequal.
    #[arg(long, value_name = "RPS", value_parser = positive, conflicts_with = "rate")]
    switch_rate: Option<f64>,
    /// Offer one rate after another instead of loops, all switches together, and report on each:
    /// for example 4000000x10,1400000x10,850000x10. With --outstanding a switch brings no more than
    /// that from one into the next, with -t all that waits in its socket.
    #[arg(long, value_name = "RPSxSECONDS,…", value_delimiter = ',', value_parser = step, conflicts_with_all = ["rate", "switch_rate", "loops"])]
    steps: Vec<RateStep>,
    /// Offer what Maestro's figure 6 has: 1 is 4,000,000 requests a second nearly uniform, 2 the
    /// same skewed, 3 is 1,400,000 skewed, 4 is 850,000 skewed.
    #[arg(long, value_name = "1-4", value_parser = clap::value_parser!(u8).range(1..=4), conflicts_with_all = ["rate", "switch_rate", "steps", "spread"])]
    scenario: Option<u8>,
    /// Multiply all these rates: 0.25 is a quarter of them.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = positive)]
    scale: f64,
    /// How a rate is divided among the switches: even, near-uniform (four emulators within 10 %),
    /// skewed (zipf:1) or zipf:S (the switch of rank r in proportion to 1/r^S, S from 0 to 10,
    /// ranks left to --seed).
    #[arg(long, value_name = "HOW", default_value = "even", value_parser = spread)]
    spread: DemandSpread,
    /// Every switch is on for ON seconds and off for OFF seconds, round and round, beginning at a
    /// place of chance; its part of the rate is what it offers on average, all of it while it is
    /// on. Either may be a spread: 0.5-2,1-3 draws each switch's own times once. With a rate only.
    #[arg(long, value_name = "ON,OFF", value_parser = on_off)]
    on_off: Option<OnOff>,
    /// What is left to chance follows from this number: the ranks of --spread, when --on-off
    /// switches are on and when --probes are sent.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The weights of the switches by which the fairness of the controller is judged, cycled over
    /// them: 1,2,4 is 1 for switch 1, 2 for switch 2, 4 for switch 3, 1 for switch 4.
    #[arg(long, value_name = "W,…", value_delimiter = ',', value_parser = weight)]
    weights: Vec<f64>,
    /// Port 1 of switch 1 sends K times as many requests as each other port of it, 1 to 1,000; its
    /// ports are counted one by one.
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(load::HOT_PORT_MAX)))]
    hot_port: u32,
    /// N further switches whose queues are always full, whatever the others offer.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=i64::from(load::SWITCHES_MAX)))]
    storm: u32,
    #[command(flatten)]
    probe: ProbeArgs,
    /// N further switches whose queues are always full and that read only so many bytes a second.
    /// That the controller disconnects one is reported and no error.
    #[arg(long, value_name = "N:BYTES_PER_S", value_parser = slow)]
    slow: Option<(u32, u64)>,
    /// N further switches whose queues are always full and that never read once offering begins.
    /// That the controller disconnects one is reported and no error.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=i64::from(load::SWITCHES_MAX)))]
    dead: u32,
    /// Measured loops: 10, in mode soak 3,600. Unlike cbench's they do not include those of -w and
    /// -C.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    loops: Option<u32>,
    /// Length of a loop in milliseconds; at least 100 for the CPU time to mean anything.
    #[arg(short, long, visible_alias = "ms-per-test", value_name = "MS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    ms: u64,
    /// Loops before the measured ones.
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    warmup: u32,
    /// Loops behind the measured ones, of which nothing is counted.
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    cooldown: u32,
    /// Wait so many milliseconds behind the last handshake.
    #[arg(short = 'D', long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=3_600_000))]
    delay: u64,
    /// Connect so many switches at once: 1 where -i is said, as cbench has it, otherwise all of
    /// them.
    #[arg(short = 'I', long, visible_alias = "connect-group-size", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(load::SWITCHES_MAX)))]
    connect_group: Option<u32>,
    /// Pause so many milliseconds between groups of connecting switches.
    #[arg(short = 'i', long, visible_alias = "connect-delay", value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=600_000))]
    connect_pause: u64,
    /// Threads of the load generator: 1 to 64.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
    /// Look for answers without ever sleeping, so that no controller pays for waking the load: with
    /// each thread on a core of its own. The time it looks in vain counts as idle.
    #[arg(long)]
    poll: bool,
    /// Measure together with other processes, --parts of them with this one, which wait for each
    /// other here: each plays its part of the switches, and this one prints the whole.
    #[arg(long, value_name = "ADDR:PORT", requires = "parts")]
    pub(super) coordinate: Option<SocketAddr>,
    /// How many processes measure together: 2 to 64.
    #[arg(long, value_name = "N", requires = "coordinate", value_parser = clap::value_parser!(u32).range(2..=i64::from(load::PARTS_MAX)))]
    pub(super) parts: Option<u32>,
    /// Play a part of what the process at ADDR coordinates; all else is its to say.
    #[arg(long, value_name = "ADDR:PORT", exclusive = true)]
    pub(super) join: Option<SocketAddr>,
    /// The controller's process, for its CPU time and memory; by default whichever listens on the
    /// port.
    #[arg(long, value_name = "PID")]
    pub(super) pid: Option<u32>,
    #[command(flatten)]
    secure: SecureArgs,
    /// Print one JSON object instead of the table.
    #[arg(long)]
    pub(super) json: bool,
    /// Save the result: into a FILE as JSON, into three if its name ends in .csv, or into a DIR as
    /// both, named after the time. With the machine, the commit, the command, the delays' histogram
    /// and how each switch was served.
    #[arg(long, value_name = "FILE|DIR")]
    pub(super) save: Option<PathBuf>,
}

impl BenchLoadArgs {
    /// Where the controller is.
    fn controller(&self) -> Result<SocketAddr, String> {
        match (self.controller, &self.host, self.port) {
            (Some(controller), ..) => Ok(controller),
            (None, None, None) => Err("which controller? say aldis bench HOST:PORT".into()),
            (None, host, port) => {
                let host = host.as_deref().unwrap_or("localhost");
                let port = port.unwrap_or(PORT);
                let bracketed = match host.contains(':') && !host.starts_with('[') {
                    true => format!("[{host}]:{port}"),
                    false => format!("{host}:{port}"),
                };
                resolve(&bracketed).map_err(|error| format!("-c {host}: {error}"))
            }
        }
    }

    /// What is measured.
    pub(super) fn what(&self) -> ModeArg {
        match (self.mode, self.throughput || self.outstanding.is_some()) {
            (Some(mode), _) => mode,
            (None, true) => ModeArg::Throughput,
            (None, false) => ModeArg::Latency,
        }
    }

    fn mode(&self) -> Mode {
        match (self.what(), self.outstanding) {
            (_, Some(outstanding)) => Mode::Window(outstanding),
            (ModeArg::Soak, None) => Mode::Window(SOAK_OUTSTANDING),
            (ModeArg::Throughput | ModeArg::Fairness, None) => Mode::Full,
            (ModeArg::Latency | ModeArg::Connect, None) => Mode::Latency,
        }
    }

    /// The run that they describe.
    ///
    /// # Errors
    /// A sentence about the options that cannot be together.
    pub(super) fn load(&self) -> Result<Load, String> {
        check::check(self)?;
        let is_soak = self.what() == ModeArg::Soak;
        let loops = self.loops.unwrap_or(if is_soak { SOAK_LOOPS } else { 10 });
        let (rate, spread) = self.rate();
        let (slow, slow_rate) = self.slow.unwrap_or((0, 1));
        let mut load = Load {
            version: match self.openflow {
                VersionArg::V10 => Version::V10,
                VersionArg::V13 => Version::V13,
            },
            switches: self.switches,
            first_dpid: self.dpid_offset,
            on_off: self.on_off,
            cool_down: self.cooldown,
            slices: if is_soak { loops.min(SOAK_SLICES) } else { 1 },
            macs: self.macs,
            ports: self.ports,
            buffered: !self.no_buffer,
            destinations: match self.destinations {
                DestinationsArg::All => Destinations::All,
                DestinationsArg::One => Destinations::One,
            },
            teach: !self.no_teach,
            mode: self.mode(),
            rate,
            spread,
            seed: self.seed,
            weights: self.weights.clone(),
            hot_port: self.hot_port,
            storms: self.storm,
            probes: self.probe.probes,
            probe_rate: self.probe.probe_rate,
            slow,
            slow_rate,
            dead: self.dead,
            threads: usize::from(self.threads),
            poll: self.poll,
            warm_up: self.warmup,
            loops,
            loop_length: Duration::from_millis(self.ms),
            settle: Duration::from_millis(self.delay),
            connect_group: self.connect_group(),
            connect_pause: Duration::from_millis(self.connect_pause),
            ..Load::new(self.controller()?)
        };
        let dpids =
            (1..=load.switches_in_all().min(load::SWITCHES_MAX)).map(|number| load.dpid(number));
        load.secure = self.secure.secure(load.controller, dpids)?;
        Ok(load)
    }

    /// How many switches connect at once: a pause between groups of all would be none.
    fn connect_group(&self) -> u32 {
        match (self.connect_group, self.connect_pause) {
            (Some(group), _) => group,
            (None, 0) => load::SWITCHES_MAX,
            (None, _) => 1,
        }
    }

    /// The rate and how it is divided.
    fn rate(&self) -> (DemandRate, DemandSpread) {
        let scaled = |step: &RateStep| RateStep { rate: step.rate * self.scale, ..*step };
        let rate = match (self.rate, self.switch_rate) {
            (Some(rate), _) => DemandRate::Total(rate * self.scale),
            (None, Some(rate)) => DemandRate::PerSwitch(rate * self.scale),
            (None, None) if self.steps.is_empty() => DemandRate::Unlimited,
            (None, None) => DemandRate::Steps(self.steps.iter().map(scaled).collect()),
        };
        match self.scenario {
            None => (rate, self.spread),
            Some(number) => {
                let (rate, spread) = SCENARIOS[usize::from(number) - 1];
                (DemandRate::Total(rate * self.scale), spread)
            }
        }
    }
}

/// A soak's requests outstanding a switch, its loops, and the phases into which they are cut to be
/// compared.
const SOAK_OUTSTANDING: u32 = 16;
const SOAK_LOOPS: u32 = 3600;
const SOAK_SLICES: u32 = 60;

/// The scenarios of Maestro's figure 6.
pub(crate) const SCENARIOS: [(f64, DemandSpread); 4] = [
    (4_000_000.0, DemandSpread::NearUniform),
    (4_000_000.0, SKEWED),
    (1_400_000.0, SKEWED),
    (850_000.0, SKEWED),
];

const SKEWED: DemandSpread = DemandSpread::Zipf(1.0);

pub(crate) fn resolve(text: &str) -> Result<SocketAddr, String> {
    let mut addresses = text.to_socket_addrs().map_err(|error| {
        format!("{error}; write it as HOST:PORT, for example 127.0.0.1:6653 or [::1]:6653")
    })?;
    addresses.next().ok_or_else(|| "the name has no address".into())
}

pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match number(text) {
        Some(rate) if rate > 0.0 && rate <= load::RATE_MAX => Ok(rate),
        _ => Err("a number is wanted, above 0 and at most 1e9".into()),
    }
}

fn weight(text: &str) -> Result<f64, String> {
    match number(text) {
        Some(weight) if (1.0 / load::WEIGHT_MAX..=load::WEIGHT_MAX).contains(&weight) => Ok(weight),
        _ => Err("a weight is a number from 0.000001 to 1,000,000".into()),
    }
}

pub(crate) fn step(text: &str) -> Result<RateStep, String> {
    let (requests, seconds) = text
        .split_once(['x', '×'])
        .ok_or("write a step as requests a second and seconds, for example 1400000x10")?;
    match number(seconds) {
        Some(seconds) if (0.001..=86_400.0).contains(&seconds) => {
            Ok(RateStep { rate: positive(requests)?, length: Duration::from_secs_f64(seconds) })
        }
        _ => Err("a step lasts 0.001 to 86,400 seconds".into()),
    }
}

pub(crate) fn spread(text: &str) -> Result<DemandSpread, String> {
    match (text, text.strip_prefix("zipf:").and_then(number)) {
        ("even", _) => Ok(DemandSpread::Even),
        ("near-uniform", _) => Ok(DemandSpread::NearUniform),
        ("skewed", _) => Ok(SKEWED),
        (_, Some(exponent)) if (0.0..=10.0).contains(&exponent) => Ok(DemandSpread::Zipf(exponent)),
        _ => Err("even, near-uniform, skewed or zipf:S is wanted, S from 0 to 10".into()),
    }
}

pub(crate) fn on_off(text: &str) -> Result<OnOff, String> {
    let span = |text: &str| {
        let (least, most) = text.split_once('-').unwrap_or((text, text));
        let seconds = |text| {
            number(text)
                .filter(|seconds| (0.0..=3600.0).contains(seconds))
                .map(Duration::from_secs_f64)
        };
        Some((seconds(least)?, seconds(most)?)).filter(|(least, most)| least <= most)
    };
    let parsed = text.split_once(',').and_then(|(on, off)| Some((span(on)?, span(off)?)));
    match parsed {
        Some((on, off)) if on.0.as_millis() >= 1 => Ok(OnOff { on, off }),
        _ => Err("seconds on and seconds off are wanted, for example 1,4 or 0.5-2,1-3: on 0.001 to 3600, off 0 to 3600".into()),
    }
}

fn slow(text: &str) -> Result<(u32, u64), String> {
    let parsed = text.split_once(':').and_then(|(switches, bytes)| {
        Some((switches.parse().ok()?, bytes.replace('_', "").parse().ok()?))
    });
    match parsed {
        Some((switches, bytes))
            if switches <= load::SWITCHES_MAX && (1..=load::SLOW_RATE_MAX).contains(&bytes) =>
        {
            Ok((switches, bytes))
        }
        _ => Err("switches and bytes a second are wanted, for example 16:1000: up to 10,000, and 1 to 1e9".into()),
    }
}

/// A number, in which `_` may set digits apart.
pub(super) fn number(text: &str) -> Option<f64> {
    text.replace('_', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn load(options: &[&str]) -> Load {
        let args = ["aldis", "127.0.0.1:1"].iter().chain(options);
        JoinArgs::try_parse_from(args).unwrap().load.load().unwrap()
    }

    #[test]
    fn a_pause_alone_is_one_between_any_two_switches() {
        assert_eq!(load(&[]).connect_group, load::SWITCHES_MAX);
        assert_eq!(load(&["-i", "5"]).connect_group, 1);
        assert_eq!(load(&["-i", "5", "-I", "7"]).connect_group, 7);
        assert_eq!(load(&["-i", "0"]).connect_group, load::SWITCHES_MAX);
    }

    #[test]
    fn what_divides_a_rate_is_taken_with_any() {
        for rate in [["--rate", "9"], ["--switch-rate", "9"], ["--steps", "9x1"]] {
            let load = load(&[&rate[..], &["--spread", "skewed", "--scale", "2"]].concat());
            assert_eq!(load.spread, SKEWED, "{rate:?}");
        }
        assert_eq!(load(&["--scenario", "4", "--scale", "2"]).rate, DemandRate::Total(1.7e6));
    }

    #[test]
    fn steps_and_spreads_are_read() {
        let length = Duration::from_millis(2500);
        assert_eq!(step("1_400_000x2.5"), Ok(RateStep { rate: 1.4e6, length }));
        assert_eq!(spread("zipf:0.5"), Ok(DemandSpread::Zipf(0.5)));
        assert_eq!((spread("skewed"), slow("16:1_000")), (Ok(SKEWED), Ok((16, 1000))));
        for wrong in ["", "5", "x", "0x1", "1x0", "1x-1", "nanx1", "1xnan", "1xinf", "1x1x1"] {
            assert!(step(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "zipf", "zipf:", "zipf:11", "zipf:-1", "zipf:nan"] {
            assert!(spread(wrong).is_err(), "{wrong}");
        }
        let s = Duration::from_secs_f64;
        assert_eq!(on_off("1,4"), Ok(OnOff { on: (s(1.0), s(1.0)), off: (s(4.0), s(4.0)) }));
        assert_eq!(on_off("0.5-2,0-3"), Ok(OnOff { on: (s(0.5), s(2.0)), off: (s(0.0), s(3.0)) }));
        for wrong in ["", "1", "0,1", "2-1,1", "1,3601", "1,-1", "nan,1", "1-2-3,1", "1,1,1"] {
            assert!(on_off(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "3", "3:", "3:0", ":3", "10001:1", "-1:1", "1:1000000001"] {
            assert!(slow(wrong).is_err(), "{wrong}");
        }
        assert!(
            [weight("0"), weight("-1"), weight("nan"), weight("1e7")].iter().all(Result::is_err)
        );
    }
}
