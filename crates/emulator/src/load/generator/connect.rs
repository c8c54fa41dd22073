//! The first phase: every switch of a thread connects and shakes hands.

use super::super::failure::LoadFailure;
use super::super::phase::PhaseStep;
use super::super::slow_readers::{RECEIVE_BUFFER, SEND_BUFFER};
use super::super::switch::{LoadStage, LoadSwitch};
use super::{CHECK, Generator, PAUSE};
use crate::poll::Interest;
use crate::stream;
use crate::wire::SwitchWire;
use rustix::io::Errno;
use rustix::net::sockopt;
use std::net::TcpStream;
use std::time::Instant;

impl Generator<'_> {
    /// Connects all switches, a group after another, and serves them until their handshakes are
    /// over.
    pub(super) fn connect(&mut self) -> Result<(), LoadFailure> {
        let mut reported = 0;
        let mut deadline = Instant::now();
        // Groups are cut from all switches, whichever thread they belong to.
        let numbers = std::mem::take(&mut self.numbers);
        let connect_group = self.load.connect_group;
        let group = |number: u32| (number - 1) / connect_group;
        for group in numbers.chunk_by(|&a, &b| group(a) == group(b)) {
            for &number in group {
                self.open(number)?;
            }
            deadline = Instant::now() + self.load.connect_pause;
            while Instant::now() < deadline && !self.phases.is_stopped() {
                self.turn(PAUSE)?;
            }
            self.report_connected(&mut reported);
        }
        deadline += self.load.handshake_deadline;
        while reported < self.switches.len() && !self.phases.is_stopped() {
            if self.turn(CHECK)? > deadline {
                return Err(self.late());
            }
            self.report_connected(&mut reported);
        }
        Ok(())
    }

    fn open(&mut self, number: u32) -> Result<(), LoadFailure> {
        let (controller, dpid) = (self.load.controller, self.load.dpid(number));
        let refused =
            |error: Errno| LoadFailure::Connect { switch: dpid, controller, error: error.into() };
        let socket = stream::socket(controller, self.load.switches_in_all()).map_err(refused)?;
        let role = self.load.role(number);
        if role.straggles() {
            sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER).map_err(refused)?;
            sockopt::set_socket_send_buffer_size(&socket, SEND_BUFFER).map_err(refused)?;
        }
        match rustix::net::connect(&socket, &controller) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(refused(error)),
        }
        let wire = SwitchWire::new(TcpStream::from(socket), self.load.secure.as_ref(), dpid)?;
        let key = self.switches.len() as u64;
        self.poll.add(&wire, key, Interest::Both)?;
        self.switches.push(LoadSwitch::new(
            self.load,
            self.rounds.of(self.load, number),
            number,
            key,
            wire,
        ));
        Ok(())
    }

    fn report_connected(&self, reported: &mut usize) {
        let connecting = |switch: &&LoadSwitch| {
            matches!(switch.stage(), LoadStage::Connecting | LoadStage::ShakingHands)
        };
        let ready = self.switches.len() - self.switches.iter().filter(connecting).count();
        self.phases.arrive(PhaseStep::Connected, (ready - *reported) as u32);
        *reported = ready;
    }

    fn late(&self) -> LoadFailure {
        let late = self.switches.iter().find(|switch| {
            matches!(switch.stage(), LoadStage::Connecting | LoadStage::ShakingHands)
        });
        let (switch, awaits) = late.map_or((0, "nothing"), |late| (late.dpid(), late.awaits()));
        LoadFailure::Handshake { switch, awaits, after: self.load.handshake_deadline }
    }
}
