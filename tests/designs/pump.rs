//! A switch that asks without a pause, and counts what it is answered.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use aldis_emulator::peer::{Peer, Unexpected, bare};
use aldis_wire::Version;
use aldis_wire::header::kind::{ECHO_REPLY, ECHO_REQUEST, PACKET_OUT};

use crate::stage::{Stage, TICK};
use crate::switch::{ask_for_nobody, join, xid_of};

/// Requests that it has outstanding at a time.
const WINDOW: u32 = 300;

/// A switch that has shaken hands.
pub(crate) struct Pump {
    peer: Peer,
    version: Version,
    pub(crate) number: u32,
    asked: u32,
    /// How often the application that counts seconds was heard.
    pub(crate) ticks: usize,
}

impl Pump {
    pub(crate) fn join(stage: &Stage, version: Version) -> Pump {
        let (peer, number) = join(stage, version);
        Pump { peer, version, number, asked: 0, ticks: 0 }
    }

    /// Asks so many, and takes the answers.
    ///
    /// # Errors
    /// The connection ended, or an answer did not come.
    pub(crate) fn ask(&mut self, requests: u32) -> Result<(), Unexpected> {
        let xids = self.asked..self.asked + requests;
        self.asked += requests;
        let mut bytes = Vec::new();
        ask_for_nobody(self.version, xids.clone(), &mut bytes);
        self.peer.send(&bytes)?;
        let mut open: HashSet<u32> = xids.collect();
        while !open.is_empty() {
            let message = self.peer.receive()?;
            match (message[1], xid_of(&message)) {
                (PACKET_OUT, xid) => assert!(open.remove(&xid), "answered twice: {xid}"),
                (ECHO_REQUEST, TICK) => self.ticks += 1,
                (ECHO_REQUEST, xid) => self.peer.send(&bare(self.version, ECHO_REPLY, xid))?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Lets so many switches ask while `meanwhile` goes on, each of them answered in full to the end.
pub(crate) fn while_others_ask<T>(
    stage: &Stage,
    version: Version,
    pumps: usize,
    meanwhile: impl FnOnce() -> T,
) -> T {
    let (stop, busy) = (AtomicBool::new(false), AtomicUsize::new(0));
    let pumps: Vec<_> = (0..pumps).map(|_| Pump::join(stage, version)).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = pumps
            .into_iter()
            .map(|mut pump| {
                let (stop, busy) = (&stop, &busy);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        pump.ask(WINDOW).unwrap_or_else(|why| panic!("{}: {why}", pump.number));
                        busy.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        // The others end with this scope, however `meanwhile` does.
        let stop = Stop(&stop);
        let result = meanwhile();
        while busy.load(Ordering::Relaxed) < threads.len()
            && !threads.iter().any(std::thread::ScopedJoinHandle::is_finished)
        {
            std::thread::yield_now();
        }
        drop(stop);
        threads.into_iter().for_each(|thread| thread.join().expect("everything is answered"));
        result
    })
}

struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
