//! The kernel's sockets, through one epoll descriptor a worker.
//!
//! A socket is registered once, for reading and writing, edge-triggered: re-arming would cost a
//! system call per visit.

use std::io;
use std::mem::MaybeUninit;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use aldis_control::Time;
use aldis_wire::DatapathId;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};

use super::tls::Tls;
use super::{Bell, Net, Readiness};
use crate::clock::Clock;
use crate::conn::claim::Events;
use crate::limits::{EVENTS_PER_POLL, TLS_READ};

/// The token of the bell; connections count from zero.
const BELL: u64 = u64::MAX;

/// The token of descriptors that rouse the applications.
const ROUSES: u64 = BELL - 1;

/// Wakes a worker that waits in its poll.
#[derive(Clone, Debug)]
pub(crate) struct EventBell {
    counter: Arc<OwnedFd>,
    /// What the worker waits for.
    epoll: Arc<OwnedFd>,
}

impl EventBell {
    /// Has the worker rouse its applications each time there is more to read of a descriptor, until
    /// that is closed.
    ///
    /// # Errors
    /// What the kernel says.
    pub(crate) fn rouse_when_readable(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::ET;
        Ok(epoll::add(&self.epoll, descriptor, EventData::new_u64(ROUSES), flags)?)
    }
}

impl Bell for EventBell {
    fn ring(&self) {
        // The counter can only be full when it was rung 2^64 - 2 times unheard; the worker wakes
        // all the same.
        let _ = rustix::io::write(&self.counter, &1u64.to_ne_bytes());
    }
}

/// A connection, with or without TLS.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<Tls>),
}

impl Stream {
    fn socket(&self) -> &TcpStream {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(tls) => &tls.socket,
        }
    }
}

/// Sockets behind one epoll descriptor.
#[derive(Debug)]
pub(crate) struct Epoll {
    epoll: Arc<OwnedFd>,
    bell: EventBell,
    /// Whether a descriptor that rouses the applications was reported.
    roused: bool,
    clock: Clock,
    /// For what comes from a socket before it is understood; empty until the first that needs it.
    room: Vec<u8>,
}

impl Epoll {
    /// An empty set.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub(crate) fn new(clock: Clock) -> io::Result<Self> {
        let epoll = Arc::new(epoll::create(CreateFlags::CLOEXEC)?);
        let counter = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &counter, EventData::new_u64(BELL), flags)?;
        let bell = EventBell { counter: Arc::new(counter), epoll: Arc::clone(&epoll) };
        Ok(Epoll { epoll, bell, roused: false, clock, room: Vec::new() })
    }

    #[inline(never)]
    fn read_tls(&mut self, socket: &Stream, into: &mut [u8]) -> io::Result<usize> {
        let Stream::Tls(tls) = socket else { return Ok(0) };
        self.room.resize(TLS_READ, 0);
        tls.read(into, &mut self.room)
    }
}

impl Net for Epoll {
    type Socket = Stream;
    type Bell = EventBell;

    #[inline]
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn bell(&self) -> EventBell {
        self.bell.clone()
    }

    fn register(&mut self, socket: &Stream, token: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.epoll, socket.socket(), EventData::new_u64(token), flags)?)
    }

    fn deregister(&mut self, socket: &Stream) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, socket.socket())?)
    }

    fn close(&mut self, socket: &Stream) {
        if let Stream::Tls(tls) = socket {
            tls.close();
        }
        // It fails where the peer was first.
        let _ = socket.socket().shutdown(Shutdown::Both);
    }

    fn local(socket: &Stream) -> Option<SocketAddr> {
        socket.socket().local_addr().ok()
    }

    fn vouches(socket: &Stream, dpid: DatapathId) -> Result<bool, String> {
        match socket {
            Stream::Plain(_) => Ok(false),
            Stream::Tls(tls) => tls.vouches(dpid).map(|()| true),
        }
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
            if data.u64() == ROUSES {
                self.roused = true;
                continue;
            }
            let sign = |on: EventFlags, sign| {
                if flags.intersects(on | lost) { sign } else { Events::default() }
            };
            let events = sign(EventFlags::IN, Events::READABLE)
                .with(sign(EventFlags::OUT, Events::WRITABLE))
                .with(sign(lost, Events::ENDED));
            ready.push(Readiness { token: data.u64(), events });
        }
        Ok(())
    }

    #[inline]
    fn take_roused(&mut self) -> bool {
        std::mem::take(&mut self.roused)
    }

    #[inline]
    fn read(&mut self, socket: &Stream, into: &mut [u8]) -> io::Result<usize> {
        let Stream::Plain(socket) = socket else { return self.read_tls(socket, into) };
        Ok(rustix::io::retry_on_intr(|| rustix::io::read(socket.as_fd(), &mut *into))?)
    }

    #[inline]
    fn write(&mut self, socket: &Stream, bytes: &[u8]) -> io::Result<usize> {
        let socket = match socket {
            Stream::Plain(socket) => socket,
            Stream::Tls(tls) => return tls.write(bytes),
        };
        // Not `write`: a peer that is gone must be an error here and not a signal.
        let flags = rustix::net::SendFlags::NOSIGNAL;
        Ok(rustix::io::retry_on_intr(|| rustix::net::send(socket.as_fd(), bytes, flags))?)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Polls as a worker that sleeps, for some seconds at most; whether it was roused.
    fn is_roused(net: &mut Epoll, wait_ms: u64) -> bool {
        let (until, mut ready) = (Time(net.now().0 + wait_ms * 1_000_000), vec![]);
        net.poll(until, &mut ready).unwrap();
        assert_eq!(ready, [], "no connection is ready");
        net.take_roused()
    }

    #[test]
    fn a_descriptor_rouses_each_time_there_is_more_to_read() {
        const SOON: u64 = 20_000;
        let mut net = Epoll::new(Clock::start()).unwrap();
        let (reads, mut writes) = UnixStream::pair().unwrap();
        net.bell().rouse_when_readable(reads.as_fd()).unwrap();
        assert!(!is_roused(&mut net, 20));
        for byte in 0..2 {
            writes.write_all(&[byte]).unwrap();
            assert!(is_roused(&mut net, SOON));
            assert!(!is_roused(&mut net, 20), "nothing more came");
        }
        // The bell is another thing.
        net.bell().ring();
        assert!(!is_roused(&mut net, SOON));
        drop(reads);
        assert!(!is_roused(&mut net, 20), "what is closed is forgotten");
    }
}
