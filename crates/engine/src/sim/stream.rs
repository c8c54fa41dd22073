//! Bytes on their way from an emulated switch: most of them are flow requests, which are written
//! out only when they are read.

use std::collections::VecDeque;

/// A PACKET_IN of OpenFlow 1.0 with the first 64 bytes of a frame that the switch keeps: the
/// commonest request.
pub(super) const REQUEST_LEN: usize = 82;

/// All of it but the transaction id.
const REQUEST: [u8; REQUEST_LEN] = {
    let mut image = [0; REQUEST_LEN];
    // Header: version 1, OFPT_PACKET_IN, length, xid.
    (image[0], image[1], image[3]) = (1, 10, REQUEST_LEN as u8);
    // buffer_id 9, total_len 64, in_port 1, reason OFPR_NO_MATCH.
    (image[11], image[13], image[15]) = (9, 64, 1);
    // Ethernet: to 02::02 from 02::01, an ethertype for experiments.
    (image[18], image[23], image[24], image[29]) = (2, 2, 2, 1);
    (image[30], image[31]) = (0x88, 0xb5);
    image
};

/// What was sent and not read.
#[derive(Debug, Default)]
pub(super) struct SimStream {
    pieces: VecDeque<StreamPiece>,
    len: usize,
}

#[derive(Debug)]
enum StreamPiece {
    /// These bytes, from the place that was not read yet.
    Bytes(Vec<u8>, usize),
    /// So many requests whose transaction ids follow each other.
    Requests { first: u32, count: u32 },
}

impl SimStream {
    /// Bytes in it.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, bytes: Vec<u8>) {
        self.len += bytes.len();
        self.pieces.push_back(StreamPiece::Bytes(bytes, 0));
    }

    pub(super) fn push_requests(&mut self, first: u32, more: u32) {
        self.len += more as usize * REQUEST_LEN;
        match self.pieces.back_mut() {
            Some(StreamPiece::Requests { first: before, count }) if *before + *count == first => {
                *count += more;
            }
            _ => self.pieces.push_back(StreamPiece::Requests { first, count: more }),
        }
    }

    /// Moves as much as there is and fits to the front of `into`.
    pub(super) fn take(&mut self, into: &mut [u8]) -> usize {
        let mut at = 0;
        while at < into.len()
            && let Some(piece) = self.pieces.front_mut()
        {
            let (took, left) = piece.take(&mut into[at..]);
            at += took;
            match left {
                PieceRest::All => {}
                PieceRest::Nothing => drop(self.pieces.pop_front()),
                PieceRest::Half(rest) => self.pieces.push_front(StreamPiece::Bytes(rest, 0)),
            }
        }
        self.len -= at;
        at
    }
}

/// What is left of a piece.
enum PieceRest {
    Nothing,
    /// What the piece says now.
    All,
    /// The end of a request, before what the piece says now.
    Half(Vec<u8>),
}

impl StreamPiece {
    fn take(&mut self, into: &mut [u8]) -> (usize, PieceRest) {
        match self {
            StreamPiece::Bytes(bytes, from) => {
                let some = (bytes.len() - *from).min(into.len());
                into[..some].copy_from_slice(&bytes[*from..*from + some]);
                *from += some;
                (some, if *from == bytes.len() { PieceRest::Nothing } else { PieceRest::All })
            }
            StreamPiece::Requests { count: 0, .. } => (0, PieceRest::Nothing),
            StreamPiece::Requests { first, count } => {
                let mut at = 0;
                while *count > 0
                    && let Some(room) = into[at..].first_chunk_mut()
                {
                    *room = request(*first);
                    at += REQUEST_LEN;
                    (*first, *count) = (*first + 1, *count - 1);
                }
                let rest = into.len() - at;
                if *count == 0 {
                    return (at, PieceRest::Nothing);
                }
                if rest == 0 {
                    return (at, PieceRest::All);
                }
                let cut = request(*first);
                (*first, *count) = (*first + 1, *count - 1);
                into[at..].copy_from_slice(&cut[..rest]);
                (at + rest, PieceRest::Half(cut[rest..].to_vec()))
            }
        }
    }
}

fn request(xid: u32) -> [u8; REQUEST_LEN] {
    let mut bytes = REQUEST;
    bytes[4..8].copy_from_slice(&xid.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_wire::v10::Message;

    #[test]
    fn it_is_the_same_stream_however_it_is_read() {
        let stream = || {
            let mut stream = SimStream::default();
            stream.push(vec![1, 2, 3]);
            stream.push_requests(1, 2);
            stream.push_requests(3, 1);
            stream.push(vec![4]);
            stream
        };
        let mut whole = [0; 300];
        let len = stream().take(&mut whole);
        assert_eq!(len, 3 + 3 * REQUEST_LEN + 1);
        for step in [1, 2, 81, 82, 83, 165] {
            let (mut stream, mut bytes) = (stream(), Vec::new());
            let mut room = vec![0; step];
            while stream.len() > 0 {
                let took = stream.take(&mut room);
                bytes.extend_from_slice(&room[..took]);
            }
            assert_eq!(bytes, whole[..len], "{step} bytes at a time");
            assert_eq!(stream.take(&mut room), 0);
        }
    }

    #[test]
    fn a_request_is_a_packet_in() {
        let (xid, message) = Message::decode(&request(7)).unwrap();
        assert_eq!(xid, 7);
        let Message::PacketIn(packet_in) = message else { panic!("{message:?}") };
        assert_eq!((packet_in.total_len, packet_in.data.len()), (64, 64));
    }
}
