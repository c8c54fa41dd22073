//! Batched writes: Beacon's algorithms 2 and 3.
//!
//! A switch's messages are gathered while it is visited and written once, when the visit ends
//! (`written`). What the socket does not take waits in the outbox until there is room
//! (`needSelect`); until then nothing else is written.

use std::sync::Arc;

use aldis_control::Time;
use aldis_control::session::Close;

use super::{BatchTimes, write_or_keep};
use crate::conn::Conn;
use crate::net::Net;

#[inline]
pub(super) fn flush<N: Net>(
    net: &mut N,
    conn: &Arc<Conn<N::Socket>>,
    now: Time,
    fresh: &[u8],
    mut ran: Option<&mut BatchTimes>,
) -> Result<(), Close> {
    conn.outgoing.send(fresh, |outbox, bytes| {
        write_or_keep(net, conn, outbox, now, bytes)?;
        if let Some(ran) = ran.take() {
            ran.wrote(conn.spreads(), net.now());
        }
        Ok(())
    })
}
