//! The kernel's sockets, through one epoll descriptor a worker.
//!
//! A socket is registered once, for reading and writing, edge-triggered: re-arming would cost a system call per visit.

use std::io;
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use aldis_control::Time;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};

use super::{Net, Readiness};
use crate::limits::EVENTS_PER_POLL;

/// The token of the bell; connections count from zero.
const BELL: u64 = u64::MAX;

/// Wakes a worker that waits in its poll.
#[derive(Clone, Debug)]
pub(crate) struct Bell(Arc<OwnedFd>);

impl Bell {
    /// Rings: the poll in progress, or the next one, returns at once.
    pub(crate) fn ring(&self) {
        // The counter can only be full when it was rung 2^64 - 2 times unheard; the worker wakes all the same.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

/// Sockets behind one epoll descriptor.
#[derive(Debug)]
pub(crate) struct Epoll {
    epoll: OwnedFd,
    bell: Bell,
}

impl Epoll {
    /// An empty set.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let bell = Bell(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?));
        epoll::add(&epoll, &bell.0, EventData::new_u64(BELL), EventFlags::IN | EventFlags::ET)?;
        Ok(Epoll { epoll, bell })
    }

    /// What wakes this set's poll.
    pub(crate) fn bell(&self) -> Bell {
        self.bell.clone()
    }
}

impl Net for Epoll {
    type Socket = TcpStream;

    fn register(&mut self, socket: &TcpStream, token: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(token), flags)?)
    }

    fn poll(&mut self, now: Time, until: Time, ready: &mut Vec<Readiness>) -> io::Result<()> {
        let wait = (until != Time::NEVER).then(|| {
            let wait = until.since(now);
            Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) }
        });
        let mut room = [MaybeUninit::uninit(); EVENTS_PER_POLL];
        let events = match epoll::wait(&self.epoll, &mut room, wait.as_ref()) {
            Ok((events, _)) => events,
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let lost = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        let events = events.iter().map(|&Event { flags, data }| (flags, data.u64()));
        ready.extend(events.filter(|&(_, token)| token != BELL).map(|(flags, token)| Readiness {
            token,
            readable: flags.intersects(EventFlags::IN | lost),
            writable: flags.intersects(EventFlags::OUT | lost),
            ended: flags.intersects(lost),
        }));
        Ok(())
    }

    #[inline]
    fn read(&mut self, socket: &TcpStream, into: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| rustix::io::read(socket.as_fd(), &mut *into))?)
    }

    #[inline]
    fn write(&mut self, socket: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        // Not `write`: a peer that is gone must be an error here and not a signal.
        let flags = rustix::net::SendFlags::NOSIGNAL;
        Ok(rustix::io::retry_on_intr(|| rustix::net::send(socket.as_fd(), bytes, flags))?)
    }
}
