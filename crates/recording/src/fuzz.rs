//! Any bytes as a recording: read as they are, and behind a head.

use crate::order::{PlayOrder, WholeEvent, WholeEvents};
use crate::reader::RecordingReader;
use crate::writer::RecordingWriter;

/// Reads `bytes`. Panics where more comes out than went in, or where a replay sees another number
/// of events than there are.
pub fn read(bytes: &[u8]) {
    let mut with_head = vec![];
    RecordingWriter::begin(0, "{}", &mut with_head);
    with_head.extend_from_slice(bytes);
    [bytes, &with_head].into_iter().for_each(read_all);
}

fn read_all(file: &[u8]) {
    let Ok(reader) = RecordingReader::begin(file) else { return };
    assert!(reader.about().len() <= file.len());
    let (mut events, mut count, mut held) = (WholeEvents::new(reader), 0, 0);
    let wrong = loop {
        match events.next_event() {
            Ok(Some(event)) => {
                count += 1;
                held += match &event.event {
                    WholeEvent::Read { bytes, .. } | WholeEvent::Written { bytes, .. } => {
                        bytes.len()
                    }
                    WholeEvent::Published { taken, .. } => taken.len(),
                    _ => 0,
                };
                assert!(event.offset < file.len() as u64);
            }
            Ok(None) => break None,
            Err(bad) => break Some(bad.offset),
        }
    };
    assert!(held <= file.len());
    assert!(wrong.is_none_or(|offset| offset <= file.len() as u64));
    let Ok(reader) = RecordingReader::begin(file) else { unreachable!("it began before") };
    let mut order = PlayOrder::new(reader);
    let mut played = 0;
    let again = loop {
        match order.next_event() {
            Ok(Some(_)) => played += 1,
            Ok(None) => break None,
            Err(bad) => break Some(bad.offset),
        }
    };
    assert_eq!((played, again), (count, wrong));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Mark, RecordedEvent, TimedEvent};
    use proptest::prelude::*;

    /// A short recording behind its head.
    fn some() -> Vec<u8> {
        let (mut head, mut out) = (vec![], vec![]);
        let mut writer = RecordingWriter::begin(0, "{}", &mut head);
        let at = std::net::SocketAddr::from(([192, 0, 2, 1], 6653));
        let ends = crate::event::Endpoints { peer: at, local: at };
        let events = [
            RecordedEvent::Opened { conn: 1, ends },
            RecordedEvent::Read { conn: 1, bytes: &[1; 8], more: true },
            RecordedEvent::Read { conn: 1, bytes: &[2; 8], more: false },
            RecordedEvent::Marked(Mark::Batch { ran_ns: 9 }),
            RecordedEvent::Written { conn: 1, bytes: &[3; 8], more: false, outside: true },
            RecordedEvent::Published { began_ns: 1, version: 2, taken: &[4; 8] },
        ];
        for (at_ns, event) in (0..).zip(events) {
            writer.put(&TimedEvent { at_ns, worker: at_ns as u16 & 1, event }, &mut out);
        }
        out
    }

    proptest! {
        #[test]
        fn any_bytes_are_harmless(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            read(&bytes);
        }

        #[test]
        fn a_recording_with_any_byte_changed_is_harmless(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut: prop::sample::Index,
        ) {
            let mut bytes = some();
            for (at, to) in changes {
                *at.get_mut(&mut bytes) = to;
            }
            read(&bytes);
            read(&bytes[..cut.index(bytes.len())]);
        }
    }
}
