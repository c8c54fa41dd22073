//! The switch map: the connections of each switch, for output to switches other than those of a
//! batch.
//!
//! Workers in the middle of a batch and handles read it without a lock. It is written when a switch
//! comes or goes. It is kept in pieces, and a change copies one piece: of the largest engine's
//! switches some hundred.

use std::collections::HashMap;
use std::sync::Arc;

use aldis_wire::DatapathId;
use arc_swap::ArcSwap;

use crate::conn::Conn;

const PIECES: usize = 256;

type Piece<S> = HashMap<DatapathId, MapEntry<S>>;

/// The connections of a switch.
#[derive(Debug)]
pub(crate) struct MapEntry<S> {
    pub(crate) main: Arc<Conn<S>>,
    pub(crate) auxiliaries: Vec<Arc<Conn<S>>>,
}

impl<S> Clone for MapEntry<S> {
    fn clone(&self) -> Self {
        MapEntry { main: Arc::clone(&self.main), auxiliaries: self.auxiliaries.clone() }
    }
}

/// The connections of all switches that can be programmed.
#[derive(Debug)]
pub(crate) struct SwitchMap<S>(Box<[ArcSwap<Piece<S>>]>);

impl<S> Default for SwitchMap<S> {
    fn default() -> Self {
        SwitchMap((0..PIECES).map(|_| ArcSwap::default()).collect())
    }
}

impl<S> SwitchMap<S> {
    /// The switch can be programmed, by this connection.
    pub(crate) fn enter(&self, switch: DatapathId, conn: &Arc<Conn<S>>) {
        self.change(switch, |piece| {
            let entry = MapEntry { main: Arc::clone(conn), auxiliaries: vec![] };
            piece.insert(switch, entry);
        });
    }

    /// The switch has this connection besides.
    pub(crate) fn enter_auxiliary(&self, switch: DatapathId, conn: &Arc<Conn<S>>) {
        self.change(switch, |piece| {
            let entry = piece.get_mut(&switch).into_iter();
            entry.for_each(|entry| entry.auxiliaries.push(Arc::clone(conn)));
        });
    }

    /// The connection is gone; with a main connection go those that it had besides.
    pub(crate) fn leave(&self, switch: DatapathId, conn: &Conn<S>) {
        self.change(switch, |piece| {
            let Some(entry) = piece.get_mut(&switch) else { return };
            if entry.main.id == conn.id {
                piece.remove(&switch);
            } else {
                entry.auxiliaries.retain(|there| there.id != conn.id);
            }
        });
    }

    /// The connection of a switch.
    pub(crate) fn find(&self, switch: DatapathId) -> Option<Arc<Conn<S>>> {
        self.piece(switch).load().get(&switch).map(|entry| Arc::clone(&entry.main))
    }

    /// All connections of a switch.
    pub(crate) fn entry(&self, switch: DatapathId) -> Option<MapEntry<S>> {
        self.piece(switch).load().get(&switch).cloned()
    }

    /// All connections of all switches, in no order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = MapEntry<S>> {
        self.0.iter().flat_map(|piece| piece.load().values().cloned().collect::<Vec<_>>())
    }

    fn change(&self, switch: DatapathId, change: impl Fn(&mut Piece<S>)) {
        self.piece(switch).rcu(|piece| {
            let mut piece = Piece::clone(piece);
            change(&mut piece);
            piece
        });
    }

    fn piece(&self, switch: DatapathId) -> &ArcSwap<Piece<S>> {
        // Numbers that people give count up in the lowest byte, those that vendors give in one of
        // the last three.
        let DatapathId(number) = switch;
        let place = number ^ number >> 8 ^ number >> 16;
        &self.0[place as usize % PIECES]
    }
}
