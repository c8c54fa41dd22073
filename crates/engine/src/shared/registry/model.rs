//! Every interleaving of a switch's old connection, which answers when it is asked and then ends,
//! and of two that come.

use loom::sync::atomic::AtomicU32 as Watched;
use loom::sync::{Arc, Mutex};

use super::*;
use crate::sync::Atomic;
use crate::sync::models::Loom;

const DPID: DatapathId = DatapathId(7);
const OLD: ConnId = ConnId(0);

/// The registry, and what was left with each connection.
#[derive(Default)]
struct Shared {
    registry: Registry<Loom>,
    signals: [Mutex<Vec<Signal>>; 3],
    has_ended: Watched,
}

impl Shared {
    fn tell(&self, signals: impl IntoIterator<Item = (ConnId, Signal)>) {
        for (ConnId(id), call) in signals {
            if matches!(call, Signal::AdmitMain) && ConnId(id) != OLD {
                assert_eq!(Atomic::load(&self.has_ended), 1, "two speak for one switch");
                assert_eq!(self.registry.evictions(DPID), 1, "why it ended was forgotten");
            }
            self.signals[id as usize].lock().unwrap().push(call);
        }
    }

    fn take_signals(&self, ConnId(id): ConnId) -> Vec<Signal> {
        std::mem::take(&mut self.signals[id as usize].lock().unwrap())
    }

    /// A connection says which switch it is.
    fn arrive(&self, conn: ConnId) {
        self.tell(self.registry.identified(DPID, 0, conn, false));
    }

    /// A visit to a connection: it answers, if it is asked. What else it was told is returned.
    fn visit(&self, conn: ConnId) -> Vec<Signal> {
        let mut signals = self.take_signals(conn);
        for _ in signals.extract_if(.., |call| matches!(call, Signal::Probe)) {
            self.tell(self.registry.answered(DPID, conn));
        }
        signals
    }

    fn end(&self, conn: ConnId) {
        self.registry.evicted(DPID);
        Atomic::store(&self.has_ended, 1);
        self.tell(self.registry.gone(DPID, conn));
    }
}

/// Each connection is told once, that it is the switch or that it is not; and one at a time is.
#[test]
fn whoever_claims_a_switch_is_told_once_and_one_at_a_time_has_it() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Arc::new(Shared::default());
        shared.arrive(OLD);
        assert!(matches!(shared.visit(OLD)[..], [Signal::AdmitMain]));
        let others = [1, 2].map(|id| {
            let shared = Arc::clone(&shared);
            loom::thread::spawn(move || shared.arrive(ConnId(id)))
        });
        shared.visit(OLD);
        shared.end(OLD);
        others.into_iter().for_each(|other| other.join().unwrap());
        // Of two that came, the first may be asked for the second.
        let mut told = [vec![], vec![]];
        for id in [1, 2, 1, 2] {
            told[id - 1].extend(shared.visit(ConnId(id as u64)));
        }
        let is_told =
            |signals: &Vec<Signal>| matches!(signals[..], [Signal::AdmitMain | Signal::Refuse(_)]);
        assert!(told.iter().all(is_told), "not once: {told:?}");
        let admitted = told.iter().flatten().filter(|call| matches!(call, Signal::AdmitMain));
        assert!(admitted.count() <= 1, "two speak for one switch: {told:?}");
    });
}
