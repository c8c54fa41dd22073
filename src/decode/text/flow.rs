//! Flows: what both versions say of them.

use super::{counter, duration, port};
use aldis_wire::NO_BUFFER;
use std::fmt::{self, Display, Formatter};

/// Flags of a flow in 1.3; those of 1.0 begin the same.
pub(super) const FLAGS: &[(u32, &str)] = &[
    (1, "send_flow_rem"),
    (2, "check_overlap"),
    (4, "reset_counts"),
    (8, "no_packet_counts"),
    (16, "no_byte_counts"),
];

/// The port and the group that stand for any.
pub(super) const ANY: u32 = 0xffff_ffff;

/// A FLOW_MOD, behind its title.
pub(super) struct FlowMod {
    pub(super) command: u16,
    pub(super) table: u8,
    /// The match behind its priority.
    pub(super) matched: String,
    pub(super) cookie: u64,
    pub(super) cookie_mask: u64,
    pub(super) idle_timeout: u16,
    pub(super) hard_timeout: u16,
    pub(super) buffer_id: u32,
    pub(super) out_port: u32,
    pub(super) out_group: u32,
    pub(super) flags: String,
    pub(super) actions: String,
}

impl Display for FlowMod {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const COMMANDS: [&str; 5] = ["ADD", "MOD", "MOD_STRICT", "DEL", "DEL_STRICT"];
        match COMMANDS.get(usize::from(self.command)) {
            Some(name) => write!(f, " {name} ")?,
            None => write!(f, " cmd:{} ", self.command)?,
        }
        if self.table != 0 {
            write!(f, "table:{} ", self.table)?;
        }
        if !self.matched.is_empty() {
            write!(f, "{} ", self.matched)?;
        }
        self.cookies(f)?;
        for (name, timeout) in [("idle", self.idle_timeout), ("hard", self.hard_timeout)] {
            if timeout != 0 {
                write!(f, "{name}:{timeout} ")?;
            }
        }
        self.rest(f)?;
        write!(f, "actions={}", self.actions)
    }
}

impl FlowMod {
    fn cookies(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.cookie, self.cookie_mask) {
            // All ones leave the cookie of a flow as it is.
            (0 | u64::MAX, 0) => Ok(()),
            (cookie, 0) => write!(f, "cookie:{cookie:#x} "),
            (cookie, mask) => write!(f, "cookie:{cookie:#x}/{mask:#x} "),
        }
    }

    fn rest(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.buffer_id != NO_BUFFER {
            write!(f, "buf:{:#x} ", self.buffer_id)?;
        }
        if self.out_port != ANY {
            write!(f, "out_port:{} ", port::number(self.out_port))?;
        }
        if self.out_group != ANY {
            write!(f, "out_group:{} ", self.out_group)?;
        }
        if !self.flags.is_empty() {
            write!(f, "{} ", self.flags)?;
        }
        Ok(())
    }
}

/// What a flow of a table is and has counted: a line of flow statistics.
pub(super) struct FlowStats {
    pub(super) cookie: u64,
    pub(super) duration: (u32, u32),
    pub(super) table: u8,
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) idle_timeout: u16,
    pub(super) hard_timeout: u16,
    pub(super) flags: String,
    pub(super) matched: String,
    pub(super) actions: String,
}

impl Display for FlowStats {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (seconds, nanoseconds) = self.duration;
        write!(f, " cookie={:#x}, duration={}", self.cookie, duration(seconds, nanoseconds))?;
        write!(f, ", table={}, n_packets={}", self.table, counter(self.packets))?;
        write!(f, ", n_bytes={}, ", counter(self.bytes))?;
        for (name, timeout) in [("idle", self.idle_timeout), ("hard", self.hard_timeout)] {
            if timeout != 0 {
                write!(f, "{name}_timeout={timeout}, ")?;
            }
        }
        for words in [&self.flags, &self.matched] {
            if !words.is_empty() {
                write!(f, "{words} ")?;
            }
        }
        write!(f, "actions={}", self.actions)
    }
}

/// A FLOW_REMOVED, behind its title.
pub(super) struct FlowRemoved {
    pub(super) matched: String,
    pub(super) reason: u8,
    /// Which table it was in, where the version tells.
    pub(super) table: Option<u8>,
    pub(super) cookie: u64,
    pub(super) duration: (u32, u32),
    pub(super) idle_timeout: u16,
    pub(super) hard_timeout: u16,
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

impl Display for FlowRemoved {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const REASONS: [&str; 4] = ["idle", "hard", "delete", "group_delete"];
        write!(f, " {} reason=", self.matched)?;
        match REASONS.get(usize::from(self.reason)) {
            Some(reason) => f.write_str(reason)?,
            None => write!(f, "{}", self.reason)?,
        }
        if let Some(table) = self.table {
            write!(f, " table_id={table}")?;
        }
        if self.cookie != 0 {
            write!(f, " cookie:{:#x}", self.cookie)?;
        }
        let (seconds, nanoseconds) = self.duration;
        write!(f, " duration{} idle{}", duration(seconds, nanoseconds), self.idle_timeout)?;
        if self.hard_timeout != 0 {
            write!(f, " hard{}", self.hard_timeout)?;
        }
        write!(f, " pkts{} bytes{}", self.packets, self.bytes)
    }
}

/// The filter of a request for flow statistics, behind its title.
pub(super) struct FlowStatsRequest {
    /// 255 for all of them.
    pub(super) table: u8,
    pub(super) out_port: u32,
    pub(super) matched: String,
}

impl Display for FlowStatsRequest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.table != 0xff {
            write!(f, " table={}", self.table)?;
        }
        if self.out_port != ANY {
            write!(f, " out_port={}", port::number(self.out_port))?;
        }
        if self.matched.is_empty() { Ok(()) } else { write!(f, " {}", self.matched) }
    }
}
