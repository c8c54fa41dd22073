//! What the server sees of the controller that it serves.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;

use aldis_control::Time;
use aldis_control::command::{Failure, Outcome};
use aldis_control::stats::Snapshot;
use aldis_control::switch::Seen;
use aldis_wire::msg::{Message, PortStats};
use aldis_wire::{DatapathId, MacAddr};

use crate::api::apps::Apps;
use crate::api::links::LinkState;
use crate::api::weights::Design;

/// What will have become of a command.
pub type Commanded = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// A controller, as those see it who watch from outside. Everything but a command is answered at once, from what is published
/// anyway: no worker ever waits for whoever asks here.
pub trait Controller: Send + Sync + 'static {
    /// The time of its clock.
    fn now(&self) -> Time;

    /// The switches that are up, by datapath id.
    fn switches(&self) -> Vec<Seen>;

    /// A switch, if it is up.
    fn switch(&self, dpid: DatapathId) -> Option<Seen>;

    /// Everything that is counted.
    fn counters(&self) -> Snapshot;

    /// The hosts that were seen, in any order; nothing where no application looks for them.
    fn hosts(&self) -> Option<Vec<Host>>;

    /// The links between switches, each once, in any order; nothing where no application looks for them.
    fn links(&self) -> Option<Vec<Link>>;

    /// The ways of equal cost from one switch to another: at most so many, of so many links together unless the first is longer;
    /// nothing where no application looks for ways.
    fn ways(&self, from: DatapathId, to: DatapathId, max: usize, hops_max: usize) -> Option<Ways>;

    /// What ports counted when their switches were last asked: of so many at most, by datapath id; nothing where no application asks
    /// them.
    fn ports_counted(&self, max: usize) -> Option<PortsCounted>;

    /// The applications that run.
    fn apps(&self) -> Apps;

    /// How workers share the switches.
    fn design(&self) -> Design;

    /// Whether these messages could be sent to a switch as one command.
    ///
    /// # Errors
    /// Why not.
    fn check(&self, to: DatapathId, messages: &[Message]) -> Result<(), Failure>;

    /// Has a switch do this, and say what became of it within this time.
    fn command(&self, to: DatapathId, messages: Vec<Message>, within: Duration) -> Commanded;
}

/// A host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// Its Ethernet address.
    pub mac: MacAddr,
    /// The VLAN that it was seen in; 0 where frames carry none.
    pub vlan: u16,
    /// Its IP addresses.
    pub ips: Vec<IpAddr>,
    /// The switch and the port that it is attached to, or was last.
    pub at: (DatapathId, u32),
    /// Whether it is there: not once the port went down, until it is seen again.
    pub attached: bool,
    /// When it was first seen.
    pub first_seen: Time,
    /// When it was last seen.
    pub last_seen: Time,
    /// Whether it is a router, where it said so or the contrary.
    pub router: Option<bool>,
}

/// What ports counted, as their switches said.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PortsCounted {
    /// The counters of each, `u64::MAX` where the switch does not count.
    pub ports: Vec<(DatapathId, PortStats)>,
    /// Ports that are not among them.
    pub left_out: u64,
}

/// Ways of equal cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ways {
    /// Who found them.
    pub engine: String,
    /// How far it is; nothing where no way leads there.
    pub distance: Option<u32>,
    /// The links of each way.
    pub paths: Vec<Vec<Crossing>>,
    /// Whether there are more.
    pub more: bool,
}

/// A link of a way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crossing {
    /// The switch and the port that it leaves by.
    pub from: (DatapathId, u32),
    /// Where it arrives.
    pub to: (DatapathId, u32),
}

/// A link between two switches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// The switch and the port at either end, the lower end first.
    pub ends: [(DatapathId, u32); 2],
    /// How far it can be relied on.
    pub state: LinkState,
    /// Since when it has been in this state.
    pub since: Time,
    /// Whether it is a cable, and does not lead through switches that are not ours.
    pub cable: bool,
    /// Whether it takes so much longer than others that somebody may be in between.
    pub slow: bool,
    /// What it takes from the lower end to the other, in microseconds, where that is known.
    pub latency_us: Option<u32>,
}
