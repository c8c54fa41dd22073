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
#[derive(Clone, Debug)]
pub struct RecordingSender(Sender<Vec<u8>>);

/// The server's end.
#[derive(Debug)]
pub struct RecordingReceiver(pub(crate) Receiver<Vec<u8>>);

impl RecordingReceiver {
    /// The pieces that are there, without waiting for more.
    pub fn pieces(&mut self) -> impl Iterator<Item = Vec<u8>> {
        std::iter::from_fn(|| self.0.try_recv().ok())
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
    (RecordingSender(sender), RecordingReceiver(receiver))
}

impl RecordingSender {
    /// Sends a piece, if there is room.
    pub fn send(&self, piece: Vec<u8>) -> SentPiece {
        match self.0.try_send(piece) {
            Ok(()) => SentPiece::Sent,
            Err(TrySendError::Full(piece)) => SentPiece::Full(piece),
            Err(TrySendError::Closed(_)) => SentPiece::Gone,
        }
    }

    /// Whether the client is gone.
    pub fn is_gone(&self) -> bool {
        self.0.is_closed()
    }
}
