//! One end of an OpenFlow connection as a script: a test says what it sends and what has to come,
//! and every wait has an end.
//!
//! Usually the peer is a switch: [`Peer::connect`], then bytes of its own, or [`Peer::play`], which
//! behaves as an emulated switch does until a message of interest comes. Over an accepted socket
//! ([`Peer::over`]) it is a controller.

use crate::replies::Replies;
use aldis_wire::header::{Header, kind};
use aldis_wire::{Chop, Malformed, Version};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Most bytes of one read.
const READ_MAX: usize = 64 * 1024;

/// A scripted end of a connection.
pub struct Peer {
    socket: TcpStream,
    patience: Duration,
    received: Vec<u8>,
}

/// Why the script could not go on.
#[derive(Debug)]
pub enum Unexpected {
    /// Nothing that was waited for came in time.
    Silence {
        /// How long was waited.
        after: Duration,
    },
    /// The other end closed the connection.
    Closed,
    /// A message came where none should.
    Noise {
        /// The type of the message.
        kind: u8,
    },
    /// What came is no OpenFlow message.
    Malformed(Malformed),
    /// The connection broke otherwise.
    Io(io::Error),
}

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unexpected::Silence { after } => write!(f, "nothing came for {} ms", after.as_millis()),
            Unexpected::Closed => f.write_str("the other end closed the connection"),
            Unexpected::Noise { kind } => {
                write!(f, "a message of type {kind} came where none should")
            }
            Unexpected::Malformed(malformed) => write!(f, "what came is no message: {malformed}"),
            Unexpected::Io(error) => write!(f, "the connection broke: {error}"),
        }
    }
}

impl std::error::Error for Unexpected {}

impl Peer {
    /// Connects to a controller. Every wait, this one included, lasts `patience` at most.
    ///
    /// # Errors
    /// [`Unexpected::Io`]: nothing listens there.
    pub fn connect(controller: SocketAddr, patience: Duration) -> Result<Peer, Unexpected> {
        let socket = TcpStream::connect_timeout(&controller, patience).map_err(Unexpected::Io)?;
        Peer::over(socket, patience)
    }

    /// Takes over a connection that stands.
    ///
    /// # Errors
    /// [`Unexpected::Io`]: it does not stand.
    pub fn over(socket: TcpStream, patience: Duration) -> Result<Peer, Unexpected> {
        socket.set_nonblocking(false).map_err(Unexpected::Io)?;
        socket.set_nodelay(true).map_err(Unexpected::Io)?;
        socket.set_write_timeout(Some(patience)).map_err(Unexpected::Io)?;
        Ok(Peer { socket, patience, received: Vec::new() })
    }

    /// The socket itself, for tests that shut one half or look at addresses.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// [`Unexpected::Io`]: the other end is gone, or does not read.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), Unexpected> {
        self.socket.write_all(bytes).map_err(Unexpected::Io)
    }

    /// The next whole message, whatever it is.
    ///
    /// # Errors
    /// See [`Unexpected`].
    pub fn receive(&mut self) -> Result<Vec<u8>, Unexpected> {
        self.receive_until(Instant::now() + self.patience)
    }

    /// The next message of type `kind`; others before it are passed over. One patience for all of
    /// them together.
    ///
    /// # Errors
    /// See [`Unexpected`].
    pub fn expect(&mut self, kind: u8) -> Result<Vec<u8>, Unexpected> {
        let deadline = Instant::now() + self.patience;
        loop {
            let message = self.receive_until(deadline)?;
            if message[1] == kind {
                return Ok(message);
            }
        }
    }

    /// Behaves as an emulated switch until a message of type `kind` has come and been answered:
    /// answers whatever the controller asks, passes over the rest. Its HELLO is the script's to
    /// send ([`hello`]).
    ///
    /// # Errors
    /// See [`Unexpected`].
    pub fn play(&mut self, part: PeerPart, kind: u8) -> Result<Vec<u8>, Unexpected> {
        let PeerPart { version, number, ports } = part;
        let replies = Replies { version, number, ports, buffered: true };
        let deadline = Instant::now() + self.patience;
        let mut answers = Vec::new();
        loop {
            let message = self.receive_until(deadline)?;
            for raw in Chop::new(&message).flatten() {
                replies.answer(&raw, &mut answers).map_err(Unexpected::Malformed)?;
            }
            self.send(&answers)?;
            answers.clear();
            if message[1] == kind {
                return Ok(message);
            }
        }
    }

    /// Waits for the other end to close the connection, or to reset it; messages before that are
    /// passed over.
    ///
    /// # Errors
    /// [`Unexpected::Silence`] when it stays open.
    pub fn expect_close(&mut self) -> Result<(), Unexpected> {
        let deadline = Instant::now() + self.patience;
        loop {
            match self.receive_until(deadline) {
                Ok(_) => {}
                Err(Unexpected::Closed) => return Ok(()),
                Err(Unexpected::Io(error)) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return Ok(());
                }
                Err(unexpected) => return Err(unexpected),
            }
        }
    }

    /// Waits until nothing has come for `quiet`.
    ///
    /// # Errors
    /// [`Unexpected::Noise`] names the message that came instead; otherwise see [`Unexpected`].
    pub fn expect_silence(&mut self, quiet: Duration) -> Result<(), Unexpected> {
        match self.receive_until(Instant::now() + quiet) {
            Ok(message) => Err(Unexpected::Noise { kind: message[1] }),
            Err(Unexpected::Silence { .. }) => Ok(()),
            Err(unexpected) => Err(unexpected),
        }
    }

    fn receive_until(&mut self, deadline: Instant) -> Result<Vec<u8>, Unexpected> {
        loop {
            if let Some(message) = Chop::new(&self.received).next() {
                let message = message.map_err(Unexpected::Malformed)?.bytes.to_vec();
                self.received.drain(..message.len());
                return Ok(message);
            }
            self.read(deadline)?;
        }
    }

    fn read(&mut self, deadline: Instant) -> Result<(), Unexpected> {
        let silence = Unexpected::Silence { after: self.patience };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(silence);
        }
        self.socket.set_read_timeout(Some(left)).map_err(Unexpected::Io)?;
        let start = self.received.len();
        self.received.resize(start + READ_MAX, 0);
        let read = self.socket.read(&mut self.received[start..]);
        self.received.truncate(start + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(Unexpected::Closed),
            Ok(_) => Ok(()),
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted => Ok(()),
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Err(silence),
                _ => Err(Unexpected::Io(error)),
            },
        }
    }
}

/// The switch that a [`Peer`] plays.
#[derive(Clone, Copy, Debug)]
pub struct PeerPart {
    /// The version it speaks.
    pub version: Version,
    /// Its number, which is its datapath id.
    pub number: u32,
    /// Its ports, 1 to [`crate::load::PORTS_MAX`].
    pub ports: u32,
}

/// A message without a body.
pub fn bare(version: Version, kind: u8, xid: u32) -> [u8; 8] {
    Header { version: version.wire(), kind, length: 8, xid }.to_bytes()
}

/// The HELLO of a version.
pub fn hello(version: Version) -> [u8; 8] {
    bare(version, kind::HELLO, 1)
}
