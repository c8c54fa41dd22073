//! The part of a sandboxed application on one worker: an [`App`] like any other.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use aldis_control::app::{Event, EventCtx, Next, Slots, TickCtx, Timer};
use aldis_control::switch::SwitchInfo;
use aldis_control::{App, Batch, Commands, EventKind, Output, Time};
use aldis_records::{CommandReader, EventPlace, Events, Garbage, NO_INDEX, kind};

use crate::application::Hosted;
use crate::apply::{Applier, Target};
use crate::fault::{Fault, FaultKind};
use crate::limits::{BATCH_BYTES_MAX, COMMAND_BYTES, COMMANDS, XIDS_MAX};
use crate::lines::Level;
use crate::manifest::Instances;
use crate::slot::{InstanceSlot, Running};

/// The part of a sandboxed application on one worker.
///
/// Its name and its events are those of the manifest; [`App::NAME`] is what all of them share.
pub struct Sandboxed {
    hosted: Arc<Hosted>,
    slot: Arc<InstanceSlot>,
    /// The events of a call; its room is reused.
    events: Events,
    /// The run of each request of the batch.
    runs: Vec<u32>,
    applier: Applier,
}

impl std::fmt::Debug for Sandboxed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandboxed").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl Drop for Sandboxed {
    fn drop(&mut self) {
        self.hosted.give_up(&self.slot);
    }
}

/// Transaction ids that were taken for an application's messages, with the ids that it chose
/// itself.
#[derive(Default)]
pub(crate) struct XidTable(VecDeque<(u32, u32)>);

impl XidTable {
    /// Notes that `ours` stands for `theirs`.
    pub(crate) fn note(&mut self, ours: u32, theirs: u32) {
        if self.0.len() == XIDS_MAX {
            self.0.pop_front();
        }
        self.0.push_back((ours, theirs));
    }

    /// The application's own id.
    fn theirs(&self, ours: u32) -> Option<u32> {
        self.0.iter().rev().find(|(of_us, _)| *of_us == ours).map(|(_, theirs)| *theirs)
    }
}

impl Sandboxed {
    pub(crate) fn new(hosted: Arc<Hosted>, slot: Arc<InstanceSlot>) -> Sandboxed {
        let applier = Applier::new(Arc::clone(&hosted));
        let (events, runs) = (Events::default(), Vec::new());
        Sandboxed { hosted, slot, events, runs, applier }
    }

    /// The name of its manifest.
    pub fn name(&self) -> &str {
        &self.hosted.manifest.name
    }

    /// The kinds of events that its manifest asks for, and those that it has to be called for in
    /// any case: up and down, because its host keeps account of the switches.
    pub fn is_called_for(&self, kind: EventKind) -> bool {
        self.hosted.manifest.is_called_for(kind)
    }

    /// Writes the requests of a batch from `first` on, as many as fit one call; says where to go
    /// on.
    fn write_requests(
        &mut self,
        batch: &Batch<'_>,
        from: (usize, usize),
    ) -> Option<(usize, usize)> {
        let requests_max = self.slot.requests_max();
        let record = if batch.kind == EventKind::Lldp { kind::LLDP } else { kind::PACKET_IN };
        let frame_max = self.hosted.manifest.frame_bytes;
        self.events.begin(batch.now);
        for (run, stretch) in batch.runs.iter().enumerate().skip(from.0) {
            let switch = &batch.switches[stretch.switch].info;
            if !self.hosted.grants.switches.has(switch.dpid.0) {
                continue;
            }
            let mut at = EventPlace::at(switch, 0);
            at.run = run as u32;
            let first = stretch.requests.start.max(if run == from.0 { from.1 } else { 0 });
            for index in first..stretch.requests.end {
                let request = &batch.requests[index];
                if request.stopped {
                    continue;
                }
                if self.events.len() >= BATCH_BYTES_MAX || self.events.count() >= requests_max {
                    return Some((run, index));
                }
                let frame = batch.frame(request);
                at.index = index as u32;
                self.events.request(record, at, request, &frame[..frame.len().min(frame_max)]);
            }
        }
        None
    }

    /// Notes the run of each request, also of those that are not handed over: a component may name
    /// them all the same.
    fn note_runs(&mut self, batch: &Batch<'_>) {
        self.runs.clear();
        self.runs.resize(batch.requests.len(), 0);
        for (run, stretch) in batch.runs.iter().enumerate() {
            self.runs[stretch.requests.clone()].fill(run as u32);
        }
    }

    /// Hands over what happened at a switch, where the manifest asks for it.
    fn hand_over(
        &mut self,
        now: Time,
        switch: &SwitchInfo,
        event: &Event,
        out: &mut Output,
    ) -> Next {
        let is_wanted = self.slot.is_filled()
            && self.hosted.manifest.sees(event.kind())
            && self.hosted.grants.switches.has(switch.dpid.0);
        let xid = match event {
            Event::Reply { xid, .. } => self.applier.xids.theirs(*xid),
            Event::Error(error) => Some(self.applier.xids.theirs(error.xid).unwrap_or(error.xid)),
            Event::Unsolicited { xid, .. } => Some(*xid),
            _ => Some(0),
        };
        let (true, Some(xid)) = (is_wanted, xid) else { return Next::Continue };
        self.events.begin(now);
        let index = if matches!(event, Event::Down) { NO_INDEX } else { 0 };
        if !self.events.event(EventPlace::at(switch, index), switch, event, xid) {
            return Next::Continue;
        }
        let mut target = Target::Event { switch, xid, out, stopped: false };
        self.call(&mut target, now);
        match target {
            Target::Event { stopped: true, .. } => Next::Stop,
            _ => Next::Continue,
        }
    }

    /// Hands the events over and does what is answered. False where the application failed.
    fn call(&mut self, target: &mut Target<'_, '_>, now: Time) -> bool {
        let Sandboxed { hosted, slot, events, applier, .. } = self;
        let mut running = slot.lock();
        let Some(Running { instance, greeted, .. }) = running.as_mut() else { return false };
        let mut done = Ok(());
        if !*greeted {
            *greeted = true;
            done = greet(hosted, instance, applier, target.commands(), now);
        }
        if !events.is_empty() {
            done = done.and_then(|()| {
                let count = events.count();
                let answer = instance.batch(events.finish());
                hosted.counted.note_busy(instance.since_called());
                slot.note_trial(instance);
                let commands = answer?;
                hosted.counted.batches.fetch_add(1, Ordering::Relaxed);
                let checked = check(&commands, target.indices(), (count, events.len()))
                    .map_err(|fault| fault.after(instance.last_line()))?;
                let applied = applier.apply(checked, target, now);
                if let Some(candidate) = hosted.candidate() {
                    let words = candidate.compare(events, &commands);
                    words.into_iter().for_each(|words| target.commands().failed(words));
                }
                applied
            });
        }
        if instance.has_lines() {
            tell_lines(hosted, instance, target.commands());
        }
        match done {
            Ok(()) => true,
            Err(fault) => {
                let words = hosted.fail(slot, &mut running, fault);
                target.commands().failed(words);
                false
            }
        }
    }
}

/// Tells a new instance of the switches that are there.
fn greet(
    hosted: &Hosted,
    instance: &mut crate::instance::Instance,
    applier: &mut Applier,
    commands: &mut Commands,
    now: Time,
) -> Result<(), Fault> {
    if !hosted.manifest.sees(EventKind::Up) {
        return Ok(());
    }
    hosted.describe_switches(|events| {
        let count = events.count();
        let answer = instance.greet(events.finish());
        hosted.counted.note_busy(instance.since_called());
        let answer = answer?;
        let checked = check(&answer, 0, (count, events.len()))?;
        applier.apply(checked, &mut Target::Elsewhere { commands }, now)
    })
}

/// Commands that answer so many events of so many bytes, with indices below `indices`.
fn check(
    commands: &[u8],
    indices: u32,
    (count, len): (u32, usize),
) -> Result<CommandReader<'_>, Fault> {
    let bytes_max = COMMAND_BYTES.0 * len + COMMAND_BYTES.1;
    if commands.len() > bytes_max {
        return Err(Fault::new(FaultKind::Flood, Garbage::TooLong(bytes_max).to_string()));
    }
    let most = COMMANDS.0 * count as usize + COMMANDS.1;
    CommandReader::check(commands, indices, most).map_err(|garbage| {
        let kind = match garbage {
            Garbage::Field { .. } => FaultKind::Garbage,
            Garbage::TooMany(_) | Garbage::TooLong(_) => FaultKind::Flood,
        };
        Fault::new(kind, garbage.to_string())
    })
}

/// Passes on what the application wrote to its log.
fn tell_lines(hosted: &Hosted, instance: &mut crate::instance::Instance, commands: &mut Commands) {
    for line in instance.take_lines() {
        let words = format!("{}: {}", hosted.manifest.name, line.text);
        match line.level {
            Level::Info => commands.info(words),
            Level::Warning => commands.warn(words),
        }
        hosted.history.push(line);
    }
}

impl App for Sandboxed {
    type Slot = ();

    const NAME: &'static str = "sandboxed";

    const EVENTS: &'static [EventKind] = &[
        EventKind::Joining,
        EventKind::Up,
        EventKind::Down,
        EventKind::PortChange,
        EventKind::FlowRequest,
        EventKind::Lldp,
        EventKind::FlowRemoved,
        EventKind::Error,
        EventKind::Reply,
        EventKind::Unsolicited,
        EventKind::Second,
        EventKind::Timer,
    ];

    fn packet_ins(&mut self, batch: &mut Batch<'_>, _: Slots<'_, ()>, out: &mut Output) {
        if !self.slot.is_filled() || !self.hosted.manifest.sees(batch.kind) {
            return;
        }
        self.note_runs(batch);
        let mut from = Some((0, 0));
        while let Some(first) = from {
            from = self.write_requests(batch, first);
            if self.events.is_empty() {
                return;
            }
            let count = u64::from(self.events.count());
            self.hosted.counted.requests.fetch_add(count, Ordering::Relaxed);
            let (now, runs) = (batch.now, mem::take(&mut self.runs));
            let mut target = Target::Batch { batch, runs: &runs, out };
            let goes_on = self.call(&mut target, now);
            self.runs = runs;
            if !goes_on {
                return;
            }
        }
    }

    fn event(&mut self, ctx: EventCtx<'_, ()>, event: &Event, out: &mut Output) -> Next {
        if matches!(event, Event::Down) {
            self.hosted.forget_switch(ctx.switch.dpid.0);
        }
        let next = self.hand_over(ctx.now, ctx.switch, event, out);
        if matches!(event, Event::Up) {
            // Afterwards: a new instance is told of the switches that were there before.
            self.hosted.note_switch(ctx.switch.clone());
        }
        next
    }

    fn timer(&self) -> Timer {
        let interval = Duration::from_millis(self.hosted.manifest.tick_ms.into());
        match (self.hosted.manifest.tick_ms, self.hosted.manifest.instances) {
            (0, _) => Timer::Never,
            (_, Instances::One) => Timer::OnOne(interval),
            (_, Instances::PerWorker) => Timer::OnEach(interval),
        }
    }

    fn tick(&mut self, ctx: TickCtx<'_>, commands: &mut Commands) {
        if !self.slot.is_filled() || self.hosted.manifest.tick_ms == 0 {
            return;
        }
        let Sandboxed { hosted, slot, applier, .. } = self;
        let mut running = slot.lock();
        let Some(Running { instance, .. }) = running.as_mut() else { return };
        let done = instance.tick(ctx.now.0).and_then(|answer| {
            let checked = check(&answer, 0, (0, 0))?;
            applier.apply(checked, &mut Target::Elsewhere { commands }, ctx.now)
        });
        if instance.has_lines() {
            tell_lines(hosted, instance, commands);
        }
        if let Err(fault) = done {
            commands.failed(hosted.fail(slot, &mut running, fault));
        }
    }
}
