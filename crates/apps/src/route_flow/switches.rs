//! The connected switches, with the version of each: a part of the World, because the worker that
//! writes a path is rarely the one at which its switches joined.

use std::collections::BTreeMap;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use aldis_control::world::PublishCtx;
use aldis_control::{Part, Publisher, Time};
use aldis_wire::msg::TableNo;
use aldis_wire::{DatapathId, Version};

/// The switches that are connected, by name.
#[derive(Clone, Debug, Default)]
pub struct ConnectedSwitches {
    versions: HashMap<DatapathId, (Time, SwitchVersion), RandomState>,
}

/// The version of OpenFlow of a switch, and its table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SwitchVersion {
    /// The version that it speaks.
    pub version: Version,
    /// Its table for flows that forward.
    pub table: TableNo,
}

/// A switch came, or went.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// The switch.
    pub dpid: DatapathId,
    /// When it joined: what a connection that ended says late is not about the next one.
    pub joined: Time,
    /// Its version; none where it is gone.
    pub version: Option<SwitchVersion>,
}

impl Part for ConnectedSwitches {
    type Report = Report;
    const NAME: &'static str = "fleet";
}

impl ConnectedSwitches {
    /// The version of a switch, if it is there.
    #[inline]
    pub fn get(&self, dpid: DatapathId) -> Option<SwitchVersion> {
        self.versions.get(&dpid).map(|(_, version)| *version)
    }

    /// When a switch joined, if it is there.
    pub fn joined(&self, dpid: DatapathId) -> Option<Time> {
        self.versions.get(&dpid).map(|(joined, _)| *joined)
    }
}

/// Publishes [`ConnectedSwitches`].
#[derive(Debug, Default)]
pub(super) struct SwitchesPublisher {
    there: BTreeMap<DatapathId, (Time, SwitchVersion)>,
}

impl Publisher for SwitchesPublisher {
    type Part = ConnectedSwitches;

    fn begin(&mut self) -> ConnectedSwitches {
        ConnectedSwitches::default()
    }

    fn revise(
        &mut self,
        _: Time,
        mut ctx: PublishCtx<'_, ConnectedSwitches>,
    ) -> Option<ConnectedSwitches> {
        let mut changed = false;
        while let Some(report) = ctx.report() {
            changed |= self.apply(report);
        }
        changed.then(|| ConnectedSwitches {
            versions: self.there.iter().map(|(&dpid, &it)| (dpid, it)).collect(),
        })
    }
}

impl SwitchesPublisher {
    /// Applies a report; whether anything changed.
    fn apply(&mut self, Report { dpid, joined, version }: Report) -> bool {
        let known = self.there.get(&dpid).copied();
        match version {
            Some(version) if known.is_none_or(|(since, _)| since < joined) => {
                self.there.insert(dpid, (joined, version));
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
        let mut publisher = SwitchesPublisher::default();
        let mut apply = |joined, version: Option<Version>| {
            let version = version.map(|version| SwitchVersion { version, table: TableNo(0) });
            publisher.apply(Report { dpid: DatapathId(1), joined: Time(joined), version })
        };
        assert!(apply(5, Some(Version::V10)) && !apply(5, Some(Version::V10)));
        assert!(apply(9, Some(Version::V13)) && !apply(5, None) && !apply(5, Some(Version::V10)));
        assert!(apply(9, None) && !apply(9, None));
    }

    #[test]
    fn a_switch_is_found_by_its_name() {
        let version = |table| SwitchVersion { version: Version::V13, table: TableNo(table) };
        let named = |dpid: u8| (DatapathId(u64::from(dpid)), (Time(dpid.into()), version(dpid)));
        let switches = ConnectedSwitches { versions: [1, 5, 9].map(named).into_iter().collect() };
        let found = [0, 1, 5, 6, 9].map(|dpid| switches.get(DatapathId(dpid)));
        let [one, five, nine] = [1, 5, 9].map(|table| Some(version(table)));
        assert_eq!(found, [None, one, five, None, nine]);
        assert_eq!(switches.joined(DatapathId(5)), Some(Time(5)));
    }
}
