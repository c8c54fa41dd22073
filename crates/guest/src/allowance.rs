//! What a guest may say: a controller answers requests, so that one with much more to say than it
//! was asked floods.

use std::time::Instant;

use crate::limits::{MESSAGES_AT_ONCE, MESSAGES_PER_REQUEST, MESSAGES_PER_SECOND};

/// Messages that may still be read of a guest. Above it nothing of it is read, and it waits, as on
/// a slow network.
#[derive(Debug)]
pub(crate) struct Allowance {
    left: f64,
    at: Instant,
    /// What had been counted then.
    requests: u64,
    messages: u64,
}

impl Allowance {
    pub(crate) fn new(now: Instant) -> Allowance {
        Allowance { left: MESSAGES_AT_ONCE, at: now, requests: 0, messages: 0 }
    }

    /// Takes into account what was counted until now, of requests that it was handed and of
    /// messages that it sent; whether some are left.
    pub(crate) fn is_left(&mut self, now: Instant, requests: u64, messages: u64) -> bool {
        let earned = (now - self.at).as_secs_f64() * MESSAGES_PER_SECOND
            + requests.saturating_sub(self.requests) as f64 * MESSAGES_PER_REQUEST;
        let spent = messages.saturating_sub(self.messages) as f64;
        self.left = (self.left + earned).min(MESSAGES_AT_ONCE) - spent;
        (self.at, self.requests, self.messages) = (now, requests, messages);
        self.left > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn requests_earn_answers_and_a_flood_ends() {
        let start = Instant::now();
        let mut allowance = Allowance::new(start);
        let (mut requests, mut messages) = (0, 0);
        // Two answers to each request, for ever.
        for _ in 0..100 {
            (requests, messages) = (requests + 10_000, messages + 20_000);
            assert!(allowance.is_left(start, requests, messages));
        }
        // What is saved up is left, and some more is taken: it waits until that is earned.
        let saved = MESSAGES_AT_ONCE as u64 - 20_000;
        let more = MESSAGES_PER_SECOND as u64 / 2;
        messages += saved + more;
        assert!(!allowance.is_left(start, requests, messages));
        let after = |ms: u64| start + Duration::from_millis(ms);
        assert!(!allowance.is_left(after(400), requests, messages));
        assert!(allowance.is_left(after(600), requests, messages));
    }
}
