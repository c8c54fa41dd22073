//! Actions as text: a name, and what it takes behind a colon.

use core::str::FromStr;

use super::super::{Action, Field, GroupNo, PortNo, QueueNo};
use super::value::number;
use super::{Misread, PORT, same};
use crate::v13::oxm::VID_PRESENT;

const ACTIONS: &str = "output:PORT, set-queue:N, group:N, set-field:NAME=VALUE, push-vlan:0x8100, pop-vlan, push-mpls:0x8847, \
                       pop-mpls:TYPE, push-pbb:0x88e7, pop-pbb, set-nw-ttl:N, dec-nw-ttl, set-mpls-ttl:N, dec-mpls-ttl, \
                       copy-ttl-out, copy-ttl-in";

/// `output:2`, `set-field:eth-dst=02:00:00:00:00:01`, `pop-vlan`. The whole of a packet goes to the
/// controller.
impl FromStr for Action {
    type Err = Misread;

    fn from_str(text: &str) -> Result<Action, Misread> {
        let (name, value) = match text.trim().split_once(':') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (text.trim(), None),
        };
        match value {
            None => bare(name).ok_or(Misread::of(text, ACTIONS)),
            Some(value) => taking(name, value).unwrap_or_else(|| Err(Misread::of(text, ACTIONS))),
        }
    }
}

fn bare(name: &str) -> Option<Action> {
    let all = [
        ("pop_vlan", Action::PopVlan),
        ("pop_pbb", Action::PopPbb),
        ("dec_nw_ttl", Action::DecNwTtl),
        ("dec_mpls_ttl", Action::DecMplsTtl),
        ("copy_ttl_out", Action::CopyTtlOut),
        ("copy_ttl_in", Action::CopyTtlIn),
    ];
    all.into_iter().find(|(other, _)| same(other, name)).map(|(_, action)| action)
}

/// An action that takes something; nothing where there is none of this name.
fn taking(name: &str, value: &str) -> Option<Result<Action, Misread>> {
    let is = |other| same(other, name);
    let byte =
        |make: fn(u8) -> Action| number(value).map(make).ok_or(Misread::of(value, "0 to 255"));
    let ethertype = |make: fn(u16) -> Action| {
        number(value).map(make).ok_or(Misread::of(value, "an Ethernet type, 0 to 0xffff"))
    };
    let id = |make: fn(u32) -> Action| {
        number(value).map(make).ok_or(Misread::of(value, "a number of 32 bits"))
    };
    Some(match () {
        () if is("output") => output(value),
        () if is("set_field") => set_field(value),
        () if is("set_queue") => id(|queue| Action::SetQueue(QueueNo(queue))),
        () if is("group") => id(|group| Action::Group(GroupNo(group))),
        () if is("push_vlan") => ethertype(Action::PushVlan),
        () if is("push_mpls") => ethertype(Action::PushMpls),
        () if is("pop_mpls") => ethertype(Action::PopMpls),
        () if is("push_pbb") => ethertype(Action::PushPbb),
        () if is("set_nw_ttl") => byte(Action::SetNwTtl),
        () if is("set_mpls_ttl") => byte(Action::SetMplsTtl),
        () => return None,
    })
}

fn output(value: &str) -> Result<Action, Misread> {
    match value.parse()? {
        PortNo::ANY => Err(Misread::of(value, PORT)),
        port => Ok(Action::output(port)),
    }
}

fn set_field(value: &str) -> Result<Action, Misread> {
    let refused = || Misread::of(value, "NAME=VALUE, such as eth-dst=02:00:00:00:00:01");
    let (name, value) = value.split_once('=').ok_or_else(refused)?;
    let field = Field::named(name.trim(), value)?;
    // A tag that is not there, or any, is nothing that could be set.
    let is_value = match &field {
        Field::VlanVid(vid) => vid.mask.is_none() && vid.value & VID_PRESENT != 0,
        field => !field.header().has_mask(),
    };
    let accepted = "a value without a mask";
    is_value.then_some(Action::SetField(field)).ok_or(Misread::of(value, accepted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::Masked;
    use crate::types::MacAddr;

    #[test]
    fn actions_are_read() {
        let mac = Field::EthDst(Masked::exact(MacAddr([2, 0, 0, 0, 0, 1])));
        let cases = [
            ("output:2", Action::output(PortNo(2))),
            ("OUTPUT:FLOOD", Action::output(PortNo::FLOOD)),
            ("output: in-port", Action::output(PortNo::IN_PORT)),
            ("set-field:eth-dst=02:00:00:00:00:01", Action::SetField(mac)),
            ("set_queue:7", Action::SetQueue(QueueNo(7))),
            ("group:0x10", Action::Group(GroupNo(16))),
            ("push-vlan:0x8100", Action::PushVlan(0x8100)),
            ("pop-vlan", Action::PopVlan),
            ("set-nw-ttl:64", Action::SetNwTtl(64)),
            ("dec-nw-ttl", Action::DecNwTtl),
        ];
        for (text, action) in cases {
            assert_eq!(text.parse(), Ok(action), "{text}");
        }
    }

    #[test]
    fn what_is_no_action_is_refused_with_what_is_accepted() {
        let cases = [
            ("", "output:PORT"),
            ("outptu:2", "output:PORT"),
            ("output", "output:PORT"),
            ("output:x", "a port number"),
            ("output:any", "a port number"),
            ("pop-vlan:3", "output:PORT"),
            ("set-field:vlan-vid=any", "without a mask"),
            ("set-field:vlan-vid=none", "without a mask"),
            ("set-field:ipv4-src=10.0.0.0/8", "without a mask"),
            ("set-field:eth-dst", "NAME=VALUE"),
            ("set-field:ether=1", "match field"),
            ("set-nw-ttl:256", "0 to 255"),
        ];
        for (text, accepted) in cases {
            let refused = text.parse::<Action>().unwrap_err();
            assert!(refused.accepted.contains(accepted), "{text}: {refused}");
        }
    }
}
