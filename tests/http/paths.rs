//! Ways between hosts and switches, as routing finds them.

use aldis_wire::Version;
use serde_json::{Value, json};

use super::{ask, serving, when};
use aldis_testkit::client::Api;
use aldis_testkit::network::Network;
use aldis_testkit::running::Running;

const H1: &str = "00:00:00:00:00:01";
const H3: &str = "00:00:00:00:00:03";

/// The switches of each way.
fn switches(paths: &Value) -> Vec<Vec<u64>> {
    let dpid = |hop: &Value| u64::from_str_radix(hop["dpid"].as_str().unwrap(), 16).unwrap();
    let ways = paths["paths"].as_array().unwrap().iter();
    ways.map(|way| way.as_array().unwrap().iter().map(dpid).collect()).collect()
}

#[test]
fn all_ways_of_equal_cost_are_shown_with_their_ports() {
    for version in Version::ALL {
        let mut controller = Running::start(&["--http", "127.0.0.1:0"]);
        let api = Api::of(&mut controller);
        let _network = Network::start(&controller, version, "ring,4", &["0s pingall"]);
        when(&api, "/api/v1/links?state=up", |page| page["total"] == 4);
        when(&api, "/api/v1/hosts", |page| page["total"] == 4);
        let path = format!("/api/v1/paths?from={H1}&to={H3}");
        let paths = when(&api, &path, |paths| paths["distance"] == 2);
        let mut ways = switches(&paths);
        ways.sort_unstable();
        assert_eq!(ways, [[1, 2, 3], [1, 4, 3]]);
        assert_eq!((&paths["engine"], &paths["more"]), (&json!("shortest"), &json!(false)));
        // Every link of a way is one of those that there are, and it begins and ends at the hosts.
        let links = api.get("/api/v1/links").json();
        for way in paths["paths"].as_array().unwrap() {
            assert_eq!(way[0]["in_port"], paths["from"]["port"]);
            assert_eq!(way[2]["out_port"], paths["to"]["port"]);
            for place in 0..2 {
                let a = json!({"dpid": way[place]["dpid"], "port": way[place]["out_port"]});
                let b = json!({"dpid": way[place + 1]["dpid"], "port": way[place + 1]["in_port"]});
                let is = |link: &Value| {
                    [(&link["a"], &link["b"]), (&link["b"], &link["a"])].contains(&(&a, &b))
                };
                assert!(links["items"].as_array().unwrap().iter().any(is), "{a} {b} {links}");
            }
        }
        let host = json!({"dpid": "0000000000000001", "port": paths["from"]["port"], "host": H1, "vlan": 0});
        assert_eq!(paths["from"], host);
        // By an IP address it is the same host, and a switch has no port for a host.
        let ip = api.get(&format!("/api/v1/hosts?mac={H3}")).json()["items"][0]["ips"][0].clone();
        let same = api.get(&format!("/api/v1/paths?from={H1}&to={}", ip.as_str().unwrap())).json();
        assert_eq!(same["paths"], paths["paths"]);
        let one = api.get(&format!("/api/v1/paths?from=1&to={H3}&max=1")).json();
        assert_eq!((switches(&one).len(), &one["more"]), (1, &json!(true)));
        assert_eq!(one["from"], json!({"dpid": "0000000000000001"}));
        assert!(one["paths"][0][0].get("in_port").is_none(), "{one}");
        let here = api.get(&format!("/api/v1/paths?from=3&to={H3}")).json();
        assert_eq!((&here["distance"], switches(&here)), (&json!(0), vec![vec![3]]));
        let table = ask::told(&api, &["paths", H1, "0x3"]);
        assert!(table.starts_with("way  switch            in  out\n1    0000000000000001  "));
        assert!(table.ends_with("\n2 ways of distance 2 (shortest)\n"), "{table}");
    }
}

#[test]
fn who_is_not_there_is_said_and_a_network_in_parts_has_no_way() {
    let mut controller = Running::start(&["--http", "127.0.0.1:0"]);
    let api = Api::of(&mut controller);
    let _network = Network::start(&controller, Version::V13, "linear,2", &["0s link-down s1 s2"]);
    when(&api, "/api/v1/switches", |page| page["total"] == 2);
    let paths = when(&api, "/api/v1/paths?from=1&to=2", |paths| paths["distance"].is_null());
    assert_eq!((&paths["paths"], &paths["more"]), (&json!([]), &json!(false)));
    assert_eq!(ask::told(&api, &["paths", "1", "2"]), "way  switch  in  out\nno way leads there\n");
    for (query, status, words) in [
        ("from=1", 400, "`to` is missing"),
        ("from=1&to=h2", 400, "to: \"h2\" is no host and no switch"),
        ("from=1&to=2&max=0", 400, "accepted are 1 to 256"),
        ("from=1&to=2&max=257", 400, "accepted are 1 to 256"),
        ("from=1&to=2&colour=red", 400, "there is no key `colour` here"),
        ("from=7&to=2", 404, "switch 0000000000000007 is not connected"),
        ("from=1&to=00:00:00:00:00:99", 404, "to: no host 00:00:00:00:00:99 was seen; /api/v1"),
        ("from=10.9.9.9&to=1&vlan=7", 404, "from: no host 10.9.9.9 was seen in VLAN 7"),
    ] {
        let answer = api.get(&format!("/api/v1/paths?{query}"));
        assert!(answer.is_problem(status, words), "{query}: {answer:?}");
    }
}

#[test]
fn where_nobody_looks_for_ways_that_is_said() {
    let (controller, api) = serving();
    let _network = Network::start(&controller, Version::V13, "linear,2", &[]);
    when(&api, "/api/v1/switches", |page| page["total"] == 2);
    let answer = api.get("/api/v1/paths?from=1&to=2");
    assert!(answer.is_problem(404, "no application looks for ways here"), "{answer:?}");
    let answer = api.get("/api/v1/paths?from=10.0.0.1&to=2");
    assert!(answer.is_problem(404, "no application looks for hosts here"), "{answer:?}");
}
