//! Random programs: frames and values that both versions draw from, and the run that shrinks a
//! difference.

use super::both::BothSwitches;
use super::corpus_ports::{NO_RECV, settable};
use super::frames::{Above, FrameBody, FramePart, TestFrame};
use super::step::CertifyStep;
use aldis_wire::Version;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::cell::{Cell, RefCell};
use std::net::{Ipv4Addr, Ipv6Addr};

/// How many programs of each version are run when no other number is given.
const PROGRAMS: u32 = 120;

/// So many programs one Open vSwitch is given, and then a new one is started.
const BLOCK: u32 = 100;

/// Steps that a difference is shrunk by, at most.
const SHRINK_STEPS: u32 = 3000;

/// And milliseconds, at most.
const SHRINK_MS: u32 = 120_000;

/// The stack that it takes.
const STACK_BYTES: usize = 64 << 20;

/// Runs programs from a seed; `ALDIS_CERTIFY_PROGRAMS` and `ALDIS_CERTIFY_SEED` say how many and
/// which, `ALDIS_CERTIFY_FROM` with which of them to begin.
pub(crate) fn run<S: Strategy<Value = Vec<CertifyStep>> + 'static>(
    start: fn() -> BothSwitches,
    programs: fn() -> S,
) {
    // A strategy is a value as large as all that it is made of, and moved about by its users.
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let thread = thread.spawn(move || run_here(start, programs())).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn run_here(start: fn() -> BothSwitches, programs: impl Strategy<Value = Vec<CertifyStep>>) {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let cases = number("ALDIS_CERTIFY_PROGRAMS").unwrap_or(PROGRAMS);
    let seed = number("ALDIS_CERTIFY_SEED").unwrap_or(1);
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: SHRINK_STEPS,
        max_shrink_time: SHRINK_MS,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let from = number("ALDIS_CERTIFY_FROM").unwrap_or(0);
    let both = RefCell::new(start());
    let last = RefCell::new(String::new());
    let count = Cell::new(0_u32);
    let result = TestRunner::new_with_rng(config, rng).run(&programs, |program| {
        count.set(count.get() + 1);
        if count.get().is_multiple_of(BLOCK) {
            both.replace(start());
        }
        if count.get() < from {
            return Ok(());
        }
        both.borrow_mut().agree(&program).map_err(|report| {
            *last.borrow_mut() = report;
            TestCaseError::fail("differ")
        })
    });
    assert!(result.is_ok(), "seed {seed}: {}", last.borrow());
}

pub(crate) fn ipv4() -> impl Strategy<Value = Ipv4Addr> {
    prop::sample::select(vec![
        Ipv4Addr::new(10, 0, 0, 1),
        Ipv4Addr::new(10, 0, 0, 2),
        Ipv4Addr::new(10, 0, 1, 1),
        Ipv4Addr::new(192, 168, 0, 1),
    ])
}

pub(crate) fn ipv6() -> impl Strategy<Value = Ipv6Addr> {
    prop::sample::select(vec![
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1),
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2),
        Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 1),
        Ipv6Addr::new(0x2001, 0xdb8, 0, 2, 0xffff, 0, 0, 1),
    ])
}

pub(crate) fn mac_number() -> impl Strategy<Value = u8> {
    prop::sample::select(vec![1, 2, 3, 0x81, 0xff])
}

pub(crate) fn tp() -> impl Strategy<Value = u16> {
    prop::sample::select(vec![80, 443, 0x1234, 0])
}

pub(crate) fn vid() -> impl Strategy<Value = u16> {
    prop::sample::select(vec![0, 1, 2, 100, 4095])
}

pub(crate) fn tos() -> impl Strategy<Value = u8> {
    prop::sample::select(vec![0, 1, 0x28, 0xb8, 0xbb])
}

fn above(v6: bool) -> impl Strategy<Value = Above> {
    let icmp = if v6 { vec![128, 129, 135] } else { vec![0, 8, 3] };
    let neighbour = (135..=136_u8, ipv6(), prop::option::of(1..4_u8));
    let neighbour =
        neighbour.prop_map(|(kind, target, mac)| Above::Neighbour { kind, target, mac });
    prop_oneof![
        4 => (tp(), tp()).prop_map(|(a, b)| Above::Tcp(a, b)),
        3 => (tp(), tp(), any::<bool>()).prop_map(|(a, b, sum)| Above::Udp(a, b, sum)),
        1 => (tp(), tp()).prop_map(|(a, b)| Above::Sctp(a, b)),
        2 => (prop::sample::select(icmp), 0..2_u8).prop_map(|(kind, code)| Above::Icmp(kind, code)),
        1 => prop::sample::select(vec![47_u8, 89]).prop_map(Above::Other),
        1 => Just(Above::CutTcp),
        2 => neighbour.prop_map(move |it| if v6 { it } else { Above::Icmp(8, 0) }),
    ]
}

fn body() -> impl Strategy<Value = FrameBody> {
    let part = prop_oneof![8 => Just(FramePart::Whole), 1 => Just(FramePart::First), 1 => Just(FramePart::Later)];
    let ttl = || prop::sample::select(vec![1_u8, 2, 64, 255]);
    let v4 = (ipv4(), ipv4(), tos(), ttl(), any::<bool>(), part, above(false));
    let v4 = v4.prop_map(|(src, dst, tos, ttl, options, fragment, above)| {
        // Open vSwitch takes what a later fragment begins with for the header of its protocol, and
        // "corrects" a checksum there when an address changes.
        let above = if fragment == FramePart::Later { Above::Other(47) } else { above };
        FrameBody::Ipv4 { src, dst, tos, ttl, options, fragment, above }
    });
    let label = prop::sample::select(vec![0, 1, 0xf_ffff_u32]);
    let v6 = (ipv6(), ipv6(), tos(), label, ttl(), any::<bool>(), above(true));
    let v6 = v6.prop_map(|(src, dst, class, label, hops, hop_by_hop, above)| FrameBody::Ipv6 {
        src,
        dst,
        class,
        label,
        hops,
        hop_by_hop,
        above,
    });
    let arp = (prop::sample::select(vec![1_u16, 2, 256]), ipv4(), ipv4());
    prop_oneof![
        8 => v4,
        4 => v6,
        3 => arp.prop_map(|(op, spa, tpa)| FrameBody::Arp { op, spa, tpa }),
        1 => prop::sample::select(vec![0x88b5_u16, 0x88cc]).prop_map(FrameBody::Other),
        1 => Just(FrameBody::Llc),
        1 => prop::sample::select(vec![0x88b5_u16]).prop_map(FrameBody::Snap),
    ]
}

fn tags() -> impl Strategy<Value = Vec<(u16, u8, u16)>> {
    let tag = || (prop::sample::select(vec![0x8100, 0x8100, 0x88a8]), 0..3_u8, vid());
    prop_oneof![
        5 => Just(vec![]),
        4 => tag().prop_map(|tag| vec![tag]),
        1 => (tag(), tag()).prop_map(|(outer, inner)| vec![outer, inner]),
    ]
}

/// The timeouts of a flow, in seconds: idle, and hard. One of them at most: where both are over
/// when Open vSwitch looks, it says that it was the hard one.
pub(crate) fn timeouts() -> impl Strategy<Value = (u16, u16)> {
    let some = prop::sample::select(vec![1000_u16, 2000, 3000]);
    prop_oneof![
        6 => Just((0, 0)),
        1 => some.clone().prop_map(|idle| (idle, 0)),
        1 => some.prop_map(|hard| (0, hard)),
    ]
}

/// Time passes: no sum of these is within minutes of a timeout, so that it does not matter how long
/// a program takes.
pub(crate) fn wait() -> impl Strategy<Value = CertifyStep> {
    prop::sample::select(vec![700, 1400]).prop_map(CertifyStep::Wait)
}

/// What a port may do changes: whether it sends, and is flooded. A port that takes nothing in is
/// left out: Open vSwitch counts what came in by it at the flow that would have been next.
pub(crate) fn port_change(version: Version) -> impl Strategy<Value = CertifyStep> {
    let bits: Vec<u32> = settable(version).into_iter().filter(|bit| *bit != NO_RECV).collect();
    let all: u32 = bits.iter().sum();
    let config = prop::sample::select([bits, vec![0, all]].concat());
    (1..=super::ovs::PORTS, config).prop_map(move |(port, config)| CertifyStep::Port {
        port,
        config,
        mask: all,
    })
}

/// A frame, and the port that it comes in by.
pub(crate) fn frame() -> impl Strategy<Value = CertifyStep> {
    let frame = (mac_number(), 1..4_u8, tags(), body());
    let frame = frame.prop_map(|(dst, src, tags, body)| TestFrame { dst, src, tags, body });
    (1..=super::ovs::PORTS, frame).prop_map(|(port, frame)| CertifyStep::Frame(port, frame))
}
