//! Meters: named cases, and random programs of frames and time that passes to the millisecond.
//!
//! Both clocks stand still but for what a program lets pass, so that what a meter lets through can
//! be compared frame by frame.

use super::both::Case;
use super::corpus_v13::flow;
use super::frames::{Above, FrameBody, FramePart, TestFrame};
use super::random::frame;
use super::step::CertifyStep;
use aldis_wire::v13::Message;
use aldis_wire::v13::action::Action;
use aldis_wire::v13::instruction::Instruction;
use aldis_wire::v13::meter_band::{BandEffect, MeterBand};
use aldis_wire::v13::meter_mod::{MeterFlags, MeterMod, MeterModCommand, MeterNo};
use aldis_wire::v13::oxm::Oxm;
use aldis_wire::v13::port::PortNo;
use aldis_wire::v13::stats::meter::MeterRequest;
use aldis_wire::v13::stats::{MultipartRequest, MultipartRequestBody};
use aldis_wire::v13::table_mod::TableNo;
use proptest::prelude::*;
use proptest::sample::select;
use std::net::Ipv4Addr;

const PACKETS: MeterFlags = MeterFlags::PKTPS;
const KILOBITS: MeterFlags = MeterFlags::KBPS;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = rates();
    cases.extend(changes());
    cases.extend(refusals());
    cases
}

fn rates() -> Vec<Case> {
    let stats = MeterFlags::STATS;
    let burst = MeterFlags::BURST;
    vec![
        case("packets a second", vec![add(PACKETS | stats, vec![(5, 0)]), metered(), offered()]),
        case(
            "packets a second, in bursts",
            vec![add(PACKETS | burst | stats, vec![(5, 20)]), metered(), offered()],
        ),
        case("kilobits a second", vec![add(KILOBITS | stats, vec![(4, 0)]), metered(), offered()]),
        case(
            "kilobits a second, in bursts",
            vec![add(KILOBITS | burst | stats, vec![(4, 12)]), metered(), offered()],
        ),
        case(
            "of two bands the faster one drops",
            vec![add(PACKETS | burst | stats, vec![(2, 4), (6, 9)]), metered(), offered()],
        ),
        case("a meter without bands", vec![add(PACKETS | stats, vec![]), metered(), offered()]),
        case(
            "a packet that is dropped goes no further",
            vec![add(PACKETS | stats, vec![(1, 0)]), metered_with_set(), offered()],
        ),
    ]
}

fn changes() -> Vec<Case> {
    let stats = PACKETS | MeterFlags::STATS;
    let one = |command, bands| vec![meter(command, stats, 1, bands)];
    vec![
        case(
            "a meter that changes",
            vec![
                add(stats, vec![(5, 0)]),
                metered(),
                offered(),
                one(MeterModCommand::MODIFY, vec![(2, 0), (3, 0)]),
                offered(),
            ],
        ),
        case(
            "a meter that goes takes its flows",
            vec![
                add(stats, vec![(5, 0)]),
                metered(),
                offered(),
                one(MeterModCommand::DELETE, vec![]),
                offered(),
            ],
        ),
        case("a meter twice", vec![add(stats, vec![(5, 0)]), add(stats, vec![(6, 0)])]),
        case("a change of no meter", vec![one(MeterModCommand::MODIFY, vec![(5, 0)])]),
        case("a meter that goes and is not there", vec![one(MeterModCommand::DELETE, vec![])]),
    ]
}

fn refusals() -> Vec<Case> {
    let one = |flags, id, bands| vec![vec![meter(MeterModCommand::ADD, flags, id, bands)]];
    let dscp = MeterBand { effect: BandEffect::DscpRemark { prec_level: 1 }, ..band((5, 0)) };
    let remarks = MeterMod {
        command: MeterModCommand::ADD,
        flags: PACKETS,
        meter_id: MeterNo(1),
        bands: vec![dscp],
    };
    vec![
        case("a flow to no meter", vec![metered()]),
        case("meter 0", one(PACKETS, 0, vec![(5, 0)])),
        case("a meter above the last", one(PACKETS, MeterNo::MAX.0 + 1, vec![(5, 0)])),
        case("two units", one(PACKETS | KILOBITS, 1, vec![(5, 0)])),
        case("no unit", one(MeterFlags::EMPTY, 1, vec![(5, 0)])),
        case("flags that there are not", one(MeterFlags(0x12), 1, vec![(5, 0)])),
        case("a rate of nothing", one(PACKETS, 1, vec![(0, 5)])),
        case("a band that remarks", vec![vec![CertifyStep::V13(Message::MeterMod(remarks))]]),
        case("what no meter is asked", vec![vec![question(9)]]),
    ]
}

fn case(name: &'static str, parts: Vec<Vec<CertifyStep>>) -> Case {
    (name, [parts.concat(), questions()].concat())
}

fn question(id: u32) -> CertifyStep {
    let body = MultipartRequestBody::Meter(MeterRequest { meter_id: MeterNo(id) });
    CertifyStep::V13(Message::MultipartRequest(MultipartRequest::new(body)))
}

/// What the meters are and what they counted.
fn questions() -> Vec<CertifyStep> {
    let all = MeterRequest { meter_id: MeterNo::ALL };
    let bodies = [MultipartRequestBody::Meter(all), MultipartRequestBody::MeterConfig(all)];
    bodies
        .map(|body| CertifyStep::V13(Message::MultipartRequest(MultipartRequest::new(body))))
        .into()
}

fn band((rate, burst_size): (u32, u32)) -> MeterBand {
    MeterBand { rate, burst_size, effect: BandEffect::Drop }
}

fn meter(
    command: MeterModCommand,
    flags: MeterFlags,
    id: u32,
    bands: Vec<(u32, u32)>,
) -> CertifyStep {
    let bands = bands.into_iter().map(band).collect();
    CertifyStep::V13(Message::MeterMod(MeterMod { command, flags, meter_id: MeterNo(id), bands }))
}

fn add(flags: MeterFlags, bands: Vec<(u32, u32)>) -> Vec<CertifyStep> {
    vec![meter(MeterModCommand::ADD, flags, 1, bands)]
}

fn through(id: u32, table: u8, fields: Vec<Oxm>, mut rest: Vec<Instruction>) -> CertifyStep {
    rest.insert(0, Instruction::Meter(MeterNo(id)));
    CertifyStep::V13(Message::FlowMod(flow(table, 1, fields, rest)))
}

fn out(port: u32) -> Action {
    Action::output(PortNo(port))
}

fn metered() -> Vec<CertifyStep> {
    vec![through(1, 0, vec![], vec![Instruction::ApplyActions(vec![out(2)])])]
}

/// What came before the meter has been done; what the set holds is not.
fn metered_with_set() -> Vec<CertifyStep> {
    let first = vec![
        Instruction::ApplyActions(vec![out(3)]),
        Instruction::WriteActions(vec![out(4)]),
        Instruction::GotoTable(TableNo(1)),
    ];
    vec![
        CertifyStep::V13(Message::FlowMod(flow(0, 1, vec![], first))),
        through(1, 1, vec![], vec![Instruction::ApplyActions(vec![out(2)])]),
    ]
}

/// More than any of the meters lets through, then less, then nothing for long, then more again.
fn offered() -> Vec<CertifyStep> {
    let (src, dst) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 1, 2));
    let (tos, ttl, options, fragment) = (0, 64, false, FramePart::Whole);
    let body = |above| FrameBody::Ipv4 { src, dst, tos, ttl, options, fragment, above };
    let small = || CertifyStep::Frame(1, TestFrame::new(body(Above::Udp(80, 443, true))));
    let large = || CertifyStep::Frame(3, TestFrame::new(body(Above::Tcp(80, 443))));
    let mut steps = Vec::new();
    for (ms, frames) in [(0, 8), (100, 2), (130, 3), (1, 1), (999, 7), (20_000, 12), (250, 4)] {
        steps.extend((ms > 0).then_some(CertifyStep::Pause(ms)));
        steps.extend((0..frames).map(|at| if at % 3 == 2 { large() } else { small() }));
    }
    steps
}

/// Two meters, flows through them in two tables, and frames over time.
pub(crate) fn program() -> impl Strategy<Value = Vec<CertifyStep>> {
    let meter_of = |id: u32| {
        let bands = prop::collection::vec((1..12_u32, 0..20_u32), 1..3);
        (any::<bool>(), any::<bool>(), bands).prop_map(move |(packets, bursts, bands)| {
            let unit = if packets { PACKETS } else { KILOBITS };
            let bursts = if bursts { MeterFlags::BURST } else { MeterFlags::EMPTY };
            meter(MeterModCommand::ADD, unit | bursts | MeterFlags::STATS, id, distinct(bands))
        })
    };
    let step = prop_oneof![
        4 => frame(),
        2 => select(vec![1_u32, 17, 100, 333, 1000, 5000]).prop_map(CertifyStep::Pause),
    ];
    let offered = || prop::collection::vec(step.clone(), 1..40);
    let removed = prop::option::of(1..3_u32);
    (meter_of(1), meter_of(2), 1..3_u32, offered(), removed, offered()).prop_map(
        |(one, two, second, some, removed, more)| {
            let apply = |port| Instruction::ApplyActions(vec![out(port)]);
            let onward = vec![apply(2), Instruction::GotoTable(TableNo(1))];
            let first = vec![Oxm::InPort(PortNo(1))];
            let flows = vec![
                through(1, 0, first, onward),
                through(2, 0, vec![Oxm::InPort(PortNo(3))], vec![apply(4)]),
                through(second, 1, vec![], vec![apply(3)]),
            ];
            let gone = removed.map(|id| meter(MeterModCommand::DELETE, PACKETS, id, vec![]));
            let gone = gone.into_iter().collect();
            [vec![one, two], flows, some, questions(), gone, more, questions()].concat()
        },
    )
}

/// Bands of different rates: which of two alike drops is each switch's own affair.
fn distinct(mut bands: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    bands.sort_unstable();
    bands.dedup_by_key(|(rate, _)| *rate);
    bands
}
