//! As recorded: which connection is served, and when, stands in a recording.
//!
//! It schedules nothing. It remembers which connections wanted to be served, for a replay: some
//! could not be served when their visit came, since another worker was not done with them.

use std::mem;
use std::sync::Arc;

use aldis_control::Time;

use super::{Read, Visit};
use crate::conn::Conn;

/// The connections that want to be served.
#[derive(Debug)]
pub(crate) struct AsRecorded<S> {
    queued: Vec<Arc<Conn<S>>>,
}

impl<S> AsRecorded<S> {
    pub(crate) fn new() -> Self {
        AsRecorded { queued: Vec::new() }
    }

    /// Those that were queued since this was last asked.
    pub(crate) fn take(&mut self) -> Vec<Arc<Conn<S>>> {
        mem::take(&mut self.queued)
    }
}

impl<S> Read<S> for AsRecorded<S> {
    fn join(&mut self, _: &Arc<Conn<S>>) {}

    fn leave(&mut self, _: &Arc<Conn<S>>) {}

    fn queue(&mut self, conn: Arc<Conn<S>>) -> Result<(), Arc<Conn<S>>> {
        self.queued.push(conn);
        Ok(())
    }

    fn next(&mut self, _: Time) -> Option<Visit<S>> {
        None
    }

    fn done(&mut self, conn: &Arc<Conn<S>>, _: u32, queued: bool) {
        if queued {
            self.queued.push(Arc::clone(conn));
        }
    }
}
