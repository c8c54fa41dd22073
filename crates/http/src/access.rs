//! Access: the keys that are known, the role that a request needs, and how often an address may
//! ask.
//!
//! A *key* is a token, for programs, or a password, for people. Of either only a hash is known here
//! (Argon2id), so that a reader of the configuration cannot use it. There is no key by default, and
//! so no default password: without keys a server answers this machine alone, and every program
//! there may do everything.
//!
//! 1. [`AccessRole`] — what a key may do, and `AccessRole::needed`, the one table of what each
//!    route needs;
//! 2. `keys` — from the headers of a request to its key;
//! 3. `rate` — how often.
//!
//! Deliberately absent: sessions, cookies and log-in pages. Every request carries its key.

pub(crate) mod keys;
pub(crate) mod rate;
mod role;

use std::sync::Arc;
use std::time::SystemTime;

use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

pub use keys::{BadHash, SecretHash, check_name};
pub use role::{AccessRole, BadRole};

use crate::routes::RouteTable;
use keys::Keys;

/// Requests a second from one address where keys are needed, unless the configuration has another
/// number.
pub const REQUESTS_PER_S: u32 = 200;

/// What a route needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needed {
    /// The method, in small letters.
    pub method: &'static str,
    /// The path as the router has it, parts of it in braces.
    pub path: &'static str,
    /// Requests need a key of at least this role.
    pub role: AccessRole,
}

/// Every route there is, with what it needs.
pub fn routes() -> Vec<Needed> {
    RouteTable::all().needs()
}

/// Which kind of key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum KeyKind {
    /// For programs: sent as `Authorization: Bearer NAME.SECRET`.
    Token,
    /// For people: sent as `Authorization: Basic`, as browsers do.
    User,
}

impl KeyKind {
    /// As people call it.
    pub fn name(self) -> &'static str {
        match self {
            KeyKind::Token => "token",
            KeyKind::User => "user",
        }
    }
}

/// One key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessKey {
    /// Token or password.
    pub kind: KeyKind,
    /// Its name; among those of its kind there is one of a name.
    pub name: String,
    /// Of the secret.
    pub hash: SecretHash,
    /// What it is good for.
    pub role: AccessRole,
    /// From when on it is good for nothing.
    pub expires: Option<SystemTime>,
}

/// The keys and the certificate of a server.
#[derive(Debug)]
pub struct Access {
    pub(crate) keys: Keys,
    pub(crate) tls: Option<Arc<ServerConfig>>,
    pub(crate) requests_per_s: u32,
}

impl Access {
    /// Every request from this machine may do everything; requests from elsewhere do not get here.
    pub fn of_this_machine() -> Access {
        Access { keys: Keys::new(vec![]), tls: None, requests_per_s: REQUESTS_PER_S }
    }

    /// Only requests with one of these keys. Without any it is [`Access::of_this_machine`].
    #[must_use]
    pub fn with_keys(self, keys: Vec<AccessKey>) -> Access {
        Access { keys: Keys::new(keys), ..self }
    }

    /// So many requests a second from one address, at most, five times as many at once; only where
    /// there are keys.
    #[must_use]
    pub fn with_rate(self, requests_per_s: u32) -> Access {
        Access { requests_per_s: requests_per_s.max(1), ..self }
    }

    /// Over TLS, with this certificate (those of the authorities between behind it) and its key.
    ///
    /// # Errors
    /// The key is not that of the certificate, or of a kind that is not known.
    pub fn with_certificate(
        self,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Access, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth();
        let mut config = config.with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Access { tls: Some(Arc::new(config)), ..self })
    }

    /// Whether other machines may reach the server: requests are encrypted, and need a key.
    pub fn is_locked(&self) -> bool {
        self.tls.is_some() && !self.keys.is_empty()
    }

    /// Whether a key is needed.
    pub fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Whether it is spoken over TLS.
    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }
}
