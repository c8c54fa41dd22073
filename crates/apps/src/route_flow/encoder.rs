//! Encodes the messages to switches, in their versions of OpenFlow.

use aldis_control::{Commands, Output, SwitchPort};
use aldis_wire::msg::{Action, PortNo, TableNo};
use aldis_wire::types::{L2FlowSpec, L2Hit};
use aldis_wire::{NO_BUFFER, Version, v10, v13};

use super::rule::{Key, Rule, Style};
use super::switches::{ConnectedSwitches, SwitchVersion};

/// The longest frame that can be sent to a switch, in bytes, whatever its version.
pub(super) const FRAME_LEN_MAX: u16 = v13::template::Release::FRAME_LEN_MAX;

/// The table of flows that forward where the first belongs to rules ([`aldis_control::Tables`]).
const BEHIND_RULES: TableNo = TableNo(1);

/// Switches of a path that are looked for once.
const NOTED: usize = 16;

/// A buffer into which messages are stamped.
pub(super) trait Buffer {
    /// The next `N` bytes, to be overwritten whole.
    fn stamp<const N: usize>(&mut self) -> &mut [u8; N];
    /// The bytes as they are.
    fn append(&mut self, bytes: &[u8]);
}

impl Buffer for Output {
    fn stamp<const N: usize>(&mut self) -> &mut [u8; N] {
        Output::stamp(self)
    }

    fn append(&mut self, bytes: &[u8]) {
        Output::append(self, bytes);
    }
}

impl Buffer for Commands {
    fn stamp<const N: usize>(&mut self) -> &mut [u8; N] {
        Commands::stamp(self)
    }

    fn append(&mut self, bytes: &[u8]) {
        Commands::append(self, bytes);
    }
}

/// A packet, to be sent out of some port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'f> {
    /// Its transaction id.
    pub(super) xid: u32,
    /// The switch's buffer that holds it, or [`NO_BUFFER`].
    pub(super) buffer_id: u32,
    /// Where it came in.
    pub(super) in_port: u32,
    /// The packet; nothing where the switch holds it. At most [`FRAME_LEN_MAX`] long.
    pub(super) frame: &'f [u8],
}

/// The templates of flows and packets.
#[derive(Clone, Debug)]
pub(super) struct Encoder {
    style: Style,
    // Of the first hop, which tells when it is gone, and of the others.
    v10: [v10::template::L2Flow; 2],
    v13: [v13::template::L2Flow; 2],
    // For switches whose first table belongs to rules.
    guarded: [v13::template::L2Flow; 2],
    release_v10: v10::template::Release,
    release_v13: v13::template::Release,
}

impl Encoder {
    pub(super) fn new(style: Style) -> Encoder {
        let Style { idle_timeout_s, priority, cookie, .. } = style;
        let spec = |send_flow_removed| {
            let hard_timeout_s = 0;
            L2FlowSpec { idle_timeout_s, hard_timeout_s, priority, cookie, send_flow_removed }
        };
        let specs = [spec(true), spec(false)];
        let flows = specs.each_ref().map(v13::template::L2Flow::new);
        Encoder {
            style,
            v10: specs.each_ref().map(v10::template::L2Flow::new),
            guarded: flows.clone().map(|flow| flow.in_table(BEHIND_RULES)),
            v13: flows,
            release_v10: v10::template::Release::new(),
            release_v13: v13::template::Release::new(),
        }
    }

    /// What all flows have in common.
    pub(super) fn style(&self) -> &Style {
        &self.style
    }

    /// Installs a rule.
    pub(super) fn flow(
        &self,
        switch: SwitchVersion,
        hit: &L2Hit,
        is_first: bool,
        buffer: &mut impl Buffer,
    ) {
        let which = usize::from(!is_first);
        match switch.version {
            Version::V10 => self.v10[which].stamp(buffer.stamp(), hit),
            Version::V13 if switch.table == BEHIND_RULES => {
                self.guarded[which].stamp(buffer.stamp(), hit);
            }
            Version::V13 => self.v13[which].stamp(buffer.stamp(), hit),
        }
    }

    /// Sends a packet out of a port.
    pub(super) fn packet(
        &self,
        version: Version,
        packet: &Packet<'_>,
        out_port: u32,
        buffer: &mut impl Buffer,
    ) {
        let Packet { xid, buffer_id, in_port, frame } = *packet;
        let len = frame.len() as u16;
        match version {
            Version::V10 => {
                self.release_v10.stamp(buffer.stamp(), xid, buffer_id, in_port, out_port, len);
            }
            Version::V13 => {
                self.release_v13.stamp(buffer.stamp(), xid, buffer_id, in_port, out_port, len);
            }
        }
        buffer.append(frame);
    }

    /// Installs the rules of a path, the last hop's first; in [`Commands::path`], so that all
    /// arrive or none. How the last switch is spoken to; none, and nothing is said, where one of
    /// the switches is not there, or where there are no rules.
    pub(super) fn path(
        &self,
        switches: &ConnectedSwitches,
        key: &Key,
        rules: &[Rule],
        commands: &mut Commands,
    ) -> Option<SwitchVersion> {
        // Most ways are no longer than what is noted here; the others' switches are looked for
        // twice.
        let mut found = [None; NOTED];
        for (at, rule) in rules.iter().enumerate() {
            let switch = switches.get(rule.dpid)?;
            if let Some(note) = found.get_mut(at) {
                *note = Some(switch);
            }
        }
        let xid = commands.xid();
        for (at, rule) in rules.iter().enumerate() {
            let noted = found.get(at).copied().flatten();
            let Some(switch) = noted.or_else(|| switches.get(rule.dpid)) else { continue };
            commands.to(rule.dpid);
            self.flow(switch, &rule.hit(key, xid), at + 1 == rules.len(), commands);
        }
        found[0]
    }

    /// Removes rules from the switches that are there.
    pub(super) fn remove(
        &self,
        switches: &ConnectedSwitches,
        key: &Key,
        rules: &[Rule],
        commands: &mut Commands,
    ) {
        for rule in rules {
            let Some(SwitchVersion { version, table }) = switches.get(rule.dpid) else {
                continue;
            };
            commands.to(rule.dpid);
            let (xid, delete) = (commands.xid(), rule.delete(key, &self.style).table(table));
            let delete = match version {
                // Switches do not look at it; tshark calls a FLOW_MOD of 1.0 without any action
                // malformed.
                Version::V10 => delete.actions([Action::output(rule.out_port)]),
                Version::V13 => delete,
            };
            // Both versions can say it: a match of addresses, port and VLAN.
            let _ = commands.append_with(|out| delete.encode(version, xid, out));
        }
    }

    /// Sends a frame out of a port of any switch; false where the switch is not there.
    pub(super) fn release(
        &self,
        switches: &ConnectedSwitches,
        frame: (u32, &[u8]),
        to: SwitchPort,
        commands: &mut Commands,
    ) -> bool {
        let switch = switches.get(to.dpid);
        switch.inspect(|switch| self.release_by(switch, frame, to, commands)).is_some()
    }

    /// The same, of a switch that is spoken to like this.
    #[inline]
    pub(super) fn release_by(
        &self,
        switch: &SwitchVersion,
        (xid, frame): (u32, &[u8]),
        to: SwitchPort,
        commands: &mut Commands,
    ) {
        let version = switch.version;
        let in_port = match version {
            Version::V10 => v10::PortNo::NONE.0.into(),
            Version::V13 => PortNo::CONTROLLER.0,
        };
        commands.to(to.dpid);
        let packet = Packet { xid, buffer_id: NO_BUFFER, in_port, frame };
        self.packet(version, &packet, to.port.0, commands);
    }
}
