//! Duplicate datapath ids: which connection keeps an id that several claim.
//!
//! A switch that lost power comes back before its old connection is noticed dead; two switches may
//! have been given one id by mistake. Both look the same: a second connection with a known id. So
//! the connection that holds the id is asked with an echo. One that answers keeps the switch, and
//! the newcomer is refused; one that does not yields to it, if that is still there.
//!
//! An identity that a certificate proved is never given to a connection without one: from the first
//! connection on that proves it, no other holds it, is asked about, or joins, and one that held it
//! until then goes.
//!
//! Auxiliary connections (OpenFlow 1.3.5 §6.3.6) claim nothing: they join the holder and go when it
//! goes.
//!
//! This is the decision only. The engine's registry carries the questions and answers.

use alloc::vec::Vec;
use core::mem;

use super::step::Refusal;
use crate::limits::AUXILIARIES_MAX;

/// The connections that claim one datapath id. `C` names a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claim<C> {
    holder: Option<C>,
    /// The newcomer that waits for the holder's answer.
    waiting: Option<C>,
    auxiliaries: Vec<(u8, C)>,
    /// Whether a certificate proved the id: of the holder, or of a connection before it.
    proved: bool,
    /// Whether the holder is to go, whatever it answers.
    outranked: bool,
}

/// What becomes of a connection that claims the id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict<C> {
    /// It is the switch: [`super::Admission::Main`].
    Main,
    /// It joins the connection `main`: [`super::Admission::Auxiliary`]. Where the same auxiliary
    /// connection was there before, that one is `replaced` and to be closed:
    /// [`super::Close::Superseded`].
    Auxiliary {
        /// The main connection it joins.
        main: C,
        /// The connection that had its number until now.
        replaced: Option<C>,
    },
    /// It waits while this connection is asked: [`super::Session::probe`].
    Probe(C),
    /// It proved what these connections only said: `before`, which held the id, is to be closed
    /// ([`super::Close::Outranked`]), and
    /// `waiting` for it, if any, is refused ([`Refusal::NotProved`]). It follows when `before` is
    /// gone, if it is a main connection; else it is refused, too ([`Refusal::NoMain`]).
    Outrank {
        /// The holder.
        before: C,
        /// The newcomer that waited for the holder's answer.
        waiting: Option<C>,
    },
    /// It goes: [`super::Admission::Refused`].
    Refuse(Refusal),
}

/// What follows from a connection's end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gone<C> {
    /// The newcomer that is the switch now: [`super::Admission::Main`].
    pub promoted: Option<C>,
    /// Auxiliary connections without a main one now: [`super::Close::MainGone`].
    pub orphans: Vec<C>,
}

impl<C> Default for Claim<C> {
    fn default() -> Self {
        let (holder, waiting, auxiliaries) = (None, None, Vec::new());
        Claim { holder, waiting, auxiliaries, proved: false, outranked: false }
    }
}

impl<C: Copy + PartialEq> Claim<C> {
    /// No connection has the id. `proved` says whether a certificate proved it before.
    pub fn unclaimed(proved: bool) -> Claim<C> {
        Claim { proved, ..Claim::default() }
    }

    /// A connection said that it has this id, and this auxiliary number (0 for a main connection);
    /// whether its certificate
    /// `proves` it.
    pub fn arrive(&mut self, newcomer: C, auxiliary_id: u8, proves: bool) -> Verdict<C> {
        let proved_before = self.proved;
        self.proved |= proves;
        if self.proved && !proves {
            return Verdict::Refuse(Refusal::NotProved);
        }
        if let Some(before) = self.holder.filter(|_| !proved_before && proves) {
            self.outranked = true;
            let heir = (auxiliary_id == 0).then_some(newcomer);
            return Verdict::Outrank { before, waiting: mem::replace(&mut self.waiting, heir) };
        }
        match (auxiliary_id, self.holder, self.waiting) {
            (0, None, _) => {
                self.holder = Some(newcomer);
                Verdict::Main
            }
            (0, Some(holder), None) => {
                self.waiting = Some(newcomer);
                Verdict::Probe(holder)
            }
            (0, Some(_), Some(_)) => Verdict::Refuse(Refusal::AnotherWaits),
            // While it is open which connection is the main one, there is none to join.
            (_, None, _) | (_, _, Some(_)) => Verdict::Refuse(Refusal::NoMain),
            _ if self.outranked => Verdict::Refuse(Refusal::NoMain),
            (number, Some(main), None) => self.join(newcomer, number, main),
        }
    }

    fn join(&mut self, newcomer: C, number: u8, main: C) -> Verdict<C> {
        if let Some((_, before)) = self.auxiliaries.iter_mut().find(|(taken, _)| *taken == number) {
            let replaced = Some(mem::replace(before, newcomer));
            return Verdict::Auxiliary { main, replaced };
        }
        if self.auxiliaries.len() == AUXILIARIES_MAX {
            return Verdict::Refuse(Refusal::TooManyAuxiliaries);
        }
        self.auxiliaries.push((number, newcomer));
        Verdict::Auxiliary { main, replaced: None }
    }

    /// `holder` answered when asked: the newcomer returned here, if any still waits, is refused
    /// with [`Refusal::AlreadyConnected`]. An answer from a connection that holds nothing any more
    /// counts for nothing.
    pub fn answered(&mut self, holder: C) -> Option<C> {
        self.waiting.take_if(|_| self.holder == Some(holder) && !self.outranked)
    }

    /// Whether a newcomer waits for `holder` to answer or to go.
    pub fn is_awaited(&self, holder: C) -> bool {
        self.waiting.is_some() && self.holder == Some(holder)
    }

    /// A connection ended, for whatever reason: the holder, one that waited, an auxiliary one or
    /// one that was refused.
    pub fn gone(&mut self, connection: C) -> Gone<C> {
        if self.holder == Some(connection) {
            self.holder = self.waiting.take();
            self.outranked = false;
            let orphans = self.auxiliaries.drain(..).map(|(_, auxiliary)| auxiliary).collect();
            return Gone { promoted: self.holder, orphans };
        }
        self.waiting.take_if(|waiting| *waiting == connection);
        self.auxiliaries.retain(|(_, auxiliary)| *auxiliary != connection);
        Gone { promoted: None, orphans: Vec::new() }
    }

    /// The connection that holds the id.
    pub fn holder(&self) -> Option<C> {
        self.holder
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn held() -> Claim<&'static str> {
        let mut claim = Claim::default();
        assert_eq!(claim.arrive("old", 0, false), Verdict::Main);
        claim
    }

    #[test]
    fn the_holder_that_answers_keeps_the_switch() {
        let mut claim = held();
        assert_eq!(claim.arrive("new", 0, false), Verdict::Probe("old"));
        assert_eq!(claim.answered("old"), Some("new"));
        assert_eq!(claim.gone("new"), Gone { promoted: None, orphans: vec![] });
        assert_eq!(claim.holder(), Some("old"));
        assert_eq!(claim.arrive("newer", 0, false), Verdict::Probe("old"));
    }

    #[test]
    fn the_holder_that_does_not_answer_yields() {
        let mut claim = held();
        claim.arrive("aux", 1, false);
        claim.arrive("new", 0, false);
        assert_eq!(claim.gone("old"), Gone { promoted: Some("new"), orphans: vec!["aux"] });
        assert_eq!(claim.holder(), Some("new"));
        assert_eq!(claim.answered("old"), None);
    }

    #[test]
    fn one_newcomer_waits_at_a_time_and_its_end_makes_room() {
        let mut claim = held();
        claim.arrive("new", 0, false);
        assert_eq!(claim.arrive("third", 0, false), Verdict::Refuse(Refusal::AnotherWaits));
        claim.gone("third");
        claim.gone("new");
        assert_eq!(claim.answered("old"), None);
        assert_eq!(claim.arrive("third", 0, false), Verdict::Probe("old"));
    }

    #[test]
    fn a_holder_that_goes_by_itself_leaves_the_switch_to_who_waits() {
        let mut claim = held();
        claim.gone("old");
        assert_eq!(claim.holder(), None);
        assert_eq!(claim.arrive("new", 0, false), Verdict::Main);
    }

    #[test]
    fn auxiliaries_join_the_holder_and_only_it() {
        let mut claim = Claim::default();
        assert_eq!(claim.arrive("aux", 1, false), Verdict::Refuse(Refusal::NoMain));
        let mut claim = held();
        assert_eq!(
            claim.arrive("aux", 1, false),
            Verdict::Auxiliary { main: "old", replaced: None }
        );
        let again = Verdict::Auxiliary { main: "old", replaced: Some("aux") };
        assert_eq!(claim.arrive("aux again", 1, false), again);
        claim.arrive("new", 0, false);
        assert_eq!(claim.arrive("aux 2", 2, false), Verdict::Refuse(Refusal::NoMain));
        assert_eq!(claim.gone("old").orphans, ["aux again"]);
    }

    #[test]
    fn the_number_of_auxiliaries_is_bounded() {
        let mut claim = Claim::default();
        claim.arrive(0, 0, false);
        for number in 1..=AUXILIARIES_MAX as u8 {
            assert_eq!(
                claim.arrive(number, number, false),
                Verdict::Auxiliary { main: 0, replaced: None }
            );
        }
        assert_eq!(claim.arrive(99, 99, false), Verdict::Refuse(Refusal::TooManyAuxiliaries));
        claim.gone(1);
        assert_eq!(claim.arrive(99, 99, false), Verdict::Auxiliary { main: 0, replaced: None });
    }

    #[test]
    fn what_a_certificate_proved_is_not_given_to_a_connection_without_one() {
        let mut claim = Claim::default();
        assert_eq!(claim.arrive("tls", 0, true), Verdict::Main);
        let refused = Verdict::Refuse(Refusal::NotProved);
        for number in [0, 1] {
            assert_eq!(claim.arrive("plain", number, false), refused);
        }
        assert_eq!(claim.arrive("tls again", 0, true), Verdict::Probe("tls"));
        claim.gone("tls");
        claim.gone("tls again");
        assert_eq!(claim.arrive("plain", 0, false), refused);
        assert_eq!(Claim::unclaimed(true).arrive("plain", 0, false), refused);
        assert_eq!(claim.arrive("tls", 0, true), Verdict::Main);
    }

    #[test]
    fn who_only_says_the_id_yields_to_who_proves_it() {
        let mut claim = held();
        claim.arrive("aux", 1, false);
        claim.arrive("plain", 0, false);
        let outranks = Verdict::Outrank { before: "old", waiting: Some("plain") };
        assert_eq!(claim.arrive("tls", 0, true), outranks);
        assert_eq!(claim.arrive("second tls", 0, true), Verdict::Refuse(Refusal::AnotherWaits));
        assert_eq!(claim.answered("old"), None);
        assert_eq!(claim.arrive("tls aux", 2, true), Verdict::Refuse(Refusal::NoMain));
        assert_eq!(claim.gone("plain"), Gone { promoted: None, orphans: vec![] });
        assert_eq!(claim.gone("old"), Gone { promoted: Some("tls"), orphans: vec!["aux"] });
        // One that joins proves the id, too.
        let mut claim = held();
        assert_eq!(
            claim.arrive("tls aux", 1, true),
            Verdict::Outrank { before: "old", waiting: None }
        );
        assert_eq!(claim.gone("old"), Gone { promoted: None, orphans: vec![] });
        assert_eq!(claim.arrive("plain", 0, false), Verdict::Refuse(Refusal::NotProved));
    }
}
