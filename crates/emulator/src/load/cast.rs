//! Who the switches of a run are, and which generator thread plays them.
//!
//! They are numbered through: first the normal ones, then those that storm, probe, read slowly, and never read. Those that
//! probe have a thread of their own, so that no load delays their clock, and so have the ones that read badly.

use super::Load;

/// What a switch does in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
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

impl Role {
    /// Whether it reads badly, so that the controller does well to disconnect it.
    pub(super) fn straggles(self) -> bool {
        matches!(self, Role::Slow | Role::Dead)
    }
}

/// What a generator thread's switches have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Crew {
    /// The normal ones and those that storm: the ones that count.
    Load,
    Probes,
    Stragglers,
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

    /// What switch `number` does.
    pub(super) fn role(&self, number: u32) -> Role {
        let counts = [self.switches, self.storms, self.probes, self.slow].map(u64::from);
        let mut end = 0;
        let roles = [Role::Normal, Role::Storm, Role::Probe, Role::Slow];
        let mut within = roles.into_iter().zip(counts).filter(|&(_, count)| {
            end += count;
            u64::from(number) <= end
        });
        within.next().map_or(Role::Dead, |(role, _)| role)
    }

    /// The threads of a run: what each plays, and the numbers of its switches.
    pub(super) fn crews(&self) -> Vec<(Crew, Vec<u32>)> {
        let loads = (0..self.threads).map(|index| {
            let numbers = (1..=self.switches_that_count()).skip(index).step_by(self.threads);
            (Crew::Load, numbers.collect())
        });
        let probes = self.switches_that_count() + 1..=self.switches_that_count() + self.probes;
        let stragglers = probes.end() + 1..=self.switches_in_all();
        let beside = [(Crew::Probes, probes.collect()), (Crew::Stragglers, stragglers.collect())];
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
        let roles: Vec<Role> =
            (1..=load.switches_in_all()).map(|number| load.role(number)).collect();
        assert_eq!(
            roles[4..],
            [
                Role::Normal,
                Role::Storm,
                Role::Probe,
                Role::Probe,
                Role::Slow,
                Role::Dead,
                Role::Dead,
            ]
        );
        let crews = load.crews();
        assert_eq!(
            crews,
            [
                (Crew::Load, vec![1, 3, 5]),
                (Crew::Load, vec![2, 4, 6]),
                (Crew::Probes, vec![7, 8]),
                (Crew::Stragglers, vec![9, 10, 11]),
            ]
        );
        assert_eq!(Load { probes: 0, slow: 0, dead: 0, ..load }.crews().len(), 2);
    }
}
