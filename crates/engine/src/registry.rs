//! Which connection speaks for which datapath id: the [`Claim`]s of all switches.
//!
//! The one structure that all workers share, behind a lock that is taken only while a switch joins or leaves. What is
//! decided here is left with the connections concerned as [`Call`]s; the lock is never held while they are served. Modelled with
//! loom.

use std::collections::HashMap;

use aldis_control::session::duplicate::{Claim, Verdict};
use aldis_control::session::{Close, Refusal};
use aldis_wire::DatapathId;

use crate::conn::{Call, ConnId, Member};
use crate::limits::EVICTED_MAX;
use crate::machine::{Lock, Machine, Real};

#[derive(Debug, Default)]
struct Entry {
    claim: Claim<ConnId>,
    /// The holder's switch, once its handshake is done.
    switch: Option<Member>,
}

/// Datapath ids and their connections.
#[derive(Debug)]
pub(crate) struct Registry<M: Machine = Real> {
    entries: M::Lock<HashMap<DatapathId, Entry>>,
    /// How often switches were dropped because they did not read: of the first [`EVICTED_MAX`] to which that happened.
    evicted: M::Lock<HashMap<DatapathId, u64>>,
}

/// What a connection has to be told.
pub(crate) type Errand = (ConnId, Call);

impl<M: Machine> Default for Registry<M> {
    fn default() -> Self {
        Registry { entries: HashMap::new().into(), evicted: HashMap::new().into() }
    }
}

impl<M: Machine> Registry<M> {
    /// `conn` says that it is the switch `dpid`: what to tell whom.
    pub(crate) fn identified(
        &self,
        dpid: DatapathId,
        auxiliary_id: u8,
        conn: ConnId,
    ) -> Vec<Errand> {
        let mut entries = self.entries.take();
        let entry = entries.entry(dpid).or_default();
        let errands = match entry.claim.arrive(conn, auxiliary_id) {
            Verdict::Main => vec![(conn, Call::AdmitMain)],
            Verdict::Probe(holder) => vec![(holder, Call::Probe)],
            Verdict::Refuse(refusal) => vec![refuse(conn, refusal)],
            Verdict::Auxiliary { replaced, .. } => {
                let replaced = replaced.map(|old| (old, Call::Close(Close::Superseded)));
                let joined = match &entry.switch {
                    Some(switch) => (conn, Call::AdmitAuxiliary(switch.clone())),
                    None => refuse(conn, Refusal::NoMain),
                };
                replaced.into_iter().chain([joined]).collect()
            }
        };
        forget_if_unclaimed(&mut entries, dpid);
        errands
    }

    /// The main connection finished its handshake: auxiliary ones may join from now on.
    pub(crate) fn up(&self, conn: ConnId, member: &Member) {
        if let Some(entry) = self.entries.take().get_mut(&member.switch.info.dpid)
            && entry.claim.holder() == Some(conn)
        {
            entry.switch = Some(member.clone());
        }
    }

    /// `incumbent` answered when it was asked: it keeps the switch.
    pub(crate) fn answered(&self, dpid: DatapathId, incumbent: ConnId) -> Option<Errand> {
        let newcomer = self.entries.take().get_mut(&dpid)?.claim.answered(incumbent)?;
        Some(refuse(newcomer, Refusal::AlreadyConnected))
    }

    /// Whether another connection waits for the end of `incumbent`, which did not answer.
    pub(crate) fn is_awaited(&self, dpid: DatapathId, incumbent: ConnId) -> bool {
        self.entries.take().get(&dpid).is_some_and(|entry| entry.claim.is_awaited(incumbent))
    }

    /// `conn`, which had said that it is `dpid`, is gone.
    pub(crate) fn gone(&self, dpid: DatapathId, conn: ConnId) -> Vec<Errand> {
        let mut entries = self.entries.take();
        let Some(entry) = entries.get_mut(&dpid) else { return vec![] };
        if entry.claim.holder() == Some(conn) {
            entry.switch = None;
        }
        let gone = entry.claim.gone(conn);
        forget_if_unclaimed(&mut entries, dpid);
        let orphans = gone.orphans.into_iter();
        let orphans = orphans.map(|orphan| (orphan, Call::Close(Close::MainGone)));
        let promoted = gone.promoted.map(|heir| (heir, Call::AdmitMain));
        orphans.chain(promoted).collect()
    }

    /// A connection of the switch is dropped because it did not read.
    pub(crate) fn evicted(&self, dpid: DatapathId) {
        let mut evicted = self.evicted.take();
        if evicted.len() < EVICTED_MAX || evicted.contains_key(&dpid) {
            *evicted.entry(dpid).or_default() += 1;
        }
    }

    /// How often that happened to the switch.
    pub(crate) fn evictions(&self, dpid: DatapathId) -> u64 {
        self.evicted.take().get(&dpid).copied().unwrap_or(0)
    }
}

fn forget_if_unclaimed(entries: &mut HashMap<DatapathId, Entry>, dpid: DatapathId) {
    if entries.get(&dpid).is_some_and(|entry| entry.claim.holder().is_none()) {
        entries.remove(&dpid);
    }
}

fn refuse(conn: ConnId, refusal: Refusal) -> Errand {
    (conn, Call::Refuse(refusal))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DPID: DatapathId = DatapathId(7);
    const OLD: ConnId = ConnId(1);
    const NEW: ConnId = ConnId(2);

    #[test]
    fn the_incumbent_is_asked_and_its_answer_refuses_the_newcomer() {
        let registry = Registry::<Real>::default();
        assert!(matches!(registry.identified(DPID, 0, OLD)[..], [(OLD, Call::AdmitMain)]));
        assert!(matches!(registry.identified(DPID, 0, NEW)[..], [(OLD, Call::Probe)]));
        let refused = registry.answered(DPID, OLD);
        assert!(matches!(refused, Some((NEW, Call::Refuse(Refusal::AlreadyConnected)))));
    }

    #[test]
    fn the_newcomer_follows_an_incumbent_that_is_gone_and_nothing_is_left_at_the_end() {
        let registry = Registry::<Real>::default();
        registry.identified(DPID, 0, OLD);
        registry.identified(DPID, 0, NEW);
        assert!(matches!(registry.gone(DPID, OLD)[..], [(NEW, Call::AdmitMain)]));
        assert!(registry.gone(DPID, NEW).is_empty());
        assert!(registry.entries.take().is_empty());
    }

    #[test]
    fn evictions_are_remembered_of_so_many_switches() {
        let registry = Registry::<Real>::default();
        for number in 0..EVICTED_MAX as u64 + 1 {
            registry.evicted(DatapathId(number));
        }
        registry.evicted(DatapathId(0));
        let last = EVICTED_MAX as u64;
        let of = [0, 1, last - 1, last].map(|number| registry.evictions(DatapathId(number)));
        assert_eq!(of, [2, 1, 1, 0]);
    }

    #[test]
    fn an_auxiliary_connection_needs_a_switch_that_is_up() {
        let registry = Registry::<Real>::default();
        assert!(matches!(
            registry.identified(DPID, 1, NEW)[..],
            [(NEW, Call::Refuse(Refusal::NoMain))]
        ));
        assert!(registry.entries.take().is_empty());
        registry.identified(DPID, 0, OLD);
        assert!(matches!(
            registry.identified(DPID, 1, NEW)[..],
            [(NEW, Call::Refuse(Refusal::NoMain))]
        ));
    }
}

#[cfg(test)]
mod model;
