//! Writes once per I/O loop: Beacon's algorithms 2 and 3 to the letter.
//!
//! | Beacon | here |
//! | --- | --- |
//! | an I/O loop | what a worker does from one poll to the next |
//! | `buf` | [`PutOff::bytes`], for each switch |
//! | `written` | [`PutOff::written`]: something was written to the switch in this loop |
//! | `needSelect` | the outbox is not empty: the socket took less than it was given |
//! | lines 3 to 9 of algorithm 3 | [`Listed::begin_loop`], for the switches that a worker wrote to |
//! | lines 15 to 18 | [`drain`](super::drain): the socket has room again |
//!
//! The first message to a switch in a loop is written at once, by itself. What comes behind it in
//! the same loop is put off, and written together when the next loop begins. So an answer that is
//! alone waits for nothing, and many take two writes: for example, 500 answers of one visit are one
//! write of one message, and at the next loop one of 499.
//!
//! A switch is in the list of one worker at a time: of the one that wrote to it first. What other
//! workers have for it meanwhile is put off behind that, so that the order is kept.

use std::mem;
use std::sync::Arc;

use aldis_control::Time;
use aldis_control::outbox::{Outbox, PutOff};
use aldis_control::session::Close;
use aldis_wire::Chop;

use super::{BatchTimes, write_or_keep};
use crate::conn::Conn;
use crate::limits::PUT_OFF_MAX;
use crate::net::Net;

/// The switches that a worker looks after when its next loop begins.
#[derive(Debug)]
pub(crate) struct Listed<S>(Vec<Arc<Conn<S>>>);

impl<S> Default for Listed<S> {
    fn default() -> Self {
        Listed(Vec::new())
    }
}

impl<S> Listed<S> {
    pub(super) fn flush<N: Net<Socket = S>>(
        &mut self,
        net: &mut N,
        conn: &Arc<Conn<S>>,
        now: Time,
        fresh: &[u8],
        mut ran: Option<&mut BatchTimes>,
    ) -> Result<(), Close> {
        conn.outgoing.send(fresh, |outbox, bytes| {
            let flushed = write_first(net, conn, outbox, now, bytes);
            // Also where that failed: what is gone is passed over.
            if !mem::replace(&mut outbox.put_off().listed, true) {
                self.0.push(Arc::clone(conn));
            }
            if let Some(ran) = ran.take() {
                ran.wrote(conn.spreads(), net.now());
            }
            flushed
        })
    }

    pub(super) fn begin_loop<N: Net<Socket = S>>(
        &mut self,
        net: &mut N,
        now: Time,
        lost: &mut Vec<(Arc<Conn<S>>, Close)>,
    ) -> bool {
        self.0.retain(|conn| {
            if conn.is_gone() {
                return false;
            }
            // Where another worker is writing, it stays for the loop after this.
            let (mut begun, mut stays) = (false, true);
            let written = conn.outgoing.send(&[], |outbox, left| {
                let begins = !mem::replace(&mut begun, true);
                let mut written =
                    if begins { write_put_off(net, conn, outbox, now) } else { Ok(()) };
                // What other workers left.
                if written.is_ok() && !left.is_empty() {
                    outbox.put_off().listed = true;
                    written = write_first(net, conn, outbox, now, left);
                }
                stays = outbox.put_off().listed;
                written
            });
            if let Err(why) = written {
                lost.push((Arc::clone(conn), why));
            }
            stays
        });
        self.0.is_empty()
    }
}

/// A connection ends: what was put off is written, if it can be. Returns false where another worker
/// is writing to it.
pub(super) fn finish<N: Net>(net: &mut N, conn: &Conn<N::Socket>, now: Time) -> bool {
    let mut has_token = false;
    // Nothing more can be done for one that fails now.
    let _ = conn.outgoing.send(&[], |outbox, left| {
        has_token = true;
        write_put_off(net, conn, outbox, now)?;
        write_or_keep(net, conn, outbox, now, left)
    });
    has_token
}

/// Algorithm 2: where nothing was written to the switch in this loop and nothing waits for its
/// socket, writes what is put off; where nothing is, the first message. The rest is put off.
pub(super) fn write_first<N: Net>(
    net: &mut N,
    conn: &Conn<N::Socket>,
    outbox: &mut Outbox,
    now: Time,
    bytes: &[u8],
) -> Result<(), Close> {
    let mut rest = bytes;
    if outbox.is_empty() && !outbox.put_off().written {
        if outbox.has_put_off() {
            let put_off = outbox.put_off();
            put_off.written = true;
            let before = mem::take(&mut put_off.bytes);
            write_or_keep(net, conn, outbox, now, &before)?;
        } else if let Some(Ok(first)) = Chop::new(bytes).next() {
            // What is written here was encoded here: it can be chopped.
            outbox.put_off().written = true;
            rest = &bytes[first.bytes.len()..];
            write_or_keep(net, conn, outbox, now, first.bytes)?;
        }
    }
    put_off_or_write(net, conn, outbox, now, rest)
}

/// Puts these bytes off; where that would be more than [`PUT_OFF_MAX`], writes all that is put off
/// and these at once.
fn put_off_or_write<N: Net>(
    net: &mut N,
    conn: &Conn<N::Socket>,
    outbox: &mut Outbox,
    now: Time,
    bytes: &[u8],
) -> Result<(), Close> {
    let PutOff { bytes: before, .. } = outbox.put_off();
    if before.len() + bytes.len() <= PUT_OFF_MAX {
        before.extend_from_slice(bytes);
        return Ok(());
    }
    let before = mem::take(before);
    write_or_keep(net, conn, outbox, now, &before)?;
    write_or_keep(net, conn, outbox, now, bytes)
}

/// A loop begins: writes what was put off. The switch stays listed where there was something: it
/// counts as written to in this loop.
fn write_put_off<N: Net>(
    net: &mut N,
    conn: &Conn<N::Socket>,
    outbox: &mut Outbox,
    now: Time,
) -> Result<(), Close> {
    let put_off = outbox.put_off();
    let bytes = mem::take(&mut put_off.bytes);
    let wrote = !bytes.is_empty();
    (put_off.written, put_off.listed) = (wrote, wrote);
    write_or_keep(net, conn, outbox, now, &bytes)
}
