//! Immediate writes: Beacon's algorithm 1, which it gave up for batching.
//!
//! A switch's messages are written one by one, a system call for each. What the socket does not
//! take waits in the outbox, and with it all that comes behind.

use std::sync::Arc;

use aldis_control::Time;
use aldis_control::session::Close;
use aldis_wire::Chop;

use super::{BatchTimes, batched, write_or_keep};
use crate::conn::Conn;
use crate::net::Net;

pub(super) fn flush<N: Net>(
    net: &mut N,
    conn: &Arc<Conn<N::Socket>>,
    now: Time,
    fresh: &[u8],
    ran: Option<&mut BatchTimes>,
) -> Result<(), Close> {
    // What is written here was encoded here: it can be chopped.
    let mut messages = Chop::new(fresh).map_while(Result::ok);
    messages.try_for_each(|message| {
        conn.outgoing
            .send(message.bytes, |outbox, bytes| write_or_keep(net, conn, outbox, now, bytes))
    })?;
    // The holder of the right to write counts them, which may be another worker now.
    if ran.is_some() { batched::flush(net, conn, now, &[], ran) } else { Ok(()) }
}
