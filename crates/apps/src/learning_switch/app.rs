//! The application: its state on one worker, and the events that it handles.

use aldis_control::app::{Event, EventCtx, Next, Parallel, Slots};
use aldis_control::stats::Gauge;
use aldis_control::switch::SwitchInfo;
use aldis_control::{App, Batch, EventKind, Output, Time};
use aldis_wire::Version;
use aldis_wire::msg::TableNo;

use super::batch::SwitchView;
use super::config::LearningConfig;
use super::counters::LearningCounters;
use super::hosts::SwitchHosts;
use super::removal::Removal;
use super::replies::{V10, V13};

/// The table of flows that forward where the first belongs to rules ([`aldis_control::Tables`]).
const BEHIND_RULES: TableNo = TableNo(1);

/// The application: one instance for each worker.
#[derive(Debug)]
pub struct LearningSwitch {
    pub(super) config: LearningConfig,
    pub(super) v10: V10,
    pub(super) v13: V13,
    /// For switches whose first table belongs to rules.
    pub(super) guarded: V13,
    pub(super) counters: LearningCounters,
    pub(super) views: Vec<SwitchView>,
    pub(super) scratch: Vec<u8>,
}

impl LearningSwitch {
    /// An instance; those of other workers get the same settings.
    pub fn new(config: LearningConfig) -> LearningSwitch {
        let flows = config.flows();
        LearningSwitch {
            config,
            v10: V10::new(&flows),
            v13: V13::new(&flows),
            guarded: V13::new(&flows).in_table(BEHIND_RULES),
            counters: LearningCounters::default(),
            views: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// What this instance did so far.
    pub fn counters(&self) -> &LearningCounters {
        &self.counters
    }

    /// How it removes flows from switches of a version.
    pub(super) fn removal(&mut self, version: Version) -> Removal<'_> {
        Removal { version, cookie: self.config.cookie, scratch: &mut self.scratch }
    }
}

impl App for LearningSwitch {
    type Slot = Parallel<SwitchHosts>;

    const NAME: &'static str = "learning-switch";
    const EVENTS: &'static [EventKind] =
        &[EventKind::FlowRequest, EventKind::Lldp, EventKind::PortChange, EventKind::Second];
    const COUNTS: &'static [&'static str] = LearningCounters::NAMES;

    fn count(&self, own: &[Gauge]) {
        own.iter().zip(self.counters().in_order()).for_each(|(level, count)| level.set(count));
    }

    fn init_switch(&mut self, now: Time, switch: &SwitchInfo) -> SwitchHosts {
        SwitchHosts::new(&self.config, now, &switch.ports)
    }

    fn packet_ins(&mut self, batch: &mut Batch<'_>, all: Slots<'_, Self::Slot>, out: &mut Output) {
        self.answer(batch, all, out);
        // Nothing is left to be answered: a later application would send the packet twice. Packets
        // about links are not answered here, and may be for one that comes later.
        if batch.kind == EventKind::FlowRequest {
            batch.requests.iter_mut().for_each(|request| request.stopped = true);
        }
    }

    fn event(&mut self, ctx: EventCtx<'_, Self::Slot>, event: &Event, out: &mut Output) -> Next {
        let mut removal = self.removal(ctx.switch.version);
        match event {
            Event::Second => {
                ctx.slot.second(ctx.now).for_each(|port| removal.towards_port(port, out));
            }
            Event::Port(change) if change.is_loss() => {
                ctx.slot.forget_port(change.port.number.0);
                removal.port(change.port.number.0, out);
            }
            _ => {}
        }
        Next::Continue
    }
}
