//! The handle: what the outside holds of a running engine.
//!
//! | it | by | without |
//! | --- | --- | --- |
//! | reads | [`Handle::switches`], [`Handle::snapshot`] | a lock that serving needs |
//! | reports | [`Handle::report`] | waiting for a worker |
//! | rouses | [`Handle::rouse`], [`Handle::rouse_when_readable`] | a message: a flag and a bell |
//! | sets | [`Handle::set_knobs`] | interrupting a session |
//! | commands | [`Handle::command`] | passing the applications |
//!
//! Switches are read from the switch map and the World behind a pointer, both without a lock.
//! Counters are read while workers write them. Two small locks of a connection, around what was
//! shed and around its ports, are held by a worker only while it sheds or while a port changes.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aldis_control::command::Failure;
use aldis_control::session::Close;
use aldis_control::switch::Seen;
use aldis_control::world::{Part, Queues};
use aldis_control::{Time, World};
use aldis_recording::Endpoints;
use aldis_wire::DatapathId;
use aldis_wire::msg::Message;

use crate::clock::Clock;
use crate::command::answer::{self, Answer};
use crate::command::reply_slot::ReplySlot;
use crate::command::{awaits_reply, encode};
use crate::conn::{Conn, ConnId};
use crate::design::{Design, Knobs};
use crate::messages::QueuedCommand;
use crate::metrics::{self, AppSnapshot, Snapshot, WorkerStats, counted};
use crate::net::Net;
use crate::net::epoll::{Epoll, Stream};
use crate::shared::Shared;
use crate::shared::inbox::Inbox;
use crate::shared::switch_map::MapEntry;
use crate::tap::{Tap, TappedConn};

/// Reads, reports, sets and commands, from any thread and at any time. Clones are cheap.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(crate) clock: Clock,
    pub(crate) design: Design,
    pub(crate) shared: Arc<Shared<Epoll>>,
    pub(crate) stats: Arc<[Arc<WorkerStats>]>,
    pub(crate) queues: Arc<Queues>,
    /// Held while the line-up of the applications is changed.
    pub(crate) changing: Arc<Mutex<()>>,
}

impl Handle {
    /// The time of the engine's clock, which began at its start.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// All counters, now.
    pub fn snapshot(&self) -> Snapshot {
        metrics::snapshot(self.now(), &self.stats, &self.shared)
    }

    /// The counters of the applications, in their order.
    pub fn apps(&self) -> Vec<AppSnapshot> {
        self.shared.line_up.counted()
    }

    /// The switches that are up, by datapath id.
    pub fn switches(&self) -> Vec<Seen> {
        let mut switches: Vec<_> = self.shared.switches.entries().filter_map(seen).collect();
        switches.sort_unstable_by_key(|seen| seen.switch.info.dpid);
        switches
    }

    /// A switch, if it is up.
    pub fn switch(&self, dpid: DatapathId) -> Option<Seen> {
        self.shared.switches.entry(dpid).and_then(seen)
    }

    /// The newest World.
    pub fn world(&self) -> Arc<World> {
        self.shared.world.newest()
    }

    /// Reports to the publisher of a part of the World, as an application does.
    ///
    /// # Errors
    /// The report: no publisher has the part, or [`aldis_control::Part::REPORTS_MAX`] wait
    /// already. The caller reports it again.
    pub fn report<P: Part>(&self, report: P::Report) -> Result<(), P::Report> {
        let reported = self.queues.push::<P>(report);
        self.shared.world.wake_publisher();
        reported
    }

    /// The tap, by which a recorder gets what is read and written.
    pub fn tap(&self) -> Tap {
        Tap(Arc::clone(&self.shared.tap))
    }

    /// The connections that are there, in the order in which they came.
    pub fn tapped_conns(&self) -> Vec<TappedConn> {
        let directory = self.shared.directory();
        let tapped = |conn: &Arc<Conn<Stream>>| {
            let ends = Endpoints { peer: conn.peer, local: Epoll::local(&conn.socket)? };
            let dpid = conn.dpid().map(|DatapathId(dpid)| dpid);
            Some(TappedConn { conn: conn.id.0, ends, dpid })
        };
        let mut conns: Vec<_> = directory.values().filter_map(tapped).collect();
        drop(directory);
        conns.sort_unstable_by_key(|tapped| tapped.conn);
        conns
    }

    /// The datapath id of a connection by its key in the tap, once it said it.
    pub fn dpid_of(&self, conn: u64) -> Option<DatapathId> {
        self.shared.directory().get(&ConnId(conn)).and_then(|conn| conn.dpid())
    }

    /// Has a worker, by its number from 0, tell its applications that something waits for them
    /// (`App::roused`). Does nothing where there is no such worker.
    pub fn rouse(&self, worker: usize) {
        self.shared.inboxes.get(worker).into_iter().for_each(Inbox::rouse);
    }

    /// Has a worker, by its number from 0, tell its applications the same each time there is more
    /// to read of a descriptor, until that is closed.
    ///
    /// # Errors
    /// What the kernel says, or there is no such worker.
    pub fn rouse_when_readable(&self, worker: usize, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        let inbox = self.shared.inboxes.get(worker).ok_or(io::ErrorKind::NotFound)?;
        inbox.bell().rouse_when_readable(descriptor)
    }

    /// Sets what can be changed while the engine runs. Sessions go on. What is absent is the
    /// design's again.
    pub fn set_knobs(&self, knobs: Knobs) {
        self.shared.set_knobs(knobs.over(&self.design));
    }

    /// Whether these messages could be sent as one command. Nothing is sent.
    ///
    /// # Errors
    /// [`Failure::NotConnected`], [`Failure::Unsayable`] or [`Failure::TooLong`].
    pub fn check_command(&self, to: DatapathId, messages: &[Message]) -> Result<(), Failure> {
        let conn = self.shared.switches.find(to);
        let switch = conn.as_ref().and_then(|conn| conn.main_of()).ok_or(Failure::NotConnected)?;
        encode(messages, switch.info.version).map(drop)
    }

    /// Sends these messages to a switch, and a barrier behind them. They are any that a controller
    /// may send, HELLO excepted, and take effect in their order. If the switch refuses one, the
    /// others still take effect. The answer comes `within` this time; where nothing is sent it is
    /// there already.
    pub fn command(&self, to: DatapathId, messages: &[Message], within: Duration) -> Answer {
        let Some(conn) = self.shared.switches.find(to) else {
            return Answer::failed(Failure::NotConnected);
        };
        let Some(version) = conn.main_of().map(|switch| switch.info.version) else {
            return Answer::failed(Failure::NotConnected);
        };
        let bytes = match encode(messages, version) {
            Ok(bytes) => bytes,
            Err(failure) => return Answer::failed(failure),
        };
        let (sender, answer) = answer::channel(to, version);
        let slots = messages.iter().map(|message| ReplySlot::new(awaits_reply(message))).collect();
        let by = self.clock.now() + within;
        self.post(Box::new(QueuedCommand { conn, bytes, slots, by, sender }));
        answer
    }

    fn post(&self, command: Box<QueuedCommand<Stream>>) {
        let inbox = &self.shared.inboxes[command.conn.home()];
        if let Err(command) = inbox.push_command(command) {
            return command.sender.send(Err(Failure::Busy));
        }
        // Of this fence and that of `Shared::close` one comes first: either `close` finds the
        // command in the inbox, or the flag is seen here.
        fence(Ordering::SeqCst);
        if self.shared.is_closed() {
            inbox.refuse_commands(&Close::Stopping);
        }
    }
}

/// Nothing for a connection in the moment before it joins.
fn seen<S>(MapEntry { main, auxiliaries }: MapEntry<S>) -> Option<Seen> {
    let mut all = counted(&main)?;
    for more in auxiliaries.iter().filter_map(|conn| counted(conn)) {
        all.counts.merge(&more.counts);
        all.shed_ports.merge(&more.shed_ports);
    }
    Some(Seen {
        switch: Arc::clone(main.switch()?),
        ports_now: main.ports_now(),
        peer: main.peer,
        up_since: main.joined_at()?,
        reads: !main.outgoing.is_stuck(),
        auxiliaries: auxiliaries.len(),
        counted: all,
    })
}
