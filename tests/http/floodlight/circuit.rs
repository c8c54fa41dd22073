//! What `circuitpusher.py` asks, Floodlight's best known example: where two hosts are, a route
//! between them, four entries for each switch on it, and later their removal. The same requests in
//! the same order, with the same headers (those of `curl`), and answers read as it reads them.
//! Nothing else forwards here: what arrives, arrives by the circuit.

use std::time::Instant;

use aldis_wire::Version;
use serde_json::{Value, json};

use aldis_testkit::client::{Api, HttpAnswer};
use aldis_testkit::network::Network;
use aldis_testkit::running::{Running, WITHIN};

/// What `curl -d` says that it sends.
const FORM: [(&str, &str); 3] = [
    ("User-Agent", "curl/7.88.1"),
    ("Accept", "*/*"),
    ("Content-Type", "application/x-www-form-urlencoded"),
];

const PUSHER: &str = "/wm/staticflowentrypusher/json";

const NAME: &str = "circuit-1";

/// An end of a link, as a route has it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct End {
    dpid: String,
    port: String,
}

/// As `%s` of Python shows it.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn curl(api: &Api, path: &str) -> Value {
    let answer = api.ask("GET", path, &FORM[..2], b"");
    answer.json()
}

/// Where a host is: the first attachment point of the first device.
fn device(api: &Api, ip: &str) -> End {
    let devices = curl(api, &format!("/wm/device/?ipv4={ip}"));
    let at = &devices[0]["attachmentPoint"][0];
    assert!(at["switchDPID"].is_string() && !at["port"].is_null(), "{devices}");
    End { dpid: shown(&at["switchDPID"]), port: shown(&at["port"]) }
}

fn push(api: &Api, body: &str) {
    let answer = api.ask("POST", PUSHER, &FORM, body.as_bytes());
    assert_eq!((answer.status, answer.json()), (200, json!({"status": "Entry pushed"})), "{body}");
}

/// The entries of one switch of the route: forward and back, IP and ARP.
fn add_at(api: &Api, [from, to]: &[End; 2], src: &str, dst: &str) {
    let dpid = &from.dpid;
    let rest = |ether: &str, port: &str, out: &str| {
        format!(
            r#""ether-type":"{ether}", "cookie":"0", "priority":"32768", "ingress-port":"{port}","active":"true", "actions":"output={out}"}}"#
        )
    };
    let ip = |kind: &str, src: &str, dst: &str, [port, out]: [&str; 2]| {
        format!(
            r#"{{"switch": "{dpid}", "name":"{dpid}.{NAME}.{kind}", "src-ip":"{src}", "dst-ip":"{dst}", {}"#,
            rest("0x800", port, out)
        )
    };
    let arp = |kind: &str, [port, out]: [&str; 2]| {
        format!(
            r#"{{"switch": "{dpid}", "name":"{dpid}.{NAME}.{kind}", {}"#,
            rest("0x806", port, out)
        )
    };
    let (there, back) = ([&*from.port, &*to.port], [&*to.port, &*from.port]);
    push(api, &ip("f", src, dst, there));
    push(api, &arp("farp", there));
    push(api, &ip("r", dst, src, back));
    push(api, &arp("rarp", back));
}

/// Adds the circuit; the switches that have a part of it, as its file of records keeps them.
fn add(api: &Api, src: &str, dst: &str) -> Vec<String> {
    let (from, to) = (device(api, src), device(api, dst));
    let path = [&*from.dpid, &*from.port, &*to.dpid, &*to.port].join("/");
    let route = curl(api, &format!("/wm/topology/route/{path}/json"));
    let route = route.as_array().expect("it takes its length");
    let ends: Vec<End> = route
        .iter()
        .map(|end| End { dpid: shown(&end["switch"]), port: shown(&end["port"]) })
        .collect();
    assert_eq!((ends.first(), ends.last()), (Some(&from), Some(&to)));
    let mut records = vec![];
    for pair in ends.chunks(2) {
        let [from, to] = pair else { panic!("an odd number of ends: {ends:?}") };
        assert_eq!(from.dpid, to.dpid, "in and out of the same switch");
        add_at(api, &[from.clone(), to.clone()], src, dst);
        records.push(from.dpid.clone());
    }
    let all = curl(api, "/wm/core/switch/all/flow/json");
    assert!(records.iter().all(|dpid| all[dpid]["flows"].is_array()), "{all}");
    records
}

fn delete(api: &Api, records: &[String]) {
    for dpid in records {
        for kind in ["f", "farp", "r", "rarp"] {
            let body = format!(r#"{{"name":"{dpid}.{NAME}.{kind}", "switch":"{dpid}"}}"#);
            let answer: HttpAnswer = api.ask("DELETE", PUSHER, &FORM, body.as_bytes());
            assert_eq!(answer.status, 200, "{body}: {answer:?}");
        }
    }
}

fn when<T>(what: &str, mut is: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + WITHIN;
    loop {
        if let Some(found) = is() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not within {WITHIN:?}");
        std::thread::yield_now();
    }
}

/// The flows of the circuit that a switch says it has: match and what is done, with the packets of
/// each.
fn flows(api: &Api, dpid: &str) -> Vec<(Value, Value, u64)> {
    let answer = api.get(&format!("/api/v1/switches/{dpid}/flows"));
    let json = answer.json();
    let all = json["items"].as_array().expect("flows").iter();
    let mine = all.filter(|flow| flow["cookie"] == "0x0" && flow["priority"] == 32768);
    let mut mine: Vec<_> = mine
        .map(|flow| {
            let packets = flow["packets"].as_u64().unwrap_or_default();
            (flow["match"].clone(), flow["actions"].clone(), packets)
        })
        .collect();
    mine.sort_by_key(|(matching, ..)| matching.to_string());
    mine
}

#[test]
fn the_requests_of_circuitpusher_make_a_circuit() {
    for version in Version::ALL {
        let args = ["--http", "127.0.0.1:0", "--apps", "topology,hosts,routing"];
        let mut controller = Running::start(&args);
        let api = Api::of(&mut controller);
        // The hosts are heard of when they ask; none is reached before the circuit is there, and
        // then by it alone.
        let script: Vec<String> = (0..300).map(|n| format!("{}ms ping h1 h3", 100 * n)).collect();
        let back = (0..300).map(|n| format!("{}ms ping h3 h1", 100 * n + 50));
        let mut script: Vec<_> = script.into_iter().chain(back).collect();
        script.sort_by_key(|line| line.split("ms").next().unwrap().parse::<u64>().unwrap());
        let script: Vec<&str> = script.iter().map(String::as_str).collect();
        let _network = Network::start(&controller, version, "linear,3", &script);
        let ips = when("two hosts", || {
            let devices = api.get("/wm/device/").json();
            let ips: Vec<String> = devices
                .as_array()?
                .iter()
                .filter_map(|one| one["ipv4"][0].as_str())
                .map(str::to_owned)
                .collect();
            <[String; 2]>::try_from(ips).ok()
        });
        when("two links", || {
            let links = api.get("/wm/topology/links/json").json();
            (links.as_array()?.len() == 2).then_some(())
        });
        let records = when("a route", || {
            let [src, dst] = [&ips[0], &ips[1]];
            let (from, to) = (device(&api, src), device(&api, dst));
            let path = [&*from.dpid, &*from.port, &*to.dpid, &*to.port].join("/");
            let route = curl(&api, &format!("/wm/topology/route/{path}/json"));
            (route.as_array()?.len() == 6).then(|| add(&api, src, dst))
        });
        assert_eq!(records.len(), 3, "{version}");
        for dpid in &records {
            let flows = flows(&api, dpid);
            let fields: Vec<_> = flows.iter().map(|(matching, ..)| matching).collect();
            assert_eq!(flows.len(), 4, "{version}: {flows:?}");
            let of =
                |kind: &str| fields.iter().filter(|matching| matching["eth_type"] == kind).count();
            assert_eq!((of("0x0800"), of("0x0806")), (2, 2), "{version}: {fields:?}");
        }
        // Packets go there and back by all four, at every switch.
        when("packets by the circuit", || {
            let all = records.iter().flat_map(|dpid| flows(&api, dpid));
            let used: Vec<_> = all.map(|(matching, _, packets)| (matching, packets)).collect();
            let mut ip = used.iter().filter(|(matching, _)| matching["eth_type"] == "0x0800");
            ip.all(|(_, packets)| *packets > 0).then_some(())
        });
        delete(&api, &records);
        for dpid in &records {
            assert!(flows(&api, dpid).is_empty(), "{version}");
        }
        assert_eq!(api.get("/wm/staticflowentrypusher/list/all/json").json(), json!({}));
        // A route that leads nowhere is a list, too.
        let here = &records[0];
        let none = curl(&api, &format!("/wm/topology/route/{here}/1/{here}/1/json"));
        assert_eq!(none, json!([]));
    }
}

#[test]
fn a_route_of_what_is_not_there_is_refused_in_words() {
    let args = ["--http", "127.0.0.1:0", "--apps", "topology,hosts,routing"];
    let mut controller = Running::start(&args);
    let api = Api::of(&mut controller);
    for (path, status, words) in [
        ("/wm/topology/route/00:00:00:00:00:00:00:01/1/2/1/json", 404, "is not connected"),
        ("/wm/topology/route/x/1/2/1/json", 400, "datapath id"),
        ("/wm/topology/route/1/-1/2/1/json", 400, "\"-1\" is no port number"),
    ] {
        let answer = api.get(path);
        assert!(answer.is_problem(status, words), "{path}: {answer:?}");
    }
}
