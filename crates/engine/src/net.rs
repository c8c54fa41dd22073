//! What a worker needs of the network: readiness, reads and writes that never wait.
//!
//! 1. [`epoll`]: the kernel's sockets;
//! 2. [`tls`]: the same with TLS over them;
//! 3. [`crate::sim`]: simulated ones, with simulated cores and time;
//! 4. [`crate::sim::in_memory`]: some in memory that always have a request, on real cores.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use aldis_control::Time;
use aldis_control::session::Close;
use aldis_wire::DatapathId;

use crate::conn::claim::Events;

pub(crate) mod epoll;
pub(crate) mod tls;

/// Wakes a worker that waits in its poll.
pub(crate) trait Bell: Clone + Send + Sync + fmt::Debug + 'static {
    /// Rings: the poll in progress, or the next one, returns at once.
    fn ring(&self);
}

/// A set of sockets that are polled together, and the clock beside it. Every operation but
/// [`Net::poll`] returns at once.
pub(crate) trait Net {
    /// A connected socket; any worker may read and write it.
    type Socket: Send + Sync + fmt::Debug + 'static;
    /// What wakes the poll.
    type Bell: Bell;

    /// The time now.
    fn now(&self) -> Time;

    /// There is nothing to do for a moment, and too little time to sleep: other threads may have
    /// the core.
    fn linger(&mut self) {
        std::thread::yield_now();
    }

    /// What wakes this set's poll.
    fn bell(&self) -> Self::Bell;

    /// Begins to report the readiness of `socket` as `token`. Readiness is edge-triggered: it is
    /// reported once, and again only after new bytes (or new room) came.
    ///
    /// # Errors
    /// What the kernel says; typically that it has no memory left.
    fn register(&mut self, socket: &Self::Socket, token: u64) -> io::Result<()>;

    /// Ends that, for a socket that another set is to report.
    ///
    /// # Errors
    /// What the kernel says.
    fn deregister(&mut self, socket: &Self::Socket) -> io::Result<()>;

    /// The connection ends now, though a worker may still hold the socket. What was written before
    /// is still sent.
    fn close(&mut self, socket: &Self::Socket) {
        let _ = socket;
    }

    /// The controller's address of a connection, where it has one.
    fn local(socket: &Self::Socket) -> Option<SocketAddr> {
        let _ = socket;
        None
    }

    /// Whether a certificate proves that the peer may be this switch. Over a plain connection the
    /// peer only claims it.
    ///
    /// # Errors
    /// Why it may not.
    fn vouches(socket: &Self::Socket, dpid: DatapathId) -> Result<bool, String> {
        let _ = (socket, dpid);
        Ok(false)
    }

    /// Appends the sockets that became ready to `ready`, waiting for the first until `until` (not
    /// at all when that is past, as [`Time::START`] always is) or until the worker's inbox is rung.
    ///
    /// # Errors
    /// What the kernel says, an interruption excepted.
    fn poll(&mut self, until: Time, ready: &mut Vec<Readiness>) -> io::Result<()>;

    /// Whether a descriptor that rouses the applications had something to read since this was last
    /// asked.
    fn take_roused(&mut self) -> bool {
        false
    }

    /// Reads what is there, at most `into.len()` bytes; 0 at the end of the stream.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when nothing is there; else the connection is lost.
    fn read(&mut self, socket: &Self::Socket, into: &mut [u8]) -> io::Result<usize>;

    /// Writes as much as the socket takes.
    ///
    /// # Errors
    /// As [`Net::read`].
    fn write(&mut self, socket: &Self::Socket, bytes: &[u8]) -> io::Result<usize>;
}

/// A socket that became ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Readiness {
    /// The token it was registered with.
    pub(crate) token: u64,
    /// What it is ready for. The end of the stream is told together with being readable: bytes sent
    /// before it may still be there to be read, and nothing announces the end behind them a second
    /// time.
    pub(crate) events: Events,
}

/// Why a connection ends that could not be read or written.
#[cold]
pub(crate) fn lost(error: &io::Error) -> Close {
    match error.get_ref().is_some_and(|inner| inner.is::<tls::Insecure>()) {
        true => Close::Insecure(error.to_string()),
        false => Close::Failed(error.to_string()),
    }
}
