//! An emulated network: switches that forward, links, hosts that speak, and the faults that are
//! asked for.
//!
//! Every switch has its own connection to the controller, over real sockets; everything between the
//! switches is inside this process, on one thread. A run has four phases: *connect* (until every
//! handshake is over), *settle* (as long as was asked for, and until the controller has done what
//! it does at first, or LLDP has crossed every link), *find* (until hosts that are to offer load
//! know each other), and then the script and the load, whose times count from there.
//!
//! Several networks may stand side by side, each on a thread of its own: they begin together, and
//! their reports are joined.
//!
//! Switches that probe the same controller are none of the network's: they have no links and no
//! hosts, and another thread.
//!
//! | file | what lives there |
//! | --- | --- |
//! | `fabric` | switches, wires and hosts, and what moves among them |
//! | `session` | a switch's connection |
//! | `wires` | frames on their way |
//! | `host`, `frame` | the hosts, and the frames that they send |
//! | `script` | what is to happen when, as people write it |
//! | `checks` | what is asked: pings, broadcasts, watches |
//! | `host_load` | what hosts offer beside that; `running`: how |
//! | `run` | the loop and its phases; `driven`: a network that its caller drives |
//! | `idle_time` | how much of it this thread is idle |
//! | `unfinished` | what a run leaves that ends before its time |
//! | `multi` | several networks that begin together; `joined`: their reports as one |

mod checks;
mod fabric;
mod frame;
mod host;
mod host_load;
mod idle_time;
mod multi;
mod run;
pub mod script;
mod session;
mod tally;
mod unfinished;
mod wires;

pub use checks::{Broadcast, CheckFinding, Pinged, Recovery};
pub use frame::host_address;
pub use host_load::{
    FLOW_PACKETS_MAX, FRAME_LEN, HOST_LOAD_RATE_MAX, HostLoad, HostLoadFate, OfferedPhase,
    OfferedSwitch, PEERS_MAX,
};
pub use multi::run_together;
pub use run::{DrivenNetwork, drive};
pub use script::{ScriptAction, ScriptNode, ScriptStep};
pub use session::SessionEnd;
pub use tally::Messages;
pub use wires::Frames;

use crate::SwitchTls;
use crate::load::{self, Load, Probes};
use crate::topology::Topology;
use aldis_wire::Version;
use multi::StartBarrier;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A network, and what is to happen in it.
#[derive(Clone, Debug)]
pub struct NetworkPlan {
    /// Where the controller listens.
    pub controller: SocketAddr,
    /// How the switches speak TLS, if they do.
    pub secure: Option<SwitchTls>,
    /// The version that the switches speak.
    pub version: Version,
    /// How it is built.
    pub topology: Topology,
    /// The datapath id of switch s1, 1 to 55,535; the others follow, those that probe behind them.
    /// The hosts' addresses are by [`HOSTS_A_SWITCH`] higher for each that it is higher.
    pub first_dpid: u32,
    /// How long a frame is on a link.
    pub delay: Duration,
    /// Decides what is left to chance: which pairs ping, which host offers how much to which.
    pub seed: u64,
    /// What happens when.
    pub script: Vec<ScriptStep>,
    /// What hosts send to each other beside that.
    pub load: Option<HostLoad>,
    /// Further switches, which have no links and ask the same controller while the script and the
    /// load run, as those of [`Load::probes`] do; with the network's, 10,000 at most.
    pub probes: u32,
    /// How often each of them asks, in requests a second: above 0, at most 100.
    pub probe_rate: f64,
    /// How long connecting and shaking hands may take, and LLDP to cross every link.
    pub connect_within: Duration,
    /// How long to wait behind the last handshake before the script begins, at the least: a
    /// controller that goes on to install flows is waited for, a second at most.
    pub settle: Duration,
    /// Whether to wait until LLDP has crossed every link as well.
    pub await_links: bool,
    /// How long a ping, a broadcast or a recovery is waited for.
    pub patience: Duration,
    /// How long it goes on at least, counted from where the script begins; `None` with an empty
    /// script and without load: for ever.
    pub length: Option<Duration>,
}

impl NetworkPlan {
    /// A network that only is there, until it is told to stop.
    pub fn new(controller: SocketAddr, version: Version, topology: Topology) -> NetworkPlan {
        NetworkPlan {
            controller,
            secure: None,
            version,
            topology,
            first_dpid: 1,
            delay: Duration::ZERO,
            seed: 1,
            script: Vec::new(),
            load: None,
            probes: 0,
            probe_rate: 5.0,
            connect_within: Duration::from_secs(30),
            settle: Duration::ZERO,
            await_links: false,
            patience: Duration::from_secs(5),
            length: None,
        }
    }

    /// By how much the first datapath id of a network behind this one has to be higher, if they are
    /// to have neither datapath ids nor addresses of hosts in common.
    pub fn span(&self) -> u32 {
        let hosts = self.topology.hosts().len() as u32;
        self.topology.switches().saturating_add(self.probes).max(hosts.div_ceil(HOSTS_A_SWITCH))
    }

    /// The datapath id of a switch.
    fn dpid(&self, switch: u32) -> u32 {
        self.first_dpid - 1 + switch
    }

    /// The number in the addresses of a host.
    fn address(&self, host: u32) -> u32 {
        (self.first_dpid - 1) * HOSTS_A_SWITCH + host
    }

    /// The switches that probe, as a load that has the network's beside them. They keep no packets,
    /// as the network's do not.
    fn probing(&self) -> Load {
        Load {
            secure: self.secure.clone(),
            version: self.version,
            switches: self.topology.switches(),
            first_dpid: self.first_dpid,
            buffered: false,
            seed: self.seed,
            probes: self.probes,
            probe_rate: self.probe_rate,
            handshake_deadline: self.connect_within,
            patience: self.patience,
            ..Load::new(self.controller)
        }
    }
}

/// By how much the hosts' addresses of two networks differ for each datapath id that is between
/// their switches: networks whose switches follow each other have no address in common, unless they
/// have more hosts for each of them.
pub const HOSTS_A_SWITCH: u32 = 256;

/// What is told while it runs.
#[derive(Debug)]
pub enum NetworkMoment<'a> {
    /// So many switches have shaken hands.
    Connected(u32),
    /// So many directions of links between switches has LLDP crossed.
    Crossed(usize),
    /// So many pairs of hosts that are to offer load found each other, of so many, in so long.
    Met(usize, usize, Duration),
    /// The script begins now, so long after the start.
    Ready(Duration),
    /// It goes on: told every 50 ms or so, from where hosts that are to offer load find each other.
    Goes(NetworkProgress),
    /// This was done; with a note where it did not do what it says.
    Did(&'a ScriptAction, Option<String>),
    /// This was found out.
    Found(&'a CheckFinding),
    /// So many switches lost their connection just now; the first of them, and why.
    Lost(u32, u32, &'a SessionEnd),
}

/// How far a run has come.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct NetworkProgress {
    /// How long it goes on: from where the script begins, or before that from where hosts began to
    /// find each other.
    pub elapsed: Duration,
    /// How long it goes on altogether, at the least: what was asked for, all of the load, and the
    /// last step of the script. Nothing where hosts find each other, and where only a signal ends
    /// it.
    pub length: Duration,
    /// Packets of the load that were sent, and those of them that arrived.
    pub packets: (u64, u64),
    /// Pings that were asked for, and those of them that were answered; those of a watch are left
    /// out.
    pub pings: (u64, u64),
}

/// What a run was.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct NetworkReport {
    /// How long connecting and shaking hands took, all switches together; `None` if it was stopped
    /// before.
    pub connected_after: Option<Duration>,
    /// Directions of links between switches that LLDP crossed.
    pub crossed: usize,
    /// Of how many.
    pub crossings: usize,
    /// When the last of them was first crossed, behind the last handshake.
    pub crossed_after: Option<Duration>,
    /// How long it ran, from where the script began.
    pub length: Duration,
    /// Frames on links.
    pub frames: Frames,
    /// Packets that reached a host with a wrong checksum.
    pub spoilt: u64,
    /// Broadcasts that storms sent, and the copies of them that hosts saw.
    pub storm: (u64, u64),
    /// Messages between switches and controller.
    pub messages: Messages,
    /// Connections that ended behind their handshake, and those that never got so far.
    pub lost: (u64, u64),
    /// What was found out, in order.
    pub findings: Vec<CheckFinding>,
    /// What became of the offered load, where there was one.
    pub offered: Option<HostLoadFate>,
    /// What the switches saw that probe, where there were any, and why they ended before the run
    /// did, if they did.
    pub probes: Option<(Probes, Option<String>)>,
    /// The share of time, 0 to 1, in which the network's thread had nothing to do: it neither ran
    /// nor waited for a processor. Of the time in which load was offered and pings went and came;
    /// `None` where that was under a tenth of a second.
    pub idle: Option<f64>,
    /// It was told to stop.
    pub stopped: bool,
    /// Why this is only a part of what was asked for, if it is: what was left when it was told to
    /// stop, or which switches had lost the controller at its end. A network that only is there,
    /// and is told to stop, is whole.
    pub partial: Option<String>,
}

impl NetworkReport {
    /// Whether this process may have been the limit, and not the controller: delays are its own
    /// then.
    pub fn is_generator_limited(&self) -> bool {
        self.idle.is_some_and(|idle| idle < load::IDLE_MIN)
    }
}

/// Why there is no report.
#[derive(Debug)]
pub enum NetworkFailure {
    /// The plan asks for what there is not.
    Plan(String),
    /// There are fewer descriptors than switches.
    Descriptors {
        /// Descriptors the run needs.
        needed: u64,
        /// Descriptors the system allows.
        allowed: u64,
    },
    /// Not every switch has shaken hands in time.
    NotConnected {
        /// Where the controller should be.
        controller: SocketAddr,
        /// How many have.
        up: u32,
        /// Of how many.
        of: u32,
        /// The first that has not.
        switch: u32,
        /// Why the last attempt of any failed.
        why: Option<String>,
        /// How long they were given.
        after: Duration,
    },
    /// LLDP did not cross every link in time.
    NotCrossed {
        /// Directions that it crossed.
        crossed: usize,
        /// Of how many.
        crossings: usize,
        /// How long it was given.
        after: Duration,
    },
    /// Switches that are to probe cannot.
    Probes(load::LoadFailure),
    /// The system refused something that is no switch's fault.
    System(io::Error),
}

impl fmt::Display for NetworkFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkFailure::Plan(sentence) => f.write_str(sentence),
            NetworkFailure::Descriptors { needed, allowed } => write!(
                f,
                "{needed} file descriptors are needed and the system allows {allowed}; raise the limit with ulimit -n \
                 or take a smaller topology"
            ),
            NetworkFailure::NotConnected { controller, up, of, switch, why, after } => {
                write!(
                    f,
                    "after {:.1} s {up} of {of} switches have shaken hands with {controller}, and s{switch} has not: ",
                    after.as_secs_f64()
                )?;
                match why {
                    Some(why) => f.write_str(why),
                    None => f.write_str("the controller does not answer; does it speak OpenFlow?"),
                }
            }
            NetworkFailure::NotCrossed { crossed, crossings, after } => write!(
                f,
                "after {:.1} s LLDP has crossed {crossed} of {crossings} directions of links; does the controller discover \
                 links?",
                after.as_secs_f64()
            ),
            NetworkFailure::Probes(why) => why.fmt(f),
            NetworkFailure::System(error) => write!(f, "the system refused: {error}"),
        }
    }
}

impl std::error::Error for NetworkFailure {}

impl From<load::LoadFailure> for NetworkFailure {
    fn from(why: load::LoadFailure) -> Self {
        NetworkFailure::Probes(why)
    }
}

impl From<io::Error> for NetworkFailure {
    fn from(error: io::Error) -> Self {
        NetworkFailure::System(error)
    }
}

/// Runs a plan to its end, or until `stop` says so; `tell` is called on this thread as it goes on.
///
/// # Errors
/// See [`NetworkFailure`]; every switch is disconnected by then. A controller that dies after all
/// have connected is none: the switches try again, and what is lost is counted.
pub fn run(
    plan: &NetworkPlan,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(NetworkMoment<'_>),
) -> Result<NetworkReport, NetworkFailure> {
    run::admit(std::slice::from_ref(plan))?;
    run::NetworkRun::new(plan, &StartBarrier::of(1, stop), tell)?.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_idle_for_less_than_a_twentieth_is_the_limit() {
        let is_limited =
            |idle| NetworkReport { idle, ..NetworkReport::default() }.is_generator_limited();
        let limited =
            [Some(0.0), Some(0.0499), Some(load::IDLE_MIN), Some(1.0), None].map(is_limited);
        assert_eq!(limited, [true, true, false, false, false]);
        assert_eq!(load::IDLE_MIN, 0.05);
    }
}
