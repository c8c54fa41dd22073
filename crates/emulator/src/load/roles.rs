//! The roles of a run's switches, and which generator thread plays them.
//!
//! They are numbered through: first the normal ones, then those that storm, probe, read slowly, and
//! never read. Those that probe have a thread of their own, so that no load delays their clock, and
//! so have the ones that read badly.

use super::{GeneratorPart, Load};

/// What a switch does in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SwitchRole {
    /// Offers what the run says.
    Normal,
    /// Offers as much as its socket takes, whatever the others do.
    Storm,
    /// Offers a few requests, every one of which is timed.
    Probe,
    /// Offers as much as its socket takes and reads slowly.
    Slow,
    /// The same, and never reads.
    Dead,
}

impl SwitchRole {
    /// Whether it reads badly, so that the controller does well to disconnect it.
    pub(super) fn straggles(self) -> bool {
        matches!(self, SwitchRole::Slow | SwitchRole::Dead)
    }
}

/// What a generator thread's switches have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Crew {
    /// The normal ones and those that storm: the ones that count.
    Load,
    Probes,
    SlowReaders,
}

impl Load {
    /// The switches whose answers are the throughput: the normal ones and those that storm.
    pub fn switches_that_count(&self) -> u32 {
        self.switches + self.storms
    }

    /// All switches that connect.
    pub fn switches_in_all(&self) -> u32 {
        let further = [self.storms, self.probes, self.slow, self.dead];
        further.into_iter().fold(self.switches, u32::saturating_add)
    }

    /// The switches that this part of the run plays.
    pub fn switches_here(&self) -> u32 {
        self.crews().iter().map(|(_, numbers)| numbers.len() as u32).sum()
    }

    /// The datapath id of switch `number`.
    pub fn dpid(&self, number: u32) -> u32 {
        self.first_dpid - 1 + number
    }

    /// What switch `number` does.
    pub(super) fn role(&self, number: u32) -> SwitchRole {
        let counts = [self.switches, self.storms, self.probes, self.slow].map(u64::from);
        let mut end = 0;
        let roles = [SwitchRole::Normal, SwitchRole::Storm, SwitchRole::Probe, SwitchRole::Slow];
        let mut within = roles.into_iter().zip(counts).filter(|&(_, count)| {
            end += count;
            u64::from(number) <= end
        });
        within.next().map_or(SwitchRole::Dead, |(role, _)| role)
    }

    /// The threads of this part of the run: what each plays, and the numbers of its switches.
    pub(super) fn crews(&self) -> Vec<(Crew, Vec<u32>)> {
        let GeneratorPart { index: part, of } = self.part;
        let here = |number: &u32| (number - 1) % of == part;
        let loads = (0..self.threads).map(|index| {
            let first = part as usize + index * of as usize;
            let numbers = (1..=self.switches_that_count()).skip(first);
            (Crew::Load, numbers.step_by(self.threads * of as usize).collect())
        });
        let probes = self.switches_that_count() + 1..=self.switches_that_count() + self.probes;
        let stragglers = (probes.end() + 1..=self.switches_in_all()).filter(here);
        let probes = probes.filter(here);
        let beside = [(Crew::Probes, probes.collect()), (Crew::SlowReaders, stragglers.collect())];
        let beside = beside.into_iter().filter(|(_, numbers): &(_, Vec<u32>)| !numbers.is_empty());
        loads.chain(beside).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_switch_has_a_role_and_one_thread() {
        let address = "127.0.0.1:1".parse().unwrap();
        let load = Load {
            switches: 5,
            storms: 1,
            probes: 2,
            slow: 1,
            dead: 2,
            threads: 2,
            ..Load::new(address)
        };
        let roles: Vec<SwitchRole> =
            (1..=load.switches_in_all()).map(|number| load.role(number)).collect();
        assert_eq!(
            roles[4..],
            [
                SwitchRole::Normal,
                SwitchRole::Storm,
                SwitchRole::Probe,
                SwitchRole::Probe,
                SwitchRole::Slow,
                SwitchRole::Dead,
                SwitchRole::Dead,
            ]
        );
        let crews = load.crews();
        assert_eq!(
            crews,
            [
                (Crew::Load, vec![1, 3, 5]),
                (Crew::Load, vec![2, 4, 6]),
                (Crew::Probes, vec![7, 8]),
                (Crew::SlowReaders, vec![9, 10, 11]),
            ]
        );
        let part = |index| Load { part: GeneratorPart { index, of: 3 }, ..load.clone() };
        let mut numbers: Vec<u32> =
            (0..3).flat_map(|index| part(index).crews()).flat_map(|(_, numbers)| numbers).collect();
        numbers.sort_unstable();
        assert!(
            numbers.into_iter().eq(1..=11),
            "each part plays its own, and together they are all"
        );
        assert_eq!((0..3).map(|index| part(index).switches_here()).sum::<u32>(), 11);
        assert_eq!(Load { probes: 0, slow: 0, dead: 0, ..load }.crews().len(), 2);
    }
}
