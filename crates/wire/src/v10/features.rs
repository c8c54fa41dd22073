//! FEATURES_REPLY (§5.3.1): the switch's id, what it can do, and its ports.

use super::{PhyPort, read_all};
use crate::open::flags;
use crate::reader::{Malformed, Reader};
use crate::types::DatapathId;
use crate::writer::Writer;
use alloc::vec::Vec;

flags! {
    /// What the switch is capable of: `enum ofp_capabilities`.
    pub struct Capabilities(u32) {
        /// Counts flows.
        FLOW_STATS = 1 << 0,
        /// Counts tables.
        TABLE_STATS = 1 << 1,
        /// Counts ports.
        PORT_STATS = 1 << 2,
        /// Runs 802.1D spanning tree.
        STP = 1 << 3,
        /// Must be zero.
        RESERVED = 1 << 4,
        /// Can reassemble IP fragments.
        IP_REASM = 1 << 5,
        /// Counts queues.
        QUEUE_STATS = 1 << 6,
        /// Matches IP addresses inside ARP.
        ARP_MATCH_IP = 1 << 7,
    }
}

flags! {
    /// Which actions the switch supports: bit `n` stands for action type `n`,
    /// `enum ofp_action_type`.
    pub struct ActionBits(u32) {
        /// [`Action::Output`](super::Action::Output)
        OUTPUT = 1 << 0,
        /// [`Action::SetVlanVid`](super::Action::SetVlanVid)
        SET_VLAN_VID = 1 << 1,
        /// [`Action::SetVlanPcp`](super::Action::SetVlanPcp)
        SET_VLAN_PCP = 1 << 2,
        /// [`Action::StripVlan`](super::Action::StripVlan)
        STRIP_VLAN = 1 << 3,
        /// [`Action::SetDlSrc`](super::Action::SetDlSrc)
        SET_DL_SRC = 1 << 4,
        /// [`Action::SetDlDst`](super::Action::SetDlDst)
        SET_DL_DST = 1 << 5,
        /// [`Action::SetNwSrc`](super::Action::SetNwSrc)
        SET_NW_SRC = 1 << 6,
        /// [`Action::SetNwDst`](super::Action::SetNwDst)
        SET_NW_DST = 1 << 7,
        /// [`Action::SetNwTos`](super::Action::SetNwTos)
        SET_NW_TOS = 1 << 8,
        /// [`Action::SetTpSrc`](super::Action::SetTpSrc)
        SET_TP_SRC = 1 << 9,
        /// [`Action::SetTpDst`](super::Action::SetTpDst)
        SET_TP_DST = 1 << 10,
        /// [`Action::Enqueue`](super::Action::Enqueue)
        ENQUEUE = 1 << 11,
    }
}

/// `OFPT_FEATURES_REPLY`: `struct ofp_switch_features`, 32 bytes with the header, and 48 more a
/// port.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FeaturesReply {
    /// The switch's name: its MAC address in the lower 48 bits, the implementer's choice above.
    pub datapath_id: DatapathId,
    /// How many frames it can buffer at once.
    pub n_buffers: u32,
    /// How many tables it has.
    pub n_tables: u8,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Which actions it knows.
    pub actions: ActionBits,
    /// Its ports.
    pub ports: Vec<PhyPort>,
}

impl FeaturesReply {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let datapath_id = DatapathId(reader.u64("switch_features.datapath_id")?);
        let n_buffers = reader.u32("switch_features.n_buffers")?;
        let n_tables = reader.u8("switch_features.n_tables")?;
        reader.pad("switch_features.pad", 3)?;
        Ok(FeaturesReply {
            datapath_id,
            n_buffers,
            n_tables,
            capabilities: Capabilities(reader.u32("switch_features.capabilities")?),
            actions: ActionBits(reader.u32("switch_features.actions")?),
            ports: read_all(reader, PhyPort::read)?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.u64(self.datapath_id.0);
        writer.u32(self.n_buffers);
        writer.u8(self.n_tables);
        writer.pad(3);
        writer.u32(self.capabilities.0);
        writer.u32(self.actions.0);
        self.ports.iter().for_each(|port| port.write(writer));
    }
}
