//! Threads outside of the engine that report: what they read in a file reaches the World, and what
//! they hear on a socket of their own an application.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use aldis_control::app::{Inlet, TickCtx};
use aldis_control::world::{PublishCtx, Publishers};
use aldis_control::{App, AppSet, Commands, EventKind, Part, Publisher, Time};
use aldis_emulator::peer::bare;
use aldis_testkit::Folder;
use aldis_wire::header::kind::ECHO_REQUEST;
use aldis_wire::{DatapathId, Version};

use super::asking::{PATIENCE, engine, join};

/// What is listed in a file.
#[derive(Clone, Default)]
struct Listed(Vec<u64>);

impl Part for Listed {
    type Report = Vec<u64>;
    const NAME: &'static str = "listed";
}

struct Lists;

impl Publisher for Lists {
    type Part = Listed;

    fn begin(&mut self) -> Listed {
        Listed::default()
    }

    fn revise(&mut self, _: Time, mut ctx: PublishCtx<'_, Listed>) -> Option<Listed> {
        let mut last = None;
        while let Some(report) = ctx.report() {
            last = Some(Listed(report));
        }
        last
    }
}

struct Reads;

impl App for Reads {
    type Slot = ();
    const NAME: &'static str = "reads";

    fn publishers(&self) -> Publishers {
        Publishers::of(Lists)
    }
}

#[test]
fn what_a_thread_reads_in_a_file_reaches_the_world() {
    let folder = Folder::new("apps-reporting");
    let file = folder.write("list", "1\n2\n");
    let engine = engine(AppSet::default().with(|| Reads));
    let reporter = engine.handle().reporter::<Listed>().unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut before = String::new();
            while !stop.load(Ordering::Relaxed) {
                let now = std::fs::read_to_string(&file).unwrap();
                if now != before {
                    let list = now.lines().filter_map(|line| line.parse().ok()).collect();
                    reporter.report(list).unwrap();
                    before = now;
                }
                thread::sleep(Duration::from_millis(5));
            }
        });
        let has = |expected: &[u64]| {
            let deadline = Instant::now() + PATIENCE;
            loop {
                let world = engine.handle().world();
                if world.part::<Listed>().is_some_and(|listed| listed.0 == expected) {
                    return true;
                }
                if Instant::now() > deadline {
                    return false;
                }
                thread::sleep(Duration::from_millis(1));
            }
        };
        let first = has(&[1, 2]);
        // The name is taken in one step, so that no half of the file is read.
        std::fs::rename(folder.write("next", "2\n3\n5\n"), &file).unwrap();
        let second = has(&[2, 3, 5]);
        stop.store(true, Ordering::Relaxed);
        assert!(first && second);
    });
    assert_eq!((reporter.reported(), reporter.refused()), (2, 0));
}

#[test]
fn a_part_that_no_application_publishes_has_no_reporter() {
    let engine = engine(AppSet::default());
    assert!(engine.handle().reporter::<Listed>().is_none());
    assert!(engine.handle().reporter_to(&Inlet::<u8>::new(1), 2).is_none());
}

/// Sends an echo request to the switch of each report.
struct Echoes(Inlet<(u64, u32)>);

impl App for Echoes {
    type Slot = ();
    const NAME: &'static str = "echoes";
    const EVENTS: &'static [EventKind] = &[];

    fn roused(&mut self, _: TickCtx<'_>, commands: &mut Commands) {
        while let Some((switch, xid)) = self.0.take() {
            commands.to(DatapathId(switch));
            commands.append(&bare(Version::V10, ECHO_REQUEST, xid));
        }
    }
}

#[test]
fn what_a_thread_hears_on_its_socket_reaches_the_application() {
    let inlet = Inlet::new(16);
    let taken = inlet.clone();
    let engine = engine(AppSet::default().with(move || Echoes(taken.clone())));
    let mut peer = join(&engine, 9);
    let deadline = Instant::now() + PATIENCE;
    while engine.handle().switches().is_empty() {
        assert!(Instant::now() < deadline, "the switch is not up");
        thread::sleep(Duration::from_millis(1));
    }
    let reporter = engine.handle().reporter_to(&inlet, 1).unwrap();
    let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let address = socket.local_addr().unwrap();
    let hears = thread::spawn(move || {
        let mut datagram = [0; 4];
        for _ in 0..3 {
            assert_eq!(socket.recv(&mut datagram).unwrap(), 4);
            reporter.report((9, u32::from_be_bytes(datagram))).unwrap();
        }
    });
    let tells = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    for xid in 700..703_u32 {
        tells.send_to(&xid.to_be_bytes(), address).unwrap();
        assert_eq!(peer.expect(ECHO_REQUEST).unwrap()[4..8], xid.to_be_bytes());
    }
    hears.join().unwrap();
}

/// Takes nothing of what is reported to it.
struct Idle;

impl App for Idle {
    type Slot = ();
    const NAME: &'static str = "idle";
}

#[test]
fn what_finds_an_inlet_full_comes_back_and_is_counted() {
    let engine = engine(AppSet::default().with(|| Idle));
    let reporter = engine.handle().reporter_to(&Inlet::new(2), 0).unwrap();
    let other = reporter.clone();
    assert_eq!([1, 2, 3].map(|report| reporter.report(report)), [Ok(()), Ok(()), Err(3)]);
    assert_eq!(other.report(4), Err(4));
    assert_eq!((other.reported(), reporter.refused()), (2, 2));
}
