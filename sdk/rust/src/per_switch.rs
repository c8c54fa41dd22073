//! A value for each switch.

/// A value for each switch. The switch that was asked for last is found at once: requests of one
/// switch follow each other.
#[derive(Clone, Debug, Default)]
pub struct PerSwitch<T> {
    /// By dpid, in ascending order.
    values: Vec<(u64, T)>,
    last: usize,
}

impl<T> PerSwitch<T> {
    /// Without switches.
    pub const fn new() -> PerSwitch<T> {
        PerSwitch { values: Vec::new(), last: 0 }
    }

    /// The value of a switch; a new one has the default.
    #[inline]
    pub fn of(&mut self, dpid: u64) -> &mut T
    where
        T: Default,
    {
        if self.values.get(self.last).is_none_or(|(last, _)| *last != dpid) {
            self.last = self.place(dpid).unwrap_or_else(|place| {
                self.values.insert(place, (dpid, T::default()));
                place
            });
        }
        &mut self.values[self.last].1
    }

    /// The value of a switch that has one.
    pub fn get(&self, dpid: u64) -> Option<&T> {
        self.place(dpid).ok().map(|place| &self.values[place].1)
    }

    /// Forgets a switch; what its value was.
    pub fn remove(&mut self, dpid: u64) -> Option<T> {
        self.place(dpid).ok().map(|place| self.values.remove(place).1)
    }

    /// The switches, by dpid, and their values.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.values.iter().map(|(dpid, value)| (*dpid, value))
    }

    #[cold]
    fn place(&self, dpid: u64) -> Result<usize, usize> {
        self.values.binary_search_by_key(&dpid, |(dpid, _)| *dpid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_switch_keeps_its_own_value_while_others_come_and_go() {
        let mut switches = PerSwitch::<u64>::new();
        for dpid in [5, 3, 9, 3, 5, 1, 9] {
            *switches.of(dpid) += dpid;
        }
        assert_eq!((switches.remove(3), switches.remove(3)), (Some(6), None));
        *switches.of(9) += 1;
        let all: Vec<(u64, u64)> = switches.iter().map(|(dpid, value)| (dpid, *value)).collect();
        assert_eq!(all, [(1, 1), (5, 10), (9, 19)]);
        assert_eq!((switches.get(5), switches.get(3)), (Some(&10), None));
    }
}
