//! What a session says, carried to those it concerns: the registry, the applications, and whoever
//! watches.

use std::mem;
use std::sync::Arc;

use aldis_control::fact::Fact;
use aldis_control::session::{Admission, Close, Session, Step};
use aldis_control::{Event, On, Time};

use super::phases::{Phases, must_queue};
use crate::conn::{Conn, State};
use crate::messages::Signal;
use crate::net::Net;
use crate::write::Write;

impl<N: Net, W: Write> Phases<N, W> {
    /// Tells the applications what happened at a switch, and writes what they say to it; what they
    /// say to others is written with the next batch. Between two batches. Returns whether the
    /// connection has to be queued; nothing where it is not this worker's turn: it is to be told
    /// again.
    #[must_use]
    pub(crate) fn tell(
        &mut self,
        net: &mut N,
        conn: &Conn<N::Socket>,
        event: &Event,
    ) -> Option<bool> {
        if conn.switch_lock().is_some_and(|lock| !lock.try_lock()) {
            return None;
        }
        self.event(conn, event);
        // Where nothing was said, nobody has to look after the connection, though it may be one
        // that does not read.
        let flushed = match self.output.bytes() {
            [] => None,
            bytes => Some(W::flush(net, conn, self.now, bytes, None)),
        };
        self.output.clear();
        if let Some(turn) = conn.switch_lock() {
            self.signal_unlocked(turn.unlock());
        }
        Some(flushed.is_some_and(|flushed| must_queue(conn, flushed)))
    }

    /// The connection ends: everyone who should know is told. Between two batches.
    pub(crate) fn close(&mut self, conn: &Conn<N::Socket>, why: Close) {
        if why == Close::NotReading {
            self.stats.evictions.add(1);
            conn.dpid().into_iter().for_each(|dpid| self.registry.evicted(dpid));
        }
        conn.set_gone();
        conn.open_commands.close(&why);
        let Some(dpid) = conn.dpid() else {
            return self.facts.tell(Fact::NeverJoined { peer: conn.peer, why });
        };
        self.switches.leave(dpid, conn);
        let main = conn.main_of().is_some();
        if main {
            self.event(conn, &Event::Down);
            self.output.clear();
        }
        self.signals.extend(self.registry.gone(dpid, conn.id));
        self.facts.tell(Fact::Down { dpid, peer: conn.peer, why, main });
    }

    /// Greets a new connection.
    ///
    /// # Errors
    /// The connection has to end.
    pub(crate) fn greet(
        &mut self,
        net: &mut N,
        conn: &Conn<N::Socket>,
        hello: &[u8],
    ) -> Result<(), Close> {
        W::flush(net, conn, self.now, hello, None)
    }

    #[cold]
    pub(super) fn receive_signals(
        &mut self,
        conn: &Arc<Conn<N::Socket>>,
        state: &mut State,
    ) -> Result<(), Close> {
        for call in conn.take_signals() {
            let admission = match call {
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
                // It is tried again by every visit.
                Signal::SwitchUnlocked => continue,
                Signal::Refuse(refusal) => Admission::Refused(refusal),
            };
            self.session(conn, state, |session, now, out| session.admit(now, admission, out))?;
        }
        Ok(())
    }

    /// Lets the session do something outside of its messages: a timer, an admission, a probe.
    pub(super) fn session(
        &mut self,
        conn: &Arc<Conn<N::Socket>>,
        state: &mut State,
        act: impl FnOnce(&mut Session, Time, &mut Vec<u8>) -> Result<Step, Close>,
    ) -> Result<(), Close> {
        let step = self.output.append_with(|out| act(&mut state.session, self.now, out));
        let advanced = step.and_then(|step| self.advance(conn, state, step));
        self.seal();
        advanced
    }

    /// What came of the session, carried to those it concerns.
    pub(super) fn advance(
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
            Step::Up(info) => {
                self.join(conn, info);
                self.tell_up(conn, false);
                self.event(conn, &Event::Up);
                catch_up(state);
            }
            Step::AuxiliaryUp { dpid, .. } => {
                self.switches.enter_auxiliary(dpid, conn);
                self.tell_up(conn, true);
                catch_up(state);
            }
            Step::Event(Event::Reply { xid, message }) => {
                self.deliver_reply(conn, xid, Event::Reply { xid, message });
            }
            Step::Event(event) => {
                if let Event::Port(change) = &event {
                    conn.change_port(change);
                    let change = Box::new(*change);
                    let dpid = conn.dpid().into_iter();
                    dpid.for_each(|dpid| {
                        self.facts.tell(Fact::Port { dpid, change: change.clone() })
                    });
                }
                self.event(conn, &event);
            }
            Step::SwitchError(error) => {
                if self.pipeline.starts_on(On::Error) {
                    self.deliver_reply(conn, error.xid, Event::Error(error.clone()));
                }
                if let Some(dpid) = conn.dpid() {
                    self.facts.tell(Fact::Refused { dpid, error });
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

    pub(super) fn tell_up(&self, conn: &Conn<N::Socket>, auxiliary: bool) {
        if let Some(switch) = conn.switch() {
            self.facts.tell(Fact::Up {
                dpid: switch.info.dpid,
                peer: conn.peer,
                version: switch.info.version,
                ports: switch.info.ports.len(),
                auxiliary,
            });
        }
    }
}

/// What was asked while the handshake went on is served before what came after.
fn catch_up(state: &mut State) {
    let early = mem::take(&mut state.early);
    if !early.is_empty() {
        state.keep_carry(&early);
        state.whole = true;
    }
}
