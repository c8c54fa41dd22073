//! The application: what is planned, said and written down.

use std::collections::BTreeSet;
use std::sync::Arc;

use aldis_control::app::{EventCtx, Next, Parallel, Slots, TickCtx};
use aldis_control::switch::SwitchInfo;
use aldis_control::world::{PartId, Publishers, View};
use aldis_control::{
    App, Batch, Commands, Event, EventKind, Output, Part, Request, SwitchPort, Time,
};
use aldis_wire::NO_BUFFER;
use aldis_wire::msg::{FlowRemoved, FlowRemovedReason, PacketOut};

use super::encoder::{Encoder, FRAME_LEN_MAX, Packet};
use super::maintenance::Maintenance;
use super::path_log::{PathLog, PathUpdates};
use super::paths::Reroute;
use super::planner::{Foreseen, Planner, RouteAnswer};
use super::prefetch::{HostFlow, Known, Prefetch, Seen, key};
use super::rule::{Key, Rule, Style};
use super::switches::{ConnectedSwitches, Report, SwitchVersion, SwitchesPublisher};
use super::table_full::TableFull;
use crate::hosts::{Effect, Host, Hosts, Identity};
use crate::recent_set::{Recency, Tick};
use crate::routing::Routes;
use crate::topology::{Map, MapChange};

/// Plans and installs paths.
#[derive(Debug)]
pub struct RouteFlow {
    path_log: Arc<PathLog>,
    encoder: Encoder,
    planner: Planner,
    prefetch: Prefetch,
    updates: PathUpdates,
}

/// What it knows of the network during one batch.
#[derive(Clone, Copy)]
struct BatchView<'w> {
    now: Time,
    routes: &'w Routes,
    switches: &'w ConnectedSwitches,
    known: Known<'w>,
    map: &'w Map,
    /// Whether copies of what was flooded may come from several sides.
    copies: bool,
}

/// What a flow's path depends on, but for where its receiver is.
const PLANNED_BY: &[PartId] = &[Routes::ID, Map::ID, ConnectedSwitches::ID];

/// The switch of a request: since when it is there, and whether its table is full.
#[derive(Clone, Copy)]
struct Here {
    joined: Time,
    is_full: bool,
}

impl RouteFlow {
    /// The instance of one worker; all have the same book.
    pub fn new(style: Style, path_log: Arc<PathLog>) -> RouteFlow {
        let planner = Planner::new(path_log.in_flight());
        let (encoder, prefetch, updates) =
            (Encoder::new(style), Prefetch::new(path_log.seed()), PathUpdates::default());
        RouteFlow { path_log, encoder, planner, prefetch, updates }
    }

    /// What becomes of one request.
    fn answer(
        &mut self,
        request: &Request<'_>,
        here: Here,
        view: &BatchView<'_>,
        out: &mut Output,
    ) -> Next {
        let next = self.answer_flow(request, here, view, out);
        if view.copies
            && next == Next::Continue
            && let Some(key) = key(request.frame)
        {
            // Applications that come later flood it.
            let at = (request.switch.dpid, Some(here.joined));
            self.path_log.flooded().note(view.now, at, (&key, request.frame));
        }
        next
    }

    /// Where the switch's table is full the packet is sent on, and no flow: then a packet between
    /// two switches is no copy of one that was flooded, but comes here for want of a flow.
    fn answer_flow(
        &mut self,
        request: &Request<'_>,
        here: Here,
        view: &BatchView<'_>,
        out: &mut Output,
    ) -> Next {
        let Here { is_full, .. } = here;
        let RouteFlow { path_log, encoder, planner, updates, prefetch } = self;
        let flow = match prefetch.seen(request.index) {
            Seen::Nothing | Seen::Again(_) => return Next::Continue,
            Seen::InFlight(port) => {
                let to = SwitchPort::of(request.switch.dpid, port);
                release(encoder, request, to, view.switches, out);
                return Next::Stop;
            }
            Seen::Flow => prefetch.flow(request.index),
        };
        let HostFlow { key, to, hash, first, last, .. } = flow;
        let from = SwitchPort::of(request.switch.dpid, request.in_port());
        if last.leads_on {
            // It was thought to be there before it was known what the port leads to.
            return Next::Continue;
        }
        let doubt = match view.copies {
            true => Doubt::of(path_log, (&key, from), view),
            false => Doubt::default(),
        };
        let foreseen = Foreseen { hash, nodes: first.node.zip(last.node) };
        match planner.answer_foreseen(view.now, (view.routes, foreseen), key, (from, to)) {
            // It is flooded on: a copy that cannot be sent on its way yet must not stand for those
            // that come later.
            RouteAnswer::NoWay => return Next::Continue,
            RouteAnswer::Filter => forget(request, out),
            RouteAnswer::Install { release: to, .. } if is_full => {
                release(encoder, request, to, view.switches, out);
            }
            RouteAnswer::Install { release: to, .. }
            | RouteAnswer::InFlight { release: to, .. }
            | RouteAnswer::Release(to)
                if doubt.is_copy && was_sent(path_log, request, (to, here), view) =>
            {
                forget(request, out);
            }
            RouteAnswer::Install { release: to, .. }
            | RouteAnswer::InFlight { release: to, .. }
                if doubt.no_flow =>
            {
                release(encoder, request, to, view.switches, out);
            }
            _ if !is_full && first.leads_on && is_copy(path_log, request, (to, view)) => {
                forget(request, out);
            }
            RouteAnswer::InFlight { release: to, since } => {
                prefetch.in_flight(since, (from, &flow));
                release(encoder, request, to, view.switches, out);
            }
            RouteAnswer::Release(to) => release(encoder, request, to, view.switches, out),
            RouteAnswer::Install { rules, release } => {
                if !install(encoder, request, (&key, rules, release), view.switches, out) {
                    return Next::Continue;
                }
                prefetch.in_flight(Tick::of(view.now), (from, &flow));
                updates.installed(key, (from, to), rules);
            }
        }
        Next::Stop
    }

    fn tell(&self, ctx: &EventCtx<'_, Parallel<TableFull>>, is_here: bool, out: &mut Output) {
        let version = is_here.then(|| switch_version(&self.encoder, ctx.switch));
        // Where there is no room, it is told again within a second.
        let _ = out.report::<ConnectedSwitches>(Report {
            dpid: ctx.switch.dpid,
            joined: ctx.slot.joined,
            version,
        });
    }

    fn expired(
        &mut self,
        ctx: &EventCtx<'_, Parallel<TableFull>>,
        gone: &FlowRemoved,
        out: &mut Output,
    ) {
        let timeouts = [FlowRemovedReason::IDLE_TIMEOUT, FlowRemovedReason::HARD_TIMEOUT];
        if gone.cookie != self.encoder.style().cookie || !timeouts.contains(&gone.reason) {
            return;
        }
        if let Some((key, in_port)) = Key::of_match(&gone.match_) {
            self.updates.expired(key, SwitchPort::of(ctx.switch.dpid, in_port));
            let switches = ctx.world.part::<ConnectedSwitches>();
            self.path_log.commit(&mut self.updates, (&self.encoder, switches), out.commands());
        }
    }
}

impl App for RouteFlow {
    type Slot = Parallel<TableFull>;

    const NAME: &'static str = "route-flow";
    const EVENTS: &'static [EventKind] = &[
        EventKind::Joining,
        EventKind::Down,
        EventKind::Second,
        EventKind::FlowRequest,
        EventKind::FlowRemoved,
        EventKind::Error,
        EventKind::Publication,
    ];
    const READS: &'static [PartId] = &[Routes::ID, Hosts::ID, Map::ID, ConnectedSwitches::ID];

    fn init_switch(&mut self, now: Time, _: &SwitchInfo) -> TableFull {
        TableFull::new(now)
    }

    fn packet_ins(
        &mut self,
        batch: &mut Batch<'_>,
        slots: Slots<'_, Parallel<TableFull>>,
        out: &mut Output,
    ) {
        let (world, now) = (batch.world, batch.now);
        let (routes, hosts, switches) = (world.part::<Routes>(), world.part(), world.part());
        let known =
            Known { now, hosts, graph: routes.graph(), version: world.version_of(PLANNED_BY) };
        let map = world.part::<Map>();
        let copies = self.path_log.flooded().may_return(now, map);
        let view = BatchView { now, routes, switches, known, map, copies };
        if !self.prefetch.read(batch, known) {
            return;
        }
        // The requests of one switch follow each other: its slot is looked at once.
        let (mut run, mut here) = (usize::MAX, Here { joined: Time::START, is_full: false });
        while let Some(block) = self.prefetch.next(known, &self.planner, copies) {
            for at in block.requests() {
                batch.one((self.prefetch.run(at), at), |request| {
                    if request.run != run {
                        let standing = slots.of(request.switch_index);
                        here = Here { joined: standing.joined, is_full: standing.is_full(now) };
                        run = request.run;
                    }
                    self.answer(request, here, &view, out)
                });
            }
        }
        if !self.updates.is_empty() {
            self.path_log.commit(&mut self.updates, (&self.encoder, switches), out.commands());
        }
    }

    fn event(
        &mut self,
        ctx: EventCtx<'_, Parallel<TableFull>>,
        event: &Event,
        out: &mut Output,
    ) -> Next {
        match event {
            Event::Joining => self.tell(&ctx, true, out),
            Event::Down => self.tell(&ctx, false, out),
            Event::Second => {
                if ctx.world.part::<ConnectedSwitches>().get(ctx.switch.dpid).is_none() {
                    self.tell(&ctx, true, out);
                }
                if let Some(mut maintenance) = self.path_log.maintenance_in_doubt() {
                    look_again(&mut maintenance, ctx.world, &self.encoder, out.commands());
                }
            }
            Event::FlowRemoved(gone) => self.expired(&ctx, gone, out),
            Event::Error(error) if error.is_table_full() => {
                if let Some(refused) = ctx.slot.refuses(ctx.now) {
                    out.commands().warn(format!(
                        "route-flow: the table of switch {} is full; {refused} flows were refused, and their packets go by the controller",
                        ctx.switch.dpid
                    ));
                }
            }
            _ => {}
        }
        Next::Continue
    }

    /// Paths over a link that is gone are led around it, and those to a host or port that is no
    /// more are removed. All batches that knew the old World have handed in what they did.
    fn published(&mut self, before: View<'_>, ctx: TickCtx<'_>, commands: &mut Commands) {
        let (encoder, world) = (&self.encoder, ctx.world);
        let switches = world.part::<ConnectedSwitches>();
        let mut maintenance = self.path_log.maintenance((encoder, switches), commands);
        if world.differs::<Routes>(before) {
            maintenance.reroute(before.part(), world.part(), |reroute| {
                commands.path(|commands| {
                    encoder.path(switches, &reroute.key, reroute.install, commands);
                });
                encoder.remove(switches, &reroute.key, reroute.remove, commands);
            });
        }
        if world.differs::<Map>(before) {
            let mut remove =
                |gone: &Reroute<'_>| encoder.remove(switches, &gone.key, gone.remove, commands);
            let mut down = BTreeSet::new();
            for change in world.part::<Map>().changes_since(before.part()) {
                if let MapChange::Port { at, now: None, .. } = change {
                    maintenance.forget_port(at, &mut remove);
                    down.insert(at);
                }
            }
            // A host that comes back is seen by what it sends, and not by what goes by a flow.
            let hosts = (!down.is_empty()).then(|| world.part::<Hosts>().iter());
            for host in hosts.into_iter().flatten().filter(|host| down.contains(&host.at())) {
                maintenance.forget_host(host.id(), &mut remove);
            }
        }
        if world.differs::<Hosts>(before) {
            let (old, new) = (before.part::<Hosts>().changes(), world.part::<Hosts>().changes());
            for effect in new.since(old) {
                if let Effect::Moved { id, .. } | Effect::Gone(id, ..) = *effect {
                    maintenance.forget_host(id, |gone| {
                        encoder.remove(switches, &gone.key, gone.remove, commands)
                    });
                }
            }
            if new.missed(old) > 0 {
                maintenance.doubt_all();
            }
        }
        look_again(&mut maintenance, world, encoder, commands);
    }

    fn publishers(&self) -> Publishers {
        Publishers::of(SwitchesPublisher::default())
    }
}

/// Looks at some of the paths of which it is not known whether their hosts are where they were.
fn look_again(
    maintenance: &mut Maintenance,
    world: View<'_>,
    encoder: &Encoder,
    commands: &mut Commands,
) {
    let (hosts, switches) = (world.part::<Hosts>(), world.part::<ConnectedSwitches>());
    let mut found = Vec::new();
    let places = |ids: &[Identity], places: &mut Vec<_>| {
        hosts.by_macs(ids, &mut found);
        places.extend(found.drain(..).map(|host| host.and_then(Host::place)));
    };
    maintenance
        .look_again(places, |gone| encoder.remove(switches, &gone.key, gone.remove, commands));
}

/// What holds of a packet while copies of what was flooded may come from several sides.
#[derive(Clone, Copy, Default)]
struct Doubt {
    /// It may be such a copy.
    is_copy: bool,
    /// Its flow would send copies on without asking.
    no_flow: bool,
}

impl Doubt {
    /// Of a packet of this flow that came in there.
    #[cold]
    fn of(path_log: &PathLog, (key, from): (&Key, SwitchPort), view: &BatchView<'_>) -> Doubt {
        let was_flooded = path_log.flooded().has_flow(view.now, key);
        match view.map.port(from).filter(|port| port.known) {
            Some(port) => Doubt { is_copy: port.is_link(), no_flow: was_flooded },
            None => {
                let sender = view.known.hosts.by_mac(key.src, key.host_vlan());
                let is_elsewhere = sender.and_then(Host::place) != Some(from);
                Doubt { is_copy: is_elsewhere, no_flow: is_elsewhere || was_flooded }
            }
        }
    }
}

/// Whether the switch of its receiver flooded this packet, or was sent it, a moment ago.
fn was_sent(
    path_log: &PathLog,
    request: &Request<'_>,
    (to, here): (SwitchPort, Here),
    view: &BatchView<'_>,
) -> bool {
    let joined = match to.dpid == request.switch.dpid {
        true => Some(here.joined),
        false => view.switches.joined(to.dpid),
    };
    path_log.flooded().is_copy(view.now, (to.dpid, joined), request.frame)
}

/// Whether another copy of this packet, met between switches, was sent on its way to that port a
/// moment ago: when its receiver was not known yet it was flooded, and comes from several sides.
/// What was sent there before its switch joined is no copy: the network may be another one by now,
/// as when Mininet was started again.
fn is_copy(
    path_log: &PathLog,
    request: &Request<'_>,
    (to, view): (SwitchPort, &BatchView<'_>),
) -> bool {
    let strays = path_log.strays();
    let hash = strays.hash((view.switches.joined(to.dpid), request.frame));
    strays.note(view.now, hash) == Recency::Known
}

/// How a switch in hand is spoken to.
fn switch_version(encoder: &Encoder, switch: &SwitchInfo) -> SwitchVersion {
    SwitchVersion { version: switch.version, table: encoder.style().tables.forwarding(switch) }
}

/// The switch need not keep the packet any longer.
fn forget(request: &Request<'_>, out: &mut Output) {
    let buffer_id = request.header.buffer_id;
    if buffer_id != NO_BUFFER {
        out.answer(request, PacketOut::buffered(buffer_id).from_port(request.in_port()));
    }
}

/// Whether all of the frame is here, and can be sent to any switch.
fn is_whole(request: &Request<'_>) -> bool {
    request.header.frame_len >= request.header.total_len
        && request.header.frame_len <= FRAME_LEN_MAX
}

/// Sends a packet out of a port without any flow. One of which only the beginning is here is lost,
/// unless the port is one of the same switch, which holds it.
fn release(
    encoder: &Encoder,
    request: &Request<'_>,
    to: SwitchPort,
    switches: &ConnectedSwitches,
    out: &mut Output,
) {
    if to.dpid == request.switch.dpid {
        out.select(request.run);
        let packet = packet(request);
        if packet.buffer_id != NO_BUFFER || is_whole(request) {
            encoder.packet(request.switch.version, &packet, to.port.0, out);
        }
        return;
    }
    if is_whole(request) {
        let frame = (request.header.xid, request.frame);
        encoder.release(switches, frame, to, out.commands());
    }
    forget(request, out);
}

/// The packet of a request, for its switch.
fn packet<'a>(request: &Request<'a>) -> Packet<'a> {
    let aldis_control::RequestHeader { xid, buffer_id, in_port, .. } = request.header;
    let frame = if buffer_id == NO_BUFFER { request.frame } else { &[] };
    Packet { xid, buffer_id, in_port, frame }
}

/// Installs a path and sends the packet; false where one of its switches is not there.
fn install(
    encoder: &Encoder,
    request: &Request<'_>,
    (key, rules, to): (&Key, &[Rule], SwitchPort),
    switches: &ConnectedSwitches,
    out: &mut Output,
) -> bool {
    if let [rule] = rules
        && rule.dpid == request.switch.dpid
    {
        out.select(request.run);
        let mut hit = rule.hit(key, request.header.xid);
        hit.buffer_id = request.header.buffer_id;
        encoder.flow(switch_version(encoder, request.switch), &hit, true, out);
        if hit.buffer_id == NO_BUFFER && is_whole(request) {
            encoder.packet(request.switch.version, &packet(request), to.port.0, out);
        }
        return true;
    }
    let mut is_there = false;
    out.commands().path(|commands| {
        let last = encoder.path(switches, key, rules, commands);
        is_there = last.is_some();
        if let Some(last) = last.filter(|_| is_whole(request)) {
            encoder.release_by(&last, (request.header.xid, request.frame), to, commands);
        }
    });
    if is_there && is_whole(request) {
        forget(request, out);
    } else if is_there && request.header.buffer_id != NO_BUFFER {
        // It goes the whole way, behind its flows as far as that can be known here.
        let first = rules.last().map_or(0, |rule| rule.out_port.0);
        out.commands().to(request.switch.dpid);
        encoder.packet(request.switch.version, &packet(request), first, out.commands());
    }
    is_there
}

#[cfg(test)]
mod tests;
