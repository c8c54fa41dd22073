//! What the proxies have in common: what becomes of a frame that would be flooded.

#[cfg(test)]
mod dialogues;
pub(crate) mod front;

use aldis_control::SwitchPort;
use aldis_packet::{Ethernet, ethernet};

/// Places that a frame may be sent to instead of everywhere.
pub const PLACES_MAX: usize = 4;

/// What becomes of a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProxyDecision {
    /// It is none of the proxy's business: it goes its way.
    Pass,
    /// This frame goes back out of the port that it came in by, in its stead.
    Answer(Vec<u8>),
    /// It goes to these places and nowhere else.
    SendTo(Places),
    /// It is flooded.
    Flood,
    /// It goes nowhere.
    Drop(DropReason),
}

impl ProxyDecision {
    pub(crate) fn send_to(place: SwitchPort) -> ProxyDecision {
        ProxyDecision::SendTo([place].into_iter().collect())
    }
}

/// Why a frame goes nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// It is not what its standard says, and other hosts would have to throw it away.
    Malformed,
    /// Its sender says to be another, or to have another's address.
    Spoofed,
    /// The host that could answer is behind the port that it came in by, or is its sender.
    Heard,
    /// It is the word of a DHCP server that is none.
    Rogue,
}

/// Some places, each once, [`PLACES_MAX`] at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Places {
    places: [SwitchPort; PLACES_MAX],
    len: usize,
}

impl Places {
    /// The places.
    pub fn iter(&self) -> impl Iterator<Item = SwitchPort> {
        self.places.into_iter().take(self.len)
    }
}

impl FromIterator<SwitchPort> for Places {
    /// The first of them.
    fn from_iter<I: IntoIterator<Item = SwitchPort>>(places: I) -> Places {
        let mut all = Places::default();
        for place in places {
            if all.len < PLACES_MAX && all.iter().all(|had| had != place) {
                all.places[all.len] = place;
                all.len += 1;
            }
        }
        all
    }
}

/// A frame in answer to another: to its sender, with its tags.
pub(crate) fn answer(request: &Ethernet<'_>, from: [u8; 6], payload: &[&[u8]]) -> Vec<u8> {
    let mut frame = [request.source(), from].concat();
    for tag in request.tags() {
        frame.extend(tag.tpid.to_be_bytes());
        frame.extend(tag.tci.to_be_bytes());
    }
    frame.extend(request.ethertype().to_be_bytes());
    payload.iter().for_each(|part| frame.extend_from_slice(part));
    frame.resize(frame.len().max(ethernet::MIN_LEN), 0);
    frame
}

/// Whether a frame is for one host only.
pub(crate) fn is_for_one(frame: &Ethernet<'_>) -> bool {
    frame.destination()[0] & 1 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_once_and_not_more_than_there_is_room_for() {
        let port = |number| SwitchPort::new(1, number);
        let places: Places = [1, 2, 1, 3, 4, 5].map(port).into_iter().collect();
        assert_eq!(places.iter().collect::<Vec<_>>(), [1, 2, 3, 4].map(port));
        assert_eq!(Places::default().iter().count(), 0);
    }

    #[test]
    fn an_answer_keeps_the_tags() {
        let request = [&[0xff; 6][..], &[2; 6], &[0x81, 0, 0xa0, 42, 8, 6, 9]].concat();
        let bytes = answer(&Ethernet::new(&request).unwrap(), [4; 6], &[b"payload"]);
        let frame = Ethernet::new(&bytes).unwrap();
        assert_eq!((frame.destination(), frame.source()), ([2; 6], [4; 6]));
        assert_eq!((frame.vlan(), frame.ethertype(), bytes.len()), (Some(42), 0x0806, 60));
        assert_eq!(
            (frame.tags().next().unwrap().priority(), &frame.payload()[..7]),
            (5, &b"payload"[..])
        );
    }
}
