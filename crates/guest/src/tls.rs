//! TLS towards a guest: which authorities have to have signed its certificate, which name that has
//! to bear, and which certificate the guest is shown.
//!
//! Aldis is the client here, as a switch is. No session is resumed: a guest stays connected.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, Error, RootCertStore,
};

/// How connections to a guest are encrypted.
#[derive(Clone, Debug)]
pub struct GuestTls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl GuestTls {
    /// With a guest of this name or address, whose certificate one of these authorities signed. It
    /// is shown a certificate (those of the authorities between behind it), where one is given with
    /// its key.
    ///
    /// # Errors
    /// No authority can be used, or the key is not that of the certificate.
    pub fn new(
        name: ServerName<'static>,
        authorities: Vec<CertificateDer<'static>>,
        shown: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    ) -> Result<GuestTls, Error> {
        let mut roots = RootCertStore::empty();
        authorities.into_iter().try_for_each(|authority| roots.add(authority))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions()?.with_root_certificates(roots);
        let mut config = match shown {
            None => config.with_no_client_auth(),
            Some((chain, key)) => config.with_client_auth_cert(chain, key)?,
        };
        config.resumption = Resumption::disabled();
        Ok(GuestTls { config: Arc::new(config), name })
    }

    /// A session with it.
    ///
    /// # Errors
    /// There is no randomness.
    pub(crate) fn begin(&self) -> Result<ClientConnection, Error> {
        ClientConnection::new(Arc::clone(&self.config), self.name.clone())
    }
}

/// Of a guest that closes before TLS stands.
pub(crate) const CLOSED_EARLY: &str =
    "the guest closed the connection before TLS stood: does it speak TLS there?";

/// What is wrong, and what to do.
pub(crate) fn in_words(why: &Error) -> String {
    match why {
        Error::InvalidMessage(_) => {
            "the guest does not speak TLS there: give its port for TLS, or leave TLS out".into()
        }
        Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        ) => "the guest's certificate was signed by none of the authorities of its TLS".into(),
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "the guest's certificate is for another name: say in its TLS which it has".into(),
        Error::InvalidCertificate(why) => format!("the guest's certificate is refused: {why}"),
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "the guest wants a certificate: give one, with its key, in its TLS".into()
        }
        Error::AlertReceived(alert) => format!("the guest broke off TLS: {alert:?}"),
        why => format!("TLS with the guest failed: {why}"),
    }
}
