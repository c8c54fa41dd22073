//! What the server sees of the controller that it serves.

use aldis_control::Time;
use aldis_control::stats::Snapshot;
use aldis_control::switch::Seen;
use aldis_wire::DatapathId;

/// A controller, as those see it who watch from outside. Everything is answered at once, from what is published anyway:
/// no worker ever waits for whoever asks here.
pub trait Controller: Send + Sync + 'static {
    /// The time of its clock.
    fn now(&self) -> Time;

    /// The switches that are up, by datapath id.
    fn switches(&self) -> Vec<Seen>;

    /// A switch, if it is up.
    fn switch(&self, dpid: DatapathId) -> Option<Seen>;

    /// Everything that is counted.
    fn counters(&self) -> Snapshot;
}
