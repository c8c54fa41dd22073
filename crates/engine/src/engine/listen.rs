//! The acceptor: accepts connections, and deals them to the workers in turn.
//!
//! A switch says HELLO as soon as it is connected. A connection that says nothing is kept for a
//! moment before a worker has it, and so before our HELLO is sent: it may be Mininet's, which asks
//! by telnet whether a controller listens and closes. HELLO has a byte of one in it, and Mininet
//! waits for ever for the number of a process behind such a byte, where telnet still shows it.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use aldis_control::controller_event::{ControllerEvent, EventSink};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt;

use crate::limits::{
    BACKLOG, RECEIVE_BUFFER, RECEIVE_BUFFER_MIN, RECEIVE_BUFFER_OF_MANY, RECEIVE_BUFFERS,
    SEND_BUFFER,
};
use crate::messages::WorkerMessage;
use crate::net::epoll::{Epoll, Stream};
use crate::net::tls::Identity;
use crate::shared::Shared;

/// How long the acceptor looks away when the kernel cannot give it a connection it has (no
/// descriptor, no memory).
const PAUSE: Duration = Duration::from_millis(50);

/// How long the acceptor may take to notice that the engine stops.
const NOTICE_STOP: Duration = Duration::from_millis(200);

/// How long a connection may say nothing before a worker has it all the same. Mininet's telnet is
/// gone within 4 ms, or 140 on a machine that is busy.
const SPEAKS_WITHIN: Duration = Duration::from_millis(200);

/// Connections that are waited for so. Of more, the one that has waited longest is dealt at once.
const SILENT_MAX: usize = 16;

/// Listens on `addr`, with a backlog for thousands of switches that connect at once.
///
/// # Errors
/// What the kernel says: the port is taken, the address is not ours, or we may not.
pub(crate) fn listen(addr: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(addr)?;
    // Connections inherit them.
    sockopt::set_socket_send_buffer_size(&listener, SEND_BUFFER)?;
    sockopt::set_socket_recv_buffer_size(&listener, RECEIVE_BUFFER)?;
    rustix::net::listen(&listener, BACKLOG)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The acceptor.
pub(crate) struct Acceptor {
    /// The listeners, with an identity where they speak TLS.
    pub(crate) listeners: Vec<(TcpListener, Option<Identity>)>,
    pub(crate) shared: Arc<Shared<Epoll>>,
    pub(crate) connections_max: usize,
    /// Bytes that the kernel may hold of what all switches sent.
    pub(crate) received_max: usize,
    pub(crate) event_sink: Arc<dyn EventSink>,
    pub(crate) stop: Arc<AtomicBool>,
}

impl Acceptor {
    /// Accepts until the engine stops.
    pub(crate) fn run(self) {
        let mut next = 0;
        let mut silent = VecDeque::with_capacity(SILENT_MAX);
        while !self.stop.load(Ordering::Relaxed) {
            let Some(ready) = self.wait(&silent) else { continue };
            let (listeners, spoke) = ready.split_at(self.listeners.len());
            let now = Instant::now();
            for spoke in spoke {
                let Some(one) = silent.pop_front() else { break };
                match *spoke || one.until <= now {
                    true => self.deal(one.socket, None, one.peer, &mut next),
                    false => silent.push_back(one),
                }
            }
            let ready = self.listeners.iter().zip(listeners).filter(|(_, ready)| **ready);
            for ((listener, identity), _) in ready {
                self.drain(listener, identity.as_ref(), &mut silent, &mut next);
            }
        }
    }

    /// Waits until a connection comes, or one of these speaks or has waited for long enough; which
    /// of the listeners and then of these are ready.
    fn wait(&self, silent: &VecDeque<SilentConnection>) -> Option<Vec<bool>> {
        let listeners = self.listeners.iter().map(|(listener, _)| listener.as_fd());
        let sockets = listeners.chain(silent.iter().map(|one| one.socket.as_fd()));
        let mut fds: Vec<PollFd<'_>> =
            sockets.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let until = silent.front().map(|one| one.until.saturating_duration_since(Instant::now()));
        let within =
            Timespec::try_from(until.map_or(NOTICE_STOP, |it| it.min(NOTICE_STOP))).ok()?;
        poll(&mut fds, Some(&within)).ok()?;
        Some(fds.iter().map(|fd| !fd.revents().is_empty()).collect())
    }

    fn drain(
        &self,
        listener: &TcpListener,
        identity: Option<&Identity>,
        silent: &mut VecDeque<SilentConnection>,
        next: &mut usize,
    ) {
        loop {
            match listener.accept() {
                // Over TLS the switch speaks first in any case.
                Ok((socket, peer)) if identity.is_some() => {
                    self.deal(socket, identity, peer, next);
                }
                Ok((socket, peer)) => {
                    if silent.len() == SILENT_MAX
                        && let Some(first) = silent.pop_front()
                    {
                        self.deal(first.socket, None, first.peer, next);
                    }
                    let until = Instant::now() + SPEAKS_WITHIN;
                    silent.push_back(SilentConnection { socket, peer, until });
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The peer gave up while it waited: its own affair.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return std::thread::sleep(PAUSE),
            }
        }
    }

    fn deal(
        &self,
        socket: TcpStream,
        identity: Option<&Identity>,
        peer: SocketAddr,
        next: &mut usize,
    ) {
        let connections = self.shared.connections.load(Ordering::Relaxed);
        let ready = socket.set_nonblocking(true).and_then(|()| socket.set_nodelay(true));
        bound(&socket, connections, self.received_max);
        let Ok(stream) = speak(socket, identity) else {
            return self.event_sink.emit(ControllerEvent::NoRoom { peer, connections });
        };
        let mut note = WorkerMessage::Adopt(stream, peer);
        if ready.is_ok() && connections < self.connections_max {
            self.shared.connections.fetch_add(1, Ordering::Relaxed);
            for _ in 0..self.shared.readers {
                *next = (*next + 1) % self.shared.readers;
                match self.shared.inboxes[*next].post(note) {
                    Ok(()) => return,
                    Err(back) => note = back,
                }
            }
            self.shared.connections.fetch_sub(1, Ordering::Relaxed);
        }
        self.event_sink.emit(ControllerEvent::NoRoom { peer, connections });
    }
}

/// A connection without TLS that has said nothing yet.
struct SilentConnection {
    socket: TcpStream,
    peer: SocketAddr,
    /// When a worker has it all the same.
    until: Instant,
}

/// Bounds what the kernel holds of a switch that is one of so many, which together have so many
/// bytes.
fn bound(socket: &TcpStream, connections: usize, received_max: usize) {
    if connections >= RECEIVE_BUFFERS {
        let share = received_max / connections;
        // Where it fails the buffer is larger, and nothing else.
        let _ = sockopt::set_socket_recv_buffer_size(
            socket,
            share.clamp(RECEIVE_BUFFER_MIN, RECEIVE_BUFFER_OF_MANY),
        );
    }
}

/// With TLS where we have an identity.
fn speak(socket: TcpStream, identity: Option<&Identity>) -> Result<Stream, rustls::Error> {
    match identity {
        None => Ok(Stream::Plain(socket)),
        Some(identity) => Ok(Stream::Tls(Box::new(identity.accept(socket)?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::RECEIVE_BUFFER_OF_ALL;

    #[test]
    fn the_kernel_holds_less_of_each_where_there_are_many() {
        let listener = listen(([127, 0, 0, 1], 0).into()).unwrap();
        let _switch = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let socket = std::iter::repeat_with(|| listener.accept()).find_map(Result::ok).unwrap().0;
        let held = || sockopt::socket_recv_buffer_size(&socket).unwrap();
        let alone = held();
        bound(&socket, RECEIVE_BUFFERS - 1, RECEIVE_BUFFER_OF_ALL);
        assert_eq!(held(), alone);
        bound(&socket, RECEIVE_BUFFERS, RECEIVE_BUFFER_OF_ALL);
        // The kernel counts twice as many.
        assert_eq!(held(), alone.min(2 * RECEIVE_BUFFER_OF_MANY));
        bound(&socket, usize::MAX, RECEIVE_BUFFER_OF_ALL);
        assert_eq!(held(), 2 * RECEIVE_BUFFER_MIN);
    }
}
