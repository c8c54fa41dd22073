//! The options by which emulated switches speak TLS.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use aldis_emulator::SwitchTls;
use rustls::pki_types::ServerName;

use aldis::tls;

/// What stands for a switch's datapath id in the name of its file.
const DPID: &str = "{dpid}";

/// How switches speak TLS, if they do.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SecureArgs {
    /// Speak TLS, and believe a controller whose certificate one of the authorities in this file
    /// (PEM) signed.
    #[arg(long, value_name = "FILE")]
    tls_authority: Option<PathBuf>,
    /// The certificate that the switches show, as PEM. {dpid} stands for each switch's datapath id,
    /// with 16 digits, as "aldis pki" names its files: pki/switch-{dpid}.pem. To one for all of
    /// them Aldis has to be told --tls-any-switch.
    #[arg(long, value_name = "FILE", requires_all = ["tls_authority", "tls_key"])]
    tls_certificate: Option<PathBuf>,
    /// The certificate's private key, as PEM; {dpid} as above.
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// The name or address that the controller's certificate has to bear, if it is not the address
    /// that is connected to.
    #[arg(long, value_name = "HOST", requires = "tls_authority")]
    tls_name: Option<String>,
}

impl SecureArgs {
    /// From the files, for switches of these datapath ids; nothing where nothing was said of TLS.
    ///
    /// # Errors
    /// One sentence that names the file, or the name.
    pub(crate) fn secure(
        &self,
        controller: SocketAddr,
        dpids: impl IntoIterator<Item = u32>,
    ) -> Result<Option<SwitchTls>, String> {
        let Some(authority) = &self.tls_authority else { return Ok(None) };
        let refused =
            |why| format!("{} holds no authority that can be used: {why}", authority.display());
        let mut secure = SwitchTls::new(self.name(controller)?, tls::certificates(authority)?)
            .map_err(refused)?;
        if let (Some(certificate), Some(key)) = (&self.tls_certificate, &self.tls_key) {
            if [certificate, key].into_iter().any(|file| of(file, 1) != *file) {
                for dpid in dpids {
                    show(&mut secure, Some(dpid), &of(certificate, dpid), &of(key, dpid))?;
                }
            } else {
                show(&mut secure, None, certificate, key)?;
            }
        }
        Ok(Some(secure))
    }

    fn name(&self, controller: SocketAddr) -> Result<ServerName<'static>, String> {
        match &self.tls_name {
            None => Ok(ServerName::from(controller.ip())),
            Some(name) => ServerName::try_from(name.clone()).map_err(|_| {
                format!("--tls-name: {name:?} is no name that a certificate can have")
            }),
        }
    }
}

/// The file of one switch.
fn of(file: &Path, dpid: u32) -> PathBuf {
    file.to_string_lossy().replace(DPID, &format!("{dpid:016x}")).into()
}

fn show(
    secure: &mut SwitchTls,
    dpid: Option<u32>,
    certificate: &Path,
    key: &Path,
) -> Result<(), String> {
    let tls::TlsIdentity { chain, key: private } = tls::TlsIdentity::read(certificate, key)?;
    secure.show(dpid, chain, private).map_err(|why| tls::mismatch(certificate, key, &why))
}
