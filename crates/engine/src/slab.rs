//! Connections by token: an index, and a generation that makes every token unique.

/// A slab of boxed values. Tokens of removed values are never valid again.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<(u32, Option<Box<T>>)>,
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
        slot.insert(Box::new(make(u64::from(*generation) << 32 | u64::from(index))))
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, token: u64) -> Option<&mut T> {
        match self.slots.get_mut(token as u32 as usize) {
            Some((generation, Some(value))) if *generation == (token >> 32) as u32 => Some(value),
            _ => None,
        }
    }

    pub(crate) fn remove(&mut self, token: u64) -> Option<Box<T>> {
        self.get_mut(token)?;
        let (generation, slot) = &mut self.slots[token as u32 as usize];
        *generation = generation.wrapping_add(1);
        self.free.push(token as u32);
        slot.take()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().filter_map(|(_, slot)| slot.as_deref_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_outlives_no_value() {
        let mut slab = Slab::default();
        let first = *slab.insert_with(|token| token);
        assert_eq!(slab.remove(first).as_deref(), Some(&first));
        let second = *slab.insert_with(|token| token);
        assert_ne!(first, second);
        assert!(slab.get_mut(first).is_none() && slab.remove(first).is_none());
        assert!(slab.get_mut(second).is_some());
        assert_eq!(slab.iter_mut().count(), 1);
    }
}
