//! Shares of the table: how many hosts each port and each switch has, in order.
//!
//! Where there is no room, a host of the greediest goes: of the switch that has most, and there of
//! the port that has most. So neither a port nor a switch that makes up hosts pushes out those of
//! others that have fewer. A host more or less costs a few steps in ordered sets, as finding its
//! port does.

use std::collections::{BTreeMap, BTreeSet};

use aldis_control::SwitchPort;
use aldis_wire::DatapathId;
use aldis_wire::msg::PortNo;

/// The ports and switches that have hosts.
#[derive(Debug, Default)]
pub(super) struct Shares {
    of_switch: BTreeMap<DatapathId, usize>,
    switches: BTreeSet<(usize, DatapathId)>,
    ports: BTreeSet<(DatapathId, usize, PortNo)>,
}

impl Shares {
    /// A port has so many hosts now, and had so many before: one more or less.
    pub(super) fn port(&mut self, at: SwitchPort, before: usize, now: usize) {
        let of_switch = self.of_switch.get(&at.dpid).copied().unwrap_or(0);
        let (had, has) = (of_switch, of_switch + now - before);
        self.ports.remove(&(at.dpid, before, at.port));
        self.switches.remove(&(had, at.dpid));
        if now > 0 {
            self.ports.insert((at.dpid, now, at.port));
        }
        if has > 0 {
            self.of_switch.insert(at.dpid, has);
            self.switches.insert((has, at.dpid));
        } else {
            self.of_switch.remove(&at.dpid);
        }
    }

    /// Whether a port has so many hosts, and its switch at least as many.
    pub(super) fn are(&self, at: SwitchPort, count: usize) -> bool {
        let of_switch = self.of_switch.get(&at.dpid).copied().unwrap_or(0);
        let is_there = |count| self.ports.contains(&(at.dpid, count, at.port));
        of_switch >= count && (count == 0 || is_there(count))
    }

    /// The port that has to give a host up for one more at `at`, which has `behind` of them. A port
    /// that has most already loses nothing by it, and so gives a host up itself where others have
    /// as many.
    pub(super) fn greediest(&self, at: SwitchPort, behind: usize) -> Option<SwitchPort> {
        let (most, greediest) = *self.switches.last()?;
        let own = self.of_switch.get(&at.dpid).copied().unwrap_or(0);
        let dpid = if own >= most { at.dpid } else { greediest };
        let of_switch = (dpid, 0, PortNo(0))..=(dpid, usize::MAX, PortNo(u32::MAX));
        let (_, most, port) = *self.ports.range(of_switch).next_back()?;
        let is_own = dpid == at.dpid && behind >= most;
        Some(if is_own { at } else { SwitchPort::of(dpid, port) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_with_most_hosts_of_the_switch_with_most_gives_way() {
        let mut shares = Shares::default();
        let mut has = BTreeMap::new();
        let mut change = |shares: &mut Shares, at: SwitchPort, now: usize| {
            let before = has.insert(at, now).unwrap_or(0);
            let steps: Vec<_> = match before <= now {
                true => (before..now).map(|n| (n, n + 1)).collect(),
                false => (now..before).rev().map(|n| (n + 1, n)).collect(),
            };
            steps.into_iter().for_each(|(before, now)| shares.port(at, before, now));
        };
        let at = SwitchPort::new;
        assert_eq!(shares.greediest(at(1, 1), 0), None);
        // Switch 1 has one port with most, switch 2 most in all.
        change(&mut shares, at(1, 1), 7);
        (1..=4).for_each(|port| change(&mut shares, at(2, port), 2));
        change(&mut shares, at(2, 3), 3);
        assert_eq!(shares.greediest(at(1, 1), 7), Some(at(2, 3)));
        assert_eq!(shares.greediest(at(3, 1), 0), Some(at(2, 3)));
        // As many as the greediest, and one more would be the most.
        change(&mut shares, at(1, 1), 9);
        assert_eq!(shares.greediest(at(1, 1), 9), Some(at(1, 1)));
        assert_eq!(shares.greediest(at(2, 1), 2), Some(at(2, 3)), "its switch has as many");
        assert_eq!(shares.greediest(at(2, 3), 3), Some(at(2, 3)));
        change(&mut shares, at(1, 1), 0);
        (1..=4).for_each(|port| change(&mut shares, at(2, port), 0));
        assert!(shares.of_switch.is_empty() && shares.switches.is_empty());
        assert!(shares.ports.is_empty());
    }
}
