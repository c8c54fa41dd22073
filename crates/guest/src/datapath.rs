//! One switch, as one guest sees it: what the workers, which serve the switch, and the guest's
//! thread, which serves the guest, share.

#[cfg(test)]
pub(crate) mod tests;

use std::collections::VecDeque;
use std::io::Write;
use std::mem;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aldis_control::switch::SwitchInfo;
use aldis_wire::msg::{
    Capabilities, Features, Message, Port, PortChange, PortChangeReason, PortNo,
};
use aldis_wire::v10::ActionBits;
use aldis_wire::{NO_BUFFER, Version, v13};

use crate::fit::fitted;
use crate::guest::Guest;
use crate::kept::Kept;
use crate::limits::INBOUND_MAX;
use crate::relay::{Asked, Relay};

/// Bytes of replies and notices that may wait for a guest, above its queue of requests.
const REPLIES_MAX: usize = 4 << 20;

/// Bytes of requests that a worker writes to the guest itself: ten or so. Where more wait at once,
/// the worker has better things to do.
const LITTLE: usize = 1024;

/// The shortest PACKET_IN (1.0 §5.4.1).
const REQUEST_MIN: usize = 18;

/// Where the buffer id of a PACKET_IN is, in both versions (1.0 §5.4.1, 1.3.5 §7.4.1).
const BUFFER: std::ops::Range<usize> = 8..12;

/// Where the cookie of one of 1.3 is.
const COOKIE: std::ops::Range<usize> = 16..24;

/// A switch of a guest.
pub struct Datapath {
    pub(crate) guest: Arc<Guest>,
    pub(crate) info: SwitchInfo,
    ports: Mutex<Vec<Port>>,
    /// The worker that sends what the guest has to say.
    worker: AtomicUsize,
    /// The session with the guest, as its number; without a version where it is not connected.
    session: AtomicU64,
    gone: AtomicBool,
    /// Whether the guest has read nothing for a while of what waits for it.
    stalled: AtomicBool,
    /// Whether the guest's thread is to look at it.
    listed: AtomicBool,
    /// Bytes of the guest that wait for a worker, or for room at the switch.
    inbound: AtomicUsize,
    /// What the switch has no room for yet, in the order in which the guest said it.
    held: Mutex<VecDeque<Relay>>,
    /// Whether a worker is to try again whether there is room for it.
    retried: AtomicBool,
    outbox: Mutex<Outbox>,
    asked: Mutex<Asked>,
    kept: Mutex<Kept>,
    /// Why the guest is not connected here.
    pub(crate) reason: Mutex<Option<String>>,
}

/// A session: from a handshake with the guest until the connection ends. Its number is above those
/// of the sessions before it at this switch; the lowest byte is the version that is spoken.
///
/// What is meant for one session is not delivered in another: a worker may look at the session, and
/// have something to say to it only when it has ended and the next one has begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SessionId(u64);

impl SessionId {
    /// The version that is spoken in it.
    #[inline]
    pub(crate) fn version(self) -> Version {
        // It is made of one.
        Version::from_wire(self.0 as u8).unwrap_or(Version::V13)
    }
}

/// What waits for the guest.
#[derive(Debug, Default)]
struct Outbox {
    /// The session that it is for.
    session: Option<SessionId>,
    /// Where a worker wrote some of it already, it begins within a message.
    bytes: Vec<u8>,
    /// A reply found no room: the guest would wait for it in vain.
    lost_reply: bool,
    /// What workers may write a few requests to, which spares waking the guest's thread.
    socket: Option<Arc<TcpStream>>,
    /// The thread has taken something that it has not written yet, so that workers may not.
    is_taken: bool,
}

impl Outbox {
    /// Writes what waits, where that is little and the thread writes nothing; whether it is done.
    fn write_little(&mut self) -> bool {
        if self.is_taken || self.bytes.len() > LITTLE {
            return false;
        }
        let Some(mut socket) = self.socket.as_deref() else { return false };
        // The thread goes on with what the kernel does not take, and finds what is wrong.
        let written = socket.write(&self.bytes).unwrap_or(0);
        self.bytes.drain(..written);
        self.bytes.is_empty()
    }
}

/// A request on its way to a guest.
pub(crate) struct Handed<'a> {
    /// The whole message of the switch.
    pub(crate) message: &'a [u8],
    /// Whether the whole packet is in it.
    pub(crate) is_whole: bool,
}

impl Datapath {
    pub(crate) fn new(guest: Arc<Guest>, info: &SwitchInfo) -> Datapath {
        Datapath {
            guest,
            info: info.clone(),
            ports: Mutex::new(info.ports.clone()),
            worker: AtomicUsize::new(0),
            session: AtomicU64::new(0),
            gone: AtomicBool::new(false),
            stalled: AtomicBool::new(false),
            listed: AtomicBool::new(false),
            inbound: AtomicUsize::new(0),
            held: Mutex::default(),
            retried: AtomicBool::new(false),
            outbox: Mutex::default(),
            asked: Mutex::default(),
            kept: Mutex::default(),
            reason: Mutex::default(),
        }
    }

    /// The session with the guest, where it is connected.
    #[inline]
    pub(crate) fn session(&self) -> Option<SessionId> {
        let session = self.session.load(Ordering::Acquire);
        (session as u8 != 0).then_some(SessionId(session))
    }

    /// The version that the guest speaks here, where it is connected.
    #[inline]
    pub(crate) fn version(&self) -> Option<Version> {
        self.session().map(SessionId::version)
    }

    /// The guest finished its handshake: a session begins, in which the thread writes first. Called
    /// by one thread at a time, which serves the guest, as [`Datapath::close`].
    pub(crate) fn open(&self, version: Version) -> SessionId {
        let before = self.session.load(Ordering::Relaxed) >> 8;
        let session = SessionId((before + 1) << 8 | u64::from(version.wire()));
        let begun = Some(session);
        *lock(&self.outbox) = Outbox { session: begun, is_taken: true, ..Outbox::default() };
        self.asked().begin(begun);
        self.session.store(session.0, Ordering::Release);
        *lock(&self.reason) = None;
        session
    }

    /// Workers may write to the guest, too.
    pub(crate) fn share_socket(&self, socket: Option<Arc<TcpStream>>) {
        lock(&self.outbox).socket = socket;
    }

    /// The guest's connection ended: what waited for it is void.
    pub(crate) fn close(&self, why: Option<&str>) {
        let before = self.session.load(Ordering::Relaxed);
        self.session.store(before >> 8 << 8, Ordering::Release);
        self.set_stalled(false);
        *lock(&self.outbox) = Outbox::default();
        self.asked().begin(None);
        *lock(&self.reason) = why.map(str::to_owned);
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    pub(crate) fn set_gone(&self) {
        self.gone.store(true, Ordering::Release);
    }

    /// Whether the guest has read nothing for a while: nothing is handed to it.
    #[inline]
    pub(crate) fn is_stalled(&self) -> bool {
        self.stalled.load(Ordering::Relaxed)
    }

    pub(crate) fn set_stalled(&self, stalled: bool) {
        if self.is_stalled() != stalled {
            self.stalled.store(stalled, Ordering::Relaxed);
        }
    }

    pub(crate) fn worker(&self) -> usize {
        self.worker.load(Ordering::Relaxed)
    }

    pub(crate) fn set_worker(&self, worker: usize) {
        self.worker.store(worker, Ordering::Relaxed);
    }

    pub(crate) fn asked(&self) -> MutexGuard<'_, Asked> {
        lock(&self.asked)
    }

    pub(crate) fn kept(&self) -> MutexGuard<'_, Kept> {
        lock(&self.kept)
    }

    /// Puts it on the list of what the guest's thread looks at; whether it was not on it.
    pub(crate) fn list(&self) -> bool {
        !self.listed.swap(true, Ordering::AcqRel)
    }

    /// The guest's thread looks at it now.
    pub(crate) fn unlist(&self) {
        self.listed.store(false, Ordering::Release);
    }

    /// What the switch has no room for yet. A worker that serves it takes from it alone.
    pub(crate) fn held(&self) -> MutexGuard<'_, VecDeque<Relay>> {
        lock(&self.held)
    }

    /// A worker is to try again whether there is room for it, or does so now; whether one was to.
    pub(crate) fn set_retried(&self, retried: bool) -> bool {
        self.retried.swap(retried, Ordering::AcqRel)
    }

    /// Bytes of what comes first of it; 0 where there was room for everything.
    pub(crate) fn held_len(&self) -> usize {
        self.held().front().map_or(0, |relay| relay.bytes.len())
    }

    /// So many bytes of the guest wait for a worker.
    pub(crate) fn inbound_waits(&self, bytes: usize) {
        self.inbound.fetch_add(bytes, Ordering::AcqRel);
    }

    /// A worker sent so many; whether the guest's thread may have waited for that.
    pub(crate) fn inbound_sent(&self, bytes: usize) -> bool {
        let before = self.inbound.fetch_sub(bytes, Ordering::AcqRel);
        before >= INBOUND_MAX && before - bytes < INBOUND_MAX
    }

    /// Whether more of the guest may be read.
    pub(crate) fn takes_inbound(&self) -> bool {
        self.inbound.load(Ordering::Acquire) < INBOUND_MAX
    }

    /// Begins to hand requests to the guest; nothing where that session is over.
    #[inline]
    pub(crate) fn hand(&self, session: SessionId) -> Option<Handing<'_>> {
        let outbox = lock(&self.outbox);
        let (version, queue) = (session.version(), self.guest.queue());
        let is_on = outbox.session == Some(session);
        is_on.then_some(Handing { datapath: self, version, queue, outbox, handed: 0 })
    }

    /// Sends the guest a notice, unless its version has no words for it.
    pub(crate) fn tell(&self, message: Message, xid: u32) {
        if let Some(session) = self.session() {
            self.tell_in(session, message, xid);
        }
    }

    /// Sends the guest a reply or a notice in this session, unless its version has no words for it.
    /// Where it finds no room, the connection is to end.
    pub(crate) fn tell_in(&self, session: SessionId, message: Message, xid: u32) {
        let version = session.version();
        self.write(session, |out| {
            let _ = fitted(message, version).encode(version, xid, out);
        });
    }

    /// Sends the guest bytes, where that session is not over.
    pub(crate) fn write(&self, session: SessionId, write: impl FnOnce(&mut Vec<u8>)) {
        let mut outbox = lock(&self.outbox);
        if outbox.session != Some(session) {
            return;
        }
        if outbox.bytes.len() > self.guest.bounds.queue() + REPLIES_MAX {
            outbox.lost_reply = true;
        } else {
            write(&mut outbox.bytes);
        }
        drop(outbox);
        self.guest.counts.replies.add(1);
        Guest::look_at(self);
    }

    /// Takes what waits for the guest, for the thread to write it before what it has to say itself;
    /// whether a reply was lost. Workers write nothing until the thread takes nothing.
    pub(crate) fn take_outbox(&self, own: &mut Vec<u8>) -> bool {
        let mut outbox = lock(&self.outbox);
        mem::swap(&mut outbox.bytes, own);
        own.append(&mut outbox.bytes);
        outbox.is_taken = !own.is_empty();
        outbox.lost_reply
    }

    pub(crate) fn change_port(&self, change: &PortChange) {
        let mut ports = lock(&self.ports);
        ports.retain(|port| port.number != change.port.number);
        if change.reason != PortChangeReason::Removed {
            ports.push(change.port);
        }
        ports.sort_unstable_by_key(|port| port.number);
    }

    /// The numbers of the ports of the grant that the switch has now.
    pub(crate) fn granted_ports(&self) -> Vec<PortNo> {
        let ports = lock(&self.ports);
        let numbers = ports.iter().map(|port| port.number);
        numbers.filter(|port| port.is_real() && self.guest.grant.has_port(*port)).collect()
    }

    /// The ports of the grant, as OpenFlow 1.3 describes them.
    pub(crate) fn described_ports(&self) -> Vec<v13::Port> {
        let describe = |port: &Port| {
            let mut port = *port;
            // Bits of 1.0 that 1.3 has no words for.
            (port.details.config, port.details.state) = Default::default();
            let change = PortChange { reason: PortChangeReason::Added, port };
            let mut bytes = vec![];
            Message::PortChange(change).encode(Version::V13, 0, &mut bytes).ok()?;
            match v13::Message::decode(&bytes).ok()?.1 {
                v13::Message::PortStatus(status) => Some(status.desc),
                _ => None,
            }
        };
        let ports = lock(&self.ports);
        let granted = ports.iter().filter(|port| self.guest.grant.has_port(port.number));
        granted.filter_map(describe).collect()
    }

    /// What the switch says of itself to the guest.
    pub(crate) fn features(&self, version: Version) -> Message {
        let ports = lock(&self.ports);
        let granted = |port: &&Port| self.guest.grant.has_port(port.number);
        let is_v10 = version == Version::V10;
        let common = Capabilities::FLOW_STATS
            | Capabilities::TABLE_STATS
            | Capabilities::PORT_STATS
            | Capabilities::QUEUE_STATS;
        let groups = if is_v10 { Capabilities::default() } else { Capabilities::GROUP_STATS };
        let features = Message::FeaturesReply(Features {
            datapath_id: self.info.dpid,
            n_buffers: if self.guest.grant.is_whole() { self.info.buffers } else { 0 },
            n_tables: self.info.tables,
            auxiliary_id: 0,
            capabilities: common | groups,
            // All that 1.0 names.
            actions: is_v10.then_some(ActionBits(0xfff)),
            ports: match is_v10 {
                true => ports.iter().filter(granted).copied().collect(),
                false => vec![],
            },
        });
        fitted(features, version)
    }
}

/// Requests on their way to a guest, at one switch.
pub(crate) struct Handing<'d> {
    datapath: &'d Datapath,
    version: Version,
    queue: usize,
    outbox: MutexGuard<'d, Outbox>,
    handed: u64,
}

impl Handing<'_> {
    /// Whether no request finds room any more.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.outbox.bytes.len() + REQUEST_MIN > self.queue
    }

    /// Whether a request of so many bytes finds room.
    #[inline]
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.outbox.bytes.len() + bytes <= self.queue
    }

    /// Hands one over; false where it finds no room, or the guest's version has no words for it.
    #[inline]
    pub(crate) fn push(&mut self, request: &Handed<'_>) -> bool {
        let Datapath { guest, info, .. } = self.datapath;
        let at = self.outbox.bytes.len();
        if !self.has_room(request.message.len()) {
            return false;
        }
        if self.version == info.version {
            self.outbox.bytes.extend_from_slice(request.message);
            if self.version == Version::V13 {
                let cookie = &mut self.outbox.bytes[at..][COOKIE];
                let seen = cookie.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
                if let Some(said) = guest.cookies.of_guest(seen) {
                    cookie.copy_from_slice(&said.to_be_bytes());
                }
            }
        } else if !self.push_other(request) {
            return false;
        }
        // An observer's copy must not use up the buffer; a slice gets no buffers.
        if guest.grant.spec().observe || !guest.grant.is_whole() && request.is_whole {
            self.outbox.bytes[at..][BUFFER].copy_from_slice(&NO_BUFFER.to_be_bytes());
        }
        self.handed += 1;
        true
    }

    #[cold]
    fn push_other(&mut self, request: &Handed<'_>) -> bool {
        let Ok((xid, message)) = Message::decode(self.datapath.info.version, request.message)
        else {
            return false;
        };
        let message = fitted(message.meaning(), self.version);
        message.encode(self.version, xid, &mut self.outbox.bytes).is_ok()
    }

    /// All were handed over. A few are written at once; otherwise the guest's thread is to look
    /// when it is next rung. Whether it is to be rung for that.
    pub(crate) fn done(self) -> bool {
        let Handing { datapath, mut outbox, handed, .. } = self;
        if handed == 0 {
            return false;
        }
        let is_written = !datapath.guest.floods() && outbox.write_little();
        drop(outbox);
        datapath.guest.counts.requests.add(handed);
        !is_written && Guest::list(datapath)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is under these locks is whole between any two statements.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
