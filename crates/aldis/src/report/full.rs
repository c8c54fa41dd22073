//! Switches whose tables are full: each is spoken of once within [`LINES_PER`], however many flows
//! it refuses.

use std::collections::BTreeMap;
use std::time::Instant;

use aldis_control::session::SwitchError;
use aldis_wire::DatapathId;

use super::{LINES_MAX, LINES_PER};

/// Counts the flows that switches refuse because their tables are full.
#[derive(Debug, Default)]
pub(super) struct FullTables {
    begun: Option<Instant>,
    /// Flows that each refused and of which no line told, of those that were spoken of within this
    /// time.
    refused: BTreeMap<DatapathId, u64>,
    /// The same, within the time before.
    before: BTreeMap<DatapathId, u64>,
    /// Flows that others refused: they were too many to be spoken of.
    of_others: u64,
}

impl FullTables {
    /// A switch refused a flow, for it has no room: what people are told of that, if anything.
    pub(super) fn refuses(
        &mut self,
        now: Instant,
        dpid: DatapathId,
        error: &SwitchError,
    ) -> Option<String> {
        let goes_on = |begun: Instant| now.saturating_duration_since(begun) < LINES_PER;
        let mut left_out = 0;
        if !self.begun.is_some_and(goes_on) {
            self.begun = Some(now);
            self.before = std::mem::take(&mut self.refused);
            left_out = std::mem::take(&mut self.of_others);
        }
        if let Some(refused) = self.refused.get_mut(&dpid) {
            *refused += 1;
            return None;
        }
        if self.refused.len() >= LINES_MAX as usize {
            self.of_others += 1;
            return None;
        }
        self.refused.insert(dpid, 0);
        let SwitchError { name, hint, .. } = error;
        let mut words = format!("switch {dpid} has no room for more flows: {name}; {hint}");
        if let Some(more) = self.before.remove(&dpid).filter(|&more| more > 0) {
            words += &format!(" ({more} more were refused since this was last said)");
        }
        if left_out > 0 {
            words += &format!(" ({left_out} were refused by switches that were not named)");
        }
        Some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error() -> SwitchError {
        let name = "OFPET_FLOW_MOD_FAILED/OFPFMFC_TABLE_FULL".into();
        SwitchError { dpid: None, xid: 1, name, about: None, hint: "remove some", sent: vec![] }
    }

    #[test]
    fn a_full_table_is_spoken_of_once_in_ten_seconds_with_how_much_was_left_out() {
        let (mut full, start) = (FullTables::default(), Instant::now());
        let mut refuses = |at, dpid| full.refuses(start + at, DatapathId(dpid), &error());
        let told: Vec<_> = (0..1000).filter_map(|_| refuses(LINES_PER / 2, 1)).collect();
        let sentence = "switch 0000000000000001 has no room for more flows: \
                        OFPET_FLOW_MOD_FAILED/OFPFMFC_TABLE_FULL; remove some";
        assert_eq!(told, [sentence]);
        assert!(refuses(LINES_PER, 2).is_some_and(|words| words.starts_with("switch 00") && !words.contains("more were")));
        assert_eq!(refuses(LINES_PER, 1), None);
        let next = refuses(LINES_PER * 3 / 2, 1).unwrap();
        assert_eq!(next, format!("{sentence} (1000 more were refused since this was last said)"));
    }

    #[test]
    fn of_many_full_switches_some_are_named_and_the_refusals_of_the_others_counted() {
        let (mut full, start) = (FullTables::default(), Instant::now());
        let mut told = |at| {
            (0..1347)
                .filter_map(|dpid| full.refuses(at, DatapathId(dpid), &error()))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(start).len(), LINES_MAX as usize);
        assert!(told(start + LINES_PER / 2).is_empty());
        let later = told(start + LINES_PER);
        let left_out = 2 * (1347 - u64::from(LINES_MAX));
        assert_eq!(later.len(), LINES_MAX as usize);
        assert!(
            later[0].contains(&format!("({left_out} were refused by switches")),
            "{}",
            later[0]
        );
        assert!(later[0].contains("(1 more were refused"), "{}", later[0]);
    }
}
