//! What the emulated switch costs: packets a second of one datapath, and memory of many.
//!
//! ```text
//! taskset -c 1 cargo bench -p aldis-emulator --bench datapath
//! ```
//!
//! Packets are 98-byte pings, each for another flow in turn, and go out by one port. The least of
//! 21 rounds is printed, with the median in brackets. Memory is what the process grew by, for each
//! datapath of ten ports.

use aldis_emulator::datapath::{Datapath, PortSpec, Sink};
use aldis_wire::v13::Message;
use aldis_wire::v13::action::Action;
use aldis_wire::v13::bucket::GroupNo;
use aldis_wire::v13::flow_mod::{FlowMod, FlowModCommand, FlowModFlags};
use aldis_wire::v13::instruction::Instruction;
use aldis_wire::v13::match_::Match;
use aldis_wire::v13::oxm::{Masked, Oxm};
use aldis_wire::v13::port::PortNo;
use aldis_wire::v13::table_mod::TableNo;
use aldis_wire::{DatapathId, MacAddr, NO_BUFFER, Version};
use std::hint::black_box;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

const ROUNDS: usize = 21;
const PACKETS: u32 = 100_000;
const PORTS: u32 = 10;

/// Counts what leaves.
#[derive(Default)]
struct OutputCount {
    frames: u64,
}

impl Sink for OutputCount {
    fn to_controller(&mut self, message: &[u8]) {
        black_box(message);
    }

    fn to_port(&mut self, _: u32, frame: &[u8]) {
        black_box(frame);
        self.frames += 1;
    }
}

fn main() {
    // First, while the process has no memory to use again.
    println!("memory of a datapath of {PORTS} ports, KiB:");
    memory("without flows, of 10,000", 10_000, 0);
    memory("with 100 flows, of 1,000", 1000, 100);
    println!("{PACKETS} packets of {} bytes, ns each, least (median):", frame(0).len());
    let by_mac = |n| vec![Oxm::EthDst(Masked::exact(mac(n)))];
    let by_ip = |n| vec![Oxm::EthType(0x0800), Oxm::Ipv4Dst(Masked::exact(ip(n)))];
    forward("one flow for everything", 1, |_| vec![]);
    forward("1,000 flows by MAC address", 1000, by_mac);
    forward("100,000 flows by MAC address", 100_000, by_mac);
    forward("1,000 flows by IPv4 address", 1000, by_ip);
    forward("1,000 flows under 20 different masks", 1000, |n| {
        let mask = MacAddr([0xff, 0xff - (n % 20) as u8, 0xff, 0xff, 0xff, 0xff]);
        vec![Oxm::EthDst(Masked::with(mac(n), mask))]
    });
}

fn forward(what: &str, flows: u32, fields: impl Fn(u32) -> Vec<Oxm>) {
    let mut switch = switch(1);
    let mut out = OutputCount::default();
    for n in 0..flows {
        add(&mut switch, fields(n), &mut out);
    }
    let frames: Vec<Vec<u8>> = (0..flows.max(1000)).map(frame).collect();
    let mut took: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            for at in 0..PACKETS {
                let frame = &frames[at as usize % frames.len()];
                switch.frame(1, black_box(frame), Duration::from_secs(1), &mut out);
            }
            begun.elapsed()
        })
        .collect();
    assert_eq!(out.frames, u64::from(PACKETS) * ROUNDS as u64, "every packet met its flow");
    took.sort();
    let ns = |at: usize| took[at].as_nanos() as f64 / f64::from(PACKETS);
    println!("  {what:<40} {:>7.0} ({:.0})", ns(0), ns(ROUNDS / 2));
}

fn memory(what: &str, datapaths: u32, flows: u32) {
    let before = resident();
    let make = |number| {
        let mut switch = switch(number);
        for n in 0..flows {
            add(&mut switch, vec![Oxm::EthDst(Masked::exact(mac(n)))], &mut OutputCount::default());
        }
        switch
    };
    let all: Vec<Datapath> = (1..=datapaths).map(make).collect();
    let grown = resident().saturating_sub(before);
    println!("  {what:<40} {:>7.1}", grown as f64 / 1024.0 / f64::from(datapaths));
    // What they had is not given back to the next: it would look as if that took nothing.
    std::mem::forget(black_box(all));
}

/// Resident memory, in bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("a kernel with /proc");
    let pages: u64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("pages");
    pages * 4096
}

fn switch(number: u32) -> Datapath {
    let port = |port: u32| PortSpec {
        number: port,
        address: MacAddr::from_u64(u64::from(number) << 16 | u64::from(port)),
        name: format!("s{number}-eth{port}"),
    };
    let ports: Vec<PortSpec> = (1..=PORTS).map(port).collect();
    Datapath::new(Version::V13, DatapathId(number.into()), &ports)
}

fn add(switch: &mut Datapath, fields: Vec<Oxm>, out: &mut OutputCount) {
    let flow_mod = FlowMod {
        cookie: 0,
        cookie_mask: 0,
        table_id: TableNo(0),
        command: FlowModCommand::ADD,
        idle_timeout: 0,
        hard_timeout: 0,
        priority: 1,
        buffer_id: NO_BUFFER,
        out_port: PortNo::ANY,
        out_group: GroupNo::ANY,
        flags: FlowModFlags::EMPTY,
        match_: Match { fields },
        instructions: vec![Instruction::ApplyActions(vec![Action::output(PortNo(2))])],
    };
    let mut bytes = Vec::new();
    Message::FlowMod(flow_mod).encode(1, &mut bytes).expect("it fits");
    switch.message(&bytes, Duration::ZERO, out);
}

fn mac(n: u32) -> MacAddr {
    MacAddr::from_u64(0x0200_0000_0000 | u64::from(n))
}

fn ip(n: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0000 + n)
}

/// A ping to the `n`th.
fn frame(n: u32) -> Vec<u8> {
    let mut frame = vec![0; 98];
    frame[..6].copy_from_slice(&mac(n).0);
    frame[6..12].copy_from_slice(&mac(0xff_ffff).0);
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[14..18].copy_from_slice(&[0x45, 0, 0, 84]);
    frame[22..24].copy_from_slice(&[64, 1]);
    frame[30..34].copy_from_slice(&ip(n).octets());
    frame[34] = 8;
    frame
}
