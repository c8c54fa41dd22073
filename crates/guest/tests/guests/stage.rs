//! An engine with guests, scripted switches on one side and scripted controllers on the other.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aldis_control::controller_event::{ControllerEvent, EventSink};
use aldis_control::pipeline::AppEntry;
use aldis_control::{App, AppSet, Batch, Output, session};
use aldis_emulator::peer::{Peer, PeerPart, hello};
use aldis_engine::design::Knobs;
use aldis_engine::{Config, Design, Engine, Handle};
use aldis_guest::{GuestApp, GuestSpec, GuestStatus, GuestTls, Guests, Rouse};
use aldis_wire::header::kind;
use aldis_wire::msg::{self, Field, Match, Message, PortNo};
use aldis_wire::{NO_BUFFER, Version};

/// Longer than anything here takes on a machine that is busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Long enough for what should not come.
pub(crate) const QUIET: Duration = Duration::from_millis(150);

const FEATURES_REQUEST: u8 = 5;

/// Answers requests that come through to it with a PACKET_OUT to port 77.
#[derive(Clone)]
pub(crate) struct Behind;

impl App for Behind {
    type Slot = ();
    const NAME: &'static str = "behind";

    fn packet_ins(
        &mut self,
        batch: &mut Batch<'_>,
        _: aldis_control::app::Slots<'_, ()>,
        out: &mut Output,
    ) {
        batch.each(|request| {
            if let Some(packet) = request.packet() {
                out.answer(request, packet.actions([msg::Action::output(PortNo(77))]));
            }
            aldis_control::app::Next::Stop
        });
    }
}

struct Deaf;

impl EventSink for Deaf {
    fn emit(&self, _: ControllerEvent) {}
}

/// Rouses workers of an engine, which read what guests say themselves where they may.
struct Rousing {
    engine: Handle,
    workers_read: bool,
}

impl Rouse for Rousing {
    fn rouse(&self, worker: usize) {
        self.engine.rouse(worker);
    }

    fn rouse_when_readable(&self, worker: usize, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        match self.workers_read {
            true => self.engine.rouse_when_readable(worker, descriptor),
            false => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// An engine and its guests.
pub(crate) struct GuestStage {
    engine: Engine,
    pub(crate) guests: Guests,
}

impl GuestStage {
    pub(crate) fn start() -> GuestStage {
        GuestStage::of_workers(2)
    }

    pub(crate) fn of_workers(workers: usize) -> GuestStage {
        GuestStage::behind(workers, Behind, true)
    }

    /// With this application instead of [`Behind`]; and with workers that read nothing of guests,
    /// unless they are to.
    pub(crate) fn behind<A: App + Clone + Sync>(
        workers: usize,
        app: A,
        workers_read: bool,
    ) -> GuestStage {
        let config = Config {
            listen: vec![([127, 0, 0, 1], 0).into()],
            workers,
            design: Design::default(),
            spin: false,
            knobs: Knobs::default(),
            session: session::Config::default(),
        };
        let app_set = AppSet::default().with(move || app.clone());
        let engine = Engine::start(&config, app_set, Arc::new(Deaf)).unwrap();
        let rousing = Rousing { engine: engine.handle(), workers_read };
        let guests = Guests::new(rousing, Arc::new(Deaf));
        GuestStage { engine, guests }
    }

    /// Adds a guest in front of [`Behind`].
    pub(crate) fn add(&self, spec: GuestSpec) {
        self.add_before(spec, None, Some(Behind::NAME));
    }

    /// Adds a guest, over TLS perhaps, in front of this application, or as the last.
    pub(crate) fn add_before(
        &self,
        spec: GuestSpec,
        tls: Option<GuestTls>,
        before: Option<&'static str>,
    ) {
        let name: &'static str = spec.name.clone().leak();
        let events = GuestApp::events(&spec);
        let instances = self.guests.add(spec, tls).unwrap();
        let entry = AppEntry::of(instances).named(name, events);
        self.engine.handle().add_app(entry, before).unwrap();
    }

    /// A switch that has shaken hands.
    pub(crate) fn switch(&self, version: Version, number: u32) -> Peer {
        let mut peer = Peer::connect(self.engine.listening()[0], PATIENCE).unwrap();
        peer.send(&hello(version)).unwrap();
        let barrier_request = if version == Version::V10 { 18 } else { 20 };
        peer.play(PeerPart { version, number, ports: 4 }, barrier_request).unwrap();
        peer
    }

    pub(crate) fn status(&self, name: &str) -> GuestStatus {
        let statuses = self.guests.statuses();
        statuses.into_iter().find(|status| status.spec.name == name).unwrap()
    }

    pub(crate) fn until(
        &self,
        name: &str,
        mut holds: impl FnMut(&GuestStatus) -> bool,
    ) -> GuestStatus {
        let by = Instant::now() + PATIENCE;
        loop {
            let status = self.status(name);
            if holds(&status) {
                return status;
            }
            assert!(Instant::now() < by, "{status:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn stop(self) {
        self.guests.stop();
        self.engine.stop();
    }
}

/// Where a guest listens.
pub(crate) struct Listening(TcpListener);

impl Listening {
    pub(crate) fn new() -> Listening {
        Listening(TcpListener::bind(("127.0.0.1", 0)).unwrap())
    }

    pub(crate) fn at(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    pub(crate) fn spec(&self, name: &str) -> GuestSpec {
        GuestSpec::new(name, self.at())
    }

    pub(crate) fn accept(&self) -> Peer {
        self.0.set_nonblocking(true).unwrap();
        let by = Instant::now() + PATIENCE;
        loop {
            match self.0.accept() {
                Ok((socket, _)) => return Peer::over(socket, PATIENCE).unwrap(),
                Err(error) => assert!(Instant::now() < by, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// A guest that has shaken hands, and what the switch said of itself.
    pub(crate) fn guest(&self, version: Version) -> (Peer, msg::Features) {
        let mut peer = self.accept();
        peer.send(&hello(version)).unwrap();
        let said = peer.expect(kind::HELLO).unwrap();
        assert_eq!(said[0], version.wire());
        peer.send(&aldis_emulator::peer::bare(version, FEATURES_REQUEST, 9)).unwrap();
        let (9, Message::FeaturesReply(features)) = decoded(version, &peer.expect(6).unwrap())
        else {
            panic!("no features")
        };
        (peer, features)
    }
}

/// The spec with this match.
pub(crate) fn own(spec: GuestSpec, text: &str) -> GuestSpec {
    GuestSpec { matching: text.parse().unwrap(), ..spec }
}

pub(crate) fn decoded(version: Version, bytes: &[u8]) -> (u32, Message) {
    let (xid, message) = Message::decode(version, bytes).unwrap();
    (xid, message.meaning())
}

pub(crate) fn send(peer: &mut Peer, version: Version, xid: u32, message: impl Into<Message>) {
    let mut bytes = vec![];
    message.into().encode(version, xid, &mut bytes).unwrap();
    peer.send(&bytes).unwrap();
}

/// A frame between two hosts, with a tag where `vlan` is not 0.
pub(crate) fn frame(src: u8, vlan: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, src];
    if vlan != 0 {
        frame.extend([0x81, 0]);
        frame.extend(vlan.to_be_bytes());
    }
    frame.extend([0x08, 0]);
    frame.resize(64, 0);
    frame
}

/// A request about it.
pub(crate) fn packet_in(version: Version, in_port: u32, frame: &[u8]) -> Message {
    let _ = version;
    Message::PacketIn(msg::PacketIn {
        buffer_id: NO_BUFFER,
        total_len: frame.len() as u16,
        reason: msg::PacketInReason::NO_MATCH,
        table_id: msg::TableNo(0),
        cookie: if version == Version::V10 { u64::MAX } else { 0 },
        match_: Match { fields: vec![Field::InPort(PortNo(in_port))] },
        data: frame.to_vec(),
    })
}
