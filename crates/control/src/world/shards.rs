//! A large part of the World, in pieces that its versions share.

use alloc::sync::Arc;
use alloc::vec::Vec;

/// Pieces of something large. A copy of all costs a pointer for each; the first change to a piece
/// that is shared copies that piece alone. So a publication costs what changed, and not the whole.
#[derive(Debug)]
pub struct Shards<T>(Vec<Arc<T>>);

impl<T> Clone for Shards<T> {
    fn clone(&self) -> Self {
        Shards(self.0.clone())
    }
}

impl<T: Clone + Default> Shards<T> {
    /// So many empty pieces; at least one.
    pub fn new(count: usize) -> Shards<T> {
        Shards((0..count.max(1)).map(|_| Arc::default()).collect())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The piece of a hash: any number, the same for the same thing.
    #[inline]
    pub fn of(&self, hash: u64) -> &T {
        &self.0[self.place(hash)]
    }

    /// The same, to be changed: where another version shares it, a copy.
    pub fn of_mut(&mut self, hash: u64) -> &mut T {
        let place = self.place(hash);
        Arc::make_mut(&mut self.0[place])
    }

    /// All pieces.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|piece| &**piece)
    }

    /// How many pieces are not shared with `other`: what the one cost where it was made of the
    /// other.
    pub fn apart_from(&self, other: &Shards<T>) -> usize {
        self.0.iter().zip(&other.0).filter(|(one, other)| !Arc::ptr_eq(one, other)).count()
    }

    #[inline]
    fn place(&self, hash: u64) -> usize {
        // The high bits of the product: counting numbers spread as well as hashes do.
        let spread = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((u128::from(spread) * self.0.len() as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_copies_one_piece() {
        let mut shards: Shards<Vec<u64>> = Shards::new(16);
        (0..1000).for_each(|number| shards.of_mut(number).push(number));
        let before = shards.clone();
        shards.of_mut(7).push(1007);
        assert_eq!(shards.apart_from(&before), 1);
        assert!(shards.of(7).contains(&1007) && !before.of(7).contains(&1007));
        assert_eq!(before.iter().flatten().count(), 1000);
        assert!(before.iter().all(|piece| (20..110).contains(&piece.len())));
    }
}
