//! The thread that serves, and the connections on it.
//!
//! One thread with a runtime of its own; it takes no time from workers but that of its core.
//! Connections are bounded in number, each in what it may send and how long it may take: a request
//! in time to come whole ([`HEAD_WITHIN`], [`ANSWER_WITHIN`]), and an answer in time to be read.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::thread::JoinHandle;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::access::Access;
use crate::auth::{Authenticator, ClientAddress, Revocation};
use crate::compat::floodlight::entries::{self, EntriesByName};
use crate::compat::ryu::changes::TopologyWatcher;
use crate::connection_limit::{ConnectionLimit, ConnectionPermit, ConnectionsFull};
use crate::controller::Controller;
use crate::desired::ConfigStore;
use crate::events::{self, EventLog};
use crate::limits::{ACCEPT_AGAIN, ANSWER_WITHIN, HEAD_MAX, HEAD_WITHIN, HEADERS_MAX, STOP_WITHIN};
use crate::linger::{Lingering, Listened, RequestEnd};
use crate::log::LogLines;
use crate::report_pages::ReportPlace;
use crate::routes::{RouteTable, Shared};
use crate::timestamp::Calendar;
use crate::write_timeout::WriteTimeout;

/// Why an address is not listened on.
#[derive(Debug)]
pub enum BindError {
    /// Other machines could reach it, and requests could be read on the way, or need no password.
    Open(SocketAddr),
    /// Another process listens there.
    Taken(SocketAddr),
    /// The kernel's word.
    Failed(SocketAddr, io::Error),
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindError::Open(address) => write!(
                f,
                "HTTP on {address} could be used by other machines without a password; beyond loopback it needs a certificate \
                 (--http-certificate, --http-key) and at least one token or user (--http-access): \"aldis pki\" and \"aldis \
                 http\" make them; or choose 127.0.0.1:{}, and reach it through a tunnel (ssh -L)",
                address.port()
            ),
            BindError::Taken(address) => write!(
                f,
                "cannot serve HTTP on {address}: the port is taken, perhaps by another controller; choose another with \
                 --http ADDR:PORT, or none with --http off"
            ),
            BindError::Failed(address, error) => {
                write!(f, "cannot serve HTTP on {address}: {error}")
            }
        }
    }
}

impl std::error::Error for BindError {}

/// An address that is listened on; clients wait until there is a [`HttpServer`].
#[derive(Debug)]
pub struct Listening {
    listener: std::net::TcpListener,
    address: SocketAddr,
}

impl Listening {
    /// Listens on this address; port 0 for any that is free.
    ///
    /// # Errors
    /// Another address than one of loopback though access is not locked, a port that is taken.
    pub fn on(address: SocketAddr, access: &Access) -> Result<Listening, BindError> {
        if !address.ip().to_canonical().is_loopback() && !access.is_locked() {
            return Err(BindError::Open(address));
        }
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AddrInUse => BindError::Taken(address),
            _ => BindError::Failed(address, error),
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

/// A server that runs. Dropped, it stops at once; see [`HttpServer::stop`].
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    access: watch::Sender<Arc<Access>>,
    stop: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

impl HttpServer {
    /// Serves what this controller does and what is kept for it, what comes in from
    /// [`events::channel`], and the lines of its log.
    ///
    /// # Errors
    /// A machine without a thread or descriptors to spare.
    pub fn start(
        listening: Listening,
        controller: Arc<dyn Controller>,
        config_store: Arc<dyn ConfigStore>,
        incoming: events::EventReceiver,
        log: LogLines,
        access: Access,
    ) -> io::Result<HttpServer> {
        let Listening { listener, address } = listening;
        let calendar = Calendar::new(controller.now());
        let (stop, stopping) = watch::channel(false);
        let events = EventLog::new(&calendar);
        let entries = Arc::new(EntriesByName::found(config_store.floodlight_entries()));
        let shared = Arc::new(Shared {
            controller,
            config_store,
            calendar,
            events,
            log,
            report_place: ReportPlace::new(),
            topology_watcher: TopologyWatcher::default(),
            entries,
            rules_changing: tokio::sync::Mutex::default(),
            stopping: stopping.clone(),
        });
        let (access, accessible) = watch::channel(Arc::new(access));
        let authenticator = Authenticator::new(accessible.clone());
        let router = RouteTable::all().serve(Arc::clone(&shared), authenticator, ANSWER_WITHIN);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let keeping = entries::keep(Arc::clone(&shared));
        let pump = async move {
            shared.events.pump(incoming, &*shared.controller, &shared.calendar).await;
        };
        let room = ConnectionLimit::new();
        let serving = ServerThread { router, room, access: accessible, stopping };
        let thread = std::thread::Builder::new().name("http".into());
        let thread = thread.spawn(move || {
            runtime.spawn(pump);
            runtime.spawn(keeping);
            runtime.block_on(serving.run(listener));
        })?;
        Ok(HttpServer { address, access, stop, thread })
    }

    /// Where it serves.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it serves, as it is asked for.
    pub fn url(&self) -> String {
        let scheme = if self.access.borrow().is_encrypted() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// A handle by which keys and the certificate are changed.
    pub fn admission(&self) -> AccessControl {
        AccessControl { address: self.address, access: self.access.clone() }
    }

    /// Accepts no more connections, lets answers on their way out, for half a second at most, and
    /// ends.
    pub fn stop(self) {
        let _ = self.stop.send(true);
        // Should it have panicked, that was said already.
        let _ = self.thread.join();
    }
}

/// Changes the keys and the certificate of a server, from any thread.
#[derive(Clone, Debug)]
pub struct AccessControl {
    address: SocketAddr,
    access: watch::Sender<Arc<Access>>,
}

impl AccessControl {
    /// Other keys and another certificate, for requests from now on; answers on their way are not
    /// disturbed.
    ///
    /// # Errors
    /// Other machines can reach this server, and would need no key or no TLS.
    pub fn admit(&self, access: Access) -> Result<(), BindError> {
        if !self.address.ip().to_canonical().is_loopback() && !access.is_locked() {
            return Err(BindError::Open(self.address));
        }
        self.access.send_replace(Arc::new(access));
        Ok(())
    }
}

/// What the thread has.
struct ServerThread {
    router: Router,
    /// A permit for each connection.
    room: ConnectionLimit,
    access: watch::Receiver<Arc<Access>>,
    /// Whether the end has come: it says so, or its sender is gone.
    stopping: watch::Receiver<bool>,
}

impl ServerThread {
    async fn run(self, listener: TcpListener) {
        let mut stopping = self.stopping.clone();
        tokio::select! {
            () = self.accept(listener) => {}
            () = told(&mut stopping) => {}
        }
        let _ = timeout(STOP_WITHIN, self.room.all_left()).await;
    }

    async fn accept(&self, listener: TcpListener) {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(HEAD_WITHIN)
            .max_buf_size(HEAD_MAX)
            .max_headers(HEADERS_MAX);
        loop {
            // A connection that is gone already, or no descriptor to spare.
            let Ok((stream, peer)) = listener.accept().await else {
                sleep(ACCEPT_AGAIN).await;
                continue;
            };
            match self.room.take(peer.ip()) {
                Ok(permit) => self.welcome(&http, stream, peer, permit),
                Err(full) => self.turn_away(&stream, full),
            }
        }
    }

    fn welcome(
        &self,
        http: &http1::Builder,
        stream: TcpStream,
        address: SocketAddr,
        permit: ConnectionPermit,
    ) {
        // Answers are written whole: nothing is gained by waiting for more.
        let _ = stream.set_nodelay(true);
        let tls = self.access.borrow().tls.clone();
        let peer = ClientAddress { address, encrypted: tls.is_some() };
        let visit = HttpConnection {
            http: http.clone(),
            router: self.router.clone(),
            peer,
            stopping: self.stopping.clone(),
        };
        tokio::spawn(async move {
            match tls {
                None => visit.serve(stream, Some(permit)).await,
                Some(tls) => {
                    let shaken = timeout(HEAD_WITHIN, greet(tls, stream)).await;
                    if let Ok(Some(stream)) = shaken {
                        visit.serve(stream, Some(permit)).await;
                    }
                }
            }
        });
    }

    /// Says that there is no room, as far as the socket takes it at once.
    fn turn_away(&self, stream: &TcpStream, full: ConnectionsFull) {
        if self.access.borrow().is_encrypted() {
            return;
        }
        let detail = format!("{full}; try again later");
        say(
            stream,
            "503 Service Unavailable",
            "too-many-connections",
            &detail,
            "\r\nRetry-After: 1",
        );
    }
}

/// One connection.
struct HttpConnection {
    http: http1::Builder,
    router: Router,
    peer: ClientAddress,
    stopping: watch::Receiver<bool>,
}

impl HttpConnection {
    async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        mut self,
        stream: S,
        permit: Option<ConnectionPermit>,
    ) {
        let (router, peer) = (TowerToHyperService::new(self.router), self.peer);
        let (heard, revocation) = (RequestEnd::new(), Revocation::new());
        let stream = WriteTimeout::new(Lingering::new(stream, heard.clone()));
        let io = TokioIo::new(stream.holding(permit));
        let held = revocation.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(held.clone());
            router.call(request.map(|body| Listened::new(body, heard.clone())))
        });
        let mut connection = pin!(self.http.serve_connection(io, service).with_upgrades());
        // What is wrong with a connection concerns its peer alone, which was told.
        tokio::select! {
            _ = connection.as_mut() => {}
            () = revocation.cut() => {}
            () = told(&mut self.stopping) => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
    }
}

/// Begins to speak TLS, with a peer that does.
async fn greet(tls: Arc<ServerConfig>, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
    let mut first = [0];
    if stream.peek(&mut first).await.ok()? == 1 && first[0].is_ascii_uppercase() {
        let detail = "this is spoken over TLS: ask for https://";
        say(&stream, "400 Bad Request", "not-encrypted", detail, "");
        return None;
    }
    TlsAcceptor::from(tls).accept(stream).await.ok()
}

/// Waits for the end.
pub(crate) async fn told(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stop| *stop).await;
}

/// Says this problem and no more, as far as the socket takes it at once.
fn say(stream: &TcpStream, status: &str, kind: &str, detail: &str, more: &str) {
    let (number, title) = status.split_once(' ').unwrap_or((status, ""));
    let body = format!(
        r#"{{"type":"urn:aldis:{kind}","title":"{title}","status":{number},"detail":"{detail}"}}"#
    );
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/problem+json\r\nConnection: close{more}"
    );
    let text = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let _ = stream.try_write(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::time::{Duration, Instant};

    use axum::Extension;
    use axum::body::{Body, Bytes};
    use axum::routing::get;
    use futures_util::stream::repeat;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use crate::auth::Grant;

    /// An answer that has no end, for a request with a grant.
    async fn endless(
        Extension(revocation): Extension<Revocation>,
        Extension(grant): Extension<Grant>,
    ) -> Body {
        revocation.hold(grant);
        Body::from_stream(repeat(Ok::<_, Infallible>(Bytes::from_static(&[b'.'; 1024]))))
    }

    #[test]
    fn who_follows_and_does_not_read_leaves_with_the_key() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (withdraw, grant) = Grant::of_no_key();
            let (_stop, stopping) = watch::channel(false);
            let visit = HttpConnection {
                http: http1::Builder::new(),
                router: Router::new().route("/", get(endless)).layer(Extension(grant)),
                peer: ClientAddress { address: ([127, 0, 0, 1], 1).into(), encrypted: false },
                stopping,
            };
            let (ours, mut theirs) = duplex(64);
            let served = tokio::spawn(visit.serve(ours, None));
            theirs.write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n").await.unwrap();
            theirs.read_exact(&mut [0; 64]).await.unwrap();
            // From here on it reads nothing.
            let began = Instant::now();
            withdraw();
            served.await.unwrap();
            assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        });
    }
}
