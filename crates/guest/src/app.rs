//! The application that stands for a guest in the pipeline.

use std::sync::Arc;

use aldis_control::app::{EventCtx, Next, Parallel, Slots, TickCtx};
use aldis_control::batch::Run;
use aldis_control::limits::COMMAND_BYTES_MAX;
use aldis_control::output::Commands;
use aldis_control::switch::SwitchInfo;
use aldis_control::{App, Batch, Event, EventKind, Output, Time};
use aldis_wire::Version;
use aldis_wire::msg::{Message, PortNo};

use crate::datapath::{Datapath, Handed, Handing};
use crate::guest::Guest;
use crate::outbound;
use crate::relay::Relay;
use crate::spec::{GuestSpec, Otherwise};

/// The last is for guests to which experimenters are granted.
const EVENTS: [EventKind; 9] = [
    EventKind::FlowRequest,
    EventKind::Lldp,
    EventKind::Up,
    EventKind::Down,
    EventKind::PortChange,
    EventKind::FlowRemoved,
    EventKind::Error,
    EventKind::Reply,
    EventKind::Unsolicited,
];

/// One worker's instance of it.
pub struct GuestApp {
    guest: Arc<Guest>,
}

impl GuestApp {
    pub(crate) fn of(guest: Arc<Guest>) -> GuestApp {
        GuestApp { guest }
    }

    /// The events that the application of this guest starts on.
    pub fn events(spec: &GuestSpec) -> &'static [EventKind] {
        if spec.experimenters.is_some() { &EVENTS } else { &EVENTS[..EVENTS.len() - 1] }
    }

    /// Hands the requests of a switch over, and marks those that no other application is to see.
    /// Whether the guest's thread is to be rung for them.
    fn hand(&self, datapath: &Datapath, batch: &mut Batch<'_>, run: &Run) -> bool {
        let Guest { grant, counts, bounds, .. } = &*self.guest;
        let (observes, otherwise) = (grant.spec().observe, bounds.otherwise());
        let stalls = datapath.is_stalled();
        let session = datapath.session().filter(|_| self.guest.is_served() && !stalls);
        let mut handing = session.and_then(|session| datapath.hand(session));
        let stalls = stalls || handing.as_ref().is_some_and(Handing::is_full);
        handing = handing.filter(|_| !stalls);
        let passes = otherwise == Otherwise::Next || observes;
        let goes_on = passes && grant.is_whole();
        if handing.is_none() && goes_on {
            // They go on as they are, and cost no more than being counted.
            let requests = run.requests.len() as u64;
            let count = if stalls { &counts.shed } else { &counts.missed };
            count.add(requests);
            return false;
        }
        let (mut shed, mut missed) = (0, 0);
        for index in run.requests.clone() {
            let header = batch.requests[index];
            if header.stopped {
                continue;
            }
            let frame_at = header.frame_at as usize;
            let frame = &batch.bytes[frame_at..frame_at + usize::from(header.frame_len)];
            if !grant.has_packet(PortNo(header.in_port), frame) {
                continue;
            }
            let request = Handed {
                message: batch.message(&header),
                is_whole: header.frame_len >= header.total_len,
            };
            let taken = match &mut handing {
                Some(handing) => {
                    let taken = self.guest.may_be_asked(batch.now) && handing.push(&request);
                    shed += u64::from(!taken);
                    if !taken && goes_on && !handing.has_room(request.message.len()) {
                        // The others of the run are not looked at.
                        shed += (run.requests.end - index - 1) as u64;
                        break;
                    }
                    taken
                }
                None => {
                    shed += u64::from(stalls);
                    missed += u64::from(!stalls);
                    false
                }
            };
            let is_done = taken || otherwise == Otherwise::Drop;
            batch.requests[index].stopped = is_done && !observes;
        }
        if shed > 0 {
            counts.shed.add(shed);
        }
        if missed > 0 {
            counts.missed.add(missed);
        }
        handing.is_some_and(Handing::done)
    }

    /// Takes the share of this poll of what the guest has to say.
    pub(crate) fn take(&self, commands: &mut Commands) {
        let worker = commands.worker();
        // What other guests said at this poll is there already.
        let room = COMMAND_BYTES_MAX.saturating_sub(commands.pieces().0.len());
        self.guest.take(worker, room, |datapath, relay, room| {
            GuestApp::send(datapath, relay, (commands, room))
        });
    }

    /// Sends what the guest has to say to a switch, as far as the switch and these commands have
    /// room for it, behind what there was no room for before. How many bytes that were.
    fn send(datapath: &Datapath, relay: Relay, (commands, room): (&mut Commands, usize)) -> usize {
        let (dpid, is_gone) = (datapath.info.dpid, datapath.is_gone());
        let mut held = datapath.held();
        match relay.is_empty() {
            true => _ = datapath.set_retried(false),
            false => held.push_back(relay),
        }
        let mut sent = 0;
        while let Some(len) = held.front().map(|relay| relay.bytes.len()) {
            if !is_gone && (sent + len > room || !commands.has_room(dpid, len)) {
                break;
            }
            let Some(mut relay) = held.pop_front() else { break };
            sent += len;
            if !is_gone {
                let xids = commands.xids(relay.meta.len() as u32);
                relay.number(xids);
                commands.to(dpid);
                commands.append(&relay.bytes);
                datapath.asked().remember(xids, relay.session, relay.meta);
            }
        }
        let is_held = !held.is_empty();
        drop(held);
        // Its thread reads on, or has what is held tried again.
        if datapath.inbound_sent(sent) || is_held {
            Guest::look_at(datapath);
        }
        sent
    }
}

impl App for GuestApp {
    type Slot = Parallel<Option<Arc<Datapath>>>;

    const NAME: &'static str = "guest";

    /// [`GuestApp::events`] says which of them a guest needs.
    const EVENTS: &'static [EventKind] = &EVENTS;

    fn init_switch(&mut self, _: Time, switch: &SwitchInfo) -> Option<Arc<Datapath>> {
        let has_switch = self.guest.grant.spec().has_switch(switch.dpid);
        has_switch.then(|| Arc::new(Datapath::new(Arc::clone(&self.guest), switch)))
    }

    fn packet_ins(
        &mut self,
        batch: &mut Batch<'_>,
        mut slots: Slots<'_, Self::Slot>,
        _: &mut Output,
    ) {
        let mut is_to_ring = false;
        for run in batch.runs {
            if let Some(datapath) = slots.state(run.switch) {
                is_to_ring |= self.hand(datapath, batch, run);
            }
        }
        if is_to_ring {
            self.guest.ring();
        }
    }

    fn event(&mut self, ctx: EventCtx<'_, Self::Slot>, event: &Event, out: &mut Output) -> Next {
        let Some(datapath) = ctx.slot else { return Next::Continue };
        match event {
            Event::Up => self.guest.enter(datapath, out.commands().worker()),
            Event::Down => self.guest.leave(datapath),
            Event::Port(change) => {
                datapath.change_port(change);
                if self.guest.grant.has_port(change.port.number) {
                    datapath.tell(Message::PortChange(*change), 0);
                }
            }
            Event::FlowRemoved(removed) => {
                let Some(cookie) = self.guest.cookies.of_guest(removed.cookie) else {
                    return Next::Continue;
                };
                let is_v10 = datapath.info.version == Version::V10;
                if !is_v10 || datapath.kept().removed(removed) {
                    outbound::flow_removed(datapath, removed, cookie);
                }
                return Next::Stop;
            }
            Event::Error(error) => return outbound::error(datapath, error),
            Event::Reply { xid, message } => return outbound::reply(datapath, *xid, message),
            Event::Unsolicited { xid, message } => {
                return outbound::extension(datapath, *xid, message);
            }
            _ => {}
        }
        Next::Continue
    }

    fn roused(&mut self, _: TickCtx<'_>, commands: &mut Commands) {
        self.guest.read_little(commands.worker());
        self.take(commands);
    }
}
