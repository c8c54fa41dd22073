//! Waiting for many sockets at once: `epoll`, level-triggered, a key for each socket.

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::io;
use std::time::Duration;

/// Most sockets that one wait may report; the others are reported by the next.
const READY_MAX: usize = 256;

/// What a socket is watched for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Interest {
    /// Only that it fails or is closed in both directions, which is always reported.
    Nothing,
    Read,
    Write,
    Both,
}

impl Interest {
    fn flags(self) -> EventFlags {
        match self {
            Interest::Nothing => EventFlags::empty(),
            Interest::Read => EventFlags::IN,
            Interest::Write => EventFlags::OUT,
            Interest::Both => EventFlags::IN | EventFlags::OUT,
        }
    }
}

/// A socket that can go on. One that failed or was closed counts as readable: the read then says
/// why.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) key: u64,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
}

/// A set of watched sockets. A socket leaves it when it is closed.
pub(crate) struct Poll {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Poll {
    pub(crate) fn new() -> io::Result<Poll> {
        let nothing = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        Ok(Poll { epoll: epoll::create(CreateFlags::CLOEXEC)?, events: vec![nothing; READY_MAX] })
    }

    /// Watches one more socket; what it does is reported under `key`.
    pub(crate) fn add(&self, socket: impl AsFd, key: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(key), interest.flags())?)
    }

    /// Watches it for something else from now on.
    pub(crate) fn modify(&self, socket: impl AsFd, key: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, socket, EventData::new_u64(key), interest.flags())?)
    }

    /// Watches it no longer.
    pub(crate) fn remove(&self, socket: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, socket)?)
    }

    /// Waits until a socket is ready or `timeout` has passed (rounded up to a millisecond; `None`:
    /// for ever), and says how many are; [`Poll::ready`] hands them out. An interrupted wait ends
    /// with none.
    pub(crate) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs() as _,
            tv_nsec: timeout.subsec_nanos() as _,
        });
        match epoll::wait(&self.epoll, &mut self.events[..], timeout.as_ref()) {
            Ok(ready) => Ok(ready),
            Err(Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// The `index`th socket found ready by the last wait.
    #[inline]
    pub(crate) fn ready(&self, index: usize) -> Ready {
        let Event { flags, data } = self.events[index];
        Ready {
            key: data.u64(),
            readable: flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR),
            writable: flags.contains(EventFlags::OUT),
        }
    }
}

/// Ends another thread's wait.
pub(crate) struct Waker(OwnedFd);

impl Waker {
    pub(crate) fn new() -> io::Result<Waker> {
        Ok(Waker(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Makes the waker readable. A counter that is full is readable already, so there is nothing to
    /// fail.
    pub(crate) fn wake(&self) {
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Makes it unreadable again.
    pub(crate) fn clear(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> rustix::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}
