//! The reader of commands. It looks at every record once before the first is acted on, so that
//! garbage has no effect at all.

use core::fmt;

use super::NO_INDEX;

/// Bytes of a command in front of its body.
pub const COMMAND_HEADER_LEN: usize = 24;

/// Bytes of the body of [`command::FLOW`].
pub const FLOW_LEN: usize = 16;

/// Kinds of commands.
pub mod command {
    /// The applications that come later do not see the request.
    pub const STOP: u16 = 1;
    /// Sends the packet of a request, out of the port `value` or by the actions in the body.
    pub const SEND: u16 = 2;
    /// Adds a flow for the request's port, addresses and VLAN with an output to the port `value`,
    /// and sends the packet.
    pub const FLOW: u16 = 3;
    /// Answers an event with the message in the body.
    pub const ANSWER: u16 = 4;
    /// Sends the message in the body to any switch.
    pub const MESSAGE: u16 = 5;
    /// Writes the body to the log.
    pub const LOG: u16 = 6;
    /// Sets the counter `value` to the number in the body.
    pub const COUNT: u16 = 7;
}

/// Flags of commands about a request.
pub mod flags {
    /// The applications that come later do not see the request.
    pub const STOP: u16 = 1;
    /// The packet of the request is sent by the actions of the flow that the answer adds.
    pub const RELEASE: u16 = 2;
    /// The switch says when it removes the flow of [`super::command::FLOW`].
    pub const TELL_REMOVED: u16 = 4;
    /// All of them.
    pub(super) const ALL: u16 = STOP | RELEASE | TELL_REMOVED;
}

/// One command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command<'c> {
    /// What to do ([`command`]).
    pub kind: u16,
    /// How ([`flags`]).
    pub flags: u16,
    /// About which event: its index, or [`NO_INDEX`].
    pub request: u32,
    /// A port, a level of the log (0 or 1), or the place of a counter.
    pub value: u32,
    /// The switch of [`command::MESSAGE`]; 0 for all others.
    pub dpid: u64,
    /// A message, actions, text or a number.
    pub body: &'c [u8],
}

impl<'c> Command<'c> {
    /// The body of [`command::FLOW`].
    pub fn flow(&self) -> Option<FlowSpec> {
        let body: &[u8; FLOW_LEN] = self.body.first_chunk()?;
        let u16_at = |at: usize| u16::from_le_bytes([body[at], body[at + 1]]);
        Some(FlowSpec {
            idle_timeout_s: u16_at(0),
            hard_timeout_s: u16_at(2),
            priority: u16_at(4),
            generation: u32::from_le_bytes([body[8], body[9], body[10], body[11]]),
        })
    }
}

/// What a [`command::FLOW`] says of the flow besides where it leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowSpec {
    /// Seconds without a packet after which the switch removes it; 0 for never.
    pub idle_timeout_s: u16,
    /// Seconds after which the switch removes it in any case; 0 for never.
    pub hard_timeout_s: u16,
    /// The higher of two matching flows wins.
    pub priority: u16,
    /// The lower half of its cookie.
    pub generation: u32,
}

/// CommandReader that are well formed: each has a known kind, its length, and an event that exists.
#[derive(Clone, Copy, Debug)]
pub struct CommandReader<'c>(&'c [u8]);

/// What is wrong with a batch of commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Garbage {
    /// The record at this byte has a field that cannot be.
    Field {
        /// Where the record begins.
        at: usize,
        /// The field.
        field: &'static str,
    },
    /// More commands than so many.
    TooMany(usize),
    /// More bytes than so many.
    TooLong(usize),
}

impl fmt::Display for Garbage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Garbage::Field { at, field } => {
                write!(f, "the command at byte {at} has an impossible {field}")
            }
            Garbage::TooMany(most) => write!(f, "more than {most} commands for one batch"),
            Garbage::TooLong(most) => write!(f, "more than {most} bytes of commands"),
        }
    }
}

impl std::error::Error for Garbage {}

impl<'c> CommandReader<'c> {
    /// Checks commands that answer a batch whose indices are below `events`, `most` of them at
    /// most.
    ///
    /// # Errors
    /// The first field that cannot be, or that there are too many.
    pub fn check(bytes: &'c [u8], events: u32, most: usize) -> Result<CommandReader<'c>, Garbage> {
        let (mut at, mut count) = (0, 0);
        while at < bytes.len() {
            let (command, next) = read(bytes, at)?;
            check(&command, events).map_err(|field| Garbage::Field { at, field })?;
            (at, count) = (next, count + 1);
            if count > most {
                return Err(Garbage::TooMany(most));
            }
        }
        Ok(CommandReader(bytes))
    }
}

impl<'c> Iterator for CommandReader<'c> {
    type Item = Command<'c>;

    #[inline]
    fn next(&mut self) -> Option<Command<'c>> {
        let (command, next) = read(self.0, 0).ok()?;
        self.0 = &self.0[next..];
        Some(command)
    }
}

/// The command at a byte, and where the next one begins.
#[inline]
fn read(bytes: &[u8], at: usize) -> Result<(Command<'_>, usize), Garbage> {
    let wrong = |field| Garbage::Field { at, field };
    let rest = &bytes[at..];
    let header: &[u8; COMMAND_HEADER_LEN] = rest.first_chunk().ok_or(wrong("header"))?;
    let u16_at = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let u32_at = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let len = u32_at(4) as usize;
    let end = COMMAND_HEADER_LEN.checked_add(len).ok_or(wrong("length"))?;
    let body = rest.get(COMMAND_HEADER_LEN..end).ok_or(wrong("length"))?;
    let next = end.checked_next_multiple_of(8).filter(|next| *next <= rest.len());
    let command = Command {
        kind: u16_at(0),
        flags: u16_at(2),
        request: u32_at(8),
        value: u32_at(12),
        dpid: u64::from(u32_at(16)) | u64::from(u32_at(20)) << 32,
        body,
    };
    Ok((command, at + next.ok_or(wrong("length"))?))
}

/// The field of a command that cannot be.
#[inline]
fn check(command: &Command<'_>, events: u32) -> Result<(), &'static str> {
    if command.flags & !flags::ALL != 0 {
        return Err("flag");
    }
    let is_about_event = command.request < events;
    let body = command.body.len();
    match command.kind {
        command::STOP | command::SEND | command::ANSWER if !is_about_event => Err("request"),
        command::FLOW if !is_about_event => Err("request"),
        command::STOP if body != 0 => Err("length"),
        command::FLOW if body != FLOW_LEN => Err("length"),
        command::COUNT if body != 8 => Err("length"),
        command::ANSWER | command::MESSAGE if body < 8 => Err("length"),
        command::MESSAGE | command::LOG | command::COUNT if command.request != NO_INDEX => {
            Err("request")
        }
        command::MESSAGE | command::LOG | command::COUNT if command.flags != 0 => Err("flag"),
        command::STOP..=command::COUNT => Ok(()),
        _ => Err("kind"),
    }
}
