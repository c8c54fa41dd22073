//! `[tls]`: switches over TLS.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use aldis_engine::{Identity, Secure};
#[cfg(feature = "http")]
use aldis_http::AccessControl;
use serde::Deserialize;
use tracing::info;

use crate::address::{Listen, addresses};
use crate::config::Config;
use crate::tls;

/// The default port for switches over TLS, beside 6653.
const DEFAULT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::UNSPECIFIED), 6654);

/// `[tls]`, and what the command line says of it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TlsTable {
    /// Address to listen on for switches over TLS; may be given several times [default:
    /// 0.0.0.0:6654, with the next three]
    #[cfg_attr(
        feature = "cli",
        arg(id = "tls_listen", long = "tls-listen", value_name = "[ADDR:]PORT")
    )]
    #[serde(deserialize_with = "listens")]
    listen: Vec<Listen>,
    /// The certificate that switches see, as PEM; "aldis pki" makes one
    #[cfg_attr(
        feature = "cli",
        arg(id = "tls_certificate", long = "tls-certificate", value_name = "FILE")
    )]
    certificate: Option<PathBuf>,
    /// The certificate's private key, as PEM
    #[cfg_attr(feature = "cli", arg(id = "tls_key", long = "tls-key", value_name = "FILE"))]
    key: Option<PathBuf>,
    /// The authorities whose switches are let in, as PEM
    #[cfg_attr(
        feature = "cli",
        arg(id = "tls_authority", long = "tls-authority", value_name = "FILE")
    )]
    authority: Option<PathBuf>,
    /// Let in whatever an authority signed, and not only certificates that name their switch
    /// (dpid-0000000000000001)
    #[cfg_attr(feature = "cli", arg(id = "tls_any-switch", long = "tls-any-switch"))]
    any_switch: bool,
    /// Listen for no switches without TLS
    #[cfg_attr(feature = "cli", arg(id = "tls_only", long = "tls-only"))]
    only: bool,
}

impl TlsTable {
    /// The command line's before the file's.
    #[cfg(feature = "cli")]
    pub(crate) fn or(self, file: TlsTable) -> TlsTable {
        TlsTable {
            listen: if self.listen.is_empty() { file.listen } else { self.listen },
            certificate: self.certificate.or(file.certificate),
            key: self.key.or(file.key),
            authority: self.authority.or(file.authority),
            any_switch: self.any_switch || file.any_switch,
            only: self.only || file.only,
        }
    }

    /// Whether only a restart makes these count.
    pub(crate) fn differ(&self, other: &TlsTable) -> bool {
        let fixed = |settings: &TlsTable| {
            let on = settings.certificate.is_some();
            (settings.listen.clone(), settings.any_switch, settings.only, on)
        };
        fixed(self) != fixed(other)
    }

    /// Whether only TLS is accepted.
    pub(crate) fn only(&self) -> bool {
        self.only
    }

    /// The addresses and the controller's identity; nothing where TLS is not configured.
    ///
    /// # Errors
    /// One sentence.
    pub(crate) fn secure(&self) -> Result<Option<Secure>, String> {
        let said = self.listen.iter().flat_map(|Listen(addresses)| addresses).copied();
        let listen = if self.listen.is_empty() { vec![DEFAULT] } else { said.collect() };
        Ok(self.identity()?.map(|identity| Secure { listen, identity }))
    }

    /// The controller's identity, from the files as they are now.
    fn identity(&self) -> Result<Option<Identity>, String> {
        let (certificate, key, authority) = match (&self.certificate, &self.key, &self.authority) {
            (Some(certificate), Some(key), Some(authority)) => (certificate, key, authority),
            (None, None, None) if self.listen.is_empty() && !self.only => return Ok(None),
            _ => {
                return Err(
                    "TLS for switches needs a certificate, its key and an authority (--tls-certificate, --tls-key, \
                     --tls-authority): \"aldis pki\" makes all three"
                        .into(),
                );
            }
        };
        let tls::TlsIdentity { chain, key: private } = tls::TlsIdentity::read(certificate, key)?;
        let authorities = tls::certificates(authority)?;
        let identity = Identity::new(chain, private, authorities, !self.any_switch);
        identity.map(Some).map_err(|why| tls::mismatch(certificate, key, &why))
    }
}

fn listens<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Listen>, D::Error> {
    Ok(vec![Listen(addresses(from)?)])
}

/// What may get other certificates and keys while it runs.
pub(crate) struct TlsHandles {
    #[cfg(feature = "http")]
    pub(crate) http: Option<AccessControl>,
    /// Where it listens for switches over TLS.
    pub(crate) switches: Option<Identity>,
}

impl TlsHandles {
    /// Certificates and keys as their files are now, for connections and requests from now on. No
    /// connection ends, and on an error nothing changes.
    ///
    /// # Errors
    /// One sentence.
    pub(crate) fn read_again(&self, config: &Config) -> Result<(), String> {
        let identity = config.tls.identity()?;
        let over_http = self.read_http_again(config)?;
        if let (Some(switches), Some(identity)) = (&self.switches, &identity) {
            switches.replace(identity);
        }
        // Where there are none, none were read.
        if over_http || identity.is_some() {
            info!("certificates and keys were read again");
        }
        Ok(())
    }

    /// Those of HTTP; whether there are any.
    #[cfg(feature = "http")]
    fn read_http_again(&self, config: &Config) -> Result<bool, String> {
        let access = config.http.access()?;
        let is_any = self.http.is_some() && (access.is_encrypted() || access.has_keys());
        if let Some(http) = &self.http {
            http.admit(access).map_err(|refused| refused.to_string())?;
        }
        Ok(is_any)
    }

    /// Without HTTP there are none.
    #[cfg(not(feature = "http"))]
    fn read_http_again(&self, _: &Config) -> Result<bool, String> {
        Ok(false)
    }
}
