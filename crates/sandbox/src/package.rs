//! A package: one file with all of an application.
//!
//! It is a tar archive (POSIX.1-2017 `ustar`), so that `tar tf` lists it: `manifest.toml`,
//! `component.wasm`, any number of files below `pages/`, then `digest`, which is the SHA-256 of
//! everything before it in hexadecimal, then, where it is signed, `signature`, which is that of the
//! digest's 32 bytes with Ed25519 (RFC 8032). A package that is altered does not have its digest; a
//! package of another author does not have the signature of a trusted key.

mod archive;

use std::fmt;

use ring::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};
use sha2::{Digest as _, Sha256};

use crate::limits::{PACKAGE_BYTES_MAX, PACKAGE_FILES_MAX};
use crate::manifest::{Manifest, ManifestError};
use archive::Member;

/// The names of the files of a package.
const MANIFEST: &str = "manifest.toml";
const COMPONENT: &str = "component.wasm";
const PAGES: &str = "pages/";
const DIGEST: &str = "digest";
const SIGNATURE: &str = "signature";

/// The first bytes of a component, and of a core module.
const COMPONENT_MAGIC: &[u8; 8] = b"\0asm\x0d\0\x01\0";
const MODULE_MAGIC: &[u8; 8] = b"\0asm\x01\0\0\0";

/// A package that was read and is in order.
#[derive(Clone, Debug)]
pub struct Package {
    manifest: Manifest,
    component: Vec<u8>,
    pages: Vec<Page>,
    digest: Digest,
    is_signed: bool,
}

/// A file below `pages/`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// Its path, without `pages/`.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The SHA-256 of a package, up to its digest: its identity.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What is wrong with a package: the field, and the reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackageError {
    /// The field: a file of the package, a field of the manifest, or a part of the archive.
    pub field: String,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for PackageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the package is refused: {}: {}", self.field, self.reason)
    }
}

impl std::error::Error for PackageError {}

impl PackageError {
    pub(crate) fn new(field: impl Into<String>, reason: impl Into<String>) -> PackageError {
        PackageError { field: field.into(), reason: reason.into() }
    }
}

impl From<ManifestError> for PackageError {
    fn from(error: ManifestError) -> PackageError {
        PackageError::new(format!("{MANIFEST}: {}", error.field), error.reason)
    }
}

/// Whose packages are accepted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Trust {
    /// Those of any author; a signature is not looked at.
    #[default]
    Anyone,
    /// Those that are signed with one of these Ed25519 keys.
    Keys(Vec<[u8; 32]>),
}

impl Package {
    /// Reads a package.
    ///
    /// # Errors
    /// The first file or field that is missing, altered, too large or out of range.
    pub fn read(bytes: &[u8], trust: &Trust) -> Result<Package, PackageError> {
        if bytes.len() > PACKAGE_BYTES_MAX {
            return Err(PackageError::new("size", format!("more than {PACKAGE_BYTES_MAX} bytes")));
        }
        let members = archive::read(bytes, PACKAGE_FILES_MAX)?;
        let digest = check_digest(bytes, &members)?;
        let is_signed = check_signature(&members, digest, trust)?;
        let manifest = Manifest::read(one(&members, MANIFEST)?.bytes)?;
        let component = one(&members, COMPONENT)?.bytes;
        check_component(component)?;
        let pages = members.iter().map(page).collect::<Result<Vec<_>, _>>()?;
        Ok(Package {
            manifest,
            component: component.to_vec(),
            pages: pages.into_iter().flatten().collect(),
            digest,
            is_signed,
        })
    }

    /// Its manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Its component, as WebAssembly.
    pub fn component(&self) -> &[u8] {
        &self.component
    }

    /// Its pages.
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// Its identity.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Whether a trusted key signed it.
    pub fn is_signed(&self) -> bool {
        self.is_signed
    }
}

/// Makes a package of a manifest, a component and pages, signed where a key in PKCS#8 is given.
///
/// # Errors
/// What [`Package::read`] would refuse in it, or that the key is none.
pub fn pack(
    manifest: &[u8],
    component: &[u8],
    pages: &[Page],
    key: Option<&[u8]>,
) -> Result<Vec<u8>, PackageError> {
    let mut bytes = Vec::new();
    archive::append(&mut bytes, MANIFEST, manifest)?;
    archive::append(&mut bytes, COMPONENT, component)?;
    for page in pages {
        archive::append(&mut bytes, &format!("{PAGES}{}", page.path), &page.bytes)?;
    }
    let digest = Digest(Sha256::digest(&bytes).into());
    archive::append(&mut bytes, DIGEST, digest.to_string().as_bytes())?;
    if let Some(key) = key {
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(key);
        let pair = pair.map_err(|error| PackageError::new("key", error.to_string()))?;
        archive::append(&mut bytes, SIGNATURE, pair.sign(&digest.0).as_ref())?;
    }
    archive::finish(&mut bytes);
    Package::read(&bytes, &Trust::Anyone)?;
    Ok(bytes)
}

/// The one member with this name.
fn one<'m, 'p>(members: &'m [Member<'p>], name: &str) -> Result<&'m Member<'p>, PackageError> {
    let mut named = members.iter().filter(|member| member.name == name);
    match (named.next(), named.next()) {
        (Some(member), None) => Ok(member),
        (None, _) => Err(PackageError::new(name, "missing")),
        (Some(_), Some(_)) => Err(PackageError::new(name, "there twice")),
    }
}

/// The digest, which covers everything before it, and behind which nothing but the signature is.
fn check_digest(bytes: &[u8], members: &[Member<'_>]) -> Result<Digest, PackageError> {
    let member = one(members, DIGEST)?;
    let covered = &bytes[..member.at];
    let digest = Digest(Sha256::digest(covered).into());
    if member.bytes != digest.to_string().as_bytes() {
        return Err(PackageError::new(DIGEST, "the package was altered: its SHA-256 is another"));
    }
    let late = members.iter().find(|late| late.at > member.at && late.name != SIGNATURE);
    match late {
        Some(late) => {
            Err(PackageError::new(late.name, "behind the digest, which does not cover it"))
        }
        None => Ok(digest),
    }
}

/// Whether a trusted key signed the digest.
fn check_signature(
    members: &[Member<'_>],
    digest: Digest,
    trust: &Trust,
) -> Result<bool, PackageError> {
    let Trust::Keys(keys) = trust else { return Ok(false) };
    let signature = one(members, SIGNATURE)?;
    let fits = |key: &[u8; 32]| {
        UnparsedPublicKey::new(&ED25519, key).verify(&digest.0, signature.bytes).is_ok()
    };
    match keys.iter().any(fits) {
        true => Ok(true),
        false => Err(PackageError::new(SIGNATURE, "of none of the trusted keys")),
    }
}

fn check_component(component: &[u8]) -> Result<(), PackageError> {
    let wrong = |reason| Err(PackageError::new(COMPONENT, reason));
    match component.first_chunk() {
        Some(COMPONENT_MAGIC) => Ok(()),
        Some(MODULE_MAGIC) => wrong("a core module; a component is wanted"),
        _ => wrong("not WebAssembly"),
    }
}

/// A page, where the member is one.
fn page(member: &Member<'_>) -> Result<Option<Page>, PackageError> {
    let name = member.name;
    if let Some(path) = name.strip_prefix(PAGES) {
        let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        return match path.split('/').all(is_plain) {
            true => Ok(Some(Page { path: path.to_owned(), bytes: member.bytes.to_vec() })),
            false => Err(PackageError::new(name, "no path of a page")),
        };
    }
    match [MANIFEST, COMPONENT, DIGEST, SIGNATURE].contains(&name) {
        true => Ok(None),
        false => Err(PackageError::new(name, "no file of a package")),
    }
}

#[cfg(test)]
mod tests;
