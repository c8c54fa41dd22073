//! What is known of kept flows, for readers: a part of the World for each application that keeps
//! some.

use core::fmt;
use core::marker::PhantomData;
use std::collections::BTreeMap;
use std::sync::Arc;

use aldis_control::Time;
use aldis_control::world::{Part, PublishCtx, Publisher, Shards};
use aldis_wire::DatapathId;

/// Pieces that the versions share.
const SHARDS: usize = 128;

/// Whose flows they are.
pub trait Whose: Send + Sync + 'static {
    /// The name of the part.
    const PART: &'static str;
}

/// Of each switch, the flows that an application keeps there.
pub struct KeptFlows<W>(Shards<BTreeMap<DatapathId, Entries>>, PhantomData<W>);

/// The flows of one switch, in the order of the configuration.
type Entries = Arc<[Entry]>;

impl<W> fmt::Debug for KeptFlows<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().flatten()).finish()
    }
}

/// One of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its name.
    pub name: Arc<str>,
    /// What became of it.
    pub status: Status,
}

/// What became of a flow that should be there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Status {
    /// It was sent, or is about to be.
    Sent,
    /// It is there.
    There,
    /// The switch's table is full: it comes when there is room.
    NoRoom,
    /// The switch refused it, in these words.
    Refused(String),
    /// The switch's version of OpenFlow, or what else has to be said of the switch, has no way to
    /// say it; why.
    Unsupported(String),
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Sent => f.write_str("sent, and not confirmed yet"),
            Status::There => f.write_str("there"),
            Status::NoRoom => {
                f.write_str("the switch's table is full; it is sent again when there may be room")
            }
            Status::Refused(words) => write!(f, "refused: {words}"),
            Status::Unsupported(why) => write!(f, "not sent: {why}"),
        }
    }
}

impl<W> KeptFlows<W> {
    /// The flows that should be at this switch; none where it is not connected.
    pub fn of(&self, dpid: DatapathId) -> &[Entry] {
        self.0.of(dpid.0).get(&dpid).map_or(&[], |entries| entries)
    }

    /// Those of every switch that is connected.
    pub fn iter(&self) -> impl Iterator<Item = (DatapathId, &[Entry])> {
        self.0.iter().flatten().map(|(dpid, entries)| (*dpid, &**entries))
    }
}

/// What is told of a switch: its flows, or that it is gone.
#[derive(Debug)]
pub struct Report {
    pub(crate) dpid: DatapathId,
    pub(crate) entries: Option<Entries>,
}

impl<W: Whose> Part for KeptFlows<W> {
    type Report = Report;
    const NAME: &'static str = W::PART;
}

/// Makes it.
pub(crate) struct Keeper<W>(PhantomData<W>);

impl<W> Default for Keeper<W> {
    fn default() -> Self {
        Keeper(PhantomData)
    }
}

impl<W: Whose> Publisher for Keeper<W> {
    type Part = KeptFlows<W>;

    fn begin(&mut self) -> KeptFlows<W> {
        KeptFlows(Shards::new(SHARDS), PhantomData)
    }

    fn revise(&mut self, _: Time, mut ctx: PublishCtx<'_, KeptFlows<W>>) -> Option<KeptFlows<W>> {
        let mut flows = KeptFlows(ctx.current().0.clone(), PhantomData);
        while let Some(Report { dpid, entries }) = ctx.report() {
            let switches = flows.0.of_mut(dpid.0);
            match entries {
                Some(entries) => drop(switches.insert(dpid, entries)),
                None => drop(switches.remove(&dpid)),
            }
        }
        Some(flows)
    }
}
