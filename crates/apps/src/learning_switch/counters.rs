//! What a learning switch counts.

/// What one instance of the learning switch did since it was made. Every request is one of
/// `installed`, `flooded`, `filtered` and `ignored`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LearningCounters {
    /// Answered with a flow.
    pub installed: u64,
    /// Answered by sending the packet everywhere.
    pub flooded: u64,
    /// Dropped: the destination is behind the port that the packet came from.
    pub filtered: u64,
    /// Dropped: a frame that bridges keep to themselves (LLDP and the addresses of IEEE 802.1D), or
    /// shorter than its header.
    pub ignored: u64,
    /// Of those to be sent on, packets that the switch neither keeps nor sent whole, so that they
    /// cannot be.
    pub cut: u64,
    /// Hosts seen behind another port than before.
    pub moves: u64,
    /// Hosts forgotten because others needed the room, those silent longest first.
    pub evicted: u64,
    /// Sources not learnt: no room, or a port that no host can be behind, or one port too many.
    pub unlearnt: u64,
}

impl LearningCounters {
    /// Their names, in the same order.
    pub(super) const NAMES: &[&str] =
        &["installed", "flooded", "filtered", "ignored", "cut", "moves", "evicted", "unlearnt"];

    /// All of them, as they are written above.
    pub(super) fn in_order(&self) -> [u64; 8] {
        let &LearningCounters {
            installed,
            flooded,
            filtered,
            ignored,
            cut,
            moves,
            evicted,
            unlearnt,
        } = self;
        [installed, flooded, filtered, ignored, cut, moves, evicted, unlearnt]
    }
}
