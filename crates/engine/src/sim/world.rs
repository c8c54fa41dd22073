//! The simulated world: switches, sockets, cores and what happens when.
//!
//! A core's clock moves by what its worker does; the next step is made by the core whose clock is
//! behind all others, and what happens of itself comes in between, in order of time. A step reads
//! and takes at the moment when it begins; what it sends arrives when its core has come to the end
//! of the write.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use aldis_control::Time;

use super::costs::{Prices, Ps};
use super::dice::Dice;
use super::plan::{ReadSpeed, SimPlan};
use super::stream::{REQUEST_LEN, SimStream};
use super::switch::{MeasureWindow, SimSwitch};

mod sockets;

/// Bytes from a switch that its socket holds.
const ROOM_IN: usize = 1024 * 1024;

/// Bytes to a switch that its socket holds, where it does not read at once.
const ROOM_OUT: usize = 256 * 1024;

/// Bytes that a slow switch reads at a time.
const SIP: usize = 4 * 1024;

/// From the moment when all switches are up to the moment when they begin to ask.
const SETTLE: Ps = 1_000_000_000;

/// When a simulation ends though not all switches came up.
const HANDSHAKES: Ps = 30_000_000_000_000;

/// What some steps take longer, where there is jitter.
const AWAY: Ps = 100_000_000;

/// Everything there is.
#[derive(Debug)]
pub(super) struct SimWorld {
    cores: Vec<Core>,
    wires: Vec<SimConnection>,
    events: BinaryHeap<Reverse<(Ps, u64, SimEvent)>>,
    /// Events so far: of two at the same moment, the one that was made first comes first.
    made: u64,
    bells: Arc<Bells>,
    /// Visits of all cores so far.
    visits: u64,
    prices: Prices,
    window: MeasureWindow,
    /// Switches that are not up.
    awaited: usize,
    /// The lengths of the warm-up and of what is measured.
    lengths: [Ps; 2],
    end: Ps,
    jitter: f64,
    dice: Dice,
}

/// A core, with one worker.
#[derive(Debug)]
struct Core {
    clock: Ps,
    /// Where it sleeps: until then.
    asleep: Option<Ps>,
    /// The sockets whose readiness is to be reported.
    ready: VecDeque<usize>,
    /// By which part it takes longer than the mean of all cores; less where that is negative.
    slower: f64,
    /// How much it works until an interrupt, in picoseconds.
    undisturbed: f64,
    /// Whether what it reads is answered by others.
    hands: bool,
    /// What of the step that it makes has wavered and been interrupted already.
    settled: Ps,
}

/// What something of that cost takes this time.
fn wavering(cost: Ps, waver: f64, dice: &mut Dice) -> Ps {
    match waver > 0.0 {
        true => (cost as f64 * (1.0 + waver * (2.0 * dice.unit() - 1.0))) as Ps,
        false => cost,
    }
}

/// The connection of one switch: both sockets and what is between them.
#[derive(Debug)]
struct SimConnection {
    switch: SimSwitch,
    incoming: SimStream,
    outgoing: VecDeque<u8>,
    /// The core that polls it, and as what.
    registered: Option<(usize, u64)>,
    /// Whether it is among the core's `ready`.
    is_ready: bool,
    /// Whether the last read left something.
    left: bool,
    /// Reads since the last write.
    unanswered: u64,
    /// Whether a write did not fit: there will be an edge when there is room.
    starved: bool,
    closed: Arc<AtomicBool>,
    /// The cores that read from it and wrote to it last.
    reader: usize,
    writer: usize,
    /// How many visits there had been at its last one, and how much of it had fallen out of the
    /// caches by then: 0 to 1.
    visited: u64,
    cold: f64,
    /// Whether an event will let it ask, or read.
    asks: bool,
    sips: bool,
}

/// What happens of itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum SimEvent {
    /// Bytes of a switch arrive.
    Arrive(usize, Vec<u8>),
    /// A switch has something to ask.
    Ask(usize),
    /// A slow switch reads a little.
    Sip(usize),
    /// All begin to ask.
    Begin,
}

/// What wakes cores, shared with all that ring.
#[derive(Debug)]
pub(super) struct Bells {
    rung: Box<[AtomicBool]>,
    rings: AtomicU64,
}

impl Bells {
    pub(super) fn new(cores: usize) -> Bells {
        let rung = (0..cores).map(|_| AtomicBool::new(false)).collect();
        Bells { rung, rings: AtomicU64::new(0) }
    }

    pub(super) fn ring(&self, core: usize) {
        self.rung[core].store(true, Ordering::Relaxed);
        self.rings.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a worker did in a step, beyond what it asked of the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct StepWork {
    pub(super) batches: u64,
    /// Visits whose requests were in these batches.
    pub(super) runs: u64,
    pub(super) requests: u64,
    pub(super) visits: u64,
    /// Other workers' lists that it looked into.
    pub(super) lists: u64,
    /// Whether what it ran was read by another.
    pub(super) pulled: bool,
    /// Whether it handed a batch on.
    pub(super) handed: bool,
}

impl SimWorld {
    pub(super) fn new(plan: &SimPlan, bells: Arc<Bells>) -> SimWorld {
        let prices = Prices::new(&plan.costs).of_design(&plan.design);
        let last = bells.rung.len().saturating_sub(1).max(1) as f64;
        let core = |place: usize| Core {
            slower: prices.uneven
                * if bells.rung.len() > 1 { 2.0 * place as f64 / last - 1.0 } else { 0.0 },
            clock: 0,
            asleep: None,
            ready: VecDeque::new(),
            undisturbed: 0.0,
            hands: false,
            settled: 0,
        };
        let wire = |(number, switch)| SimConnection {
            switch: SimSwitch::new(switch, number, plan.seed),
            incoming: SimStream::default(),
            outgoing: VecDeque::new(),
            registered: None,
            is_ready: false,
            left: false,
            unanswered: 0,
            starved: false,
            closed: Arc::default(),
            reader: usize::MAX,
            writer: usize::MAX,
            visited: 0,
            cold: 0.0,
            asks: false,
            sips: false,
        };
        let ps = |length: std::time::Duration| length.as_nanos() as Ps * 1000;
        let mut world = SimWorld {
            cores: (0..bells.rung.len()).map(core).collect(),
            wires: (1..).zip(&plan.switches).map(wire).collect(),
            events: BinaryHeap::new(),
            made: 0,
            bells,
            visits: 0,
            prices,
            window: MeasureWindow { begin: Ps::MAX, end: Ps::MAX },
            awaited: plan.switches.len(),
            lengths: [ps(plan.warm_up), ps(plan.duration)],
            end: HANDSHAKES,
            jitter: plan.jitter,
            dice: Dice::new(plan.seed),
        };
        for wire in 0..world.wires.len() {
            let way = world.prices.way;
            world.make(way, SimEvent::Arrive(wire, SimSwitch::greeting()));
        }
        world
    }

    /// Others answer what this core reads.
    pub(super) fn set_hands(&mut self, core: usize) {
        self.cores[core].hands = true;
    }

    /// What says that the controller closed the connection of a switch.
    pub(super) fn closed(&self, wire: usize) -> Arc<AtomicBool> {
        Arc::clone(&self.wires[wire].closed)
    }

    /// The switches, with the unread bytes of each.
    pub(super) fn switches(&self) -> impl Iterator<Item = (&SimSwitch, usize)> {
        self.wires.iter().map(|wire| (&wire.switch, wire.incoming.len()))
    }

    /// When measuring begins; never before all switches are up.
    pub(super) fn measures_from(&self) -> Ps {
        self.window.begin
    }

    /// The connection of a switch ended.
    pub(super) fn note_end(
        &mut self,
        wire: usize,
        core: usize,
        why: aldis_control::session::Close,
    ) {
        let now = self.now(core);
        self.wires[wire].switch.account.closed = Some((now, why));
    }

    /// The core that makes the next step, once everything came to pass that comes before; none at
    /// the end.
    pub(super) fn next_core(&mut self) -> Option<usize> {
        loop {
            let at = |core: &Core| core.asleep.unwrap_or(core.clock);
            let (next, core) = self.cores.iter().enumerate().min_by_key(|(_, core)| at(core))?;
            let at = at(core);
            let event = self.events.peek().map_or(Ps::MAX, |Reverse((at, ..))| *at);
            if at.min(event) >= self.end {
                return None;
            }
            if at < event {
                let core = &mut self.cores[next];
                (core.clock, core.asleep) = (at, None);
                return Some(next);
            }
            self.happen();
        }
    }

    /// The core's worker made a step, which began at `began`. Where it sleeps next, `until` says
    /// how long.
    pub(super) fn stepped(&mut self, core: usize, began: Ps, work: StepWork, until: Option<Time>) {
        let prices = self.prices;
        let mut took = prices.step
            + work.batches * prices.run
            + work.runs * prices.batch
            + work.requests * prices.request
            + work.visits * (prices.visit - if self.cores[core].hands { prices.finish } else { 0 })
            + work.lists * prices.line;
        if work.pulled {
            let bytes = work.requests * REQUEST_LEN as Ps;
            took += prices.pull.batch + bytes * prices.pull.byte;
            took += work.runs * (prices.pull.visit + prices.finish);
            took += work.requests * prices.parse_pulled;
        }
        if work.handed {
            took += prices.hand.batch;
        }
        took += self.rings(began);
        self.cores[core].clock += took;
        let waver = self.jitter.max(prices.waver);
        // As if all that was settled had come first.
        let begun = began + std::mem::take(&mut self.cores[core].settled);
        let slower = (self.cores[core].clock - begun) as f64 * self.cores[core].slower;
        self.cores[core].clock = (self.cores[core].clock as f64 + slower) as Ps;
        if waver > 0.0 {
            let wavers = (self.cores[core].clock - begun) as f64 * waver;
            let clock = self.cores[core].clock as f64 + wavers * (2.0 * self.dice.unit() - 1.0);
            let is_away = self.jitter > 0.0 && self.dice.next().is_multiple_of(1000);
            let away = if is_away { AWAY } else { 0 };
            self.cores[core].clock = (clock as Ps).max(begun + prices.step) + away;
        }
        self.interrupt(core, self.cores[core].clock - begun);
        let rung = self.bells.rung[core].load(Ordering::Relaxed);
        let core = &mut self.cores[core];
        let until = until.map(|until| until.0.saturating_mul(1000));
        core.asleep = until.filter(|until| *until > core.clock && !rung && core.ready.is_empty());
    }

    /// What comes in between while a core works: at moments of chance, each as long as chance has
    /// it.
    fn interrupt(&mut self, core: usize, worked: Ps) {
        let Prices { away_often, away, .. } = self.prices;
        if away_often <= 0.0 {
            return;
        }
        let core = &mut self.cores[core];
        let mut worked = worked as f64;
        while worked >= core.undisturbed {
            worked -= core.undisturbed;
            core.undisturbed = self.dice.gap() / away_often;
            core.clock += (away * self.dice.gap()) as Ps;
        }
        core.undisturbed -= worked;
    }

    /// Those that were rung for wake up. Returns what the ringing took.
    fn rings(&mut self, began: Ps) -> Ps {
        let rings = self.bells.rings.swap(0, Ordering::Relaxed);
        let mut woken = 0;
        for core in 0..if rings > 0 { self.cores.len() } else { 0 } {
            if self.bells.rung[core].load(Ordering::Relaxed) && self.wake(core, began) {
                woken += 1;
            }
        }
        // A ring for a core that is awake is a system call that does nothing.
        woken * self.prices.ring + rings.saturating_sub(woken) * self.prices.empty_read
    }

    /// Something came up for a core at `now`. Returns whether it slept.
    fn wake(&mut self, core: usize, now: Ps) -> bool {
        let core = &mut self.cores[core];
        let Some(until) = &mut core.asleep else { return false };
        *until = (*until).min(now.max(core.clock) + self.prices.wake);
        true
    }

    fn make(&mut self, at: Ps, event: SimEvent) {
        self.made += 1;
        self.events.push(Reverse((at, self.made, event)));
    }

    fn happen(&mut self) {
        let Some(Reverse((now, _, event))) = self.events.pop() else { return };
        match event {
            SimEvent::Arrive(at, bytes) => {
                self.wires[at].incoming.push(bytes);
                self.edge(at, now);
            }
            SimEvent::Ask(at) => {
                self.wires[at].asks = false;
                self.ask(at, now);
            }
            SimEvent::Sip(at) => self.sip(at, now),
            SimEvent::Begin => {
                for at in 0..self.wires.len() {
                    self.wires[at].switch.begin(now);
                    self.ask(at, now);
                }
            }
        }
    }

    /// A switch asks what is due; what comes later is due by an event, unless a core is about to
    /// look anyway.
    fn ask(&mut self, at: usize, now: Ps) {
        let wire = &mut self.wires[at];
        let room = ROOM_IN - wire.incoming.len();
        if wire.switch.ask(now, room, self.window, &mut wire.incoming) {
            self.edge(at, now);
        }
        self.watch(at);
    }

    fn watch(&mut self, at: usize) {
        let wire = &mut self.wires[at];
        let next = wire.switch.next();
        // Where nothing fits, it asks when something was read.
        let fits = wire.incoming.len() + REQUEST_LEN <= ROOM_IN;
        if !wire.asks && !wire.is_ready && fits && next != Ps::MAX {
            wire.asks = true;
            self.make(next, SimEvent::Ask(at));
        }
    }

    /// Something changed at the socket of a switch: its readiness is reported to the core that
    /// polls it.
    fn edge(&mut self, at: usize, now: Ps) {
        let wire = &mut self.wires[at];
        let Some((core, _)) = wire.registered else { return };
        if wire.is_ready || wire.closed.load(Ordering::Relaxed) {
            return;
        }
        wire.is_ready = true;
        self.cores[core].ready.push_back(at);
        self.wake(core, now);
    }

    /// A slow switch reads a little of what it was sent.
    fn sip(&mut self, at: usize, now: Ps) {
        let wire = &mut self.wires[at];
        wire.sips = false;
        let some: Vec<u8> = wire.outgoing.drain(..SIP.min(wire.outgoing.len())).collect();
        self.hear(at, now, &some);
        let wire = &mut self.wires[at];
        if wire.starved && wire.has_room() {
            wire.starved = false;
            self.edge(at, now);
        }
        self.sip_later(at, now);
    }

    fn sip_later(&mut self, at: usize, now: Ps) {
        let wire = &mut self.wires[at];
        if let ReadSpeed::BytesPerSecond(speed) = wire.switch.reads()
            && !wire.outgoing.is_empty()
            && !wire.sips
        {
            wire.sips = true;
            let some = SIP.min(wire.outgoing.len()) as f64;
            self.make(now + (some / speed * 1e12) as Ps, SimEvent::Sip(at));
        }
    }

    fn hear(&mut self, at: usize, now: Ps, bytes: &[u8]) {
        let wire = &mut self.wires[at];
        let was_up = wire.switch.account.up;
        let mut replies = Vec::new();
        wire.switch.hear(now, bytes, self.window, &mut replies);
        let is_up = wire.switch.account.up;
        if !replies.is_empty() {
            self.make(now + self.prices.way, SimEvent::Arrive(at, replies));
        }
        if is_up && !was_up {
            self.awaited -= 1;
            if self.awaited == 0 {
                self.begin(now + SETTLE);
            }
        }
        if self.wires[at].switch.is_through()
            && self.wires.iter().all(|wire| wire.switch.is_through())
        {
            // What comes now has been answered before.
            self.end = self.end.min(now + SETTLE);
        }
    }

    fn begin(&mut self, at: Ps) {
        let [warm_up, duration] = self.lengths;
        let begin = at + warm_up;
        self.window = MeasureWindow { begin, end: begin + duration };
        self.end = self.window.end;
        self.make(at, SimEvent::Begin);
    }
}

impl SimConnection {
    /// As the kernel has it: a third of it is free.
    fn has_room(&self) -> bool {
        ROOM_OUT - self.outgoing.len() >= ROOM_OUT / 3
    }
}
