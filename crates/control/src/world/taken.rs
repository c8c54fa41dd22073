//! What a step of the publisher took: the reports of each part, by their senders.
//!
//! With that the step can be made again, in a replay of a recorded controller: several workers
//! report at once, and which of them came first is chance.

use alloc::vec::Vec;

/// What a step took.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TakenReports {
    /// For each part of the World how many; [`NOT_CALLED`] where its publisher was not called.
    counts: Vec<u32>,
    /// Their senders, of one part behind the other.
    senders: Vec<u16>,
}

/// Stands for a publisher that was not called.
const NOT_CALLED: u32 = u32::MAX;

impl TakenReports {
    /// The sender of what came from outside the workers.
    pub const OUTSIDE: u16 = u16::MAX;

    pub(super) fn clear(&mut self) {
        self.counts.clear();
        self.senders.clear();
    }

    /// The next part: the senders of its reports, where its publisher was called.
    pub(super) fn add(&mut self, senders: Option<&[u16]>) {
        self.counts.push(senders.map_or(NOT_CALLED, |senders| senders.len() as u32));
        self.senders.extend_from_slice(senders.unwrap_or_default());
    }

    /// The senders of the reports of a part, by its place; nothing where its publisher was not
    /// called.
    pub(super) fn of(&self, place: usize) -> Option<&[u16]> {
        let (before, count) = (self.counts.get(..place)?, *self.counts.get(place)?);
        if count == NOT_CALLED {
            return None;
        }
        let called = before.iter().filter(|count| **count != NOT_CALLED);
        let begin = called.fold(0usize, |sum, count| sum.saturating_add(*count as usize));
        let end = begin.saturating_add(count as usize).min(self.senders.len());
        Some(self.senders.get(begin..end).unwrap_or_default())
    }

    /// Whether any publisher was called.
    pub fn did_something(&self) -> bool {
        self.counts.iter().any(|count| *count != NOT_CALLED)
    }

    /// Appends it as bytes: the number of parts, the number of reports of each, all senders; the
    /// lowest byte of each number first.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend((self.counts.len() as u32).to_le_bytes());
        self.counts.iter().for_each(|count| out.extend(count.to_le_bytes()));
        self.senders.iter().for_each(|sender| out.extend(sender.to_le_bytes()));
    }

    /// Reads it again; of bytes that are cut, what there is.
    pub fn read(bytes: &[u8]) -> TakenReports {
        let (parts, rest) = bytes.split_first_chunk().unwrap_or((&[0; 4], &[]));
        let parts = u32::from_le_bytes(*parts) as usize;
        let (counts, senders) = rest.split_at(parts.saturating_mul(4).min(rest.len()));
        let long = |four: &[u8]| u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
        TakenReports {
            counts: counts.chunks_exact(4).map(long).collect(),
            senders: senders
                .chunks_exact(2)
                .map(|two| u16::from_le_bytes([two[0], two[1]]))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_was_taken_is_read_part_by_part() {
        let mut taken = TakenReports::default();
        assert!(!taken.did_something());
        for senders in [Some(&[1, 2][..]), None, Some(&[]), Some(&[TakenReports::OUTSIDE])] {
            taken.add(senders);
        }
        let mut bytes = Vec::new();
        taken.write(&mut bytes);
        assert_eq!(TakenReports::read(&bytes), taken);
        let parts: Vec<_> = (0..5).map(|place| taken.of(place)).collect();
        let outside = &[TakenReports::OUTSIDE][..];
        assert_eq!(parts, [Some(&[1, 2][..]), None, Some(&[]), Some(outside), None]);
        assert!(taken.did_something());
    }

    proptest! {
        #[test]
        fn any_bytes_are_harmless(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let taken = TakenReports::read(&bytes);
            for place in 0..20 {
                let _ = taken.of(place);
            }
        }
    }
}
