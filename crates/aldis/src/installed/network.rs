//! What installed applications read of the whole network: the lists of REST, made of what the
//! engine publishes. A worker waits for them, so nothing here waits for anything.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use aldis_engine::Handle;
use aldis_http::snapshots::SnapshotWriter;
use aldis_sandbox::NetworkSnapshots;
use aldis_sandbox::limits::SNAPSHOT_BYTES_MAX;
use aldis_wire::DatapathId;

use crate::admin::Admin;

/// The network of this controller.
pub(super) struct PublishedNetwork {
    engine: Handle,
    admin: Arc<Admin>,
    writer: SnapshotWriter,
    /// The names of the switches when they were last to be had. The lock is held to copy a pointer.
    names: Mutex<Arc<BTreeMap<DatapathId, String>>>,
}

impl PublishedNetwork {
    pub(super) fn new(engine: Handle, admin: Arc<Admin>) -> PublishedNetwork {
        let writer = SnapshotWriter::new(engine.now(), SNAPSHOT_BYTES_MAX);
        PublishedNetwork { engine, admin, writer, names: Mutex::default() }
    }

    /// The names of the switches; those of before while another is written to disk.
    fn names(&self) -> Arc<BTreeMap<DatapathId, String>> {
        let now = self.admin.names_at_once().map(Arc::new);
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        now.into_iter().for_each(|now| *names = now);
        Arc::clone(&names)
    }
}

impl NetworkSnapshots for PublishedNetwork {
    fn snapshot(&self, name: &str) -> Result<Vec<u8>, String> {
        match name {
            "switches" => self.writer.switches(&self.engine.switches(), &self.names()),
            "ports" => self.writer.ports(&self.engine.switches()),
            "hosts" => self.writer.hosts(&self.engine.world()),
            "port-statistics" => self.writer.port_statistics(&self.engine.world()),
            "links" => self.writer.links(&self.engine.world()),
            _ => Err(format!("this controller publishes no {name}")),
        }
    }
}
