//! Which applications hold a switch back while it joins.

use alloc::vec::Vec;
use core::mem;

/// What an application wishes for the switch of the event in hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wish {
    Hold,
    Release,
}

/// The applications that hold the switch of an event back, and those that release it, by the
/// numbers of their places.
#[derive(Debug, Default)]
pub struct Holds {
    wish: Option<Wish>,
    holders: Vec<usize>,
    released: Vec<usize>,
}

impl Holds {
    pub(super) fn hold(&mut self) {
        self.wish = Some(Wish::Hold);
    }

    pub(super) fn release(&mut self) {
        self.wish = Some(Wish::Release);
    }

    /// An application is about to be called: what one before it wished does not count.
    pub(crate) fn begin(&mut self) {
        self.wish = None;
    }

    /// The application in this place was called, at a switch that is `joining` or at another event.
    pub(crate) fn end(&mut self, place: usize, joining: bool) {
        match self.wish.take() {
            Some(Wish::Hold) if joining => self.holders.push(place),
            Some(Wish::Release) if !joining => self.released.push(place),
            _ => {}
        }
    }

    /// Takes the applications that hold back the switch which joined.
    pub fn take_holders(&mut self) -> Vec<usize> {
        mem::take(&mut self.holders)
    }

    /// Takes the applications that released the switch of the event.
    #[inline]
    pub fn take_released(&mut self) -> Vec<usize> {
        mem::take(&mut self.released)
    }
}
