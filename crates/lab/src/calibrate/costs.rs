//! The costs themselves.

use serde::{Deserialize, Serialize};

/// What the steps of a worker cost: names that end in `_ns` in nanoseconds, in `_ps` in
/// picoseconds, in `_pct` in percent.
///
/// `T` is a number, or the [`Spread`](super::CostQuartiles) of what was measured.
///
/// A visit that reads `b` bytes, serves `n` requests and writes `c` bytes costs `read_ns + b ×
/// read_byte_ps / 1000 + batch_ns + n × (gather_ns + request_ns) + write_ns + c × write_byte_ps /
/// 1000`; where the switch has more to say than was read, its reads and writes are those that begin
/// with `full`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepCosts<T = f64> {
    /// A poll that finds nothing.
    pub poll_ns: T,
    /// Each event that a poll finds, on top.
    pub poll_event_ns: T,
    /// A read that finds something.
    pub read_ns: T,
    /// Each byte of it, on top.
    pub read_byte_ps: T,
    /// A read that finds nothing.
    pub empty_read_ns: T,
    /// A write, delivery to a reader that is awake included.
    pub write_ns: T,
    /// Each byte of it, on top.
    pub write_byte_ps: T,
    /// A read that leaves some of what there is, from a sender that has still more to say.
    pub full_read_ns: T,
    /// Each byte of it, on top.
    pub full_read_byte_ps: T,
    /// A write to such a switch.
    pub full_write_ns: T,
    /// Each byte of it, on top.
    pub full_write_byte_ps: T,
    /// The same write, for each further visit whose answers it takes along: what the kernel put off
    /// while they were made.
    pub joined_ns: T,
    /// From the beginning of a ring until the thread that slept runs.
    pub wake_ns: T,
    /// What ringing costs the thread that rings.
    pub ring_ns: T,
    /// What one visit brings to a batch, whatever its size.
    pub batch_ns: T,
    /// Each request, to chop and parse.
    pub gather_ns: T,
    /// Each request, in the applications: the learning switch, under load.
    pub request_ns: T,
    /// What the engine itself does around a visit. This, `run_ns` and `send_ns`: none in files of
    /// before they were measured.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub visit_ns: Option<T>,
    /// What of that comes with the answers. None where there is one core.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub finish_pct: Option<T>,
    /// The same around a batch.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub run_ns: Option<T>,
    /// The same around a write.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub send_ns: Option<T>,
    /// A read that leaves some of what there is, on top, where 1,024 connections take turns. This
    /// and what follows: none where so many descriptors may not be open.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub crowd_read_ns: Option<T>,
    /// Each byte of it, on top.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub crowd_read_byte_ps: Option<T>,
    /// A write there, on top.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub crowd_write_ns: Option<T>,
    /// Each byte of it, on top.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub crowd_write_byte_ps: Option<T>,
    /// What one visit brings to a batch there, on top.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub crowd_batch_ns: Option<T>,
    /// Each request there, on top.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub crowd_request_ns: Option<T>,
    /// How much the same work takes longer or shorter than its mean, at most.
    pub waver_pct: T,
    /// What the longest of the visits took beyond the others, of the time of all: interruptions.
    /// They are in no other cost.
    pub away_pct: T,
    /// How long each of them took beyond, on average.
    pub away_ns: T,
    /// A cache line that another core changed, until its content is here. None where there is one
    /// core.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub line_transfer_ns: Option<T>,
    /// What a visit takes more where another core made the last one to the connection. This and
    /// what follows: none where there is one core.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub moved_visit_ns: Option<T>,
    /// What a worker that reads takes to hand a batch to another core.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub hand_ns: Option<T>,
    /// Each visit of it, more than one that it answers itself.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub handed_visit_ns: Option<T>,
    /// Each byte of it, more than into a buffer of its own.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub handed_byte_ps: Option<T>,
    /// What a worker takes to pull a batch that another core read.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub pull_ns: Option<T>,
    /// Each visit of it, more than one that it read itself.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub pulled_visit_ns: Option<T>,
    /// Each byte of it, more than from a buffer of its own.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub pulled_byte_ps: Option<T>,
    /// A compare-and-swap on a word that no other core uses.
    pub cas_ns: T,
    /// A compare-and-swap, until it succeeds, on a word that one other core changes all the time.
    /// None where there is one core.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub contended_cas_ns: Option<T>,
    /// One request to the other end of the loop-back and one answer back, with no thread asleep;
    /// two reads and two writes are in it.
    pub round_trip_ns: T,
}

fn none<T>() -> Option<T> {
    None
}

/// A cost with its name and what it is, for people.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CostRow<T> {
    /// The name of the field.
    pub name: &'static str,
    /// What it is.
    pub words: &'static str,
    /// None where it was not measured, for want of a second core or of descriptors.
    pub cost: Option<T>,
}

impl<T> StepCosts<T> {
    /// All of them, in order.
    pub fn rows(self) -> [CostRow<T>; 41] {
        let row = |name, cost, words| CostRow { name, words, cost };
        [
            row("poll_ns", Some(self.poll_ns), "a poll that finds nothing"),
            row("poll_event_ns", Some(self.poll_event_ns), "each event that a poll finds"),
            row("read_ns", Some(self.read_ns), "a read"),
            row("read_byte_ps", Some(self.read_byte_ps), "each byte of it"),
            row("empty_read_ns", Some(self.empty_read_ns), "a read that finds nothing"),
            row("write_ns", Some(self.write_ns), "a write, to a reader that is awake"),
            row("write_byte_ps", Some(self.write_byte_ps), "each byte of it"),
            row("full_read_ns", Some(self.full_read_ns), "a read that leaves some of it"),
            row("full_read_byte_ps", Some(self.full_read_byte_ps), "each byte of it"),
            row("full_write_ns", Some(self.full_write_ns), "a write to whom it was read from"),
            row("full_write_byte_ps", Some(self.full_write_byte_ps), "each byte of it"),
            row("joined_ns", Some(self.joined_ns), "each further visit that it answers"),
            row("wake_ns", Some(self.wake_ns), "from a ring until the sleeper runs"),
            row("ring_ns", Some(self.ring_ns), "the ring itself"),
            row("batch_ns", Some(self.batch_ns), "a visit's part of a batch"),
            row("gather_ns", Some(self.gather_ns), "each request of it, chopped and parsed"),
            row("request_ns", Some(self.request_ns), "each request of it, in the learning switch"),
            row("visit_ns", self.visit_ns, "a visit in the engine itself"),
            row("finish_pct", self.finish_pct, "of that, what comes with the answers"),
            row("run_ns", self.run_ns, "a batch in the engine itself"),
            row("send_ns", self.send_ns, "a write in the engine itself"),
            row("crowd_read_ns", self.crowd_read_ns, "a read more, among 1,024 connections"),
            row("crowd_read_byte_ps", self.crowd_read_byte_ps, "each byte of it more"),
            row("crowd_write_ns", self.crowd_write_ns, "a write more, among 1,024"),
            row("crowd_write_byte_ps", self.crowd_write_byte_ps, "each byte of it more"),
            row("crowd_batch_ns", self.crowd_batch_ns, "a visit's part of a batch more"),
            row("crowd_request_ns", self.crowd_request_ns, "each request of it more"),
            row("waver_pct", Some(self.waver_pct), "by which the same takes more or less"),
            row("away_pct", Some(self.away_pct), "of the time in interruptions"),
            row("away_ns", Some(self.away_ns), "each of them"),
            row("line_transfer_ns", self.line_transfer_ns, "a cache line from core to core"),
            row("moved_visit_ns", self.moved_visit_ns, "a visit more, where it was another core's"),
            row("hand_ns", self.hand_ns, "to hand a batch to another core"),
            row("handed_visit_ns", self.handed_visit_ns, "each visit of it more"),
            row("handed_byte_ps", self.handed_byte_ps, "each byte of it more"),
            row("pull_ns", self.pull_ns, "to pull a batch from another core"),
            row("pulled_visit_ns", self.pulled_visit_ns, "each visit of it more"),
            row("pulled_byte_ps", self.pulled_byte_ps, "each byte of it more"),
            row("cas_ns", Some(self.cas_ns), "a compare-and-swap, alone"),
            row("contended_cas_ns", self.contended_cas_ns, "the same against another core"),
            row("round_trip_ns", Some(self.round_trip_ns), "a request there, an answer back"),
        ]
    }

    /// The same costs, each through `change`.
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> StepCosts<U> {
        StepCosts {
            poll_ns: change(self.poll_ns),
            poll_event_ns: change(self.poll_event_ns),
            read_ns: change(self.read_ns),
            read_byte_ps: change(self.read_byte_ps),
            empty_read_ns: change(self.empty_read_ns),
            write_ns: change(self.write_ns),
            write_byte_ps: change(self.write_byte_ps),
            full_read_ns: change(self.full_read_ns),
            full_read_byte_ps: change(self.full_read_byte_ps),
            full_write_ns: change(self.full_write_ns),
            full_write_byte_ps: change(self.full_write_byte_ps),
            joined_ns: change(self.joined_ns),
            wake_ns: change(self.wake_ns),
            ring_ns: change(self.ring_ns),
            batch_ns: change(self.batch_ns),
            gather_ns: change(self.gather_ns),
            request_ns: change(self.request_ns),
            visit_ns: self.visit_ns.map(&mut change),
            finish_pct: self.finish_pct.map(&mut change),
            run_ns: self.run_ns.map(&mut change),
            send_ns: self.send_ns.map(&mut change),
            crowd_read_ns: self.crowd_read_ns.map(&mut change),
            crowd_read_byte_ps: self.crowd_read_byte_ps.map(&mut change),
            crowd_write_ns: self.crowd_write_ns.map(&mut change),
            crowd_write_byte_ps: self.crowd_write_byte_ps.map(&mut change),
            crowd_batch_ns: self.crowd_batch_ns.map(&mut change),
            crowd_request_ns: self.crowd_request_ns.map(&mut change),
            waver_pct: change(self.waver_pct),
            away_pct: change(self.away_pct),
            away_ns: change(self.away_ns),
            line_transfer_ns: self.line_transfer_ns.map(&mut change),
            moved_visit_ns: self.moved_visit_ns.map(&mut change),
            hand_ns: self.hand_ns.map(&mut change),
            handed_visit_ns: self.handed_visit_ns.map(&mut change),
            handed_byte_ps: self.handed_byte_ps.map(&mut change),
            pull_ns: self.pull_ns.map(&mut change),
            pulled_visit_ns: self.pulled_visit_ns.map(&mut change),
            pulled_byte_ps: self.pulled_byte_ps.map(&mut change),
            cas_ns: change(self.cas_ns),
            contended_cas_ns: self.contended_cas_ns.map(&mut change),
            round_trip_ns: change(self.round_trip_ns),
        }
    }
}
