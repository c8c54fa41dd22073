//! A private Open vSwitch: database, daemon and one bridge with dummy ports, in a folder of its
//! own.

use super::pcap::Capture;
use super::unixctl::Unixctl;
use aldis_emulator::peer::{Peer, bare, hello};
use aldis_wire::header::kind;
use aldis_wire::v13::stats::{MultipartReplyBody, MultipartRequest, MultipartRequestBody};
use aldis_wire::{MacAddr, Version, v10, v13};
use std::fs::File;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long anything here may take. A machine with too much to do needs it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

/// The ports of the bridge, numbered from 1.
pub(crate) const PORTS: u32 = 4;

/// A bridge and its controller's end of the connection.
pub(crate) struct Ovs {
    pub(crate) peer: Peer,
    pub(crate) ctl: Unixctl,
    /// The addresses that the ports were given, from port 1.
    pub(crate) addresses: Vec<MacAddr>,
    captures: Vec<Capture>,
    daemons: Daemons,
}

/// The processes and their folder, which end with the test.
struct Daemons {
    children: Vec<Child>,
    folder: PathBuf,
}

impl Drop for Daemons {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Ovs {
    pub(crate) fn start(version: Version) -> Ovs {
        // The tests of one version run side by side.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("aldis-certify-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder for Open vSwitch");
        let mut daemons = Daemons { children: Vec::new(), folder: folder.clone() };
        daemons.start();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let controller = listener.local_addr().expect("its address");
        daemons.vsctl(&bridge(&folder, version, controller.port()));
        let mut peer = accept(&listener, version);
        let addresses = addresses(&mut peer, version);
        let ctl =
            Unixctl::connect(&folder.join("vswitchd.ctl"), PATIENCE).expect("a control socket");
        let capture = |port| Capture::open(&capture_file(&folder, port)).expect("a capture");
        Ovs { peer, ctl, addresses, captures: (1..=PORTS).map(capture).collect(), daemons }
    }

    /// Where its daemon writes what it has to say.
    pub(crate) fn log(&self) -> PathBuf {
        self.daemons.folder.join("setpriv.log")
    }

    /// Gives the bridge a frame, and returns when all that comes of it has come.
    pub(crate) fn frame(&mut self, port: u32, frame: &[u8]) {
        let hex: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
        self.ctl.call("netdev-dummy/receive", &[&format!("p{port}"), &hex]);
        self.ctl.turn();
    }

    /// Lets so many seconds pass, and returns when the flows whose time is over have gone.
    pub(crate) fn wait(&mut self, seconds: u32) {
        // What the datapath counted is told to the flows first: an idle flow is one that was not
        // used.
        self.ctl.call("revalidator/purge", &[]);
        // Flows are looked at when the datapath's have been read to their end. A round that had
        // begun before does not count, and the next one begins when its time has come.
        for part in [seconds - 1, 1] {
            self.ctl.call("time/warp", &[&format!("{part}000")]);
            self.ctl.call("revalidator/wait", &[]);
            self.ctl.turn();
        }
        self.ctl.call("revalidator/purge", &[]);
    }

    /// Lets so many milliseconds pass on a clock that stands still otherwise.
    pub(crate) fn pause(&mut self, ms: u32) {
        self.ctl.call("time/warp", &[&ms.to_string()]);
        self.ctl.turn();
    }

    /// The frames that left since the last call, by port.
    pub(crate) fn left(&mut self) -> Vec<(u32, Vec<u8>)> {
        let captures = (1..).zip(&mut self.captures);
        let frames = captures.flat_map(|(port, capture)| {
            capture.new_frames().into_iter().map(move |frame| (port, frame))
        });
        frames.collect()
    }
}

impl Daemons {
    fn start(&mut self) {
        let database = self.folder.join("conf.db");
        let socket = self.folder.join("db.sock");
        self.run("ovsdb-tool", &["create", text(&database), SCHEMA]);
        let remote = format!("--remote=punix:{}", socket.display());
        let unixctl = format!("--unixctl={}", self.folder.join("db.ctl").display());
        self.spawn("ovsdb-server", &[text(&database), &remote, &unixctl]);
        wait_for(&socket);
        self.vsctl(&["--no-wait".to_owned(), "init".to_owned()]);
        let control = self.folder.join("vswitchd.ctl");
        let unixctl = format!("--unixctl={}", control.display());
        let pidfile = format!("--pidfile={}", self.folder.join("vswitchd.pid").display());
        let remote = format!("unix:{}", socket.display());
        let options = ["--enable-dummy=override", "--disable-system", &unixctl, &pidfile, &remote];
        self.spawn("ovs-vswitchd", &options);
        wait_for(&control);
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
        for name in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"] {
            command.env(name, &self.folder);
        }
        let log = self.folder.join(format!("{program}.log"));
        let log = File::options().append(true).create(true).open(log).expect("a log file");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let status = self.command(program).args(arguments).status();
        let good = status.as_ref().is_ok_and(|status| status.success());
        let log = || std::fs::read_to_string(self.folder.join(format!("{program}.log")));
        assert!(good, "{program}: {status:?}; `cargo xtask peers` installs it\n{:?}", log());
    }

    /// Starts a daemon that dies with us, however we die.
    fn spawn(&mut self, program: &str, arguments: &[&str]) {
        let mut command = self.command("setpriv");
        command.args(["--pdeathsig", "KILL", program]).args(arguments);
        let child = command.spawn();
        let child = child
            .unwrap_or_else(|error| panic!("{program}: {error}; `cargo xtask peers` installs it"));
        self.children.push(child);
    }

    fn vsctl(&self, arguments: &[String]) {
        let socket = self.folder.join("db.sock");
        let mut all = vec![format!("--db=unix:{}", socket.display())];
        all.push(format!("--timeout={}", PATIENCE.as_secs()));
        all.extend_from_slice(arguments);
        self.run("ovs-vsctl", &all.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a folder whose name is text")
}

fn capture_file(folder: &Path, port: u32) -> PathBuf {
    folder.join(format!("p{port}.pcap"))
}

/// Until a daemon listens there: the file of its socket comes a moment before.
fn wait_for(path: &Path) {
    let deadline = Instant::now() + PATIENCE;
    while UnixStream::connect(path).is_err() {
        assert!(Instant::now() < deadline, "{} never came", path.display());
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A bridge with dummy ports, whose controller we are. It never probes the connection, and does
/// nothing on its own.
fn bridge(folder: &Path, version: Version, controller: u16) -> Vec<String> {
    let protocol = match version {
        Version::V10 => "OpenFlow10",
        Version::V13 => "OpenFlow13",
    };
    let mut arguments = vec![format!(
        "add-br br -- set bridge br datapath_type=dummy fail-mode=secure protocols={protocol} \
         other-config:datapath-id=00000000000000c1 other-config:disable-in-band=true"
    )];
    for port in 1..=PORTS {
        let capture = capture_file(folder, port);
        arguments.push(format!(
            "-- add-port br p{port} -- set interface p{port} type=dummy ofport_request={port} \
             options:tx_pcap={}",
            capture.display()
        ));
    }
    arguments.push(format!(
        "-- set-controller br tcp:127.0.0.1:{controller} -- set controller br inactivity_probe=0"
    ));
    arguments.iter().flat_map(|part| part.split_whitespace().map(str::to_owned)).collect()
}

fn accept(listener: &TcpListener, version: Version) -> Peer {
    let deadline = Instant::now() + PATIENCE;
    listener.set_nonblocking(true).expect("a socket that does not wait");
    let socket = loop {
        match listener.accept() {
            Ok((socket, _)) => break socket,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                assert!(Instant::now() < deadline, "the bridge never connected");
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => panic!("accept: {error}"),
        }
    };
    let mut peer = Peer::over(socket, PATIENCE).expect("a connection");
    peer.send(&hello(version)).expect("a HELLO");
    peer.expect(kind::HELLO).expect("a HELLO back");
    peer
}

/// The addresses of the ports, in the order of their numbers.
fn addresses(peer: &mut Peer, version: Version) -> Vec<MacAddr> {
    let mut ports: Vec<(u32, MacAddr)> = match version {
        Version::V10 => {
            peer.send(&bare(version, 5, 2)).expect("a question");
            match v10::Message::decode(&peer.expect(6).expect("the features")) {
                Ok((_, v10::Message::FeaturesReply(features))) => features
                    .ports
                    .iter()
                    .map(|port| (u32::from(port.port_no.0), port.hw_addr))
                    .collect(),
                other => panic!("{other:?} is no answer"),
            }
        }
        Version::V13 => {
            let request = MultipartRequest::new(MultipartRequestBody::PortDesc);
            let mut bytes = Vec::new();
            v13::Message::MultipartRequest(request).encode(2, &mut bytes).expect("it fits");
            peer.send(&bytes).expect("a question");
            match v13::Message::decode(&peer.expect(19).expect("the ports")) {
                Ok((_, v13::Message::MultipartReply(reply))) => match reply.body {
                    MultipartReplyBody::PortDesc(ports) => {
                        ports.iter().map(|port| (port.port_no.0, port.hw_addr)).collect()
                    }
                    other => panic!("{other:?} is no answer"),
                },
                other => panic!("{other:?} is no answer"),
            }
        }
    };
    ports.retain(|(number, _)| (1..=PORTS).contains(number));
    ports.sort();
    assert_eq!(ports.len(), PORTS as usize, "the bridge has its ports");
    ports.into_iter().map(|(_, address)| address).collect()
}
