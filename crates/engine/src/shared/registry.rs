//! The registry: which connection speaks for which datapath id, by the [`Claim`]s of all switches.
//!
//! The one structure that all workers share, behind a lock that is taken only while a switch joins
//! or leaves. What is decided here is left with the connections concerned as [`Signal`]s; the lock
//! is never held while they are served. Modelled with loom.

use std::collections::{HashMap, HashSet};

use aldis_control::session::duplicate::{Claim, Verdict};
use aldis_control::session::{Close, Refusal};
use aldis_wire::DatapathId;

use crate::conn::{ConnId, Member};
use crate::limits::{EVICTED_MAX, PROVED_MAX};
use crate::messages::Signal;
use crate::sync::{Lock, Primitives, Std};

#[derive(Debug, Default)]
struct RegistryEntry {
    claim: Claim<ConnId>,
    /// The holder's switch, once its handshake is done.
    switch: Option<Member>,
}

/// The claims, and what certificates proved.
#[derive(Debug, Default)]
struct Entries {
    claimed: HashMap<DatapathId, RegistryEntry>,
    /// Those that certificates proved, the first [`PROVED_MAX`] of them: as long as the controller
    /// runs, so that no
    /// other connection gets them while their switches are away.
    proved: HashSet<DatapathId>,
}

/// Datapath ids and their connections.
#[derive(Debug)]
pub(crate) struct Registry<M: Primitives = Std> {
    entries: M::Lock<Entries>,
    /// How often switches were dropped because they did not read: of the first [`EVICTED_MAX`] to
    /// which that happened.
    evicted: M::Lock<HashMap<DatapathId, u64>>,
}

impl<M: Primitives> Default for Registry<M> {
    fn default() -> Self {
        Registry { entries: Entries::default().into(), evicted: HashMap::new().into() }
    }
}

impl<M: Primitives> Registry<M> {
    /// `conn` says that it is the switch `dpid`, and perhaps its certificate `proves` it. Returns
    /// the signals to send.
    pub(crate) fn identified(
        &self,
        dpid: DatapathId,
        auxiliary_id: u8,
        conn: ConnId,
        proves: bool,
    ) -> Vec<(ConnId, Signal)> {
        let mut entries = self.entries.take();
        let Entries { claimed, proved } = &mut *entries;
        let is_proved = proved.contains(&dpid);
        if proves && !is_proved && proved.len() < PROVED_MAX {
            proved.insert(dpid);
        }
        let unclaimed = || RegistryEntry { claim: Claim::unclaimed(is_proved), switch: None };
        let entry = claimed.entry(dpid).or_insert_with(unclaimed);
        let signals = match entry.claim.arrive(conn, auxiliary_id, proves) {
            Verdict::Main => vec![(conn, Signal::AdmitMain)],
            Verdict::Probe(holder) => vec![(holder, Signal::Probe)],
            Verdict::Refuse(refusal) => vec![refuse(conn, refusal)],
            Verdict::Outrank { before, waiting } => {
                let joins = (auxiliary_id != 0).then(|| refuse(conn, Refusal::NoMain));
                let waiting = waiting.map(|waiting| refuse(waiting, Refusal::NotProved));
                let before = (before, Signal::Close(Close::Outranked));
                [before].into_iter().chain(waiting).chain(joins).collect()
            }
            Verdict::Auxiliary { replaced, .. } => {
                let replaced = replaced.map(|old| (old, Signal::Close(Close::Superseded)));
                let joined = match &entry.switch {
                    Some(switch) => (conn, Signal::AdmitAuxiliary(switch.clone())),
                    None => refuse(conn, Refusal::NoMain),
                };
                replaced.into_iter().chain([joined]).collect()
            }
        };
        entries.forget_if_unclaimed(dpid);
        signals
    }

    /// The main connection finished its handshake: auxiliary ones may join from now on.
    pub(crate) fn up(&self, conn: ConnId, member: &Member) {
        if let Some(entry) = self.entries.take().claimed.get_mut(&member.switch.info.dpid)
            && entry.claim.holder() == Some(conn)
        {
            entry.switch = Some(member.clone());
        }
    }

    /// `incumbent` answered when it was asked: it keeps the switch.
    pub(crate) fn answered(&self, dpid: DatapathId, incumbent: ConnId) -> Option<(ConnId, Signal)> {
        let newcomer = self.entries.take().claimed.get_mut(&dpid)?.claim.answered(incumbent)?;
        Some(refuse(newcomer, Refusal::AlreadyConnected))
    }

    /// Whether another connection waits for the end of `incumbent`, which did not answer.
    pub(crate) fn is_awaited(&self, dpid: DatapathId, incumbent: ConnId) -> bool {
        self.entries
            .take()
            .claimed
            .get(&dpid)
            .is_some_and(|entry| entry.claim.is_awaited(incumbent))
    }

    /// `conn`, which had said that it is `dpid`, is gone.
    pub(crate) fn gone(&self, dpid: DatapathId, conn: ConnId) -> Vec<(ConnId, Signal)> {
        let mut entries = self.entries.take();
        let Some(entry) = entries.claimed.get_mut(&dpid) else { return vec![] };
        if entry.claim.holder() == Some(conn) {
            entry.switch = None;
        }
        let gone = entry.claim.gone(conn);
        entries.forget_if_unclaimed(dpid);
        let orphans = gone.orphans.into_iter();
        let orphans = orphans.map(|orphan| (orphan, Signal::Close(Close::MainGone)));
        let promoted = gone.promoted.map(|heir| (heir, Signal::AdmitMain));
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

impl Entries {
    fn forget_if_unclaimed(&mut self, dpid: DatapathId) {
        if self.claimed.get(&dpid).is_some_and(|entry| entry.claim.holder().is_none()) {
            self.claimed.remove(&dpid);
        }
    }
}

fn refuse(conn: ConnId, refusal: Refusal) -> (ConnId, Signal) {
    (conn, Signal::Refuse(refusal))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DPID: DatapathId = DatapathId(7);
    const OLD: ConnId = ConnId(1);
    const NEW: ConnId = ConnId(2);

    #[test]
    fn the_incumbent_is_asked_and_its_answer_refuses_the_newcomer() {
        let registry = Registry::<Std>::default();
        assert!(matches!(registry.identified(DPID, 0, OLD, false)[..], [(OLD, Signal::AdmitMain)]));
        assert!(matches!(registry.identified(DPID, 0, NEW, false)[..], [(OLD, Signal::Probe)]));
        let refused = registry.answered(DPID, OLD);
        assert!(matches!(refused, Some((NEW, Signal::Refuse(Refusal::AlreadyConnected)))));
    }

    #[test]
    fn the_newcomer_follows_an_incumbent_that_is_gone_and_nothing_is_left_at_the_end() {
        let registry = Registry::<Std>::default();
        registry.identified(DPID, 0, OLD, false);
        registry.identified(DPID, 0, NEW, false);
        assert!(matches!(registry.gone(DPID, OLD)[..], [(NEW, Signal::AdmitMain)]));
        assert!(registry.gone(DPID, NEW).is_empty());
        assert!(registry.entries.take().claimed.is_empty());
    }

    #[test]
    fn evictions_are_remembered_of_so_many_switches() {
        let registry = Registry::<Std>::default();
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
        let registry = Registry::<Std>::default();
        assert!(matches!(
            registry.identified(DPID, 1, NEW, false)[..],
            [(NEW, Signal::Refuse(Refusal::NoMain))]
        ));
        assert!(registry.entries.take().claimed.is_empty());
        registry.identified(DPID, 0, OLD, false);
        assert!(matches!(
            registry.identified(DPID, 1, NEW, false)[..],
            [(NEW, Signal::Refuse(Refusal::NoMain))]
        ));
    }

    /// No other connection gets it while its switch is away, either.
    #[test]
    fn what_a_certificate_proved_is_remembered() {
        let registry = Registry::<Std>::default();
        registry.identified(DPID, 0, OLD, true);
        registry.gone(DPID, OLD);
        assert!(registry.entries.take().claimed.is_empty());
        for auxiliary_id in [0, 1] {
            assert!(matches!(
                registry.identified(DPID, auxiliary_id, NEW, false)[..],
                [(NEW, Signal::Refuse(Refusal::NotProved))]
            ));
        }
        assert!(registry.gone(DPID, NEW).is_empty());
        assert!(matches!(registry.identified(DPID, 0, NEW, true)[..], [(NEW, Signal::AdmitMain)]));
    }

    #[test]
    fn a_proved_connection_replaces_those_that_only_claim() {
        const LAST: ConnId = ConnId(3);
        let registry = Registry::<Std>::default();
        registry.identified(DPID, 0, OLD, false);
        registry.identified(DPID, 0, NEW, false);
        assert!(matches!(
            registry.identified(DPID, 0, LAST, true)[..],
            [(OLD, Signal::Close(Close::Outranked)), (NEW, Signal::Refuse(Refusal::NotProved))]
        ));
        assert!(matches!(registry.gone(DPID, OLD)[..], [(LAST, Signal::AdmitMain)]));
    }

    #[test]
    fn no_more_is_remembered_than_its_bound() {
        let registry = Registry::<Std>::default();
        for number in 0..=PROVED_MAX as u64 {
            registry.identified(DatapathId(number), 0, OLD, true);
            registry.gone(DatapathId(number), OLD);
        }
        assert_eq!(registry.entries.take().proved.len(), PROVED_MAX);
        // Beyond it, a connected switch is protected all the same.
        let last = DatapathId(PROVED_MAX as u64);
        registry.identified(last, 0, OLD, true);
        assert!(matches!(
            registry.identified(last, 0, NEW, false)[..],
            [(NEW, Signal::Refuse(Refusal::NotProved))]
        ));
    }
}

#[cfg(test)]
mod model;
