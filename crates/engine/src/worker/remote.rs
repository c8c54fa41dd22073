//! Remote writes: what applications send to switches other than those of the batch. They are sent
//! at the end of a batch, together for each switch.
//!
//! A path is all or nothing. Room is reserved at every switch of it first. Where one has none, or
//! is not connected, the whole path is dropped and counted. A reservation is never refused
//! afterwards, so a switch that does not read costs no other switch anything, and half a path is
//! never installed.

use std::collections::HashMap;
use std::sync::Arc;

use aldis_control::output::Piece;
use aldis_wire::DatapathId;

use super::write::must_queue;
use super::{Worker, queue};
use crate::conn::Conn;
use crate::net::Net;
use crate::read::Read;

/// One write for each switch that a batch has something to send to.
#[derive(Debug)]
pub(super) struct RemoteWrites<S> {
    /// Where the write of a switch stands.
    places: HashMap<DatapathId, usize>,
    writes: Vec<RemoteWrite<S>>,
    /// Buffers of writes that are done.
    spare: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct RemoteWrite<S> {
    /// The switch's connection, where it has one.
    conn: Option<Arc<Conn<S>>>,
    bytes: Vec<u8>,
}

impl<S> RemoteWrites<S> {
    pub(super) fn new() -> Self {
        RemoteWrites { places: HashMap::new(), writes: Vec::new(), spare: Vec::new() }
    }

    /// Adds pieces that belong together to the writes of their switches: all of them, or none.
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

impl<N: Net, R: Read<N::Socket>> Worker<N, R> {
    /// Sends what was written to other switches. A connection that cannot take it is signalled to
    /// end.
    #[cold]
    pub(super) fn write_remote(&mut self) {
        let Worker { output, remote, shared, stats, net, write, read, undelivered, tap, .. } = self;
        let now = self.now;
        let (bytes, pieces) = output.commands().pieces();
        let find = |switch| shared.switches.find(switch);
        let mut unsent = 0;
        for group in pieces.chunk_by(|one, next| one.path.is_some() && one.path == next.path) {
            if !remote.put(bytes, group, &find) {
                unsent += group.len();
            }
        }
        output.commands().clear();
        stats.unsent.add(unsent as u64);
        remote.places.clear();
        for RemoteWrite { conn, mut bytes } in remote.writes.drain(..) {
            if let Some(conn) = conn.filter(|_| !bytes.is_empty()) {
                stats.writes.add(1);
                stats.bytes_out.add(bytes.len() as u64);
                tap.wrote(now, conn.id, &bytes);
                let flushed = write.flush(net, &conn, now, &bytes, None);
                conn.outgoing.redeem(bytes.len());
                if must_queue(&conn, flushed) {
                    queue(read, shared, undelivered, now, conn);
                }
            }
            bytes.clear();
            remote.spare.push(bytes);
        }
    }
}
