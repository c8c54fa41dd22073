//! The desired state of an application: a part of the World that the operator changes while the
//! application runs.
//!
//! A change comes from outside, as a report that says all of it anew; every switch finds out within
//! a second, and what is there is compared with what should be, as when it connects.

use core::fmt;
use std::sync::Arc;

use aldis_control::Time;
use aldis_control::world::{Part, PublishCtx, Publisher};

/// What an application is to keep on switches: rules, flows.
pub trait DesiredItem: fmt::Debug + Send + Sync + 'static {
    /// The name of the part.
    const PART: &'static str;
}

/// The desired state, as one version.
#[derive(Debug)]
pub struct Desired<T> {
    version: u64,
    items: Arc<[T]>,
}

impl<T> Desired<T> {
    /// Counts up from 1 with every change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The items, in their order.
    pub fn items(&self) -> &[T] {
        &self.items
    }
}

impl<T: DesiredItem> Part for Desired<T> {
    /// The whole next version.
    type Report = Arc<[T]>;
    const NAME: &'static str = T::PART;
    /// Each is a whole list, by a person or a script.
    const REPORTS_MAX: usize = 256;
}

/// Publishes [`Desired`].
pub(crate) struct DesiredPublisher<T>(Arc<[T]>);

impl<T> DesiredPublisher<T> {
    /// With the first version.
    pub(crate) fn new(items: Arc<[T]>) -> DesiredPublisher<T> {
        DesiredPublisher(items)
    }
}

impl<T: DesiredItem> Publisher for DesiredPublisher<T> {
    type Part = Desired<T>;

    fn begin(&mut self) -> Desired<T> {
        Desired { version: 1, items: Arc::clone(&self.0) }
    }

    fn revise(&mut self, _: Time, mut ctx: PublishCtx<'_, Desired<T>>) -> Option<Desired<T>> {
        let mut last = None;
        while let Some(items) = ctx.report() {
            last = Some(items);
        }
        last.map(|items| Desired { version: ctx.current().version + 1, items })
    }
}
