//! Static partition: a switch belongs to one worker for as long as it is connected (Maestro §3.2, Beacon §5.2
//! "run-to-completion").
//!
//! The acceptor deals switches to workers in turn. A worker takes each of its ready switches once a round, reads up to
//! 64 KB, runs the applications over what came, and writes the replies before it turns to the next. No lock is on the
//! way, and nothing moves: a worker whose switches are busy is behind while another one rests.

use super::Read;
use crate::net::Net;
use crate::worker::Worker;
use crate::write::Write;

/// The design.
#[derive(Debug)]
pub(crate) struct StaticPartition;

impl Read for StaticPartition {
    #[inline]
    fn round<N: Net, W: Write>(worker: &mut Worker<N, W>) {
        for _ in 0..worker.ready() {
            let Some(token) = worker.next_ready() else { return };
            worker.visit(token);
        }
    }
}
