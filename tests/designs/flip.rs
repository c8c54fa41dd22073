//! The World changes while requests stream: no batch mixes two versions, and once a change is acted
//! on, no switch is told anything of the old one.
//!
//! Two parts of the World hold the number of the set that is in force, as routes and hosts would:
//! one is reported, the other is made of it. Two applications write a flow each for every request,
//! marked with the set and with the batch; the second reads only the part that is made. When a new
//! set is in force, the first removes the flows of the one before from every switch.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use aldis_control::app::{Event, EventCtx, Next, Slots, TickCtx};
use aldis_control::world::{PartId, PublishCtx, Publishers, View};
use aldis_control::{App, AppSet, Batch, Commands, EventKind, Output, Part, Publisher, Time};
use aldis_emulator::peer::{Peer, bare};
use aldis_wire::header::kind::{ECHO_REPLY, ECHO_REQUEST, FLOW_MOD};
use aldis_wire::msg::{FlowMod, FlowModCommand, Match, Message};
use aldis_wire::{DatapathId, Version};

use crate::combinations::{self, everywhere};
use crate::stage::Stage;
use crate::switch::{PacketIn, ask_for_nobody, join, xid_of};

/// A request of this host asks for another set.
const FLIPPER: u8 = 0xf1;

/// Sets that come after the first.
const FLIPS: u32 = 12;

const PUMPS: usize = 3;

/// Requests that a switch has outstanding.
const WINDOW: u32 = 120;

/// The set in force, and the switches that there are.
#[derive(Clone, Default)]
struct Routes {
    set: u32,
    switches: Vec<(DatapathId, Version)>,
}

enum Report {
    Flip,
    Up(DatapathId, Version),
}

impl Part for Routes {
    type Report = Report;
    const NAME: &'static str = "routes";
}

struct Routing;

impl Publisher for Routing {
    type Part = Routes;

    fn begin(&mut self) -> Routes {
        Routes::default()
    }

    fn revise(&mut self, _: Time, mut ctx: PublishCtx<'_, Routes>) -> Option<Routes> {
        let mut routes = ctx.current().clone();
        while let Some(report) = ctx.report() {
            match report {
                Report::Flip => routes.set += 1,
                Report::Up(switch, version) => routes.switches.push((switch, version)),
            }
        }
        Some(routes)
    }
}

/// The same set, made of the routes.
struct Tree(u32);

impl Part for Tree {
    type Report = ();
    const NAME: &'static str = "tree";
}

struct Grows;

impl Publisher for Grows {
    type Part = Tree;
    const READS: &'static [PartId] = &[Routes::ID];

    fn begin(&mut self) -> Tree {
        Tree(0)
    }

    fn revise(&mut self, _: Time, ctx: PublishCtx<'_, Tree>) -> Option<Tree> {
        Some(Tree(ctx.world().part::<Routes>().set))
    }
}

/// Writes a flow for each request, with the set and the batch in its cookie.
fn answer(batch: &Batch<'_>, priority: u16, set: u32, number: u32, out: &mut Output) {
    for (place, run) in batch.runs.iter().enumerate() {
        out.select(place);
        let version = batch.switches[run.switch].info.version;
        for request in &batch.requests[run.requests.clone()] {
            let cookie = u64::from(number) << 32 | u64::from(set);
            let flow = FlowMod::add(Match::new()).priority(priority).cookie(cookie);
            out.append_with(|vec| flow.encode(version, request.xid, vec)).expect("it can be said");
        }
    }
}

/// The application that knows the routes.
struct First {
    batches: Arc<AtomicU32>,
}

impl App for First {
    type Slot = ();
    const NAME: &'static str = "first";
    const EVENTS: &'static [EventKind] =
        &[EventKind::FlowRequest, EventKind::Up, EventKind::Publication];
    const READS: &'static [PartId] = &[Routes::ID];

    fn packet_ins(&mut self, batch: &mut Batch<'_>, _: Slots<'_, ()>, out: &mut Output) {
        let number = self.batches.fetch_add(1, Ordering::Relaxed);
        let flips = |batch: &Batch<'_>, at: usize| batch.frame(&batch.requests[at])[5] == FLIPPER;
        for at in 0..batch.requests.len() {
            if flips(batch, at) {
                assert!(out.report::<Routes>(Report::Flip).is_ok(), "there is room");
            }
        }
        answer(batch, 1, batch.world.part::<Routes>().set, number, out);
    }

    fn event(&mut self, ctx: EventCtx<'_, ()>, _: &Event, out: &mut Output) -> Next {
        let report = Report::Up(ctx.switch.dpid, ctx.switch.version);
        assert!(out.report::<Routes>(report).is_ok(), "there is room");
        Next::Continue
    }

    fn published(&mut self, before: View<'_>, ctx: TickCtx<'_>, commands: &mut Commands) {
        let (old, new) = (before.part::<Routes>(), ctx.world.part::<Routes>());
        if old.set == new.set {
            return;
        }
        assert!(old.set < new.set, "publications come in order");
        for &(switch, version) in &new.switches {
            commands.to(switch);
            let removal = FlowMod::delete(Match::new());
            commands
                .append_with(|vec| removal.encode(version, new.set, vec))
                .expect("it can be said");
        }
    }

    fn publishers(&self) -> Publishers {
        Publishers::of(Routing)
    }
}

/// The one that comes behind it in the batch.
struct Second {
    batches: Arc<AtomicU32>,
}

impl App for Second {
    type Slot = ();
    const NAME: &'static str = "second";
    const EVENTS: &'static [EventKind] = &[EventKind::FlowRequest];
    const READS: &'static [PartId] = &[Tree::ID];

    fn packet_ins(&mut self, batch: &mut Batch<'_>, _: Slots<'_, ()>, out: &mut Output) {
        let number = self.batches.fetch_add(1, Ordering::Relaxed);
        answer(batch, 2, batch.world.part::<Tree>().0, number, out);
    }

    fn publishers(&self) -> Publishers {
        Publishers::of(Grows)
    }
}

fn app_set() -> AppSet {
    let batches = Arc::new(AtomicU32::new(0));
    let (first, second) = (Arc::clone(&batches), batches);
    AppSet::default()
        .with(move || First { batches: Arc::clone(&first) })
        .with(move || Second { batches: Arc::clone(&second) })
}

/// A switch, and what it has been told.
struct Witness {
    peer: Peer,
    version: Version,
    asked: u32,
    /// The newest set whose predecessors were removed here.
    acted: u32,
    /// The set of each batch.
    sets: HashMap<u32, u32>,
    /// The set of the first flow of each request that has one flow.
    halves: HashMap<u32, u32>,
}

impl Witness {
    fn join(stage: &Stage, version: Version) -> Witness {
        let (peer, _) = join(stage, version);
        let (sets, halves) = (HashMap::new(), HashMap::new());
        Witness { peer, version, asked: 0, acted: 0, sets, halves }
    }

    /// Asks a window of requests and takes both flows of each.
    fn ask(&mut self) {
        let mut bytes = Vec::new();
        ask_for_nobody(self.version, self.asked..self.asked + WINDOW, &mut bytes);
        self.peer.send(&bytes).expect("the engine reads");
        self.asked += WINDOW;
        self.hear(2 * WINDOW);
    }

    /// Takes so many flows.
    fn hear(&mut self, flows: u32) {
        let mut heard = 0;
        while heard < flows {
            heard += u32::from(self.hear_one());
        }
        assert!(self.halves.is_empty(), "each request has two flows");
    }

    /// Takes a message; whether it was a flow.
    fn hear_one(&mut self) -> bool {
        let message = self.peer.receive().unwrap_or_else(|unexpected| panic!("{unexpected}"));
        match message[1] {
            ECHO_REQUEST => {
                let reply = bare(self.version, ECHO_REPLY, xid_of(&message));
                self.peer.send(&reply).expect("the engine reads");
                false
            }
            FLOW_MOD => self.take(&message),
            _ => false,
        }
    }

    fn take(&mut self, message: &[u8]) -> bool {
        let (xid, message) = Message::decode(self.version, message).expect("a good message");
        let Message::FlowMod(flow) = message.meaning() else { panic!("a flow") };
        if flow.command != FlowModCommand::ADD {
            assert!(xid > self.acted, "acted on {xid} after {}", self.acted);
            self.acted = xid;
            return false;
        }
        let (batch, set) = ((flow.cookie >> 32) as u32, flow.cookie as u32);
        assert!(set >= self.acted, "a flow of set {set}, which was removed with {}", self.acted);
        assert_eq!(*self.sets.entry(batch).or_insert(set), set, "a batch of two sets");
        match self.halves.remove(&xid) {
            Some(other) => assert_eq!(other, set, "the applications saw two Worlds"),
            None => drop(self.halves.insert(xid, set)),
        }
        true
    }
}

#[test]
fn no_batch_mixes_worlds_and_what_was_removed_stays_removed() {
    everywhere(&combinations::covering(), |combination| {
        let stage = Stage::open_with(combination, app_set());
        stage.play("the World flips", |stage| {
            let done = AtomicBool::new(false);
            let mut flipper = Witness::join(stage, Version::V13);
            let mut witnesses: Vec<_> =
                (0..PUMPS).map(|at| Witness::join(stage, Version::ALL[at % 2])).collect();
            std::thread::scope(|scope| {
                for witness in &mut witnesses {
                    let done = &done;
                    scope.spawn(move || {
                        while !done.load(Ordering::Relaxed) {
                            witness.ask();
                        }
                        while witness.acted < FLIPS {
                            witness.hear_one();
                        }
                        // What was removed last is removed, whatever is asked.
                        witness.ask();
                    });
                }
                let done = End(&done);
                for set in 1..=FLIPS {
                    let mut request = Vec::new();
                    PacketIn::new(flipper.version, 1, 1, FLIPPER).ask(0, &mut request);
                    flipper.peer.send(&request).expect("the engine reads");
                    while flipper.acted < set {
                        flipper.hear_one();
                    }
                }
                drop(done);
            });
        });
        assert_eq!(stage.engine.snapshot().total.unsent, 0);
        stage.close();
    });
}

/// The others end with this scope, however it does.
struct End<'e>(&'e AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
