//! Which authorities switches over TLS trust, and which certificates they show.
//!
//! As Open vSwitch does with `set-ssl`: an authority that has to have signed the controller's
//! certificate, and a certificate and key of the switch. Beyond that the controller's certificate
//! has to bear its name or address. No session is resumed: a handshake is measured whole.

use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, InvalidMessage,
    RootCertStore,
};
use std::collections::HashMap;
use std::sync::Arc;

/// How switches speak TLS.
#[derive(Clone, Debug)]
pub struct SwitchTls {
    controller: ServerName<'static>,
    roots: Arc<RootCertStore>,
    /// Of switches that have none of their own.
    all: Arc<ClientConfig>,
    /// By datapath id.
    own: HashMap<u32, Arc<ClientConfig>>,
}

impl SwitchTls {
    /// With a controller of this name or address, whose certificate one of these authorities
    /// signed. The switches show no certificate.
    ///
    /// # Errors
    /// No authority can be used.
    pub fn new(
        controller: ServerName<'static>,
        authorities: Vec<CertificateDer<'static>>,
    ) -> Result<SwitchTls, rustls::Error> {
        let mut roots = RootCertStore::empty();
        authorities.into_iter().try_for_each(|authority| roots.add(authority))?;
        let roots = Arc::new(roots);
        let all = config(&roots, None)?;
        Ok(SwitchTls { controller, roots, all, own: HashMap::new() })
    }

    /// The switch of this datapath id, or every one that has none of its own, shows this
    /// certificate (those of the authorities between behind it).
    ///
    /// # Errors
    /// The key is not that of the certificate.
    pub fn show(
        &mut self,
        dpid: Option<u32>,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<(), rustls::Error> {
        let config = config(&self.roots, Some((chain, key)))?;
        match dpid {
            None => self.all = config,
            Some(dpid) => drop(self.own.insert(dpid, config)),
        }
        Ok(())
    }

    pub(crate) fn begin(&self, dpid: u32) -> Result<ClientConnection, rustls::Error> {
        let config = Arc::clone(self.own.get(&dpid).unwrap_or(&self.all));
        let mut session = ClientConnection::new(config, self.controller.clone())?;
        // What is written at once is bounded by the writer.
        session.set_buffer_limit(None);
        Ok(session)
    }
}

type Shown = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn config(
    roots: &Arc<RootCertStore>,
    shown: Option<Shown>,
) -> Result<Arc<ClientConfig>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions()?;
    let config = config.with_root_certificates(Arc::clone(roots));
    let mut config = match shown {
        None => config.with_no_client_auth(),
        Some((chain, key)) => config.with_client_auth_cert(chain, key)?,
    };
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

/// Of a controller that closes before TLS stands.
pub(crate) const NO_ANSWER: &str =
    "the controller closed it before TLS stood; is this its port for TLS (aldis run --tls-listen)?";

/// What is wrong, and what to do.
pub(crate) fn in_words(why: &rustls::Error) -> String {
    use rustls::Error;
    match why {
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "the controller does not speak TLS there: give its port for TLS, or leave --tls-authority out".into()
        }
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            "the controller's certificate was signed by none of --tls-authority".into()
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "the controller's certificate is for another name: say with --tls-name which it has".into(),
        Error::InvalidCertificate(why) => format!("the controller's certificate is refused: {why}"),
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "the controller wants a certificate: give one with --tls-certificate and --tls-key".into()
        }
        Error::AlertReceived(alert) => {
            format!("the controller broke off TLS ({alert:?}): its log says why")
        }
        why => format!("TLS failed: {why}"),
    }
}
