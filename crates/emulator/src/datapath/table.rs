//! One flow table: tuple space search (Srinivasan, Suri and Varghese, 1999), as Open vSwitch does
//! it.
//!
//! Flows with the same mask stand in one hash table, by their masked fields; those with the same
//! mask and fields, and those whose hashes collide, hang behind one another by falling priority. A
//! look-up asks the hash tables by falling highest priority and stops at the first that cannot win
//! any more.

use super::bounds::MASKS_MAX;
use super::fields::{FieldKey, Pattern, WORDS};
use super::flow::DatapathFlow;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// The number of a flow within its table; another one may have it when it is gone.
pub(crate) type FlowSlot = u32;

/// All flows of one mask.
#[derive(Debug)]
struct Tuple {
    mask: FieldKey,
    /// The words of the mask that are not zero.
    words: Box<[usize]>,
    /// How many flows have each priority, and the highest of these.
    priorities: BTreeMap<u16, u32>,
    highest: u16,
    /// The first flow of each hash.
    heads: HashMap<u64, FlowSlot, BuildHasherDefault<AsIs>>,
}

/// A hash of what is a hash already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[derive(Debug)]
struct FlowEntry {
    flow: DatapathFlow,
    /// Tells it from others that had the slot.
    stamp: u64,
    next: Option<FlowSlot>,
}

/// The flows of one table.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// By falling highest priority.
    tuples: Vec<Tuple>,
    places: Vec<Option<FlowEntry>>,
    free: Vec<FlowSlot>,
    count: u32,
    pub(crate) lookups: u64,
    pub(crate) matched: u64,
}

/// The table has as many distinct masks as it may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TooManyMasks;

impl Tuple {
    fn new(mask: FieldKey) -> Tuple {
        let words = (0..WORDS).filter(|word| mask.0[*word] != 0).collect();
        Tuple { mask, words, priorities: BTreeMap::new(), highest: 0, heads: HashMap::default() }
    }

    #[inline]
    fn hash(&self, key: &FieldKey) -> u64 {
        self.words.iter().fold(0x9e37_79b9_7f4a_7c15, |hash, word| {
            mix(hash ^ (key.0[*word] & self.mask.0[*word]))
        })
    }

    #[inline]
    fn agrees(&self, key: &FieldKey, flow: &DatapathFlow) -> bool {
        let flow = &flow.pattern.key;
        self.words.iter().all(|word| key.0[*word] & self.mask.0[*word] == flow.0[*word])
    }

    /// Looks again which priority is the highest; whether it is another one now.
    fn rank(&mut self) -> bool {
        let highest = self.priorities.last_key_value().map_or(0, |(priority, _)| *priority);
        std::mem::replace(&mut self.highest, highest) != highest
    }
}

/// Both halves of a wide product: every bit in moves every bit out. The lower half alone has low
/// bits that know nothing of the word's upper ones, where an Ethernet address stands, and a hash
/// table looks at the low bits first; so the low bits of the upper half, which know of all, stand
/// on them.
#[inline]
fn mix(word: u64) -> u64 {
    let product = u128::from(word) * 0xa5a3_56f2_9d5e_c4b7;
    (product as u64) ^ ((product >> 64) as u64) ^ word.rotate_left(29)
}

impl Table {
    /// How many flows it has.
    pub(crate) fn len(&self) -> u32 {
        self.count
    }

    /// The flow of the highest priority that matches a packet.
    #[inline]
    pub(crate) fn look_up(&mut self, packet: &FieldKey) -> Option<&mut DatapathFlow> {
        self.lookups += 1;
        let slot = self.find(packet)?;
        self.matched += 1;
        self.places[slot as usize].as_mut().map(|place| &mut place.flow)
    }

    fn find(&self, packet: &FieldKey) -> Option<FlowSlot> {
        let mut best: Option<(u16, FlowSlot)> = None;
        for tuple in &self.tuples {
            if best.is_some_and(|(priority, _)| priority >= tuple.highest) {
                break;
            }
            if let Some((slot, flow)) = self.find_in(tuple, packet)
                && best.is_none_or(|(priority, _)| flow.priority > priority)
            {
                best = Some((flow.priority, slot));
            }
        }
        best.map(|(_, slot)| slot)
    }

    /// The first of a chain that agrees has the highest priority of those that do.
    #[inline]
    fn find_in(&self, tuple: &Tuple, packet: &FieldKey) -> Option<(FlowSlot, &DatapathFlow)> {
        let mut next = tuple.heads.get(&tuple.hash(packet)).copied();
        while let Some(slot) = next {
            let place = self.place(slot)?;
            if tuple.agrees(packet, &place.flow) {
                return Some((slot, &place.flow));
            }
            next = place.next;
        }
        None
    }

    fn place(&self, slot: FlowSlot) -> Option<&FlowEntry> {
        self.places.get(slot as usize)?.as_ref()
    }

    /// A flow, and the stamp that tells it from others that had its slot.
    pub(crate) fn get(&self, slot: FlowSlot) -> Option<(&DatapathFlow, u64)> {
        self.place(slot).map(|place| (&place.flow, place.stamp))
    }

    /// The same, to be changed; neither its pattern nor its priority may be.
    pub(crate) fn get_mut(&mut self, slot: FlowSlot) -> Option<&mut DatapathFlow> {
        self.places.get_mut(slot as usize)?.as_mut().map(|place| &mut place.flow)
    }

    /// The flow with just this pattern and priority.
    pub(crate) fn exact(&self, pattern: &Pattern, priority: u16) -> Option<FlowSlot> {
        let tuple = self.tuples.iter().find(|tuple| tuple.mask == pattern.mask)?;
        let mut next = tuple.heads.get(&tuple.hash(&pattern.key)).copied();
        while let Some(slot) = next {
            let place = self.place(slot)?;
            if place.flow.priority == priority && place.flow.pattern.key == pattern.key {
                return Some(slot);
            }
            next = place.next;
        }
        None
    }

    /// Every flow, with its slot, by slot.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (FlowSlot, &DatapathFlow)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(slot, place)| Some((slot as FlowSlot, &place.as_ref()?.flow)))
    }

    /// Adds a flow whose pattern and priority no other has.
    ///
    /// # Errors
    /// [`TooManyMasks`]
    pub(crate) fn insert(
        &mut self,
        flow: DatapathFlow,
        stamp: u64,
    ) -> Result<FlowSlot, TooManyMasks> {
        let mask = flow.pattern.mask;
        let at = match self.tuples.iter().position(|tuple| tuple.mask == mask) {
            Some(at) => at,
            None if self.tuples.len() == MASKS_MAX => return Err(TooManyMasks),
            None => {
                self.tuples.push(Tuple::new(mask));
                self.tuples.len() - 1
            }
        };
        let tuple = &mut self.tuples[at];
        *tuple.priorities.entry(flow.priority).or_default() += 1;
        let resort = tuple.rank();
        let hash = tuple.hash(&flow.pattern.key);
        let slot = self.link(at, hash, flow, stamp);
        self.count += 1;
        if resort {
            self.sort();
        }
        Ok(slot)
    }

    /// Puts a flow into a free slot, and into its chain behind all of a priority that is not lower.
    fn link(&mut self, at: usize, hash: u64, flow: DatapathFlow, stamp: u64) -> FlowSlot {
        let (mut before, mut next) = (None, self.tuples[at].heads.get(&hash).copied());
        while let Some(slot) = next
            && let Some(place) = self.place(slot)
            && place.flow.priority >= flow.priority
        {
            (before, next) = (next, place.next);
        }
        let place = Some(FlowEntry { flow, stamp, next });
        let slot = match self.free.pop() {
            Some(slot) => {
                self.places[slot as usize] = place;
                slot
            }
            None => {
                self.places.push(place);
                (self.places.len() - 1) as FlowSlot
            }
        };
        self.join(at, hash, before, Some(slot));
        slot
    }

    /// Makes `next` what stands behind `before`, or first in its chain.
    fn join(&mut self, at: usize, hash: u64, before: Option<FlowSlot>, next: Option<FlowSlot>) {
        match (before, next) {
            (Some(before), next) => {
                if let Some(place) = &mut self.places[before as usize] {
                    place.next = next;
                }
            }
            (None, Some(next)) => {
                self.tuples[at].heads.insert(hash, next);
            }
            (None, None) => {
                self.tuples[at].heads.remove(&hash);
            }
        }
    }

    /// Takes a flow out.
    pub(crate) fn remove(&mut self, slot: FlowSlot) -> Option<DatapathFlow> {
        let place = self.places.get_mut(slot as usize)?.take()?;
        let mask = place.flow.pattern.mask;
        let at = self.tuples.iter().position(|tuple| tuple.mask == mask)?;
        let hash = self.tuples[at].hash(&place.flow.pattern.key);
        let (mut before, mut next) = (None, self.tuples[at].heads.get(&hash).copied());
        while let Some(other) = next.filter(|other| *other != slot) {
            before = Some(other);
            next = self.place(other)?.next;
        }
        self.join(at, hash, before, place.next);
        self.free.push(slot);
        self.count -= 1;
        self.forget_priority(at, place.flow.priority);
        if self.count == 0 {
            let Table { lookups, matched, .. } = *self;
            *self = Table { lookups, matched, ..Table::default() };
        }
        Some(place.flow)
    }

    fn forget_priority(&mut self, at: usize, priority: u16) {
        let tuple = &mut self.tuples[at];
        if let Some(count) = tuple.priorities.get_mut(&priority) {
            *count -= 1;
            if *count == 0 {
                tuple.priorities.remove(&priority);
            }
        }
        if tuple.priorities.is_empty() {
            self.tuples.remove(at);
        } else if tuple.rank() {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.tuples.sort_by_key(|tuple| std::cmp::Reverse(tuple.highest));
    }
}

#[cfg(test)]
mod tests;
