//! Matches as Ryu has them: read by the names of 1.0 and of 1.3 alike, shown by those of 1.0 where
//! there is one.

use aldis_wire::Version;
use aldis_wire::msg::{Field, Masked, Match};
use aldis_wire::v10::{self, Wildcards};
use serde_json::{Map, Value};

use super::body::{Dict, beginning, whole, wrong};
use super::names::{PORTS_10, PORTS_13, port};
use crate::problem::Problem;

const VID_PRESENT: u16 = 0x1000;
const ETH_ARP: u64 = 0x0806;

/// Names of 1.0, and those of 1.3 for the same.
const OLD: [(&str, &str); 8] = [
    ("dl_dst", "eth_dst"),
    ("dl_src", "eth_src"),
    ("dl_type", "eth_type"),
    ("dl_vlan", "vlan_vid"),
    ("dl_vlan_pcp", "vlan_pcp"),
    ("nw_src", "ipv4_src"),
    ("nw_dst", "ipv4_dst"),
    ("nw_proto", "ip_proto"),
];

/// As Ryu shows the fields of 1.3: two names besides, and one that it leaves as it is.
fn shown_name(name: &str) -> &str {
    match name {
        "tcp_src" | "udp_src" => "tp_src",
        "tcp_dst" | "udp_dst" => "tp_dst",
        "vlan_pcp" => name,
        _ => OLD.iter().find(|(_, new)| *new == name).map_or(name, |(old, _)| old),
    }
}

/// The field `match` of a body, with what its fields need.
///
/// # Errors
/// A field that is not known, which Ryu would leave out; a value that it does not take; fields that
/// contradict each other.
pub(crate) fn read(body: &Dict<'_>, version: Version) -> Result<Match, Problem> {
    let Some(dict) = body.inner("match")? else { return Ok(Match::new()) };
    let all = dict.map.iter().filter(|(_, value)| !value.is_null());
    let fields = all.map(|(name, value)| field(&dict, name, value, version));
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let whole = Match { fields }.completed_in(version);
    whole.map_err(|why| Problem::bad("bad-field", format!("{}: {why}", body.named("match"))))
}

fn field(dict: &Dict<'_>, name: &str, value: &Value, version: Version) -> Result<Field, Problem> {
    let said = |names: [&str; 2]| names.iter().find_map(|name| dict.field(name).and_then(whole));
    let is_arp = said(["dl_type", "eth_type"]) == Some(ETH_ARP);
    let name_of = |new: &str| -> Result<String, Problem> {
        Ok(match (new, is_arp) {
            ("nw_src", true) => "arp_spa".into(),
            ("nw_dst", true) => "arp_tpa".into(),
            ("nw_proto", true) => "arp_op".into(),
            ("nw_tos", _) => "ip_dscp".into(),
            ("tp_src" | "tp_dst", _) => {
                let proto = said(["nw_proto", "ip_proto"]);
                transport(new, proto)
                    .ok_or_else(|| {
                        let needs =
                            "needs nw_proto or ip_proto 6 (TCP), 17 (UDP), 132 (SCTP) or 1 (ICMP)";
                        Problem::bad("bad-field", format!("{}: {needs}", dict.named(new)))
                    })?
                    .into()
            }
            _ => OLD.iter().find(|(old, _)| *old == new).map_or(new, |(_, new)| new).into(),
        })
    };
    let new = name_of(name)?;
    let refused = |accepted: &str| wrong(&dict.named(name), value, accepted);
    let text = text_of(value).ok_or_else(|| refused("a number or a text"))?;
    match (name, new.as_str()) {
        ("nw_tos", _) => {
            let tos = whole(value).filter(|&tos| tos <= 255);
            tos.map(|tos| Field::IpDscp((tos >> 2) as u8)).ok_or_else(|| refused("0 to 255"))
        }
        (_, "vlan_vid") => {
            let vid =
                vlan(value, version).ok_or_else(|| refused("0 to 4095, or 0xVALUE/0xMASK"))?;
            Ok(Field::VlanVid(vid))
        }
        (_, "in_port") => {
            let read = port(value, version).ok_or_else(|| refused("a port"))?;
            Ok(Field::InPort(read))
        }
        (_, new) => Field::named(new, &text).map_err(|why| {
            let known = Field::NAMES.contains(&new);
            match known {
                true => refused(why.accepted),
                false => {
                    let detail =
                        format!("{}: there is no such field", dict.named(&beginning(name)));
                    Problem::bad("bad-field", detail)
                }
            }
        }),
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// What 1.3 calls a transport field of this protocol.
fn transport(name: &str, proto: Option<u64>) -> Option<&'static str> {
    Some(match (name, proto?) {
        ("tp_src", 6) => "tcp_src",
        ("tp_dst", 6) => "tcp_dst",
        ("tp_src", 17) => "udp_src",
        ("tp_dst", 17) => "udp_dst",
        ("tp_src", 132) => "sctp_src",
        ("tp_dst", 132) => "sctp_dst",
        ("tp_src", 1) => "icmpv4_type",
        ("tp_dst", 1) => "icmpv4_code",
        _ => return None,
    })
}

/// A VLAN id. In 1.0 a number, of which 65535 is no tag; in 1.3 a decimal number, or behind `0x`
/// what stands on the wire: an id with the bit 0x1000, which says that there is a tag.
fn vlan(value: &Value, version: Version) -> Option<Masked<u16>> {
    if let Value::String(text) = value
        && let Some((value, mask)) = text.split_once('/')
    {
        let part = |text: &str| u16::try_from(super::body::number(text.trim())?).ok();
        let (value, mask) = (part(value)?, part(mask)?);
        // Bits that do not count are zero, as in every other field.
        return Some(Masked::with(value & mask, mask));
    }
    let raw = matches!(value, Value::String(text) if text.trim().starts_with("0x"));
    let number = u16::try_from(whole(value)?).ok()?;
    match (version, number) {
        (Version::V10, v10::VLAN_NONE) => Some(Masked::exact(0)),
        (Version::V13, number) if raw => Some(Masked::exact(number)),
        (_, 0..VID_PRESENT) => Some(Masked::exact(number | VID_PRESENT)),
        (Version::V13, VID_PRESENT..0x2000) => Some(Masked::exact(number)),
        _ => None,
    }
}

/// A match as Ryu shows it for a switch that speaks `version`.
pub(crate) fn show(match_: &Match, version: Version) -> Value {
    match version {
        Version::V10 => {
            v10::convert::match_from_neutral(match_).map_or(Value::Null, |m| show_10(&m))
        }
        Version::V13 => {
            let mut map = Map::new();
            for field in &match_.fields {
                let (name, value) = name_and_value(field);
                let value = match field {
                    Field::VlanVid(vid) => vlan_text(*vid).into(),
                    Field::InPort(port) => PORTS_13.show(port.0),
                    _ => value,
                };
                map.entry(shown_name(&name)).or_insert(value);
            }
            Value::Object(map)
        }
    }
}

fn vlan_text(vid: Masked<u16>) -> String {
    match (vid.mask, vid.value & VID_PRESENT) {
        (Some(mask), _) => format!("0x{:04x}/0x{mask:04x}", vid.value),
        (None, 0) => format!("0x{:04x}", vid.value),
        (None, _) => (vid.value & !VID_PRESENT).to_string(),
    }
}

fn show_10(exact: &v10::Match) -> Value {
    let mut map = Map::new();
    let mut show = |has: bool, name: &str, value: Value| {
        if has {
            map.insert(name.into(), value);
        }
    };
    let has = |field| !exact.wildcards.contains(field);
    let prefixed = |address: std::net::Ipv4Addr, length: u8| match length {
        32 => address.to_string(),
        length => format!("{address}/{length}"),
    };
    let [src, dst] = [exact.wildcards.nw_src_prefix(), exact.wildcards.nw_dst_prefix()];
    show(has(Wildcards::IN_PORT), "in_port", PORTS_10.show(exact.in_port.widen()));
    show(has(Wildcards::DL_SRC), "dl_src", exact.dl_src.to_string().into());
    show(has(Wildcards::DL_DST), "dl_dst", exact.dl_dst.to_string().into());
    show(has(Wildcards::DL_VLAN), "dl_vlan", exact.dl_vlan.into());
    show(has(Wildcards::DL_VLAN_PCP), "dl_vlan_pcp", exact.dl_vlan_pcp.into());
    show(has(Wildcards::DL_TYPE), "dl_type", exact.dl_type.into());
    show(has(Wildcards::NW_TOS), "nw_tos", exact.nw_tos.into());
    show(has(Wildcards::NW_PROTO), "nw_proto", exact.nw_proto.into());
    show(src > 0, "nw_src", prefixed(exact.nw_src, src).into());
    show(dst > 0, "nw_dst", prefixed(exact.nw_dst, dst).into());
    show(has(Wildcards::TP_SRC), "tp_src", exact.tp_src.into());
    show(has(Wildcards::TP_DST), "tp_dst", exact.tp_dst.into());
    Value::Object(map)
}

/// The name of a field in 1.3, and its value: a number, or text where it has a mask or is an
/// address.
pub(crate) fn name_and_value(field: &Field) -> (String, Value) {
    let (name, words) = field.in_words();
    let value = match field {
        Field::InPort(number) | Field::InPhyPort(number) => number.0.into(),
        Field::EthType(number)
        | Field::ArpOp(number)
        | Field::TcpSrc(number)
        | Field::TcpDst(number)
        | Field::UdpSrc(number)
        | Field::UdpDst(number)
        | Field::SctpSrc(number)
        | Field::SctpDst(number) => (*number).into(),
        Field::VlanPcp(number)
        | Field::IpDscp(number)
        | Field::IpEcn(number)
        | Field::IpProto(number)
        | Field::Icmpv4Type(number)
        | Field::Icmpv4Code(number)
        | Field::Icmpv6Type(number)
        | Field::Icmpv6Code(number)
        | Field::MplsTc(number)
        | Field::MplsBos(number) => (*number).into(),
        Field::MplsLabel(number) => (*number).into(),
        Field::VlanVid(vid) => numeric(*vid, u64::from),
        Field::Metadata(value) | Field::TunnelId(value) => numeric(*value, |bits| bits),
        Field::Ipv6Flabel(value) => numeric(*value, u64::from),
        Field::PbbIsid(value) => numeric(*value, |bits| bits.to_u32().into()),
        Field::Ipv6Exthdr(value) => numeric(*value, |bits| bits.0.into()),
        Field::EthDst(mac) | Field::EthSrc(mac) | Field::ArpSha(mac) | Field::ArpTha(mac) => {
            textual(*mac)
        }
        Field::Ipv4Src(ip) | Field::Ipv4Dst(ip) | Field::ArpSpa(ip) | Field::ArpTpa(ip) => {
            textual(*ip)
        }
        Field::Ipv6Src(ip) | Field::Ipv6Dst(ip) => textual(*ip),
        Field::Ipv6NdTarget(_) | Field::Ipv6NdSll(_) | Field::Ipv6NdTll(_) | Field::Raw(_) => {
            words.into()
        }
    };
    (name, value)
}

fn numeric<T: Copy>(value: Masked<T>, bits: impl Fn(T) -> u64) -> Value {
    match value.mask {
        Some(mask) => format!("{}/{}", bits(value.value), bits(mask)).into(),
        None => bits(value.value).into(),
    }
}

fn textual<T: Copy + std::fmt::Display>(value: Masked<T>) -> Value {
    match value.mask {
        Some(mask) => format!("{}/{mask}", value.value).into(),
        None => value.value.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::body::DictBody;
    use super::*;
    use serde_json::json;

    /// What is read of a match, as it is shown again.
    fn again(match_: Value, version: Version) -> Result<Value, String> {
        let body = DictBody::read(json!({ "match": match_ }).to_string().as_bytes()).unwrap();
        let read = read(&body.dict(), version).map_err(|problem| problem.detail)?;
        Ok(show(&read, version))
    }

    #[test]
    fn both_names_of_a_field_mean_the_same_and_are_shown_by_the_old() {
        for (match_, shown) in [
            (json!({"in_port": 1}), json!({"in_port": 1})),
            (json!({"in_port": "OFPP_LOCAL"}), json!({"in_port": "LOCAL"})),
            (json!({"eth_dst": "02:00:00:00:00:0A"}), json!({"dl_dst": "02:00:00:00:00:0a"})),
            (
                json!({"dl_type": 2048, "nw_src": "10.0.0.0/8", "nw_proto": "6", "tp_dst": 80}),
                json!({"dl_type": 2048, "nw_src": "10.0.0.0/255.0.0.0", "nw_proto": 6, "tp_dst": 80}),
            ),
            (
                json!({"eth_type": "0x0800", "ip_proto": 17, "udp_src": "0x35"}),
                json!({"dl_type": 2048, "nw_proto": 17, "tp_src": 53}),
            ),
            (
                json!({"dl_type": 2054, "nw_dst": "10.0.0.1", "arp_op": 1}),
                json!({"dl_type": 2054, "arp_tpa": "10.0.0.1", "arp_op": 1}),
            ),
            (json!({"dl_vlan": 100, "vlan_pcp": 3}), json!({"dl_vlan": "100", "vlan_pcp": 3})),
            (json!({"vlan_vid": "0x1000/0x1000"}), json!({"dl_vlan": "0x1000/0x1000"})),
            (json!({"vlan_vid": "0x1007/0x1001"}), json!({"dl_vlan": "0x1001/0x1001"})),
            (
                json!({"nw_dst": "10.9.9.7/24"}),
                json!({"dl_type": 2048, "nw_dst": "10.9.9.0/255.255.255.0"}),
            ),
            (json!({"vlan_vid": "0x0000"}), json!({"dl_vlan": "0x0000"})),
            (json!({"metadata": "5/0xff"}), json!({"metadata": "5/255"})),
            (
                json!({"ipv6_dst": "fe80::/64", "icmpv6_type": 135}),
                json!({"dl_type": 34525, "nw_proto": 58, "icmpv6_type": 135,
                       "ipv6_dst": "fe80::/ffff:ffff:ffff:ffff::"}),
            ),
        ] {
            assert_eq!(again(match_.clone(), Version::V13), Ok(shown), "{match_}");
        }
    }

    #[test]
    fn what_is_shown_of_1_0_can_be_said_again() {
        for (match_, shown) in [
            (
                json!({"in_port": 65534, "dl_vlan": 65535}),
                json!({"in_port": "LOCAL", "dl_vlan": 65535}),
            ),
            (
                json!({"dl_type": 2048, "nw_tos": 184, "nw_src": "10.1.0.0/16", "nw_dst": "10.0.0.1"}),
                json!({"dl_type": 2048, "nw_tos": 184, "nw_src": "10.1.0.0/16", "nw_dst": "10.0.0.1"}),
            ),
            (
                json!({"nw_proto": 1, "tp_src": 8, "dl_vlan": "0x64", "dl_vlan_pcp": 7}),
                json!({"dl_type": 2048, "nw_proto": 1, "tp_src": 8, "dl_vlan": 100, "dl_vlan_pcp": 7}),
            ),
            (json!({"nw_proto": 2, "dl_type": 2054}), json!({"nw_proto": 2, "dl_type": 2054})),
            (
                json!({"nw_proto": 6, "tp_dst": 80}),
                json!({"dl_type": 2048, "nw_proto": 6, "tp_dst": 80}),
            ),
            (json!({"tcp_dst": 80}), json!({"dl_type": 2048, "nw_proto": 6, "tp_dst": 80})),
            (json!({"nw_src": "10.9.9.7/24"}), json!({"dl_type": 2048, "nw_src": "10.9.9.0/24"})),
        ] {
            assert_eq!(again(match_.clone(), Version::V10), Ok(shown.clone()), "{match_}");
            assert_eq!(again(shown.clone(), Version::V10), Ok(shown));
        }
    }

    #[test]
    fn what_would_match_something_else_is_refused() {
        for (match_, words) in [
            (json!({"nw_sorc": "10.0.0.1"}), "match.nw_sorc: there is no such field"),
            (json!({"tp_dst": 80}), "match.tp_dst: needs nw_proto"),
            (
                json!({"tcp_dst": 80}),
                "match: tcp-dst needs eth-type 0x0800 (IPv4) or 0x86dd (IPv6)",
            ),
            (json!({"dl_vlan": 4096 * 2}), "match.dl_vlan: 8192; accepted: 0 to 4095"),
            (json!({"dl_type": 65536}), "match.dl_type: 65536; accepted: 0 to 65535"),
            (json!({"nw_src": "10.0.0.0/33"}), "match.nw_src"),
            (json!({"nw_src": ["10.0.0.1"]}), "a number or a text"),
            (json!({"dl_type": 2054, "tcp_dst": 80}), "match: "),
            (json!("in_port=1"), "match: \"in_port=1\"; accepted: a dict"),
        ] {
            let refused = again(match_, Version::V13).unwrap_err();
            assert!(refused.contains(words), "{words}: {refused}");
        }
    }
}
