//! What is written is read again; what was cut or altered is a sentence; and tshark reads it as
//! OpenFlow.

use std::net::SocketAddr;
use std::process::Command;

use aldis_recording::limits::PACKET_BYTES_MAX;
use aldis_recording::{
    Endpoints, Fault, Mark, RecordedEvent, RecordingReader, RecordingWriter, TimedEvent,
};
use proptest::prelude::*;

const STARTED_NS: u64 = 1_700_000_000_000_000_000;

fn ends(port: u16) -> Endpoints {
    let at = |text: &str| text.parse::<SocketAddr>().unwrap();
    Endpoints { peer: SocketAddr::new(at("192.0.2.1:0").ip(), port), local: at("192.0.2.9:6653") }
}

/// An event that owns its bytes.
#[derive(Clone, PartialEq, Debug)]
enum OwnedEvent {
    Plain(RecordedEvent<'static>),
    Read(u64, Vec<u8>),
    Written(u64, Vec<u8>, bool),
    Published(u64, Vec<u8>),
}

impl OwnedEvent {
    fn event(&self) -> RecordedEvent<'_> {
        match self {
            OwnedEvent::Plain(event) => *event,
            OwnedEvent::Read(conn, bytes) => {
                RecordedEvent::Read { conn: *conn, bytes, more: false }
            }
            OwnedEvent::Written(conn, bytes, outside) => {
                RecordedEvent::Written { conn: *conn, bytes, more: false, outside: *outside }
            }
            OwnedEvent::Published(version, taken) => {
                RecordedEvent::Published { began_ns: !version, version: *version, taken }
            }
        }
    }
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        20 => prop::collection::vec(any::<u8>(), 0..300),
        1 => (1..3usize).prop_map(|pieces| vec![7; pieces * PACKET_BYTES_MAX + 5]),
    ]
}

fn event() -> impl Strategy<Value = OwnedEvent> {
    let conn = || 0..3u64;
    prop_oneof![
        (conn(), any::<u16>()).prop_map(|(conn, port)| {
            OwnedEvent::Plain(RecordedEvent::Opened { conn, ends: ends(port) })
        }),
        (conn(), any::<u64>()).prop_map(|(conn, dpid)| {
            let peer = "[2001:db8::1]:7".parse().unwrap();
            let local = "[2001:db8::2]:6653".parse().unwrap();
            OwnedEvent::Plain(RecordedEvent::Known { conn, ends: Endpoints { peer, local }, dpid })
        }),
        conn().prop_map(|conn| OwnedEvent::Plain(RecordedEvent::Closed { conn })),
        (any::<u64>(), any::<u64>()).prop_map(|(events, bytes)| {
            OwnedEvent::Plain(RecordedEvent::Gap { events: events >> 1, bytes })
        }),
        any::<u64>().prop_map(|value| {
            let mark = [
                Mark::Batch { ran_ns: value },
                Mark::Apps { ran_ns: value, alone: value & 16 != 0 },
                Mark::Entered { version: value },
                Mark::Told { conn: value, second: value & 16 != 0 },
                Mark::Ticked,
                Mark::Roused,
                Mark::Acted { before: value, after: !value },
                Mark::LineUp { version: value },
                Mark::Shed { requests: value },
            ][(value % 9) as usize];
            OwnedEvent::Plain(RecordedEvent::Marked(mark))
        }),
        (any::<u64>(), prop::collection::vec(any::<u8>(), 0..30))
            .prop_map(|(version, taken)| OwnedEvent::Published(version, taken)),
        (conn(), bytes()).prop_map(|(conn, bytes)| OwnedEvent::Read(conn, bytes)),
        (conn(), bytes(), any::<bool>())
            .prop_map(|(conn, bytes, outside)| OwnedEvent::Written(conn, bytes, outside)),
    ]
}

type Stamped = (u64, u16, OwnedEvent);

fn written(events: &[Stamped]) -> Vec<u8> {
    let mut out = vec![];
    let mut writer = RecordingWriter::begin(STARTED_NS, "{\"a\":1}", &mut out);
    for conn in 0..3u16 {
        let ends = ends(9 + conn);
        let opened = RecordedEvent::Opened { conn: conn.into(), ends };
        writer.put(&TimedEvent { at_ns: 0, worker: 0, event: opened }, &mut out);
    }
    for (at_ns, worker, event) in events {
        let event = event.event();
        writer.put(&TimedEvent { at_ns: *at_ns, worker: *worker, event }, &mut out);
    }
    out
}

/// All that can be read; and what is wrong with the rest.
fn read(file: &[u8]) -> (Vec<Stamped>, Option<(u64, Fault)>) {
    let mut all: Vec<Stamped> = vec![];
    let mut reader = match RecordingReader::begin(file) {
        Ok(reader) => reader,
        Err(bad) => return (all, Some((bad.offset, bad.fault))),
    };
    let mut joins = false;
    loop {
        let timed = match reader.next_event() {
            Ok(Some(timed)) => timed,
            Ok(None) => return (all, None),
            Err(bad) => return (all, Some((bad.offset, bad.fault))),
        };
        let (more, event) = match timed.event {
            RecordedEvent::Read { conn, bytes, more } => {
                (more, OwnedEvent::Read(conn, bytes.to_vec()))
            }
            RecordedEvent::Written { conn, bytes, more, outside } => {
                (more, OwnedEvent::Written(conn, bytes.to_vec(), outside))
            }
            RecordedEvent::Published { version, taken, .. } => {
                (false, OwnedEvent::Published(version, taken.to_vec()))
            }
            other => (false, OwnedEvent::Plain(plain(other))),
        };
        match (all.last_mut(), event) {
            (Some((_, _, OwnedEvent::Read(_, all))), OwnedEvent::Read(_, more)) if joins => {
                all.extend(more);
            }
            (Some((_, _, OwnedEvent::Written(_, all, _))), OwnedEvent::Written(_, more, _))
                if joins =>
            {
                all.extend(more);
            }
            (_, event) => all.push((timed.at_ns, timed.worker, event)),
        }
        joins = more;
    }
}

fn plain(event: RecordedEvent<'_>) -> RecordedEvent<'static> {
    match event {
        RecordedEvent::Opened { conn, ends } => RecordedEvent::Opened { conn, ends },
        RecordedEvent::Known { conn, ends, dpid } => RecordedEvent::Known { conn, ends, dpid },
        RecordedEvent::Closed { conn } => RecordedEvent::Closed { conn },
        RecordedEvent::Gap { events, bytes } => RecordedEvent::Gap { events, bytes },
        RecordedEvent::Marked(mark) => RecordedEvent::Marked(mark),
        RecordedEvent::Read { .. }
        | RecordedEvent::Written { .. }
        | RecordedEvent::Published { .. } => unreachable!("owned before"),
    }
}

/// Events of connections that are there.
fn kept(events: &[Stamped]) -> Vec<Stamped> {
    let mut there = [true; 3];
    let mut kept = vec![];
    for (at, worker, event) in events {
        let is_there = match event {
            OwnedEvent::Plain(
                RecordedEvent::Opened { conn, .. } | RecordedEvent::Known { conn, .. },
            ) => {
                there[*conn as usize] = true;
                true
            }
            OwnedEvent::Plain(RecordedEvent::Closed { conn }) => {
                std::mem::take(&mut there[*conn as usize])
            }
            // A visit without messages is no packet, and needs no connection.
            OwnedEvent::Read(conn, bytes) => bytes.is_empty() || there[*conn as usize],
            OwnedEvent::Written(conn, ..) => there[*conn as usize],
            OwnedEvent::Plain(_) | OwnedEvent::Published(..) => true,
        };
        if is_there {
            kept.push((*at, *worker, event.clone()));
        }
    }
    kept
}

fn events() -> impl Strategy<Value = Vec<Stamped>> {
    prop::collection::vec((0..1u64 << 60, any::<u16>(), event()), 0..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_written_is_read_again(events in events()) {
        let (read, wrong) = read(&written(&events));
        prop_assert!(wrong.is_none(), "{wrong:?}");
        prop_assert_eq!(&read[3..], kept(&events));
    }

    #[test]
    fn a_recording_that_was_cut_is_read_as_far_as_it_goes(events in events(), part in 0.0..1.0f64) {
        let file = written(&events);
        let len = (file.len() as f64 * part) as usize;
        let (whole, (some, wrong)) = (read(&file).0, read(&file[..len]));
        prop_assert!(whole.starts_with(&some) || !some.is_empty());
        if let Some((offset, fault)) = wrong {
            prop_assert!(offset <= len as u64);
            let is_said = matches!(fault, Fault::Cut | Fault::NotPcapng | Fault::Foreign);
            prop_assert!(is_said, "{fault:?}");
        }
    }

    #[test]
    fn a_recording_that_was_altered_is_read_without_a_panic(
        events in events(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut file = written(&events);
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        let (read, _) = read(&file);
        prop_assert!(read.len() <= file.len() / 20);
    }

    #[test]
    fn anything_is_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let (read, _) = read(&bytes);
        prop_assert!(read.is_empty());
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let file = written(&[]);
    let head =
        12 + 16 + usize::from(u16::from_le_bytes([file[26], file[27]])).next_multiple_of(4) + 8;
    let said = |file: &[u8]| match RecordingReader::begin(file) {
        Err(bad) => bad.to_string(),
        Ok(_) => "nothing".into(),
    };
    assert_eq!(said(b"GIF89a-and-more"), "at byte 0: this is no pcapng file");
    assert_eq!(said(b""), "at byte 0: this is no pcapng file");
    let interface = u32::from_le_bytes(*file[head + 4..].first_chunk().unwrap()) as usize;
    let mut newer = file.clone();
    newer[head + interface + 20] = 3;
    let newer = said(&newer);
    assert!(newer.contains("a newer Aldis wrote this, in version 3 of the format"), "{newer}");
    let mut older = file.clone();
    older[head + interface + 20] = 1;
    let older = said(&older);
    assert!(older.contains("an older Aldis wrote this, in version 1 of the format"), "{older}");
    let foreign = said(&file[..head + interface]);
    assert!(foreign.contains("another program captured this"), "{foreign}");
    let cut = said(&file[..head + interface + 30]);
    assert_eq!(
        cut,
        format!("at byte {}: the file ends within this block: it was cut", head + interface)
    );
}

/// What tshark prints of these fields, a line for each packet that has any.
fn tshark(file: &[u8], name: &str, args: &[&str]) -> Vec<String> {
    let path = std::env::temp_dir().join(format!("aldis-{}-{name}.pcapng", std::process::id()));
    std::fs::write(&path, file).unwrap();
    let output = Command::new("tshark").arg("-r").arg(&path).args(args).output();
    let output = output.expect("tshark is installed");
    std::fs::remove_file(&path).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).filter(|line| !line.trim().is_empty()).collect()
}

#[test]
fn tshark_reads_it_as_openflow_with_sequence_numbers_that_are_right() {
    let hello = vec![4, 0, 0, 8, 0, 0, 0, 1];
    // A message that is longer than a packet: a PACKET_OUT with a long frame.
    let mut long = vec![4, 13, 0xff, 0xff, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff];
    long.extend([0xff, 0xff, 0xff, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0]);
    long.resize(0xffff, 0);
    let echo = [4, 2, 0, 8, 0, 0, 0, 3];
    let gap = RecordedEvent::Gap { events: 12, bytes: 3456 };
    let events = [
        OwnedEvent::Read(0, hello.clone()),
        OwnedEvent::Written(0, hello, false),
        OwnedEvent::Written(0, long, false),
        OwnedEvent::Plain(gap),
        OwnedEvent::Read(0, echo.repeat(3)),
        OwnedEvent::Plain(RecordedEvent::Marked(Mark::Batch { ran_ns: 5 })),
        OwnedEvent::Plain(RecordedEvent::Closed { conn: 0 }),
    ];
    let stamped: Vec<_> =
        (1..).map(|at| at * 1_000).zip(events).map(|(at, it)| (at, 0, it)).collect();
    let file = written(&stamped);
    let types = ["-T", "fields", "-e", "openflow_v4.type"];
    assert_eq!(tshark(&file, "types", &types), ["0", "0", "13", "2,2,2"]);
    let odd = [
        "-Y",
        "tcp.analysis.flags || tcp.checksum.status == 0 || ip.checksum.status == 0",
        "-o",
        "tcp.check_checksum:TRUE",
        "-o",
        "ip.check_checksum:TRUE",
    ];
    assert_eq!(tshark(&file, "odd", &odd), Vec::<String>::new());
    let comments = tshark(&file, "comments", &["-T", "fields", "-e", "frame.comment"]);
    assert_eq!(comments, ["12 reads and writes are missing before this one"]);
    let times = tshark(&file, "times", &["-T", "fields", "-e", "frame.time_epoch"]);
    assert_eq!(times[9], "1700000000.000001000");
}
