//! `aldis run`: the controller itself.

mod config;
mod report;

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use aldis_apps::LearningSwitch;
use aldis_control::{App, Recipe};
use aldis_engine::metrics::{Count, Counters};
use aldis_engine::{Design, Engine};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use config::{AppName, Config, LogLevel, Workers};
use report::Reporter;

/// Arguments of `aldis run`. What is given here goes before what the file says.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis run                                       listen on 6653 and 6633, all defaults
  aldis run --listen 127.0.0.1:6653 --workers 1   one worker, this machine only
  aldis run --config aldis.toml --log debug       settings from a file, every connection logged

A first network, in a second terminal (as root):
  mn --controller remote,ip=127.0.0.1,port=6653 --switch ovs,protocols=OpenFlow13 --topo single,3 --test pingall")]
pub(crate) struct Args {
    /// Address to listen on for switches; may be given several times
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Vec<SocketAddr>,
    /// Number of workers, a thread and a core each [default: one a core, less one where there are more than two]
    #[arg(long, value_name = "N")]
    workers: Option<Workers>,
    /// Applications, in order, separated by commas
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    apps: Vec<AppName>,
    /// How switches are shared among workers
    #[arg(long, value_name = "NAME")]
    design: Option<Design>,
    /// Let workers spin instead of sleep: less delay, for a core that is always busy
    #[arg(long)]
    poll: bool,
    /// Read settings from a TOML file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How much to log: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL")]
    log: Option<LogLevel>,
}

/// Runs until Ctrl-C or SIGTERM.
///
/// # Errors
/// One sentence: a bad setting, a file that cannot be read, a port that is taken.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    let config = configure(args)?;
    let mut signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|error| format!("cannot watch for signals: {error}"))?;
    let reporter = Reporter::start(config.log)?;
    let engine_config = config.engine();
    let engine = Engine::start(&engine_config, recipe(&config), Arc::new(reporter.facts()))
        .map_err(|error| error.to_string())?;
    eprint!("{}", greeting(&config, &engine_config, engine.listening()));
    let signal = signals.forever().next();
    // A second signal ends the process at once, should anything hang.
    let again = Arc::new(AtomicBool::new(true));
    for number in [SIGINT, SIGTERM] {
        let _ = signal_hook::flag::register_conditional_shutdown(number, 1, Arc::clone(&again));
    }
    let name = signal.and_then(signal_hook::low_level::signal_name).unwrap_or("a signal");
    eprintln!("aldis: stopping on {name}; flows stay on the switches");
    let counters = engine.counters().to_vec();
    engine.stop();
    reporter.finish();
    let sum =
        |count: fn(&Counters) -> &Count| counters.iter().map(|one| count(one).get()).sum::<u64>();
    eprintln!(
        "aldis: stopped after {} flow requests in {} batches, on {} connections",
        sum(|counters| &counters.requests),
        sum(|counters| &counters.batches),
        sum(|counters| &counters.connections)
    );
    Ok(ExitCode::SUCCESS)
}

/// The file's settings, the command line's over them, and the defaults under both.
fn configure(args: Args) -> Result<Config, String> {
    let mut config = match &args.config {
        Some(path) => Config::read(path)?,
        None => Config::default(),
    };
    if !args.listen.is_empty() {
        config.listen = args.listen;
    }
    if !args.apps.is_empty() {
        config.apps = args.apps;
    }
    config.workers = args.workers.or(config.workers);
    config.design = args.design.unwrap_or(config.design);
    config.poll |= args.poll;
    config.log = args.log.unwrap_or(config.log);
    Ok(config)
}

fn recipe(config: &Config) -> Recipe {
    let mut recipe = Recipe::default();
    for app in &config.apps {
        recipe = match app {
            AppName::LearningSwitch => {
                let settings = config.learning_switch();
                recipe.with(move || LearningSwitch::new(settings))
            }
        };
    }
    recipe
}

/// What is running, and what to do next.
fn greeting(config: &Config, engine: &aldis_engine::Config, listening: &[SocketAddr]) -> String {
    let plural = if engine.workers == 1 { "" } else { "s" };
    let apps: Vec<&str> = config.apps.iter().map(AppName::name).collect();
    let addresses: Vec<String> = listening.iter().map(SocketAddr::to_string).collect();
    let mut text = String::new();
    let _ = writeln!(
        text,
        "Aldis {}: {} worker{plural}, design {}, applications: {}",
        env!("CARGO_PKG_VERSION"),
        engine.workers,
        engine.design.name,
        apps.join(", ")
    );
    let _ = writeln!(
        text,
        "Listening for switches on {} (OpenFlow 1.0 and 1.3)",
        addresses.join(" and ")
    );
    if let Some(first) = listening.first() {
        let _ = writeln!(
            text,
            "Next, as root in another terminal:\n  mn --controller remote,ip=127.0.0.1,port={} --switch \
             ovs,protocols=OpenFlow13 --topo single,3 --test pingall",
            first.port()
        );
    }
    if config.apps.iter().any(|app| app.name() == LearningSwitch::NAME) {
        let _ = writeln!(
            text,
            "The learning switch floods: keep loops out of the network. Ctrl-C stops."
        );
    }
    text
}
