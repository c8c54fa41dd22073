//! A recording on its way from the controller to the client that asked for it.
//!
//! The controller's recorder sends pieces, and never waits: what finds no room is told apart from a
//! client that is gone. What is in the pieces is not known here.

use std::time::Duration;

use aldis_wire::DatapathId;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::limits::RECORDING_PIECES_MAX;

/// What is to be recorded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecordingRequest {
    /// These switches, and connections that have not said yet which switch they are; all where
    /// there is none.
    pub switches: Vec<DatapathId>,
    /// What is kept of so long before now, and nothing more; from now on where it is absent.
    pub last: Option<Duration>,
}

/// The recorder's end.
#[derive(Debug)]
pub struct RecordingSender {
    pieces: Sender<Vec<u8>>,
    spare: Receiver<Vec<u8>>,
}

/// The server's end.
#[derive(Debug)]
pub struct RecordingReceiver {
    pieces: Receiver<Vec<u8>>,
    spare: Sender<Vec<u8>>,
}

/// A piece that is sent to a client. Its memory goes back to the recorder behind that, which would
/// otherwise ask the kernel for new pages for each piece.
pub(crate) struct RecordingPiece {
    bytes: Vec<u8>,
    spare: Sender<Vec<u8>>,
}

impl AsRef<[u8]> for RecordingPiece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for RecordingPiece {
    fn drop(&mut self) {
        // Where there are enough, or the recorder is gone, the memory is given up.
        let _ = self.spare.try_send(std::mem::take(&mut self.bytes));
    }
}

impl RecordingReceiver {
    /// The pieces that are there, without waiting for more.
    pub fn pieces(&mut self) -> impl Iterator<Item = Vec<u8>> {
        std::iter::from_fn(|| self.pieces.try_recv().ok())
    }

    /// The next piece; nothing where there will be none.
    pub(crate) async fn next_piece(&mut self) -> Option<RecordingPiece> {
        let bytes = self.pieces.recv().await?;
        Some(RecordingPiece { bytes, spare: self.spare.clone() })
    }
}

/// What became of a piece.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SentPiece {
    /// It is on its way.
    Sent,
    /// The client does not keep up: the piece, to be sent later.
    Full(Vec<u8>),
    /// The client is gone.
    Gone,
}

/// Both ends.
pub fn channel() -> (RecordingSender, RecordingReceiver) {
    let (sender, receiver) = mpsc::channel(RECORDING_PIECES_MAX);
    let (given_back, spare) = mpsc::channel(RECORDING_PIECES_MAX);
    let receiver = RecordingReceiver { pieces: receiver, spare: given_back };
    (RecordingSender { pieces: sender, spare }, receiver)
}

impl RecordingSender {
    /// Sends a piece, if there is room.
    pub fn send(&self, piece: Vec<u8>) -> SentPiece {
        match self.pieces.try_send(piece) {
            Ok(()) => SentPiece::Sent,
            Err(TrySendError::Full(piece)) => SentPiece::Full(piece),
            Err(TrySendError::Closed(_)) => SentPiece::Gone,
        }
    }

    /// The memory of a piece that was sent, empty.
    pub fn spare(&mut self) -> Option<Vec<u8>> {
        let mut spare = self.spare.try_recv().ok()?;
        spare.clear();
        Some(spare)
    }

    /// Whether the client is gone.
    pub fn is_gone(&self) -> bool {
        self.pieces.is_closed()
    }
}
