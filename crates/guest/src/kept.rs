//! What a guest has on one switch, where the switch cannot be asked for it by owner: its flows in
//! OpenFlow 1.0, its groups and its meters.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use aldis_apps::match_bits::TernaryMatch;
use aldis_wire::msg::{FlowMod, FlowRemoved, Message};
use aldis_wire::{NO_BUFFER, Version};
use foldhash::fast::RandomState;

use crate::limits::{FLOWS_KEPT_MAX, NUMBERS_KEPT_MAX};
use crate::refusal::Refusal;
use crate::relay::Relay;

/// The shortest FLOW_MOD of 1.0, and where in it what is (1.0 §5.3.3).
const FLOW_MOD_LEN: usize = 72;
const MATCH: Range<usize> = 8..48;
const COOKIE: Range<usize> = 48..56;
const COMMAND: Range<usize> = 56..58;
const PRIORITY: Range<usize> = 62..64;
const BUFFER: Range<usize> = 64..68;
const FLAGS: Range<usize> = 70..72;

/// `OFPFC_*`
const ADD: u16 = 0;
const MODIFY: u16 = 1;
const MODIFY_STRICT: u16 = 2;
const DELETE: u16 = 3;
const DELETE_STRICT: u16 = 4;

/// `OFPFF_SEND_FLOW_REM`
const TELL_REMOVED: u16 = 1;

/// A flow of 1.0 is its match and its priority.
type FlowKey = [u8; 42];

/// What a guest has on one switch.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Its flows, with whether it wants to be told when they go. On a switch of 1.0 alone.
    flows: HashMap<FlowKey, bool, RandomState>,
    pub(crate) groups: KeptNumbers,
    pub(crate) meters: KeptNumbers,
}

/// The numbers of groups, or of meters.
#[derive(Debug, Default)]
pub(crate) struct KeptNumbers(BTreeSet<u32>);

impl KeptNumbers {
    /// One was deleted, or else added or changed.
    ///
    /// # Errors
    /// There are too many.
    pub(crate) fn change(&mut self, number: u32, is_delete: bool) -> Result<(), Refusal> {
        if is_delete {
            self.0.remove(&number);
        } else if self.0.len() < NUMBERS_KEPT_MAX || self.0.contains(&number) {
            self.0.insert(number);
        } else {
            return Err(Refusal::Full);
        }
        Ok(())
    }

    /// All, which are deleted.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = u32> + use<> {
        std::mem::take(&mut self.0).into_iter()
    }
}

impl Kept {
    /// Passes on a FLOW_MOD for a switch of 1.0 under the cookie that stands for the guest's own,
    /// so that it touches flows of the guest alone.
    ///
    /// # Errors
    /// It is too short, has an unknown command, or there are too many flows.
    pub(crate) fn flow_mod(
        &mut self,
        message: &[u8],
        (xid, cookie): (u32, u64),
        relay: &mut Relay,
    ) -> Result<(), Refusal> {
        let Some(key) = key(message) else { return Err(Refusal::Malformed) };
        let passed = Passed { message, xid, cookie };
        match u16_at(message, COMMAND) {
            ADD => return self.add(&passed, key, relay),
            MODIFY_STRICT | DELETE_STRICT if self.flows.contains_key(&key) => {
                passed.push(relay, None);
            }
            // Where there is no such flow of the guest, it adds one (1.0 §4.6).
            MODIFY_STRICT => return self.add(&passed, key, relay),
            MODIFY => {
                let covered = self.covered(message);
                if covered.is_empty() {
                    return self.add(&passed, key, relay);
                }
                covered.iter().for_each(|key| passed.push(relay, Some((key, MODIFY_STRICT))));
            }
            DELETE_STRICT => {}
            DELETE => {
                let covered = self.covered(message);
                covered.iter().for_each(|key| passed.push(relay, Some((key, DELETE_STRICT))));
            }
            _ => return Err(Refusal::Flow),
        }
        Ok(())
    }

    fn add(&mut self, passed: &Passed<'_>, key: FlowKey, relay: &mut Relay) -> Result<(), Refusal> {
        let flags = u16_at(passed.message, FLAGS);
        let is_told = flags & TELL_REMOVED != 0;
        if self.flows.len() >= FLOWS_KEPT_MAX && !self.flows.contains_key(&key) {
            return Err(Refusal::Full);
        }
        self.flows.insert(key, is_told);
        let at = relay.bytes.len();
        passed.push(relay, None);
        let message = &mut relay.bytes[at..];
        message[COMMAND].copy_from_slice(&ADD.to_be_bytes());
        // So that it is known when it goes.
        message[FLAGS].copy_from_slice(&(flags | TELL_REMOVED).to_be_bytes());
        Ok(())
    }

    /// A flow of the guest is gone: whether the guest wants to be told so.
    pub(crate) fn removed(&mut self, removed: &FlowRemoved) -> bool {
        let flow = FlowMod::delete_strict(removed.match_.clone()).priority(removed.priority);
        let mut bytes = vec![];
        let encoded = Message::FlowMod(flow).encode(Version::V10, 0, &mut bytes);
        let key = encoded.ok().and_then(|()| key(&bytes));
        key.and_then(|key| self.flows.remove(&key)).unwrap_or(false)
    }

    /// The flows that a match without a priority covers.
    fn covered(&self, message: &[u8]) -> Vec<FlowKey> {
        let Some(asked) = pattern(message) else { return vec![] };
        let covers = |key: &&FlowKey| {
            let mut own = message.to_vec();
            own[MATCH].copy_from_slice(&key[..40]);
            pattern(&own).is_some_and(|own| asked.covers(&own))
        };
        self.flows.keys().filter(covers).copied().collect()
    }
}

/// A FLOW_MOD that is passed on.
struct Passed<'m> {
    message: &'m [u8],
    xid: u32,
    cookie: u64,
}

impl Passed<'_> {
    /// Appends it, or the same about another flow with another command.
    fn push(&self, relay: &mut Relay, about: Option<(&FlowKey, u16)>) {
        let at = relay.bytes.len();
        relay.push_raw(self.message, self.xid);
        let message = &mut relay.bytes[at..];
        message[COOKIE].copy_from_slice(&self.cookie.to_be_bytes());
        if let Some((key, command)) = about {
            message[MATCH].copy_from_slice(&key[..40]);
            message[PRIORITY].copy_from_slice(&key[40..]);
            message[COMMAND].copy_from_slice(&command.to_be_bytes());
            // A buffered packet goes with one flow alone.
            message[BUFFER].copy_from_slice(&NO_BUFFER.to_be_bytes());
        }
    }
}

fn key(message: &[u8]) -> Option<FlowKey> {
    let mut key = [0; 42];
    key[..40].copy_from_slice(message.get(MATCH)?);
    key[40..].copy_from_slice(message.get(PRIORITY)?);
    (message.len() >= FLOW_MOD_LEN).then_some(key)
}

fn u16_at(message: &[u8], at: Range<usize>) -> u16 {
    u16::from_be_bytes([message[at.start], message[at.start + 1]])
}

fn pattern(message: &[u8]) -> Option<TernaryMatch> {
    match Message::decode(Version::V10, message).ok()?.1.meaning() {
        Message::FlowMod(flow) => Some(TernaryMatch::of(&flow.match_)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_wire::Chop;
    use aldis_wire::msg::{Action, FlowModFlags, Match, PortNo};

    fn sent(kept: &mut Kept, flow: FlowMod) -> Vec<FlowMod> {
        let (mut bytes, mut relay) = (vec![], Relay::default());
        Message::FlowMod(flow).encode(Version::V10, 7, &mut bytes).unwrap();
        kept.flow_mod(&bytes, (7, 1), &mut relay).unwrap();
        let flow = |raw: aldis_wire::Raw<'_>| match Message::decode(Version::V10, raw.bytes)
            .unwrap()
            .1
            .meaning()
        {
            Message::FlowMod(flow) => flow,
            other => panic!("{other:?}"),
        };
        Chop::new(&relay.bytes).map(|raw| flow(raw.unwrap())).collect()
    }

    fn to_host(host: u16) -> Match {
        Match::new().eth_type(host)
    }

    #[test]
    fn a_delete_of_everything_removes_the_own_flows_alone() {
        let mut kept = Kept::default();
        let output = [Action::output(PortNo(2))];
        for host in [1, 2] {
            let added = sent(&mut kept, FlowMod::add(to_host(host)).actions(output.clone()));
            assert!(added[0].flags.contains(FlowModFlags::SEND_FLOW_REM));
        }
        let mut removed: Vec<_> = sent(&mut kept, FlowMod::delete(Match::new()))
            .into_iter()
            .map(|flow| flow.match_)
            .collect();
        removed.sort_by_key(|match_| format!("{match_:?}"));
        assert_eq!(removed, [to_host(1), to_host(2)]);
        // Of another's flow nothing is sent.
        let other = FlowMod::delete_strict(to_host(3));
        assert_eq!(sent(&mut kept, other), []);
    }

    #[test]
    fn numbers_are_bounded_and_taken_together() {
        let mut numbers = KeptNumbers::default();
        let most = NUMBERS_KEPT_MAX as u32;
        assert!((0..most).all(|number| numbers.change(number, false).is_ok()));
        assert_eq!(numbers.change(most, false), Err(Refusal::Full));
        assert_eq!(numbers.change(3, false), Ok(()));
        assert_eq!(numbers.change(3, true), Ok(()));
        assert_eq!(numbers.change(most, false), Ok(()));
        assert_eq!((numbers.take().count(), numbers.take().count()), (NUMBERS_KEPT_MAX, 0));
    }

    #[test]
    fn a_flow_that_went_is_told_to_a_guest_that_wants_it() {
        let mut kept = Kept::default();
        let wanted = FlowMod::add(to_host(1)).flags(FlowModFlags::SEND_FLOW_REM);
        let added = sent(&mut kept, wanted);
        sent(&mut kept, FlowMod::add(to_host(2)));
        let gone = |host| FlowRemoved {
            cookie: 0,
            priority: added[0].priority,
            reason: aldis_wire::msg::FlowRemovedReason::IDLE_TIMEOUT,
            table_id: aldis_wire::msg::TableNo(0),
            duration_sec: 0,
            duration_nsec: 0,
            idle_timeout: 0,
            hard_timeout: 0,
            packet_count: 0,
            byte_count: 0,
            match_: to_host(host),
        };
        assert!(kept.removed(&gone(1)) && !kept.removed(&gone(1)) && !kept.removed(&gone(2)));
        assert_eq!(sent(&mut kept, FlowMod::delete(Match::new())), []);
    }
}
