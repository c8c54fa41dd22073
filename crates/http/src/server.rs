//! The thread that serves, and the connections on it.
//!
//! One thread with a runtime of its own; it takes no time from workers but that of its core. Connections are bounded in
//! number, each in what it may send and how long it may take: a request in time to come whole ([`HEAD_WITHIN`],
//! [`ANSWER_WITHIN`]), and an answer in time to be read.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::thread::JoinHandle;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

use crate::events::{Events, Incoming};
use crate::limits::{
    ACCEPT_AGAIN, ANSWER_WITHIN, CONNECTIONS_MAX, HEAD_MAX, HEAD_WITHIN, HEADERS_MAX, STOP_WITHIN,
};
use crate::patient::Patient;
use crate::routes::{Routes, Shared};
use crate::source::Controller;
use crate::when::Calendar;

/// Why an address is not listened on.
#[derive(Debug)]
pub enum Refused {
    /// Other machines could reach it, and nobody is asked for a password.
    Open(SocketAddr),
    /// Somebody else listens there.
    Taken(SocketAddr),
    /// The kernel's word.
    Failed(SocketAddr, io::Error),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Open(address) => write!(
                f,
                "HTTP on {address} could be used by other machines without a password; choose a loopback address such as \
                 127.0.0.1:{}, and reach it from elsewhere through a tunnel (ssh -L)",
                address.port()
            ),
            Refused::Taken(address) => write!(
                f,
                "cannot serve HTTP on {address}: the port is taken, perhaps by another controller; choose another with \
                 --http ADDR:PORT, or none with --http off"
            ),
            Refused::Failed(address, error) => write!(f, "cannot serve HTTP on {address}: {error}"),
        }
    }
}

impl std::error::Error for Refused {}

/// An address that is listened on; whoever connects waits until there is a [`Server`].
#[derive(Debug)]
pub struct Listening {
    listener: std::net::TcpListener,
    address: SocketAddr,
}

impl Listening {
    /// Listens on this loopback address; port 0 for any that is free.
    ///
    /// # Errors
    /// Another address than one of loopback, a port that is taken.
    pub fn on(address: SocketAddr) -> Result<Listening, Refused> {
        if !address.ip().is_loopback() {
            return Err(Refused::Open(address));
        }
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AddrInUse => Refused::Taken(address),
            _ => Refused::Failed(address, error),
        };
        let listener = std::net::TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Listening { listener, address })
    }

    /// The address; where port 0 was asked for, the one it got.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A server that runs. Dropped, it stops at once; see [`Server::stop`].
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Serves what this controller does, and what comes in from [`events::channel`](crate::events::channel).
    ///
    /// # Errors
    /// A machine without a thread or descriptors to spare.
    pub fn start(
        listening: Listening,
        controller: Arc<dyn Controller>,
        incoming: Incoming,
    ) -> io::Result<Server> {
        let Listening { listener, address } = listening;
        let calendar = Calendar::new(controller.now());
        let (stop, stopping) = watch::channel(false);
        let events = Events::new(&calendar);
        let shared = Arc::new(Shared { controller, calendar, events, stopping: stopping.clone() });
        let router = Routes::all().serve(Arc::clone(&shared), ANSWER_WITHIN);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let pump = async move {
            shared.events.pump(incoming, &*shared.controller, &shared.calendar).await;
        };
        let serving = Serving { router, room: Arc::new(Semaphore::new(CONNECTIONS_MAX)), stopping };
        let thread = std::thread::Builder::new().name("http".into());
        let thread = thread.spawn(move || {
            runtime.spawn(pump);
            runtime.block_on(serving.run(listener));
        })?;
        Ok(Server { address, stop, thread })
    }

    /// Where it serves.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts nobody more, lets answers on their way out, for half a second at most, and ends.
    pub fn stop(self) {
        let _ = self.stop.send(true);
        // Should it have panicked, that was said already.
        let _ = self.thread.join();
    }
}

/// What the thread has.
struct Serving {
    router: Router,
    /// A seat for each connection.
    room: Arc<Semaphore>,
    /// Whether the end has come: it says so, or nobody is left who could.
    stopping: watch::Receiver<bool>,
}

impl Serving {
    async fn run(self, listener: TcpListener) {
        let mut stopping = self.stopping.clone();
        tokio::select! {
            () = self.accept(listener) => {}
            () = told(&mut stopping) => {}
        }
        let everybody_left = self.room.acquire_many(CONNECTIONS_MAX as u32);
        let _ = timeout(STOP_WITHIN, everybody_left).await;
    }

    async fn accept(&self, listener: TcpListener) {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(HEAD_WITHIN)
            .max_buf_size(HEAD_MAX)
            .max_headers(HEADERS_MAX);
        loop {
            match (listener.accept().await, Arc::clone(&self.room).try_acquire_owned()) {
                // A connection that is gone already, or no descriptor to spare.
                (Err(_), _) => sleep(ACCEPT_AGAIN).await,
                (Ok((stream, _)), Err(_)) => turn_away(&stream),
                (Ok((stream, _)), Ok(seat)) => self.welcome(&http, stream, seat),
            }
        }
    }

    fn welcome(&self, http: &http1::Builder, stream: TcpStream, seat: OwnedSemaphorePermit) {
        // Answers are written whole: nothing is gained by waiting for more.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(self.router.clone());
        let io = TokioIo::new(Patient::new(stream));
        let connection = http.serve_connection(io, service).with_upgrades();
        let mut stopping = self.stopping.clone();
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            // What is wrong with a connection concerns nobody but its peer, who was told.
            tokio::select! {
                _ = connection.as_mut() => {}
                () = told(&mut stopping) => {
                    connection.as_mut().graceful_shutdown();
                    let _ = connection.await;
                }
            }
            drop(seat);
        });
    }
}

/// Waits for the end.
pub(crate) async fn told(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stop| *stop).await;
}

/// Says that there is no room, as far as the socket takes it at once.
fn turn_away(stream: &TcpStream) {
    let body = format!(
        r#"{{"type":"urn:aldis:too-many-connections","title":"Service Unavailable","status":503,"detail":"there are {CONNECTIONS_MAX} connections already; try again later"}}"#
    );
    let head = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nConnection: close\r\nRetry-After: 1";
    let _ = stream
        .try_write(format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
}
