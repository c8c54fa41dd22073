//! One connection: its socket, its session, and what waits on either side of it.
//!
//! Any worker may serve it, one at a time: the claimant ([`crate::claim`]). The worker that polls its socket and keeps its
//! timer is its *home*.

use std::mem;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use aldis_control::fair::Weight;
use aldis_control::session::{Close, Refusal, Session};
use aldis_control::shed::Tally;
use aldis_control::stats::{SwitchSpreads, SwitchStats};
use aldis_control::{Switch, Time};
use aldis_wire::DatapathId;
use aldis_wire::msg::{Port, PortChange};

use crate::alarm::Alarm;
use crate::claim::{Claim, Signs};
use crate::command::open::Open;
use crate::desk::shedding::Watch;
use crate::flight::Flight;
use crate::limits::CARRY_KEPT;
use crate::outgoing::Outgoing;
use crate::turn::Turn;

mod ports;

use ports::Ports;

/// Names a connection among all there ever were.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct ConnId(pub(crate) u64);

/// Word that somebody leaves for the next claimant.
#[derive(Debug)]
pub(crate) enum Call {
    /// Another connection claims your switch: ask yours whether it is still there.
    Probe,
    /// The switch that you waited for is free: go on as its main connection.
    AdmitMain,
    /// The main connection is known: go on as an auxiliary one.
    AdmitAuxiliary(Member),
    /// The switch's turn is free: try again.
    TurnIsFree,
    /// Your connection cannot stay.
    Refuse(Refusal),
    /// Your connection has to end.
    Close(Close),
    /// Your connection has a new home: this worker.
    Move(usize),
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Conn<S> {
    pub(crate) id: ConnId,
    pub(crate) peer: SocketAddr,
    pub(crate) socket: S,
    pub(crate) claim: Claim,
    pub(crate) flight: Flight,
    pub(crate) outgoing: Outgoing,
    /// Commands from outside that its switch has not answered.
    pub(crate) open: Open,
    /// What the applications know of it, once its requests may go to them.
    joined: OnceLock<Joined>,
    /// Which switch it says it is, in either role.
    dpid: OnceLock<DatapathId>,
    weight: AtomicU32,
    pub(crate) stats: SwitchStats,
    /// What was shed, port by port. The claimant locks it when it sheds, and who reads the counters does.
    tally: Mutex<Tally>,
    /// The switch's ports, once one changed. The claimant locks it when one does, and who looks at them does.
    ports: Mutex<Option<Ports>>,
    /// Its place among those there are; free again once it is gone.
    number: u32,
    /// When it was last queued, in nanoseconds.
    queued_at: AtomicU64,
    calls: Mutex<Vec<Call>>,
    home: AtomicU32,
    /// Its place in the home's slab.
    token: AtomicU64,
    pub(crate) alarm: Alarm,
    gone: AtomicBool,
    state: Mutex<State>,
}

/// What all connections of a switch share.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) switch: Arc<Switch>,
    /// Where an application wants to be alone with the switch.
    pub(crate) turn: Option<Arc<Turn>>,
}

#[derive(Debug)]
struct Joined {
    member: Member,
    auxiliary: bool,
    at: Time,
    spreads: Box<SwitchSpreads>,
}

/// The claimant's part.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) session: Session,
    /// Bytes that were read and not handled: the beginning of a message whose end has not come yet, or more.
    carry: Vec<u8>,
    /// Whether the carry holds whole messages: it is handled before anything else is read.
    pub(crate) whole: bool,
    /// Whether word was left for the claimant.
    pub(crate) called: bool,
    /// The worker that is to be its home, once nothing of it is on its way.
    pub(crate) moving_to: Option<usize>,
    /// Whether it waits until nothing of it is on its way.
    pub(crate) parked: bool,
    /// Whether there was a fence whose answer may not be out yet: what comes behind it is read by the same worker, or waits.
    pub(crate) fenced: bool,
    /// Why it ends, once nothing of it is on its way.
    pub(crate) ending: Option<Close>,
    /// PACKET_INs that came before the handshake was done, whole.
    pub(crate) early: Vec<u8>,
    /// Whether the socket may have something to read.
    pub(crate) readable: bool,
    /// Whether nothing comes behind what the socket holds: it is read until the end itself is.
    pub(crate) ended: bool,
    /// Whether the socket may have room again for what waits.
    pub(crate) writable: bool,
    /// Whether it has to shed.
    pub(crate) watch: Watch,
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
            flight: Flight::default(),
            outgoing,
            open: Open::default(),
            joined: OnceLock::new(),
            dpid: OnceLock::new(),
            weight: AtomicU32::new(Weight::ONE.number()),
            stats: SwitchStats::default(),
            tally: Mutex::default(),
            ports: Mutex::default(),
            number,
            queued_at: AtomicU64::new(0),
            calls: Mutex::new(Vec::new()),
            home: AtomicU32::new(home as u32),
            token: AtomicU64::new(u64::MAX),
            alarm: Alarm::new(),
            gone: AtomicBool::new(false),
            state: Mutex::new(State {
                session,
                carry: Vec::new(),
                whole: false,
                called: false,
                moving_to: None,
                parked: false,
                fenced: false,
                ending: None,
                early: Vec::new(),
                readable: false,
                ended: false,
                writable: false,
                watch: Watch::default(),
            }),
        };
        conn.claim.begin();
        conn
    }

    /// The claimant's part; nobody else asks for it.
    #[inline]
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // A worker that panicked in the middle of a visit took the connection's claim with it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The switch, once its requests may go to the applications.
    #[inline]
    pub(crate) fn switch(&self) -> Option<&Arc<Switch>> {
        self.joined.get().map(|joined| &joined.member.switch)
    }

    /// Whose turn it is with the switch, where that matters.
    pub(crate) fn turn(&self) -> Option<&Arc<Turn>> {
        self.joined.get().and_then(|joined| joined.member.turn.as_ref())
    }

    /// The switch, where this is its main connection.
    pub(crate) fn main_of(&self) -> Option<&Arc<Switch>> {
        self.joined.get().filter(|joined| !joined.auxiliary).map(|joined| &joined.member.switch)
    }

    /// The applications know the switch from now on. Once.
    pub(crate) fn join(&self, member: Member, auxiliary: bool, at: Time) {
        let _ = self.joined.set(Joined { member, auxiliary, at, spreads: Box::default() });
    }

    /// What is counted for it in distributions, once it joined: by the same rights as `stats`.
    #[inline]
    pub(crate) fn spreads(&self) -> Option<&SwitchSpreads> {
        self.joined.get().map(|joined| &*joined.spreads)
    }

    /// When it joined.
    pub(crate) fn joined_at(&self) -> Option<Time> {
        self.joined.get().map(|joined| joined.at)
    }

    /// A port of the switch is another one.
    pub(crate) fn change_port(&self, change: &PortChange) {
        let Some(switch) = self.switch() else { return };
        let mut ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        ports.get_or_insert_with(|| Ports::new(&switch.info.ports)).change(change);
    }

    /// The switch's ports as they are now, where any changed since it joined.
    pub(crate) fn ports_now(&self) -> Option<Arc<[Port]>> {
        self.ports.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Ports::all)
    }

    /// Which switch it says it is, once it did.
    pub(crate) fn dpid(&self) -> Option<DatapathId> {
        self.dpid.get().copied()
    }

    /// It says which switch it is. Once.
    pub(crate) fn identify(&self, dpid: DatapathId) {
        let _ = self.dpid.set(dpid);
    }

    /// Its place among those there are, a small number.
    #[inline]
    pub(crate) fn number(&self) -> usize {
        self.number as usize
    }

    /// When it was last queued. Written by whoever queues it.
    #[inline]
    pub(crate) fn queued_at(&self) -> Time {
        Time(self.queued_at.load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn set_queued_at(&self, now: Time) {
        self.queued_at.store(now.0, Ordering::Relaxed);
    }

    /// The share that is due to it, compared to that of others.
    pub(crate) fn weight(&self) -> Weight {
        Weight::new(self.weight.load(Ordering::Relaxed)).unwrap_or(Weight::ONE)
    }

    pub(crate) fn set_weight(&self, weight: Weight) {
        self.weight.store(weight.number(), Ordering::Relaxed);
    }

    /// Leaves word. Returns whether the caller has to queue the connection.
    #[must_use]
    pub(crate) fn call(&self, call: Call) -> bool {
        self.calls().push(call);
        self.claim.announce(Signs::CALLED)
    }

    /// What was left since the last time.
    pub(crate) fn take_calls(&self) -> Vec<Call> {
        mem::take(&mut *self.calls())
    }

    fn calls(&self) -> MutexGuard<'_, Vec<Call>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was shed, port by port.
    pub(crate) fn with_tally<R>(&self, act: impl FnOnce(&mut Tally) -> R) -> R {
        act(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The worker that polls its socket and keeps its timer.
    #[inline]
    pub(crate) fn home(&self) -> usize {
        self.home.load(Ordering::Acquire) as usize
    }

    pub(crate) fn move_to(&self, home: usize) {
        self.home.store(home as u32, Ordering::Release);
    }

    /// Its place in the home's slab.
    pub(crate) fn token(&self) -> u64 {
        self.token.load(Ordering::Relaxed)
    }

    pub(crate) fn set_token(&self, token: u64) {
        self.token.store(token, Ordering::Relaxed);
    }

    /// Whether it came to its end: nothing can be sent to it.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    pub(crate) fn set_gone(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }
}

impl State {
    /// What was announced since the last visit.
    #[inline]
    pub(crate) fn note(&mut self, signs: Signs) {
        self.readable |= signs.has(Signs::READABLE);
        self.writable |= signs.has(Signs::WRITABLE);
        self.ended |= signs.has(Signs::ENDED);
        self.called |= signs.has(Signs::CALLED);
    }

    /// Puts what was read and not handled to the front of `room` and forgets it. Returns its length.
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

    /// Keeps what was read and not handled.
    #[inline]
    pub(crate) fn keep_carry(&mut self, rest: &[u8]) {
        self.carry.extend_from_slice(rest);
    }

    /// Whether another visit would have something to do: output that may go, or input, which waits while output does.
    pub(crate) fn is_ready(&self, stuck: bool) -> bool {
        if self.parked {
            false
        } else if stuck {
            self.writable
        } else {
            self.whole || self.readable
        }
    }

    /// When it has to be looked at though nothing came. While output waits nothing is read, and the session's deadlines
    /// rest: what they wait for may have come already.
    #[inline]
    pub(crate) fn deadline(&self, outgoing: &Outgoing) -> Time {
        if outgoing.is_stuck() { outgoing.deadline() } else { self.session.deadline() }
    }
}
