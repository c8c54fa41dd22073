//! Connections by token: an index, and a generation that makes every token unique.

/// A slab of values. Tokens of removed values are never valid again.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Adds the value that `make` makes for its token.
    pub(crate) fn insert_with(&mut self, make: impl FnOnce(u64) -> T) -> &mut T {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            (self.slots.len() - 1) as u32
        });
        let (generation, slot) = &mut self.slots[index as usize];
        slot.insert(make(u64::from(*generation) << 32 | u64::from(index)))
    }

    #[inline]
    pub(crate) fn get(&self, token: u64) -> Option<&T> {
        match self.slots.get(token as u32 as usize) {
            Some((generation, Some(value))) if *generation == (token >> 32) as u32 => Some(value),
            _ => None,
        }
    }

    pub(crate) fn remove(&mut self, token: u64) -> Option<T> {
        self.get(token)?;
        let (generation, slot) = &mut self.slots[token as u32 as usize];
        *generation = generation.wrapping_add(1);
        self.free.push(token as u32);
        slot.take()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Those among the slots from `from` up to `to`.
    pub(crate) fn range(&self, from: usize, to: usize) -> impl Iterator<Item = &T> {
        let to = to.min(self.slots.len());
        self.slots[from.min(to)..to].iter().filter_map(|(_, slot)| slot.as_ref())
    }

    /// How many slots there are, free ones included.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|(_, slot)| slot.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_outlives_no_value() {
        let mut slab = Slab::default();
        let first = *slab.insert_with(|token| token);
        assert_eq!(slab.remove(first), Some(first));
        let second = *slab.insert_with(|token| token);
        assert_ne!(first, second);
        assert!(slab.get(first).is_none() && slab.remove(first).is_none());
        assert!(slab.get(second).is_some());
        assert_eq!(slab.iter().count(), 1);
        assert_eq!((slab.range(0, 9).count(), slab.range(1, 9).count(), slab.slots()), (1, 0, 1));
    }
}
