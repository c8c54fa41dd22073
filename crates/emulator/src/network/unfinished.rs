//! What a run leaves that is told to stop before its time, in words. A network that only is there
//! leaves nothing.

use std::time::Duration;

/// What was left.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(super) struct Unfinished {
    /// Steps of the script that had not come.
    pub(super) steps: usize,
    /// Pings without an answer or not sent, broadcasts that went round, and faults that were
    /// watched.
    pub(super) open: [usize; 3],
    /// How much longer load was to be offered, and the packets of it that had not arrived.
    pub(super) load: (Duration, u64),
    /// How much longer it was to go on.
    pub(super) length: Duration,
}

impl Unfinished {
    /// Why the run is only a part; `None` where nothing was left.
    pub(super) fn sentence(&self) -> Option<String> {
        let Unfinished {
            steps,
            open: [pings, broadcasts, faults],
            load: (offering, packets),
            length,
        } = *self;
        let many = |count: usize, one: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {one}s")),
        };
        let time = |left: Duration, of: &str| {
            (!left.is_zero()).then(|| format!("{:.3} s of {of}", left.as_secs_f64()))
        };
        let on_their_way = packets as usize * usize::from(offering.is_zero());
        let left = [
            time(length, "its time"),
            time(offering, "the load"),
            many(on_their_way, "packet").map(|packets| format!("{packets} waited for")),
            many(pings, "ping"),
            many(broadcasts, "broadcast"),
            many(faults, "watched fault"),
            many(steps, "step").map(|steps| format!("{steps} of the script")),
        ];
        let left: Vec<String> = left.into_iter().flatten().collect();
        (!left.is_empty()).then(|| format!("told to stop with this left: {}", left.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_said_and_nothing_where_nothing_is() {
        assert_eq!(Unfinished::default().sentence(), None);
        let second = Duration::from_secs(1);
        let unfinished =
            Unfinished { steps: 2, open: [34, 1, 0], load: (3 * second, 9), length: 4 * second };
        assert_eq!(
            unfinished.sentence().unwrap(),
            "told to stop with this left: 4.000 s of its time, 3.000 s of the load, 34 pings, 1 broadcast, 2 steps of the script"
        );
        let waited = Unfinished { load: (Duration::ZERO, 1), ..Unfinished::default() };
        assert_eq!(waited.sentence().unwrap(), "told to stop with this left: 1 packet waited for");
    }
}
