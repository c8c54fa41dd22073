//! What usually causes an error, in one sentence for people.

use super::*;

/// The sentence for `code`, where there is something to say that its name does not.
pub(super) fn hint(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::HelloFailed(code) => hello_failed(code),
        ErrorCode::BadRequest(code) => bad_request(code),
        ErrorCode::BadAction(code) => bad_action(code),
        ErrorCode::BadInstruction(code) => bad_instruction(code),
        ErrorCode::BadMatch(code) => bad_match(code),
        ErrorCode::FlowModFailed(code) => flow_mod_failed(code),
        ErrorCode::GroupModFailed(code) => group_mod_failed(code),
        ErrorCode::PortModFailed(code) => port_mod_failed(code),
        ErrorCode::TableModFailed(code) => table_mod_failed(code),
        ErrorCode::QueueOpFailed(code) => queue_op_failed(code),
        ErrorCode::SwitchConfigFailed(code) => switch_config_failed(code),
        ErrorCode::RoleRequestFailed(code) => role_request_failed(code),
        ErrorCode::MeterModFailed(code) => meter_mod_failed(code),
        ErrorCode::TableFeaturesFailed(code) => table_features_failed(code),
        ErrorCode::Experimenter { .. } => Some(
            "the error is one of a vendor's own; the vendor's documentation says what it means",
        ),
        ErrorCode::Unknown { .. } => {
            Some("the type is none of OpenFlow 1.3; the switch may speak a later version")
        }
    }
}

/// What every "not allowed" has in common.
const NOT_ALLOWED: &str = "the switch refuses this to this connection: look at its access rules and at the role of the controller";

fn hello_failed(code: HelloFailedCode) -> Option<&'static str> {
    Some(match code {
        HelloFailedCode::INCOMPATIBLE => {
            "the two sides have no version in common: allow OpenFlow 1.0 or 1.3 on the switch"
        }
        HelloFailedCode::EPERM => NOT_ALLOWED,
        _ => return None,
    })
}

fn bad_request(code: BadRequestCode) -> Option<&'static str> {
    Some(match code {
        BadRequestCode::BAD_VERSION => {
            "a message had another version than the one agreed on in the beginning"
        }
        BadRequestCode::BAD_TYPE => {
            "the switch does not implement this message, which the specification makes optional"
        }
        BadRequestCode::BAD_MULTIPART => "the switch does not implement this kind of statistics",
        BadRequestCode::BAD_EXPERIMENTER | BadRequestCode::BAD_EXP_TYPE => {
            "the message is a vendor's extension that this switch does not have"
        }
        BadRequestCode::EPERM => NOT_ALLOWED,
        BadRequestCode::BAD_LEN => {
            "the message is shorter or longer than its type; the two sides may read the specification differently"
        }
        BadRequestCode::BUFFER_EMPTY => {
            "the buffered packet was sent already: it was named in two messages"
        }
        BadRequestCode::BUFFER_UNKNOWN => {
            "the switch no longer keeps the buffered packet: the answer came too late, or it keeps few"
        }
        BadRequestCode::BAD_TABLE_ID => "the switch has fewer flow tables than that",
        BadRequestCode::IS_SLAVE => {
            "this connection is in the role of slave, and another controller is master of the switch"
        }
        BadRequestCode::BAD_PORT => {
            "the port does not exist, or has gone since the message was made"
        }
        BadRequestCode::BAD_PACKET => {
            "the frame of the packet-out is too short or otherwise no frame that can be sent"
        }
        BadRequestCode::MULTIPART_BUFFER_OVERFLOW => {
            "the request is in more parts than the switch can hold; ask for less at once"
        }
        _ => return None,
    })
}

fn bad_action(code: BadActionCode) -> Option<&'static str> {
    Some(match code {
        BadActionCode::BAD_TYPE => "the switch does not implement this action",
        BadActionCode::BAD_LEN => "an action has a length that its type cannot have",
        BadActionCode::BAD_EXPERIMENTER | BadActionCode::BAD_EXP_TYPE => {
            "the action is a vendor's extension that this switch does not have"
        }
        BadActionCode::BAD_OUT_PORT => {
            "the port sent to does not exist, has gone, or cannot be used here; sending back to the incoming port takes OFPP_IN_PORT"
        }
        BadActionCode::BAD_ARGUMENT => {
            "the action's argument is one that the switch does not take, such as an ethertype that cannot be pushed"
        }
        BadActionCode::EPERM => NOT_ALLOWED,
        BadActionCode::TOO_MANY => "the switch takes fewer actions in one flow",
        BadActionCode::BAD_QUEUE => "the queue is not configured on that port",
        BadActionCode::BAD_OUT_GROUP => "the group does not exist yet: add it before what uses it",
        BadActionCode::MATCH_INCONSISTENT => {
            "the action needs the match to say the protocol first: setting a TCP port, for one, takes a match on ip_proto 6"
        }
        BadActionCode::UNSUPPORTED_ORDER => "the hardware cannot do the actions in this order",
        BadActionCode::BAD_TAG => "the switch cannot push or pop this kind of tag",
        BadActionCode::BAD_SET_TYPE => "the switch cannot rewrite this field",
        BadActionCode::BAD_SET_LEN => "the field to set has another width than the switch expects",
        BadActionCode::BAD_SET_ARGUMENT => {
            "the value does not fit the field, or a VLAN id lacks the bit that says it is there (0x1000)"
        }
        _ => return None,
    })
}

fn bad_instruction(code: BadInstructionCode) -> Option<&'static str> {
    Some(match code {
        BadInstructionCode::UNKNOWN_INST => "the switch does not implement this instruction",
        BadInstructionCode::UNSUP_INST => {
            "this table does not support the instruction; its table features say which it does"
        }
        BadInstructionCode::BAD_TABLE_ID => {
            "a flow can only go on to an existing table with a higher number than its own"
        }
        BadInstructionCode::UNSUP_METADATA | BadInstructionCode::UNSUP_METADATA_MASK => {
            "the table can write fewer bits of metadata; its table features say which"
        }
        BadInstructionCode::BAD_EXPERIMENTER | BadInstructionCode::BAD_EXP_TYPE => {
            "the instruction is a vendor's extension that this switch does not have"
        }
        BadInstructionCode::BAD_LEN => "an instruction has a length that its type cannot have",
        BadInstructionCode::EPERM => NOT_ALLOWED,
        _ => return None,
    })
}

fn bad_match(code: BadMatchCode) -> Option<&'static str> {
    Some(match code {
        BadMatchCode::BAD_TYPE => "the switch expects another kind of match than OXM",
        BadMatchCode::BAD_LEN => "a match field has a length that its type cannot have",
        BadMatchCode::BAD_TAG => "the switch cannot match on this kind of tag",
        BadMatchCode::BAD_DL_ADDR_MASK => {
            "the switch matches Ethernet addresses exactly or not at all, or with few masks"
        }
        BadMatchCode::BAD_NW_ADDR_MASK => {
            "the switch takes only prefixes as masks of network addresses, or none"
        }
        BadMatchCode::BAD_WILDCARDS => {
            "the hardware cannot leave out or mask this combination of fields in this table"
        }
        BadMatchCode::BAD_FIELD => {
            "this table cannot match on the field; its table features say which it can"
        }
        BadMatchCode::BAD_VALUE => "the value does not fit the field",
        BadMatchCode::BAD_MASK => "the field cannot be masked, or not with this mask",
        BadMatchCode::BAD_PREREQ => {
            "a field is matched without what it stands on: an IPv4 address, for one, takes eth_type 0x0800 before it"
        }
        BadMatchCode::DUP_FIELD => "the same field is in the match twice",
        BadMatchCode::EPERM => NOT_ALLOWED,
        _ => return None,
    })
}

fn flow_mod_failed(code: FlowModFailedCode) -> Option<&'static str> {
    Some(match code {
        FlowModFailedCode::TABLE_FULL => {
            "the flow table is full: shorter idle timeouts, wider matches or fewer flows make room"
        }
        FlowModFailedCode::BAD_TABLE_ID => "the switch has fewer flow tables than that",
        FlowModFailedCode::OVERLAP => {
            "another flow of the same priority matches some of the same packets, and the flow was to be refused then"
        }
        FlowModFailedCode::EPERM => NOT_ALLOWED,
        FlowModFailedCode::BAD_TIMEOUT => {
            "the switch does not do timeouts of this length, or none in this table"
        }
        FlowModFailedCode::BAD_COMMAND => "the command is none that the switch knows",
        FlowModFailedCode::BAD_FLAGS => "the switch does not implement one of the flags",
        _ => return None,
    })
}

fn group_mod_failed(code: GroupModFailedCode) -> Option<&'static str> {
    Some(match code {
        GroupModFailedCode::GROUP_EXISTS => {
            "the group is there already, perhaps from an earlier controller: modify it, or remove it first"
        }
        GroupModFailedCode::INVALID_GROUP => {
            "the group is not one that can be: look at its number and its buckets"
        }
        GroupModFailedCode::WEIGHT_UNSUPPORTED => {
            "the switch shares load equally only: give all buckets the same weight"
        }
        GroupModFailedCode::OUT_OF_GROUPS => {
            "the switch has no room for another group of this type"
        }
        GroupModFailedCode::OUT_OF_BUCKETS => "the switch takes fewer buckets in one group",
        GroupModFailedCode::CHAINING_UNSUPPORTED => {
            "a bucket leads to another group, which this switch does not do"
        }
        GroupModFailedCode::WATCH_UNSUPPORTED | GroupModFailedCode::BAD_WATCH => {
            "the port or group watched for liveness does not exist or cannot be watched"
        }
        GroupModFailedCode::LOOP => "the groups would lead back to where they began",
        GroupModFailedCode::UNKNOWN_GROUP => "the group does not exist: add it first",
        GroupModFailedCode::CHAINED_GROUP => {
            "another group still leads to this one: change that one first"
        }
        GroupModFailedCode::BAD_TYPE => "the switch does not implement this type of group",
        GroupModFailedCode::BAD_COMMAND => "the command is none that the switch knows",
        GroupModFailedCode::BAD_BUCKET => {
            "a bucket is wrong, often its actions or a weight where none may be"
        }
        GroupModFailedCode::EPERM => NOT_ALLOWED,
        _ => return None,
    })
}

fn port_mod_failed(code: PortModFailedCode) -> Option<&'static str> {
    Some(match code {
        PortModFailedCode::BAD_PORT => "the port does not exist, or has gone",
        PortModFailedCode::BAD_HW_ADDR => {
            "the address is not the port's own; ask the switch for its ports again"
        }
        PortModFailedCode::BAD_CONFIG => "the switch cannot set one of these bits",
        PortModFailedCode::BAD_ADVERTISE => "the port cannot do what it was told to advertise",
        PortModFailedCode::EPERM => NOT_ALLOWED,
        _ => return None,
    })
}

fn table_mod_failed(code: TableModFailedCode) -> Option<&'static str> {
    Some(match code {
        TableModFailedCode::BAD_TABLE => "the switch has fewer flow tables than that",
        TableModFailedCode::BAD_CONFIG => {
            "OpenFlow 1.3 has no table configuration; it must be zero"
        }
        TableModFailedCode::EPERM => NOT_ALLOWED,
        _ => return None,
    })
}

fn queue_op_failed(code: QueueOpFailedCode) -> Option<&'static str> {
    Some(match code {
        QueueOpFailedCode::BAD_PORT => "the port does not exist, or has gone",
        QueueOpFailedCode::BAD_QUEUE => {
            "the queue does not exist; queues are configured on the switch, not through OpenFlow"
        }
        QueueOpFailedCode::EPERM => NOT_ALLOWED,
        _ => return None,
    })
}

fn switch_config_failed(code: SwitchConfigFailedCode) -> Option<&'static str> {
    Some(match code {
        SwitchConfigFailedCode::BAD_FLAGS => {
            "the switch cannot treat fragments in this way; its capabilities say whether it reassembles"
        }
        SwitchConfigFailedCode::BAD_LEN => {
            "the switch cannot send that much of a packet to the controller"
        }
        SwitchConfigFailedCode::EPERM => NOT_ALLOWED,
        _ => return None,
    })
}

fn role_request_failed(code: RoleRequestFailedCode) -> Option<&'static str> {
    Some(match code {
        RoleRequestFailedCode::STALE => {
            "another controller has become master with a newer generation since"
        }
        RoleRequestFailedCode::UNSUP => "the switch does not let controllers change their role",
        RoleRequestFailedCode::BAD_ROLE => "the role is none that the switch knows",
        _ => return None,
    })
}

fn meter_mod_failed(code: MeterModFailedCode) -> Option<&'static str> {
    Some(match code {
        MeterModFailedCode::METER_EXISTS => {
            "the meter is there already, perhaps from an earlier controller: modify it, or remove it first"
        }
        MeterModFailedCode::INVALID_METER => {
            "the meter is not one that can be: its number may be 0 or above the greatest"
        }
        MeterModFailedCode::UNKNOWN_METER => "the meter does not exist: add it first",
        MeterModFailedCode::BAD_COMMAND => "the command is none that the switch knows",
        MeterModFailedCode::BAD_FLAGS => {
            "the flags exclude each other or are not supported; the meter features say which are"
        }
        MeterModFailedCode::BAD_RATE => "the switch cannot measure this rate",
        MeterModFailedCode::BAD_BURST => "the switch cannot allow bursts of this size",
        MeterModFailedCode::BAD_BAND => {
            "the switch does not implement this kind of band; the meter features say which it does"
        }
        MeterModFailedCode::BAD_BAND_VALUE => "a value of the band is not supported",
        MeterModFailedCode::OUT_OF_METERS => {
            "the switch has no more meters; many have none at all, and say so this way"
        }
        MeterModFailedCode::OUT_OF_BANDS => "the switch takes fewer bands in one meter",
        _ => return None,
    })
}

fn table_features_failed(code: TableFeaturesFailedCode) -> Option<&'static str> {
    Some(match code {
        TableFeaturesFailedCode::BAD_TABLE => "the switch has fewer flow tables than that",
        TableFeaturesFailedCode::BAD_METADATA => {
            "the tables cannot match or write these bits of metadata"
        }
        TableFeaturesFailedCode::BAD_TYPE
        | TableFeaturesFailedCode::BAD_LEN
        | TableFeaturesFailedCode::BAD_ARGUMENT => {
            "the switch cannot arrange its tables so; begin from the features it reports"
        }
        TableFeaturesFailedCode::EPERM => NOT_ALLOWED,
        _ => return None,
    })
}
