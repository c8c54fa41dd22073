//! Switches that announce as many ports as they can, and have them flap.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use aldis_emulator::peer::bare;
use aldis_wire::msg::{Message, Port, PortChange, PortChangeReason, PortDetails, PortNo};
use aldis_wire::{FixedText, MacAddr, Version};

use super::{BARRIER_REPLY, BARRIER_REQUEST, Liar, Network, SOON, health, serving, when};

const VERSION: Version = Version::V13;

/// Switches, and ports that each announces.
const SWITCHES: u32 = 16;

/// See [`SWITCHES`].
const PORTS: u32 = 8192;

/// What they may take together: their budgets, and 64 MB.
const MEMORY_MAX: usize = (SWITCHES as usize * 16 + 64) * 1024 * 1024;

/// How long the link between two honest switches may take to be found, on a machine that is busy
/// with other tests: 0.1 s without the others.
const LINK_WITHIN: Duration = Duration::from_secs(10);

/// Announces a port, or says whether it has a link.
fn status(out: &mut Vec<u8>, reason: PortChangeReason, number: u32, link_down: bool) {
    let port = Port {
        number: PortNo(number),
        hw_addr: MacAddr::from_u64(0x0600_0000_0000 + u64::from(number)),
        name: FixedText::default(),
        admin_down: false,
        link_down,
        speed_kbps: 0,
        details: PortDetails::default(),
    };
    Message::PortChange(PortChange { reason, port }).encode(VERSION, 0, out).unwrap();
}

/// Announces all ports, and has them go down and come up, one after the other, until it is over;
/// then it leaves.
fn flap(liar: Liar, over: &AtomicBool) {
    let socket = liar.peer.socket().try_clone().unwrap();
    let mut speaker = aldis_emulator::peer::Peer::over(socket, super::WITHIN).unwrap();
    // Answers what it is asked, meanwhile.
    let answering = thread::spawn(move || {
        let mut liar = liar;
        while let Ok(request) = liar.peer.receive() {
            let xid = u32::from_be_bytes(request[4..8].try_into().unwrap());
            let said = match request[1] {
                BARRIER_REQUEST => liar.peer.send(&bare(VERSION, BARRIER_REPLY, xid)),
                2 => liar.peer.send(&bare(VERSION, 3, xid)),
                _ => Ok(()),
            };
            if said.is_err() {
                return;
            }
        }
    });
    let mut down = false;
    let mut reason = PortChangeReason::Added;
    while !over.load(Ordering::Relaxed) {
        for first in (1..=PORTS).step_by(256) {
            let mut bytes = vec![];
            (first..first + 256).for_each(|number| status(&mut bytes, reason, number, down));
            if speaker.send(&bytes).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        (down, reason) = (!down, PortChangeReason::Modified);
    }
    let _ = speaker.socket().shutdown(std::net::Shutdown::Both);
    let _ = answering.join();
}

#[test]
fn ports_that_flap_delay_no_link_of_others_and_their_memory_is_given_back() {
    let (mut controller, api) = serving(&[]);
    let before = controller.memory();
    let over = Arc::new(AtomicBool::new(false));
    let flapping: Vec<_> = (0..SWITCHES)
        .map(|number| {
            let (liar, over) = (Liar::join(&controller, 100 + number, 3), Arc::clone(&over));
            thread::spawn(move || flap(liar, &over))
        })
        .collect();
    controller.says("has more ports than the 16777216 bytes that are kept of it have room for");
    let honest = Network::start(&controller, VERSION, "linear,2", &[]);
    let began = Instant::now();
    when(&api, "/api/v1/links?state=up", |page| page["total"] == 1);
    let took = began.elapsed();
    assert!(took < LINK_WITHIN, "the link was found after {took:?}");
    let waited = health(&api);
    assert!(waited < SOON, "others waited for {waited:?}");
    let most = controller.memory();
    assert!(most < before + MEMORY_MAX, "{before} bytes before, {most} at the most");
    let switch = api.get("/api/v1/switches/100").json();
    assert!(switch["kept"]["refused"].as_u64() > Some(0), "{switch}");
    over.store(true, Ordering::Relaxed);
    flapping.into_iter().for_each(|thread| thread.join().unwrap());
    drop(honest);
    when(&api, "/api/v1/switches", |page| page["total"] == 0);
    let deadline = Instant::now() + Duration::from_secs(80);
    while controller.memory() > before + 96 * 1024 * 1024 {
        assert!(Instant::now() < deadline, "{before} bytes before, {} after", controller.memory());
        thread::sleep(Duration::from_millis(200));
    }
}
