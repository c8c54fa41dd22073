//! By which ports broadcasts leave each switch: a part of the World.

use core::time::Duration;

use aldis_control::world::{PartId, PublishCtx};
use aldis_control::{Part, Publisher, SwitchPort, Time};
use aldis_wire::DatapathId;
use aldis_wire::msg::PortNo;

use super::Forest;
use crate::routing::GraphBuilder;
use crate::topology::{Map, MapPort, MapSwitch};

/// Between two versions: while a network is being found out, every version of its map would ask for
/// one, and each takes milliseconds where there are a thousand switches. For so long floods may
/// leave by a port that is no more.
const REVISE_EVERY: Duration = Duration::from_millis(10);

/// Switches of a network that is large: with 1,347, floods by every port kept it from being found
/// out.
pub(super) const LARGE: usize = 256;

/// How broadcasts leave a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloodMode {
    /// By every port: it is not known yet where all of them lead. Repeats are what has to be held
    /// back.
    Carefully,
    /// By those of the forest, and to hosts.
    ByForest,
}

/// The ports by which broadcasts leave each switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FloodPorts {
    // By name.
    switches: Vec<SwitchFloodPorts>,
    // Since when it is known of every port what it leads to.
    settled: Option<Time>,
}

/// The ports of one switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SwitchFloodPorts {
    dpid: DatapathId,
    mode: FloodMode,
    // Those that are up, and whether the forest has them closed; by number.
    ports: Vec<(PortNo, bool)>,
}

impl Part for FloodPorts {
    /// It takes no reports: it is made of the map.
    type Report = ();
    const NAME: &'static str = "outlets";
}

impl FloodPorts {
    /// Of a map, and the forest of its links, as if it had been so for ever.
    pub fn of(map: &Map, forest: &Forest) -> FloodPorts {
        FloodPorts::since(Time::START, map, forest)
    }

    /// The same, where it is so since then.
    fn since(since: Time, map: &Map, forest: &Forest) -> FloodPorts {
        let switches: Vec<SwitchFloodPorts> =
            map.switches().map(|switch| SwitchFloodPorts::of(switch, forest)).collect();
        let settled = switches.iter().all(|switch| switch.mode == FloodMode::ByForest);
        FloodPorts { switches, settled: settled.then_some(since) }
    }

    /// Those of one switch.
    pub fn switch(&self, dpid: DatapathId) -> Option<&SwitchFloodPorts> {
        let at = self.switches.binary_search_by_key(&dpid, |switch| switch.dpid).ok()?;
        self.switches.get(at)
    }

    /// How many switches there are.
    pub(super) fn count(&self) -> usize {
        self.switches.len()
    }

    /// Whether floods by every port would keep probes from being heard in time: where there are
    /// hundreds of switches.
    pub(super) fn is_large(&self) -> bool {
        self.switches.len() >= LARGE
    }

    /// Since when it is known of every port of the network what it leads to, if it is.
    pub fn settled(&self) -> Option<Time> {
        self.settled
    }

    /// The next version, of now.
    pub(super) fn next(&self, now: Time, map: &Map, forest: &Forest) -> FloodPorts {
        FloodPorts::since(self.settled.unwrap_or(now), map, forest)
    }
}

impl SwitchFloodPorts {
    fn of(switch: &MapSwitch, forest: &Forest) -> SwitchFloodPorts {
        let mode = if switch.is_known() { FloodMode::ByForest } else { FloodMode::Carefully };
        let ports = switch.ports.iter().map(|port| {
            let at = SwitchPort::of(switch.dpid, port.number);
            (port.number, is_closed(at, port, forest))
        });
        SwitchFloodPorts { dpid: switch.dpid, mode, ports: ports.collect() }
    }

    /// How broadcasts leave just now.
    pub fn mode(&self) -> FloodMode {
        self.mode
    }

    /// The ports by which a broadcast leaves that came in by `in_port`; none where it should not
    /// have come there: it was sent before its sender knew that.
    pub fn flood(&self, in_port: PortNo) -> impl Iterator<Item = PortNo> {
        let by_forest = self.mode == FloodMode::ByForest;
        let refuses = by_forest && self.ports.contains(&(in_port, true));
        let ports = self.ports.iter().filter(move |_| !refuses);
        ports
            .filter(move |(port, closed)| *port != in_port && !(by_forest && *closed))
            .map(|(port, _)| *port)
    }
}

/// Whether no flood leaves by a port. One that leads to other switches is open if its link is of
/// the forest. Behind a switch that is not ours there may be hosts as well: the lowest of our ports
/// there is open to them, whatever the forest says.
fn is_closed(at: SwitchPort, port: &MapPort, forest: &Forest) -> bool {
    let leads_on = port.peers().next().is_some();
    let stands_in = port.link.is_none() && port.far.iter().all(|peer| at < peer.at);
    leads_on && !stands_in && !forest.is_open(at)
}

/// Publishes [`FloodPorts`].
#[derive(Debug)]
pub(super) struct FloodPortsPublisher {
    graph_builder: GraphBuilder,
    forest: Forest,
    due: Time,
    waits: bool,
}

impl FloodPortsPublisher {
    pub(super) fn new() -> FloodPortsPublisher {
        let (graph_builder, forest) = (GraphBuilder::new(false), Forest::default());
        FloodPortsPublisher { graph_builder, forest, due: Time::START, waits: false }
    }
}

impl Publisher for FloodPortsPublisher {
    type Part = FloodPorts;
    const READS: &'static [PartId] = &[Map::ID];

    fn begin(&mut self) -> FloodPorts {
        FloodPorts::default()
    }

    fn revise(&mut self, now: Time, ctx: PublishCtx<'_, FloodPorts>) -> Option<FloodPorts> {
        self.waits |= ctx.changed::<Map>();
        if !self.waits || now < self.due {
            return None;
        }
        (self.waits, self.due) = (false, now + REVISE_EVERY);
        let map = ctx.world().part::<Map>();
        if self.graph_builder.follow(map) {
            self.forest = Forest::of(self.graph_builder.graph());
        }
        let next = ctx.current().next(now, map, &self.forest);
        Some(next).filter(|flood_ports| flood_ports != ctx.current())
    }

    fn next(&self) -> Time {
        if self.waits { self.due } else { Time::NEVER }
    }
}
