//! The banner: what a controller says when it has started: what is running, and what to do next.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use aldis_apps::LearningSwitch;
use aldis_control::App;
use aldis_engine::design::Read;
use aldis_engine::pin;

use crate::app_registry::AppName;
use crate::config::Config;
use crate::knobs::RunKnobs;

/// The lines.
pub(crate) fn banner(
    config: &Config,
    [listening, over_tls]: [&[SocketAddr]; 2],
    http: Option<&str>,
) -> String {
    let apps: Vec<&str> = config.apps().iter().map(AppName::name).collect();
    let words = |addresses: &[SocketAddr]| {
        let addresses: Vec<_> = addresses.iter().map(SocketAddr::to_string).collect();
        addresses.join(" and ")
    };
    let mut text = String::new();
    let _ = writeln!(
        text,
        "Aldis {}: {}; design {}; applications: {}",
        env!("CARGO_PKG_VERSION"),
        crew(config.workers(), config.design.read, pin::cores().len(), config.workers.is_none()),
        design(config),
        apps.join(", ")
    );
    if !listening.is_empty() {
        let addresses = words(listening);
        let _ = writeln!(text, "Listening for switches on {addresses} (OpenFlow 1.0 and 1.3)");
    }
    if !over_tls.is_empty() {
        let addresses = words(over_tls);
        let _ =
            writeln!(text, "Listening over TLS on {addresses}, for switches with a certificate");
    }
    if let Some(url) = http {
        let _ = writeln!(text, "HTTP on {url}");
    }
    if let Some(first) = listening.first() {
        let _ = writeln!(
            text,
            "Next, as root in another terminal:\n  mn --controller remote,ip=127.0.0.1,port={} --switch \
             ovs,protocols=OpenFlow13,datapath=user --topo single,3 --test pingall",
            first.port()
        );
    }
    if config.runs(LearningSwitch::NAME) {
        text += "The learning switch floods: keep loops out of the network. ";
    }
    text += "Ctrl-C stops.\n";
    text
}

/// What to check where no switch has become one of this controller's, so many connections tried.
/// One line.
pub(crate) fn no_switch_came(
    [listening, over_tls]: [&[SocketAddr]; 2],
    tried: u64,
    within: Duration,
) -> String {
    let port = listening.first().or(over_tls.first()).map_or(6653, SocketAddr::port);
    let scheme = if listening.is_empty() { "ssl" } else { "tcp" };
    let local = listening.iter().chain(over_tls).all(|address| address.ip().is_loopback());
    let within = within.as_secs();
    let mut text = match tried {
        0 => format!("no switch has connected within {within} s; if one should have, check that"),
        1 => format!(
            "no switch is connected after {within} s, though one connection came: the lines above may say why it did not stay; check that"
        ),
        _ => format!(
            "no switch is connected after {within} s, though {tried} connections came: the lines above may say why none stayed; check that"
        ),
    };
    let address = if local { "127.0.0.1" } else { "THIS-MACHINE" };
    let _ = write!(
        text,
        " (1) it is told to come here: ovs-vsctl set-controller BRIDGE {scheme}:{address}:{port}; (2) it speaks OpenFlow 1.0 or \
         1.3: ovs-vsctl set bridge BRIDGE protocols=OpenFlow13; "
    );
    if local {
        text += "(3) it runs on this machine: others cannot connect, which --listen changes; ";
    } else {
        let _ = write!(
            text,
            "(3) no firewall is between: nc -zv {address} {port}, where the switch is; "
        );
    }
    text += match (listening.is_empty(), over_tls.is_empty()) {
        (true, _) => {
            "(4) it comes over TLS, with a certificate that was signed for its datapath id"
        }
        (_, true) => "(4) it comes without TLS: tcp:, not ssl:",
        (_, false) => "(4) tcp: and ssl: lead to different ports",
    };
    text + ". This is said once"
}

/// How many threads there are, and by which rule.
fn crew(workers: usize, read: Read, cores: usize, by_rule: bool) -> String {
    let io = match read {
        Read::SharedQueue { io_threads, .. } => format!(" and {}", count(io_threads, "I/O thread")),
        _ => String::new(),
    };
    let rest = if by_rule && workers < cores { ", one left to the rest" } else { "" };
    format!("{}{io} on {}{rest}", count(workers, "worker"), count(cores, "core"))
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The preset, and the knobs that are not as it has them.
fn design(config: &Config) -> String {
    let keys: Vec<_> = RunKnobs::default().differing(&config.knobs).collect();
    match &keys[..] {
        [] => config.preset.name.to_owned(),
        _ => format!("{} with other {}", config.preset.name, keys.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_engine::Design;

    #[test]
    fn what_to_check_is_said_with_the_port_that_counts() {
        let (any, local) = ("0.0.0.0:6699".parse().unwrap(), "127.0.0.1:6700".parse().unwrap());
        let within = Duration::from_secs(15);
        let words = no_switch_came([&[any], &[]], 0, within);
        for part in
            ["within 15 s", "tcp:THIS-MACHINE:6699", "protocols=OpenFlow13", "firewall", "not ssl:"]
        {
            assert!(words.contains(part), "{part}: {words}");
        }
        let words = no_switch_came([&[], &[local]], 2, within);
        for part in ["2 connections came", "ssl:127.0.0.1:6700", "--listen", "certificate"] {
            assert!(words.contains(part), "{part}: {words}");
        }
        assert!(!words.contains("firewall") && words.lines().count() == 1, "{words}");
    }

    #[test]
    fn the_rule_about_workers_is_said() {
        let fair = Design::default().read;
        assert_eq!(crew(15, fair, 16, true), "15 workers on 16 cores, one left to the rest");
        assert_eq!(crew(2, fair, 2, true), "2 workers on 2 cores");
        assert_eq!(crew(1, fair, 1, true), "1 worker on 1 core");
        assert_eq!(crew(3, fair, 16, false), "3 workers on 16 cores");
        let queue = Read::SharedQueue { io_threads: 2, per_switch: false };
        assert_eq!(crew(1, queue, 2, false), "1 worker and 2 I/O threads on 2 cores");
    }
}
