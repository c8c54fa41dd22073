//! One connection: its socket, its session, and what waits on either side of it.
//!
//! Any worker may serve it, one at a time: its *claimant*. The worker that polls its socket and
//! keeps its timer is its *home*. Words that several workers write or read:
//!
//! | word | written by | read by | law |
//! | --- | --- | --- | --- |
//! | `claim` | any worker: announce; claimant: release | all | one claimant, no event lost |
//! | `in_flight` | claimant: start; any worker: finish | claimant | a fence follows the last visit |
//! | `outgoing` | any worker | all | one writer at a time, bytes in order |
//! | `timer` | claimant: set; home: expire | both | no deadline without a heap entry |
//! | `Member::lock` | its holder | workers of the switch | one exclusive batch at a time |
//! | `open_commands` | any worker | any worker | one answer to each command |
//! | `signals` | any worker | claimant | a signal announces the connection |
//! | `state` | claimant | claimant | the claim protects it; its lock never waits |
//! | `home` | claimant, on a move | all | it changes only with nothing in flight |
//! | `joined`, `dpid` | claimant, once | all | set before another worker can find it |
//! | `held` | claimant, once; any worker: release | all | one last release, which sends a signal |
//! | `ports`, `shed` | claimant | handle | a lock each, rarely taken |
//! | `greeted` | any worker | any worker | applications are told of a switch once |
//! | `emptied` | claimant: set; first worker: taken | first worker | any recent value |
//! | `weight`, `queued_at`, `token`, `gone`, `stats` | one worker at a time | all | any recent value |
//!
//! Each of the first six has a file of its name in `conn/`, with its states and its model.

use std::mem;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use aldis_control::fair::Weight;
use aldis_control::session::{Close, Session};
use aldis_control::shed::Tally;
use aldis_control::stats::{SwitchHistograms, SwitchStats};
use aldis_control::{Switch, Time};
use aldis_wire::DatapathId;
use aldis_wire::msg::{Port, PortChange};

use crate::limits::CARRY_KEPT;
use crate::messages::Signal;

pub(crate) mod claim;
pub(crate) mod emptied;
pub(crate) mod flood;
pub(crate) mod held;
pub(crate) mod in_flight;
pub(crate) mod open;
pub(crate) mod outgoing;
mod ports;
pub(crate) mod switch_lock;
pub(crate) mod timer;

use claim::{Claim, Events};
use emptied::Emptied;
use flood::FloodWatch;
use held::HeldSwitch;
use in_flight::InFlight;
use open::OpenCommands;
use outgoing::Outgoing;
use ports::Ports;
use switch_lock::SwitchLock;
use timer::ConnTimer;

/// Identifies a connection among all that the engine ever had.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct ConnId(pub(crate) u64);

/// A connection. What changes with every visit stands behind the rest, on cache lines of its own:
/// where several workers serve it, those lines go from core to core, and the rest stays with all.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Conn<S> {
    pub(crate) id: ConnId,
    pub(crate) socket: S,
    /// The switch as the applications know it, once they may get its requests.
    joined: OnceLock<Joined>,
    weight: AtomicU32,
    /// Its index among the connections that exist; given out again after its end.
    number: u32,
    home: AtomicU32,
    gone: AtomicBool,
    /// Commands from outside that the switch has not answered.
    pub(crate) open_commands: OpenCommands,
    /// The switch that applications hold back, or did, until it `joined`.
    held: OnceLock<Box<HeldSwitch>>,
    /// The switch that it says it is, in either role.
    dpid: OnceLock<DatapathId>,
    pub(crate) peer: SocketAddr,
    /// What was shed, port by port.
    shed: Mutex<Tally>,
    /// The switch's ports, once one of them has changed.
    ports: Mutex<Option<Ports>>,
    signals: Mutex<Vec<Signal>>,
    /// Its token in the home's slab.
    token: AtomicU64,
    /// The version of the line-up whose started applications were told of its switch last.
    greeted: AtomicU64,
    changing: Apart,
    pub(crate) claim: Claim,
    pub(crate) in_flight: InFlight,
    /// When it was last queued, in nanoseconds.
    queued_at: AtomicU64,
    pub(crate) timer: ConnTimer,
    /// Whether it had nothing left to read, as dynamic partition wants to know.
    pub(crate) emptied: Emptied,
    state: Mutex<State>,
    pub(crate) stats: SwitchStats,
    pub(crate) outgoing: Outgoing,
}

/// What follows begins on a cache line of its own; a processor fetches two at a time.
#[derive(Debug)]
#[repr(align(128))]
struct Apart;

/// What all connections of a switch share.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) switch: Arc<Switch>,
    /// Present where an application is exclusive.
    pub(crate) lock: Option<Arc<SwitchLock>>,
}

#[derive(Debug)]
struct Joined {
    member: Member,
    auxiliary: bool,
    at: Time,
    spreads: Box<SwitchHistograms>,
}

/// The claimant's part.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) session: Session,
    /// Bytes that were read and not handled: the beginning of a message, or more.
    carry: Vec<u8>,
    /// Whether the carry holds whole messages, which are handled before anything else is read.
    pub(crate) whole: bool,
    /// Bytes at the front of the carry that were handled once, and are handled again.
    pub(crate) again: usize,
    /// Whether a signal was sent to the claimant.
    pub(crate) signalled: bool,
    /// The worker that becomes its home, once nothing of it is in flight.
    pub(crate) moving_to: Option<usize>,
    /// Whether it waits until nothing of it is in flight, or until the switch lock is free.
    pub(crate) parked: bool,
    /// Whether the reply to a fence may not be out yet. What comes behind a fence is read by the
    /// same worker, or waits.
    pub(crate) fenced: bool,
    /// Why it ends, once nothing of it is in flight.
    pub(crate) ending: Option<Close>,
    /// PACKET_INs that came before the handshake was done, whole.
    pub(crate) early: Vec<u8>,
    /// Whether the socket may have something to read.
    pub(crate) readable: bool,
    /// Whether nothing comes behind what the socket holds. It is read until the end itself is.
    pub(crate) ended: bool,
    /// Whether the socket may have room again for what waits.
    pub(crate) writable: bool,
    /// When its last visit began that was recorded.
    pub(crate) visited_at: Time,
    /// Whether one of its ports floods.
    pub(crate) flood: FloodWatch,
}

impl<S> Conn<S> {
    /// A new connection, whose claimant is the caller.
    pub(crate) fn new(
        (id, number): (ConnId, usize),
        socket: S,
        peer: SocketAddr,
        home: usize,
        session: Session,
        outgoing: Outgoing,
    ) -> Self {
        let number = number as u32;
        let conn = Conn {
            id,
            peer,
            socket,
            claim: Claim::default(),
            in_flight: InFlight::default(),
            outgoing,
            open_commands: OpenCommands::default(),
            joined: OnceLock::new(),
            held: OnceLock::new(),
            dpid: OnceLock::new(),
            weight: AtomicU32::new(Weight::ONE.number()),
            stats: SwitchStats::default(),
            shed: Mutex::default(),
            ports: Mutex::default(),
            number,
            queued_at: AtomicU64::new(0),
            emptied: Emptied::default(),
            signals: Mutex::new(Vec::new()),
            home: AtomicU32::new(home as u32),
            token: AtomicU64::new(u64::MAX),
            timer: ConnTimer::new(),
            gone: AtomicBool::new(false),
            greeted: AtomicU64::new(0),
            changing: Apart,
            state: Mutex::new(State::new(session)),
        };
        conn.claim.begin();
        conn
    }

    /// The claimant's part. Only the claimant calls this.
    #[inline]
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // A worker that panicked in the middle of a visit took the connection's claim with it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The switch, once the applications may get its requests.
    #[inline]
    pub(crate) fn switch(&self) -> Option<&Arc<Switch>> {
        self.joined.get().map(|joined| &joined.member.switch)
    }

    /// The switch, also where applications hold it back and it did not join yet.
    pub(crate) fn known_switch(&self) -> Option<&Arc<Switch>> {
        self.switch().or_else(|| self.held().map(|held| &held.member.switch))
    }

    /// The switch lock, where an application is exclusive.
    pub(crate) fn switch_lock(&self) -> Option<&Arc<SwitchLock>> {
        match self.joined.get() {
            Some(joined) => joined.member.lock.as_ref(),
            None => self.held().and_then(|held| held.member.lock.as_ref()),
        }
    }

    /// Applications hold the switch back. Once.
    pub(crate) fn hold(&self, member: Member, holders: Vec<usize>) {
        let _ = self.held.set(Box::new(HeldSwitch::new(member, holders)));
    }

    /// The switch that applications hold back, where it did not join yet.
    pub(crate) fn held(&self) -> Option<&HeldSwitch> {
        self.held.get().filter(|_| self.joined.get().is_none()).map(|held| &**held)
    }

    /// The switch, where this is its main connection.
    pub(crate) fn main_of(&self) -> Option<&Arc<Switch>> {
        self.joined.get().filter(|joined| !joined.auxiliary).map(|joined| &joined.member.switch)
    }

    /// The applications know the switch from now on. Once.
    pub(crate) fn join(&self, member: Member, auxiliary: bool, at: Time) {
        let _ = self.joined.set(Joined { member, auxiliary, at, spreads: Box::default() });
    }

    /// Its histograms, once it joined. They have the same writers as `stats`.
    #[inline]
    pub(crate) fn spreads(&self) -> Option<&SwitchHistograms> {
        self.joined.get().map(|joined| &*joined.spreads)
    }

    /// When it joined.
    pub(crate) fn joined_at(&self) -> Option<Time> {
        self.joined.get().map(|joined| joined.at)
    }

    /// A port of the switch changed.
    pub(crate) fn change_port(&self, change: &PortChange) {
        let Some(switch) = self.switch() else { return };
        let mut ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        ports.get_or_insert_with(|| Ports::new(&switch.info.ports)).change(change);
    }

    /// The switch's ports as they are now, where any changed since it joined.
    pub(crate) fn ports_now(&self) -> Option<Arc<[Port]>> {
        self.ports.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Ports::all)
    }

    /// The switch that it says it is, once it said so.
    pub(crate) fn dpid(&self) -> Option<DatapathId> {
        self.dpid.get().copied()
    }

    /// It says which switch it is. Once.
    pub(crate) fn identify(&self, dpid: DatapathId) {
        let _ = self.dpid.set(dpid);
    }

    /// Its index among the connections that exist: a small number.
    #[inline]
    pub(crate) fn number(&self) -> usize {
        self.number as usize
    }

    /// When it was last queued.
    #[inline]
    pub(crate) fn queued_at(&self) -> Time {
        Time(self.queued_at.load(Ordering::Relaxed))
    }

    /// The worker that queues it calls this.
    #[inline]
    pub(crate) fn set_queued_at(&self, now: Time) {
        self.queued_at.store(now.0, Ordering::Relaxed);
    }

    /// The weight of its share, compared to those of other switches.
    pub(crate) fn weight(&self) -> Weight {
        Weight::new(self.weight.load(Ordering::Relaxed)).unwrap_or(Weight::ONE)
    }

    pub(crate) fn set_weight(&self, weight: Weight) {
        self.weight.store(weight.number(), Ordering::Relaxed);
    }

    /// Sends a signal. Returns whether the caller has to queue the connection.
    #[must_use]
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        self.signals().push(signal);
        self.claim.announce(Events::SIGNALLED)
    }

    /// The signals since the last time.
    pub(crate) fn take_signals(&self) -> Vec<Signal> {
        mem::take(&mut *self.signals())
    }

    fn signals(&self) -> MutexGuard<'_, Vec<Signal>> {
        self.signals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was shed, port by port.
    pub(crate) fn with_shed<R>(&self, act: impl FnOnce(&mut Tally) -> R) -> R {
        act(&mut self.shed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The worker that polls its socket and keeps its timer.
    #[inline]
    pub(crate) fn home(&self) -> usize {
        self.home.load(Ordering::Acquire) as usize
    }

    pub(crate) fn move_to(&self, home: usize) {
        self.home.store(home as u32, Ordering::Release);
    }

    /// Its token in the home's slab.
    pub(crate) fn token(&self) -> u64 {
        self.token.load(Ordering::Relaxed)
    }

    pub(crate) fn set_token(&self, token: u64) {
        self.token.store(token, Ordering::Relaxed);
    }

    /// Whether it has ended: nothing can be sent to it.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Whether the applications that were started with this version of the line-up are still to be
    /// told of the switch; now they are.
    pub(crate) fn greet(&self, version: u64) -> bool {
        self.greeted.fetch_max(version, Ordering::Relaxed) < version
    }

    /// They were not told after all.
    pub(crate) fn ungreet(&self) {
        self.greeted.store(0, Ordering::Relaxed);
    }

    pub(crate) fn set_gone(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }
}

impl State {
    fn new(session: Session) -> State {
        State {
            session,
            carry: Vec::new(),
            whole: false,
            again: 0,
            signalled: false,
            moving_to: None,
            parked: false,
            fenced: false,
            ending: None,
            early: Vec::new(),
            readable: false,
            ended: false,
            writable: false,
            visited_at: Time::START,
            flood: FloodWatch::default(),
        }
    }

    /// Takes over the events since the last visit.
    #[inline]
    pub(crate) fn note(&mut self, events: Events) {
        self.readable |= events.has(Events::READABLE);
        self.writable |= events.has(Events::WRITABLE);
        self.ended |= events.has(Events::ENDED);
        self.signalled |= events.has(Events::SIGNALLED);
    }

    /// Puts what was read and not handled to the front of `room` and forgets it. Returns its
    /// length.
    #[inline]
    pub(crate) fn restore_carry(&mut self, room: &mut [u8]) -> usize {
        let len = self.carry.len();
        if len > 0 {
            room[..len].copy_from_slice(&self.carry);
            self.carry.clear();
            if self.carry.capacity() > CARRY_KEPT {
                self.carry = Vec::new();
            }
        }
        len
    }

    /// Requests that came before the switch was served are handled before what came after them.
    pub(crate) fn catch_up(&mut self) {
        let mut early = mem::take(&mut self.early);
        if !early.is_empty() {
            self.again = early.len();
            early.append(&mut self.carry);
            self.carry = early;
            self.whole = true;
        }
    }

    /// Bytes that were read and not handled.
    pub(crate) fn kept(&self) -> usize {
        self.carry.len()
    }

    /// Keeps what was read and not handled.
    #[inline]
    pub(crate) fn keep_carry(&mut self, rest: &[u8]) {
        self.carry.extend_from_slice(rest);
    }

    /// Whether another visit would have something to do: output that may go, or input. Input waits
    /// while output does.
    pub(crate) fn is_ready(&self, stuck: bool) -> bool {
        if self.parked {
            false
        } else if stuck {
            self.writable
        } else {
            self.whole || self.readable
        }
    }

    /// When it has to be visited though no event comes. While output waits nothing is read, and the
    /// session's deadlines rest: what they wait for may have come already.
    #[inline]
    pub(crate) fn deadline(&self, outgoing: &Outgoing) -> Time {
        if outgoing.is_stuck() { outgoing.deadline() } else { self.session.deadline() }
    }
}
