//! Every bound of a datapath, each with its reason.

/// Tables of a 1.3 switch, numbered from 0: what Open vSwitch offers. An unused table takes no
/// memory.
pub const TABLES: u8 = 254;

/// Most flows of one datapath: a million, what Open vSwitch says of each table; here it bounds them
/// all together.
pub const FLOWS_MAX: u32 = 1_000_000;

/// Most distinct masks in one table. Each costs a probe per packet, so a controller that means harm
/// is stopped here.
pub const MASKS_MAX: usize = 1024;

/// Most groups of one datapath.
pub const GROUPS_MAX: usize = 65_536;

/// Most buckets of one group.
pub const BUCKETS_MAX: usize = 1024;

/// Most meters of one datapath.
pub const METERS_MAX: usize = 65_536;

/// Most bands of one meter.
pub const BANDS_MAX: usize = 8;

/// How deep groups may lead to groups before a packet is dropped: a loop of groups ends here.
pub const GROUP_DEPTH_MAX: u32 = 16;

/// Most frames that one frame may become: groups that lead to groups multiply, and this ends them.
pub const COPIES_MAX: u32 = 4096;

/// Longest frame that is forwarded, in bytes; tags that actions push beyond it are not pushed.
pub const FRAME_MAX: usize = 65_000;

/// Shortest frame: its Ethernet header.
pub const FRAME_MIN: usize = 14;

/// Most bytes of statistics in one part of an answer; the rest goes to further parts. Half of what
/// fits, so that one structure of any size never makes a part too long.
pub const PART_BYTES: usize = 32_000;

/// Most bytes of an offending message that an error returns: all that OpenFlow asks for.
pub const ERROR_DATA_MAX: usize = 64;

/// How much of a frame without a flow goes to the controller until it says otherwise, in bytes
/// (`OFP_DEFAULT_MISS_SEND_LEN`).
pub const MISS_SEND_LEN: u16 = 128;

/// Most actions of a flow or a bucket: so many that it can still be described in one part of an
/// answer. A PACKET_OUT may have as many as fit a message, as with Open vSwitch.
pub const ACTIONS_MAX: usize = 512;
