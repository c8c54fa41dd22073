//! `kill -9` at random moments: what was acknowledged is there, and the store opens each time.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use super::{Folder, WITHIN, serving};

/// How many writes are acknowledged, over all lives; `ALDIS_KILL_WRITES=10000` for the long form.
const WRITES: u64 = 300;

/// Lives of the controller, one of them for so many writes.
const WRITES_PER_LIFE: u64 = 30;

/// One write after the other on one connection, until the controller is gone. The last number that
/// was acknowledged.
fn write_on(stream: TcpStream, host: &str, from: u64, to: u64) -> u64 {
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    let mut acknowledged = from;
    for number in from + 1..=to {
        let body = format!(
            r#"{{"switch": 1, "match": {{"in_port": 1}}, "priority": {}}}"#,
            number % 60_000
        );
        let request = format!(
            "PUT /api/v1/static-flows/flow-{number:06} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        if stream.write_all(request.as_bytes()).is_err() || read(&mut answers).is_none() {
            return acknowledged;
        }
        acknowledged = number;
    }
    acknowledged
}

/// One answer, as far as it came; it has to be good.
fn read(answers: &mut BufReader<TcpStream>) -> Option<()> {
    let (mut length, mut line) = (0, String::new());
    let mut status = None;
    loop {
        line.clear();
        if answers.read_line(&mut line).ok()? == 0 || !line.ends_with('\n') {
            return None;
        }
        let text = line.trim_end().to_lowercase();
        status = status.or_else(|| text.split(' ').nth(1)?.parse::<u16>().ok());
        if let Some(number) = text.strip_prefix("content-length: ") {
            length = number.parse().unwrap();
        }
        if text.is_empty() {
            break;
        }
    }
    assert_eq!(status, Some(200));
    // The status is the acknowledgement, whether or not the rest came.
    let _ = answers.read_exact(&mut vec![0; length]);
    Some(())
}

#[test]
fn nothing_that_was_acknowledged_is_lost_by_a_kill() {
    let writes = std::env::var("ALDIS_KILL_WRITES").map_or(WRITES, |text| text.parse().unwrap());
    let folder = Folder::new("kept-killed");
    let store = folder.file("store");
    let seed = SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    let mut dice = u64::from(seed) | 1;
    let (mut acknowledged, mut lives) = (0, 0);
    let started = Instant::now();
    while acknowledged < writes {
        lives += 1;
        let (mut controller, api) = serving(&["--store", &store]);
        let page = api.get("/api/v1/static-flows").json();
        let there = page["total"].as_u64().unwrap();
        // One more may be on disk: it was killed before it could say so.
        assert!(there == acknowledged || there == acknowledged + 1, "{there}, not {acknowledged}");
        let is_flow = |(place, flow): (usize, &Value)| {
            flow["name"] == format!("flow-{:06}", place + 1).as_str()
        };
        assert!(page["items"].as_array().unwrap().iter().enumerate().all(is_flow));
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        let (stream, host) = (api.connect(), api.address.clone());
        let writer = std::thread::spawn(move || write_on(stream, &host, there, writes));
        // Some writes are due before the kill, and then it comes at any moment.
        let due = (there + 1 + dice % (2 * WRITES_PER_LIFE)).min(writes);
        let deadline = Instant::now() + WITHIN * 4;
        while api.get("/api/v1/static-flows?limit=1").json()["total"].as_u64().unwrap() < due {
            assert!(Instant::now() < deadline, "it writes no more");
        }
        std::thread::sleep(Duration::from_micros(dice % 3000));
        controller.signal("-KILL");
        acknowledged = writer.join().unwrap();
        assert!(acknowledged >= there, "what was there counts");
    }
    eprintln!(
        "{acknowledged} writes, {lives} kills, none lost, in {:?}, seed {seed}",
        started.elapsed()
    );
}
