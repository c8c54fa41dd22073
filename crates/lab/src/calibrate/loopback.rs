//! Connections over loopback TCP, set up as the engine's are, and a thread at the other end that
//! does as told.
//!
//! The other end is a thread on another core that spins for orders, so that what it sends comes
//! from that core's cache, as it does from a switch that runs on this machine. Where there is no
//! other core the orders are carried out by the caller's thread.

use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::net::sockopt;

use super::cores::{pin, spin_until};

/// Connections that take turns: a worker seldom reads from the one it read from last.
pub(super) const CONNECTIONS: usize = 16;

/// The most that is sent at once: what a visit reads.
pub(super) const BYTES_MAX: usize = aldis_engine::limits::READ_MAX;

/// Most events of one wait, as in a worker.
const EVENTS_MAX: usize = aldis_engine::limits::EVENTS_PER_POLL;

/// Asked for as a socket's buffers, in bytes, so that [`BYTES_MAX`] fit whole; the kernel may give
/// less.
const BUFFER: usize = 8 * BYTES_MAX;

/// The near ends of connections, in an edge-triggered set, and the thread at the far ends.
pub(super) struct Loopback {
    pub(super) near: Vec<TcpStream>,
    epoll: OwnedFd,
    far: Far,
}

/// The thread that carries out an order.
enum Far {
    /// A thread on another core.
    Thread {
        orders: Option<SyncSender<Order>>,
        done: Receiver<io::Result<()>>,
        thread: Option<JoinHandle<()>>,
    },
    /// The thread that gives it.
    Here(Hand),
}

/// What to do with `bytes` bytes on each of the first connections.
#[derive(Clone, Copy)]
struct Order {
    send: bool,
    connections: usize,
    bytes: usize,
}

impl Loopback {
    /// Makes the connections; the far ends are served on `core`, or by the caller where that is
    /// none.
    ///
    /// # Errors
    /// What the system refuses.
    pub(super) fn new(connections: usize, core: Option<usize>) -> io::Result<Loopback> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let (mut near, mut far) = (Vec::new(), Vec::new());
        let events = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        for token in 0..connections {
            let (one, other) = pair()?;
            one.set_nonblocking(true)?;
            epoll::add(&epoll, &one, EventData::new_u64(token as u64), events)?;
            near.push(one);
            far.push(other);
        }
        let hand = Hand::new(far)?;
        let far = match core {
            Some(core) => Far::on(core, hand),
            None => Far::Here(hand),
        };
        Ok(Loopback { near, epoll, far })
    }

    /// Has `bytes` bytes sent from the far end of each of the first `connections`.
    pub(super) fn send(&mut self, connections: usize, bytes: usize) -> io::Result<()> {
        self.far.act(Order { send: true, connections, bytes })
    }

    /// Has as many bytes received there.
    pub(super) fn drain(&mut self, connections: usize, bytes: usize) -> io::Result<()> {
        self.far.act(Order { send: false, connections, bytes })
    }

    /// One wait at the near ends that returns at once; how many events it found.
    #[inline]
    pub(super) fn poll(&self) -> io::Result<usize> {
        let mut room = [MaybeUninit::uninit(); EVENTS_MAX];
        let (events, _) = epoll::wait(&self.epoll, &mut room, Some(&Timespec::default()))?;
        Ok(events.len())
    }

    /// Reads what is still on its way to a near end.
    pub(super) fn read_rest(&self, connection: usize, mut bytes: usize) -> io::Result<()> {
        let mut room = [0; 4096];
        while bytes > 0 {
            let len = bytes.min(room.len());
            match (&self.near[connection]).read(&mut room[..len]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => bytes -= count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::yield_now(),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        // Whatever the thread waits for in a socket ends with the near ends, and the thread with
        // its orders.
        self.near.clear();
        if let Far::Thread { orders, thread, .. } = &mut self.far {
            *orders = None;
            let _ = thread.take().map(JoinHandle::join);
        }
    }
}

impl Far {
    fn on(core: usize, mut hand: Hand) -> Far {
        let (orders, todo) = sync_channel(1);
        let (said, done) = sync_channel(1);
        let thread = thread::spawn(move || {
            pin(Some(core));
            while let Some(order) = spin_receive(&todo) {
                if said.send(hand.act(order)).is_err() {
                    return;
                }
            }
        });
        Far::Thread { orders: Some(orders), done, thread: Some(thread) }
    }

    fn act(&mut self, order: Order) -> io::Result<()> {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        match self {
            Far::Here(hand) => hand.act(order),
            Far::Thread { orders, done, .. } => {
                let sent = orders.as_ref().map(|orders| orders.send(order));
                sent.ok_or_else(gone)?.map_err(|_| gone())?;
                spin_receive(done).unwrap_or_else(|| Err(gone()))
            }
        }
    }
}

/// The next value, without ever sleeping for it; `None` when none will come.
fn spin_receive<T>(from: &Receiver<T>) -> Option<T> {
    let mut received = None;
    spin_until(|| match from.try_recv() {
        Ok(value) => {
            received = Some(value);
            true
        }
        Err(TryRecvError::Empty) => false,
        Err(TryRecvError::Disconnected) => true,
    });
    received
}

/// The far ends.
struct Hand {
    streams: Vec<TcpStream>,
    buffer: Vec<u8>,
    // The sockets are watched as those of emulated switches are: telling the set is part of what a
    // send costs.
    _watched: OwnedFd,
}

impl Hand {
    fn new(streams: Vec<TcpStream>) -> io::Result<Hand> {
        let watched = epoll::create(CreateFlags::CLOEXEC)?;
        for stream in &streams {
            epoll::add(&watched, stream.as_fd(), EventData::new_u64(0), EventFlags::IN)?;
        }
        Ok(Hand { streams, buffer: vec![0x55; BYTES_MAX], _watched: watched })
    }

    fn act(&mut self, Order { send, connections, bytes }: Order) -> io::Result<()> {
        for mut stream in self.streams.iter().take(connections) {
            match send {
                true => stream.write_all(&self.buffer[..bytes])?,
                false => stream.read_exact(&mut self.buffer[..bytes])?,
            }
        }
        Ok(())
    }
}

/// Both ends of one connection, without delays for the sake of fuller segments.
pub(super) fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    sockopt::set_socket_recv_buffer_size(&listener, BUFFER)?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let (far, _) = listener.accept()?;
    for end in [&near, &far] {
        end.set_nodelay(true)?;
        sockopt::set_socket_send_buffer_size(end, BUFFER)?;
        sockopt::set_socket_recv_buffer_size(end, BUFFER)?;
    }
    Ok((near, far))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_end_sends_the_other_gets() {
        for core in [None, Some(0)] {
            let mut loopback = Loopback::new(2, core).unwrap();
            loopback.send(2, BYTES_MAX).unwrap();
            (0..2).for_each(|at| loopback.read_rest(at, BYTES_MAX).unwrap());
            (&loopback.near[0]).write_all(&[1; 300]).unwrap();
            loopback.drain(1, 300).unwrap();
        }
    }

    #[test]
    fn a_far_end_that_waits_in_a_socket_ends_too() {
        let loopback = Loopback::new(1, Some(0)).unwrap();
        let Far::Thread { orders: Some(orders), .. } = &loopback.far else { unreachable!() };
        orders.send(Order { send: false, connections: 1, bytes: 10 }).unwrap();
        drop(loopback);
    }
}
