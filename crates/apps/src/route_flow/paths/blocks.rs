//! Stretches of one array: what is given back is taken again by the next one of its length, so that
//! taking and giving them back by turns allocates nothing.
//!
//! Lengths are those of paths, of which a network has few; the array is never longer than the most
//! of each length that there ever were at once.

/// Items in stretches.
#[derive(Debug)]
pub(super) struct Blocks<T> {
    items: Vec<T>,
    // By length: where the free ones begin.
    free: Vec<Vec<u32>>,
}

/// A stretch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Block {
    first: u32,
    len: u32,
}

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Blocks { items: Vec::new(), free: Vec::new() }
    }
}

impl<T> Blocks<T> {
    /// A stretch with these items.
    pub(super) fn take(&mut self, items: impl ExactSizeIterator<Item = T>) -> Block {
        let len = items.len();
        if let Some(first) = self.free.get_mut(len).and_then(Vec::pop) {
            let block = Block { first, len: len as u32 };
            self.of_mut(block).iter_mut().zip(items).for_each(|(place, item)| *place = item);
            return block;
        }
        let first = self.items.len() as u32;
        self.items.extend(items);
        Block { first, len: len as u32 }
    }

    /// It is free again.
    pub(super) fn give_back(&mut self, block: Block) {
        let len = block.len as usize;
        if self.free.len() <= len {
            self.free.resize_with(len + 1, Vec::new);
        }
        self.free[len].push(block.first);
    }

    /// Its items.
    #[inline]
    pub(super) fn of(&self, block: Block) -> &[T] {
        &self.items[block.range()]
    }

    /// Its items, to be changed.
    #[inline]
    pub(super) fn of_mut(&mut self, block: Block) -> &mut [T] {
        &mut self.items[block.range()]
    }

    /// An item by its place in the array.
    #[inline]
    pub(super) fn item(&self, place: u32) -> &T {
        &self.items[place as usize]
    }

    /// Likewise, to be changed.
    #[inline]
    pub(super) fn item_mut(&mut self, place: u32) -> &mut T {
        &mut self.items[place as usize]
    }

    /// Items that are taken.
    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        let free = self.free.iter().enumerate().map(|(len, free)| len * free.len());
        self.items.len() - free.sum::<usize>()
    }
}

impl Block {
    /// The places of its items in the array.
    #[inline]
    pub(super) fn places(self) -> core::ops::Range<u32> {
        self.first..self.first + self.len
    }

    #[inline]
    fn range(self) -> core::ops::Range<usize> {
        self.first as usize..(self.first + self.len) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_is_taken_by_the_next_of_its_length() {
        let mut blocks = Blocks::default();
        let [one, two] = [[1, 2, 3], [4, 5, 6]].map(|items| blocks.take(items.into_iter()));
        blocks.give_back(one);
        let short = blocks.take([7, 8].into_iter());
        let again = blocks.take([9, 10, 11].into_iter());
        assert_eq!((again, blocks.taken()), (one, 8));
        assert_eq!([again, two].map(|block| blocks.of(block).to_vec()), [[9, 10, 11], [4, 5, 6]]);
        assert_eq!(blocks.of(short), [7, 8]);
    }
}
