//! A set of counters, declared once: what its owner writes, what others read of it, and how two
//! readings become one.

use super::{Counter, Distribution, Gauge, Histogram, Log2Distribution, Log2Histogram, Max};

/// Something that is kept by one thread and read by others.
pub trait Metric {
    /// What a reader gets.
    type Reading;

    /// What it is at this moment.
    fn read(&self) -> Self::Reading;

    /// Makes one reading of two, of different sets.
    fn merge(into: &mut Self::Reading, other: &Self::Reading);
}

impl Metric for Counter {
    type Reading = u64;

    fn read(&self) -> u64 {
        self.get()
    }

    fn merge(into: &mut u64, other: &u64) {
        *into = into.wrapping_add(*other);
    }
}

impl Metric for Gauge {
    type Reading = u64;

    fn read(&self) -> u64 {
        self.get()
    }

    fn merge(into: &mut u64, other: &u64) {
        *into = into.saturating_add(*other);
    }
}

impl Metric for Max {
    type Reading = u64;

    fn read(&self) -> u64 {
        self.get()
    }

    fn merge(into: &mut u64, other: &u64) {
        *into = (*into).max(*other);
    }
}

impl Metric for Histogram {
    type Reading = Distribution;

    fn read(&self) -> Distribution {
        Histogram::read(self)
    }

    fn merge(into: &mut Distribution, other: &Distribution) {
        into.merge(other);
    }
}

impl Metric for Log2Histogram {
    type Reading = Log2Distribution;

    fn read(&self) -> Log2Distribution {
        Log2Histogram::read(self)
    }

    fn merge(into: &mut Log2Distribution, other: &Log2Distribution) {
        into.merge(other);
    }
}

/// Declares a set of counters and its reading from one list of fields, so that neither can forget
/// one.
macro_rules! set {
    (
        $(#[$about:meta])* $Set:ident;
        $(#[$about_reading:meta])* $Reading:ident;
        $($(#[$doc:meta])* $field:ident: $Kind:ty,)*
    ) => {
        $(#[$about])*
        #[derive(Debug, Default)]
        #[repr(C, align(128))]
        pub struct $Set {
            $($(#[$doc])* pub $field: $Kind,)*
        }

        impl $Set {
            /// What it says at this moment. Its owner may be in the middle of a batch.
            pub fn read(&self) -> $Reading {
                $Reading { $($field: $crate::stats::Metric::read(&self.$field),)* }
            }
        }

        $(#[$about_reading])*
        #[derive(Clone, PartialEq, Eq, Debug, Default)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize))]
        pub struct $Reading {
            $($(#[$doc])* pub $field: <$Kind as $crate::stats::Metric>::Reading,)*
        }

        impl $Reading {
            /// Adds what another set says.
            pub fn merge(&mut self, other: &$Reading) {
                $(<$Kind as $crate::stats::Metric>::merge(&mut self.$field, &other.$field);)*
            }
        }
    };
}
pub(super) use set;
