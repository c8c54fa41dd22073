//! Certificates and keys out of files, with a sentence for whatever is wrong with them.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rustls::pki_types::pem::{Error, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The largest file of certificates or keys that is read, in bytes: the authorities of a whole
/// system are 250 kB.
const FILE_MAX: u64 = 1024 * 1024;

/// An identity: a certificate, with those of the authorities between behind it, and its key.
pub struct TlsIdentity {
    /// The certificates, its own first.
    pub chain: Vec<CertificateDer<'static>>,
    /// The private key of the first.
    pub key: PrivateKeyDer<'static>,
}

impl TlsIdentity {
    /// Reads both.
    ///
    /// # Errors
    /// One sentence that names the file.
    pub fn read(certificate: &Path, key: &Path) -> Result<TlsIdentity, String> {
        Ok(TlsIdentity { chain: certificates(certificate)?, key: private_key(key)? })
    }
}

/// The certificates of a file, one at least.
///
/// # Errors
/// One sentence that names the file.
pub fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
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

/// What is wrong with a certificate and its key, in words.
pub fn mismatch(certificate: &Path, key: &Path, why: &rustls::Error) -> String {
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
