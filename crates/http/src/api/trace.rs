//! The way of a packet through the network, hop by hop, with the flows that decide: computed from the flows and groups that switches
//! say they have now, and from the links that are known. Nothing is sent into the network.

use std::collections::{BTreeMap, HashMap};

use aldis_control::switch::Seen;
use aldis_control::trace::{Out, Packet, Program, trace};
use aldis_wire::msg::{
    Action, FlowStats, FlowStatsRequest, GroupDesc, PortNo, StatsReplyBody, StatsRequestBody,
};
use aldis_wire::{DatapathId, Version};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ask::{stats, unasked};
use super::flow::{Flow, Matching, Read};
use super::links::LinkState;
use super::switches::not_connected;
use crate::extract::Json as Body;
use crate::limits::HOPS_MAX;
use crate::problem::Problem;
use crate::routes::{From, Shared};

/// A packet, and where it comes in.
#[derive(Clone, PartialEq, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The switch, however its datapath id is written
    #[schema(value_type = String, example = "1")]
    pub switch: Read<DatapathId>,
    /// The port of it by which the packet comes in
    #[schema(value_type = String, example = "1")]
    pub port: Read<PortNo>,
    /// Its fields, without masks; those that it has besides are zero
    #[serde(default)]
    #[schema(value_type = std::collections::HashMap<String, String>, example = json!({"ipv4_src": "10.0.0.1", "ipv4_dst": "10.0.0.2"}))]
    pub packet: Matching,
}

/// The way of a packet.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Trace {
    /// The switches that it passes, in order; where it is copied, one way after the other
    pub hops: Vec<Hop>,
    /// Whether it goes on beyond the hops that are followed
    pub cut: bool,
}

/// A switch that it passes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Hop {
    /// The switch
    pub switch: String,
    /// The port by which the packet comes in
    pub port: String,
    /// As it is then; fields that it has besides are zero
    pub packet: BTreeMap<String, String>,
    /// The tables that it passes, each with the flow that decides
    pub tables: Vec<Decision>,
    /// What is done with it, in words, where that is not an output
    pub does: Vec<String>,
    /// Where it goes; nowhere: it is dropped
    pub out: Vec<Leaving>,
}

/// What a table decides.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Decision {
    /// The table
    pub table: u8,
    /// The flow of the highest priority that matches; none where none does
    pub flow: Option<Flow>,
}

/// A way out of a switch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Leaving {
    /// The port
    pub port: String,
    /// Whether the switch may choose another way instead (a group of the kind `select`)
    pub maybe: bool,
    /// What is there: `hop` is the place among the hops, from 0, where it is followed
    pub to: Beyond,
}

/// What is behind a port.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Beyond {
    /// Another switch: the place of its hop
    Hop(usize),
    /// A switch where it was already, with the same fields, by the same port: a loop, at this hop
    Loop(usize),
    /// Hosts, by their Ethernet addresses
    Hosts(Vec<String>),
    /// Nobody who is known
    Nobody,
    /// The controller
    Controller,
    /// The switch itself
    Local,
    /// A switch that is not connected, or more hops than are followed
    NotFollowed(String),
}

/// What a switch has, asked once.
struct Has {
    seen: Seen,
    flows: Vec<FlowStats>,
    groups: Vec<GroupDesc>,
}

async fn ask(shared: &Shared, dpid: DatapathId) -> Result<Has, Problem> {
    let seen = shared.controller.switch(dpid).ok_or_else(|| not_connected(dpid))?;
    let all = StatsRequestBody::Flow(FlowStatsRequest::all());
    let StatsReplyBody::Flow(flows) = stats(shared, dpid, all).await? else {
        return Err(unasked(dpid));
    };
    let groups = match seen.switch.info.version {
        Version::V10 => vec![],
        // Some switches have none, and say so with an error.
        Version::V13 => match stats(shared, dpid, StatsRequestBody::GroupDesc).await {
            Ok(StatsReplyBody::GroupDesc(groups)) => groups,
            Ok(_) => return Err(unasked(dpid)),
            Err(refused) if refused.kind == "urn:aldis:refused" => vec![],
            Err(other) => return Err(other),
        },
    };
    Ok(Has { seen, flows, groups })
}

/// The way of a packet through the network
///
/// Computed from the flows and groups that each switch on the way says it has now, and from the links that are known. Nothing is
/// sent into the network.
#[utoipa::path(post, path = "/api/v1/trace", operation_id = "trace", tag = "flows", request_body = Question, responses(
    (status = 200, description = "The way", body = Trace),
    (status = 404, description = "The first switch is not connected", body = Problem),
    (status = 422, description = "No packet: a field has a mask; or no port of the switch", body = Problem),
    (status = 504, description = "A switch did not answer", body = Problem),
))]
pub(crate) async fn follow(
    State(shared): From,
    Body(question): Body<Question>,
) -> Result<Json<Trace>, Problem> {
    let refused =
        |detail: String| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "no-packet", detail);
    let (Read(dpid), Read(port)) = (question.switch, question.port);
    let packet = Packet::of(port, &question.packet.0).map_err(|why| refused(why.to_string()))?;
    let mut has: HashMap<DatapathId, Has> = HashMap::new();
    has.insert(dpid, ask(&shared, dpid).await?);
    if !has[&dpid].seen.ports().iter().any(|there| there.number == port) {
        let port = words(port);
        return Err(refused(format!("port: switch {dpid} has no port {port}")));
    }
    let ways = vec![(dpid, packet)];
    let mut walk = Walk { network: Network::of(&shared), shared: &shared, has, ways, cut: false };
    let mut hops = vec![];
    while hops.len() < walk.ways.len() {
        hops.push(walk.hop(hops.len()).await?);
    }
    Ok(Json(Trace { hops, cut: walk.cut }))
}

/// A packet and its copies on their way.
struct Walk<'s> {
    shared: &'s Shared,
    network: Network,
    has: HashMap<DatapathId, Has>,
    /// Where they came, in order: the hops.
    ways: Vec<(DatapathId, Packet)>,
    cut: bool,
}

impl Walk<'_> {
    async fn hop(&mut self, place: usize) -> Result<Hop, Problem> {
        let (dpid, packet) = self.ways[place].clone();
        let has = match self.has.remove(&dpid) {
            Some(has) => has,
            None => ask(self.shared, dpid).await?,
        };
        let Has { seen, flows, groups } = &has;
        let version = seen.switch.info.version;
        let traced = trace(Program { version, flows, groups, ports: seen.ports() }, &packet);
        let leaving = |out: Out| Leaving {
            port: words(out.port),
            maybe: out.maybe,
            to: self.beyond(dpid, out),
        };
        let out = traced.outs.into_iter().map(leaving).collect();
        let decision =
            |(table, flow): (u8, Option<&FlowStats>)| Decision { table, flow: flow.map(Flow::of) };
        let hop = Hop {
            switch: dpid.to_string(),
            port: words(packet.in_port()),
            packet: packet.in_words().collect(),
            tables: traced.tables.into_iter().map(decision).collect(),
            does: traced.did,
            out,
        };
        self.has.insert(dpid, has);
        Ok(hop)
    }

    /// What is behind the port by which a packet leaves, which goes on there where that is a switch.
    fn beyond(&mut self, dpid: DatapathId, out: Out) -> Beyond {
        let port = match out.port {
            PortNo::CONTROLLER => return Beyond::Controller,
            PortNo::LOCAL => return Beyond::Local,
            port => port,
        };
        let Some(&(next, by)) = self.network.links.get(&(dpid, port.0)) else {
            return self.network.hosts_at(dpid, port);
        };
        if self.shared.controller.switch(next).is_none() {
            return Beyond::NotFollowed(format!("switch {next} is not connected"));
        }
        let mut arriving = out.packet;
        arriving.enter(PortNo(by));
        let way = (next, arriving);
        match self.ways.iter().position(|there| *there == way) {
            Some(hop) => Beyond::Loop(hop),
            None if self.ways.len() == HOPS_MAX => {
                self.cut = true;
                Beyond::NotFollowed(format!("{HOPS_MAX} hops are followed"))
            }
            None => {
                self.ways.push(way);
                Beyond::Hop(self.ways.len() - 1)
            }
        }
    }
}

/// What is known of what is between and behind switches.
struct Network {
    links: HashMap<(DatapathId, u32), (DatapathId, u32)>,
    hosts: HashMap<(DatapathId, u32), Vec<String>>,
}

impl Network {
    fn of(shared: &Shared) -> Network {
        let links = shared.controller.links().unwrap_or_default();
        let up = links.iter().filter(|link| link.state == LinkState::Up && link.cable);
        let both = up.flat_map(|link| {
            let [one, other] = link.ends;
            [(one, other), (other, one)]
        });
        let mut hosts: HashMap<_, Vec<String>> = HashMap::new();
        for host in shared.controller.hosts().unwrap_or_default() {
            hosts.entry(host.at).or_default().push(host.mac.to_string());
        }
        Network { links: both.collect(), hosts }
    }

    fn hosts_at(&self, dpid: DatapathId, port: PortNo) -> Beyond {
        let hosts = self.hosts.get(&(dpid, port.0)).cloned();
        hosts.map_or(Beyond::Nobody, Beyond::Hosts)
    }
}

fn words(port: PortNo) -> String {
    let words = Action::output(port).in_words();
    words.trim_start_matches("output:").to_owned()
}
