//! TLS as a client: connections to a controller that proves its identity.

use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use aldis::tls::certificates;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// A connection to a server that proved its identity.
pub(crate) type TlsStream = StreamOwned<ClientConnection, TcpStream>;

/// Speaks TLS over a connection to this host, whose certificate an authority of this file has to
/// have signed.
///
/// # Errors
/// One sentence.
pub(crate) fn connect(mut stream: TcpStream, host: &str, ca: &Path) -> Result<TlsStream, String> {
    let mut roots = RootCertStore::empty();
    for authority in certificates(ca)? {
        let refused = |why| format!("{} holds no authority that can be used: {why}", ca.display());
        roots.add(authority).map_err(refused)?;
    }
    let failed = |why: rustls::Error| {
        format!(
            "cannot ask {host} over TLS: {why}; is {} the authority of its certificate?",
            ca.display()
        )
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().map_err(failed)?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| format!("{host:?} is no name that a certificate can have"))?;
    let mut session = ClientConnection::new(Arc::new(config), name).map_err(failed)?;
    while session.is_handshaking() {
        session.complete_io(&mut stream).map_err(|error| {
            match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                Some(why) => failed(why.clone()),
                None => {
                    format!("{host} broke off TLS: {error}; does it speak HTTP without, http://?")
                }
            }
        })?;
    }
    Ok(StreamOwned::new(session, stream))
}
