//! Commands become messages: each is held against the capabilities of the application, and
//! translated to the version that the switch speaks. What is not allowed is counted, dropped, and
//! kept as the reason of a warning.

mod flows;
mod packets;
mod stencil;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use aldis_control::switch::SwitchInfo;
use aldis_control::{Batch, Commands, Cookie, Output, Time};
use aldis_records::{Command, CommandReader, command, flags};
use aldis_wire::msg::{EncodeError, FlowMod, FlowModCommand, Message, TableNo};
use aldis_wire::{DatapathId, Version};

use crate::application::Hosted;
use crate::fault::{Fault, FaultKind};
use crate::grants::GrantedMessages;
use crate::limits::WARNING_INTERVAL;
use crate::lines::{Level, Line};
use crate::sandboxed::XidTable;
use flows::FlowTemplates;
use packets::Releases;
use stencil::Stencil;

/// Where commands go.
pub(crate) enum Target<'t, 'b> {
    /// To the switches of a batch, and to others.
    Batch {
        batch: &'t mut Batch<'b>,
        /// The run of each request.
        runs: &'t [u32],
        out: &'t mut Output,
    },
    /// To the switch of an event, and to others.
    Event { switch: &'t SwitchInfo, xid: u32, out: &'t mut Output, stopped: bool },
    /// To any switch.
    Elsewhere { commands: &'t mut Commands },
}

impl Target<'_, '_> {
    /// The way to other switches and to the operator.
    pub(crate) fn commands(&mut self) -> &mut Commands {
        match self {
            Target::Batch { out, .. } | Target::Event { out, .. } => out.commands(),
            Target::Elsewhere { commands } => commands,
        }
    }

    /// Indices of what can be answered are below this.
    pub(crate) fn indices(&self) -> u32 {
        match self {
            Target::Batch { runs, .. } => runs.len() as u32,
            Target::Event { .. } => 1,
            Target::Elsewhere { .. } => 0,
        }
    }
}

/// Why a command is refused.
type Refusal = String;

/// What turns commands into messages, on one worker.
pub(crate) struct Applier {
    hosted: Arc<Hosted>,
    pub(crate) xids: XidTable,
    flows: FlowTemplates,
    releases: Releases,
    /// What the last flow of a learning switch was made into, and for which table.
    stencil: Option<(TableNo, Stencil)>,
    cookie: Cookie,
    /// Messages that may be sent yet, and when that was last reckoned.
    allowance: (u64, Time),
    /// Commands refused since they were last warned of, and when that was.
    unwarned: (u64, Time),
}

impl Applier {
    pub(crate) fn new(hosted: Arc<Hosted>) -> Applier {
        let cookie = Cookie::of(&hosted.manifest.name);
        let allowance = (hosted.manifest.limits.messages_per_second, Time::START);
        Applier {
            hosted,
            xids: XidTable::default(),
            flows: FlowTemplates::default(),
            releases: Releases::new(),
            stencil: None,
            cookie,
            allowance,
            unwarned: (0, Time::START),
        }
    }

    /// Does what the commands say.
    ///
    /// # Errors
    /// They are more messages than the manifest allows in a second; those up to it are sent.
    pub(crate) fn apply(
        &mut self,
        commands: CommandReader<'_>,
        target: &mut Target<'_, '_>,
        now: Time,
    ) -> Result<(), Fault> {
        self.refill(now);
        let (before, mut refused, mut last, mut flood) = (self.allowance.0, 0, None, Ok(()));
        let mut stopped = 0;
        for command in commands {
            if self.allowance.0 < 2 {
                let most = self.hosted.manifest.limits.messages_per_second;
                let reason = format!("more than {most} messages in a second");
                flood = Err(Fault::new(FaultKind::Flood, reason));
                break;
            }
            stopped += u64::from(stops(&command));
            match self.one(&command, target) {
                Ok(messages) => self.allowance.0 -= messages,
                Err(refusal) => (refused, last) = (refused + 1, Some(refusal)),
            }
        }
        self.hosted.counted.messages.fetch_add(before - self.allowance.0, Ordering::Relaxed);
        if stopped > 0 {
            self.hosted.counted.stopped.fetch_add(stopped, Ordering::Relaxed);
        }
        if let Some(last) = last {
            self.tell_refused(refused, last, target, now);
        }
        flood
    }

    /// Messages of a second are allowed at once, and come back evenly.
    fn refill(&mut self, now: Time) {
        let rate = self.hosted.manifest.limits.messages_per_second;
        let (left, then) = self.allowance;
        let passed = now.since(then).as_nanos();
        let more = u128::from(rate) * passed / 1_000_000_000;
        if more > 0 {
            let more = u64::try_from(more).unwrap_or(u64::MAX);
            // Two more, so that a rate of one is one.
            self.allowance = (left.saturating_add(more).min(rate + 1), now);
        }
    }

    /// Does one command; says how many messages that were.
    #[inline]
    fn one(&mut self, command: &Command<'_>, target: &mut Target<'_, '_>) -> Result<u64, Refusal> {
        let sent = match command.kind {
            command::FLOW => self.flow(command, target)?,
            command::SEND => self.send(command, target)?,
            command::ANSWER => self.answer(command, target)?,
            command::MESSAGE => self.message(command, target)?,
            command::LOG => {
                self.log(command, target.commands());
                0
            }
            command::COUNT => self.count(command)?,
            _ => 0,
        };
        if stops(command) {
            stop(command.request, target);
        }
        Ok(sent)
    }

    /// Answers an event with a message.
    fn answer(
        &mut self,
        command: &Command<'_>,
        target: &mut Target<'_, '_>,
    ) -> Result<u64, Refusal> {
        match target {
            Target::Batch { batch, runs, out } => {
                let (index, run) = place(command.request, runs);
                let switch = &batch.switches[batch.runs[run].switch].info;
                let request = batch.requests[index];
                out.select(run);
                if command.flags & flags::RELEASE == 0 {
                    return self.reply(command.body, switch, request.xid, out).map(|()| 1);
                }
                let (_, mut message) = self.decode(command.body, switch)?;
                let release = packets::release(&mut message, &request, batch.frame(&request));
                let sent = send_to(out, switch, request.xid, message)?;
                match release {
                    Some(packet) => Ok(sent + send_to(out, switch, request.xid, packet)?),
                    None => Ok(sent),
                }
            }
            Target::Event { switch, xid, out, .. } => {
                let (_, message) = self.decode(command.body, switch)?;
                send_to(out, switch, *xid, message)
            }
            Target::Elsewhere { .. } => Err("an answer to nothing".to_owned()),
        }
    }

    /// Sends a message to the switch of a request: by the stencil where it is like the last.
    #[inline]
    fn reply(
        &mut self,
        body: &[u8],
        switch: &SwitchInfo,
        xid: u32,
        out: &mut Output,
    ) -> Result<(), Refusal> {
        let table = self.hosted.tables.forwarding(switch);
        if let Some((of, stencil)) = &self.stencil
            && stencil.version() == switch.version
            && *of == table
            && self.hosted.grants.switches.has(switch.dpid.0)
            && let Some(stamped) = stencil.stamp(body, xid)
        {
            out.append(stamped.as_ref());
            return Ok(());
        }
        let (_, message) = self.decode(body, switch)?;
        let sent = out.append_with(|bytes| {
            message.encode(switch.version, xid, bytes)?;
            let stencil = Stencil::of(&message, body, bytes);
            self.stencil = stencil.map(|stencil| (table, stencil)).or(self.stencil.take());
            Ok::<(), EncodeError>(())
        });
        sent.map_err(|error| error.to_string())
    }

    /// Sends a message to any switch.
    fn message(
        &mut self,
        command: &Command<'_>,
        target: &mut Target<'_, '_>,
    ) -> Result<u64, Refusal> {
        let dpid = DatapathId(command.dpid);
        let hosted = Arc::clone(&self.hosted);
        let switches = hosted.switches.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let switch = match (switches.get(&dpid.0), &*target) {
            // A switch that joins is not up yet.
            (None, Target::Event { switch, .. }) if switch.dpid == dpid => *switch,
            (Some(switch), _) => switch,
            (None, _) => return Err(format!("switch {dpid} is not connected")),
        };
        let (theirs, message) = self.decode(command.body, switch)?;
        let commands = target.commands();
        let ours = commands.xid();
        commands.to(dpid);
        let sent = commands.append_with(|out| message.encode(switch.version, ours, out));
        sent.map_err(|error| error.to_string())?;
        self.xids.note(ours, theirs);
        Ok(1)
    }

    /// Reads a message for a switch, and makes it the application's own.
    fn decode(&self, body: &[u8], switch: &SwitchInfo) -> Result<(u32, Message), Refusal> {
        if !self.hosted.grants.switches.has(switch.dpid.0) {
            return Err(format!("switch {} is not granted", switch.dpid));
        }
        let version = body.first().and_then(|version| Version::from_wire(*version));
        let version = version.filter(|said| *said == Version::V13 || *said == switch.version);
        let version = version.ok_or("a message of another version than 1.3 or the switch's")?;
        let (xid, message) = Message::decode(version, body).map_err(|error| error.to_string())?;
        let message = message.meaning();
        let kind = GrantedMessages::of(&message).ok_or("a message that no application may send")?;
        if !self.hosted.grants.messages.has(kind) {
            let name = kind.names().next().unwrap_or_default();
            return Err(format!("{name} is not granted"));
        }
        Ok((xid, self.owned(message, switch)))
    }

    /// A change of flows, with the application's mark; it changes the application's flows alone,
    /// where the version can say that.
    fn owned(&self, message: Message, switch: &SwitchInfo) -> Message {
        let Message::FlowMod(flow_mod) = message else { return message };
        let cookie = self.cookie.generation(flow_mod.cookie as u32).0;
        let is_first = flow_mod.table_id == TableNo(0);
        let table_id = match is_first {
            true => self.hosted.tables.forwarding(switch),
            false => flow_mod.table_id,
        };
        let adds = flow_mod.command == FlowModCommand::ADD;
        let cookie_mask = match (adds, switch.version) {
            (false, Version::V13) => Cookie::MASK | flow_mod.cookie_mask & u64::from(u32::MAX),
            _ => flow_mod.cookie_mask,
        };
        Message::FlowMod(FlowMod { cookie, cookie_mask, table_id, ..flow_mod })
    }

    fn log(&self, command: &Command<'_>, commands: &mut Commands) {
        let text = String::from_utf8_lossy(command.body);
        let level = if command.value == 0 { Level::Info } else { Level::Warning };
        let line = Line::new(level, &text);
        let words = format!("{}: {}", self.hosted.manifest.name, line.text);
        match level {
            Level::Info => commands.info(words),
            Level::Warning => commands.warn(words),
        }
        self.hosted.history.push(line);
    }

    fn count(&self, command: &Command<'_>) -> Result<u64, Refusal> {
        let place = command.value as usize;
        let named = self.hosted.manifest.counts.get(place);
        named.ok_or_else(|| format!("the manifest names no counter {place}"))?;
        let number = command.body.first_chunk().map_or(0, |body| u64::from_le_bytes(*body));
        self.hosted.counted.own[place].store(number, Ordering::Relaxed);
        Ok(0)
    }

    #[cold]
    fn tell_refused(
        &mut self,
        refused: u64,
        last: Refusal,
        target: &mut Target<'_, '_>,
        now: Time,
    ) {
        self.hosted.counted.refused.fetch_add(refused, Ordering::Relaxed);
        let (unwarned, then) = self.unwarned;
        self.unwarned.0 = unwarned + refused;
        if then == Time::START || now.since(then) >= WARNING_INTERVAL {
            let (name, count) = (&self.hosted.manifest.name, self.unwarned.0);
            target
                .commands()
                .warn(format!("{name}: {count} commands were refused, the last: {last}"));
            self.unwarned = (0, now);
        }
        let kept = self.hosted.last_refusal.lock();
        *kept.unwrap_or_else(std::sync::PoisonError::into_inner) = Some(last);
    }
}

/// The index of a request, which the reader has checked, and its run.
#[inline]
fn place(request: u32, runs: &[u32]) -> (usize, usize) {
    let index = request as usize;
    (index, runs[index] as usize)
}

/// Whether a command keeps its request from the applications behind.
#[inline]
fn stops(command: &Command<'_>) -> bool {
    command.kind == command::STOP || command.flags & flags::STOP != 0
}

fn stop(request: u32, target: &mut Target<'_, '_>) {
    match target {
        Target::Batch { batch, .. } => batch.requests[request as usize].stopped = true,
        Target::Event { stopped, .. } => *stopped = true,
        Target::Elsewhere { .. } => {}
    }
}

fn send_to(
    out: &mut Output,
    switch: &SwitchInfo,
    xid: u32,
    message: Message,
) -> Result<u64, Refusal> {
    let sent = out.append_with(|bytes| message.encode(switch.version, xid, bytes));
    sent.map(|()| 1).map_err(|error| error.to_string())
}
