//! The arguments of `aldis run`. What is given here goes before what the file says.

use std::path::PathBuf;

use aldis_control::weights::WeightRule;
use aldis_engine::Design;
use clap::Parser;

use crate::address::Listen;
use crate::app_registry::AppName;
use crate::config::{Config, LogFormat, LogLevel, Workers};
use crate::counters;
#[cfg(feature = "http")]
use crate::http::ServeAt;
use crate::knobs::Setting;
use crate::secure;

/// Arguments of `aldis run`, and of a program of one's own.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address to listen on for switches, or a port of all addresses; may be given several times
    #[arg(long, value_name = "[ADDR:]PORT")]
    listen: Vec<Listen>,
    /// Address to serve people on over HTTP, a port of this machine alone, or "off" [default:
    /// 127.0.0.1:8080]
    #[cfg(feature = "http")]
    #[arg(long, value_name = "[ADDR:]PORT")]
    http: Option<ServeAt>,
    /// Serve HTTP over TLS with this certificate, as PEM
    #[cfg(feature = "http")]
    #[arg(long, value_name = "FILE", requires = "http_key")]
    http_certificate: Option<PathBuf>,
    /// The certificate's private key, as PEM
    #[cfg(feature = "http")]
    #[arg(long, value_name = "FILE", requires = "http_certificate")]
    http_key: Option<PathBuf>,
    /// Answer only requests with a token or password of this file, which "aldis http" writes
    #[cfg(feature = "http")]
    #[arg(long, value_name = "FILE")]
    http_access: Option<PathBuf>,
    /// Show the results of "aldis lab" in this folder
    #[cfg(feature = "http")]
    #[arg(long, value_name = "DIR")]
    http_reports: Option<PathBuf>,
    #[command(flatten)]
    tls: secure::TlsTable,
    /// Number of workers, a thread and a core each [default: one a core, less one where there are
    /// more than two]
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
    /// Give switches a weight, by datapath id, first octets (00:00:*), range (1-100) or *; the
    /// first that fits counts
    #[arg(long, value_name = "SWITCHES=N")]
    weight: Vec<WeightRule>,
    /// Write the counters as JSON to this file, at the end and on SIGUSR1
    #[arg(long, value_name = "FILE")]
    stats: Option<PathBuf>,
    /// Keep over restarts what is set while it runs, in this file; "aldis store" copies it
    /// [default: nothing is kept]
    #[cfg(feature = "store")]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Keep the packages of installed applications in this folder, and start those that are there
    /// [default: they are gone with the controller]
    #[cfg(feature = "sandbox")]
    #[arg(long, value_name = "DIR")]
    app_folder: Option<PathBuf>,
    /// Keep the newest minutes of the control channel in so many MiB of memory, for "aldis record
    /// --last" [default: none are kept]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    recording_mib: Option<u64>,
    /// Let workers spin instead of sleep: less delay, for a core that is always busy
    #[arg(long)]
    poll: bool,
    /// Read settings from a TOML file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How much to log: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL")]
    log: Option<LogLevel>,
    /// How lines of the log look: text, json or journald [default: text; journald where systemd
    /// reads them]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
}

/// A program with these arguments alone.
#[derive(Parser)]
#[command(max_term_width = 100)]
struct ArgsAlone {
    #[command(flatten)]
    args: Args,
}

/// Those of this program; where they make no sense it prints why and ends.
pub(crate) fn parse() -> Args {
    ArgsAlone::parse().args
}

impl Args {
    /// The file's settings, these over them, and the defaults under both; weights and knobs are not
    /// settled.
    pub(crate) fn read(&self) -> Result<Config, String> {
        let mut config = match &self.config {
            Some(path) => Config::read(path)?,
            None => Config::default(),
        };
        if !self.listen.is_empty() {
            config.listen =
                self.listen.iter().flat_map(|Listen(addresses)| addresses).copied().collect();
        }
        if !self.apps.is_empty() {
            config.set_apps(self.apps.clone());
        }
        #[cfg(feature = "http")]
        self.read_http(&mut config.http);
        config.tls = self.tls.clone().or(config.tls);
        config.workers = self.workers.or(config.workers);
        config.preset = self.design.unwrap_or(config.preset);
        config.poll |= self.poll;
        self.recording_mib.into_iter().for_each(|mib| config.set_recording(mib));
        config.log = self.log.unwrap_or(config.log);
        config.log_format = self.log_format.or(config.log_format);
        config.stats = self.stats.clone().or(config.stats);
        config.stats.as_deref().map_or(Ok(()), counters::check)?;
        #[cfg(feature = "store")]
        {
            config.store = self.store.clone().or(config.store);
        }
        #[cfg(feature = "sandbox")]
        {
            config.app_folder = self.app_folder.clone().or(config.app_folder);
        }
        config.set.clone_from(&self.set);
        config.weight.clone_from(&self.weight);
        Ok(config)
    }

    #[cfg(feature = "http")]
    fn read_http(&self, http: &mut crate::http::Section) {
        http.at = self.http.or(http.at);
        http.certificate = self.http_certificate.clone().or(http.certificate.take());
        http.key = self.http_key.clone().or(http.key.take());
        http.access = self.http_access.clone().or(http.access.take());
        http.reports = self.http_reports.clone().or(http.reports.take());
    }
}
