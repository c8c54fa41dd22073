//! What a request costs until it stands in a batch: nanoseconds for each, chopping and parsing
//! together.
//!
//! ```text
//! taskset -c 1 cargo bench -p aldis-control --bench parse
//! ```
//!
//! 400 PACKET_INs with frames of 64 bytes, as one read brings them, all of one length or of two in
//! turn. The least of 1001 rounds and their median are printed.

#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::hint::black_box;
use std::time::Instant;

use aldis_control::{RequestHeader, parse};
use aldis_wire::{Version, v10, v13};

const BATCH: usize = 400;
const ROUNDS: usize = 1001;
const PASSES: usize = 20;

fn main() {
    println!("{:>8}  {:>8}  {:>6}  {:>6}", "version", "lengths", "min", "median");
    for version in Version::ALL {
        for lengths in [1, 2] {
            let bytes = (0..BATCH).flat_map(|at| packet_in(version, 64 + at % lengths)).collect();
            let (min, median) = measure(version, bytes);
            let version = format!("{version:?}");
            println!("{version:>8}  {lengths:>8}  {min:>6.2}  {median:>6.2}");
        }
    }
}

fn measure(version: Version, bytes: Vec<u8>) -> (f64, f64) {
    let mut requests: Vec<RequestHeader> = Vec::with_capacity(BATCH);
    let mut round = || {
        let begun = Instant::now();
        for _ in 0..PASSES {
            requests.clear();
            parse::parse(version, black_box(&bytes), 0, &mut requests);
            assert_eq!(black_box(&requests).len(), BATCH);
        }
        begun.elapsed().as_nanos() as f64 / (BATCH * PASSES) as f64
    };
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round()).collect();
    rounds.sort_by(f64::total_cmp);
    (rounds[0], rounds[ROUNDS / 2])
}

fn packet_in(version: Version, frame: usize) -> Vec<u8> {
    let (mut bytes, data) = (Vec::new(), vec![0x11; frame]);
    let encoded = match version {
        Version::V10 => v10::Message::PacketIn(v10::PacketIn {
            buffer_id: 7,
            total_len: frame as u16,
            in_port: v10::PortNo(3),
            reason: v10::PacketInReason::NO_MATCH,
            data,
        })
        .encode(9, &mut bytes),
        Version::V13 => v13::Message::PacketIn(v13::PacketIn {
            buffer_id: 7,
            total_len: frame as u16,
            reason: v13::PacketInReason::NO_MATCH,
            table_id: v13::TableNo(0),
            cookie: 0,
            match_: v13::Match { fields: vec![v13::Oxm::InPort(v13::PortNo(3))] },
            data,
        })
        .encode(9, &mut bytes),
    };
    encoded.expect("it fits");
    bytes
}
