//! The types of errors and the codes of each (§7.4.4).

use crate::open::open_enum;

open_enum! {
    /// `OFPET_*`: the type of an error.
    pub struct ErrorType(u16) "OFPET_" {
        /// The session could not begin.
        HELLO_FAILED = 0,
        /// The request was not understood.
        BAD_REQUEST = 1,
        /// An action is wrong.
        BAD_ACTION = 2,
        /// An instruction is wrong.
        BAD_INSTRUCTION = 3,
        /// The match is wrong.
        BAD_MATCH = 4,
        /// The flow could not be changed.
        FLOW_MOD_FAILED = 5,
        /// The group could not be changed.
        GROUP_MOD_FAILED = 6,
        /// The port could not be changed.
        PORT_MOD_FAILED = 7,
        /// The table could not be changed.
        TABLE_MOD_FAILED = 8,
        /// The queue could not be looked at.
        QUEUE_OP_FAILED = 9,
        /// The configuration could not be changed.
        SWITCH_CONFIG_FAILED = 10,
        /// The role was not given.
        ROLE_REQUEST_FAILED = 11,
        /// The meter could not be changed.
        METER_MOD_FAILED = 12,
        /// The features of tables could not be set.
        TABLE_FEATURES_FAILED = 13,
        /// What the experimenter defines.
        EXPERIMENTER = 0xffff,
    }
}

open_enum! {
    /// `OFPHFC_*`: why a session could not begin; the data is text.
    pub struct HelloFailedCode(u16) "OFPHFC_" {
        /// No version in common.
        INCOMPATIBLE = 0,
        /// Not allowed.
        EPERM = 1,
    }
}

open_enum! {
    /// `OFPBRC_*`: what is wrong with a request.
    pub struct BadRequestCode(u16) "OFPBRC_" {
        /// The header's version is not spoken.
        BAD_VERSION = 0,
        /// The header's type is not known.
        BAD_TYPE = 1,
        /// The kind of multipart request is not known.
        BAD_MULTIPART = 2,
        /// The experimenter is not known.
        BAD_EXPERIMENTER = 3,
        /// The experimenter has no such type.
        BAD_EXP_TYPE = 4,
        /// Not allowed.
        EPERM = 5,
        /// Wrong length for the type.
        BAD_LEN = 6,
        /// The buffered packet was used already.
        BUFFER_EMPTY = 7,
        /// There is no such buffered packet.
        BUFFER_UNKNOWN = 8,
        /// There is no such table.
        BAD_TABLE_ID = 9,
        /// Refused because the controller is slave.
        IS_SLAVE = 10,
        /// There is no such port.
        BAD_PORT = 11,
        /// The packet of a packet-out is invalid.
        BAD_PACKET = 12,
        /// The parts of a request together are too long.
        MULTIPART_BUFFER_OVERFLOW = 13,
    }
}

open_enum! {
    /// `OFPBAC_*`: what is wrong with an action.
    pub struct BadActionCode(u16) "OFPBAC_" {
        /// The type is not known.
        BAD_TYPE = 0,
        /// A length is wrong.
        BAD_LEN = 1,
        /// The experimenter is not known.
        BAD_EXPERIMENTER = 2,
        /// The experimenter has no such action.
        BAD_EXP_TYPE = 3,
        /// The port cannot be sent to.
        BAD_OUT_PORT = 4,
        /// The argument is wrong.
        BAD_ARGUMENT = 5,
        /// Not allowed.
        EPERM = 6,
        /// Too many actions.
        TOO_MANY = 7,
        /// The queue cannot be used.
        BAD_QUEUE = 8,
        /// There is no such group.
        BAD_OUT_GROUP = 9,
        /// It does not fit the match, or a set-field lacks its prerequisite.
        MATCH_INCONSISTENT = 10,
        /// The order is not supported.
        UNSUPPORTED_ORDER = 11,
        /// The tag or encapsulation is not supported.
        BAD_TAG = 12,
        /// The field cannot be set.
        BAD_SET_TYPE = 13,
        /// A set-field has a wrong length.
        BAD_SET_LEN = 14,
        /// A set-field has a wrong value.
        BAD_SET_ARGUMENT = 15,
    }
}

open_enum! {
    /// `OFPBIC_*`: what is wrong with an instruction.
    pub struct BadInstructionCode(u16) "OFPBIC_" {
        /// The type is not known.
        UNKNOWN_INST = 0,
        /// The switch or the table does not support it.
        UNSUP_INST = 1,
        /// The table cannot be gone to.
        BAD_TABLE_ID = 2,
        /// The metadata is not supported.
        UNSUP_METADATA = 3,
        /// The metadata mask is not supported.
        UNSUP_METADATA_MASK = 4,
        /// The experimenter is not known.
        BAD_EXPERIMENTER = 5,
        /// The experimenter has no such instruction.
        BAD_EXP_TYPE = 6,
        /// A length is wrong.
        BAD_LEN = 7,
        /// Not allowed.
        EPERM = 8,
    }
}

open_enum! {
    /// `OFPBMC_*`: what is wrong with a match.
    pub struct BadMatchCode(u16) "OFPBMC_" {
        /// The type of match is not supported.
        BAD_TYPE = 0,
        /// A length is wrong.
        BAD_LEN = 1,
        /// The tag or encapsulation is not supported.
        BAD_TAG = 2,
        /// The mask of an Ethernet address is not supported.
        BAD_DL_ADDR_MASK = 3,
        /// The mask of a network address is not supported.
        BAD_NW_ADDR_MASK = 4,
        /// The combination of fields left out or masked is not supported.
        BAD_WILDCARDS = 5,
        /// The field is not supported.
        BAD_FIELD = 6,
        /// The value is not supported.
        BAD_VALUE = 7,
        /// The mask of another field is not supported.
        BAD_MASK = 8,
        /// A prerequisite is missing.
        BAD_PREREQ = 9,
        /// A field is there twice.
        DUP_FIELD = 10,
        /// Not allowed.
        EPERM = 11,
    }
}

open_enum! {
    /// `OFPFMFC_*`: why a flow could not be changed.
    pub struct FlowModFailedCode(u16) "OFPFMFC_" {
        /// No reason given.
        UNKNOWN = 0,
        /// The table is full.
        TABLE_FULL = 1,
        /// There is no such table.
        BAD_TABLE_ID = 2,
        /// It overlaps another flow, and that was to be checked.
        OVERLAP = 3,
        /// Not allowed.
        EPERM = 4,
        /// The timeout is not supported.
        BAD_TIMEOUT = 5,
        /// The command is not known.
        BAD_COMMAND = 6,
        /// The flags are not supported.
        BAD_FLAGS = 7,
    }
}

open_enum! {
    /// `OFPGMFC_*`: why a group could not be changed.
    pub struct GroupModFailedCode(u16) "OFPGMFC_" {
        /// It is there already.
        GROUP_EXISTS = 0,
        /// It is invalid.
        INVALID_GROUP = 1,
        /// Unequal weights are not supported.
        WEIGHT_UNSUPPORTED = 2,
        /// The table of groups is full.
        OUT_OF_GROUPS = 3,
        /// Too many buckets.
        OUT_OF_BUCKETS = 4,
        /// Groups that lead to groups are not supported.
        CHAINING_UNSUPPORTED = 5,
        /// What it would watch cannot be watched.
        WATCH_UNSUPPORTED = 6,
        /// It would make a loop.
        LOOP = 7,
        /// There is no such group.
        UNKNOWN_GROUP = 8,
        /// Another group leads to it.
        CHAINED_GROUP = 9,
        /// The type is not known.
        BAD_TYPE = 10,
        /// The command is not known.
        BAD_COMMAND = 11,
        /// A bucket is wrong.
        BAD_BUCKET = 12,
        /// A watched port or group is wrong.
        BAD_WATCH = 13,
        /// Not allowed.
        EPERM = 14,
    }
}

open_enum! {
    /// `OFPPMFC_*`: why a port could not be changed.
    pub struct PortModFailedCode(u16) "OFPPMFC_" {
        /// There is no such port.
        BAD_PORT = 0,
        /// The address is not that port's.
        BAD_HW_ADDR = 1,
        /// The configuration is invalid.
        BAD_CONFIG = 2,
        /// What to advertise is invalid.
        BAD_ADVERTISE = 3,
        /// Not allowed.
        EPERM = 4,
    }
}

open_enum! {
    /// `OFPTMFC_*`: why a table could not be changed.
    pub struct TableModFailedCode(u16) "OFPTMFC_" {
        /// There is no such table.
        BAD_TABLE = 0,
        /// The configuration is invalid.
        BAD_CONFIG = 1,
        /// Not allowed.
        EPERM = 2,
    }
}

open_enum! {
    /// `OFPQOFC_*`: why a queue could not be looked at.
    pub struct QueueOpFailedCode(u16) "OFPQOFC_" {
        /// There is no such port.
        BAD_PORT = 0,
        /// There is no such queue.
        BAD_QUEUE = 1,
        /// Not allowed.
        EPERM = 2,
    }
}

open_enum! {
    /// `OFPSCFC_*`: why the configuration could not be changed.
    pub struct SwitchConfigFailedCode(u16) "OFPSCFC_" {
        /// The flags are invalid.
        BAD_FLAGS = 0,
        /// The length is invalid.
        BAD_LEN = 1,
        /// Not allowed.
        EPERM = 2,
    }
}

open_enum! {
    /// `OFPRRFC_*`: why a role was not given.
    pub struct RoleRequestFailedCode(u16) "OFPRRFC_" {
        /// The generation is older than one seen before.
        STALE = 0,
        /// Roles cannot be changed.
        UNSUP = 1,
        /// There is no such role.
        BAD_ROLE = 2,
    }
}

open_enum! {
    /// `OFPMMFC_*`: why a meter could not be changed.
    pub struct MeterModFailedCode(u16) "OFPMMFC_" {
        /// No reason given.
        UNKNOWN = 0,
        /// It is there already.
        METER_EXISTS = 1,
        /// It is invalid.
        INVALID_METER = 2,
        /// There is no such meter.
        UNKNOWN_METER = 3,
        /// The command is not known.
        BAD_COMMAND = 4,
        /// The flags are not supported.
        BAD_FLAGS = 5,
        /// The rate is not supported.
        BAD_RATE = 6,
        /// The burst size is not supported.
        BAD_BURST = 7,
        /// The band is not supported.
        BAD_BAND = 8,
        /// A value of the band is not supported.
        BAD_BAND_VALUE = 9,
        /// No more meters.
        OUT_OF_METERS = 10,
        /// Too many bands.
        OUT_OF_BANDS = 11,
    }
}

open_enum! {
    /// `OFPTFFC_*`: why the features of tables could not be set.
    pub struct TableFeaturesFailedCode(u16) "OFPTFFC_" {
        /// There is no such table.
        BAD_TABLE = 0,
        /// The metadata mask is invalid.
        BAD_METADATA = 1,
        /// A property's type is not known.
        BAD_TYPE = 2,
        /// A property's length is wrong.
        BAD_LEN = 3,
        /// A property's value is not supported.
        BAD_ARGUMENT = 4,
        /// Not allowed.
        EPERM = 5,
    }
}
