//! Every interleaving of a switch's old connection, which answers when it is asked and then ends, and of two that come.

use loom::sync::atomic::AtomicU32 as Watched;
use loom::sync::{Arc, Mutex};

use super::*;
use crate::machine::Word;
use crate::machine::watched::Loom;

const DPID: DatapathId = DatapathId(7);
const OLD: ConnId = ConnId(0);

/// The registry, and what was left with each connection.
#[derive(Default)]
struct Shared {
    registry: Registry<Loom>,
    calls: [Mutex<Vec<Call>>; 3],
    has_ended: Watched,
}

impl Shared {
    fn tell(&self, errands: impl IntoIterator<Item = Errand>) {
        for (ConnId(id), call) in errands {
            if matches!(call, Call::AdmitMain) && ConnId(id) != OLD {
                assert_eq!(Word::load(&self.has_ended), 1, "two speak for one switch");
                assert_eq!(self.registry.evictions(DPID), 1, "why it ended was forgotten");
            }
            self.calls[id as usize].lock().unwrap().push(call);
        }
    }

    fn take_calls(&self, ConnId(id): ConnId) -> Vec<Call> {
        std::mem::take(&mut self.calls[id as usize].lock().unwrap())
    }

    /// A connection says which switch it is.
    fn arrive(&self, conn: ConnId) {
        self.tell(self.registry.identified(DPID, 0, conn, false));
    }

    /// A visit to a connection: it answers, if it is asked. What else it was told is returned.
    fn visit(&self, conn: ConnId) -> Vec<Call> {
        let mut calls = self.take_calls(conn);
        for _ in calls.extract_if(.., |call| matches!(call, Call::Probe)) {
            self.tell(self.registry.answered(DPID, conn));
        }
        calls
    }

    fn end(&self, conn: ConnId) {
        self.registry.evicted(DPID);
        Word::store(&self.has_ended, 1);
        self.tell(self.registry.gone(DPID, conn));
    }
}

/// Whoever comes is told once, that it is the switch or that it is not; and one at a time is.
#[test]
fn whoever_claims_a_switch_is_told_once_and_one_at_a_time_has_it() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Arc::new(Shared::default());
        shared.arrive(OLD);
        assert!(matches!(shared.visit(OLD)[..], [Call::AdmitMain]));
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
        let is_told = |calls: &Vec<Call>| matches!(calls[..], [Call::AdmitMain | Call::Refuse(_)]);
        assert!(told.iter().all(is_told), "not once: {told:?}");
        let admitted = told.iter().flatten().filter(|call| matches!(call, Call::AdmitMain));
        assert!(admitted.count() <= 1, "two speak for one switch: {told:?}");
    });
}
