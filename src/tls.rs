//! Certificates and keys out of files, with a sentence for whatever is wrong with them.

use std::fs::File;
use std::io::Read;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::{Error, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// The largest file of certificates or keys that is read, in bytes: the authorities of a whole system are 250 kB.
const FILE_MAX: u64 = 1024 * 1024;

/// Who somebody is: a certificate, with those of the authorities between behind it, and its key.
pub(crate) struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Reads both.
    ///
    /// # Errors
    /// One sentence that names the file.
    pub(crate) fn read(certificate: &Path, key: &Path) -> Result<Identity, String> {
        Ok(Identity { chain: certificates(certificate)?, key: private_key(key)? })
    }
}

/// The certificates of a file, one at least.
///
/// # Errors
/// One sentence that names the file.
pub(crate) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = read(file)?;
    let found = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    let found = found.map_err(|why| unreadable(file, &why))?;
    if found.is_empty() {
        return Err(format!(
            "{} holds no certificate: it needs a part that begins with -----BEGIN CERTIFICATE-----",
            file.display()
        ));
    }
    Ok(found)
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(&read(file)?).map_err(|why| match why {
        Error::NoItemsFound => format!(
            "{} holds no private key that can be read: it needs a part that begins with -----BEGIN PRIVATE KEY-----, without \
             a passphrase",
            file.display()
        ),
        why => unreadable(file, &why),
    })
}

fn unreadable(file: &Path, why: &Error) -> String {
    format!("{} is no PEM file: {why}", file.display())
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let read = File::open(file).and_then(|file| file.take(FILE_MAX + 1).read_to_end(&mut text));
    let size = read.map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    if size as u64 > FILE_MAX {
        return Err(format!("{} is larger than {FILE_MAX} bytes", file.display()));
    }
    Ok(text)
}

/// A connection to a server that proved who it is.
pub(crate) type Stream = StreamOwned<ClientConnection, TcpStream>;

/// Speaks TLS over a connection to this host, whose certificate an authority of this file has to have signed.
///
/// # Errors
/// One sentence.
pub(crate) fn connect(mut stream: TcpStream, host: &str, ca: &Path) -> Result<Stream, String> {
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

/// What is wrong with a certificate and its key, in words.
pub(crate) fn mismatch(certificate: &Path, key: &Path, why: &rustls::Error) -> String {
    let (certificate, key) = (certificate.display(), key.display());
    match why {
        rustls::Error::InconsistentKeys(_) => {
            format!("the key in {key} is not that of the certificate in {certificate}")
        }
        why => {
            format!("the certificate in {certificate} cannot be used with the key in {key}: {why}")
        }
    }
}
