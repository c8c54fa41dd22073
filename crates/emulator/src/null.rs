//! The null controller: the least that a controller can do, and so the limit of this machine.
//!
//! It looks at nothing but the header and the buffer id. Every PACKET_IN is answered with a canned
//! FLOW_MOD, and with a PACKET_OUT that carries the frame where the switch kept no copy;
//! ECHO_REQUESTs are returned. Each thread is a loop over its own switches with one receive and one
//! send buffer; a switch that stops reading is not read from until it does.

mod canned;

use crate::descriptors;
use crate::poll::{Interest, Poll, Waker};
use crate::stream::{self, ReceiveBuffer, Tail};
use aldis_wire::Chop;
use rustix::net::sockopt;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Most bytes one visit reads from a switch.
const READ_MAX: usize = 64 * 1024;

/// Connections that may wait to be accepted: 5,000 switches that come at once are to find room.
const BACKLOG: i32 = 8192;

/// Descriptors asked of the system: as many switches as a load may have, and some spare.
const DESCRIPTORS: u64 = crate::load::SWITCHES_MAX as u64 + 100;

const LISTENER: u64 = 0;
const WAKER: u64 = 1;
const FIRST_SWITCH: u64 = 2;

/// A running null controller; it stops when dropped.
pub struct NullController {
    address: SocketAddr,
    posts: Arc<[NullInbox]>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl NullController {
    /// Listens on `address` (port 0: any free one) and serves with `threads` threads, one at least;
    /// the first of them accepts and deals the switches out in turn.
    ///
    /// # Errors
    /// The address is taken or not ours, or the system has no descriptors or threads left.
    pub fn start(address: SocketAddr, threads: usize) -> io::Result<NullController> {
        descriptors::allow(DESCRIPTORS)?;
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        rustix::net::listen(&listener, BACKLOG)?;
        let address = listener.local_addr()?;
        let posts = (0..threads.max(1))
            .map(|_| NullInbox::new())
            .collect::<io::Result<Arc<[NullInbox]>>>()?;
        let mut running = NullController { address, posts, threads: Vec::new() };
        let mut listener = Some(listener);
        for index in 0..running.posts.len() {
            let (posts, listener) = (Arc::clone(&running.posts), listener.take());
            let thread = std::thread::Builder::new().name(format!("null-{index}"));
            let thread = thread.spawn(move || NullWorker::new(posts, index, listener)?.run())?;
            running.threads.push(thread);
        }
        Ok(running)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until it ends, which it does by itself only when something breaks.
    ///
    /// # Errors
    /// What broke: the poll, or accepting.
    pub fn wait(mut self) -> io::Result<()> {
        for thread in self.threads.drain(..) {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(())
    }
}

impl Drop for NullController {
    fn drop(&mut self) {
        for post in self.posts.iter() {
            post.stop.store(true, Ordering::Relaxed);
            post.waker.wake();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// What other threads leave for a worker.
struct NullInbox {
    /// Switches accepted for it; as many as the accepting thread could accept before it looks.
    arrived: Mutex<Vec<TcpStream>>,
    stop: AtomicBool,
    waker: Waker,
}

impl NullInbox {
    fn new() -> io::Result<NullInbox> {
        let arrived = Mutex::default();
        Ok(NullInbox { arrived, stop: AtomicBool::new(false), waker: Waker::new()? })
    }

    fn deliver(&self, socket: TcpStream) {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
        self.waker.wake();
    }

    fn collect(&self) -> Vec<TcpStream> {
        self.waker.clear();
        std::mem::take(&mut *self.arrived.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct NullWorker {
    posts: Arc<[NullInbox]>,
    index: usize,
    listener: Option<TcpListener>,
    next_post: usize,
    poll: Poll,
    switches: Vec<Option<NullSwitch>>,
    vacant: Vec<usize>,
    inbox: ReceiveBuffer,
    outbox: Vec<u8>,
}

struct NullSwitch {
    socket: TcpStream,
    tail: Tail,
    /// What the socket did not take; while there is any, nothing more is read.
    unsent: Vec<u8>,
}

impl NullWorker {
    fn new(
        posts: Arc<[NullInbox]>,
        index: usize,
        listener: Option<TcpListener>,
    ) -> io::Result<NullWorker> {
        let poll = Poll::new()?;
        poll.add(&posts[index].waker, WAKER, Interest::Read)?;
        if let Some(listener) = &listener {
            poll.add(listener, LISTENER, Interest::Read)?;
        }
        Ok(NullWorker {
            posts,
            index,
            listener,
            next_post: 0,
            poll,
            switches: Vec::new(),
            vacant: Vec::new(),
            inbox: ReceiveBuffer::new(READ_MAX),
            outbox: Vec::with_capacity(4 * READ_MAX),
        })
    }

    fn run(mut self) -> io::Result<()> {
        while !self.posts[self.index].stop.load(Ordering::Relaxed) {
            for index in 0..self.poll.wait(None)? {
                let ready = self.poll.ready(index);
                match ready.key {
                    LISTENER => self.accept()?,
                    WAKER => self.welcome(),
                    key => self.visit((key - FIRST_SWITCH) as usize, ready.writable),
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        let Some(listener) = &self.listener else { return Ok(()) };
        loop {
            match listener.accept() {
                Ok((socket, _)) => {
                    self.posts[self.next_post].deliver(socket);
                    self.next_post = (self.next_post + 1) % self.posts.len();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if gone_already(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn welcome(&mut self) {
        for socket in self.posts[self.index].collect() {
            // A switch that is gone before its greeting is one that never came.
            let _ = self.admit(socket);
        }
    }

    fn admit(&mut self, socket: TcpStream) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        stream::write(&socket, &canned::HELLO)?;
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.switches.push(None);
            self.switches.len() - 1
        });
        self.poll.add(&socket, slot as u64 + FIRST_SWITCH, Interest::Read)?;
        self.switches[slot] =
            Some(NullSwitch { socket, tail: Tail::default(), unsent: Vec::new() });
        Ok(())
    }

    /// Serves one switch once; an error, whatever it is, ends that switch alone.
    fn visit(&mut self, slot: usize, writable: bool) {
        let Some(switch) = &mut self.switches[slot] else { return };
        let key = slot as u64 + FIRST_SWITCH;
        let served = match writable {
            true => switch.flush(&self.poll, key),
            false => switch.serve(&self.poll, key, &mut self.inbox, &mut self.outbox),
        };
        if served.is_err() {
            self.switches[slot] = None;
            self.vacant.push(slot);
        }
    }
}

impl NullSwitch {
    /// One read, all its answers, one write.
    #[inline]
    fn serve(
        &mut self,
        poll: &Poll,
        key: u64,
        inbox: &mut ReceiveBuffer,
        outbox: &mut Vec<u8>,
    ) -> io::Result<()> {
        let Some(bytes) = inbox.read(&self.socket, &self.tail)? else { return Ok(()) };
        outbox.clear();
        let mut chop = Chop::new(bytes);
        for message in chop.by_ref() {
            canned::answer(&message.map_err(|_| io::ErrorKind::InvalidData)?, outbox);
        }
        self.tail.keep(chop.rest());
        if outbox.is_empty() {
            return Ok(());
        }
        let written = stream::write(&self.socket, outbox)?;
        if written < outbox.len() {
            self.unsent.extend_from_slice(&outbox[written..]);
            poll.modify(&self.socket, key, Interest::Write)?;
        }
        Ok(())
    }

    fn flush(&mut self, poll: &Poll, key: u64) -> io::Result<()> {
        let written = stream::write(&self.socket, &self.unsent)?;
        self.unsent.drain(..written);
        if self.unsent.is_empty() {
            poll.modify(&self.socket, key, Interest::Read)?;
        }
        Ok(())
    }
}

/// Whether the connection was over before it could be accepted, which says nothing about the next
/// one.
fn gone_already(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}
