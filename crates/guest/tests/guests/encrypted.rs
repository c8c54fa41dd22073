//! Guests over TLS.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use aldis_emulator::peer::{Peer, hello};
use aldis_guest::{GuestSpec, GuestState, GuestTls};
use aldis_wire::header::kind;
use aldis_wire::msg::{FlowMod, Match};
use rcgen::{CertifiedKey, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::stage::{GuestStage, Listening, frame, packet_in, send};
use crate::{V13, flow};

/// How long one direction is waited for.
const MOMENT: Option<Duration> = Some(Duration::from_millis(1));

type Certified = CertifiedKey<KeyPair>;

fn certified(name: &str) -> Certified {
    rcgen::generate_simple_self_signed([name.to_owned()]).unwrap()
}

fn shown(of: &Certified) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let key = PrivatePkcs8KeyDer::from(of.signing_key.serialize_der());
    (vec![of.cert.der().clone()], key.into())
}

/// What the controller says to a guest whose certificate is this one.
fn to(name: &str, authority: &Certified, shows: Option<&Certified>) -> GuestTls {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    GuestTls::new(name, vec![authority.cert.der().clone()], shows.map(shown)).unwrap()
}

/// A guest's end of TLS, which wants this certificate of the controller, if any. Behind it is what
/// listens for plain OpenFlow. Gone with the test's process.
fn terminates(of: &Certified, wants: Option<&Certified>, plain: SocketAddr) -> SocketAddr {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = match wants {
        None => config.with_no_client_auth(),
        Some(wanted) => {
            let mut roots = RootCertStore::empty();
            roots.add(wanted.cert.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            config.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let (chain, key) = shown(of);
    let config = Arc::new(config.with_single_cert(chain, key).unwrap());
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for sealed in listener.incoming().map_while(Result::ok) {
            let session = ServerConnection::new(Arc::clone(&config)).unwrap();
            std::thread::spawn(move || carry(StreamOwned::new(session, sealed), plain));
        }
    });
    at
}

fn carry(mut tls: StreamOwned<ServerConnection, TcpStream>, to: SocketAddr) -> io::Result<()> {
    while tls.conn.is_handshaking() {
        tls.conn.complete_io(&mut tls.sock)?;
    }
    let mut plain = TcpStream::connect(to)?;
    plain.set_read_timeout(MOMENT)?;
    tls.sock.set_read_timeout(MOMENT)?;
    let mut piece = [0; 16 * 1024];
    loop {
        pass(&mut plain, &mut tls, &mut piece)?;
        pass(&mut tls, &mut plain, &mut piece)?;
    }
}

/// Passes on what is there now.
fn pass(from: &mut impl Read, to: &mut impl Write, piece: &mut [u8]) -> io::Result<()> {
    match from.read(piece) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(count) => to.write_all(&piece[..count]),
        Err(error)
            if [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut].contains(&error.kind()) =>
        {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

#[test]
fn requests_and_answers_pass_over_tls() {
    let (own, of_guest) = (certified("controller"), certified("guest.example"));
    let (stage, plain) = (GuestStage::start(), Listening::new());
    let at = terminates(&of_guest, Some(&own), plain.at());
    let tls = to("guest.example", &of_guest, Some(&own));
    stage.add_before(GuestSpec::new("sealed", at), Some(tls), Some("behind"));
    let mut switch = stage.switch(V13, 7);
    let (mut guest, features) = plain.guest(V13);
    assert_eq!(features.datapath_id.0, 7);
    stage.until("sealed", |status| status.state == GuestState::Serving);
    // More than fits a record, the sockets between them, and one read.
    let large = [7; 1400];
    for _ in 0..600 {
        send(&mut switch, V13, 1, packet_in(V13, 3, &large));
    }
    for _ in 0..600 {
        let message = guest.expect(kind::PACKET_IN).unwrap();
        assert!(message.ends_with(&large));
    }
    for priority in 1..=2000 {
        send(&mut guest, V13, 5, FlowMod::add(Match::new()).priority(priority));
    }
    for priority in 1..=2000 {
        assert_eq!(flow(&mut switch, V13).1.priority, priority);
    }
    // What came before the end is read before it.
    send(&mut guest, V13, 6, FlowMod::add(Match::new()).priority(7));
    drop(guest);
    assert_eq!(flow(&mut switch, V13).1.priority, 7);
    // It comes again, as it was.
    let (mut guest, _) = plain.guest(V13);
    stage.until("sealed", |status| status.state == GuestState::Serving);
    send(&mut switch, V13, 1, packet_in(V13, 3, &frame(9, 0)));
    guest.expect(kind::PACKET_IN).unwrap();
    stage.stop();
}

/// A guest over TLS that does not read is noticed, as one without.
#[test]
fn a_guest_over_tls_that_does_not_read_is_shed() {
    let of_guest = certified("guest.example");
    let (stage, plain) = (GuestStage::start(), Listening::new());
    let at = terminates(&of_guest, None, plain.at());
    let tls = to("guest.example", &of_guest, None);
    let spec = GuestSpec { queue: 8192, ..GuestSpec::new("deaf", at) };
    stage.add_before(spec, Some(tls), Some("behind"));
    let mut switch = stage.switch(V13, 7);
    let _guest = plain.guest(V13);
    stage.until("deaf", |status| status.state == GuestState::Serving);
    stage.until("deaf", |status| {
        (0..64).for_each(|_| send(&mut switch, V13, 1, packet_in(V13, 3, &[7; 1400])));
        status.counts.shed > 0
    });
    switch.expect(kind::PACKET_OUT).unwrap();
    stage.stop();
}

#[test]
fn a_guest_that_is_not_believed_is_away_with_the_reason() {
    let (own, of_guest) = (certified("controller"), certified("guest.example"));
    let plain = Listening::new();
    let at = terminates(&of_guest, None, plain.at());
    let wants = terminates(&of_guest, Some(&own), plain.at());
    let stranger = certified("guest.example");
    let cases = [
        ("signed", at, to("guest.example", &stranger, None), "signed by none"),
        ("named", at, to("other.example", &of_guest, None), "for another name"),
        ("bare", wants, to("guest.example", &of_guest, None), "the guest wants a certificate"),
        ("plain", plain.at(), to("guest.example", &of_guest, None), "does not speak TLS"),
    ];
    for (name, at, tls, words) in cases {
        let stage = GuestStage::start();
        stage.add_before(GuestSpec::new(name, at), Some(tls), Some("behind"));
        let mut switch = stage.switch(V13, 7);
        if name == "plain" {
            // It takes what comes for a message that is none.
            let mut guest: Peer = plain.accept();
            guest.send(&hello(V13)).unwrap();
        }
        let says =
            |reason: &Option<String>| reason.as_ref().is_some_and(|reason| reason.contains(words));
        let status = stage.until(name, |status| says(&status.reason));
        assert_eq!((status.state, status.counts.faults), (GuestState::Away, 0));
        // The switch is served by the others.
        send(&mut switch, V13, 1, packet_in(V13, 3, &frame(9, 0)));
        switch.expect(kind::PACKET_OUT).unwrap();
        stage.stop();
    }
}
