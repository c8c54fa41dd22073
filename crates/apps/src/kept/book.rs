//! What people want of an application: a part of the World that they change while it runs.
//!
//! A change comes from outside, as a report that says all of it anew; every switch finds out within
//! a second, and what is there is compared with what should be, as when it connects.

use core::fmt;
use std::sync::Arc;

use aldis_control::Time;
use aldis_control::world::{Part, PublishCtx, Publisher};

/// What is written in a book.
pub trait Written: fmt::Debug + Send + Sync + 'static {
    /// The name of the part.
    const BOOK: &'static str;
}

/// All that people want, as one edition.
#[derive(Debug)]
pub struct Book<T> {
    edition: u64,
    items: Arc<[T]>,
}

impl<T> Book<T> {
    /// Counts up from 1 with every change.
    pub fn edition(&self) -> u64 {
        self.edition
    }

    /// What is written there, in its order.
    pub fn items(&self) -> &[T] {
        &self.items
    }
}

impl<T: Written> Part for Book<T> {
    /// All of the next edition.
    type Report = Arc<[T]>;
    const NAME: &'static str = T::BOOK;
}

/// Publishes it.
pub(crate) struct Clerk<T>(Arc<[T]>);

impl<T> Clerk<T> {
    /// This is the first edition.
    pub(crate) fn new(items: Arc<[T]>) -> Clerk<T> {
        Clerk(items)
    }
}

impl<T: Written> Publisher for Clerk<T> {
    type Part = Book<T>;

    fn begin(&mut self) -> Book<T> {
        Book { edition: 1, items: Arc::clone(&self.0) }
    }

    fn revise(&mut self, _: Time, mut ctx: PublishCtx<'_, Book<T>>) -> Option<Book<T>> {
        let mut last = None;
        while let Some(items) = ctx.report() {
            last = Some(items);
        }
        last.map(|items| Book { edition: ctx.current().edition + 1, items })
    }
}
