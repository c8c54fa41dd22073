//! Requests: chopped and parsed, and answered by the learning switch, in batches of one to as many as a visit reads.
//!
//! What a worker does with them between its read and its write, over bytes that lie ready. The tables are warm:
//! [`SWITCHES`] switches of [`HOSTS`] hosts, all known, take turns, and every request is from and to hosts drawn at random,
//! so that the tables do not fit in a core's own cache.

use std::io;
use std::sync::Arc;

use aldis_apps::LearningSwitch;
use aldis_apps::learning_switch::{Config, Seed};
use aldis_control::switch::Info;
use aldis_control::world::View;
use aldis_control::{Batch, On, Output, Pipeline, Recipe, Request, Run, Switch, Time, gather};
use aldis_wire::msg::{Port, PortDetails, PortNo};
use aldis_wire::v10::{self, Message, PacketIn, PacketInReason};
use aldis_wire::{DatapathId, FixedText, MacAddr, Version};

use super::line::Line;
use super::rounds::{Pace, Spread, median};

/// Switches that take turns.
const SWITCHES: usize = 16;

/// Hosts of each.
const HOSTS: u64 = 100_000;

/// Ports of each.
const PORTS: u64 = 48;

/// Bytes of a frame.
const FRAME: usize = 64;

/// Sizes of batches between which the line is drawn; the last is what fits in a visit's 64 KB.
const BATCHES: [usize; 6] = [1, 4, 16, 64, 256, 768];

/// Batches of each size a round.
const SAMPLES: usize = 15;

/// `batch_ns`, `gather_ns` and `request_ns`.
pub(super) fn measure(pace: &Pace<'_>) -> io::Result<[Spread; 3]> {
    let mut worker = Worker::new();
    pace.rounds(|| {
        let (mut gathers, mut answers) = ([(0.0, 0.0); BATCHES.len()], [(0.0, 0.0); BATCHES.len()]);
        for ((gather, answer), size) in gathers.iter_mut().zip(&mut answers).zip(BATCHES) {
            let (chopping, answering) = worker.batches(pace, size);
            (*gather, *answer) = ((size as f64, chopping), (size as f64, answering));
        }
        let (gather, answer) = (Line::through(&gathers), Line::through(&answers));
        Ok([gather.base + answer.base, gather.each, answer.each])
    })
}

/// What a worker has of it all.
struct Worker {
    pipeline: Pipeline,
    switches: Vec<Arc<Switch>>,
    turn: usize,
    bytes: Vec<u8>,
    requests: Vec<Request>,
    out: Output,
    random: u64,
}

impl Worker {
    /// Its switches' hosts have all been heard of.
    fn new() -> Worker {
        let config = Config::new(Seed::new(*b"0123456789abcdef"));
        let recipe = Recipe::default().with(move || LearningSwitch::new(config));
        let mut pipeline = recipe.settle().expect("it works alone").pipeline(0);
        let join = |dpid| pipeline.join(Time::START, info(dpid as u64));
        let mut worker = Worker {
            switches: (0..SWITCHES).map(join).collect(),
            pipeline,
            turn: 0,
            bytes: Vec::new(),
            requests: Vec::new(),
            out: Output::default(),
            random: 0x9e37_79b9_7f4a_7c15,
        };
        for _ in 0..SWITCHES {
            let mut hosts = 0..HOSTS;
            while !hosts.is_empty() {
                worker
                    .receive(hosts.by_ref().take(BATCHES[BATCHES.len() - 1]).map(|host| (host, 0)));
                worker.chop();
                worker.answer();
            }
            worker.turn += 1;
        }
        worker
    }

    /// Nanoseconds that a batch of `size` costs: to chop and parse, and to answer.
    fn batches(&mut self, pace: &Pace<'_>, size: usize) -> (f64, f64) {
        let [mut chopping, mut answering] = [const { Vec::new() }; 2];
        for _ in 0..SAMPLES {
            let mut random = self.random;
            self.receive((0..size).map(|_| two(&mut random)));
            self.random = random;
            chopping.push(pace.clock.time(|| self.chop()).0);
            answering.push(pace.clock.time(|| self.answer()).0);
            self.turn += 1;
        }
        (median(&mut chopping), median(&mut answering))
    }

    /// Writes the PACKET_INs of pairs of hosts into the receive buffer.
    fn receive(&mut self, pairs: impl Iterator<Item = (u64, u64)>) {
        self.bytes.clear();
        for (number, (src, dst)) in (0..).zip(pairs) {
            let message = packet_in(number, src, dst);
            message.encode(number, &mut self.bytes).expect("a short message");
        }
    }

    #[inline]
    fn chop(&mut self) {
        self.requests.clear();
        let end = gather::gather(Version::V10, &self.bytes, 0, &mut self.requests);
        assert_eq!(end, self.bytes.len(), "all of them are requests");
    }

    #[inline]
    fn answer(&mut self) {
        let switch = self.turn % SWITCHES;
        let mut batch = Batch {
            on: On::FlowRequest,
            now: Time::START,
            world: View::nothing(),
            bytes: &self.bytes,
            switches: &self.switches,
            runs: &[Run { switch, requests: 0..self.requests.len() }],
            requests: &mut self.requests,
        };
        self.out.clear();
        self.pipeline.packet_ins(&mut batch, &mut self.out);
    }
}

/// The request of `src` for the way to `dst`; the switch keeps the frame under `number`.
fn packet_in(number: u32, src: u64, dst: u64) -> Message {
    let mut data = vec![0; FRAME];
    data[0..6].copy_from_slice(&mac(dst).0);
    data[6..12].copy_from_slice(&mac(src).0);
    data[12..14].copy_from_slice(&[0x08, 0x00]);
    Message::PacketIn(PacketIn {
        buffer_id: number,
        total_len: FRAME as u16,
        in_port: v10::PortNo((src % PORTS) as u16 + 1),
        reason: PacketInReason::NO_MATCH,
        data,
    })
}

/// Two hosts that are not behind the same port, at random.
fn two(random: &mut u64) -> (u64, u64) {
    let (src, dst) = (draw(random), draw(random));
    if src % PORTS == dst % PORTS { (src, (dst + 1) % HOSTS) } else { (src, dst) }
}

/// One of the hosts of a switch, at random (xorshift64).
fn draw(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random % HOSTS
}

fn mac(host: u64) -> MacAddr {
    MacAddr::from_u64(0x0200_0000_0000 | host)
}

fn info(dpid: u64) -> Info {
    let port = |number: u64| Port {
        number: PortNo(number as u32 + 1),
        hw_addr: MacAddr::from_u64(0x0600_0000_0000 | number),
        name: FixedText::default(),
        admin_down: false,
        link_down: false,
        speed_kbps: 0,
        details: PortDetails::default(),
    };
    let ports = (0..PORTS).map(port).collect();
    Info { dpid: DatapathId(dpid), version: Version::V10, buffers: 256, tables: 1, ports }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aldis_wire::Chop;
    use aldis_wire::header::kind::FLOW_MOD;

    /// A batch that was flooded, or of which nothing was known, would cost something else.
    #[test]
    fn every_request_is_answered_with_a_flow() {
        let mut worker = Worker::new();
        let mut random = worker.random;
        worker.receive((0..768).map(|_| two(&mut random)));
        assert!(worker.bytes.len() <= aldis_engine::limits::READ_MAX);
        worker.chop();
        worker.answer();
        let kinds = Chop::new(worker.out.bytes()).map(|raw| raw.unwrap().header.kind);
        assert_eq!(kinds.filter(|&kind| kind == FLOW_MOD).count(), 768);
    }
}
