//! `aldis run`: the controller itself.

mod config;
mod counters;
mod desk;
mod greeting;
mod http;
mod kept;
mod knobs;
mod outlet;
mod reload;
mod report;
mod room;
mod secure;
mod settings;
mod signals;
mod weights;

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aldis_control::fact::Facts;
use aldis_engine::{Design, Engine};
use aldis_http::Server;
use tracing::{error, info, warn};

use crate::address::Listen;
use crate::catalogue::AppName;
use crate::failure::Failure;
use crate::give_back::GiveBack;
pub(crate) use config::Config;
use config::{Begins, LogFormat, LogLevel, Workers};
use desk::Desk;
use greeting::greeting;
use http::ServeAt;
pub(crate) use http::access::is_name as is_key_name;
pub(crate) use http::shown_apps;
use kept::Kept;
use knobs::Setting;
use outlet::{Outlet, Outlets};
use report::Reporter;
use secure::Doors;
use settings::Settings;
use signals::{Word, Words};
pub(crate) use weights::Rule as WeightRule;
use weights::Rules;

/// How long after the start, or after new weights, a switch with one may take to connect before its absence is told.
const WEIGHTS_LOOK_AFTER: Duration = Duration::from_secs(60);

/// How often it is looked whether memory can be given back.
const GIVE_BACK_EVERY: Duration = Duration::from_secs(10);

/// How long after the start a first switch may take to connect before it is told what to check:
/// Open vSwitch tries again after 8 s at most.
const ANY_LOOK_AFTER: Duration = Duration::from_secs(15);

/// Arguments of `aldis run`. What is given here goes before what the file says.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis run                                       listen on 6653 and 6633, all defaults
  aldis run --listen 127.0.0.1:6653 --workers 1   one worker, this machine only
  aldis run --http 127.0.0.1:8090                 REST on another port, off for none
  aldis run --config aldis.toml --log debug       settings from a file, every connection logged
  aldis run --apps learning-switch                another application, of those that \"aldis apps\" lists
  aldis run --design maestro-round-robin --set bdu-us=300 --weight 1=4
                                                  another design and knob; switch 1 is due four times as much

Knobs (--set, or [knobs] in the file); \"aldis designs\" says what each design has:
  max-read-bytes=N      batching=per-read|fixed|adaptive   write=batched|immediate
  ibt=REQUESTS          bdu-us=MICROSECONDS                prt=REQUESTS|none
  io-threads=N          period-ms=MILLISECONDS
  core-binding, request-binding, output-batching=true|false

Signals:
  HUP         read the --config file again; ibt, bdu-us, prt, stats, weights, rules and static flows count at once
  USR1        write the counters as JSON: to the --stats file, or a line to standard output
  INT, TERM   stop; the second time at once

A first network, in a second terminal (as root):
  mn --controller remote,ip=127.0.0.1,port=6653 --switch ovs,protocols=OpenFlow13,datapath=user --topo single,3 --test pingall")]
pub(crate) struct Args {
    /// Address to listen on for switches, or a port of all addresses; may be given several times
    #[arg(long, value_name = "[ADDR:]PORT")]
    listen: Vec<Listen>,
    /// Address to serve people on over HTTP, a port of this machine alone, or "off" [default:
    /// 127.0.0.1:8080]
    #[arg(long, value_name = "[ADDR:]PORT")]
    http: Option<ServeAt>,
    /// Serve HTTP over TLS with this certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "http_key")]
    http_certificate: Option<PathBuf>,
    /// The certificate's private key, as PEM
    #[arg(long, value_name = "FILE", requires = "http_certificate")]
    http_key: Option<PathBuf>,
    /// Answer only who has a token or password of this file, which "aldis http" writes
    #[arg(long, value_name = "FILE")]
    http_access: Option<PathBuf>,
    #[command(flatten)]
    tls: secure::Settings,
    /// Number of workers, a thread and a core each [default: one a core, less one where there are more than two]
    #[arg(long, value_name = "N")]
    workers: Option<Workers>,
    /// Applications, in order, separated by commas
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    apps: Vec<AppName>,
    /// How switches are shared among workers: one of those that "aldis designs" lists
    #[arg(long, value_name = "NAME")]
    design: Option<Design>,
    /// Change one knob of the design, as bdu-us=300; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<Setting>,
    /// Give switches a weight, by datapath id, first octets (00:00:*), range (1-100) or *; the first that fits counts
    #[arg(long, value_name = "SWITCHES=N")]
    weight: Vec<WeightRule>,
    /// Write the counters as JSON to this file, at the end and on SIGUSR1
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Keep over restarts what is set while it runs, in this file; "aldis store" copies it [default: nothing is kept]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Let workers spin instead of sleep: less delay, for a core that is always busy
    #[arg(long)]
    poll: bool,
    /// Read settings from a TOML file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How much to log: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL")]
    log: Option<LogLevel>,
    /// How lines of the log look: text, json or journald [default: text; journald where systemd reads them]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
}

/// Runs until Ctrl-C or SIGTERM.
///
/// # Errors
/// One sentence: a bad setting, a file that cannot be read, a port that is taken.
pub(crate) fn run(args: Args) -> Result<ExitCode, Failure> {
    let outlets = Outlets::start()?;
    let outcome = run_with(args, &outlets);
    if let Err(failure) = &outcome {
        outlets.log.say(&format!("aldis: {}\n", failure.sentence()));
    }
    outlets.finish();
    Ok(outcome.map_or_else(|failure| failure.code(), |()| ExitCode::SUCCESS))
}

/// Likewise, with these to write to.
fn run_with(args: Args, outlets: &Outlets) -> Result<(), Failure> {
    let config = read(&args).map_err(Failure::Usage)?;
    let mut kept = Kept::open(config.store.as_deref())?;
    let config = settle(config, &args, &kept).map_err(Failure::Usage)?;
    let words = Words::listen()?;
    let format = config.log_format.unwrap_or_else(report::format_of_stderr);
    let reporter = Reporter::start(config.log, format, &outlets.log)?;
    let config = begin(config, &mut kept);
    let recipe = config.recipe().map_err(Failure::Usage)?;
    let access = config.http.access().map_err(Failure::Usage)?;
    let secure = config.tls.secure().map_err(Failure::Usage)?;
    let http = http::listen(config.http.at, &access)?;
    let (taker, incoming) = aldis_http::events::channel();
    let facts: Arc<dyn Facts> = match &http {
        Some(_) => Arc::new(http::Both(reporter.facts(), taker)),
        None => Arc::new(reporter.facts()),
    };
    let engine = Engine::start_secure(&config.engine(), secure.as_ref(), recipe, facts);
    let engine = engine.map_err(|error| error.to_string())?;
    let settings = Arc::new(Settings::new(config, engine.handle()));
    let watched = || http::Watched::new(engine.handle(), Arc::clone(&settings));
    let desk = Arc::new(Desk::new(args, Arc::clone(&settings), kept, engine.handle()));
    let start = |listening| http::start(listening, watched()?, Arc::clone(&desk), incoming, access);
    let http = http.map(start).transpose()?;
    let admission = http.as_ref().map(Server::admission);
    desk.serves(Doors { http: admission, switches: secure.map(|secure| secure.identity) });
    let served = http.as_ref().map(Server::url);
    let listening = [engine.listening(), engine.listening_tls()];
    let tell = |text: &str| tell(format, &outlets.log, text);
    tell(&greeting(&settings.now(), listening, served.as_deref()));
    let mut running = Running { desk, settings, engine, looks: Looks::default(), outlets };
    running.mind_weights();
    let why = running.until_stopped(&words);
    tell(&format!("aldis: stopping on {why}; flows stay on the switches\n"));
    let Running { engine, settings, desk: _open, .. } = running;
    // Taken while the switches are still there.
    let snapshot = engine.snapshot();
    http.into_iter().for_each(Server::stop);
    engine.stop();
    reporter.finish();
    if let Some(file) = &settings.now().stats
        && let Err(sentence) = counters::write(&snapshot, Some(file), &outlets.counters)
    {
        tell(&format!("aldis: {sentence}\n"));
    }
    let stopped = format!(
        "aldis: stopped after {} flow requests in {} batches, on {} connections\n",
        snapshot.total.requests, snapshot.total.batches, snapshot.total.connections
    );
    tell(&stopped);
    Ok(())
}

/// A controller that runs, and those who tell it what to do.
struct Running<'o> {
    desk: Arc<Desk>,
    settings: Arc<Settings>,
    engine: Engine,
    looks: Looks,
    outlets: &'o Outlets,
}

impl Running<'_> {
    /// Does as it is told, until that is to stop; why.
    fn until_stopped(&mut self, words: &Words) -> &'static str {
        let mut memory = GiveBack::default();
        loop {
            let next = self.looks.next();
            match words.next(Some(next)) {
                Some(Word::Stop(why)) => return why,
                Some(Word::Reread) => self.reread(),
                Some(Word::Count) => self.count(),
                None if self.looks.give_back <= Instant::now() => {
                    memory.look();
                    self.looks.give_back = Instant::now() + GIVE_BACK_EVERY;
                }
                None => self.look(),
            }
        }
    }

    fn count(&self) {
        let file = self.settings.now().stats.clone();
        let file = file.as_deref();
        match (counters::write(&self.engine.snapshot(), file, &self.outlets.counters), file) {
            (Ok(()), Some(file)) => info!("counters written to {}", file.display()),
            (Ok(()), None) => {}
            (Err(sentence), _) => warn!("{sentence}"),
        }
    }

    fn reread(&mut self) {
        let Some(file) = self.desk.file() else {
            info!("SIGHUP: there is nothing to read again without --config");
            return match self.desk.reread_access() {
                Ok(()) => {}
                Err(sentence) => error!("{sentence}; the old ones stay"),
            };
        };
        match self.desk.reread_settings() {
            Err(sentence) => error!("{sentence}; the old settings stay"),
            Ok(changes) => {
                changes.log(&file);
                if changes.weights {
                    self.mind_weights();
                }
            }
        }
    }

    /// Says at once where weights change nothing, and later where no switch has come that one was for.
    fn mind_weights(&mut self) {
        let config = self.settings.now();
        weights::warn_if_idle(&config);
        let named = config.rules.weights().named().next().is_some();
        self.looks.for_absent = named.then(|| Instant::now() + WEIGHTS_LOOK_AFTER);
    }

    /// Looks for what should have come by now.
    fn look(&mut self) {
        let now = Instant::now();
        if self.looks.for_any.take_if(|at| *at <= now).is_some() {
            self.look_for_any();
        }
        if self.looks.for_absent.take_if(|at| *at <= now).is_some() {
            self.look_for_absent();
        }
    }

    /// Says what to check where no switch has come, once.
    fn look_for_any(&self) {
        let snapshot = self.engine.snapshot();
        if !snapshot.switches.is_empty() {
            return;
        }
        let listening = [self.engine.listening(), self.engine.listening_tls()];
        let tried = snapshot.total.connections;
        let words = greeting::nobody_came(listening, tried, ANY_LOOK_AFTER);
        if tried > 0 { warn!("{words}") } else { info!("{words}") }
    }

    fn look_for_absent(&self) {
        let here: HashSet<u64> =
            self.engine.snapshot().switches.iter().map(|switch| switch.dpid.0).collect();
        if let Some(sentence) = self.settings.now().rules.absent(&here) {
            warn!("{sentence}");
        }
    }
}

/// Tells people what the log does not say; programs find it in the log, where every line is theirs to read.
fn tell(format: LogFormat, to: &Outlet, text: &str) {
    match format {
        LogFormat::Text => to.say(text),
        LogFormat::Json | LogFormat::Journald => {
            text.lines().map(str::trim).for_each(|line| info!("{line}"));
        }
    }
}

/// When it is looked for what should have come by then.
struct Looks {
    /// Whether any switch has come.
    for_any: Option<Instant>,
    /// Whether the switches with weights have.
    for_absent: Option<Instant>,
    /// Whether memory can be given back.
    give_back: Instant,
}

impl Default for Looks {
    fn default() -> Looks {
        let now = Instant::now();
        Looks { for_any: Some(now + ANY_LOOK_AFTER), for_absent: None, give_back: now }
    }
}

impl Looks {
    /// The next time.
    fn next(&self) -> Instant {
        let others = self.for_any.into_iter().chain(self.for_absent);
        others.fold(self.give_back, Instant::min)
    }
}

/// The file's settings, the command line's over them, and the defaults under both; weights and knobs are not settled.
fn read(args: &Args) -> Result<Config, String> {
    let mut config = match &args.config {
        Some(path) => Config::read(path)?,
        None => Config::default(),
    };
    if !args.listen.is_empty() {
        config.listen =
            args.listen.iter().flat_map(|Listen(addresses)| addresses).copied().collect();
    }
    if !args.apps.is_empty() {
        config = config.with_apps(args.apps.clone());
    }
    let http = &mut config.http;
    http.at = args.http.or(http.at);
    http.certificate = args.http_certificate.clone().or(http.certificate.take());
    http.key = args.http_key.clone().or(http.key.take());
    http.access = args.http_access.clone().or(http.access.take());
    config.tls = args.tls.clone().or(config.tls);
    config.workers = args.workers.or(config.workers);
    config.preset = args.design.unwrap_or(config.preset);
    config.poll |= args.poll;
    config.log = args.log.unwrap_or(config.log);
    config.log_format = args.log_format.or(config.log_format);
    config.stats = args.stats.clone().or(config.stats);
    config.stats.as_deref().map_or(Ok(()), counters::check)?;
    config.store = args.store.clone().or(config.store);
    Ok(config)
}

/// What was read, with the weights and knobs that count, and applications that can work together.
fn settle(config: Config, args: &Args, kept: &Kept) -> Result<Config, String> {
    let mut config = config.settle(&args.set, &args.weight, kept.imported_weights())?;
    if let Some(set) = kept.set_weights() {
        config.rules = Rules::of(set).map_err(|why| format!("the store: weights: {why}"))?;
    }
    config.recipe()?;
    Ok(config)
}

/// The same with what is kept: the controller begins with that.
fn begin(mut config: Config, kept: &mut Kept) -> Config {
    desk::configure(kept, &config);
    if kept.set_weights().is_some() && !config.said.is_empty() {
        warn!(
            "the weights that were set over HTTP count, and not those of the configuration and the command line; \"aldis weights \
             --reset\" has those count again"
        );
    }
    let begins = Begins {
        flows: kept.flows.iter().map(|(flow, _)| Arc::clone(flow)).collect(),
        rules: kept.acl.iter().map(|(rule, _)| Arc::clone(rule)).collect(),
        lldp_key: kept.lldp_key(),
    };
    config.begins = Some(begins);
    config
}
