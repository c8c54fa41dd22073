//! `aldis pki`, and `aldis run` with switches over TLS: which are let in, which are told why not,
//! and how certificates are renewed.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aldis_emulator::peer::{Peer, PeerPart, hello};
use aldis_testkit::Folder;
use aldis_testkit::client::Api;
use aldis_testkit::network::Network;
use aldis_testkit::running::{Running, WITHIN};
use aldis_wire::header::kind;
use aldis_wire::{Version, v13};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Runs `aldis pki` on a folder in `parent`.
fn pki(parent: &Folder, folder: &str, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
    command.arg("pki").arg(parent.join(folder)).args(more).output().unwrap()
}

/// A controller that lets in switches with a certificate of this authority.
fn controller(folder: &Folder, more: &[&str]) -> Running {
    let [certificate, key, authority] =
        ["pki/controller.pem", "pki/controller.key", "pki/ca.pem"].map(|name| folder.file(name));
    let files =
        ["--tls-certificate", &certificate, "--tls-key", &key, "--tls-authority", &authority];
    let listen = ["--tls-listen", "127.0.0.1:0"];
    Running::start(&[&listen[..], &files, more].concat())
}

/// Which authority a switch trusts, and its own certificate.
fn client(folder: &Folder, authority: &str, identity: Option<&str>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.file(authority)).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots);
    Arc::new(match identity {
        None => config.with_no_client_auth(),
        Some(name) => {
            let chain = CertificateDer::pem_file_iter(folder.file(&format!("{name}.pem")));
            let chain = chain.unwrap().collect::<Result<Vec<_>, _>>().unwrap();
            let key = PrivateKeyDer::from_pem_file(folder.file(&format!("{name}.key"))).unwrap();
            config.with_client_auth_cert(chain, key).unwrap()
        }
    })
}

/// Where it listens for TLS.
fn secure_address(controller: &mut Running) -> String {
    let line = controller.says("Listening over TLS on ");
    let address = line.split([' ', ',']).find(|word| word.starts_with("127.")).unwrap();
    address.to_owned()
}

fn speak(config: &Arc<ClientConfig>, to: &str) -> StreamOwned<ClientConnection, TcpStream> {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(WITHIN)).unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    StreamOwned::new(ClientConnection::new(Arc::clone(config), name).unwrap(), stream)
}

/// Carries what emulated switches say to the controller, over TLS. Gone with the test's process.
fn tunnel(config: Arc<ClientConfig>, to: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for plain in listener.incoming().map_while(Result::ok) {
            let tls = speak(&config, &to);
            std::thread::spawn(move || drop(carry(plain, tls)));
        }
    });
    address
}

fn carry(
    mut plain: TcpStream,
    mut tls: StreamOwned<ClientConnection, TcpStream>,
) -> io::Result<()> {
    let moment = Some(Duration::from_millis(1));
    plain.set_read_timeout(moment)?;
    while tls.conn.is_handshaking() {
        tls.conn.complete_io(&mut tls.sock)?;
    }
    tls.sock.set_read_timeout(moment)?;
    let mut piece = [0; 16 * 1024];
    while pass(&mut plain, &mut tls, &mut piece)
        .and_then(|()| pass(&mut tls, &mut plain, &mut piece))
        .is_ok()
    {}
    // A socket that is closed before it was read empty resets its connection.
    tls.conn.send_close_notify();
    tls.conn.complete_io(&mut tls.sock)?;
    tls.sock.shutdown(Shutdown::Write)?;
    tls.sock.set_read_timeout(Some(WITHIN))?;
    io::copy(&mut tls.sock, &mut io::sink()).map(drop)
}

/// Passes on what is there now.
fn pass(from: &mut impl Read, to: &mut impl Write, piece: &mut [u8]) -> io::Result<()> {
    match from.read(piece) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(count) => to.write_all(&piece[..count]),
        Err(error)
            if [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut].contains(&error.kind()) =>
        {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

fn when(api: &Api, path: &str, is: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
    let deadline = Instant::now() + WITHIN;
    loop {
        let json = api.get(path).json();
        if is(&json) {
            return json;
        }
        assert!(Instant::now() < deadline, "{path} stayed {json}");
        std::thread::yield_now();
    }
}

#[test]
fn one_command_makes_certificates_and_replaces_none() {
    let folder = Folder::new("pki");
    let output = pki(&folder, "pki", &["--switch", "1", "--name", "controller.example"]);
    assert!(output.status.success(), "{output:?}");
    let mode =
        |name: &str| std::fs::metadata(folder.file(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("pki"), 0o700);
    for name in ["ca", "controller", "http", "switch-0000000000000001"] {
        assert_eq!(mode(&format!("pki/{name}.key")), 0o600, "{name}");
        assert!(std::fs::read(folder.file(&format!("pki/{name}.pem"))).is_ok(), "{name}");
    }
    let before = std::fs::read(folder.file("pki/controller.pem")).unwrap();
    let refused = pki(&folder, "pki", &["--switch", "0x1"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("is there already") && said.lines().count() == 1, "{said}");
    // Another switch is added, and nothing else changes.
    assert!(pki(&folder, "pki", &["--switch", "2"]).status.success());
    assert_eq!(std::fs::read(folder.file("pki/controller.pem")).unwrap(), before);
    let authority = std::fs::read(folder.file("pki/ca.pem")).unwrap();
    assert!(pki(&folder, "pki", &["--renew"]).status.success());
    assert_ne!(std::fs::read(folder.file("pki/controller.pem")).unwrap(), before);
    assert_eq!(std::fs::read(folder.file("pki/ca.pem")).unwrap(), authority);
    std::fs::remove_file(folder.file("pki/ca.key")).unwrap();
    let said = String::from_utf8(pki(&folder, "pki", &["--switch", "3"]).stderr).unwrap();
    assert!(said.contains("one is missing"), "{said}");
}

#[test]
fn a_switch_is_served_over_tls_and_stays_while_certificates_are_renewed() {
    let folder = Folder::new("tls-served");
    assert!(pki(&folder, "pki", &["--switch", "1", "--switch", "2"]).status.success());
    let mut controller = controller(&folder, &["--http", "127.0.0.1:0"]);
    let address = secure_address(&mut controller);
    let api = Api::of(&mut controller);
    let switch = client(&folder, "pki/ca.pem", Some("pki/switch-0000000000000001"));
    controller.address = tunnel(Arc::clone(&switch), address.clone());
    // Whole megabytes in both directions: each ping of a host that is not there is flooded.
    let script = ["0s ping h1 h2", "100ms pingall", "200ms pingall", "300ms pingall"];
    let _network = Network::start(&controller, Version::V13, "single,20", &script);
    let is = |switch: &serde_json::Value| switch["counters"]["requests"].as_u64() > Some(100);
    let up = when(&api, "/api/v1/switches/1", is);
    let mut before = speak(&switch, &address);
    let mut hello = [0; 8];
    before.read_exact(&mut hello).unwrap();
    assert_eq!(hello[1], 0, "the first message is a HELLO");

    assert!(pki(&folder, "pki", &["--renew"]).status.success());
    controller.signal("-HUP");
    controller.says("certificates and keys were read again");
    let mut after = speak(&switch, &address);
    after.read_exact(&mut hello).unwrap();
    let seen = |stream: &StreamOwned<ClientConnection, TcpStream>| {
        stream.conn.peer_certificates().unwrap()[0].clone()
    };
    assert_ne!(seen(&before), seen(&after), "who connects later sees the new one");
    let still = api.get("/api/v1/switches/1").json();
    assert_eq!(still["up_since"], up["up_since"], "who was connected stays");
    // What is wrong changes nothing.
    std::fs::write(folder.file("pki/controller.pem"), "nonsense").unwrap();
    controller.signal("-HUP");
    controller.says("controller.pem holds no certificate");
    speak(&switch, &address).read_exact(&mut hello).unwrap();
}

#[test]
fn bridges_of_one_open_vswitch_share_a_certificate() {
    let folder = Folder::new("tls-shared");
    let refused = |more: &[&str], words: &str| {
        let said = String::from_utf8(pki(&folder, "pki", more).stderr).unwrap();
        assert!(said.contains(words), "{said}");
        assert!(!folder.join("pki").exists());
    };
    refused(&["--switch", "1,2,1"], "switch 0000000000000001 is named twice");
    refused(&["--switch", "1,2", "--switch", "2"], "switch 0000000000000002 is named twice");
    refused(&["--switch", "1,,2"], "\"\" is not a datapath id");
    refused(&["--switch", "1,s2"], "\"s2\" is not a datapath id");
    let made = pki(&folder, "pki", &["--switch", "1, 2", "--switch", "9"]);
    let said = String::from_utf8(made.stdout).unwrap();
    let files = ["switch-0000000000000001.pem", "switch-0000000000000009.pem"];
    assert!(made.status.success() && files.iter().all(|file| said.contains(file)), "{said}");
    assert!(!folder.join("pki/switch-0000000000000002.pem").exists());

    let mut controller = controller(&folder, &["--http", "127.0.0.1:0"]);
    let address = secure_address(&mut controller);
    let api = Api::of(&mut controller);
    let shared = client(&folder, "pki/ca.pem", Some("pki/switch-0000000000000001"));
    controller.address = tunnel(shared, address);
    // The third switch shows what the first two share, and is told apart from them.
    let _network = Network::start(&controller, Version::V13, "linear,3", &[]);
    let said = controller.says("was not let in over TLS");
    assert!(said.contains("it says that it is switch 0000000000000003"), "{said}");
    assert!(said.contains("is for dpid-0000000000000001"), "{said}");
    when(&api, "/api/v1/switches", |page| {
        let items = page["items"].as_array().unwrap();
        let dpids: Vec<_> = items.iter().map(|switch| switch["dpid"].as_str().unwrap()).collect();
        dpids == ["0000000000000001", "0000000000000002"]
    });
}

#[test]
fn whoever_is_not_let_in_is_told_about_in_words() {
    let folder = Folder::new("tls-refused");
    assert!(pki(&folder, "pki", &["--switch", "1", "--switch", "2"]).status.success());
    assert!(pki(&folder, "other", &["--switch", "1"]).status.success());
    let mut controller = controller(&folder, &[]);
    let (plain, address) = (controller.address.clone(), secure_address(&mut controller));
    // Its own authority, but another switch's certificate.
    let second = client(&folder, "pki/ca.pem", Some("pki/switch-0000000000000002"));
    controller.address = tunnel(second, address.clone());
    let network = Network::start(&controller, Version::V10, "single,1", &[]);
    let said = controller.says("was not let in over TLS");
    assert!(said.contains("it says that it is switch 0000000000000001"), "{said}");
    assert!(said.contains("is for dpid-0000000000000002"), "{said}");
    drop(network);
    let mut tries = |config: Arc<ClientConfig>, words: &str| {
        let mut byte = [0];
        let mut stream = speak(&config, &address);
        // In TLS 1.3 a client learns only when it reads that it is not believed.
        let _ = stream.read(&mut byte);
        let _ = stream.read(&mut byte);
        let said = controller.says("was not let in over TLS");
        assert!(said.contains(words) && said.contains("127.0.0.1:"), "{said}");
    };
    tries(client(&folder, "pki/ca.pem", None), "it showed no certificate");
    let stranger = client(&folder, "pki/ca.pem", Some("other/switch-0000000000000001"));
    tries(stranger, "an authority that is not believed here");
    let believer = client(&folder, "other/ca.pem", Some("pki/switch-0000000000000001"));
    tries(believer, "it does not believe our certificate");
    tries(client(&folder, "pki/ca.pem", Some("pki/http")), "it lacks the purpose of a TLS client");
    // Plain OpenFlow where TLS is spoken, and the other way round.
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.write_all(&[1, 0, 0, 8, 0, 0, 0, 1]).unwrap();
    assert!(controller.says("was not let in").contains("it does not speak TLS here"));
    // A hello as OpenSSL sends one, a short one, and the beginning of one that does not go on.
    for len in [300, 80, 0] {
        let mut stream = TcpStream::connect(&plain).unwrap();
        let [high, low] = u16::to_be_bytes(300);
        stream.write_all(&[&[0x16, 3, 1, high, low][..], &vec![0; len]].concat()).unwrap();
        let said = controller.says("the switch speaks TLS, and this port is for plain OpenFlow");
        assert!(said.contains(&stream.local_addr().unwrap().to_string()), "{said}");
    }
}

/// `OFPT_FEATURES_REQUEST`, and `OFPT_BARRIER_REQUEST` of 1.3.
const FEATURES_REQUEST: u8 = 5;
const BARRIER_REQUEST: u8 = 20;

/// A connection of switch 1 that has told its id: its main one.
fn claim(to: &str) -> Peer {
    let mut peer = greet(to);
    peer.play(PART, FEATURES_REQUEST).expect("a handshake");
    peer
}

/// The same, up to the end of the handshake.
fn join(to: &str) -> Peer {
    let mut peer = greet(to);
    peer.play(PART, BARRIER_REQUEST).expect("a handshake");
    peer
}

const PART: PeerPart = PeerPart { version: Version::V13, number: 1, ports: 2 };

fn greet(to: &str) -> Peer {
    let mut peer = Peer::connect(to.parse().unwrap(), WITHIN).expect("the controller listens");
    peer.send(&hello(Version::V13)).expect("the controller reads");
    peer
}

/// An auxiliary connection of switch 1 that has told its id.
fn claim_to_join(to: &str) -> Peer {
    let mut peer = greet(to);
    let request = peer.expect(FEATURES_REQUEST).expect("a handshake");
    let xid = u32::from_be_bytes([request[4], request[5], request[6], request[7]]);
    let mut reply = Vec::new();
    let features = v13::FeaturesReply {
        datapath_id: aldis_wire::DatapathId(1),
        n_buffers: 0,
        n_tables: 1,
        auxiliary_id: 1,
        capabilities: v13::Capabilities::default(),
        reserved: 0,
    };
    v13::Message::FeaturesReply(features).encode(xid, &mut reply).unwrap();
    peer.send(&reply).expect("the controller reads");
    peer
}

/// Neither while the switch is silent, nor while it is away, nor beside it; and a connection that
/// only said that it is the switch yields to one that proves it.
#[test]
fn what_a_certificate_proved_is_given_to_no_connection_without_one() {
    const NOT_PROVED: &str = "is that of a switch that came with a certificate, and it has none";
    let folder = Folder::new("tls-identity");
    assert!(pki(&folder, "pki", &["--switch", "1"]).status.success());
    let mut controller = controller(&folder, &[]);
    let (plain, address) = (controller.address.clone(), secure_address(&mut controller));
    let secure =
        tunnel(client(&folder, "pki/ca.pem", Some("pki/switch-0000000000000001")), address);
    let mut only_said = join(&plain);
    // It need not answer any question.
    let mut switch = join(&secure);
    only_said.expect_close().expect("it yields");
    let said = controller.says("proved with a certificate that it is this switch");
    let peer = only_said.socket().local_addr().unwrap().to_string();
    assert!(said.contains(&peer), "{said}");
    // The switch answers nothing from here on.
    for claim in [claim, claim_to_join] {
        let mut newcomer = claim(&plain);
        newcomer.expect_close().expect("it is refused");
        let said = controller.says(NOT_PROVED);
        assert!(said.contains("--tls-listen"), "{said}");
    }
    switch.send(&aldis_emulator::peer::bare(Version::V13, kind::ECHO_REQUEST, 7)).unwrap();
    switch.expect(kind::ECHO_REPLY).expect("it was not disturbed");
    let joined = claim_to_join(&secure);
    controller.says("auxiliary");
    drop(joined);
    drop(switch);
    controller.says("closed the connection");
    let mut newcomer = claim(&plain);
    newcomer.expect_close().expect("it is refused");
    controller.says(NOT_PROVED);
    let mut again = join(&secure);
    again.send(&aldis_emulator::peer::bare(Version::V13, kind::ECHO_REQUEST, 7)).unwrap();
    again.expect(kind::ECHO_REPLY).expect("it is back");
}

/// What a switch says before its TLS breaks is heard, and so is why it broke, although the switch
/// stays where it is.
#[test]
fn what_breaks_behind_good_messages_is_said() {
    let folder = Folder::new("tls-broken");
    assert!(pki(&folder, "pki", &["--switch", "1"]).status.success());
    let mut controller = controller(&folder, &[]);
    let address = secure_address(&mut controller);
    let switch = client(&folder, "pki/ca.pem", Some("pki/switch-0000000000000001"));
    let mut stream = speak(&switch, &address);
    let mut hello = [0; 16];
    stream.read_exact(&mut hello).unwrap();
    // In one segment: a HELLO, and a record that is not encrypted.
    let mut sealed = Vec::new();
    stream.conn.writer().write_all(&[1, 0, 0, 8, 0, 0, 0, 1]).unwrap();
    while stream.conn.wants_write() {
        stream.conn.write_tls(&mut sealed).unwrap();
    }
    sealed.extend_from_slice(&[&[0x17, 3, 3, 0, 40][..], &[0xaa; 40]].concat());
    stream.sock.write_all(&sealed).unwrap();
    let said = controller.says("TLS with the switch broke off: what it sent cannot be decrypted");
    let peer = stream.sock.local_addr().unwrap().to_string();
    assert!(said.contains(&peer), "{said} names {peer}");
    let told = stream.read_exact(&mut hello).unwrap_err().to_string();
    assert!(told.contains("BadRecordMac"), "the switch is told too: {told}");
}

#[test]
fn a_benchmark_over_tls_counts_what_the_controller_counts() {
    let folder = Folder::new("tls-bench");
    let switches = ["--switch", "1", "--switch", "2", "--switch", "3"];
    assert!(pki(&folder, "pki", &switches).status.success());
    let mut controller = controller(&folder, &[]);
    let address = secure_address(&mut controller);
    let own = ["pki/switch-{dpid}.pem", "pki/switch-{dpid}.key"].map(|name| folder.file(name));
    let first = own.each_ref().map(|name| name.replace("{dpid}", "0000000000000001"));
    let authority = folder.file("pki/ca.pem");
    let bench = |address: &str, [certificate, key]: &[String; 2], more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
        command.args(["bench", address, "-s", "3", "-M", "50", "-l", "2", "-m", "250", "--json"]);
        command.args([
            "--tls-authority",
            &authority,
            "--tls-certificate",
            certificate,
            "--tls-key",
            key,
        ]);
        let output = command.args(more).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        (serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap_or_default(), said)
    };
    let (mut answered, mut offered) = (0, 0);
    for mode in
        [&["--outstanding", "20"][..], &["-t"], &["--outstanding", "1", "--openflow", "1.3"]]
    {
        let (report, said) = bench(&address, &own, &[mode, &["--no-teach"]].concat());
        assert_eq!(report["switches"]["tls"], true, "{said}");
        let count = |name: &str| report["counts"][name].as_u64().unwrap();
        assert!(count("answered") > 100, "{report}");
        // With queues that are always full it may drop some.
        assert!(mode == ["-t"] || count("lost") == 0, "{report}");
        (answered, offered) = (answered + count("answered"), offered + count("offered"));
    }
    let (report, said) = bench(&address, &own, &["--mode", "connect"]);
    assert!(report["counts"]["done"].as_u64() > Some(0), "{report} {said}");
    // No switch is let in as another, and each mistake is a sentence.
    let (_, said) = bench(&address, &first, &["-o", "2"]);
    assert!(said.contains("the controller closed the connection of switch"), "{said}");
    let (_, said) = bench(&controller.address, &own, &[]);
    assert!(said.contains("the controller does not speak TLS there"), "{said}");
    let (_, said) = bench(&address, &own, &["--tls-name", "elsewhere.example"]);
    assert!(said.contains("the controller's certificate is for another name"), "{said}");
    controller.signal("-INT");
    let said = controller.says("stopped after ");
    let words = said.split("stopped after ").nth(1).unwrap();
    let served: u64 = words.split(' ').next().unwrap().replace(',', "").parse().unwrap();
    assert!((answered..=offered).contains(&served), "{answered} of {offered} answered: {said}");
}

#[test]
fn an_emulated_network_works_over_tls() {
    let folder = Folder::new("tls-emulate");
    let switches = ["--switch", "1", "--switch", "2", "--switch", "3"];
    assert!(pki(&folder, "pki", &switches).status.success());
    let own = ["pki/switch-{dpid}.pem", "pki/switch-{dpid}.key"].map(|name| folder.file(name));
    let first = own.each_ref().map(|name| name.replace("{dpid}", "0000000000000001"));
    let authority = folder.file("pki/ca.pem");
    let emulate = |address: &str, [certificate, key]: &[String; 2], more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
        command.args(["emulate", address, "--topology", "linear,3", "--await-links", "--pingall"]);
        command.args(["--patience", "30", "--tls-authority", &authority]);
        command.args(["--tls-certificate", certificate, "--tls-key", key]);
        let output = command.args(more).output().unwrap();
        let [said, wrong] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.code(), said, wrong)
    };
    for openflow in ["1.0", "1.3"] {
        let mut controller = controller(&folder, &[]);
        let address = secure_address(&mut controller);
        let (code, said, wrong) = emulate(&address, &own, &["--openflow", openflow]);
        assert!(said.contains("*** Results: 0% dropped (6/6 received)"), "{said} {wrong}");
        assert_eq!(code, Some(0), "{said} {wrong}");
    }
    // No switch is let in as another, and each mistake is a sentence.
    let mut controller = controller(&folder, &[]);
    let address = secure_address(&mut controller);
    let late = ["--connect-within", "1"];
    let (_, said, wrong) = emulate(&address, &first, &late);
    assert!(said.contains("the controller closed the connection"), "{said} {wrong}");
    let (_, _, wrong) = emulate(&controller.address, &own, &late);
    assert!(wrong.contains("the controller does not speak TLS there"), "{wrong}");
    let name = ["--tls-name", "elsewhere.example"];
    let (_, _, wrong) = emulate(&address, &own, &[&late[..], &name].concat());
    assert!(wrong.contains("the controller's certificate is for another name"), "{wrong}");
}

#[test]
fn commands_ask_over_tls_with_a_token() {
    let folder = Folder::new("tls-commands");
    assert!(pki(&folder, "pki", &[]).status.success());
    let aldis = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_aldis")).args(words).output().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (said, output.status.code())
    };
    let [access, token_file, ca] =
        ["access.toml", "token", "pki/ca.pem"].map(|name| folder.file(name));
    let ([said, _], _) = aldis(&["http", "token", "ci", "--role", "read", "--to", &access]);
    let token = said.trim().to_owned();
    std::fs::write(&token_file, format!("{token}\n")).unwrap();
    let [certificate, key] = ["pki/http.pem", "pki/http.key"].map(|name| folder.file(name));
    let tls = ["--http-certificate", &certificate, "--http-key", &key, "--http-access", &access];
    let mut controller = Running::start(&[&["--http", "127.0.0.1:0"][..], &tls].concat());
    let url = format!("https://{}", Api::of(&mut controller).address);
    let ask = ["health", "--http", &url];
    for token in [["--token", &token], ["--token-file", &token_file]] {
        let ([said, errors], code) = aldis(&[&ask[..], &["--ca", &ca], &token].concat());
        assert!(code == Some(0) && said.starts_with("state     up\n"), "{said}{errors}");
    }
    for (more, words) in [
        (&["--token", &token][..], "--ca FILE"),
        (&["--ca", &ca], "this needs a key"),
        (&["--ca", &ca, "--token", "ci.wrong"], "no such token"),
        (&["--ca", &certificate, "--token", &token], "the authority of its certificate?"),
    ] {
        let ([_, errors], code) = aldis(&[&ask[..], more].concat());
        assert!(code == Some(1) && errors.contains(words), "{words}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
    let put = ["weights", "--set", "1=2", "--http", &url, "--ca", &ca, "--token", &token];
    assert!(aldis(&put).0[1].contains("needs the role write"));
}

/// A controller that serves switches over TLS is a guest of another, which shows it the certificate
/// of a switch, and believes it by its authority.
#[test]
fn a_guest_is_served_over_tls_and_certificates_are_read_again() {
    let folder = Folder::new("tls-guest");
    assert!(pki(&folder, "pki", &["--switch", "1"]).status.success());
    assert!(pki(&folder, "other", &["--switch", "1"]).status.success());
    let mut served = controller(&folder, &["--http", "127.0.0.1:0", "--apps", "learning-switch"]);
    let at = secure_address(&mut served);
    let seen_by_guest = Api::of(&mut served);
    let config = folder.file("aldis.toml");
    let shown = folder.file("shown");
    let copy = |from: &str| {
        for end in ["pem", "key"] {
            let from = folder.file(&format!("{from}.{end}"));
            std::fs::copy(from, format!("{shown}.{end}")).unwrap();
        }
    };
    copy("other/switch-0000000000000001");
    let authority = folder.file("pki/ca.pem");
    let text = format!(
        "[[guest]]\nname = \"sealed\"\nconnect = \"{at}\"\n\
         tls = {{ authority = \"{authority}\", certificate = \"{shown}.pem\", key = \"{shown}.key\" }}\n"
    );
    std::fs::write(&config, text).unwrap();
    let mut controller =
        Running::start(&["--config", &config, "--http", "127.0.0.1:0", "--apps", "topology"]);
    let api = Api::of(&mut controller);
    let script = ["0s ping h1 h2", "100ms pingall"];
    let _network = Network::start(&controller, Version::V13, "single,4", &script);
    // A certificate that is not believed there: it is away, and says why.
    let away = when(&api, "/api/v1/guests/sealed", |guest| guest["reason"].is_string());
    assert_eq!(away["state"], "away");
    assert!(away["reason"].as_str().unwrap().contains("broke off TLS"), "{away}");
    copy("pki/switch-0000000000000001");
    controller.signal("-HUP");
    when(&api, "/api/v1/guests/sealed", |guest| guest["state"] == "serving");
    let is = |switch: &serde_json::Value| switch["counters"]["requests"].as_u64() > Some(0);
    when(&seen_by_guest, "/api/v1/switches/1", is);
    // What is wrong is told, and changes nothing.
    std::fs::write(format!("{shown}.pem"), "nonsense").unwrap();
    controller.signal("-HUP");
    assert!(controller.says("its certificates stay as they were").contains("no certificate"));
    let still = api.get("/api/v1/guests/sealed").json();
    assert_eq!(still["state"], "serving");
}
