//! What was recorded and what came out, side by side: for each connection the bytes that each
//! worker wrote to it.
//!
//! Of two workers that write to one switch in the same moment, either may be first. So what each of
//! them wrote is compared by itself.

use std::collections::{HashMap, HashSet};

use aldis_recording::ConnKey;
use aldis_wire::{Chop, DatapathId};

use super::words;

/// How much later than recorded something may come out, or sooner: work that waited for another
/// worker.
const SLACK_NS: u64 = 1_000_000_000;

/// Messages of one step that are compared one by one in a list of differences.
const LISTED_MAX: usize = 10_000;

type StreamKey = (u16, ConnKey);

/// Both sides of one connection and worker.
#[derive(Default, Debug)]
struct BothSides {
    recorded: Vec<u8>,
    replayed: Vec<u8>,
    /// When one of them got something that the other did not have.
    since_ns: u64,
}

/// Both sides of all of them.
#[derive(Default, Debug)]
pub(super) struct Comparison {
    streams: HashMap<StreamKey, BothSides>,
    /// Those that are not the same on both sides just now.
    uneven: HashSet<StreamKey>,
}

/// Something else was sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Difference {
    pub(super) worker: u16,
    pub(super) conn: ConnKey,
    pub(super) at_ns: u64,
    /// What was recorded and did not come out.
    pub(super) recorded: Vec<Vec<u8>>,
    /// What came out in its place.
    pub(super) replayed: Vec<Vec<u8>>,
}

/// On which side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Recorded,
    Replayed,
}

impl Comparison {
    /// Adds bytes to a side.
    ///
    /// # Errors
    /// They are not those of the other side.
    pub(super) fn add(
        &mut self,
        side: Side,
        (worker, conn): StreamKey,
        at_ns: u64,
        bytes: &[u8],
    ) -> Result<(), Difference> {
        let key = (worker, conn);
        let both = self.streams.entry(key).or_default();
        if both.recorded.is_empty() && both.replayed.is_empty() {
            both.since_ns = at_ns;
        }
        match side {
            Side::Recorded => both.recorded.extend_from_slice(bytes),
            Side::Replayed => both.replayed.extend_from_slice(bytes),
        }
        let same = both.recorded.len().min(both.replayed.len());
        if both.recorded[..same] != both.replayed[..same] {
            return Err(both.first_difference(key));
        }
        both.recorded.drain(..same);
        both.replayed.drain(..same);
        match both.recorded.is_empty() && both.replayed.is_empty() {
            true => self.uneven.remove(&key),
            false => self.uneven.insert(key),
        };
        Ok(())
    }

    /// Adds bytes to a side, to be listed later.
    pub(super) fn keep(&mut self, side: Side, key: StreamKey, at_ns: u64, bytes: &[u8]) {
        let both = self.streams.entry(key).or_default();
        both.since_ns = at_ns;
        match side {
            Side::Recorded => both.recorded.extend_from_slice(bytes),
            Side::Replayed => both.replayed.extend_from_slice(bytes),
        }
        self.uneven.insert(key);
    }

    /// What is on one side alone for longer than it may be.
    pub(super) fn overdue(&self, now_ns: u64) -> Option<Difference> {
        let late = |key: &&StreamKey| self.streams[key].since_ns.saturating_add(SLACK_NS) < now_ns;
        let first = self.uneven.iter().filter(late).min_by_key(|key| self.streams[key].since_ns);
        first.map(|key| self.streams[key].first_difference(*key))
    }

    /// What is on one side alone at the end. What came out in the last moments may have been
    /// written when the recording had ended.
    pub(super) fn rest(&self, end_ns: u64, moment_ns: u64) -> Option<Difference> {
        let missing = |key: &&StreamKey| {
            let both = &self.streams[key];
            !both.recorded.is_empty() || both.since_ns.saturating_add(moment_ns) < end_ns
        };
        let first = self.uneven.iter().filter(missing).min_by_key(|key| self.streams[key].since_ns);
        first.map(|key| self.streams[key].first_difference(*key))
    }

    /// What is different on both sides of a worker, or of all of them: message by message, with no
    /// regard to transaction ids. Both are empty then.
    pub(super) fn list(&mut self, worker: Option<u16>, mut to: impl FnMut(Difference)) {
        let mut of_worker: Vec<StreamKey> =
            self.uneven.extract_if(|(of, _)| worker.is_none_or(|it| *of == it)).collect();
        of_worker.sort_unstable();
        for key in of_worker {
            let Some(both) = self.streams.get_mut(&key) else { continue };
            let at_ns = both.since_ns;
            let [mut recorded, mut replayed] = [&mut both.recorded, &mut both.replayed]
                .map(|side| messages(&std::mem::take(side)));
            if recorded.len().max(replayed.len()) <= LISTED_MAX {
                without_both(&mut recorded, &mut replayed);
            }
            if !recorded.is_empty() || !replayed.is_empty() {
                to(Difference { worker: key.0, conn: key.1, at_ns, recorded, replayed });
            }
        }
    }
}

/// Takes away what is on both sides.
fn without_both(recorded: &mut Vec<Vec<u8>>, replayed: &mut Vec<Vec<u8>>) {
    recorded.retain(|message| {
        let there = replayed.iter().position(|other| is_alike(message, other));
        there.map(|there| replayed.remove(there)).is_none()
    });
}

/// Whether two messages are the same but for their transaction ids.
fn is_alike(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.get(..4) == other.get(..4) && one.get(8..) == other.get(8..)
}

/// Whole messages; what is none is one.
fn messages(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut messages: Vec<Vec<u8>> =
        Chop::new(bytes).map_while(Result::ok).map(|raw| raw.bytes.to_vec()).collect();
    let whole = messages.iter().map(Vec::len).sum();
    if whole < bytes.len() {
        messages.push(bytes[whole..].to_vec());
    }
    messages
}

impl BothSides {
    fn first_difference(&self, (worker, conn): StreamKey) -> Difference {
        let [recorded, replayed] = [&self.recorded, &self.replayed].map(|side| messages(side));
        let same = recorded.iter().zip(&replayed).take_while(|(one, other)| one == other).count();
        let first = |side: Vec<Vec<u8>>| side.into_iter().skip(same).take(1).collect();
        Difference {
            worker,
            conn,
            at_ns: self.since_ns,
            recorded: first(recorded),
            replayed: first(replayed),
        }
    }
}

impl Difference {
    /// In words, several lines.
    pub(super) fn words(&self, begin_ns: u64, dpid: Option<DatapathId>) -> String {
        let side = |name: &str, messages: &[Vec<u8>]| match messages {
            [] => format!("  {name} nothing\n"),
            some => {
                let all = some.iter().map(|message| words::message(message, "    "));
                format!("  {name}\n{}", all.collect::<String>())
            }
        };
        format!(
            "{}, {}:\n{}{}",
            words::seconds(self.at_ns, begin_ns),
            words::switch(dpid),
            side("recorded:", &self.recorded),
            side("now:", &self.replayed)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: StreamKey = (0, 7);

    fn message(xid: u8, last: u8) -> Vec<u8> {
        vec![4, 14, 0, 9, 0, 0, 0, xid, last]
    }

    #[test]
    fn what_comes_in_other_pieces_is_the_same() {
        let mut all = Comparison::default();
        let both = [message(1, 1), message(2, 2)].concat();
        assert_eq!(all.add(Side::Recorded, KEY, 5, &both), Ok(()));
        assert_eq!(all.add(Side::Replayed, KEY, 6, &message(1, 1)), Ok(()));
        assert_eq!(all.overdue(5 + SLACK_NS), None);
        assert!(all.overdue(6 + SLACK_NS).is_some_and(|it| it.recorded == [message(2, 2)]));
        assert_eq!(all.add(Side::Replayed, KEY, 7, &message(2, 2)), Ok(()));
        assert_eq!((all.overdue(u64::MAX), all.rest(u64::MAX, 0)), (None, None));
    }

    #[test]
    fn the_first_message_that_is_another_is_told() {
        let mut all = Comparison::default();
        let recorded = [message(1, 1), message(2, 2)].concat();
        let replayed = [message(1, 1), message(2, 3)].concat();
        assert_eq!(all.add(Side::Recorded, KEY, 5, &recorded), Ok(()));
        let difference = all.add(Side::Replayed, KEY, 5, &replayed).unwrap_err();
        assert_eq!(difference.recorded, [message(2, 2)]);
        assert_eq!(difference.replayed, [message(2, 3)]);
        let words = difference.words(1, Some(DatapathId(9)));
        assert!(words.contains("0.000000 s, switch 0000000000000009") && words.contains("now:"));
    }

    #[test]
    fn of_the_last_moment_only_what_was_recorded_has_to_come_out() {
        let mut all = Comparison::default();
        assert_eq!(all.add(Side::Replayed, KEY, 100, &message(1, 1)), Ok(()));
        assert_eq!(all.rest(105, 10), None);
        assert!(all.rest(111, 10).is_some());
        let mut all = Comparison::default();
        assert_eq!(all.add(Side::Recorded, KEY, 100, &message(1, 1)), Ok(()));
        assert!(all.rest(105, 10).is_some());
    }

    #[test]
    fn a_list_has_what_is_on_one_side_whatever_its_order_and_transaction_ids() {
        let mut all = Comparison::default();
        let recorded = [message(1, 1), message(2, 2), message(3, 2)].concat();
        let replayed = [message(8, 2), message(9, 1), message(7, 5)].concat();
        all.keep(Side::Recorded, KEY, 5, &recorded);
        all.keep(Side::Replayed, KEY, 5, &replayed);
        let mut listed = vec![];
        all.list(Some(1), |difference| listed.push(difference));
        assert_eq!(listed, []);
        all.list(Some(0), |difference| listed.push(difference));
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].recorded, [message(3, 2)]);
        assert_eq!(listed[0].replayed, [message(7, 5)]);
        all.list(None, |_| unreachable!("it was listed"));
    }
}
