//! When replies are sent (Beacon §5.3).
//!
//! 1. [`batched`]: at most once a visit, all replies together;
//! 2. [`immediate`]: each message by itself.

use std::io;

use aldis_control::Time;
use aldis_control::session::Close;

use crate::conn::Conn;
use crate::net::Net;

pub(crate) mod batched;
pub(crate) mod immediate;

/// A write design: the only code that writes to sockets.
pub(crate) trait Write {
    /// A visit ends, and these are its replies.
    fn flush<N: Net>(
        net: &mut N,
        conn: &mut Conn<N::Socket>,
        now: Time,
        fresh: &[u8],
    ) -> Result<(), Close>;

    /// The socket has room again: what waits goes on.
    fn writable<N: Net>(net: &mut N, conn: &mut Conn<N::Socket>, now: Time) -> Result<(), Close> {
        conn.writable = false;
        let waiting = conn.outbox.waiting();
        let written = write_some(net, &conn.socket, waiting)?;
        conn.outbox.taken(now, written);
        Ok(())
    }
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

/// Writes as much of `fresh` as may go now; the rest waits.
#[inline]
fn write_or_keep<N: Net>(
    net: &mut N,
    conn: &mut Conn<N::Socket>,
    now: Time,
    fresh: &[u8],
) -> Result<(), Close> {
    let written = if conn.outbox.is_empty() { write_some(net, &conn.socket, fresh)? } else { 0 };
    if written < fresh.len() {
        conn.writable = false;
        conn.outbox.push(now, &fresh[written..]).map_err(|_| Close::NotReading)?;
    }
    Ok(())
}
