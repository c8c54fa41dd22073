//! The application: what is planned, said and written down.

use std::sync::Arc;

use aldis_control::app::{EventCtx, Next, Parallel, Slots, TickCtx};
use aldis_control::switch::SwitchInfo;
use aldis_control::world::{PartId, Publishers, View};
use aldis_control::{App, Batch, Commands, Event, EventKind, Output, Part, Request, Time};
use aldis_wire::NO_BUFFER;
use aldis_wire::msg::{FlowRemoved, FlowRemovedReason, PacketOut};

use super::ahead::{Ahead, Flow, Known, Seen, key};
use super::book::{Book, Page};
use super::fleet::{Fleet, Musters, Report, Voice};
use super::full::Standing;
use super::keeper::Keeper;
use super::pen::{FRAME_LEN_MAX, Packet, Pen};
use super::planner::{Answer, Foreseen, Planner};
use super::rule::{Key, Rule, Style};
use crate::hosts::{Effect, Host, Hosts, Identity};
use crate::recent_set::{Tick, Verdict};
use crate::routing::Routes;
use crate::topology::{Change, Map};
use aldis_control::SwitchPort;

/// Plans and installs paths.
#[derive(Debug)]
pub struct RouteFlow {
    book: Arc<Book>,
    pen: Pen,
    planner: Planner,
    ahead: Ahead,
    page: Page,
}

/// What it knows of the network during one batch.
#[derive(Clone, Copy)]
struct Sight<'w> {
    now: Time,
    routes: &'w Routes,
    fleet: &'w Fleet,
    known: Known<'w>,
    map: &'w Map,
    /// Whether copies of what was flooded may come from several sides.
    copies: bool,
}

/// The switch of a request: since when it is there, and whether its table is full.
#[derive(Clone, Copy)]
struct Here {
    joined: Time,
    is_full: bool,
}

impl RouteFlow {
    /// The instance of one worker; all have the same book.
    pub fn new(style: Style, book: Arc<Book>) -> RouteFlow {
        let planner = Planner::new(book.in_flight());
        let (pen, ahead, page) = (Pen::new(style), Ahead::new(book.seed()), Page::default());
        RouteFlow { book, pen, planner, ahead, page }
    }

    /// What becomes of one request.
    fn answer(
        &mut self,
        request: &Request<'_>,
        here: Here,
        sight: &Sight<'_>,
        out: &mut Output,
    ) -> Next {
        let next = self.answer_flow(request, here, sight, out);
        if sight.copies
            && next == Next::Continue
            && let Some(key) = key(request.frame)
        {
            // Applications that come later flood it.
            let at = (request.switch.dpid, Some(here.joined));
            self.book.flooded().note(sight.now, at, (&key, request.frame));
        }
        next
    }

    /// Where the switch's table is full the packet is sent on, and no flow: then a packet between
    /// two switches is no copy of one that was flooded, but comes here for want of a flow.
    fn answer_flow(
        &mut self,
        request: &Request<'_>,
        here: Here,
        sight: &Sight<'_>,
        out: &mut Output,
    ) -> Next {
        let Here { is_full, .. } = here;
        let RouteFlow { book, pen, planner, page, ahead } = self;
        let flow = match ahead.seen(request.index, sight.known, planner) {
            Seen::Nothing => return Next::Continue,
            Seen::InFlight(port) => {
                let to = SwitchPort::of(request.switch.dpid, port);
                release(pen, request, to, sight.fleet, out);
                return Next::Stop;
            }
            Seen::Flow(flow) => flow,
        };
        let Flow { key, to, hash, first, last, .. } = flow;
        let from = SwitchPort::of(request.switch.dpid, request.in_port());
        if last.leads_on {
            // It was thought to be there before it was known what the port leads to.
            return Next::Continue;
        }
        let doubt = match sight.copies {
            true => Doubt::of(book, (&key, from), sight),
            false => Doubt::default(),
        };
        let foreseen = Foreseen { hash, nodes: first.node.zip(last.node) };
        match planner.answer_foreseen(sight.now, (sight.routes, foreseen), key, (from, to)) {
            // It is flooded on: a copy that nobody can send on its way yet must not stand for those
            // that come later.
            Answer::NoWay => return Next::Continue,
            Answer::Filter => forget(request, out),
            Answer::Install { release: to, .. } if is_full => {
                release(pen, request, to, sight.fleet, out);
            }
            Answer::Install { release: to, .. }
            | Answer::InFlight { release: to, .. }
            | Answer::Release(to)
                if doubt.is_copy && was_sent(book, request, (to, here), sight) =>
            {
                forget(request, out);
            }
            Answer::Install { release: to, .. } | Answer::InFlight { release: to, .. }
                if doubt.no_flow =>
            {
                release(pen, request, to, sight.fleet, out);
            }
            _ if !is_full && first.leads_on && is_copy(book, request, (to, sight)) => {
                forget(request, out);
            }
            Answer::InFlight { release: to, since } => {
                ahead.in_flight(since, (from, &flow));
                release(pen, request, to, sight.fleet, out);
            }
            Answer::Release(to) => release(pen, request, to, sight.fleet, out),
            Answer::Install { rules, release } => {
                if !install(pen, request, (&key, rules, release), sight.fleet, out) {
                    return Next::Continue;
                }
                ahead.in_flight(Tick::of(sight.now), (from, &flow));
                page.installed(key, (from, to), rules);
            }
        }
        Next::Stop
    }

    fn tell(&self, ctx: &EventCtx<'_, Parallel<Standing>>, is_here: bool, out: &mut Output) {
        let voice = is_here.then(|| voice(&self.pen, ctx.switch));
        // Where there is no room, it is told again within a second.
        let _ =
            out.report::<Fleet>(Report { dpid: ctx.switch.dpid, joined: ctx.slot.joined, voice });
    }

    fn expired(
        &mut self,
        ctx: &EventCtx<'_, Parallel<Standing>>,
        gone: &FlowRemoved,
        out: &mut Output,
    ) {
        let timeouts = [FlowRemovedReason::IDLE_TIMEOUT, FlowRemovedReason::HARD_TIMEOUT];
        if gone.cookie != self.pen.style().cookie || !timeouts.contains(&gone.reason) {
            return;
        }
        if let Some((key, in_port)) = Key::of_match(&gone.match_) {
            self.page.expired(key, SwitchPort::of(ctx.switch.dpid, in_port));
            let fleet = ctx.world.part::<Fleet>();
            self.book.hand_in(&mut self.page, (&self.pen, fleet), out.commands());
        }
    }
}

impl App for RouteFlow {
    type Slot = Parallel<Standing>;

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
    const READS: &'static [PartId] = &[Routes::ID, Hosts::ID, Map::ID, Fleet::ID];

    fn init_switch(&mut self, now: Time, _: &SwitchInfo) -> Standing {
        Standing::new(now)
    }

    fn packet_ins(
        &mut self,
        batch: &mut Batch<'_>,
        slots: Slots<'_, Parallel<Standing>>,
        out: &mut Output,
    ) {
        let (world, now) = (batch.world, batch.now);
        let (routes, hosts, fleet) = (world.part::<Routes>(), world.part(), world.part());
        let known = Known { now, hosts, graph: routes.graph(), version: world.version() };
        let map = world.part::<Map>();
        let copies = self.book.flooded().may_return(now, map);
        let sight = Sight { now, routes, fleet, known, map, copies };
        if !self.ahead.read(batch, known) {
            return;
        }
        // The requests of one switch follow each other: its slot is looked at once.
        let (mut run, mut here) = (usize::MAX, Here { joined: Time::START, is_full: false });
        batch.each(|request| {
            if request.run != run {
                let standing = slots.of(request.switch_index);
                here = Here { joined: standing.joined, is_full: standing.is_full(now) };
                run = request.run;
            }
            self.answer(request, here, &sight, out)
        });
        if !self.page.is_empty() {
            self.book.hand_in(&mut self.page, (&self.pen, fleet), out.commands());
        }
    }

    fn event(
        &mut self,
        ctx: EventCtx<'_, Parallel<Standing>>,
        event: &Event,
        out: &mut Output,
    ) -> Next {
        match event {
            Event::Joining => self.tell(&ctx, true, out),
            Event::Down => self.tell(&ctx, false, out),
            Event::Second => {
                if ctx.world.part::<Fleet>().voice(ctx.switch.dpid).is_none() {
                    self.tell(&ctx, true, out);
                }
                if let Some(mut keeper) = self.book.keeper_in_doubt() {
                    look_again(&mut keeper, ctx.world, &self.pen, out.commands());
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
        let (pen, world) = (&self.pen, ctx.world);
        let fleet = world.part::<Fleet>();
        let mut keeper = self.book.keeper((pen, fleet), commands);
        if world.differs::<Routes>(before) {
            keeper.reroute(before.part(), world.part(), |reroute| {
                commands.path(|commands| {
                    pen.path(fleet, &reroute.key, reroute.install, commands);
                });
                pen.remove(fleet, &reroute.key, reroute.remove, commands);
            });
        }
        if world.differs::<Map>(before) {
            for change in world.part::<Map>().changes_since(before.part()) {
                if let Change::Port { at, now: None, .. } = change {
                    keeper.forget_port(at, |gone| {
                        pen.remove(fleet, &gone.key, gone.remove, commands)
                    });
                }
            }
        }
        if world.differs::<Hosts>(before) {
            let (old, new) = (before.part::<Hosts>().changes(), world.part::<Hosts>().changes());
            for effect in new.since(old) {
                if let Effect::Moved { id, .. } | Effect::Gone(id, ..) = *effect {
                    keeper.forget_host(id, |gone| {
                        pen.remove(fleet, &gone.key, gone.remove, commands)
                    });
                }
            }
            if new.missed(old) > 0 {
                keeper.doubt_all();
            }
        }
        look_again(&mut keeper, world, pen, commands);
    }

    fn publishers(&self) -> Publishers {
        Publishers::of(Musters::default())
    }
}

/// Looks at some of the paths of which it is not known whether their hosts are where they were.
fn look_again(keeper: &mut Keeper, world: View<'_>, pen: &Pen, commands: &mut Commands) {
    let (hosts, fleet) = (world.part::<Hosts>(), world.part::<Fleet>());
    let mut found = Vec::new();
    let places = |ids: &[Identity], places: &mut Vec<_>| {
        hosts.by_macs(ids, &mut found);
        places.extend(found.drain(..).map(|host| host.and_then(Host::place)));
    };
    keeper.look_again(places, |gone| pen.remove(fleet, &gone.key, gone.remove, commands));
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
    fn of(book: &Book, (key, from): (&Key, SwitchPort), sight: &Sight<'_>) -> Doubt {
        let was_flooded = book.flooded().has_flow(sight.now, key);
        match sight.map.port(from).filter(|port| port.known) {
            Some(port) => Doubt { is_copy: port.is_link(), no_flow: was_flooded },
            None => {
                let sender = sight.known.hosts.by_mac(key.src, key.host_vlan());
                let is_elsewhere = sender.and_then(Host::place) != Some(from);
                Doubt { is_copy: is_elsewhere, no_flow: is_elsewhere || was_flooded }
            }
        }
    }
}

/// Whether the switch of its receiver flooded this packet, or was sent it, a moment ago.
fn was_sent(
    book: &Book,
    request: &Request<'_>,
    (to, here): (SwitchPort, Here),
    sight: &Sight<'_>,
) -> bool {
    let joined = match to.dpid == request.switch.dpid {
        true => Some(here.joined),
        false => sight.fleet.joined(to.dpid),
    };
    book.flooded().is_copy(sight.now, (to.dpid, joined), request.frame)
}

/// Whether another copy of this packet, met between switches, was sent on its way to that port a
/// moment ago: when its receiver was not known yet it was flooded, and comes from several sides.
/// What was sent there before its switch joined is no copy: the network may be another one by now,
/// as when Mininet was started again.
fn is_copy(book: &Book, request: &Request<'_>, (to, sight): (SwitchPort, &Sight<'_>)) -> bool {
    let strays = book.strays();
    let hash = strays.hash((sight.fleet.joined(to.dpid), request.frame));
    strays.note(sight.now, hash) == Verdict::Known
}

/// How a switch in hand is spoken to.
fn voice(pen: &Pen, switch: &SwitchInfo) -> Voice {
    Voice { version: switch.version, table: pen.style().tables.forwarding(switch) }
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
fn release(pen: &Pen, request: &Request<'_>, to: SwitchPort, fleet: &Fleet, out: &mut Output) {
    if to.dpid == request.switch.dpid {
        out.select(request.run);
        let packet = packet(request);
        if packet.buffer_id != NO_BUFFER || is_whole(request) {
            pen.packet(request.switch.version, &packet, to.port.0, out);
        }
        return;
    }
    if is_whole(request) {
        let frame = (request.header.xid, request.frame);
        pen.release(fleet, frame, to, out.commands());
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
    pen: &Pen,
    request: &Request<'_>,
    (key, rules, to): (&Key, &[Rule], SwitchPort),
    fleet: &Fleet,
    out: &mut Output,
) -> bool {
    if let [rule] = rules
        && rule.dpid == request.switch.dpid
    {
        out.select(request.run);
        let mut hit = rule.hit(key, request.header.xid);
        hit.buffer_id = request.header.buffer_id;
        pen.flow(voice(pen, request.switch), &hit, true, out);
        if hit.buffer_id == NO_BUFFER && is_whole(request) {
            pen.packet(request.switch.version, &packet(request), to.port.0, out);
        }
        return true;
    }
    let mut is_there = false;
    out.commands().path(|commands| {
        let last = pen.path(fleet, key, rules, commands);
        is_there = last.is_some();
        if let Some(last) = last.filter(|_| is_whole(request)) {
            pen.release_by(&last, (request.header.xid, request.frame), to, commands);
        }
    });
    if is_there && is_whole(request) {
        forget(request, out);
    } else if is_there && request.header.buffer_id != NO_BUFFER {
        // It goes the whole way, behind its flows as far as that can be known here.
        let first = rules.last().map_or(0, |rule| rule.out_port.0);
        out.commands().to(request.switch.dpid);
        pen.packet(request.switch.version, &packet(request), first, out.commands());
    }
    is_there
}
