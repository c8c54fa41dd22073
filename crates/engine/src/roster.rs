//! Which switch has which connection, for whoever has something to say to a switch that is not in hand.
//!
//! Read without a lock, by workers in the middle of a batch; written when a switch comes or goes. It is kept in pieces, and
//! a change makes one piece anew: of the largest engine's switches some hundred.

use std::collections::HashMap;
use std::sync::Arc;

use aldis_wire::DatapathId;
use arc_swap::ArcSwap;

use crate::conn::Conn;

const PIECES: usize = 256;

type Piece<S> = HashMap<DatapathId, Arc<Conn<S>>>;

/// The main connections of all switches that can be programmed.
#[derive(Debug)]
pub(crate) struct Roster<S>(Box<[ArcSwap<Piece<S>>]>);

impl<S> Default for Roster<S> {
    fn default() -> Self {
        Roster((0..PIECES).map(|_| ArcSwap::default()).collect())
    }
}

impl<S> Roster<S> {
    /// The switch can be programmed, by this connection.
    pub(crate) fn enter(&self, switch: DatapathId, conn: &Arc<Conn<S>>) {
        self.piece(switch).rcu(|piece| {
            let mut piece = Piece::clone(piece);
            piece.insert(switch, Arc::clone(conn));
            piece
        });
    }

    /// The connection is gone.
    pub(crate) fn leave(&self, switch: DatapathId, conn: &Conn<S>) {
        self.piece(switch).rcu(|piece| {
            let mut piece = Piece::clone(piece);
            if piece.get(&switch).is_some_and(|there| there.id == conn.id) {
                piece.remove(&switch);
            }
            piece
        });
    }

    /// The connection of a switch.
    pub(crate) fn find(&self, switch: DatapathId) -> Option<Arc<Conn<S>>> {
        self.piece(switch).load().get(&switch).cloned()
    }

    fn piece(&self, switch: DatapathId) -> &ArcSwap<Piece<S>> {
        // Numbers that people give count up in the lowest byte, those that vendors give in one of the last three.
        let DatapathId(number) = switch;
        let place = number ^ number >> 8 ^ number >> 16;
        &self.0[place as usize % PIECES]
    }
}
