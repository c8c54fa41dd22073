//! Reading whole messages from a non-blocking socket through a buffer that all sockets of a thread
//! share.
//!
//! A shared buffer stays in the cache however many sockets there are. The beginning of a message
//! whose end has not come yet is what a socket owns: its [`Tail`], at most one message long.

use crate::wire::{RECORD_MAX, SwitchWire, TlsWire};
use aldis_wire::header::MESSAGE_LEN_MAX;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use std::io;
use std::net::SocketAddr;

/// The bytes of a message that began in one read and ends in a later one.
#[derive(Default, Debug)]
pub(crate) struct Tail(Vec<u8>);

impl Tail {
    /// Keeps what is left behind the last whole message.
    #[inline]
    pub(crate) fn keep(&mut self, rest: &[u8]) {
        self.0.clear();
        self.0.extend_from_slice(rest);
    }

    /// How many bytes it keeps.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// A thread's receive buffer: room for one read behind the longest tail there can be.
pub(crate) struct ReceiveBuffer {
    buffer: Box<[u8]>,
    read_max: usize,
    /// For what is encrypted still; empty until the first switch with TLS.
    sealed: Box<[u8]>,
}

impl ReceiveBuffer {
    /// A buffer for reads of at most `read_max` bytes.
    pub(crate) fn new(read_max: usize) -> ReceiveBuffer {
        ReceiveBuffer {
            buffer: vec![0; read_max + MESSAGE_LEN_MAX].into(),
            read_max,
            sealed: Box::default(),
        }
    }

    /// One read of `socket` behind its tail: both together, or `None` when the socket has nothing
    /// now.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when the peer has closed, otherwise what the socket says.
    #[inline]
    pub(crate) fn read(&mut self, socket: impl AsFd, tail: &Tail) -> io::Result<Option<&[u8]>> {
        self.read_at_most(socket, tail, self.read_max)
    }

    /// The same, of at most `limit` bytes; 1 at least.
    ///
    /// # Errors
    /// Those of [`ReceiveBuffer::read`].
    #[inline]
    pub(crate) fn read_at_most(
        &mut self,
        socket: impl AsFd,
        tail: &Tail,
        limit: usize,
    ) -> io::Result<Option<&[u8]>> {
        let kept = tail.0.len();
        self.buffer[..kept].copy_from_slice(&tail.0);
        let end = kept + limit.min(self.read_max);
        match rustix::io::read(socket, &mut self.buffer[kept..end]) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => Ok(Some(&self.buffer[..kept + read])),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The same of a switch's connection, with or without TLS. With it `limit` is what comes from
    /// the kernel.
    ///
    /// # Errors
    /// Those of [`ReceiveBuffer::read`], and TLS's in words.
    #[inline]
    pub(crate) fn read_wire(
        &mut self,
        wire: &mut SwitchWire,
        tail: &Tail,
        limit: usize,
    ) -> io::Result<Option<&[u8]>> {
        match wire {
            SwitchWire::Plain(socket) => self.read_at_most(socket, tail, limit),
            SwitchWire::Tls(tls) => self.read_tls(tls, tail, limit),
        }
    }

    #[inline(never)]
    fn read_tls(
        &mut self,
        tls: &mut TlsWire,
        tail: &Tail,
        limit: usize,
    ) -> io::Result<Option<&[u8]>> {
        if self.sealed.is_empty() {
            self.sealed = vec![0; self.read_max].into();
            self.buffer = vec![0; self.read_max + RECORD_MAX + MESSAGE_LEN_MAX].into();
        }
        let kept = tail.0.len();
        self.buffer[..kept].copy_from_slice(&tail.0);
        let sealed = &mut self.sealed[..limit.min(self.read_max)];
        let read = tls.read(&mut self.buffer[kept..], sealed)?;
        Ok(read.map(|count| &self.buffer[..kept + count]))
    }
}

/// How a load's sockets share the way with others: as far as the peer and the way have room. Where
/// the system has another one that paces what is sent (BBR), a timer would hold requests back that
/// the controller has room for.
pub const CONGESTION: &str = "reno";

/// What a load's socket may hold of what it says, in bytes; the kernel counts twice as many. Left
/// alone it would hold up to 4 MB, and a thousand of them what TCP may have on the whole machine,
/// the controller's part included: the kernel then throws away what arrives.
const SEND_BUFFER: usize = 128 * 1024;

/// What all sockets of a load may hold together, and the least of each: with thousands of them each
/// has less.
const SEND_BUFFER_OF_ALL: usize = 1024 * SEND_BUFFER;
const SEND_BUFFER_MIN: usize = 16 * 1024;

/// A socket that can be connected to `peer`, one of so many: it never blocks and sends at once.
///
/// # Errors
/// The system has no more of them.
pub(crate) fn socket(peer: SocketAddr, of: u32) -> Result<OwnedFd, Errno> {
    let family = match peer.is_ipv4() {
        true => AddressFamily::INET,
        false => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    let share = SEND_BUFFER_OF_ALL / of.max(1) as usize;
    sockopt::set_socket_send_buffer_size(&socket, share.clamp(SEND_BUFFER_MIN, SEND_BUFFER))?;
    // Every Linux has it. A process that may not choose it keeps what the system has.
    let _ = sockopt::set_tcp_congestion(&socket, CONGESTION);
    Ok(socket)
}

/// Writes what the socket takes now: the number of bytes, zero when it takes none.
///
/// # Errors
/// What the socket says when the connection is over.
#[inline]
pub(crate) fn write(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    match rustix::io::write(socket, bytes) {
        Ok(written) => Ok(written),
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_paces_what_a_load_sends_and_it_does_not_fill_the_machine() {
        let one_of = |many| socket(([127, 0, 0, 1], 1).into(), many).unwrap();
        assert_eq!(sockopt::tcp_congestion(one_of(1)).unwrap(), CONGESTION);
        let held = |many| sockopt::socket_send_buffer_size(one_of(many)).unwrap();
        let (one, thousand, all) = (held(1), held(1024), held(10_000));
        assert!(one <= 2 * SEND_BUFFER && thousand == one, "{one} {thousand}");
        assert!(all <= 2 * SEND_BUFFER_MIN && held(u32::MAX) == all, "{all}");
    }
}
