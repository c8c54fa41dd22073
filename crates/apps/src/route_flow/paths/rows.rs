//! The rows of seats: for each port and each host, the paths that use it, in no order.
//!
//! A seat knows its place in its row, so that it leaves by the last one of the row taking its
//! place.

use core::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use aldis_control::SwitchPort;

use crate::hosts::Identity;

/// By what a path is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mark {
    /// A port by which it leaves a switch.
    Port(SwitchPort),
    /// Its sender, or its receiver.
    Host(Identity),
}

impl Hash for Mark {
    /// Two words, and which of the two kinds it is.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (first, second) = match self {
            Mark::Port(at) => (at.dpid.0, u64::from(at.port.0)),
            Mark::Host(id) => (id.mac.to_u64(), 1 << 32 | u64::from(id.vlan)),
        };
        state.write_u64(first);
        state.write_u64(second);
    }
}

/// All rows that are not empty.
#[derive(Debug, Default)]
pub(super) struct Rows {
    hasher: RandomState,
    // Numbers of rows.
    by_mark: HashTable<u32>,
    rows: Vec<Row>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Row {
    mark: Mark,
    seats: Vec<u32>,
}

impl Rows {
    /// A seat joins a row: the number of the row, and its place there.
    pub(super) fn join(&mut self, mark: Mark, seat: u32) -> (u32, u32) {
        let Rows { hasher, by_mark, rows, free } = self;
        let (hash, is) = (hasher.hash_one(mark), |&row: &u32| rows[row as usize].mark == mark);
        let again = |&row: &u32| hasher.hash_one(rows[row as usize].mark);
        let number = match by_mark.entry(hash, is, again) {
            Entry::Occupied(row) => *row.get(),
            Entry::Vacant(place) => {
                let number = free.pop().unwrap_or(rows.len() as u32);
                place.insert(number);
                match rows.get_mut(number as usize) {
                    Some(row) => row.mark = mark,
                    None => rows.push(Row { mark, seats: Vec::new() }),
                }
                number
            }
        };
        let seats = &mut rows[number as usize].seats;
        seats.push(seat);
        (number, seats.len() as u32 - 1)
    }

    /// The seat at a place of a row leaves it. Returns the seat that stands there now instead, if
    /// one does.
    pub(super) fn leave(&mut self, (number, place): (u32, u32)) -> Option<u32> {
        let row = &mut self.rows[number as usize];
        row.seats.swap_remove(place as usize);
        if row.seats.is_empty() {
            // The memory of a long row is not kept for the next one that gets its number.
            row.seats = Vec::new();
            let hash = self.hasher.hash_one(row.mark);
            if let Ok(found) = self.by_mark.find_entry(hash, |&row| row == number) {
                found.remove();
            }
            self.free.push(number);
            return None;
        }
        row.seats.get(place as usize).copied()
    }

    /// The seats of a row.
    pub(super) fn of(&self, mark: Mark) -> &[u32] {
        let is = |&row: &u32| self.rows[row as usize].mark == mark;
        let found = self.by_mark.find(self.hasher.hash_one(mark), is);
        found.map_or(&[], |&row| &self.rows[row as usize].seats)
    }

    /// Whether all rows are empty.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.by_mark.is_empty() && self.free.len() == self.rows.len()
    }
}
