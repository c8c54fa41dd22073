//! Who reads which switch (Maestro §3.2). Each design is one file, and each makes the worker's calls in its own order:
//!
//! 1. [`static_partition`]: every worker its own switches, from read to write.

use crate::net::Net;
use crate::worker::Worker;
use crate::write::Write;

pub(crate) mod static_partition;

/// A read design.
pub(crate) trait Read: Sized {
    /// Serves the connections that are ready, once.
    fn round<N: Net, W: Write>(worker: &mut Worker<N, W>);
}
