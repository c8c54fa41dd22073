//! Gathering: the facts, each wait with a deadline, all of it within seconds.

mod controller;
mod kernel;
mod ovs;
mod process;

use std::net::ToSocketAddrs;
use std::thread;
use std::time::{Duration, Instant};

use crate::facts::{Answer, Facts};

pub use process::{RunError, output};

/// How long counters are watched.
const WATCHED: Duration = Duration::from_secs(1);

/// After this time nothing more is begun: what takes longest takes a second and a half more.
const BEGUN_WITHIN: Duration = Duration::from_secs(3);

/// Asks for what is at a path of the controller: the body, or why there is none, in one sentence.
/// It returns after two seconds at the worst.
pub type Ask<'a> = dyn Fn(&str) -> Result<String, String> + Sync + 'a;

/// Which controller is asked.
pub struct Asked<'a> {
    /// As `http://127.0.0.1:8080`.
    pub url: String,
    /// Its host and port.
    pub authority: String,
    /// Asks it.
    pub ask: &'a Ask<'a>,
}

/// Gathers everything. It takes between one and five seconds.
pub fn gather(asked: &Asked<'_>) -> Facts {
    let start = Instant::now();
    let until = start + BEGUN_WITHIN;
    let port = asked.authority.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    let begin = kernel::begin(port.filter(|_| is_here(&asked.authority)));
    let mut facts = Facts::default();
    let ovs = thread::scope(|scope| {
        let ovs = scope.spawn(|| ovs::ovs(until));
        facts.controller = controller::controller(asked, WATCHED, until);
        let over = Duration::ZERO;
        thread::sleep((start + WATCHED).checked_duration_since(Instant::now()).unwrap_or(over));
        ovs.join()
    });
    facts.machine = kernel::machine(&begin);
    match ovs {
        Ok(Ok(found)) => facts.ovs = found,
        Ok(Err(why)) => facts.not_seen.push(why),
        Err(_) => facts.not_seen.push("Open vSwitch is not asked: that failed".into()),
    }
    if let Answer::No(why) = &facts.controller.answer {
        facts.not_seen.push(format!("the controller is not asked: {why}"));
    }
    facts
}

/// Whether this host is this machine.
fn is_here(authority: &str) -> bool {
    let mut addresses = authority.to_socket_addrs().into_iter().flatten();
    addresses.any(|address| ovs::is_of_this_machine(address.ip()))
}
