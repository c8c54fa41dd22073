//! The switches that are there, and how each is spoken to: a part of the World, because the worker
//! that writes a path is rarely the one at which its switches joined.

use std::collections::BTreeMap;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use aldis_control::world::PublishCtx;
use aldis_control::{Part, Publisher, Time};
use aldis_wire::msg::TableNo;
use aldis_wire::{DatapathId, Version};

/// The switches that are connected, by name.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    voices: HashMap<DatapathId, (Time, Voice), RandomState>,
}

/// How a switch is spoken to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Voice {
    /// The version that it speaks.
    pub version: Version,
    /// Its table for flows that forward.
    pub table: TableNo,
}

/// A switch came, or went.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// Which one.
    pub dpid: DatapathId,
    /// When it joined: what a connection that ended says late is not about the next one.
    pub joined: Time,
    /// How it is spoken to; none where it is gone.
    pub voice: Option<Voice>,
}

impl Part for Fleet {
    type Report = Report;
    const NAME: &'static str = "fleet";
}

impl Fleet {
    /// How a switch is spoken to, if it is there.
    #[inline]
    pub fn voice(&self, dpid: DatapathId) -> Option<Voice> {
        self.voices.get(&dpid).map(|(_, voice)| *voice)
    }

    /// When a switch joined, if it is there.
    pub fn joined(&self, dpid: DatapathId) -> Option<Time> {
        self.voices.get(&dpid).map(|(joined, _)| *joined)
    }
}

/// Makes it.
#[derive(Debug, Default)]
pub(super) struct Musters {
    there: BTreeMap<DatapathId, (Time, Voice)>,
}

impl Publisher for Musters {
    type Part = Fleet;

    fn begin(&mut self) -> Fleet {
        Fleet::default()
    }

    fn revise(&mut self, _: Time, mut ctx: PublishCtx<'_, Fleet>) -> Option<Fleet> {
        let mut changed = false;
        while let Some(report) = ctx.report() {
            changed |= self.heed(report);
        }
        changed
            .then(|| Fleet { voices: self.there.iter().map(|(&dpid, &it)| (dpid, it)).collect() })
    }
}

impl Musters {
    /// Whether it says anything new.
    fn heed(&mut self, Report { dpid, joined, voice }: Report) -> bool {
        let known = self.there.get(&dpid).copied();
        match voice {
            Some(voice) if known.is_none_or(|(since, _)| since < joined) => {
                self.there.insert(dpid, (joined, voice));
                true
            }
            None if known.is_some_and(|(since, _)| since == joined) => {
                self.there.remove(&dpid);
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_old_connection_says_is_not_about_the_new_one() {
        let mut musters = Musters::default();
        let mut heed = |joined, version: Option<Version>| {
            let voice = version.map(|version| Voice { version, table: TableNo(0) });
            musters.heed(Report { dpid: DatapathId(1), joined: Time(joined), voice })
        };
        assert!(heed(5, Some(Version::V10)) && !heed(5, Some(Version::V10)));
        assert!(heed(9, Some(Version::V13)) && !heed(5, None) && !heed(5, Some(Version::V10)));
        assert!(heed(9, None) && !heed(9, None));
    }

    #[test]
    fn a_switch_is_found_by_its_name() {
        let voice = |table| Voice { version: Version::V13, table: TableNo(table) };
        let named = |dpid: u8| (DatapathId(u64::from(dpid)), (Time(dpid.into()), voice(dpid)));
        let fleet = Fleet { voices: [1, 5, 9].map(named).into_iter().collect() };
        let found = [0, 1, 5, 6, 9].map(|dpid| fleet.voice(DatapathId(dpid)));
        let [one, five, nine] = [1, 5, 9].map(|table| Some(voice(table)));
        assert_eq!(found, [None, one, five, None, nine]);
        assert_eq!(fleet.joined(DatapathId(5)), Some(Time(5)));
    }
}
