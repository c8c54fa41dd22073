//! What a switch speaks over: a socket, or TLS over one, as real switches do towards controllers
//! that ask for it.
//!
//! Without TLS a read is one `read` and a write one `write`. With it a read takes what the kernel
//! has, and hands on what that says; a write encrypts all it is given, so that the caller has
//! nothing to keep, and what the kernel did not take of it stays here: then
//! [`SwitchWire::is_behind`], and nothing more should be written before [`SwitchWire::flush`] has
//! sent it.

use crate::secure::{self, SwitchTls};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use rustls::ClientConnection;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};

/// The most that one record takes, of which the session may hold the beginning: 16 KiB of content,
/// 2 KiB that encryption may add, and five bytes in front (RFC 8446 §5.2, RFC 5246 §6.2.3).
pub(crate) const RECORD_MAX: usize = 18 * 1024 + 5;

/// A connection of a switch.
pub(crate) enum SwitchWire {
    Plain(TcpStream),
    Tls(Box<TlsWire>),
}

/// One over TLS.
pub(crate) struct TlsWire {
    socket: TcpStream,
    session: ClientConnection,
    /// Whether the kernel did not take all that the session has to send.
    behind: bool,
    /// What ended it, behind bytes that were handed on first.
    ended: Option<io::Error>,
}

impl SwitchWire {
    /// Over a socket that connects still; with TLS if the switch of this datapath id is to speak
    /// it.
    ///
    /// # Errors
    /// TLS cannot begin: the session has no memory or no randomness.
    pub(crate) fn new(
        socket: TcpStream,
        secure: Option<&SwitchTls>,
        dpid: u32,
    ) -> io::Result<SwitchWire> {
        let Some(secure) = secure else { return Ok(SwitchWire::Plain(socket)) };
        let session = secure.begin(dpid).map_err(io::Error::other)?;
        Ok(SwitchWire::Tls(Box::new(TlsWire { socket, session, behind: false, ended: None })))
    }

    /// The socket below it.
    #[inline]
    pub(crate) fn socket(&self) -> &TcpStream {
        match self {
            SwitchWire::Plain(socket) => socket,
            SwitchWire::Tls(tls) => &tls.socket,
        }
    }

    /// Whether something that was written has not reached the kernel.
    #[inline]
    pub(crate) fn is_behind(&self) -> bool {
        matches!(self, SwitchWire::Tls(tls) if tls.behind)
    }

    /// Sends what waits here; whether nothing waits any more.
    ///
    /// # Errors
    /// What the socket says when the connection is over.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        match self {
            SwitchWire::Plain(_) => Ok(true),
            SwitchWire::Tls(tls) => tls.flush(),
        }
    }

    /// Writes: the number of bytes that are on their way, zero when none can be now.
    ///
    /// # Errors
    /// What the socket says when the connection is over.
    #[inline]
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            SwitchWire::Plain(socket) => crate::stream::write(socket, bytes),
            SwitchWire::Tls(tls) => tls.write(bytes),
        }
    }

    /// Says that nothing more will be written. One that is gone already is found closed by the next
    /// read.
    pub(crate) fn finish(&mut self) {
        if let SwitchWire::Tls(tls) = self {
            tls.session.send_close_notify();
            let _ = tls.flush();
        }
        let _ = self.socket().shutdown(Shutdown::Write);
    }
}

impl AsFd for SwitchWire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }
}

impl TlsWire {
    /// One read of at most `sealed` bytes from the kernel; how many bytes it said, or `None` when
    /// it says nothing now. `into` has room for all of `sealed` and for [`RECORD_MAX`] more.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] when the peer has closed, otherwise what went wrong in
    /// words.
    pub(crate) fn read(&mut self, into: &mut [u8], sealed: &mut [u8]) -> io::Result<Option<usize>> {
        if let Some(error) = self.ended.take() {
            return Err(error);
        }
        let count = match rustix::io::read(&self.socket, &mut *sealed) {
            Ok(0) => return Err(self.closed()),
            Ok(count) => count,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut filled = 0;
        let outcome = self.understand(&sealed[..count], into, &mut filled);
        // The handshake goes on, and what waited for its end goes out; a peer that broke off is
        // told why.
        let outcome = outcome.and(self.flush());
        match outcome {
            Err(error) if filled == 0 => return Err(error),
            Err(error) => self.ended = Some(error),
            Ok(_) => {}
        }
        Ok((filled > 0).then_some(filled))
    }

    fn understand(
        &mut self,
        mut bytes: &[u8],
        into: &mut [u8],
        filled: &mut usize,
    ) -> io::Result<()> {
        while !bytes.is_empty() {
            self.session.read_tls(&mut bytes)?;
            let understood = self.session.process_new_packets();
            loop {
                match self.session.reader().read(&mut into[*filled..]) {
                    Ok(0) => return Err(self.closed()),
                    Ok(count) => *filled += count,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
            if let Err(why) = understood {
                let _ = self.flush();
                return Err(io::Error::new(io::ErrorKind::InvalidData, secure::in_words(&why)));
            }
        }
        Ok(())
    }

    /// The other end has closed. In the handshake, whose last word a client of TLS 1.3 does not
    /// wait for, that is no goodbye.
    fn closed(&self) -> io::Error {
        match self.session.is_handshaking() {
            true => io::Error::new(io::ErrorKind::ConnectionAborted, secure::NO_ANSWER),
            false => io::ErrorKind::UnexpectedEof.into(),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.behind && !self.flush()? {
            return Ok(0);
        }
        let count = self.session.writer().write(bytes)?;
        self.flush()?;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.behind = true;
        while self.session.wants_write() {
            match self.session.write_tls(&mut &self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.behind = false;
        Ok(true)
    }
}
