//! Recorded tags: the nonces and tags of probes that another controller sent, taken from a
//! recording of its control channel.
//!
//! The key of that controller is secret, and no recording has it. A replay has to send the same
//! probes all the same, and to believe those that came back. So what stood in the probes that were
//! sent is looked up by their sequence number.

use std::collections::HashMap;

use super::lldp::{BODY_LEN, Nonce, ORGANISATION, SUBTYPE, TAG_LEN};

/// Probes that are remembered: those of 1,000 ports for hours. Those behind them count as forged.
const PROBES_MAX: usize = 1_000_000;

/// Bytes behind what the tag is over: the tag, and the end of the frame.
const BEHIND: usize = TAG_LEN + 2;

/// What stood in probes, by their sequence number.
#[derive(Debug, Default)]
pub struct RecordedTags(HashMap<u64, RecordedProbe>);

#[derive(Debug)]
struct RecordedProbe {
    /// What the tag is over.
    tagged: Box<[u8]>,
    tag: [u8; TAG_LEN],
}

impl RecordedTags {
    /// Whether a message may hold a probe: for those that look through many.
    pub fn may_be_in(message: &[u8]) -> bool {
        let [a, b, c] = ORGANISATION;
        message.windows(4).any(|four| four == [a, b, c, SUBTYPE])
    }

    /// Remembers a frame that was sent, where it is a probe. The first of a number counts.
    pub fn add(&mut self, frame: &[u8]) {
        let Some(tagged) = frame.len().checked_sub(BEHIND).map(|at| &frame[..at]) else { return };
        let tag = frame[tagged.len()..].first_chunk().copied();
        if let (Some(tag), Some((sequence, _))) = (tag, body_end(tagged))
            && RecordedTags::may_be_in(tagged)
            && self.0.len() < PROBES_MAX
        {
            self.0.entry(sequence).or_insert(RecordedProbe { tagged: tagged.into(), tag });
        }
    }

    /// How many probes are remembered.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The nonce of the probe with this number.
    pub(super) fn nonce(&self, sequence: u64) -> Option<Nonce> {
        body_end(&self.0.get(&sequence)?.tagged).map(|(_, nonce)| nonce)
    }

    /// The tag over these bytes.
    pub(super) fn tag(&self, tagged: &[u8]) -> Option<[u8; TAG_LEN]> {
        let (sequence, _) = body_end(tagged)?;
        self.0.get(&sequence).filter(|probe| *probe.tagged == *tagged).map(|probe| probe.tag)
    }
}

/// The sequence number and the nonce at the end of what a tag is over.
fn body_end(tagged: &[u8]) -> Option<(u64, Nonce)> {
    let body = tagged.last_chunk::<BODY_LEN>()?;
    let nonce: Nonce = *body.last_chunk()?;
    let sequence = body[14..22].first_chunk().copied().map(u64::from_be_bytes)?;
    Some((sequence, nonce))
}
