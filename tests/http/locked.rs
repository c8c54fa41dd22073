//! A server with authentication: over TLS, with keys, roles and rates.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use aldis_http::access::{AccessRole, Needed, routes};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use aldis_testkit::Folder;
use aldis_testkit::client::{Api, HttpAnswer, parse};
use aldis_testkit::running::{Running, WITHIN, refused};

/// Of "secret", at no cost: what is tried here is not how long it takes.
const HASH: &str =
    "$argon2id$v=19$m=8,t=1,p=1$BwcHBwcHBwcHBwcHBwcHBw$4R1PEQPItpvkTH5juMUak3oEb8rtWEdaRzGIjigkYIU";

/// "ada:secret", "gone:secret" and "ada:Secret".
const ADA: &str = "Basic YWRhOnNlY3JldA==";
const GONE: &str = "Basic Z29uZTpzZWNyZXQ=";
const NOT_ADA: &str = "Basic YWRhOlNlY3JldA==";

/// Files of a test, gone with it.
struct LockedFiles(Folder);

impl LockedFiles {
    /// With the keys of every role, some of which have expired, and a certificate for 127.0.0.1.
    fn new(name: &str) -> (LockedFiles, CertificateDer<'static>) {
        let folder = LockedFiles(Folder::new(name));
        let mut keys = String::new();
        for role in AccessRole::ALL {
            keys +=
                &format!("[[token]]\nname = \"{role}\"\nrole = \"{role}\"\nhash = \"{HASH}\"\n");
        }
        for (kind, name, expires) in [
            ("token", "gone", "expires = 2020-01-01T00:00:00Z"),
            ("user", "gone", "expires = 2020-01-01"),
            ("user", "ada", "expires = 2999-01-01"),
        ] {
            keys += &format!(
                "[[{kind}]]\nname = \"{name}\"\nrole = \"admin\"\nhash = \"{HASH}\"\n{expires}\n"
            );
        }
        folder.0.write("access.toml", &keys);
        folder.0.write("fast.toml", "[http]\nrequests-per-s = 100000\n");
        let certificate = folder.certify();
        (folder, certificate)
    }

    /// A new certificate in the place of the old one.
    fn certify(&self) -> CertificateDer<'static> {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        self.0.write("http.pem", made.cert.pem());
        self.0.write("http.key", made.signing_key.serialize_pem());
        made.cert.der().clone()
    }

    fn run(&self, more: &[&str]) -> Running {
        let [certificate, key] = ["http.pem", "http.key"].map(|name| self.0.file(name));
        let tls = ["--http-certificate", &certificate, "--http-key", &key];
        let access = self.0.file("access.toml");
        let apps = ["--apps", "learning-switch", "--http-access", &access];
        Running::start(&[&["--http", "127.0.0.1:0"][..], &tls, &apps, more].concat())
    }
}

/// A client that trusts one certificate.
struct Client {
    api: Api,
    config: Arc<ClientConfig>,
}

impl Client {
    fn new(running: &mut Running, certificate: CertificateDer<'static>) -> Client {
        Client { api: Api::of(running), config: trusting(certificate) }
    }

    fn connect(&self) -> StreamOwned<ClientConnection, TcpStream> {
        self.speak(self.api.connect())
    }

    fn speak(&self, stream: TcpStream) -> StreamOwned<ClientConnection, TcpStream> {
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let session = ClientConnection::new(Arc::clone(&self.config), name).unwrap();
        StreamOwned::new(session, stream)
    }

    /// The status and headers of an answer, whose body may have no end.
    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> HttpAnswer {
        self.ask_over(self.api.connect(), method, path, headers)
    }

    fn ask_over(
        &self,
        stream: TcpStream,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> HttpAnswer {
        let mut stream = self.speak(stream);
        stream.write_all(&self.api.request(method, path, headers, b"")).unwrap();
        let (mut text, mut piece) = (Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = stream.read(&mut piece) {
            text.extend_from_slice(&piece[..count]);
            let is_endless =
                ["events", "/follow", "/recording"].iter().any(|end| path.contains(end));
            if is_endless && text.windows(4).any(|four| four == b"\r\n\r\n") {
                break;
            }
        }
        parse(&text)
    }

    fn ask_as(&self, key: &str, path: &str) -> HttpAnswer {
        self.ask("GET", path, &[("Authorization", key)])
    }
}

fn trusting(certificate: CertificateDer<'static>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Arc::new(config.unwrap().with_root_certificates(roots).with_no_client_auth())
}

#[test]
fn every_route_is_closed_to_who_has_no_key_or_a_wrong_expired_or_lesser_one() {
    let (folder, certificate) = LockedFiles::new("locked-routes");
    let mut running = folder.run(&["--config", &folder.0.file("fast.toml")]);
    let client = Client::new(&mut running, certificate);
    let routes = routes();
    assert!(routes.len() > 30, "{}", routes.len());
    let mut asked = 0;
    for Needed { method, path, role } in routes {
        let (method, path) = (method.to_uppercase(), filled(path));
        let mut ask = |key: Option<&str>| {
            asked += 1;
            let headers: Vec<_> = key.iter().map(|key| ("Authorization", *key)).collect();
            // A client with many wrong keys is not looked at any more: here each comes from
            // elsewhere.
            let stream = from(Ipv4Addr::from_bits(0x7f01_0000 + asked), &client.api.address);
            client.ask_over(stream, &method, &path, &headers)
        };
        let answer = ask(None);
        assert!(is_challenge(&answer, "needs a key"), "{method} {path}: {answer:?}");
        for wrong in ["Bearer admin.Secret", "Bearer secret", NOT_ADA, "Digest admin.secret"] {
            let answer = ask(Some(wrong));
            assert!(is_challenge(&answer, "no such token"), "{method} {path}: {answer:?}");
        }
        for gone in ["Bearer gone.secret", GONE] {
            let answer = ask(Some(gone));
            assert!(is_challenge(&answer, "has expired"), "{method} {path}: {answer:?}");
        }
        for lesser in AccessRole::ALL.into_iter().filter(|lesser| *lesser < role) {
            let answer = ask(Some(&format!("Bearer {lesser}.secret")));
            assert!(answer.is_problem(403, "needs the role"), "{method} {path}: {answer:?}");
            assert!(answer.says("www-authenticate", "insufficient_scope"), "{answer:?}");
        }
        // The door is open, whatever is said behind it.
        for enough in [format!("Bearer {role}.secret"), ADA.to_owned()] {
            let status = ask(Some(&enough)).status;
            assert!(![401, 403, 429].contains(&status), "{method} {path}: {status}");
        }
    }
    // The page alone needs no key: it asks for one itself.
    assert_eq!(client.ask("GET", "/", &[]).status, 200);
    let stranger = client.ask("GET", "/no/such/thing", &[]);
    assert!(is_challenge(&stranger, "needs a key"), "{stranger:?}");
    println!("{asked} requests");
}

#[test]
fn a_key_is_told_its_role_and_the_log_has_no_secret() {
    let (folder, certificate) = LockedFiles::new("locked-me");
    let mut running = folder.run(&[]);
    let client = Client::new(&mut running, certificate);
    for role in ["read", "write", "admin"] {
        let me = client.ask_as(&format!("Bearer {role}.secret"), "/api/v1/me").json();
        assert_eq!(me, serde_json::json!({"role": role, "name": role, "kind": "token"}));
    }
    let ada = client.ask_as(ADA, "/api/v1/me").json();
    assert_eq!((&ada["kind"], &ada["name"]), (&"user".into(), &"ada".into()));
    assert_eq!(ada["expires"], "2999-01-01T00:00:00.000Z");
    // A file that is refused is told of, and what it says of keys is not.
    let spoilt = format!("[[token]]\nname = \"read\"\nrole = \"reed\"\nhash = \"{HASH}\"\n");
    folder.0.write("access.toml", &spoilt);
    running.signal("-HUP");
    running.says("the old ones stay");
    let log = client.ask_as("Bearer admin.secret", "/api/v1/log");
    let text = log.json().to_string();
    assert!(text.contains("access.toml:3"), "{text}");
    for secret in ["argon2", "R1PEQPItpvk", "read.secret", "YWRhOnNlY3JldA"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

#[test]
fn wrong_keys_are_refused_and_after_some_of_them_nobody_is_looked_at() {
    let (folder, certificate) = LockedFiles::new("locked-wrong");
    let mut running = folder.run(&[]);
    let client = Client::new(&mut running, certificate);
    let path = "/api/v1/health";
    assert_eq!(client.ask_as("Bearer read.secret", path).status, 200);
    for wrong in ["read.Secret", "nobody.secret", "read.", ".secret", "ada.secret"] {
        let answer = client.ask_as(&format!("Bearer {wrong}"), path);
        assert!(is_challenge(&answer, "no such token"), "{wrong}: {answer:?}");
    }
    let answer = client.ask_as("Bearer read.again", path);
    assert!(answer.is_problem(429, "too many wrong"), "{answer:?}");
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=10).contains(&wait), "{wait}");
    // Not even a right one, until it is known.
    assert_eq!(client.ask_as("Bearer write.secret", path).status, 429);
    assert_eq!(client.ask_as("Bearer read.secret", path).status, 200, "who was right before is");
}

#[test]
fn who_asks_too_often_is_told_when_to_come_again() {
    let (folder, certificate) = LockedFiles::new("locked-rate");
    folder.0.write("slow.toml", "[http]\nrequests-per-s = 1\n");
    let mut running = folder.run(&["--config", &folder.0.file("slow.toml")]);
    let client = Client::new(&mut running, certificate);
    let mut stream = client.connect();
    let request = client.api.request("GET", "/api/v1/health", &[("X", "y")], b"");
    let request = String::from_utf8(request).unwrap().replace("Connection: close\r\n", "");
    // Five at once, and one a second: a hundred do not come through, however slow this machine is.
    stream.write_all(request.repeat(100).as_bytes()).unwrap();
    let mut text = String::new();
    let mut piece = [0; 4096];
    while !text.contains("429 Too Many Requests") {
        let count = stream.read(&mut piece).unwrap();
        text += std::str::from_utf8(&piece[..count]).unwrap();
    }
    assert!(text.matches("HTTP/1.1 401").count() >= 5, "{text}");
    assert!(text.contains("retry-after: 1\r\n"), "{text}");
}

#[test]
fn keys_and_certificate_are_read_again_while_it_runs() {
    let (folder, certificate) = LockedFiles::new("locked-again");
    let mut running = folder.run(&[]);
    let mut client = Client::new(&mut running, certificate);
    let mut old = client.connect();
    old.write_all(b"GET /api/v1/health HTTP/1.1\r\n").unwrap();
    folder.0.write("access.toml", "nonsense");
    running.signal("-HUP");
    running.says("access.toml:1: ");
    assert_eq!(client.ask_as("Bearer read.secret", "/api/v1/health").status, 200);
    let one = format!("[[token]]\nname = \"new\"\nrole = \"read\"\nhash = \"{HASH}\"\n");
    folder.0.write("access.toml", &one);
    client.config = trusting(folder.certify());
    running.signal("-HUP");
    running.says("were read again");
    assert_eq!(client.ask_as("Bearer new.secret", "/api/v1/health").status, 200);
    let answer = client.ask_as("Bearer read.secret", "/api/v1/health");
    assert!(is_challenge(&answer, "no such token"), "{answer:?}");
    // What was connected stays so, and is judged by the new keys.
    let rest = format!(
        "Host: {}\r\nConnection: close\r\nAuthorization: Bearer new.secret\r\n\r\n",
        client.api.address
    );
    old.write_all(rest.as_bytes()).unwrap();
    let mut text = String::new();
    let _ = old.read_to_string(&mut text);
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
}

#[test]
fn who_follows_is_let_go_with_the_key() {
    let (folder, certificate) = LockedFiles::new("locked-follow");
    let mut running = folder.run(&[]);
    let client = Client::new(&mut running, certificate);
    let open = |request: &[u8], begin: &[u8]| {
        let mut stream = client.connect();
        stream.write_all(request).unwrap();
        let mut text = vec![];
        while !text.ends_with(begin) {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            text.push(byte[0]);
        }
        stream
    };
    let follow = |key: &str| {
        let request = client.api.request("GET", "/api/v1/events", &[("Authorization", key)], b"");
        open(&request, b": aldis\n\n\r\n")
    };
    let socket = |path: &str| {
        let upgrade = [
            ("Authorization", "Bearer read.secret"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let request = String::from_utf8(client.api.request("GET", path, &upgrade, b"")).unwrap();
        let request = request.replace("Connection: close", "Connection: Upgrade");
        open(request.as_bytes(), b"\r\n\r\n")
    };
    let (mut gone, mut stays) = (follow("Bearer read.secret"), follow("Bearer write.secret"));
    let sockets = ["/api/v1/events/ws", "/v1.0/topology/ws"].map(socket);
    let one = format!("[[token]]\nname = \"write\"\nrole = \"write\"\nhash = \"{HASH}\"\n");
    folder.0.write("access.toml", &one);
    running.signal("-HUP");
    running.says("were read again");
    let mut rest = String::new();
    let _ = gone.read_to_string(&mut rest);
    assert!(rest.ends_with("0\r\n\r\n"), "the stream ends: {rest:?}");
    for mut socket in sockets {
        let mut close = [0; 2];
        socket.read_exact(&mut close).unwrap();
        assert_eq!(close, [0x88, 0], "a frame that closes, without a reason");
    }
    // A follower that still has a key goes on to hear what happens: a switch that never becomes
    // one.
    drop(TcpStream::connect(&running.address).unwrap());
    let mut heard = vec![];
    while !String::from_utf8_lossy(&heard).contains("event: stranger") {
        let mut byte = [0];
        stays.read_exact(&mut byte).unwrap();
        heard.push(byte[0]);
    }
}

#[test]
fn pages_of_strangers_stay_outside_even_with_a_key() {
    let (folder, certificate) = LockedFiles::new("locked-pages");
    let mut running = folder.run(&[]);
    let client = Client::new(&mut running, certificate);
    let key = ("Authorization", "Bearer admin.secret");
    let plain = format!("http://{}", client.api.address);
    let ask = |header| client.ask("PUT", "/api/v1/weights", &[key, header]);
    for origin in ["https://evil.example", plain.as_str(), "null"] {
        let answer = ask(("Origin", origin));
        assert!(answer.is_problem(403, "another origin"), "{answer:?}");
    }
    assert!(ask(("Sec-Fetch-Site", "cross-site")).is_problem(403, "another site"));
    let own = format!("https://{}", client.api.address);
    assert_eq!(ask(("Origin", &own)).status, 415);
    let plain = client.api.get("/api/v1/health");
    assert!(plain.is_problem(400, "ask for https://"), "{plain:?}");
}

#[test]
fn other_machines_are_let_near_only_with_tls_and_a_key() {
    let (folder, _) = LockedFiles::new("locked-open");
    let files = ["http.pem", "http.key", "access.toml"].map(|name| folder.0.file(name));
    let [certificate, key, access] = &files;
    let tls = ["--http-certificate", certificate, "--http-key", key];
    let keys = ["--http-access", access.as_str()];
    let outside = ["run", "--listen", "127.0.0.1:0", "--http", "0.0.0.0:0"];
    folder.0.write("none.toml", "");
    let none = folder.0.file("none.toml");
    for args in [&[][..], &tls, &keys, &[&tls[..], &["--http-access", &none]].concat()] {
        let said = refused(&[&outside[..], args].concat());
        assert!(said.contains("it needs a certificate") && said.lines().count() == 1, "{said}");
    }
    let mut running = Running::start(&[&["--http", "0.0.0.0:0"], &tls[..], &keys].concat());
    assert!(running.says("HTTP on https://").contains("https://0.0.0.0:"));
    let other = rcgen::KeyPair::generate().unwrap().serialize_pem();
    folder.0.write("http.key", &other);
    let said = refused(&[&outside[..], &tls, &keys].concat());
    assert!(said.contains("is not that of the certificate in"), "{said}");
    folder.0.write("http.key", "nonsense");
    let said = refused(&[&outside[..], &tls, &keys].concat());
    assert!(said.contains("http.key holds no private key"), "{said}");
}

#[test]
fn tokens_and_passwords_are_made_by_one_command() {
    let (folder, certificate) = LockedFiles::new("locked-made");
    let access = folder.0.file("made.toml");
    let made = |words: &[&str], input: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aldis"));
        command.arg("http").args(words).args(["--to", &access]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let [printed, said] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.code(), printed, said)
    };
    // Nothing but the token is on standard output, so that a script can keep it.
    let (code, printed, said) = made(&["token", "ci", "--role", "read", "--days", "1"], "");
    let token = printed.trim_end();
    assert!(code == Some(0) && token.starts_with("ci.") && token.len() == 3 + 64, "{said}");
    assert_eq!(made(&["password", "ada", "--role", "admin"], "correct horse\n").0, Some(0));
    let (code, _, said) = made(&["password", "eve", "--role", "admin"], "short\n");
    assert!(code == Some(1) && said.contains("8 to 512"), "{said}");
    assert_eq!(made(&["token", "a b", "--role", "read"], "").0, Some(2));
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&access).unwrap());
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(&access).unwrap();
    assert!(!text.contains(&token[3..]) && !text.contains("horse"), "only hashes are kept");
    std::fs::rename(&access, folder.0.file("access.toml")).unwrap();
    let mut running = folder.run(&[]);
    let client = Client::new(&mut running, certificate);
    assert_eq!(client.ask_as(&format!("Bearer {token}"), "/api/v1/health").status, 200);
    // "ada:correct horse"
    let password = "Basic YWRhOmNvcnJlY3QgaG9yc2U=";
    assert_eq!(client.ask_as(password, "/api/v1/health").status, 200);
}

/// Says to a copy of this test that it runs in a network of its own.
const INSIDE: &str = "ALDIS_TEST_INSIDE";

#[test]
fn one_address_of_another_machine_takes_128_connections_and_no_more() {
    if std::env::var_os(INSIDE).is_none() {
        // Addresses of loopback are not counted, so this needs others: the test runs again where it
        // may have them.
        let test = "locked::one_address_of_another_machine_takes_128_connections_and_no_more";
        let script = "ip link set lo up && ip addr add 192.0.2.1/32 dev lo && ip addr add 192.0.2.2/32 dev lo && exec \"$@\"";
        let mut inside = Command::new("unshare");
        inside.args(["--user", "--map-root-user", "--net", "sh", "-c", script, "sh"]);
        inside.arg(std::env::current_exe().unwrap()).args(["--exact", test, "--nocapture"]);
        let output = inside.env(INSIDE, "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
        return;
    }
    let (folder, certificate) = LockedFiles::new("locked-crowd");
    let files = ["http.pem", "http.key", "access.toml"].map(|name| folder.0.file(name));
    let [certificate_file, key, access] = &files;
    let tls = ["--http-certificate", certificate_file, "--http-key", key, "--http-access", access];
    let apps = ["--http", "0.0.0.0:0", "--apps", "learning-switch"];
    let mut running = Running::start(&[&apps[..], &tls].concat());
    let client = Client::new(&mut running, certificate);
    let (_, port) = client.api.address.rsplit_once(':').unwrap();
    let of = |address: [u8; 4]| from(address.into(), &format!("192.0.2.1:{port}"));
    let is_served = |stream: TcpStream| {
        let key = [("Authorization", "Bearer read.secret")];
        let request = client.api.request("GET", "/api/v1/health", &key, b"");
        let (mut stream, mut answer) = (client.speak(stream), vec![]);
        // A client that is turned away hears nothing, not even TLS.
        let _ = stream.write_all(&request);
        let _ = stream.read_to_end(&mut answer);
        answer.starts_with(b"HTTP/1.1 200 ")
    };
    let mut crowd: Vec<_> = (0..128).map(|_| of([192, 0, 2, 1])).collect();
    assert!(!is_served(of([192, 0, 2, 1])), "the 129th");
    assert!(is_served(of([192, 0, 2, 2])), "another address");
    assert!(is_served(from(Ipv4Addr::LOCALHOST, &format!("127.0.0.1:{port}"))), "this machine");
    // A connection that ends makes room for another.
    crowd.truncate(127);
    let deadline = Instant::now() + WITHIN;
    while !is_served(of([192, 0, 2, 1])) {
        assert!(Instant::now() < deadline, "who left takes no room");
    }
}

/// A connection from this address of loopback.
fn from(source: Ipv4Addr, to: &str) -> TcpStream {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddrV4::new(source, 0)).unwrap();
    connect(&socket, &to.parse::<SocketAddrV4>().unwrap()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(WITHIN)).unwrap();
    stream
}

/// The path with something in its braces.
fn filled(path: &str) -> String {
    let mut filled = String::new();
    for part in path.split_inclusive('}') {
        match part.split_once('{') {
            Some((before, _)) => filled += &format!("{before}1"),
            None => filled += part,
        }
    }
    filled
}

fn is_challenge(answer: &HttpAnswer, words: &str) -> bool {
    answer.is_problem(401, words)
        && answer.says("www-authenticate", "Basic realm=\"aldis\"")
        && answer.says("www-authenticate", "Bearer realm=\"aldis\"")
}
