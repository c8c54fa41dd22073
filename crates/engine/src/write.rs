//! When replies are sent (Beacon §5.3).
//!
//! 1. [`batched`]: at most once a visit, all replies together.

use std::io;

use aldis_control::Time;
use aldis_control::session::Close;

use crate::conn::Conn;
use crate::limits::OUTBOX_MAX;
use crate::net::Net;

pub(crate) mod batched;

/// A write design: the only code that writes to sockets.
pub(crate) trait Write {
    /// A visit ends, and these are its replies.
    fn flush<N: Net>(
        net: &mut N,
        conn: &mut Conn<N::Socket>,
        now: Time,
        fresh: &[u8],
    ) -> Result<(), Close>;

    /// The socket has room again.
    fn writable<N: Net>(net: &mut N, conn: &mut Conn<N::Socket>, now: Time) -> Result<(), Close>;
}

/// Writes what the socket takes; 0 when it takes nothing now.
#[inline]
fn write_some<N: Net>(net: &mut N, socket: &N::Socket, bytes: &[u8]) -> Result<usize, Close> {
    match net.write(socket, bytes) {
        Ok(count) => Ok(count),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        Err(error) => Err(Close::Failed(error.to_string())),
    }
}

fn keep<S>(conn: &mut Conn<S>, now: Time, bytes: &[u8]) -> Result<(), Close> {
    conn.outbox.push(now, bytes, OUTBOX_MAX).map_err(|_| Close::NotReading)
}
