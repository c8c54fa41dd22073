//! The application: it asks for statistics, and gathers the parts of each reply.

use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use core::time::Duration;
use std::collections::HashMap;

use aldis_control::app::{Event, EventCtx, Next, Parallel, TickCtx, Timer};
use aldis_control::switch::SwitchInfo;
use aldis_control::world::Publishers;
use aldis_control::{App, Commands, EventKind, Output, Time};
use aldis_wire::DatapathId;
use aldis_wire::msg::{Message, StatsFlags, StatsReply, StatsRequest};

use super::multipart::Multipart;
use super::statistics::{MonitorReport, StatisticsPublisher};
use super::{MonitorConfig, Statistics, StatisticsKind};

/// Requests of one worker that await their replies. Four of each of ten thousand switches, and room
/// to spare.
const OPEN_MAX: usize = 65_536;

/// The application: one instance for each worker, which gathers the replies to what it asked.
#[derive(Debug)]
pub struct Monitor {
    config: MonitorConfig,
    open: HashMap<u32, OpenRequest>,
}

/// A request that awaits its reply, or the rest of it.
#[derive(Debug)]
struct OpenRequest {
    dpid: DatapathId,
    since: Time,
    multipart: Multipart,
}

/// When a switch is asked next, and what it refused.
#[derive(Debug)]
pub struct AskSchedule {
    due: AtomicU64,
    refused: AtomicU8,
}

impl Monitor {
    /// An instance; those of other workers get the same settings.
    pub fn new(config: MonitorConfig) -> Monitor {
        Monitor { config, open: HashMap::new() }
    }

    fn ask(&mut self, ctx: &EventCtx<'_, Parallel<AskSchedule>>, out: &mut Output) {
        if ctx.now.0 < ctx.slot.due.load(Ordering::Relaxed) {
            return;
        }
        ctx.slot.due.store((ctx.now + self.config.interval).0, Ordering::Relaxed);
        let refused = ctx.slot.refused.load(Ordering::Relaxed);
        for kind in StatisticsKind::ALL {
            let wanted = self.config.kinds[kind as usize] && refused & kind.bit() == 0;
            if wanted && self.open.len() < OPEN_MAX {
                let xid = out.xid();
                if out.send_message(ctx.switch, xid, StatsRequest::new(kind.request())) {
                    let multipart = Multipart::new(kind, self.config.flows_max, ctx.account);
                    let open = OpenRequest { dpid: ctx.switch.dpid, since: ctx.now, multipart };
                    self.open.insert(xid, open);
                }
            }
        }
    }

    /// A part of a reply to one of ours.
    fn hear(
        &mut self,
        ctx: &EventCtx<'_, Parallel<AskSchedule>>,
        xid: u32,
        message: &Message,
        out: &mut Output,
    ) {
        let Some(open) = self.open.get_mut(&xid).filter(|open| open.dpid == ctx.switch.dpid) else {
            return;
        };
        let more = match message {
            Message::StatsReply(StatsReply { flags, body }) if open.multipart.add(body) => {
                flags.contains(StatsFlags::MORE)
            }
            // What cannot be read is no sample.
            _ => {
                self.open.remove(&xid);
                return;
            }
        };
        if !more && let Some(open) = self.open.remove(&xid) {
            let sample = Some((ctx.now, open.multipart));
            // Where there is no room for it, the next one comes an interval later.
            let _ = out.report::<Statistics>(MonitorReport { dpid: open.dpid, sample });
        }
    }

    fn is_mine(&self, xid: u32, dpid: DatapathId) -> bool {
        self.open.get(&xid).is_some_and(|open| open.dpid == dpid)
    }
}

impl App for Monitor {
    type Slot = Parallel<AskSchedule>;

    const NAME: &'static str = "monitor";
    const EVENTS: &'static [EventKind] =
        &[EventKind::Second, EventKind::Reply, EventKind::Error, EventKind::Down, EventKind::Timer];

    fn init_switch(&mut self, now: Time, switch: &SwitchInfo) -> AskSchedule {
        let seconds = self.config.interval.as_secs().max(1);
        let own = switch.dpid.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let due = now + Duration::from_secs(own % seconds);
        AskSchedule { due: AtomicU64::new(due.0), refused: AtomicU8::new(0) }
    }

    fn event(&mut self, ctx: EventCtx<'_, Self::Slot>, event: &Event, out: &mut Output) -> Next {
        match event {
            Event::Second => self.ask(&ctx, out),
            Event::Reply { xid, message } if self.is_mine(*xid, ctx.switch.dpid) => {
                self.hear(&ctx, *xid, message, out);
                return Next::Stop;
            }
            Event::Error(error) if self.is_mine(error.xid, ctx.switch.dpid) => {
                if let Some(open) = self.open.remove(&error.xid) {
                    ctx.slot.refused.fetch_or(open.multipart.kind().bit(), Ordering::Relaxed);
                }
                return Next::Stop;
            }
            Event::Down => {
                let gone = MonitorReport { dpid: ctx.switch.dpid, sample: None };
                let _ = out.report::<Statistics>(gone);
            }
            _ => {}
        }
        Next::Continue
    }

    fn timer(&self) -> Timer {
        Timer::OnEach(self.config.interval)
    }

    /// A switch that has not answered by the second sample after will not.
    fn tick(&mut self, ctx: TickCtx<'_>, _: &mut Commands) {
        let patience = 2 * self.config.interval;
        self.open.retain(|_, open| ctx.now.since(open.since) <= patience);
    }

    fn publishers(&self) -> Publishers {
        Publishers::of(StatisticsPublisher::new(self.config.interval))
    }
}
