//! Files that are read, and those that are refused.

use super::*;
use aldis_apps::{hosts, topology};
use aldis_control::EventKind;
use aldis_control::batching::Bdu;
use aldis_control::session;
use aldis_wire::DatapathId;
use std::time::Duration;

fn refusal(text: &str) -> String {
    explain(text, &toml::from_str::<Config>(text).expect_err("it has to be refused"))
}

#[test]
fn an_empty_file_is_the_default() {
    let config: Config = toml::from_str("").unwrap();
    assert_eq!(config.listen, Config::default().listen);
    assert_eq!(config.engine().session, session::Config::default());
}

#[test]
fn the_example_of_the_documentation_is_accepted() {
    let page = include_str!("../../../../docs/configuration.md");
    let example = page.split("```").nth(1).and_then(|text| text.strip_prefix("toml")).unwrap();
    let config: Config = toml::from_str(example).unwrap();
    let config = config.settle(&[]).unwrap();
    assert_eq!(config.rules.weights().of(DatapathId(0x02_07)).number(), 2);
}

/// The keys that a table of the file may have, as its refusal of another one lists them.
fn keys_of_the_code(table: &str) -> Vec<String> {
    let head = if table.is_empty() { String::new() } else { format!("[{table}]\n") };
    let refused = toml::from_str::<Config>(&format!("{head}no-such-key = 1")).unwrap_err();
    let message = refused.message().to_owned();
    let (_, expected) = message.split_once("expected").expect(&message);
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The keys in the rows of a table's part of the page, spelt without brackets.
fn keys_of_the_page(page: &str, table: &str) -> Vec<String> {
    let begin = if table.is_empty() { "| key |".into() } else { format!("| **`[{table}]`** |") };
    let (_, rows) = page.split_once(&begin).expect(table);
    let rows = rows.lines().skip(1).take_while(|row| row.starts_with('|'));
    let rows = rows.take_while(|row| !row.starts_with("| **"));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let keys = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    keys.map(|key| key.trim_matches(['[', ']']).to_owned()).collect()
}

#[test]
fn the_documentation_has_the_keys_of_the_code_and_no_others() {
    let page = include_str!("../../../../docs/configuration.md");
    let tables = [
        "",
        "tls",
        "session",
        "learning-switch",
        "routing",
        "route-flow",
        "monitor",
        "topology",
        "hosts",
    ];
    for table in tables {
        let (code, told) = (keys_of_the_code(table), keys_of_the_page(page, table));
        assert!(code.len() > 1 || table == "learning-switch", "{table}: {code:?}");
        for key in &told {
            assert!(code.contains(key), "[{table}] {key} is documented, and is no key: {code:?}");
        }
        for key in &code {
            // A table has a part of its own, on this page or on that of its application.
            let elsewhere = [format!("[{key}]"), format!("`[[{key}]]`")];
            let is_table = table.is_empty() && elsewhere.iter().any(|it| page.contains(it));
            assert!(told.contains(key) || is_table, "[{table}] {key} is not documented");
        }
    }
}

#[test]
fn every_key_is_read() {
    let text = r#"
        listen = ["127.0.0.1:7000"]
        http = "[::1]:7001"
        workers = 3
        apps = ["learning-switch"]
        sequence = [{ on = "lldp", apps = [] }]
        design = "maestro-round-robin"
        stats = "/tmp/stats.json"
        poll = true
        log = "debug"
        log-format = "json"
        memory-mib = 512
        [knobs]
        bdu-us = 300
        [weights]
        "2" = 4
        [session]
        delete-flows = true
        handshake-within-s = 5
        echo-every-s = 7
        echo-within-s = 9
        stuck-within-s = 11
        joining-within-s = 12
        switch-mib-max = 5
        [learning-switch]
        idle-timeout-s = 30
        [monitor]
        interval-s = 30
        ports = true
        flows = false
        tables = true
        queues = false
        flows-max = 9
        [topology]
        probe-every-s = 7
        probes-per-s-max = 90
        far-with-hosts = true
        [hosts]
        hosts-max = 1000
        port-hosts-max = 30
        ageing-s = 60
    "#;
    let config: Config = toml::from_str(text).unwrap();
    let config = config.settle(&[]).unwrap();
    let engine = config.engine();
    assert_eq!((engine.workers, engine.spin, engine.listen[0].port()), (3, true, 7000));
    assert!(config.http.at == "[::1]:7001".parse().ok() && engine.session.delete_flows);
    let sequences = config.app_set().unwrap().graph().unwrap().sequences;
    assert!(!sequences.iter().any(|(on, _)| *on == EventKind::Lldp));
    assert_eq!(sequences.iter().filter(|it| it.1.contains(&"learning-switch")).count(), 3);
    let session::Config { echo_within, stuck_within, joining_within, .. } = engine.session;
    assert_eq!([echo_within, stuck_within, joining_within].map(|it| it.as_secs()), [9, 11, 12]);
    assert_eq!(config.learning_switch().idle_timeout_s, 30);
    let monitor = config.monitor.settings();
    assert_eq!((monitor.interval, monitor.flows_max), (Duration::from_secs(30), 9));
    assert_eq!(monitor.kinds, [true, false, true, false]);
    let topology::TopologyConfig { interval, probes_per_s_max, far_with_hosts } = config.topology();
    assert_eq!((interval.as_secs(), probes_per_s_max, far_with_hosts), (7, 90, true));
    let hosts::HostsConfig { hosts_max, port_hosts_max, ageing, .. } = config.hosts();
    assert_eq!((hosts_max, port_hosts_max, ageing.as_secs()), (1000, 30, 60));
    assert_eq!(config.log, LogLevel(tracing::Level::DEBUG));
    assert_eq!(config.log_format, Some(LogFormat::Json));
    assert_eq!((engine.knobs.received_max, config.switch_bytes()), (Some(64 << 20), 5 << 20));
    assert_eq!(config.route_flow.paths_max(config.room()), 131_072);
    assert_eq!(config.stats, Some("/tmp/stats.json".into()));
    assert_eq!(engine.knobs.weights.of(DatapathId(2)).number(), 4);
    let bdu = Bdu::new(Duration::from_micros(300)).unwrap();
    assert_eq!(engine.design.batching, design::Batching::Adaptive(bdu));
}

#[test]
fn an_error_names_line_key_and_what_is_accepted() {
    let cases = [
        ("poll = true\nworkers = 0\n", "2: workers: ", "from 1 to 256"),
        ("workers = \"two\"\n", "1: workers: ", "two"),
        ("\n\ndesign = \"beacom\"\n", "3: design: ", "fair-rounds"),
        ("[knobs]\nbdu-us = 0\n", "2: bdu-us: ", "for example 150"),
        ("[knobs]\nibt = 0\n", "2: ibt: ", "1 request or more"),
        ("[knobs]\nibt = -9\n", "2: ibt: ", "below 0"),
        ("[knobs]\n\nbatching = \"big\"\n", "3: batching: ", "`per-read`"),
        ("[knobs]\nbutching = 1\n", "2: butching: ", "`batching`"),
        ("[weights]\n\"2\" = 1.5\n", "2: \"2\": ", "from 1 to 1000"),
        ("weights = 3\n", "1: weights: ", "a table of switches"),
        ("listen = [\"here\"]\n", "1: listen: ", "here:6653"),
        ("listen = true\n", "1: listen: true is given", "0.0.0.0:6653"),
        ("listen = [\n 6653,\n 99999]\n", "3: listen: ", "0 to 65535"),
        ("apps = 3\n", "1: apps: the number 3 is given where a list is wanted", ""),
        ("poll = \"yes\"\n", "1: poll: the text \"yes\" is given", "true or false"),
        ("[route-flow]\nidle-timeout-s = 99999\n", "2: idle-timeout-s: ", "0 to 65535"),
        ("[hosts]\nhost-max = 3\n", "2: host-max: ", "did you mean `hosts-max`?"),
        ("listen = []\n", "1: listen: ", "at least one"),
        ("http = \"on\"\n", "1: http: ", "\"off\""),
        ("log = \"loud\"\n", "1: log: ", "trace"),
        ("wrokers = 1\n", "1: wrokers: ", "did you mean `workers`?"),
        ("[[sequence]]\non = \"packet-in\"\napps = []", "2: on: ", "flow-request"),
        ("[[sequence]]\non = \"up\"\n", "1: ", "apps"),
        ("[session]\necho-every-s = 0\n", "2: echo-every-s: ", "1 to 3600"),
        ("memory-mib = 1\n", "1: memory-mib: ", "64 to 16777216"),
        ("[session]\nswitch-mib-max = 0\n", "2: switch-mib-max: ", "1 to 4096"),
        ("[monitor]\nflows-max = 9000\n", "2: flows-max: ", "0 to 4096"),
        ("[hosts]\nageing-s = 7\n", "2: ageing-s: ", "8 to 86400"),
        ("[topology]\nprobes-per-s-max = -1\n", "2: probes-per-s-max: ", "1 to 1000000"),
        ("workers = \n", "1", ""),
    ];
    for (text, place, accepted) in cases {
        let refusal = refusal(text);
        assert!(refusal.starts_with(place) && refusal.contains(accepted), "{text:?}: {refusal}");
        assert_eq!(refusal.lines().count(), 1, "{refusal}");
        for word in ["expected", "invalid type", "sequence,", "unknown field"] {
            assert!(text == "workers = \n" || !refusal.contains(word), "{refusal}");
        }
    }
}

fn unsettled(text: &str, settings: &[&str], rules: &[&str]) -> String {
    let source = Some(ConfigFile { path: "a.toml".into(), text: text.to_owned() });
    let config = Config { source, ..toml::from_str(text).unwrap() };
    let settings: Vec<Setting> = settings.iter().map(|text| text.parse().unwrap()).collect();
    let rules: Vec<WeightRule> = rules.iter().map(|text| text.parse().unwrap()).collect();
    let config = Config { set: settings, weight: rules, ..config };
    config.settle(&[]).expect_err("it has to be refused")
}

#[test]
fn applications_that_cannot_work_together_are_refused_with_their_place() {
    let cases = [
        ("apps = [\"learning-switch\", \"learning-switch\"]", "the application", "twice"),
        (
            "apps = [\"learning-switch\",\n \"hubb\"]",
            "a.toml:2: apps: there is no application \"hubb\"",
            "did you mean `hub`?",
        ),
        (
            "apps = [\"learning-switch\"]\n[[sequence]]\non = \"up\"\napps = [\n  \"hub\"]",
            "a.toml:5: apps: there is no application \"hub\"",
            "learning-switch",
        ),
        (
            "apps = [\"learning-switch\"]\n[[sequence]]\non = \"up\"\napps = [\"learning-switch\"]",
            "a.toml:4: apps: the application \"learning-switch\" does not start on \"up\"",
            "flow-request, lldp",
        ),
        (
            "[[sequence]]\non = \"flow-request\"\napps = [\"hosts\", \"spanning\"]\n[[sequence]]\non = \"flow-request\"\n\
             apps = [\"spanning\", \"hosts\"]",
            "a.toml:5: on: the sequences on \"flow-request\" go in a circle",
            "\"spanning\" before",
        ),
    ];
    for (text, place, accepted) in cases {
        let source = Some(ConfigFile { path: "a.toml".into(), text: text.to_owned() });
        let config = Config { source, ..toml::from_str(text).unwrap() };
        let refusal = config.app_set().expect_err("it has to be refused");
        assert!(refusal.starts_with(place) && refusal.contains(accepted), "{refusal}");
    }
}

#[test]
fn what_does_not_go_together_is_refused_with_its_place() {
    let cases: [(&str, &[&str], &str, &str); 6] = [
        ("design = \"nox\"\n[knobs]\nprt = 5\n", &[], "a.toml:3: prt: ", "binding off"),
        ("knobs.io-threads = 5\n", &[], "a.toml:1: io-threads: ", "shared queues"),
        ("[knobs]\nwrite = \"immediate\"", &[], "a.toml:2: write: ", "choose one"),
        (
            "design = \"nox\"\n[knobs]\nwrite = \"immediate\"",
            &["write=batched", "ibt=10"],
            "--set ibt: ",
            "fixed",
        ),
        ("[weights]\n\"2\" = 1\n\"1\" = 0\n", &[], "a.toml:3: \"1\": ", "1 or more"),
        ("[weights]\ns1 = 4\n", &[], "a.toml:2: s1: ", "a datapath id"),
    ];
    for (text, settings, place, accepted) in cases {
        let refusal = unsettled(text, settings, &[]);
        assert!(refusal.starts_with(place) && refusal.contains(accepted), "{text:?}: {refusal}");
        assert_eq!(refusal.lines().count(), 1, "{refusal}");
    }
    let crowd = "workers = 255\ndesign = \"beacon-queue\"";
    assert!(unsettled(crowd, &[], &[]).contains("256 threads together"));
}

#[test]
fn the_command_line_goes_before_the_file() {
    let text = "design = \"maestro-round-robin\"\n[knobs]\nbdu-us = 1\n[weights]\n\"1\" = 2";
    let config: Config = toml::from_str(text).unwrap();
    let set = vec!["bdu-us=9".parse().unwrap()];
    let config = Config { set, weight: vec!["1-9=7".parse().unwrap()], ..config };
    let config = config.settle(&[]).unwrap();
    let bdu = Bdu::new(Duration::from_micros(9)).unwrap();
    assert_eq!(config.design.batching, design::Batching::Adaptive(bdu));
    assert_eq!(config.rules.weights().of(DatapathId(1)).number(), 7);
}
