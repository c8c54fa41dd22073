//! `aldis emulate`: a network of emulated switches and hosts against any controller.

mod json;
mod load;
mod progress;
mod text;

use crate::bench;
use crate::bench::args::{VersionArg, resolve};
use crate::bench::probe::ProbeArgs;
use crate::bench::secure::SecureArgs;
use aldis_emulator::network::{
    self, CheckFinding, NetworkMoment, NetworkPlan, NetworkReport, ScriptStep, script,
};
use aldis_emulator::topology::{PORTS_MAX, Shape, Topology};
use aldis_wire::Version;
use progress::EmulateProgress;
use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::failure::{CommandFailure, EXIT_FAILED};
use crate::interrupt;

/// The exit code of a run in which a ping had no answer.
const EXIT_UNANSWERED: u8 = EXIT_FAILED;

/// The largest script, in bytes.
const SCRIPT_LEN_MAX: u64 = 1 << 20;

const EXAMPLES: &str = "\
Examples:
  A grid full of loops, everyone pings everyone:
    aldis emulate 127.0.0.1:6653 --topology torus,3,3 --pingall
  The same with OpenFlow 1.0 and IPv6:
    aldis emulate 127.0.0.1:6653 --topology torus,3,3 --openflow 1.0 --pingall --ipv6
  A network that is only there, until Ctrl-C:
    aldis emulate 127.0.0.1:6653 --topology tree,2,3
  1,347 switches from a seed, once LLDP has crossed every link; 1,000 pairs ping:
    aldis emulate 127.0.0.1:6653 --topology preferential,1347 --seed 7 --await-links --pingall=1000
  How long does a broken link keep two hosts apart?
    aldis emulate 127.0.0.1:6653 --topology torus,3,3 --await-links --watch h1 h5 --at '2s link-down s1 s2'
  Scenario 3 of Maestro's figure 6 at a thousandth, from hosts, over whatever flows the controller sets:
    aldis emulate 127.0.0.1:6653 --topology tree,3,4 --scenario 3 --scale 0.001 --for 30
  How long does the controller keep a switch waiting that asks now and then, while the others are busy?
    aldis emulate 127.0.0.1:6653 --topology tree,3,4 --load 2000 --for 30 --probes 2
  A second network beside the first, which has 21 switches and 2 that probe:
    aldis emulate 127.0.0.1:6653 --topology linear,4 --dpid-offset 24 --pingall
  Four such grids, each on a thread of its own, joined into one measurement: 40,000 packets a second together:
    aldis emulate 127.0.0.1:6653 --topology torus,3,3 --networks 4 --load 40000 --for 30
  Switches over TLS, with certificates of 'aldis pki pki --switch 1 --switch 2 --switch 3':
    aldis emulate 127.0.0.1:6654 --topology linear,3 --pingall --tls-authority pki/ca.pem --tls-certificate 'pki/switch-{dpid}.pem' --tls-key 'pki/switch-{dpid}.key'
  A map of the Topology Zoo, and a bad day from a file:
    aldis emulate 127.0.0.1:6653 --topology Abilene.graphml --script bad-day.txt

Topologies:
  single,HOSTS          linear,SWITCHES[,HOSTS]   tree,DEPTH,FANOUT   torus,X,Y[,HOSTS]   (as in Mininet)
  ring,SWITCHES[,HOSTS] fat-tree,K                waxman,SWITCHES[,ALPHA,BETA]
  preferential,SWITCHES[,LINKS]                   FILE.graphml         FILE.cch, FILE.intra (Rocketfuel)

What may happen (--at 'TIME WHAT', or a line of --script FILE; times as 5s, 250ms, 2m; # begins a comment):
  link-down A B   link-up A B       switch-gone S   switch-back S    reset S
  slow-reader S [BYTES/S]           fast-reader S   duplicate-dpid S host-move H S
  storm H [FRAMES/S]                calm H          broadcast H      watch H H
  ping H H        ping6 H H         pingall [PAIRS] pingall6 [PAIRS]
Switches are s1, s2 …, hosts h1, h2 …; host hN has 10.0.0.0+N, fd00::N and, written as MAC address, N.

The switches of --probes are none of the network: a controller that discovers topologies sees single switches without links. Their
datapath ids follow the network's; their hosts have the addresses 02:DD:DD:00:00:00 and up, with the datapath id in DD:DD.

Exit code: 0; 1 if a ping had no answer, or the controller does not answer; 2 where the command line is wrong; 3 where the run ended before its time or without its \
controller: what was found until then is printed, and marked partial. Ctrl-C ends it; the switches disconnect. What was only to be \
there until then is whole.";

/// Emulate a network: switches that forward, links, hosts that answer, faults.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The controller.
    #[arg(value_name = "HOST:PORT", value_parser = resolve)]
    controller: SocketAddr,
    /// How switches, links and hosts are put together; see below.
    #[arg(long, value_name = "SHAPE", value_parser = shape)]
    topology: Shape,
    /// The OpenFlow version of the switches.
    #[arg(long, value_name = "VERSION", default_value = "1.3")]
    openflow: VersionArg,
    /// The datapath id of s1, 1 to 55,535; the others follow, those of --probes last. Two networks
    /// at one controller need others. Hosts have 256 higher addresses for each that it is higher.
    #[arg(short = 'o', long, value_name = "DPID", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=55_535))]
    dpid_offset: u32,
    /// Hosts at each switch that has any, instead of what the topology says: 0 to 4,095.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=i64::from(PORTS_MAX)))]
    hosts_per_switch: Option<u32>,
    /// So many such networks, each on a thread of its own and with datapath ids and addresses
    /// behind those of the one before; they begin together and are one measurement. Offered load is
    /// divided among them evenly, everything else happens in each: 1 to 64.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    networks: u32,
    /// What is left to chance follows from this number, in each further network from the next one:
    /// random topologies, which pairs ping, and when --probes are sent.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How long a frame is on a link, in microseconds: 0 to 1,000,000.
    #[arg(long, value_name = "US", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    delay_us: u64,
    /// Every host pings every other one; with =PAIRS, so many pairs of chance do.
    #[arg(long, value_name = "PAIRS", num_args = 0..=1, require_equals = true)]
    pingall: Option<Option<u32>>,
    /// One host pings another one; may be given several times.
    #[arg(long, value_names = ["HOST", "HOST"], num_args = 2, action = clap::ArgAction::Append)]
    ping: Vec<String>,
    /// Pings and load go over IPv6.
    #[arg(long)]
    ipv6: bool,
    /// A host sends one broadcast; the copies that each other host sees are counted.
    #[arg(long, value_name = "HOST")]
    broadcast: Option<String>,
    /// One host pings another one a hundred times a second: how long does each fault keep them
    /// apart?
    #[arg(long, value_names = ["HOST", "HOST"], num_args = 2, action = clap::ArgAction::Append)]
    watch: Vec<String>,
    /// Something happens at a time, counted from when the network is ready, as '5s link-down s1
    /// s2'; may be given several times.
    #[arg(long, value_name = "TIME WHAT")]
    at: Vec<ScriptStep>,
    /// The same from a file, one a line.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Go on for so long at least, as 30 or 2m; without this and without anything to do, until
    /// Ctrl-C. Load lasts as long.
    #[arg(long = "for", value_name = "SECONDS", value_parser = length)]
    length: Option<Duration>,
    /// Wait so long behind the last handshake before anything is done, at the least: a controller
    /// that goes on to ask or install is waited for, a second at most.
    #[arg(long, value_name = "SECONDS", default_value = "0.2", value_parser = length)]
    settle: Duration,
    /// Wait until LLDP has crossed every link, too.
    #[arg(long)]
    await_links: bool,
    /// How long connecting may take, and LLDP to cross every link.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = length)]
    connect_within: Duration,
    /// How long an unanswered ping, a broadcast or a broken path is waited for.
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = length)]
    patience: Duration,
    /// Print one JSON object instead of words.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    probe: ProbeArgs,
    #[command(flatten)]
    load: load::LoadArgs,
    #[command(flatten)]
    secure: SecureArgs,
}

fn shape(text: &str) -> Result<Shape, String> {
    text.parse().map_err(|refusal: aldis_emulator::topology::ShapeRefusal| refusal.to_string())
}

/// A length of time: seconds where no unit is named.
fn length(text: &str) -> Result<Duration, String> {
    let length = script::seconds(text).or_else(|| script::seconds(&format!("{text}s")));
    length.ok_or_else(|| "a time is wanted, as 30, 2.5, 250ms or 2m, a week at most".into())
}

/// Runs it.
///
/// # Errors
/// One sentence: a topology, a script or a controller with which nothing can be measured.
pub(crate) fn run(args: Args) -> Result<ExitCode, CommandFailure> {
    let plans = plans(&args).map_err(CommandFailure::Usage)?;
    let stop = interrupt::watched()?;
    let teller = Mutex::new(Teller::new(&plans, &args));
    // A thread that panics while it tells ends the run; until then the others have something to
    // say.
    let told = || teller.lock().unwrap_or_else(PoisonError::into_inner);
    let reports =
        network::run_together(&plans, &stop, &|index, moment| told().tell(index, &moment));
    told().progress.clear();
    let reports = reports.map_err(|(index, failure)| {
        let sentence = match index {
            Some(index) if plans.len() > 1 => format!("network {}: {failure}", index + 1),
            _ => failure.to_string(),
        };
        match failure {
            network::NetworkFailure::Plan(_)
            | network::NetworkFailure::Probes(aldis_emulator::load::LoadFailure::OutOfRange {
                ..
            }) => CommandFailure::Usage(sentence),
            _ => CommandFailure::Failed(sentence),
        }
    })?;
    let joined = (reports.len() > 1).then(|| NetworkReport::joined(&reports));
    let whole = joined.as_ref().unwrap_or(&reports[0]);
    match args.json {
        true => say(&json::report(&args.topology, &plans, &reports, whole)),
        false => say(&text::summary(whole)),
    }
    Ok(match &whole.partial {
        Some(why) => bench::partial(why),
        None if reports.iter().any(unanswered) => ExitCode::from(EXIT_UNANSWERED),
        None => ExitCode::SUCCESS,
    })
}

fn unanswered(report: &NetworkReport) -> bool {
    report.findings.iter().any(|finding| match finding {
        CheckFinding::Pinged(pinged) => pinged.received() < pinged.pairs.len(),
        CheckFinding::Broadcast(_) | CheckFinding::Recovery(_) => false,
    })
}

/// The networks, one behind the other.
fn plans(args: &Args) -> Result<Vec<NetworkPlan>, String> {
    let mut first_dpid = args.dpid_offset;
    let mut plans = Vec::new();
    for index in 0..args.networks {
        let plan = plan(args, first_dpid, args.seed.wrapping_add(index.into()))?;
        first_dpid = first_dpid.saturating_add(plan.span());
        plans.push(plan);
    }
    Ok(plans)
}

fn plan(args: &Args, first_dpid: u32, seed: u64) -> Result<NetworkPlan, String> {
    let topology = args.topology.lay_out(args.hosts_per_switch, seed);
    let topology: Topology = topology.map_err(|refusal| refusal.to_string())?;
    let version = match args.openflow {
        VersionArg::V10 => Version::V10,
        VersionArg::V13 => Version::V13,
    };
    let switches = topology.switches().saturating_add(args.probe.probes);
    let dpids = first_dpid..first_dpid.saturating_add(switches);
    let mut offer = args.load.offer(args.length, args.ipv6)?;
    for step in offer.iter_mut().flat_map(|offer| &mut offer.steps) {
        step.rate /= f64::from(args.networks);
    }
    Ok(NetworkPlan {
        secure: args.secure.secure(args.controller, dpids)?,
        first_dpid,
        probes: args.probe.probes,
        probe_rate: args.probe.probe_rate,
        delay: Duration::from_micros(args.delay_us),
        seed,
        script: steps(args)?,
        connect_within: args.connect_within,
        settle: args.settle,
        await_links: args.await_links,
        patience: args.patience,
        length: args.length,
        load: offer,
        ..NetworkPlan::new(args.controller, version, topology)
    })
}

/// What the options ask for at once, then what happens at its time.
fn steps(args: &Args) -> Result<Vec<ScriptStep>, String> {
    let six = if args.ipv6 { "6" } else { "" };
    let mut lines = Vec::new();
    lines.extend(args.watch.chunks(2).map(|pair| format!("watch {}", pair.join(" "))));
    lines.extend(args.broadcast.iter().map(|host| format!("broadcast {host}")));
    lines.extend(args.ping.chunks(2).map(|pair| format!("ping{six} {}", pair.join(" "))));
    lines.extend(args.pingall.map(|pairs| match pairs {
        Some(pairs) => format!("pingall{six} {pairs}"),
        None => format!("pingall{six}"),
    }));
    let parsed = lines.iter().map(|line| format!("0s {line}").parse::<ScriptStep>());
    let mut steps = parsed.collect::<Result<Vec<ScriptStep>, String>>()?;
    steps.extend(args.at.iter().cloned());
    if let Some(path) = &args.script {
        steps.extend(read_script(path)?);
    }
    Ok(steps)
}

fn read_script(path: &Path) -> Result<Vec<ScriptStep>, String> {
    let shown = path.display();
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(SCRIPT_LEN_MAX + 1).read_to_string(&mut text));
    match read {
        Err(error) => Err(format!("{shown}: the script cannot be read: {error}")),
        Ok(length) if length as u64 > SCRIPT_LEN_MAX => {
            Err(format!("{shown}: the script has more than {SCRIPT_LEN_MAX} bytes"))
        }
        Ok(_) => script::parse(&text).map_err(|(line, wrong)| format!("{shown}:{line}: {wrong}")),
    }
}

/// To standard output, as long as it is read.
fn say(text: &str) {
    print!("{text}");
}

/// Tells a person what happens while it happens: what counts on standard output, how far it has
/// come on standard error.
struct Teller<'a> {
    plans: &'a [NetworkPlan],
    /// What was asked for, until it was told.
    shape: Option<&'a Shape>,
    json: bool,
    progress: EmulateProgress,
    /// How far each network has come.
    stages: Vec<NetworkStage>,
    /// When the script began.
    ready: Option<Instant>,
}

/// How far a network has come.
#[derive(Clone, Default)]
struct NetworkStage {
    /// Switches that have shaken hands.
    up: u32,
    /// Directions of links that LLDP has crossed.
    crossed: usize,
    goes: network::NetworkProgress,
}

impl<'a> Teller<'a> {
    fn new(plans: &'a [NetworkPlan], args: &'a Args) -> Teller<'a> {
        let (shape, progress) = (Some(&args.topology), EmulateProgress::new());
        let stages = vec![NetworkStage::default(); plans.len()];
        Teller { plans, shape, json: args.json, progress, stages, ready: None }
    }

    /// What was made, once it is known that it could be.
    fn begin(&mut self) {
        let Some(shape) = self.shape.take() else { return };
        let networks = match self.plans.len() {
            1 => String::new(),
            several => format!("{several} networks of "),
        };
        let count = |of: fn(&Topology) -> usize| {
            self.plans.iter().map(|plan| of(&plan.topology)).sum::<usize>()
        };
        let [switches, links, hosts] = [
            count(|topology| topology.switches() as usize),
            count(|topology| topology.links().len()),
            count(|topology| topology.hosts().len()),
        ];
        let NetworkPlan { version, controller, .. } = &self.plans[0];
        self.line(&format!(
            "{networks}{shape}: {switches} switches, {links} links, {hosts} hosts; {version}, controller {controller}"
        ));
    }

    fn tell(&mut self, index: usize, moment: &NetworkMoment<'_>) {
        self.begin();
        match moment {
            NetworkMoment::Connected(up) => {
                self.stages[index].up = *up;
                let up: u32 = self.stages.iter().map(|stage| stage.up).sum();
                let of: u32 = self.plans.iter().map(|plan| plan.topology.switches()).sum();
                if up < of {
                    self.progress.show(|| format!("{up} of {of} switches have shaken hands"));
                }
            }
            NetworkMoment::Crossed(crossed) => {
                self.stages[index].crossed = *crossed;
                let crossed: usize = self.stages.iter().map(|stage| stage.crossed).sum();
                let links = self.plans.iter().map(|plan| plan.topology.links().len());
                let of = 2 * links.sum::<usize>();
                if self.plans[index].await_links {
                    self.progress
                        .show(|| format!("LLDP has crossed {crossed} of {of} directions of links"));
                }
            }
            NetworkMoment::Goes(how) => {
                self.stages[index].goes = *how;
                let all = self.stages.iter().map(|stage| stage.goes);
                let all = all.reduce(progress::join).unwrap_or_default();
                self.progress.show(|| progress::words(&all));
            }
            NetworkMoment::Met(met, pairs, took) => self.line_of(
                index,
                &format!(
                    "{met} of {pairs} pairs of hosts found each other in {:.3} s",
                    took.as_secs_f64()
                ),
            ),
            // The others are ready as well by then.
            NetworkMoment::Ready(after) if self.ready.is_none() => {
                self.ready = Some(Instant::now());
                self.line(&format!("ready after {:.3} s", after.as_secs_f64()));
            }
            NetworkMoment::Ready(_) => {}
            NetworkMoment::Did(action, note) => {
                let note = note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
                self.event(index, &format!("{action}{note}"));
            }
            NetworkMoment::Found(finding) => self.line_of(index, text::finding(finding).trim_end()),
            NetworkMoment::Lost(1, switch, why) => {
                self.event(index, &format!("s{switch} lost its connection: {why}"));
            }
            NetworkMoment::Lost(count, switch, why) => {
                self.event(
                    index,
                    &format!("{count} switches lost their connections, s{switch} first: {why}"),
                );
            }
        }
    }

    /// With the time, counted from where the script begins.
    fn event(&self, index: usize, text: &str) {
        let at = self.ready.map_or(Duration::ZERO, |ready| ready.elapsed());
        self.line_of(index, &format!("{:>9.3} s  {text}", at.as_secs_f64()));
    }

    /// With the network's number where there are several.
    fn line_of(&self, index: usize, text: &str) {
        if self.plans.len() == 1 {
            return self.line(text);
        }
        let number = index + 1;
        let lines = text.lines().map(|line| format!("network {number}: {line}"));
        self.line(&lines.collect::<Vec<_>>().join("\n"));
    }

    fn line(&self, text: &str) {
        if !self.json {
            self.progress.aside(|| say(&format!("{text}\n")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn parse(words: &str) -> Args {
        let all = ["emulate", "127.0.0.1:6653", "--topology", "linear,3"].into_iter();
        Command::try_parse_from(all.chain(words.split_whitespace())).unwrap().args
    }

    #[test]
    fn options_become_steps_in_front_of_the_script() {
        let mut args =
            parse("--ping h1 h2 --ping h2 h3 --watch h1 h3 --broadcast h2 --pingall=5 --ipv6");
        args.at.push("1s reset s1".parse().unwrap());
        let steps: Vec<String> =
            steps(&args).unwrap().iter().map(|step| step.action.to_string()).collect();
        assert_eq!(
            steps,
            ["watch h1 h3", "broadcast h2", "ping6 h1 h2", "ping6 h2 h3", "pingall6 5", "reset s1"]
        );
        assert_eq!(parse("--pingall").pingall, Some(None));
        assert!(steps_of("--ping h1 s2").is_err());
    }

    fn steps_of(words: &str) -> Result<Vec<ScriptStep>, String> {
        steps(&parse(words))
    }

    #[test]
    fn lengths_are_seconds_unless_they_say_otherwise() {
        let lengths = ["30", "2.5", "250ms", "2m"].map(|text| length(text).unwrap().as_millis());
        assert_eq!(lengths, [30_000, 2_500, 250, 120_000]);
        for wrong in ["", "x", "-1", "1h", "9999999", "nan", "inf"] {
            assert!(length(wrong).is_err(), "{wrong}");
        }
    }
}
