//! The application: what workers see of switches, ports and probes goes to the search; the probes
//! that it asks for leave.

use std::collections::BTreeMap;
use std::time::Duration;

use aldis_control::app::{Event, EventCtx, Next, Parallel, Slots, TickCtx, Timer};
use aldis_control::batch::Request;
use aldis_control::controller_event::{Found, LinkNow};
use aldis_control::switch::SwitchInfo;
use aldis_control::world::{PartId, Publishers, View};
use aldis_control::{
    Account, App, Batch, Commands, Cookie, EventKind, Output, Part, SwitchPort, Time,
};
use aldis_packet::ethertype;
use aldis_wire::NO_BUFFER;
use aldis_wire::msg::{Action, FlowMod, FlowModFlags, Match, Message, PacketOut, PortNo};

use crate::recent_set::{Recency, RecentSet};
use crate::send::{XID_NONE, send_out};

use super::link::LinkState;
use super::lldp::{FAR_ETHERTYPE, LldpFrame, LldpProbe, Reach, TagKey};
use super::map::{LinkPeer, Map, MapChange, MapPort};
use super::search::{MapPublisher, ReportBody, Search, SearchPublisher, SearchReport};
use super::switch_ports::SwitchPorts;
use super::{TopologyConfig, TopologyCounters};

/// How often what was put off is told.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Frames that say to be ours and are not, that the search looks at, a worker and second: it tells
/// those that were ours once and were changed. Further ones count as forged.
const UNTRUE_MAX: u32 = 64;

/// How long a worker remembers that a probe came in by a port: by then the search refuses it as too
/// late.
const REMEMBERED: Duration = Duration::from_secs(3);

/// Of so many at a time: those of three seconds, at the default pace. A probe that finds no room is
/// looked at by the search.
const REMEMBERED_MAX: usize = 1 << 17;

/// The mark on the flows that bring probes to the controller.
const COOKIE: Cookie = Cookie::of(Topology::NAME);

/// Above every other flow: LLDP that is forwarded makes links that there are not.
const PRIORITY: u16 = 0xffff;

/// The application: one instance for each worker, all with the same key.
#[derive(Debug)]
pub struct Topology {
    config: TopologyConfig,
    key: TagKey,
    heard: RecentSet,
    refused: TopologyCounters,
    untrue: u32,
    /// Connections that are gone and of which the search was not told.
    gone: Vec<SearchReport>,
}

impl Topology {
    /// An instance; those of other workers get the same settings and the same key.
    pub fn new(config: TopologyConfig, key: TagKey) -> Topology {
        Topology {
            config,
            key,
            heard: RecentSet::new(REMEMBERED_MAX, REMEMBERED),
            refused: TopologyCounters::default(),
            untrue: 0,
            gone: Vec::new(),
        }
    }

    /// What becomes of a frame that says to be LLDP or the like. A probe of ours stops here; one
    /// that was flooded would make links that there are not.
    fn hear(&mut self, now: Time, request: &Request<'_>, out: &mut Output) -> Next {
        let read = LldpProbe::read(&self.key, request.frame);
        if read == LldpFrame::Foreign {
            self.refused.foreign += 1;
            return Next::Continue;
        }
        if request.header.buffer_id != NO_BUFFER {
            // The switch may forget it.
            let packet = PacketOut::buffered(request.header.buffer_id).from_port(request.in_port());
            out.answer(request, packet);
        }
        let at = SwitchPort::of(request.switch.dpid, request.in_port());
        if self.is_worth_a_look(now, at, &read) {
            // Where there is no room, it is as if it had been lost on its way.
            let _ = out.report::<Search>(SearchReport(ReportBody::Heard { now, at, read }));
        }
        Next::Stop
    }

    /// Whether the search has to see it; counts where not.
    fn is_worth_a_look(&mut self, now: Time, at: SwitchPort, read: &LldpFrame) -> bool {
        match read {
            LldpFrame::Foreign => false,
            LldpFrame::Ours(probe) => {
                let is_new = self.heard.note(now, probe.mark(at)) != Recency::Known;
                self.refused.replayed += u64::from(!is_new);
                is_new
            }
            LldpFrame::Untrue(said) => {
                self.untrue += 1;
                let looked_at = said.is_some() && self.untrue <= UNTRUE_MAX;
                self.refused.forged += u64::from(!looked_at);
                looked_at
            }
        }
    }
}

/// The flows that bring probes here, whatever else a switch was told. They tell when they are
/// removed.
fn flows() -> impl Iterator<Item = FlowMod> {
    [ethertype::LLDP, FAR_ETHERTYPE].into_iter().map(|ethertype| {
        let to_us = Action::Output { port: PortNo::CONTROLLER, max_len: u16::MAX };
        let flow = FlowMod::add(Match::new().eth_type(ethertype)).actions([to_us]);
        flow.priority(PRIORITY).cookie(COOKIE.0).flags(FlowModFlags::SEND_FLOW_REM)
    })
}

/// Has a switch bring probes here.
fn listen(switch: &SwitchInfo, out: &mut Output) {
    for flow in flows() {
        out.send_message(switch, XID_NONE, flow);
    }
}

/// Tells the operator which links came and went. Each is told at its lower end.
fn tell(config: &TopologyConfig, change: &MapChange<'_>, commands: &mut Commands) {
    let MapChange::Port { at, before, now } = *change else { return };
    let peers = |port: Option<&MapPort>| -> BTreeMap<SwitchPort, LinkPeer> {
        let peers = port.into_iter().flat_map(MapPort::peers).filter(|peer| at < peer.at);
        peers.map(|peer| (peer.at, *peer)).collect()
    };
    let now_port = now;
    let (before, now) = (peers(before), peers(now));
    for (to, peer) in &now {
        let was = before.get(to);
        // Every link works one way only until the first answer: that is nothing to be told.
        let is_new = was.is_none() && peer.state == LinkState::OneWay;
        if !is_new && was.is_none_or(|was| was.state != peer.state) {
            let now = match peer.state {
                LinkState::Up => LinkNow::Up,
                LinkState::OneWay => LinkNow::OneWay,
                LinkState::Unproven => LinkNow::Unproven,
            };
            commands.found(Topology::NAME, link(at, *to, now));
            let is_cable = now_port.and_then(|port| port.link).is_some_and(|link| link.at == *to);
            let reach = if is_cable { Reach::Direct } else { Reach::Far };
            tell_doubt(commands, (at, *to), (was, peer), config.patience(reach));
        }
        if peer.slow && !was.is_some_and(|was| was.slow) {
            commands.warn(format!(
                "topology: the link {at} - {to} takes longer than others: is it a relay?"
            ));
        }
    }
    for to in before.keys().filter(|to| !now.contains_key(to)) {
        commands.found(Topology::NAME, link(at, *to, LinkNow::Gone));
    }
}

/// A link that has to prove itself looks like one and carries nothing: the operator has to know
/// why, for how long, and when that is over.
fn tell_doubt(
    commands: &mut Commands,
    (at, to): (SwitchPort, SwitchPort),
    (was, now): (Option<&LinkPeer>, &LinkPeer),
    patience: Duration,
) {
    let is_doubted = |peer: &LinkPeer| peer.state == LinkState::Unproven;
    if is_doubted(now) {
        commands.warn(format!(
            "topology: the link {at} - {to} carries nothing until it has proven itself, which takes {} s: a host was seen at one of its ports before",
            patience.as_secs()
        ));
    } else if was.is_some_and(is_doubted) && now.state == LinkState::Up {
        commands
            .info(format!("topology: the link {at} - {to} has proven itself, and carries traffic"));
    }
}

fn link(at: SwitchPort, to: SwitchPort, now: LinkNow) -> Found {
    Found::Link { ends: [at, to], now }
}

/// Whether a switch has links: of another the round trip tells nothing.
fn has_links(world: View<'_>, switch: &SwitchInfo) -> bool {
    let there = world.part::<Map>().switch(switch.dpid);
    there.is_some_and(|switch| switch.ports.iter().any(|port| port.peers().next().is_some()))
}

/// Tells the search of a switch as a whole, where it was not told of a change.
fn catch_up(now: Time, switch_ports: &SwitchPorts, out: &mut Output) {
    switch_ports.with(|state| {
        if let Some(whole) = state.whole(now) {
            let told = SearchReport(ReportBody::Switch(Box::new(whole)));
            state.behind = out.report::<Search>(told).is_err();
        }
    });
}

/// Tells the operator that a switch has more ports than there is room for on its account.
fn say_over(switch: &SwitchInfo, account: &Account, switch_ports: &SwitchPorts, out: &mut Output) {
    if switch_ports.with(|state| state.takes_notice()) {
        let (dpid, kept) = (switch.dpid, switch_ports.with(|state| state.now.ports.len()));
        let max = account.max();
        out.commands().warn(format!(
            "topology: switch {dpid} has more ports than the {max} bytes that are kept of it have room for; further ones than {kept} \
             that are up are passed over"
        ));
    }
}

impl App for Topology {
    type Slot = Parallel<SwitchPorts>;

    const NAME: &'static str = "topology";
    const EVENTS: &'static [EventKind] = &[
        EventKind::Joining,
        EventKind::Up,
        EventKind::Down,
        EventKind::PortChange,
        EventKind::FlowRemoved,
        EventKind::Lldp,
        EventKind::Reply,
        EventKind::Second,
        EventKind::Timer,
        EventKind::Publication,
    ];
    const READS: &'static [PartId] = &[Search::ID, Map::ID];

    fn init_switch(&mut self, now: Time, switch: &SwitchInfo) -> SwitchPorts {
        SwitchPorts::new(now, switch)
    }

    fn packet_ins(&mut self, batch: &mut Batch<'_>, _: Slots<'_, Self::Slot>, out: &mut Output) {
        let now = batch.now;
        batch.each(|request| self.hear(now, request, out));
    }

    fn event(&mut self, ctx: EventCtx<'_, Self::Slot>, event: &Event, out: &mut Output) -> Next {
        let EventCtx { now, switch, account, slot: switch_ports, .. } = ctx;
        match event {
            Event::Joining => {
                switch_ports.with(|state| state.charge(account));
                say_over(switch, account, switch_ports, out);
                listen(switch, out);
            }
            Event::FlowRemoved(removed) if removed.cookie == COOKIE.0 => {
                switch_ports.with(|state| state.is_deaf = true);
                return Next::Stop;
            }
            Event::Up => catch_up(now, switch_ports, out),
            Event::Port(change) => {
                switch_ports.with(|state| {
                    let (dpid, since, number) = (switch.dpid, state.now.since, change.port.number);
                    if state.change(now, change) {
                        let port = state.now.ports.get(&number).copied();
                        let told = SearchReport(ReportBody::Port { dpid, since, number, port });
                        state.behind = !state.may_tell() || out.report::<Search>(told).is_err();
                    }
                });
                say_over(switch, account, switch_ports, out);
            }
            Event::Second => {
                let due = switch_ports.with(|state| state.second(now));
                if due.whole {
                    catch_up(now, switch_ports, out);
                }
                // More may have been removed with them; they come back once a second at most.
                if due.flows {
                    listen(switch, out);
                }
                if due.round_trip {
                    let asked = has_links(ctx.world, switch).then(|| out.xid());
                    switch_ports.with(|state| state.ask(now, asked));
                    if let Some(xid) = asked {
                        out.send_message(switch, xid, Message::BarrierRequest);
                    }
                }
            }
            Event::Reply { xid, .. } => {
                if let Some(took) = switch_ports.with(|state| state.answered(now, *xid)) {
                    // One sample less.
                    let told = SearchReport(ReportBody::RoundTrip { dpid: switch.dpid, took });
                    let _ = out.report::<Search>(told);
                }
            }
            Event::Down => {
                let since = switch_ports.with(|state| state.now.since);
                let told = SearchReport(ReportBody::Gone { dpid: switch.dpid, since });
                self.gone.extend(out.report::<Search>(told).err());
            }
            _ => {}
        }
        Next::Continue
    }

    fn timer(&self) -> Timer {
        Timer::OnEach(TELL_EVERY)
    }

    fn tick(&mut self, _: TickCtx<'_>, commands: &mut Commands) {
        self.untrue = 0;
        let gone = std::mem::take(&mut self.gone);
        self.gone.extend(gone.into_iter().filter_map(|told| commands.report::<Search>(told).err()));
        if self.refused != TopologyCounters::default()
            && commands.report::<Search>(SearchReport(ReportBody::Refused(self.refused))).is_ok()
        {
            self.refused = TopologyCounters::default();
        }
    }

    fn published(&mut self, before: View<'_>, ctx: TickCtx<'_>, commands: &mut Commands) {
        let (old, new) = (before.part::<Map>(), ctx.world.part::<Map>());
        new.changes_since(old).iter().for_each(|change| tell(&self.config, change, commands));
        let (old, new) = (before.part::<Search>(), ctx.world.part::<Search>());
        if new.probes().ended() == old.probes().ended() {
            return;
        }
        for probe in new.probes().since(old.probes()) {
            send_out(commands, probe.version, probe.from, &probe.frame);
        }
        // Where it is not told, the next round tells it of this one too.
        let told = SearchReport(ReportBody::Left { now: ctx.now, ended: new.probes().ended() });
        let _ = commands.report::<Search>(told);
    }

    fn publishers(&self) -> Publishers {
        let searcher = SearchPublisher::new(self.config, self.key.clone());
        Publishers::of(searcher).and(MapPublisher)
    }
}

#[cfg(test)]
mod tests;
