//! The kernel's sockets, through one epoll descriptor a worker.
//!
//! A socket is registered once, for reading and writing, edge-triggered: re-arming would cost a system call per visit.

use std::io;
use std::mem::MaybeUninit;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use aldis_control::Time;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};

use super::{Bell, Net, Readiness};
use crate::claim::Signs;
use crate::clock::Clock;
use crate::limits::EVENTS_PER_POLL;

/// The token of the bell; connections count from zero.
const BELL: u64 = u64::MAX;

/// Wakes a worker that waits in its poll.
#[derive(Clone, Debug)]
pub(crate) struct EventBell(Arc<OwnedFd>);

impl Bell for EventBell {
    fn ring(&self) {
        // The counter can only be full when it was rung 2^64 - 2 times unheard; the worker wakes all the same.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

/// Sockets behind one epoll descriptor.
#[derive(Debug)]
pub(crate) struct Epoll {
    epoll: OwnedFd,
    bell: EventBell,
    clock: Clock,
}

impl Epoll {
    /// An empty set.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub(crate) fn new(clock: Clock) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let bell = EventBell(Arc::new(bell));
        epoll::add(&epoll, &bell.0, EventData::new_u64(BELL), EventFlags::IN | EventFlags::ET)?;
        Ok(Epoll { epoll, bell, clock })
    }
}

impl Net for Epoll {
    type Socket = TcpStream;
    type Bell = EventBell;

    #[inline]
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn bell(&self) -> EventBell {
        self.bell.clone()
    }

    fn register(&mut self, socket: &TcpStream, token: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(token), flags)?)
    }

    fn deregister(&mut self, socket: &TcpStream) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, socket)?)
    }

    fn close(&mut self, socket: &TcpStream) {
        // It fails where the peer was first.
        let _ = socket.shutdown(Shutdown::Both);
    }

    fn poll(&mut self, until: Time, ready: &mut Vec<Readiness>) -> io::Result<()> {
        let wait = (until != Time::NEVER).then(|| {
            let now = if until == Time::START { until } else { self.clock.now() };
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
        for &Event { flags, data } in events.iter().filter(|event| event.data.u64() != BELL) {
            let sign = |on: EventFlags, sign| {
                if flags.intersects(on | lost) { sign } else { Signs::default() }
            };
            let signs = sign(EventFlags::IN, Signs::READABLE)
                .with(sign(EventFlags::OUT, Signs::WRITABLE))
                .with(sign(lost, Signs::ENDED));
            ready.push(Readiness { token: data.u64(), signs });
        }
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
