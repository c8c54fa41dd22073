//! The way of a packet through the network, hop by hop, with the flows that decide: computed from
//! the flows and groups that switches say they have now, and from the links that are known. Nothing
//! is sent into the network.
//!
//! What switches say is hostile, and a network is large: what is held, looked at and answered is
//! bounded, and a bound that is reached is part of the answer. The thread that serves people only
//! asks; a thread beside it looks.

mod asked;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use aldis_apps::SwitchPort;
use aldis_apps::hosts::Hosts;
use aldis_apps::spelling::{Matching, Spelled};
use aldis_apps::topology::LinkState;
use aldis_apps::trace::{Budget, Cut, Each, Listing, Program, TraceOutput, TracePacket, trace};
use aldis_control::command::Reply;
use aldis_control::switch::Seen;
use aldis_wire::msg::{Action, FlowStats, FlowStatsRequest, GroupDesc, PortNo, StatsRequestBody};
use aldis_wire::{DatapathId, MacAddr, Version};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;
#[cfg(test)]
use utoipa::ToSchema;

use super::flow::{Flow, Owners};
use super::switch_request::{beside, replies, unreadable};
use super::switches::not_connected;
use crate::extract::Json as Body;
use crate::limits::{
    HOPS_MAX, HOSTS_NAMED_MAX, TRACE_HELD_MAX, TRACE_ROOM, TRACE_TURN_WITHIN, TRACES_MAX,
};
use crate::problem::Problem;
use crate::routes::{Ctx, Shared};
use asked::Asked;

/// A packet, and where it comes in.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The switch, however its datapath id is written
    #[cfg_attr(test, schema(value_type = String, example = "1"))]
    pub switch: Spelled<DatapathId>,
    /// The port of it by which the packet comes in
    #[cfg_attr(test, schema(value_type = String, example = "1"))]
    pub port: Spelled<PortNo>,
    /// Its fields, without masks; those that it has besides are zero
    #[serde(default)]
    #[cfg_attr(test, schema(value_type = std::collections::HashMap<String, String>, example = json!({"ipv4_src": "10.0.0.1", "ipv4_dst": "10.0.0.2"})))]
    pub packet: Matching,
}

/// The way of a packet.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Trace {
    /// The switches that it passes, in order; where it is copied, one way after the other
    pub hops: Vec<Hop>,
    /// Whether a bound was reached: without it there might be more
    pub cut: bool,
    /// The bounds that were reached, in words
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<String>,
}

/// A switch that it passes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
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
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Decision {
    /// The table
    pub table: u8,
    /// The flow of the highest priority that matches; none where none does
    pub flow: Option<Flow>,
}

/// A way out of a switch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
pub struct Leaving {
    /// The port
    pub port: String,
    /// Whether the switch may choose another way instead (a group of the kind `select`)
    pub maybe: bool,
    /// What is there: `hop` is the place among the hops, from 0, where it is followed
    pub to: Beyond,
    /// Hosts there that are not named
    #[serde(default, skip_serializing_if = "is_none")]
    pub more_hosts: usize,
    /// The applications to which the controller hands the packet, in order; a guest that answers is
    /// the last
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<String>,
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

/// What is behind a port.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Beyond {
    /// Another switch: the place of its hop
    Hop(usize),
    /// A switch where it was already, with the same fields, by the same port: a loop, at this hop
    Loop(usize),
    /// Hosts, by their Ethernet addresses
    Hosts(Vec<String>),
    /// No device that is known
    Nobody,
    /// The controller
    Controller,
    /// The switch itself
    Local,
    /// A switch that is not connected, or more hops than are followed
    NotFollowed(String),
}

/// What a switch has, asked once: as it said it, since that takes a tenth of what it is when it is
/// read.
#[derive(Debug)]
struct Has {
    seen: Seen,
    flows: Reply,
    groups: Option<Reply>,
}

impl Has {
    fn size(&self) -> usize {
        self.flows.size() + self.groups.as_ref().map_or(0, Reply::size)
    }
}

impl Listing for Has {
    fn flows(&self) -> Each<'_, FlowStats> {
        Box::new(self.flows.flows())
    }

    fn groups(&self) -> Each<'_, GroupDesc> {
        Box::new(self.groups.iter().flat_map(Reply::groups))
    }
}

async fn ask(shared: &Shared, dpid: DatapathId) -> Result<Has, Problem> {
    let seen = shared.controller.switch(dpid).ok_or_else(|| not_connected(dpid))?;
    let all = StatsRequestBody::Flow(FlowStatsRequest::all());
    let [flows] = replies(shared, dpid, [all]).await?;
    let groups = match seen.switch.info.version {
        Version::V10 => None,
        // Some switches have none, and say so with an error.
        Version::V13 => match replies(shared, dpid, [StatsRequestBody::GroupDesc]).await {
            Ok([groups]) => Some(groups),
            Err(refused) if refused.kind == "urn:aldis:refused" => None,
            Err(other) => return Err(other),
        },
    };
    Ok(Has { seen, flows, groups })
}

/// Traces at once: each holds what switches said, and takes a core.
static TRACING: Semaphore = Semaphore::const_new(TRACES_MAX);

async fn turn() -> Result<SemaphorePermit<'static>, Problem> {
    match timeout(TRACE_TURN_WITHIN, TRACING.acquire()).await {
        Ok(Ok(turn)) => Ok(turn),
        _ => {
            let detail = format!("{TRACES_MAX} traces are being made already; try again");
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail))
        }
    }
}

/// The way of a packet through the network
///
/// Computed from the flows and groups that each switch on the way says it has now, and from the links that are known. Nothing is
/// sent into the network. What is followed is bounded: `cuts` says which bounds were reached.
#[cfg_attr(test, utoipa::path(post, path = "/api/v1/trace", operation_id = "trace", tag = "flows", request_body = Question, responses(
    (status = 200, description = "The way", body = Trace),
    (status = 404, description = "The first switch is not connected", body = Problem),
    (status = 422, description = "No packet: a field has a mask; or no port of the switch", body = Problem),
    (status = 503, description = "Others are tracing, or there is no memory for it", body = Problem),
    (status = 504, description = "A switch did not answer", body = Problem),
)))]
pub(crate) async fn follow(
    State(shared): Ctx,
    Body(question): Body<Question>,
) -> Result<Json<Trace>, Problem> {
    let refused =
        |detail: String| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "no-packet", detail);
    let (Spelled(dpid), Spelled(port)) = (question.switch, question.port);
    let packet =
        TracePacket::of(port, &question.packet.0).map_err(|why| refused(why.to_string()))?;
    let _turn = turn().await?;
    shared.room_for(TRACE_ROOM)?;
    let first = ask(&shared, dpid).await?;
    if !first.seen.ports().iter().any(|there| there.number == port) {
        let port = words(port);
        return Err(refused(format!("port: switch {dpid} has no port {port}")));
    }
    let mut walk = {
        let shared = Arc::clone(&shared);
        beside(move || Walk::new(shared, dpid, packet)).await?
    };
    let mut next = Some(first);
    while let Some(dpid) = walk.next() {
        let has = match next.take() {
            Some(has) => Some(has),
            None if walk.has.contains_key(&dpid) => None,
            None => Some(ask(&shared, dpid).await?),
        };
        walk = beside(move || walk.visit(dpid, has)).await?;
    }
    Ok(Json(walk.end()))
}

/// A packet and its copies on their way.
struct Walk {
    shared: Arc<Shared>,
    network: TraceNetwork,
    budget: Budget,
    owners: Owners,
    asked: Asked,
    has: HashMap<DatapathId, Has>,
    /// Bytes of it.
    held: usize,
    /// Where they came, in order: the hops.
    ways: Vec<(DatapathId, TracePacket)>,
    /// The same by switch and port.
    places: HashMap<SwitchPort, Vec<usize>>,
    hops: Vec<Hop>,
    cuts: Vec<String>,
    /// Why nothing more is followed.
    ended: Option<String>,
}

impl Walk {
    /// # Errors
    /// There is no memory for what is known of the network.
    fn new(shared: Arc<Shared>, dpid: DatapathId, packet: TracePacket) -> Result<Walk, Problem> {
        let at = SwitchPort::of(dpid, packet.in_port());
        Ok(Walk {
            network: TraceNetwork::of(&shared)?,
            owners: Owners::new(shared.controller.apps()),
            asked: Asked::of(&*shared.controller),
            shared,
            budget: Budget::default(),
            has: HashMap::new(),
            held: 0,
            ways: vec![(dpid, packet)],
            places: HashMap::from([(at, vec![0])]),
            hops: vec![],
            cuts: vec![],
            ended: None,
        })
    }

    /// The switch that comes next.
    fn next(&self) -> Option<DatapathId> {
        let next = self.ways.get(self.hops.len()).filter(|_| self.ended.is_none());
        next.map(|(dpid, _)| *dpid)
    }

    /// Follows the packet through the next switch, which has what is known of it already or else
    /// this.
    fn visit(mut self, dpid: DatapathId, has: Option<Has>) -> Result<Walk, Problem> {
        let more = has.as_ref().map_or(0, Has::size);
        let Some(has) = has.or_else(|| self.has.remove(&dpid)) else { return Ok(self) };
        self.hop(&has)?;
        self.held += more;
        self.has.insert(dpid, has);
        if self.held > TRACE_HELD_MAX {
            self.end_with(format!(
                "switches said more about their flows than the {TRACE_HELD_MAX} bytes that are held"
            ));
        }
        Ok(self)
    }

    fn hop(&mut self, has: &Has) -> Result<(), Problem> {
        let (dpid, packet) = self.ways[self.hops.len()].clone();
        let version = has.seen.switch.info.version;
        let program = Program { version, listing: has, ports: has.seen.ports() };
        let traced = trace(program, &packet, &mut self.budget);
        let traced = traced.map_err(|why| unreadable(dpid, &why))?;
        for cut in traced.cuts {
            self.cut(&format!("switch {dpid}: {cut}"), cut);
        }
        let mut out = Vec::with_capacity(traced.outs.len());
        for leaving in traced.outs {
            let (port, maybe) = (leaving.port, leaving.maybe);
            let asks = match port {
                PortNo::CONTROLLER => self.asked.about(dpid, &leaving.packet),
                _ => vec![],
            };
            self.take(asks.iter().map(String::len).sum());
            let (to, more_hosts) = self.beyond(dpid, leaving);
            out.push(Leaving { port: words(port), maybe, to, more_hosts, asks });
        }
        let fields: BTreeMap<_, _> = packet.in_words().collect();
        let letters = fields.iter().map(|(name, value)| name.len() + value.len() + 8).sum();
        self.take(letters);
        let decision = |(table, flow): (u8, Option<FlowStats>)| Decision {
            table,
            flow: flow.as_ref().map(|flow| Flow::of(flow, &self.owners)),
        };
        self.hops.push(Hop {
            switch: dpid.to_string(),
            port: words(packet.in_port()),
            packet: fields,
            tables: traced.tables.into_iter().map(decision).collect(),
            does: traced.did,
            out,
        });
        Ok(())
    }

    /// What is behind the port by which a packet leaves, which goes on there where that is a
    /// switch; and hosts there that are not named.
    fn beyond(&mut self, dpid: DatapathId, out: TraceOutput) -> (Beyond, usize) {
        let port = match out.port {
            PortNo::CONTROLLER => return (Beyond::Controller, 0),
            PortNo::LOCAL => return (Beyond::Local, 0),
            port => port,
        };
        match self.network.links.get(&SwitchPort::of(dpid, port)).copied() {
            Some(next) => (self.go_on(next, out.packet), 0),
            None => {
                let (hosts, more) = self.network.hosts_at(dpid, port);
                self.take(hosts.len() * HOST_BYTES);
                let named = hosts.iter().map(MacAddr::to_string).collect();
                (if hosts.is_empty() { Beyond::Nobody } else { Beyond::Hosts(named) }, more)
            }
        }
    }

    /// A packet comes to the next switch by this port.
    fn go_on(&mut self, at: SwitchPort, mut packet: TracePacket) -> Beyond {
        let next = at.dpid;
        if self.shared.controller.switch(next).is_none() {
            return Beyond::NotFollowed(format!("switch {next} is not connected"));
        }
        packet.enter(at.port);
        let before = self.places.entry(at).or_default();
        if let Err(cut) = self.budget.step(before.len()) {
            self.cut(&cut.to_string(), cut);
            return Beyond::NotFollowed(format!("cut: {cut}"));
        }
        if let Some(&hop) = before.iter().find(|&&hop| self.ways[hop].1 == packet) {
            return Beyond::Loop(hop);
        }
        if self.ways.len() == HOPS_MAX {
            let why = format!("more than {HOPS_MAX} hops");
            let beyond = Beyond::NotFollowed(format!("cut: {why}"));
            self.note(why);
            return beyond;
        }
        before.push(self.ways.len());
        self.ways.push((next, packet));
        Beyond::Hop(self.ways.len() - 1)
    }

    /// The answer becomes longer by so much.
    fn take(&mut self, bytes: usize) {
        if let Err(cut) = self.budget.take(bytes) {
            self.cut(&cut.to_string(), cut);
        }
    }

    fn cut(&mut self, words: &str, cut: Cut) {
        match cut.is_end() {
            true => self.end_with(cut.to_string()),
            false => self.note(words.to_owned()),
        }
    }

    fn end_with(&mut self, why: String) {
        self.note(why.clone());
        self.ended.get_or_insert(why);
    }

    fn note(&mut self, why: String) {
        if !self.cuts.contains(&why) {
            self.cuts.push(why);
        }
    }

    /// The answer. Ways that were to be followed and were not lead to no hop.
    fn end(mut self) -> Trace {
        if let Some(why) = &self.ended {
            let there = self.hops.len();
            for out in self.hops.iter_mut().flat_map(|hop| &mut hop.out) {
                if matches!(out.to, Beyond::Hop(hop) | Beyond::Loop(hop) if hop >= there) {
                    out.to = Beyond::NotFollowed(format!("cut: {why}"));
                }
            }
        }
        Trace { hops: self.hops, cut: !self.cuts.is_empty(), cuts: self.cuts }
    }
}

/// What a host takes while a trace looks where it is, in bytes: a port of its own, in a table that
/// is half full.
const HOST_BEHIND_BYTES: usize = 192;

/// What an address counts for in an answer, in bytes.
const HOST_BYTES: usize = 24;

/// What is known of what is between and behind switches.
struct TraceNetwork {
    links: HashMap<SwitchPort, SwitchPort>,
    /// Hosts behind each port: some, and how many others there are.
    hosts: HashMap<SwitchPort, (Vec<MacAddr>, usize)>,
}

impl TraceNetwork {
    /// # Errors
    /// There is no memory for it.
    fn of(shared: &Shared) -> Result<TraceNetwork, Problem> {
        let world = shared.controller.world();
        let all = world.part::<Hosts>();
        shared.room_for(all.map_or(0, Hosts::len).saturating_mul(HOST_BEHIND_BYTES))?;
        let links = shared.controller.links().unwrap_or_default();
        let up = links.iter().filter(|link| link.state == LinkState::Up && link.cable);
        let both = up.flat_map(|link| {
            let [one, other] = link.ends.ports();
            [(one, other), (other, one)]
        });
        let mut hosts: HashMap<_, (Vec<MacAddr>, usize)> = HashMap::new();
        let known = all.into_iter().flat_map(Hosts::iter);
        for host in known.filter(|host| !host.is_nowhere()) {
            let (named, more) = hosts.entry(host.at()).or_default();
            match named.len() < HOSTS_NAMED_MAX {
                true => named.push(host.mac()),
                false => *more += 1,
            }
        }
        Ok(TraceNetwork { links: both.collect(), hosts })
    }

    fn hosts_at(&self, dpid: DatapathId, port: PortNo) -> (Vec<MacAddr>, usize) {
        self.hosts.get(&SwitchPort::of(dpid, port)).cloned().unwrap_or_default()
    }
}

fn words(port: PortNo) -> String {
    let words = Action::output(port).in_words();
    words.trim_start_matches("output:").to_owned()
}
