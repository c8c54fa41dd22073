//! Session events: what a session says, carried to the registry, the applications and the event
//! sink.

use std::sync::Arc;

use aldis_control::controller_event::ControllerEvent;
use aldis_control::session::{Admission, Close, Session, Step};
use aldis_control::{Event, EventKind, Time};
use aldis_wire::msg::PortChange;

use super::Worker;
use super::write::must_queue;
use crate::conn::{Conn, State};
use crate::messages::Signal;
use crate::net::Net;
use crate::read::Read;

impl<N: Net, R: Read<N::Socket>> Worker<N, R> {
    /// Runs the applications over an event of a switch, and writes what they send to it. What they
    /// send to others is written with the next batch. Between two batches. Returns whether the
    /// connection has to be queued; nothing where another worker holds the switch lock, and the
    /// event has to be told again.
    #[must_use]
    pub(super) fn tell(&mut self, conn: &Arc<Conn<N::Socket>>, event: &Event) -> Option<bool> {
        self.tell_by(conn, |worker| {
            if worker.tap.is_on() {
                worker.enter_world();
                worker.tap.told(worker.now, conn.id, matches!(event, Event::Second));
            }
            worker.event(conn, event);
        })
    }

    /// The same for what `tell` has the applications run over.
    #[must_use]
    pub(super) fn tell_by(
        &mut self,
        conn: &Arc<Conn<N::Socket>>,
        tell: impl FnOnce(&mut Self),
    ) -> Option<bool> {
        if conn.switch_lock().is_some_and(|lock| !lock.try_lock()) {
            return None;
        }
        tell(self);
        // Where nothing was sent, the connection is not queued, though it may be one that does not
        // read.
        let flushed = match self.output.bytes() {
            [] => None,
            bytes => {
                self.tap.wrote(self.now, conn.id, bytes);
                Some(self.write.flush(&mut self.net, conn, self.now, bytes, None))
            }
        };
        self.output.clear();
        if let Some(lock) = conn.switch_lock() {
            self.signal_unlocked(lock.unlock());
        }
        Some(flushed.is_some_and(|flushed| must_queue(conn, flushed)))
    }

    /// The connection ends: tells the registry, the applications and the event sink. Between two
    /// batches.
    pub(super) fn close(&mut self, conn: &Conn<N::Socket>, why: Close) {
        if why == Close::NotReading {
            self.stats.evictions.add(1);
            conn.dpid().into_iter().for_each(|dpid| self.registry.evicted(dpid));
        }
        self.lock_apps();
        conn.set_gone();
        if self.tap.is_on() {
            // What another worker has just written to it stands before.
            self.now = self.net.now();
            self.enter_world();
            self.tap.closed(self.now, conn.id);
        }
        conn.open_commands.close(&why);
        let Some(dpid) = conn.dpid() else {
            return self.event_sink.emit(ControllerEvent::NeverJoined { peer: conn.peer, why });
        };
        self.shared.switches.leave(dpid, conn);
        let main = conn.main_of().is_some();
        if main {
            self.event(conn, &Event::Down);
            self.output.clear();
        } else if let Some(held) = conn.held() {
            self.enter_world();
            let Worker { pipeline, world, output, now, .. } = self;
            pipeline.gone_while_held(*now, world, &held.member.switch, output);
            self.output.clear();
        }
        self.signals.extend(self.registry.gone(dpid, conn.id));
        self.event_sink.emit(ControllerEvent::Down { dpid, peer: conn.peer, why, main });
    }

    /// Receives the signals that were sent to a connection.
    #[cold]
    pub(super) fn receive_signals(
        &mut self,
        conn: &Arc<Conn<N::Socket>>,
        state: &mut State,
    ) -> Result<(), Close> {
        for signal in conn.take_signals() {
            let admission = match signal {
                Signal::Close(why) => return Err(why),
                Signal::Move(home) => {
                    state.moving_to = Some(home);
                    continue;
                }
                Signal::Probe => {
                    self.session(conn, state, |session, now, out| {
                        session.probe(now, out);
                        Ok(Step::Nothing)
                    })?;
                    continue;
                }
                Signal::AdmitMain => Admission::Main,
                Signal::AdmitAuxiliary(member) => {
                    conn.join(member, true, self.now);
                    Admission::Auxiliary
                }
                // Every visit tries again.
                Signal::SwitchUnlocked => continue,
                Signal::Released => {
                    self.session(conn, state, |session, now, _| Ok(session.served(now)))?;
                    continue;
                }
                Signal::Refuse(refusal) => Admission::Refused(refusal),
            };
            self.session(conn, state, |session, now, out| session.admit(now, admission, out))?;
        }
        Ok(())
    }

    /// Advances the session: by a message, a timer, an admission or a probe.
    pub(super) fn session(
        &mut self,
        conn: &Arc<Conn<N::Socket>>,
        state: &mut State,
        act: impl FnOnce(&mut Session, Time, &mut Vec<u8>) -> Result<Step, Close>,
    ) -> Result<(), Close> {
        let step = self.output.append_with(|out| act(&mut state.session, self.now, out));
        let advanced = step.and_then(|step| self.advance(conn, state, step));
        self.add_session_spans();
        advanced
    }

    /// Carries the session's step on.
    fn advance(
        &mut self,
        conn: &Arc<Conn<N::Socket>>,
        state: &mut State,
        step: Step,
    ) -> Result<(), Close> {
        match step {
            Step::Nothing | Step::Reply { .. } => {}
            Step::Identified { dpid, auxiliary_id } => {
                let proves = N::vouches(&conn.socket, dpid).map_err(Close::Insecure)?;
                conn.identify(dpid);
                let signals = self.registry.identified(dpid, auxiliary_id, conn.id, proves);
                self.signals.extend(signals);
            }
            Step::Up(info) => match self.join(conn, info) {
                true => state.session.hold(self.now),
                false => self.serve(conn, state),
            },
            Step::Served { changes, late } => {
                self.serve_held(conn, state, late)?;
                changes.iter().for_each(|change| self.change_port(conn, *change));
            }
            Step::AuxiliaryUp { dpid, .. } => {
                self.lock_apps();
                self.shared.switches.enter_auxiliary(dpid, conn);
                self.report_up(conn, true);
                state.catch_up();
            }
            Step::Event(Event::Port(change)) => self.change_port(conn, change),
            Step::Event(Event::Reply { xid, message }) => {
                self.deliver_reply(conn, xid, Event::Reply { xid, message });
            }
            Step::Event(event) => self.event(conn, &event),
            Step::SwitchError(error) => {
                if self.pipeline.starts_on(EventKind::Error) {
                    self.deliver_reply(conn, error.xid, Event::Error(error.clone()));
                }
                if let Some(dpid) = conn.dpid() {
                    self.event_sink.emit(ControllerEvent::Refused { dpid, error });
                }
            }
            Step::ProbeAnswered => {
                let refused = conn.dpid().and_then(|dpid| self.registry.answered(dpid, conn.id));
                self.signals.extend(refused);
            }
            Step::ProbeUnanswered => {
                let awaited = |dpid| self.registry.is_awaited(dpid, conn.id);
                if conn.dpid().is_some_and(awaited) {
                    return Err(Close::Superseded);
                }
            }
        }
        Ok(())
    }

    /// The switch joined: the applications are told that it is up, and its requests are served.
    fn serve(&mut self, conn: &Conn<N::Socket>, state: &mut State) {
        self.report_up(conn, false);
        self.event(conn, &Event::Up);
        state.catch_up();
    }

    /// The same for one that applications held back. Where it is `late` for some, the log says so.
    ///
    /// # Errors
    /// Applications were started since it joined: it joins anew, so that they see it too.
    fn serve_held(
        &mut self,
        conn: &Arc<Conn<N::Socket>>,
        state: &mut State,
        late: bool,
    ) -> Result<(), Close> {
        let Some(held) = conn.held() else { return Ok(()) };
        let member = held.member.clone();
        if !self.pipeline.has_slots_on(&member.switch) {
            return Err(Close::JoinedBefore);
        }
        if late {
            let within = self.shared.session.joining_within.as_secs_f64();
            let (dpid, names) = (member.switch.info.dpid, self.pipeline.names(&held.holders()));
            let words = format!(
                "switch {dpid} is served now: {names} held it back for {within} s, as long as may be"
            );
            self.event_sink.emit(ControllerEvent::Noted { words, warns: true });
        }
        self.lock_apps();
        self.enter(conn, member);
        self.serve(conn, state);
        Ok(())
    }

    /// A port of the switch changed.
    fn change_port(&mut self, conn: &Conn<N::Socket>, change: PortChange) {
        conn.change_port(&change);
        if let Some(dpid) = conn.dpid() {
            self.event_sink.emit(ControllerEvent::Port { dpid, change: Box::new(change) });
        }
        self.event(conn, &Event::Port(change));
    }

    fn report_up(&self, conn: &Conn<N::Socket>, auxiliary: bool) {
        if let Some(switch) = conn.switch() {
            self.event_sink.emit(ControllerEvent::Up {
                dpid: switch.info.dpid,
                peer: conn.peer,
                version: switch.info.version,
                ports: switch.info.ports.len(),
                auxiliary,
            });
        }
    }
}
