//! What is spoken over with a guest: a socket, or TLS over one.
//!
//! Promises of a socket that is not waited for are kept with TLS too:
//!
//! - *What was written is on its way*: of a record that the kernel did not take whole, the last
//!   byte counts as not written, and is the first of the next write. So a guest that does not read
//!   is noticed.
//! - What is written before the handshake is done is kept by the session, which sends it then.
//! - *What came before the end is read before it*: the end is told by the next read, which the
//!   socket announces because its reading half is shut.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustls::ClientConnection;

use crate::limits::READ_MAX;
use crate::tls::{self, GuestTls};

/// Bytes that one read takes of the kernel, where they are encrypted.
const SEALED_MAX: usize = 16 << 10;

/// The most that one record takes, of which the session may hold the beginning: 16 KiB of content,
/// 2 KiB that encryption may add, and five bytes in front (RFC 8446 §5.2, RFC 5246 §6.2.3).
const RECORD_MAX: usize = 18 * 1024 + 5;

// So that nothing that was decrypted stays behind: the kernel would not announce it.
const _: () = assert!(SEALED_MAX + RECORD_MAX <= READ_MAX);

/// Bytes that are encrypted at a time.
const WRITE_MAX: usize = 16 << 10;

/// A connection to a guest.
pub(crate) enum GuestWire {
    Plain(Arc<TcpStream>),
    Tls(Box<TlsWire>),
}

/// One over TLS.
pub(crate) struct TlsWire {
    socket: TcpStream,
    session: ClientConnection,
    /// The last byte of the write before is still to be counted.
    owed: bool,
    /// The end, behind bytes that were handed on first; nothing of it where the guest closed.
    ended: Option<io::Result<()>>,
}

impl GuestWire {
    /// Over a socket that connects still.
    ///
    /// # Errors
    /// TLS cannot begin: there is no randomness.
    pub(crate) fn new(socket: TcpStream, tls: Option<&GuestTls>) -> io::Result<GuestWire> {
        let Some(tls) = tls else { return Ok(GuestWire::Plain(Arc::new(socket))) };
        let session = tls.begin().map_err(io::Error::other)?;
        Ok(GuestWire::Tls(Box::new(TlsWire { socket, session, owed: false, ended: None })))
    }

    pub(crate) fn socket(&self) -> &TcpStream {
        match self {
            GuestWire::Plain(socket) => socket,
            GuestWire::Tls(wire) => &wire.socket,
        }
    }

    /// What workers may write to as well; nothing where it is encrypted.
    pub(crate) fn plain(&self) -> Option<Arc<TcpStream>> {
        match self {
            GuestWire::Plain(socket) => Some(Arc::clone(socket)),
            GuestWire::Tls(_) => None,
        }
    }

    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, GuestWire::Plain(_))
    }

    /// Whether TLS has something to say that the kernel did not take.
    pub(crate) fn is_behind(&self) -> bool {
        matches!(self, GuestWire::Tls(wire) if wire.session.wants_write())
    }

    /// Sends what TLS has to say of itself.
    ///
    /// # Errors
    /// The connection is over.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match self {
            GuestWire::Plain(_) => Ok(()),
            GuestWire::Tls(wire) => wire.flush().map(drop),
        }
    }

    /// Reads into all of a room, with TLS one of [`READ_MAX`] bytes: how many came, or 0 where the
    /// guest closed.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] where nothing came; otherwise the connection is over.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            GuestWire::Plain(socket) => (&**socket).read(into),
            GuestWire::Tls(wire) => wire.read(into),
        }
    }

    /// Writes: how many bytes are on their way.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] where none can be now; otherwise the connection is over.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            GuestWire::Plain(socket) => (&**socket).write(bytes),
            GuestWire::Tls(wire) => wire.write(bytes),
        }
    }

    /// Says that nothing more will be written.
    pub(crate) fn finish(&mut self) {
        if let GuestWire::Tls(wire) = self {
            wire.session.send_close_notify();
            // One that is gone needs no goodbye.
            let _ = wire.flush();
        }
    }
}

impl AsFd for GuestWire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }
}

impl TlsWire {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Some(ended) = self.ended.take() {
            return ended.map(|()| 0);
        }
        let mut sealed = [0; SEALED_MAX];
        let count = self.socket.read(&mut sealed)?;
        if count == 0 && self.session.is_handshaking() {
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, tls::CLOSED_EARLY));
        }
        let mut filled = 0;
        let outcome = match count {
            0 => Ok(true),
            _ => self.understand(&sealed[..count], into, &mut filled),
        };
        // The handshake goes on, and a guest that is not believed is told why.
        let flushed = self.flush();
        let ended = match outcome {
            Ok(false) => flushed.err().map(Err),
            Ok(true) => Some(Ok(())),
            Err(why) => Some(Err(why)),
        };
        match ended {
            Some(ended) if filled == 0 => return ended.map(|()| 0),
            Some(ended) => {
                self.ended = Some(ended);
                // Then the kernel announces the end.
                let _ = self.socket.shutdown(Shutdown::Read);
            }
            None if filled == 0 => return Err(io::ErrorKind::WouldBlock.into()),
            None => {}
        }
        Ok(filled)
    }

    /// Decrypts what came; whether the guest said that it ends.
    fn understand(
        &mut self,
        mut bytes: &[u8],
        into: &mut [u8],
        filled: &mut usize,
    ) -> io::Result<bool> {
        while !bytes.is_empty() {
            self.session.read_tls(&mut bytes)?;
            let understood = self.session.process_new_packets();
            loop {
                match self.session.reader().read(&mut into[*filled..]) {
                    Ok(0) => return Ok(true),
                    Ok(count) => *filled += count,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
            understood
                .map_err(|why| io::Error::new(io::ErrorKind::InvalidData, tls::in_words(&why)))?;
        }
        Ok(false)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.session.is_handshaking() {
            return match self.session.writer().write(bytes)? {
                0 => Err(io::ErrorKind::WouldBlock.into()),
                count => Ok(count),
            };
        }
        if !self.flush()? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut written = usize::from(std::mem::take(&mut self.owed)).min(bytes.len());
        while written < bytes.len() {
            let most = bytes.len().min(written + WRITE_MAX);
            written += self.session.writer().write(&bytes[written..most])?;
            if !self.flush()? {
                self.owed = true;
                return match written - 1 {
                    0 => Err(io::ErrorKind::WouldBlock.into()),
                    count => Ok(count),
                };
            }
        }
        Ok(written)
    }

    /// Sends what the session has to say; whether the kernel took all of it.
    fn flush(&mut self) -> io::Result<bool> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut &self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
