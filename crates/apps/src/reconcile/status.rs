//! The status of reconciled flows, for readers: a part of the World for each application that owns
//! some.

use core::fmt;
use core::marker::PhantomData;
use std::collections::BTreeMap;
use std::sync::Arc;

use aldis_control::Time;
use aldis_control::world::{Counts, Part, PublishCtx, Publisher, Shards};
use aldis_wire::DatapathId;

/// Pieces that the versions share.
const SHARDS: usize = 128;

/// The application that owns the flows.
pub trait Owner: Send + Sync + 'static {
    /// The name of the part.
    const PART: &'static str;
}

/// Of each switch, the flows that an application keeps there.
pub struct FlowStatuses<W>(Shards<BTreeMap<DatapathId, Entries>>, PhantomData<W>);

/// The flows of one switch, in the order of the configuration.
type Entries = Arc<[FlowStatus]>;

impl<W> fmt::Debug for FlowStatuses<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().flatten()).finish()
    }
}

/// One flow and its status.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowStatus {
    /// Its name.
    pub name: Arc<str>,
    /// Whether it is on the switch.
    pub status: Status,
}

/// Whether a desired flow is on its switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Status {
    /// It was sent, or is about to be.
    Sent,
    /// It is on the switch.
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

impl<W> FlowStatuses<W> {
    /// The flows that should be at this switch; none where it is not connected.
    pub fn of(&self, dpid: DatapathId) -> &[FlowStatus] {
        self.0.of(dpid.0).get(&dpid).map_or(&[], |entries| entries)
    }

    /// Those of every switch that is connected.
    pub fn iter(&self) -> impl Iterator<Item = (DatapathId, &[FlowStatus])> {
        self.0.iter().flatten().map(|(dpid, entries)| (*dpid, &**entries))
    }
}

/// A report about a switch: its flows, or that it is gone.
#[derive(Debug)]
pub struct SwitchFlowReport {
    pub(crate) dpid: DatapathId,
    pub(crate) entries: Option<Entries>,
}

impl<W: Owner> Part for FlowStatuses<W> {
    type Report = SwitchFlowReport;
    const NAME: &'static str = W::PART;

    /// How many flows are on switches, over all of them, and how many should be and are not.
    fn counts(&self) -> Counts {
        let (mut there, mut missing) = (0, 0);
        for entry in self.iter().flat_map(|(_, entries)| entries) {
            *if entry.status == Status::There { &mut there } else { &mut missing } += 1;
        }
        Counts { counters: vec![], now: vec![("flows_there", there), ("flows_missing", missing)] }
    }
}

/// Publishes [`FlowStatuses`].
pub(crate) struct StatusPublisher<W>(PhantomData<W>);

impl<W> Default for StatusPublisher<W> {
    fn default() -> Self {
        StatusPublisher(PhantomData)
    }
}

impl<W: Owner> Publisher for StatusPublisher<W> {
    type Part = FlowStatuses<W>;

    fn begin(&mut self) -> FlowStatuses<W> {
        FlowStatuses(Shards::new(SHARDS), PhantomData)
    }

    fn revise(
        &mut self,
        _: Time,
        mut ctx: PublishCtx<'_, FlowStatuses<W>>,
    ) -> Option<FlowStatuses<W>> {
        let mut flows = FlowStatuses(ctx.current().0.clone(), PhantomData);
        while let Some(SwitchFlowReport { dpid, entries }) = ctx.report() {
            let switches = flows.0.of_mut(dpid.0);
            match entries {
                Some(entries) => drop(switches.insert(dpid, entries)),
                None => drop(switches.remove(&dpid)),
            }
        }
        Some(flows)
    }
}
