//! A list in pages that versions share: a new version copies the pages that changed, and nothing
//! else.
//!
//! ```text
//! version ──▶ nodes ──▶ 64 pages each ──▶ N items each
//! ```
//!
//! A page or node that only the version in hand has is changed where it is; one that another
//! version has too is copied first ([`Arc::make_mut`]). So a version made of another costs one
//! pointer for each node, and its changes one page and one node each, however long the list is.

use std::array;
use std::sync::Arc;

/// Pages of a node. A change may copy so many pointers, and count each of their pages; a new
/// version copies a pointer for each node: at a million items in pages of 64 both are some hundred.
const FAN: usize = 64;

type Page<T, const N: usize> = Arc<[T; N]>;
type Node<T, const N: usize> = Arc<[Option<Page<T, N>>; FAN]>;

/// A list of whole pages of `N` items.
#[derive(Debug)]
pub(super) struct Paged<T, const N: usize> {
    nodes: Vec<Node<T, N>>,
    pages: usize,
}

impl<T, const N: usize> Default for Paged<T, N> {
    fn default() -> Self {
        Paged { nodes: Vec::new(), pages: 0 }
    }
}

impl<T, const N: usize> Clone for Paged<T, N> {
    fn clone(&self) -> Self {
        Paged { nodes: self.nodes.clone(), pages: self.pages }
    }
}

impl<T: Clone + Default, const N: usize> Paged<T, N> {
    /// How many pages there are.
    #[inline]
    pub(super) fn pages(&self) -> usize {
        self.pages
    }

    /// A page; there is one with this number.
    #[inline]
    pub(super) fn page(&self, page: usize) -> &[T; N] {
        self.nodes[page / FAN][page % FAN].as_ref().expect("no page is ever taken away")
    }

    /// A page, to be changed in this version only.
    pub(super) fn page_mut(&mut self, page: usize) -> &mut [T; N] {
        let node = Arc::make_mut(&mut self.nodes[page / FAN]);
        Arc::make_mut(node[page % FAN].as_mut().expect("no page is ever taken away"))
    }

    /// An item; there is one with this number.
    #[inline]
    pub(super) fn item(&self, item: usize) -> &T {
        &self.page(item / N)[item % N]
    }

    /// An item, to be changed in this version only.
    pub(super) fn item_mut(&mut self, item: usize) -> &mut T {
        &mut self.page_mut(item / N)[item % N]
    }

    /// One page more, of default items.
    pub(super) fn push_page(&mut self) {
        if self.pages.is_multiple_of(FAN) {
            self.nodes.push(Arc::new(array::from_fn(|_| None)));
        }
        let node = self.nodes.last_mut().expect("one was made for the first of its pages");
        Arc::make_mut(node)[self.pages % FAN] = Some(Arc::new(array::from_fn(|_| T::default())));
        self.pages += 1;
    }

    /// All items in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.pages).flat_map(|page| self.page(page))
    }

    /// How many pages this version does not share with `other`.
    #[cfg(test)]
    pub(super) fn own_pages(&self, other: &Self) -> usize {
        let same = |page: &usize| {
            *page < other.pages && core::ptr::eq(self.page(*page), other.page(*page))
        };
        (0..self.pages).filter(|page| !same(page)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_keeps_what_it_was_made_with_and_shares_what_did_not_change() {
        let mut now: Paged<u64, 8> = Paged::default();
        (0..200).for_each(|_| now.push_page());
        (0..1600).for_each(|item| *now.item_mut(item) = item as u64);
        let old = now.clone();
        *now.item_mut(700) = 1;
        *now.item_mut(701) = 2;
        now.push_page();
        assert!(old.iter().copied().eq(0..1600));
        assert_eq!((*now.item(700), *now.item(701), *now.item(702)), (1, 2, 702));
        assert_eq!((now.own_pages(&old), now.pages(), old.pages()), (2, 201, 200));
        *now.item_mut(1600) = 9;
        assert_eq!(now.iter().last(), Some(&0));
    }
}
