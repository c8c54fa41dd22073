//! The examples as a person starts them: each runs, and a scripted switch asks it.

use std::io::{BufRead, BufReader, Lines};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use aldis::prelude::*;
use aldis::wire::header::kind::{FLOW_MOD, PACKET_OUT};
use aldis::wire::{FixedText, NO_BUFFER, msg};
use aldis_emulator::peer::{Peer, PeerPart as Role, hello};

/// Longer than anything here takes on a machine that is busy with other things.
const WITHIN: Duration = Duration::from_secs(30);

/// `OFPT_BARRIER_REQUEST` of OpenFlow 1.3: the last message of the handshake.
const BARRIER_REQUEST: u8 = 20;

const VERSION: Version = Version::V13;

/// A program that is ended with the test.
struct Program {
    child: Child,
    address: SocketAddr,
    /// Where it serves HTTP, if it does.
    url: Option<String>,
    out: Lines<BufReader<ChildStdout>>,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Program {
    fn start(name: &str) -> Program {
        Program::start_with(name, &["--http", "off"])
    }

    fn start_with(name: &str, args: &[&str]) -> Program {
        static BUILT: OnceLock<bool> = OnceLock::new();
        let build = || {
            // Of the whole workspace, as tests are run: another selection has other features, and
            // most crates would be compiled once more.
            let build = ["build", "--quiet", "--locked", "--examples", "--workspace"];
            let mut cargo = Command::new(env!("CARGO"));
            // What Cargo says to a test of its package: build scripts that read it would run again,
            // here and in the next build, and half of the workspace be compiled for them.
            let of_package =
                |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
            for (name, _) in std::env::vars().filter(|(name, _)| of_package(name)) {
                cargo.env_remove(name);
            }
            cargo.args(build).status().is_ok_and(|status| status.success())
        };
        assert!(BUILT.get_or_init(build), "the examples are built");
        let programs = Path::new(env!("CARGO_BIN_EXE_aldis")).with_file_name("examples");
        let mut child = Command::new(programs.join(name))
            .args(["--listen", "127.0.0.1:0"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the example starts");
        let out = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut log = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let (mut address, mut url) = (None, None);
        for line in log.by_ref() {
            let line = line.expect("text");
            if let Some(said) = line.strip_prefix("Listening for switches on ") {
                address = said.split(' ').next().and_then(|address| address.parse().ok());
            }
            url = url.or(line.strip_prefix("HTTP on ").map(str::to_owned));
            if line.ends_with("Ctrl-C stops.") {
                break;
            }
        }
        // What it says later is read away, so that it never waits for us.
        std::thread::spawn(move || log.map_while(Result::ok).for_each(drop));
        Program { child, address: address.expect("it says where it listens"), url, out }
    }

    fn join(&self) -> Peer {
        let mut peer = Peer::connect(self.address, WITHIN).expect("it listens");
        peer.send(&hello(VERSION)).expect("it reads");
        let role = Role { version: VERSION, number: 7, ports: 4 };
        peer.play(role, BARRIER_REQUEST).expect("a handshake");
        peer
    }
}

/// A request of a host behind port 1, for an unknown host.
fn request(xid: u32, src: u8) -> Vec<u8> {
    let mut data = vec![2, 0, 0, 0, 0, 0xee, 2, 0, 0, 0, 0, src, 0x08, 0];
    data.resize(64, 0);
    let packet = msg::PacketIn {
        buffer_id: NO_BUFFER,
        total_len: 64,
        reason: msg::PacketInReason::NO_MATCH,
        table_id: msg::TableNo(0),
        cookie: u64::MAX,
        match_: Match::new().in_port(PortNo(1)),
        data,
    };
    let mut bytes = Vec::new();
    Message::PacketIn(packet).encode(VERSION, xid, &mut bytes).expect("it can be said");
    bytes
}

/// The next message of one of these types, and its transaction id.
fn receive(peer: &mut Peer, kinds: &[u8]) -> (u32, Message) {
    loop {
        let message = peer.receive().unwrap_or_else(|unexpected| panic!("{unexpected}"));
        if kinds.contains(&message[1]) {
            let (xid, message) = Message::decode(VERSION, &message).expect("a good message");
            return (xid, message.meaning());
        }
    }
}

#[test]
fn the_ports_that_come_and_go_are_named() {
    let mut ports = Program::start("ports");
    let mut peer = ports.join();
    let change = |link_down| {
        let mut bytes = Vec::new();
        let reason = msg::PortChangeReason::Modified;
        let port = msg::Port {
            number: PortNo(2),
            hw_addr: MacAddr([6, 0, 0, 0, 0, 2]),
            name: FixedText::new("uplink"),
            admin_down: false,
            link_down,
            speed_kbps: 0,
            details: msg::PortDetails::default(),
        };
        let change = Message::PortChange(msg::PortChange { reason, port });
        change.encode(VERSION, 0, &mut bytes).expect("it can be said");
        bytes
    };
    peer.send(&[change(true), change(false)].concat()).expect("it reads");
    let mut lines = ports.out.by_ref().map(|line| line.expect("text"));
    let dpid = DatapathId(7);
    let expected =
        ["has 4 ports", "lost uplink", "has uplink"].map(|what| format!("{dpid} {what}"));
    assert!(expected.iter().eq(&lines.by_ref().take(3).collect::<Vec<_>>()));
    drop(peer);
    assert_eq!(lines.next(), Some(format!("{dpid} is gone")));
}

#[test]
fn the_quarantine_cuts_off_who_asks_too_much_and_nobody_else() {
    let quarantine = Program::start("quarantine");
    let mut peer = quarantine.join();
    let (deadline, mut rounds) = (Instant::now() + WITHIN, 0..);
    // A second that passes in the middle of a round begins the count anew.
    let cut_off = loop {
        assert!(Instant::now() < deadline, "it is never cut off");
        let base = 1000 * rounds.next().unwrap_or(0);
        let mut bytes: Vec<u8> = (base..base + 80).flat_map(|xid| request(xid, 0xa)).collect();
        bytes.extend(request(base + 999, 0xb));
        peer.send(&bytes).expect("it reads");
        let mut answers = Vec::new();
        while !answers.iter().any(|(xid, _)| *xid == base + 999) {
            answers.push(receive(&mut peer, &[PACKET_OUT, FLOW_MOD]));
        }
        let flows = answers.iter().find_map(|(xid, message)| match message {
            Message::FlowMod(flow) => Some((*xid, flow.clone())),
            _ => None,
        });
        if let Some((cut_off_at, flow)) = flows {
            let same = answers.iter().filter(|(xid, _)| *xid == cut_off_at);
            assert_eq!(same.count(), 1, "the learning switch answered it too");
            break flow;
        }
    };
    assert_eq!(cut_off.match_, Match::new().eth_src(MacAddr([2, 0, 0, 0, 0, 0xa])));
    assert!(cut_off.instructions.is_empty() && cut_off.hard_timeout == 60);
}

#[test]
fn the_learning_switch_floods_what_it_does_not_know_and_installs_what_it_does() {
    let switch = Program::start("learning_switch");
    let mut peer = switch.join();
    let from = |xid: u32, in_port: u32, dst: u8, src: u8| {
        let (_, Message::PacketIn(mut packet)) =
            Message::decode(VERSION, &request(xid, src)).expect("a good message")
        else {
            panic!("it is a PACKET_IN")
        };
        packet.match_ = Match::new().in_port(PortNo(in_port));
        packet.data[5] = dst;
        let mut bytes = Vec::new();
        Message::PacketIn(packet).encode(VERSION, xid, &mut bytes).expect("it can be said");
        bytes
    };
    let actions_of = |message: &Message| match message {
        Message::PacketOut(packet) => packet.actions.clone(),
        other => panic!("{other:?}"),
    };
    // Host 1 of port 1 asks for host 2, which is not known; host 2 answers from port 2.
    peer.send(&from(1, 1, 2, 1)).expect("it reads");
    let (xid, flooded) = receive(&mut peer, &[PACKET_OUT, FLOW_MOD]);
    assert_eq!((xid, actions_of(&flooded)), (1, vec![Action::output(PortNo::FLOOD)]));
    peer.send(&from(2, 2, 1, 2)).expect("it reads");
    let (_, flow) = receive(&mut peer, &[PACKET_OUT, FLOW_MOD]);
    let Message::FlowMod(flow) = flow else { panic!("{flow:?}") };
    let [one, two] = [1, 2].map(|host| MacAddr([2, 0, 0, 0, 0, host]));
    assert_eq!(flow.match_, Match::new().in_port(PortNo(2)).eth_dst(one).eth_src(two));
    let (xid, sent) = receive(&mut peer, &[PACKET_OUT, FLOW_MOD]);
    assert_eq!((xid, actions_of(&sent)), (2, vec![Action::output(PortNo(1))]));
    // Host 3 is behind port 1, too: the receiver has heard it, and the packet goes nowhere.
    peer.send(&from(9, 1, 1, 3)).expect("it reads");
    let (xid, dropped) = receive(&mut peer, &[PACKET_OUT, FLOW_MOD]);
    assert_eq!((xid, actions_of(&dropped)), (9, vec![]));
    // Host 2 moves to port 3: the flows that lead to where it was go.
    peer.send(&from(3, 3, 1, 2)).expect("it reads");
    let (_, removed) = receive(&mut peer, &[PACKET_OUT, FLOW_MOD]);
    let Message::FlowMod(removed) = removed else { panic!("{removed:?}") };
    assert_eq!(removed.match_, Match::new().eth_dst(two));
    assert_eq!(removed.command, msg::FlowModCommand::DELETE);
}

#[test]
fn the_census_counts_every_host_once() {
    let mut census = Program::start("census");
    let mut peer = census.join();
    for src in [1, 2, 1, 3, 2] {
        peer.send(&request(0, src)).expect("it reads");
    }
    let counts = census.out.by_ref().map(|line| line.expect("text"));
    let counts: Vec<_> = counts.take_while(|line| line != "3 hosts").collect();
    assert!(
        counts.len() <= 2 && counts.iter().all(|line| ["1 hosts", "2 hosts"].contains(&&**line))
    );
}

#[test]
fn an_application_of_ones_own_has_all_that_aldis_run_has() {
    let folder = std::env::temp_dir().join(format!("aldis-examples-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (file, store) = (folder.join("aldis.toml"), folder.join("store"));
    let text = "apps = [\"census\", \"static-flows\"]\n\
                [[static-flow]]\nname = \"uplink\"\nswitch = 7\nactions = [\"output:2\"]\n";
    std::fs::write(&file, text).expect("a file");
    let paths = [&file, &store].map(|path| path.to_str().expect("text"));
    let args =
        ["--http", "127.0.0.1:0", "--config", paths[0], "--store", paths[1], "--weight", "7=4"];
    let census = Program::start_with("census", &args);
    let _peer = census.join();
    let url = census.url.as_deref().expect("it serves HTTP");
    let asked = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
        let output = command.args(words).args(["--http", url]).output().expect("it runs");
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    assert!(asked(&["apps"]).contains("\n  census"));
    assert!(asked(&["switches"]).contains("0000000000000007"));
    assert!(asked(&["static-flows"]).contains("uplink"));
    let weight = |words: &[&str]| {
        let shown = asked(words);
        let rule = shown.lines().find_map(|line| line.strip_prefix("7 ")).map(str::trim);
        rule.map(str::to_owned)
    };
    assert_eq!(weight(&["weights"]).as_deref(), Some("4"));
    assert_eq!(weight(&["weights", "--set", "7=9"]).as_deref(), Some("9"));
    assert!(asked(&["metrics"]).contains("aldis_app_sent_bytes_total{app=\"census\"}"));
    assert!(store.exists());
    drop(census);
    std::fs::remove_dir_all(&folder).expect("it was there");
}
