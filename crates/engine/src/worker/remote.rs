//! What applications say to switches that are not in hand: sent at the end of a batch, together for
//! each switch.
//!
//! A path is all or nothing: room is reserved at every switch of it first, and where one has none,
//! or is not there, all of it is dropped, and counted. What is reserved is never refused
//! afterwards, so a switch that does not read costs nobody else anything, and half a path is never
//! installed.

use std::collections::HashMap;
use std::sync::Arc;

use aldis_control::output::Piece;
use aldis_wire::DatapathId;

use super::phases::{Phases, must_queue};
use crate::conn::Conn;
use crate::net::Net;
use crate::write::Write;

/// The switches that a batch has something to say to, and what.
#[derive(Debug)]
pub(super) struct RemoteWrites<S> {
    places: HashMap<DatapathId, usize>,
    writes: Vec<RemoteWrite<S>>,
    /// Buffers of writes that were sent.
    spare: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct RemoteWrite<S> {
    /// Its switch, where that is connected.
    conn: Option<Arc<Conn<S>>>,
    bytes: Vec<u8>,
}

impl<S> RemoteWrites<S> {
    pub(super) fn new() -> Self {
        RemoteWrites { places: HashMap::new(), writes: Vec::new(), spare: Vec::new() }
    }

    /// Puts pieces that belong together in the writes of their switches: all of them, or none.
    fn put(
        &mut self,
        bytes: &[u8],
        pieces: &[Piece],
        find: &impl Fn(DatapathId) -> Option<Arc<Conn<S>>>,
    ) -> bool {
        for (count, piece) in pieces.iter().enumerate() {
            let write = self.write(piece.to, find);
            let reserved = write
                .conn
                .as_ref()
                .is_some_and(|conn| !conn.is_gone() && conn.outgoing.reserve(piece.bytes.len()));
            if !reserved {
                for piece in &pieces[..count] {
                    let conn = &self.write(piece.to, find).conn;
                    conn.iter().for_each(|conn| conn.outgoing.redeem(piece.bytes.len()));
                }
                return false;
            }
        }
        for piece in pieces {
            self.write(piece.to, find).bytes.extend_from_slice(&bytes[piece.bytes.clone()]);
        }
        true
    }

    fn write(
        &mut self,
        to: DatapathId,
        find: &impl Fn(DatapathId) -> Option<Arc<Conn<S>>>,
    ) -> &mut RemoteWrite<S> {
        let place = *self.places.entry(to).or_insert_with(|| {
            let bytes = self.spare.pop().unwrap_or_default();
            self.writes.push(RemoteWrite { conn: find(to), bytes });
            self.writes.len() - 1
        });
        &mut self.writes[place]
    }
}

impl<N: Net, W: Write> Phases<N, W> {
    /// Sends what was written to any switches. Those that cannot take it are told to end, and those
    /// that have to be queued are given to `queue`.
    #[cold]
    pub(super) fn send_far(&mut self, net: &mut N, mut queue: impl FnMut(Arc<Conn<N::Socket>>)) {
        let (bytes, pieces) = self.output.far().pieces();
        let find = |switch| self.switches.find(switch);
        let mut unsent = 0;
        for group in pieces.chunk_by(|one, next| one.path.is_some() && one.path == next.path) {
            if !self.mail.put(bytes, group, &find) {
                unsent += group.len();
            }
        }
        self.output.far().clear();
        self.stats.unsent.add(unsent as u64);
        self.mail.places.clear();
        for RemoteWrite { conn, mut bytes } in self.mail.writes.drain(..) {
            if let Some(conn) = conn.filter(|_| !bytes.is_empty()) {
                self.stats.writes.add(1);
                self.stats.bytes_out.add(bytes.len() as u64);
                let flushed = W::flush(net, &conn, self.now, &bytes, None);
                conn.outgoing.redeem(bytes.len());
                if must_queue(&conn, flushed) {
                    queue(conn);
                }
            }
            bytes.clear();
            self.mail.spare.push(bytes);
        }
    }
}
