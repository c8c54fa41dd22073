//! What a worker needs of the network: readiness, reads and writes that never wait.
//!
//! 1. [`epoll`]: the kernel's sockets.

use std::io;

use aldis_control::Time;

pub(crate) mod epoll;

/// A set of sockets that are polled together. Every operation but [`Net::poll`] returns at once.
pub(crate) trait Net {
    /// A connected socket.
    type Socket;

    /// Begins to report the readiness of `socket` as `token`. Readiness is edge-triggered: it is reported once, and
    /// again only after new bytes (or new room) came.
    ///
    /// # Errors
    /// What the kernel says; typically that it has no memory left.
    fn register(&mut self, socket: &Self::Socket, token: u64) -> io::Result<()>;

    /// Appends the sockets that became ready to `ready`, waiting for the first until `until` (not at all when that is
    /// past) or until the worker's inbox is rung.
    ///
    /// # Errors
    /// What the kernel says, an interruption excepted.
    fn poll(&mut self, now: Time, until: Time, ready: &mut Vec<Readiness>) -> io::Result<()>;

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
    /// Bytes, the end of the stream or an error can be read.
    pub(crate) readable: bool,
    /// There is room to write.
    pub(crate) writable: bool,
    /// The peer sends nothing more. Bytes that it sent before may still be there to be read, and nothing announces the end
    /// behind them a second time.
    pub(crate) ended: bool,
}
