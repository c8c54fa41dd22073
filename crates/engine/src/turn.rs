//! Whose turn it is with a switch, where an application wants to be alone with it.
//!
//! Several workers may serve one switch: its connection is let go of as soon as it is chopped, and it may have auxiliary
//! connections. An exclusive application is given its slot on the switch to be changed; so a batch needs the switch's turn,
//! from its reading to its landing. Who finds it taken leaves word, does something else, and is announced. Modelled with loom.

use crate::conn::ConnId;
use crate::machine::{Lock, Machine, Real};

/// The turn of one switch.
#[derive(Debug)]
pub(crate) struct Turn<M: Machine = Real>(M::Lock<Taken>);

#[derive(Debug, Default)]
struct Taken {
    is_taken: bool,
    /// Those who asked in vain.
    waiting: Vec<ConnId>,
}

impl<M: Machine> Default for Turn<M> {
    fn default() -> Self {
        Turn(Taken::default().into())
    }
}

impl<M: Machine> Turn<M> {
    /// Takes the turn, if nobody has it.
    #[must_use]
    pub(crate) fn take(&self) -> bool {
        !std::mem::replace(&mut self.0.take().is_taken, true)
    }

    /// Takes the turn, or sees to it that the connection is called when it is free.
    #[must_use]
    pub(crate) fn take_or_wait(&self, conn: ConnId) -> bool {
        let mut taken = self.0.take();
        if taken.is_taken && !taken.waiting.contains(&conn) {
            taken.waiting.push(conn);
        }
        !std::mem::replace(&mut taken.is_taken, true)
    }

    /// Gives it back. These have to be called.
    #[must_use]
    pub(crate) fn give_back(&self) -> Vec<ConnId> {
        let mut taken = self.0.take();
        taken.is_taken = false;
        std::mem::take(&mut taken.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{Claim, Signs};
    use crate::machine::Word;
    use crate::machine::watched::Loom;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32 as Watched;

    #[test]
    fn who_asked_in_vain_is_called_once() {
        let turn = Turn::<Real>::default();
        assert!(turn.take_or_wait(ConnId(1)));
        assert!(!turn.take_or_wait(ConnId(2)) && !turn.take_or_wait(ConnId(2)) && !turn.take());
        assert_eq!(turn.give_back(), [ConnId(2)]);
        assert!(turn.take());
        assert!(turn.give_back().is_empty());
    }

    /// A switch with three connections, which worker after worker visits: how the turn and the claims go together.
    #[derive(Default)]
    struct Shared {
        turn: Turn<Loom>,
        claims: [Claim<Watched>; 3],
        inside: Watched,
        visits: [Watched; 3],
    }

    impl Shared {
        /// Something came for a connection, and it is served until nothing more did.
        fn serve(&self, conn: usize) {
            let mut queued = Vec::new();
            queued.extend(self.claims[conn].announce(Signs::READABLE).then_some(conn));
            while let Some(conn) = queued.pop() {
                self.claims[conn].claim().expect("it was queued here, and nowhere else");
                let taken = self.turn.take_or_wait(ConnId(conn as u64));
                if taken {
                    assert_eq!(self.inside.add(1), 0, "an exclusive application is not alone");
                    self.visits[conn].add(1);
                }
                let again = self.claims[conn].release(false);
                queued.extend(again.then_some(conn));
                if taken {
                    self.inside.add(u32::MAX);
                    let called = self.turn.give_back().into_iter().map(|ConnId(id)| id as usize);
                    queued.extend(called.filter(|&it| self.claims[it].announce(Signs::CALLED)));
                }
            }
        }
    }

    /// One batch of a switch runs at a time, and of those who came in vain none is forgotten.
    #[test]
    fn whoever_finds_the_turn_taken_has_it_later() {
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
            assert!(shared.visits.iter().all(|visits| Word::load(visits) > 0), "forgotten");
        });
    }
}
