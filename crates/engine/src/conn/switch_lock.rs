//! The switch lock: at most one batch at a time runs an exclusive application on a switch.
//!
//! Several workers may serve one switch. Its connection is released as soon as it is chopped, and
//! it may have auxiliary connections. An exclusive application gets its slot on the switch by
//! `&mut`, so a batch holds the switch lock from its reading until its replies are out. A worker
//! that finds the lock taken registers the connection as waiting and serves another one. The worker
//! that unlocks signals the waiting connections. No worker blocks. Modelled with loom.

use crate::conn::ConnId;
use crate::sync::{Lock, Primitives, Std};

/// The lock of one switch.
#[derive(Debug)]
pub(crate) struct SwitchLock<P: Primitives = Std>(P::Lock<Held>);

#[derive(Debug, Default)]
struct Held {
    is_held: bool,
    /// Connections whose claimants found it held.
    waiting: Vec<ConnId>,
}

impl<P: Primitives> Default for SwitchLock<P> {
    fn default() -> Self {
        SwitchLock(Held::default().into())
    }
}

impl<P: Primitives> SwitchLock<P> {
    /// Takes the lock, if it is free.
    #[must_use]
    pub(crate) fn try_lock(&self) -> bool {
        !std::mem::replace(&mut self.0.take().is_held, true)
    }

    /// Takes the lock; where it is held, the connection waits for it.
    #[must_use]
    pub(crate) fn try_lock_or_wait(&self, conn: ConnId) -> bool {
        let mut held = self.0.take();
        if held.is_held && !held.waiting.contains(&conn) {
            held.waiting.push(conn);
        }
        !std::mem::replace(&mut held.is_held, true)
    }

    /// Unlocks. The caller signals the connections that are returned.
    #[must_use]
    pub(crate) fn unlock(&self) -> Vec<ConnId> {
        let mut held = self.0.take();
        debug_assert!(held.is_held, "only the holder unlocks");
        held.is_held = false;
        std::mem::take(&mut held.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conn::claim::{Claim, Events};
    use crate::sync::Atomic;
    use crate::sync::models::Loom;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32 as Watched;

    #[test]
    fn a_waiting_connection_is_signalled_once() {
        let lock = SwitchLock::<Std>::default();
        assert!(lock.try_lock_or_wait(ConnId(1)));
        assert!(
            !lock.try_lock_or_wait(ConnId(2))
                && !lock.try_lock_or_wait(ConnId(2))
                && !lock.try_lock()
        );
        assert_eq!(lock.unlock(), [ConnId(2)]);
        assert!(lock.try_lock());
        assert!(lock.unlock().is_empty());
    }

    /// A switch with three connections, which worker after worker visits: how the lock and the
    /// claims go together.
    #[derive(Default)]
    struct Shared {
        lock: SwitchLock<Loom>,
        claims: [Claim<Watched>; 3],
        inside: Watched,
        visits: [Watched; 3],
    }

    impl Shared {
        /// Something came for a connection, and it is served until nothing more did.
        fn serve(&self, conn: usize) {
            let mut queued = Vec::new();
            queued.extend(self.claims[conn].announce(Events::READABLE).then_some(conn));
            while let Some(conn) = queued.pop() {
                self.claims[conn].claim().expect("it was queued here, and nowhere else");
                let taken = self.lock.try_lock_or_wait(ConnId(conn as u64));
                if taken {
                    assert_eq!(self.inside.add(1), 0, "an exclusive application is not alone");
                    self.visits[conn].add(1);
                }
                let again = self.claims[conn].release(false);
                queued.extend(again.then_some(conn));
                if taken {
                    self.inside.add(u32::MAX);
                    let called = self.lock.unlock().into_iter().map(|ConnId(id)| id as usize);
                    queued.extend(called.filter(|&it| self.claims[it].announce(Events::SIGNALLED)));
                }
            }
        }
    }

    /// One batch of a switch runs at a time, and no waiting connection is forgotten.
    #[test]
    fn a_connection_that_waits_gets_the_lock() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let shared = Arc::new(Shared::default());
            let others = [1, 2].map(|conn| {
                let shared = Arc::clone(&shared);
                loom::thread::spawn(move || shared.serve(conn))
            });
            shared.serve(0);
            others.into_iter().for_each(|other| other.join().unwrap());
            assert!(shared.visits.iter().all(|visits| Atomic::load(visits) > 0), "forgotten");
        });
    }
}
