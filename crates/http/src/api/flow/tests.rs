use super::*;
use crate::extract::parse;

fn change(json: &str) -> Change {
    parse(json.as_bytes()).unwrap_or_else(|problem| panic!("{json}: {problem:?}"))
}

#[test]
fn what_is_shown_can_be_said_again() {
    let said = change(
        r#"{"table": 3, "priority": 7, "cookie": "0xa1", "idle_timeout_s": 5, "hard_timeout_s": 6,
            "match": {"tcp_dst": 80, "eth_type": "0x0800", "ipv4_dst": "10.0.0.0/8", "in_port": "1"},
            "actions": ["set-field:eth_dst=02:00:00:00:00:01", "output:controller"],
            "then": ["meter:4", "clear", "write:group:9", "write-metadata:0x1/0xff", "goto-table:5"],
            "flags": ["send-flow-rem", "no-byt-counts"]}"#,
    );
    let flow = said.flow_mod();
    let stats = FlowStats {
        table_id: flow.table_id,
        duration_sec: 2,
        duration_nsec: 500_000_000,
        priority: flow.priority,
        idle_timeout: flow.idle_timeout,
        hard_timeout: flow.hard_timeout,
        flags: flow.flags,
        cookie: flow.cookie,
        packet_count: 9,
        byte_count: u64::MAX,
        match_: flow.match_.clone(),
        instructions: flow.instructions.clone(),
    };
    let owner = |app: &str| Owners(vec![(Cookie::of(app), app.to_owned())]).of(stats.cookie);
    assert_eq!((owner("hub"), Cookie::of("hub").same_app(Cookie(stats.cookie))), (None, false));
    let made = Cookie::of("hub").generation(7).0;
    let owners = Owners(vec![(Cookie::of("acl"), "acl".into()), (Cookie::of("hub"), "hub".into())]);
    assert_eq!(owners.of(made).as_deref(), Some("hub"));
    let shown = Flow::of(&stats, &owners);
    assert_eq!((shown.packets, shown.bytes, shown.age_s), (Some(9), None, 2.5));
    let mut json = serde_json::to_value(&shown).unwrap();
    for counted in ["packets", "bytes", "age_s"] {
        json.as_object_mut().unwrap().remove(counted);
    }
    assert_eq!(change(&json.to_string()).flow_mod(), flow);
    assert_eq!(shown.matching["ip_proto"], "6", "what tcp_dst needs");
}

#[test]
fn what_is_left_out_is_as_it_usually_is() {
    let drop = change("{}").flow_mod();
    assert_eq!(
        (drop.table_id, drop.priority, drop.command),
        (TableNo(0), 0x8000, FlowModCommand::ADD)
    );
    assert!(drop.instructions.is_empty() && drop.match_.fields.is_empty());
    let delete = change(r#"{"command": "delete", "cookie": 7}"#).flow_mod();
    assert_eq!((delete.table_id, delete.cookie, delete.cookie_mask), (TableNo::ALL, 7, u64::MAX));
    let text: Matching = "in_port=1, ipv4_dst=10.0.0.0/8".parse().unwrap();
    let json = change(r#"{"match": {"ipv4_dst": "10.0.0.0/8", "in_port": 1}}"#);
    assert_eq!(text, json.matching);
}

#[test]
fn what_cannot_be_is_named() {
    for (json, words) in [
        (
            r#"{"match": {"ipv4_dst": "10.0.0.300"}}"#,
            "match: ipv4_dst: \"10.0.0.300\"; accepted: an IPv4",
        ),
        (r#"{"match": {"ipv4_destination": "1"}}"#, "match: ipv4_destination"),
        (r#"{"match": {"in_port": 1, "in-port": 2}}"#, "twice"),
        (r#"{"match": {"eth_type": "0x0800", "ip_proto": 6, "udp_dst": 9}}"#, "udp"),
        (r#"{"match": {"in_port": -1}}"#, "match"),
        (r#"{"match": {"in_port": [1]}}"#, "a text or a number"),
        (r#"{"match": 7}"#, "fields and their values"),
        (
            r#"{"actions": ["output:2", "outptu:3"]}"#,
            "actions[1]: \"outptu:3\"; accepted: output:PORT",
        ),
        (r#"{"then": ["goto-table:255"]}"#, "then[0]"),
        (r#"{"then": ["goto-table"]}"#, "accepted: write:ACTION"),
        (r#"{"then": ["write:jump"]}"#, "accepted: output:PORT"),
        (r#"{"flags": ["all"]}"#, "accepted: send-flow-rem"),
        (r#"{"priority": 65536}"#, "priority"),
        (r#"{"cookie": "0xg"}"#, "cookie: \"0xg\" is no number"),
        (r#"{"cookie": "0x11111111111111111"}"#, "no number of 64 bits"),
        (r#"{"command": "remove"}"#, "`delete-strict`"),
        (r#"{"switch": "one"}"#, "not a datapath id"),
        (r#"{"action": []}"#, "there is no key `action` here"),
    ] {
        let problem = parse::<Change>(json.as_bytes()).unwrap_err();
        assert!(problem.status == 422 && problem.detail.contains(words), "{json}: {problem:?}");
    }
}
