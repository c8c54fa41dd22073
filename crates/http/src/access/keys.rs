//! From what a request says to the key that it has.
//!
//! A hash takes some twenty milliseconds and as many megabytes, on purpose. So what was found to be
//! right is remembered as long as these keys count, by a digest with a secret of this process: a
//! script that asks a thousand times is hashed once.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use argon2::password_hash::phc::{PasswordHash, Salt};
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params};
use axum::http::HeaderValue;
use base64ct::{Base64, Encoding};
use sha2::{Digest, Sha256};

use super::{AccessKey, KeyKind};

/// Letters of a key's name.
const NAME_MAX: usize = 64;

/// Bytes of what a request says of itself.
const CREDENTIAL_MAX: usize = 1024;

/// Secrets that are remembered. Above that all are forgotten, and cost a hash each.
const REMEMBERED_MAX: usize = 1024;

/// Kilobytes, rounds and lanes of a hash that is accepted: each attempt to guess costs us as much.
const COST_MAX: [u32; 3] = [256 * 1024, 16, 4];

/// The Argon2 hash of a secret, as a PHC string: `$argon2id$v=19$m=…,t=…,p=…$SALT$HASH`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SecretHash(PasswordHash);

/// A hash that is none, or costs too much.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadHash(String);

impl fmt::Display for BadHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no hash of Argon2 ({}); \"aldis http\" makes one", self.0)
    }
}

impl std::error::Error for BadHash {}

impl SecretHash {
    /// Of a secret, at the usual cost: 19 MiB, two rounds (the least that OWASP advises).
    ///
    /// # Errors
    /// A secret that is longer than four gigabytes.
    pub fn of(secret: &[u8], salt: [u8; 16]) -> Result<SecretHash, BadHash> {
        SecretHash::costing(secret, salt, Params::default())
    }

    /// Of a secret, at next to no cost: for tests.
    #[cfg(test)]
    pub(crate) fn cheap(secret: &str) -> SecretHash {
        SecretHash::costing(secret.as_bytes(), [7; 16], Params::new(8, 1, 1, None).unwrap())
            .unwrap()
    }

    fn costing(secret: &[u8], salt: [u8; 16], cost: Params) -> Result<SecretHash, BadHash> {
        let argon2 = Argon2::new(Algorithm::Argon2id, argon2::Version::V0x13, cost);
        let hash = argon2.hash_password_with_salt(secret, &salt);
        hash.map(SecretHash).map_err(|why| BadHash(why.to_string()))
    }

    fn is_of(&self, secret: &[u8]) -> bool {
        Argon2::default().verify_password(secret, &self.0).is_ok()
    }
}

impl fmt::Display for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for SecretHash {
    type Err = BadHash;

    fn from_str(text: &str) -> Result<Self, BadHash> {
        let bad = |why: &str| BadHash(why.to_owned());
        let hash = PasswordHash::new(text).map_err(|why| bad(&why.to_string()))?;
        if Algorithm::try_from(hash.algorithm.as_str()).is_err() {
            return Err(bad("it is of another algorithm"));
        }
        if hash.salt.as_ref().is_none_or(|salt: &Salt| salt.len() < 8) || hash.hash.is_none() {
            return Err(bad("its salt or the hash itself is missing or too short"));
        }
        let cost = Params::try_from(&hash).map_err(|why| bad(&why.to_string()))?;
        let cost = [cost.m_cost(), cost.t_cost(), cost.p_cost()];
        if cost.iter().zip(COST_MAX).any(|(cost, max)| *cost > max) {
            return Err(bad("it costs more than 256 MiB, 16 rounds and 4 lanes"));
        }
        Ok(SecretHash(hash))
    }
}

/// The key that a request offers.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct OfferedKey {
    pub(crate) kind: KeyKind,
    pub(crate) name: String,
    secret: Vec<u8>,
}

impl OfferedKey {
    /// What an `Authorization` header says; nothing where it says nothing that makes sense.
    pub(crate) fn read(header: &HeaderValue) -> Option<OfferedKey> {
        let text = header.to_str().ok().filter(|text| text.len() <= CREDENTIAL_MAX)?;
        let (scheme, rest) = text.split_once(' ')?;
        let rest = rest.trim();
        if scheme.eq_ignore_ascii_case("bearer") {
            let (name, secret) = rest.rsplit_once('.')?;
            Some(OfferedKey::new(KeyKind::Token, name, secret.as_bytes()))
        } else if scheme.eq_ignore_ascii_case("basic") {
            let pair = Base64::decode_vec(rest).ok()?;
            let colon = pair.iter().position(|byte| *byte == b':')?;
            let name = std::str::from_utf8(&pair[..colon]).ok()?;
            Some(OfferedKey::new(KeyKind::User, name, &pair[colon + 1..]))
        } else {
            None
        }
    }

    fn new(kind: KeyKind, name: &str, secret: &[u8]) -> OfferedKey {
        OfferedKey { kind, name: name.to_owned(), secret: secret.to_owned() }
    }
}

/// The keys that are known, and the secrets that were found to be right.
pub(crate) struct Keys {
    keys: Vec<AccessKey>,
    by_name: HashMap<(KeyKind, String), usize>,
    /// Of this process alone.
    pepper: [u8; 32],
    remembered: Mutex<HashMap<[u8; 32], usize>>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.by_name.keys()).finish()
    }
}

impl Keys {
    /// Of two keys of a kind and name the first counts.
    pub(crate) fn new(keys: Vec<AccessKey>) -> Keys {
        let mut by_name = HashMap::new();
        for (at, key) in keys.iter().enumerate() {
            by_name.entry((key.kind, key.name.clone())).or_insert(at);
        }
        let mut pepper = [0; 32];
        // Without it every secret is hashed: see `remember`.
        let random = rustls::crypto::ring::default_provider().secure_random;
        let _ = random.fill(&mut pepper);
        Keys { keys, by_name, pepper, remembered: Mutex::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether this key is among them, as it is.
    pub(crate) fn has(&self, key: &AccessKey) -> bool {
        let at = self.by_name.get(&(key.kind, key.name.clone()));
        at.is_some_and(|at| self.keys[*at] == *key)
    }

    /// The key that was found to be right before; takes no time.
    pub(crate) fn recall(&self, offered: &OfferedKey) -> Option<&AccessKey> {
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.get(&self.digest(offered)).map(|at| &self.keys[*at])
    }

    /// The key, where the secret is right; takes its time whether or not there is such a name.
    pub(crate) fn verify(&self, offered: &OfferedKey) -> Option<&AccessKey> {
        let at = self.by_name.get(&(offered.kind, offered.name.clone()));
        let key = self.keys.get(at.copied().unwrap_or(0))?;
        let is_right = key.hash.is_of(&offered.secret);
        let at = *at.filter(|_| is_right)?;
        self.remember(offered, at);
        Some(key)
    }

    fn remember(&self, offered: &OfferedKey, at: usize) {
        if self.pepper == [0; 32] {
            return;
        }
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= REMEMBERED_MAX {
            remembered.clear();
        }
        remembered.insert(self.digest(offered), at);
    }

    fn digest(&self, offered: &OfferedKey) -> [u8; 32] {
        let mut digest = Sha256::new();
        digest.update(self.pepper);
        digest.update([offered.kind as u8]);
        digest.update((offered.name.len() as u64).to_be_bytes());
        digest.update(offered.name.as_bytes());
        digest.update(&offered.secret);
        digest.finalize().into()
    }
}

impl AccessKey {
    /// Whether its time is over.
    pub(crate) fn is_expired(&self, now: SystemTime) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// Whether this may be the name of a key.
///
/// # Errors
/// One sentence.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._@".contains(&byte);
    if (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(is_plain) {
        return Ok(());
    }
    Err(format!("{name:?} is no name; accepted are 1 to {NAME_MAX} of letters, digits and -._@"))
}

#[cfg(test)]
mod tests {
    use super::super::AccessRole;
    use super::*;

    fn read(text: &str) -> Option<(KeyKind, String, Vec<u8>)> {
        let offered = OfferedKey::read(&HeaderValue::from_str(text).unwrap())?;
        Some((offered.kind, offered.name, offered.secret))
    }

    #[test]
    fn a_request_says_who_it_is_in_two_ways() {
        let token = Some((KeyKind::Token, "ci.east".into(), b"abc".to_vec()));
        assert_eq!(read("Bearer ci.east.abc"), token);
        assert_eq!(read("bearer   ci.east.abc"), token);
        // "ada:se:cret"
        let user = Some((KeyKind::User, "ada".into(), b"se:cret".to_vec()));
        assert_eq!(read("Basic YWRhOnNlOmNyZXQ="), user);
        for text in ["", "Bearer", "Bearer abc", "Basic YWRh", "Basic %%%", "Digest x.y", "x.y"] {
            assert_eq!(read(text), None, "{text:?}");
        }
        assert_eq!(read(&format!("Bearer a.{}", "b".repeat(CREDENTIAL_MAX))), None);
    }

    #[test]
    fn only_the_right_secret_of_the_right_kind_and_name_is_a_key() {
        let key = |kind, name: &str, secret| AccessKey {
            kind,
            name: name.into(),
            hash: SecretHash::cheap(secret),
            role: AccessRole::Read,
            expires: None,
        };
        let keys = Keys::new(vec![key(KeyKind::Token, "a", "one"), key(KeyKind::User, "b", "two")]);
        let found = |kind, name, secret: &str| {
            let offered = OfferedKey::new(kind, name, secret.as_bytes());
            let first = keys.verify(&offered).map(|key| key.name.clone());
            assert_eq!(keys.recall(&offered).map(|key| key.name.clone()), first);
            first
        };
        assert_eq!(found(KeyKind::Token, "a", "one").as_deref(), Some("a"));
        assert_eq!(found(KeyKind::User, "b", "two").as_deref(), Some("b"));
        for (kind, name, secret) in [
            (KeyKind::Token, "a", "two"),
            (KeyKind::Token, "a", ""),
            (KeyKind::User, "a", "one"),
            (KeyKind::Token, "b", "two"),
            (KeyKind::Token, "", "one"),
            (KeyKind::Token, "c", "one"),
        ] {
            assert_eq!(found(kind, name, secret), None, "{kind:?} {name} {secret}");
        }
    }

    #[test]
    fn a_hash_is_read_as_it_is_written_and_one_that_costs_too_much_is_refused() {
        let hash = SecretHash::of(b"secret", [1; 16]).unwrap();
        let text = hash.to_string();
        assert!(text.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{text}");
        let again: SecretHash = text.parse().unwrap();
        assert!(again.is_of(b"secret") && !again.is_of(b"Secret"));
        let cheap = SecretHash::cheap("x").to_string();
        for text in [
            "",
            "secret",
            "$2b$12$abcdefghijklmnopqrstuuVGJ4fGsTAFZBmQOOvVSvCZAWDRYCdm2",
            "$argon2id$v=19$m=8,t=1,p=1",
            "$scrypt$ln=1,r=1,p=1$BwcHBwcHBwcHBwcHBwcHBw$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            &cheap.replace("m=8", "m=4194304"),
            &cheap.replace("t=1", "t=4000000000"),
        ] {
            assert!(text.parse::<SecretHash>().is_err(), "{text:?}");
        }
    }
}
