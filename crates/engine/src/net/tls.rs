//! A switch over TLS: what the workers read and write, and behind it what the kernel's socket
//! carries.
//!
//! The claimant reads, and the holder of the write token writes, perhaps at the same time. Both
//! lock the session; a plain connection has no such lock. Promises of a socket are kept here:
//!
//! - *Less than was asked for means that the socket is empty*, so that the next byte is announced:
//!   it is read until the kernel has no more, or `into` is full.
//! - *What was written is on its way*: of a record that the kernel did not take whole, the last
//!   byte counts as not written, and is the first of the next write. So the sender sees that
//!   something waits, and the write timeout counts here too.
//! - What is written before the handshake is done is kept by the session, which sends it then.
//! - *What came before the end is read before it*: the end, and why, is told by the next read,
//!   which the socket announces because its reading half is shut, whatever the peer does.
//!
//! The certificate is bound to the switch: the first label of one of its DNS names is `dpid-` and
//! the datapath id.

use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aldis_wire::DatapathId;
use arc_swap::ArcSwap;
use rustix::net::{SendAncillaryBuffer, SendFlags};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{AlertDescription, CertificateError, RootCertStore, ServerConfig, ServerConnection};

use crate::limits::{TLS_READS_IN_VAIN, TLS_WRITE};

/// The controller's certificate and key, and the authorities that it trusts. Shared: a replacement
/// counts for connections from then on.
#[derive(Clone, Debug)]
pub struct Identity {
    config: Arc<ArcSwap<ServerConfig>>,
    /// Whether a certificate has to name the switch.
    bound: bool,
}

impl Identity {
    /// This certificate (those of the authorities between behind it) and its key, for switches
    /// whose certificates one of these authorities signed, and, where `bound`, whose certificates
    /// name their datapath ids.
    ///
    /// # Errors
    /// The key is not that of the certificate, or no authority can be used.
    pub fn new(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        authorities: Vec<CertificateDer<'static>>,
        bound: bool,
    ) -> Result<Identity, rustls::Error> {
        let mut roots = RootCertStore::empty();
        authorities.into_iter().try_for_each(|authority| roots.add(authority))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let verifier = verifier.build().map_err(|why| rustls::Error::General(why.to_string()))?;
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(verifier);
        let mut config = config.with_single_cert(chain, key)?;
        // A switch stays connected for months: sessions are not resumed.
        config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Identity { config: Arc::new(ArcSwap::from_pointee(config)), bound })
    }

    /// Replaces it for new connections. Those that exist stay.
    pub fn replace(&self, by: &Identity) {
        self.config.store(by.config.load_full());
    }

    /// Begins to speak it over a socket that was accepted.
    pub(crate) fn accept(&self, socket: TcpStream) -> Result<Tls, rustls::Error> {
        let session = ServerConnection::new(self.config.load_full())?;
        let state = TlsState { session, ahead: Vec::new(), owed: false, end: None };
        Ok(Tls { socket, bound: self.bound, state: Mutex::new(state) })
    }
}

/// The connection.
pub(crate) struct Tls {
    pub(crate) socket: TcpStream,
    bound: bool,
    state: Mutex<TlsState>,
}

struct TlsState {
    session: ServerConnection,
    /// What was read from the kernel, and not understood yet for want of room.
    ahead: Vec<u8>,
    /// Whether the first byte of the next write was written already.
    owed: bool,
    /// How it ended, behind bytes that were handed on first.
    end: Option<io::Result<usize>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("socket", &self.socket).finish_non_exhaustive()
    }
}

/// Why a connection over TLS is over, in words for a person.
#[derive(Debug)]
pub(crate) struct Insecure(String);

impl fmt::Display for Insecure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Insecure {}

impl Tls {
    fn state(&self) -> MutexGuard<'_, TlsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`crate::net::Net::read`]; `room` is for what comes from the kernel.
    pub(crate) fn read(&self, into: &mut [u8], room: &mut [u8]) -> io::Result<usize> {
        let mut state = self.state();
        let mut filled = 0;
        if state.end.is_some() {
            state.understood(into, &mut filled)?;
            return if filled > 0 { Ok(filled) } else { state.end.take().unwrap_or(Ok(0)) };
        }
        let ended = state.read(&self.socket, into, room, &mut filled);
        // The handshake, and what waited for it; should the kernel not take it now, the next read
        // or write tries again. A peer that is told to go is told why.
        let flushed = state.flush(&self.socket).map(drop);
        let end = match ended.and_then(|ended| flushed.map(|()| ended)) {
            Ok(true) => Ok(0),
            Ok(false) if filled > 0 => return Ok(filled),
            Ok(false) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(error) => Err(error),
        };
        if filled == 0 {
            return end;
        }
        state.end = Some(end);
        // It fails where the peer was first, and then that is announced.
        let _ = self.socket.shutdown(Shutdown::Read);
        Ok(filled)
    }

    /// As [`crate::net::Net::write`].
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.state().write(&self.socket, bytes)
    }

    /// Says that it ends, as far as the kernel takes that.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.session.send_close_notify();
        let _ = state.flush(&self.socket);
    }

    /// Whether the peer's certificate is that of this switch.
    pub(crate) fn vouches(&self, dpid: DatapathId) -> Result<(), String> {
        if !self.bound {
            return Ok(());
        }
        let state = self.state();
        let Some(certificate) = state.session.peer_certificates().and_then(<[_]>::first) else {
            return Err(not_let_in("it showed no certificate"));
        };
        let certificate = webpki::EndEntityCert::try_from(certificate);
        let certificate =
            certificate.map_err(|why| not_let_in(&format!("its certificate: {why}")))?;
        let label = format!("dpid-{:016x}", dpid.0);
        let first = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
        let mut names = certificate.valid_dns_names();
        if names.any(|name| first(name) == label) {
            return Ok(());
        }
        let mut names: Vec<_> = certificate.valid_dns_names().take(5).collect();
        names.sort_unstable();
        let names = if names.is_empty() { "no name".into() } else { names.join(", ") };
        Err(not_let_in(&format!(
            "it says that it is switch {dpid}, and its certificate is for {names}: give it one \
             whose DNS name begins with {label} \
             (aldis pki --switch {dpid})"
        )))
    }
}

impl TlsState {
    /// Reads until `into` is full or the kernel has no more. Returns whether the end has come.
    fn read(
        &mut self,
        socket: &TcpStream,
        into: &mut [u8],
        room: &mut [u8],
        filled: &mut usize,
    ) -> io::Result<bool> {
        let ahead = std::mem::take(&mut self.ahead);
        if self.take_in(&ahead, into, filled)? || *filled == into.len() {
            return Ok(*filled < into.len());
        }
        let mut in_vain = 0;
        while in_vain < TLS_READS_IN_VAIN {
            let before = *filled;
            let read = rustix::io::retry_on_intr(|| rustix::io::read(socket.as_fd(), &mut *room));
            let count = match read {
                Ok(0) => return Ok(true),
                Ok(count) => count,
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(false),
                Err(error) => return Err(error.into()),
            };
            if self.take_in(&room[..count], into, filled)? {
                return Ok(true);
            }
            // Less than there was room for: the next byte is announced.
            if *filled == into.len() || count < room.len() {
                return Ok(false);
            }
            in_vain = if *filled > before { 0 } else { in_vain + 1 };
        }
        Err(insecure(
            "TLS with the switch broke off: it sends records without anything in them".into(),
        ))
    }

    /// Understands what came, as far as there is room for what it says. Returns whether the peer
    /// said that it ends.
    fn take_in(
        &mut self,
        mut bytes: &[u8],
        into: &mut [u8],
        filled: &mut usize,
    ) -> io::Result<bool> {
        loop {
            if self.understood(into, filled)? {
                return Ok(true);
            }
            if bytes.is_empty() {
                return Ok(false);
            }
            if *filled == into.len() {
                self.ahead.extend_from_slice(bytes);
                return Ok(false);
            }
            self.session.read_tls(&mut bytes)?;
            if let Err(why) = self.session.process_new_packets() {
                // What was understood before it is good.
                self.understood(into, filled)?;
                return Err(insecure(in_words(&why, self.session.is_handshaking())));
            }
        }
    }

    /// Hands on what was decrypted, as far as there is room. Returns whether the peer said that it
    /// ends.
    fn understood(&mut self, into: &mut [u8], filled: &mut usize) -> io::Result<bool> {
        while *filled < into.len() {
            match self.session.reader().read(&mut into[*filled..]) {
                Ok(0) => return Ok(true),
                Ok(count) => *filled += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    fn write(&mut self, socket: &TcpStream, mut bytes: &[u8]) -> io::Result<usize> {
        if self.end.is_some() {
            // It is over. Nothing more goes out, and why is told by the read that comes.
            return Ok(bytes.len());
        }
        if self.session.is_handshaking() {
            return match self.session.writer().write(bytes)? {
                0 if !bytes.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
                count => Ok(count),
            };
        }
        if !self.flush(socket)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut written = 0;
        if std::mem::take(&mut self.owed) {
            bytes = bytes.get(1..).unwrap_or_default();
            written = 1;
        }
        while !bytes.is_empty() {
            let count = self.session.writer().write(&bytes[..bytes.len().min(TLS_WRITE)])?;
            written += count;
            bytes = &bytes[count..];
            if !self.flush(socket)? {
                self.owed = count > 0;
                return Ok(written - usize::from(self.owed));
            }
        }
        Ok(written)
    }

    /// Sends what the session has to say. Returns whether all of it went.
    fn flush(&mut self, socket: &TcpStream) -> io::Result<bool> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut Sender(socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Sends to a socket; a peer that is gone is an error here and not a signal.
struct Sender<'a>(&'a TcpStream);

impl Write for Sender<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let send = || rustix::net::send(self.0.as_fd(), bytes, SendFlags::NOSIGNAL);
        Ok(rustix::io::retry_on_intr(send)?)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let nothing = &mut SendAncillaryBuffer::default();
        let mut send = || rustix::net::sendmsg(self.0, pieces, nothing, SendFlags::NOSIGNAL);
        Ok(rustix::io::retry_on_intr(&mut send)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn insecure(sentence: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Insecure(sentence))
}

fn not_let_in(words: &str) -> String {
    format!("the switch was not let in over TLS: {words}")
}

/// What is wrong, and what to do: with a handshake, or with a connection after it.
fn in_words(why: &rustls::Error, handshaking: bool) -> String {
    use rustls::Error;
    // In TLS 1.3 a switch says behind its handshake that it does not believe us.
    match why {
        Error::AlertReceived(_) => not_let_in(&in_the_handshake(why)),
        _ if handshaking => not_let_in(&in_the_handshake(why)),
        Error::DecryptError => {
            "TLS with the switch broke off: what it sent cannot be decrypted, or was changed on its \
             way"
                .into()
        }
        why => format!("TLS with the switch broke off: {why}"),
    }
}

fn in_the_handshake(why: &rustls::Error) -> String {
    use rustls::Error;
    match why {
        Error::InvalidMessage(_) => {
            "it does not speak TLS here: have it connect with ssl:, or to the port for plain \
             OpenFlow"
                .into()
        }
        Error::NoCertificatesPresented => {
            "it showed no certificate: give it one that the authority signed (ovs-vsctl \
             set-ssl)"
                .into()
        }
        Error::InvalidCertificate(why) => refused(why),
        Error::AlertReceived(
            alert @ (AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::CertificateExpired
            | AlertDescription::DecryptError),
        ) => format!(
            "it does not believe our certificate ({alert:?}): give it the authority that signed \
             that one, and look at its clock"
        ),
        Error::AlertReceived(alert) => format!("it broke off TLS: {alert:?}"),
        Error::PeerIncompatible(why) => {
            format!("it and we have no way of TLS in common ({why:?}): 1.2 and 1.3 are spoken here")
        }
        why => format!("TLS failed: {why}"),
    }
}

fn refused(why: &CertificateError) -> String {
    let words = match why {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "was signed by an authority that is not believed here"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "has expired: give it a new one, or look at the clocks"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "is not valid yet: look at the clocks"
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "is not for a switch: it lacks the purpose of a TLS client"
        }
        why => return format!("its certificate is refused: {why}"),
    };
    format!("its certificate {words}")
}
