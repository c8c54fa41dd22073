//! A network that its caller drives, step by step: a host sends a frame of the caller's choice,
//! time passes, and the frames that hosts received are looked at.
//!
//! ```text
//!   send ──▶ pass … pass ──▶ take_arrived ──▶ send …
//! ```
//!
//! It is the same network as that of a plan with a script; nothing in it moves but while one of
//! these calls runs. A controller that asks a switch something is answered then, so a caller that
//! asks the controller does so on another thread and lets time pass meanwhile.

use super::{NetworkRun, admit};
use crate::network::multi::StartBarrier;
use crate::network::script::ScriptAction;
use crate::network::wires::WireEnd;
use crate::network::{CheckFinding, NetworkFailure, NetworkMoment, NetworkPlan, ScriptStep};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A network that is connected and settled.
pub struct DrivenNetwork<'a> {
    run: NetworkRun<'a>,
}

/// Connects the network of a plan, lets it settle, and hands it to `act`; the switches disconnect
/// when that returns. Nothing of the plan's script happens by itself: its steps are checked against
/// the topology, and a host that one of them moves has a port to be moved to.
///
/// # Errors
/// See [`NetworkFailure`]; what `act` returns otherwise.
pub fn drive<T>(
    plan: &NetworkPlan,
    act: impl FnOnce(&mut DrivenNetwork<'_>) -> Result<T, NetworkFailure>,
) -> Result<T, NetworkFailure> {
    admit(std::slice::from_ref(plan))?;
    let stop = AtomicBool::new(false);
    let barrier = StartBarrier::of(1, &stop);
    let mut tell = |_: NetworkMoment<'_>| {};
    let mut run = NetworkRun::new(plan, &barrier, &mut tell)?;
    run.fabric.tick(Duration::ZERO, Duration::ZERO);
    run.connect()?;
    run.settle()?;
    run.fabric.take_arrived();
    act(&mut DrivenNetwork { run })
}

impl DrivenNetwork<'_> {
    /// How many hosts there are.
    pub fn hosts(&self) -> u32 {
        self.run.fabric.hosts()
    }

    /// A host, from 1, sends a frame: the bytes without the checksum of Ethernet, 14 to 1514.
    pub fn send(&mut self, host: u32, frame: &[u8]) {
        let now = self.run.now();
        self.run.fabric.wires.send(WireEnd::Host(host), frame, now);
    }

    /// Has something happen, or asks something: what was found out comes by
    /// [`DrivenNetwork::take_findings`].
    ///
    /// # Errors
    /// Why nothing happened, in a sentence.
    pub fn act(&mut self, action: ScriptAction) -> Result<(), String> {
        action.check(&self.run.plan.topology)?;
        let now = self.run.now();
        if action.is_fault() {
            self.run.checks.fault(action, now);
        }
        self.run.act_out(&ScriptStep { at: now, action }, now)
    }

    /// Lets so much time pass.
    ///
    /// # Errors
    /// The system refused something.
    pub fn pass(&mut self, time: Duration) -> Result<(), NetworkFailure> {
        let end = self.run.now() + time;
        loop {
            self.run.turn(end)?;
            if self.run.now() >= end {
                return Ok(());
            }
        }
    }

    /// Lets time pass until every ping and broadcast is answered or given up.
    ///
    /// # Errors
    /// The system refused something.
    pub fn finish_checks(&mut self) -> Result<(), NetworkFailure> {
        while !self.run.checks.is_done() {
            self.run.turn(self.run.now() + super::TICK)?;
        }
        Ok(())
    }

    /// What was found out since the last call.
    pub fn take_findings(&mut self) -> Vec<CheckFinding> {
        std::mem::take(&mut self.run.report.findings)
    }

    /// The frames that hosts received since the last call, with the number of the receiver: all
    /// that came in by its port, whatever their addresses, some ten thousand at most.
    pub fn take_arrived(&mut self) -> Vec<(u32, Vec<u8>)> {
        self.run.fabric.take_arrived()
    }

    /// How many connections ended behind their handshake.
    pub fn lost(&self) -> u64 {
        self.run.report.lost.0
    }
}
