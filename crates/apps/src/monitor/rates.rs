//! What two samples say of the time between them.

use core::hash::Hash;
use core::time::Duration;

use aldis_wire::msg::{
    FlowStats, Match, PortNo, PortStats, QueueNo, QueueStats, TableNo, TableStats,
};

/// Counters of something that is found again in the next sample.
pub trait Identified {
    /// What it is found by.
    type Key<'s>: Eq + Hash
    where
        Self: 's;
    /// What its counters say of a second. Nothing where the switch does not count, or began to
    /// count anew.
    type Rates: Copy + PartialEq + core::fmt::Debug;

    /// What it is found by.
    fn key(&self) -> Self::Key<'_>;

    /// The rates since `before`.
    fn rates(&self, before: &Self, passed: Duration) -> Self::Rates;
}

macro_rules! rates {
    ($($(#[$attr:meta])* $Rates:ident of $Stats:ident by $Key:ty: |$row:ident| $key:expr, {
        $($(#[$field_attr:meta])* $field:ident = $counter:ident,)*
    })*) => {$(
        $(#[$attr])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $Rates {
            $($(#[$field_attr])* pub $field: Option<u64>,)*
        }

        impl Identified for $Stats {
            type Key<'s> = $Key;
            type Rates = $Rates;

            fn key(&self) -> Self::Key<'_> {
                let $row = self;
                $key
            }

            fn rates(&self, before: &Self, passed: Duration) -> $Rates {
                $Rates { $($field: per_second(self.$counter, before.$counter, passed),)* }
            }
        }
    )*};
}

rates! {
    /// Of a port, a second.
    PortRates of PortStats by PortNo: |port| port.port_no, {
        /// Packets received.
        rx_packets = rx_packets,
        /// Packets sent.
        tx_packets = tx_packets,
        /// Bytes received.
        rx_bytes = rx_bytes,
        /// Bytes sent.
        tx_bytes = tx_bytes,
        /// Packets dropped on the way in.
        rx_dropped = rx_dropped,
        /// Packets dropped on the way out.
        tx_dropped = tx_dropped,
        /// Errors on the way in.
        rx_errors = rx_errors,
        /// Errors on the way out.
        tx_errors = tx_errors,
    }

    /// Of a flow, a second.
    FlowRates of FlowStats by (TableNo, u16, &'s Match): |flow| (flow.table_id, flow.priority, &flow.match_), {
        /// Packets that it matched.
        packets = packet_count,
        /// Their bytes.
        bytes = byte_count,
    }

    /// Of a table, a second.
    TableRates of TableStats by TableNo: |table| table.table_id, {
        /// Packets looked up in it.
        lookups = lookup_count,
        /// Packets that matched.
        matches = matched_count,
    }

    /// Of a queue, a second.
    QueueRates of QueueStats by (PortNo, QueueNo): |queue| (queue.port_no, queue.queue_id), {
        /// Packets sent.
        tx_packets = tx_packets,
        /// Bytes sent.
        tx_bytes = tx_bytes,
        /// Packets dropped because it was full.
        tx_errors = tx_errors,
    }
}

/// What a counter that says all ones does not count.
const UNCOUNTED: u64 = u64::MAX;

fn per_second(now: u64, before: u64, passed: Duration) -> Option<u64> {
    let counts = now != UNCOUNTED && before != UNCOUNTED && !passed.is_zero();
    let more = now.checked_sub(before).filter(|_| counts)?;
    let rate = u128::from(more) * 1_000_000_000 / passed.as_nanos();
    Some(u64::try_from(rate).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_second_s_worth_and_nothing_where_it_was_not_counted() {
        let rate = |now, before, ms| per_second(now, before, Duration::from_millis(ms));
        assert_eq!(rate(1500, 500, 2000), Some(500));
        assert_eq!(rate(1500, 500, 500), Some(2000));
        assert_eq!(rate(7, 7, 1), Some(0));
        assert_eq!(rate(6, 7, 1000), None);
        assert_eq!(rate(UNCOUNTED, 7, 1000), None);
        assert_eq!(rate(8, 7, 0), None);
        assert_eq!(rate(UNCOUNTED - 1, 0, 1), Some(u64::MAX));
    }
}
