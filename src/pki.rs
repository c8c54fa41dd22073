//! `aldis pki`: an authority of one's own, and the certificates that it signs: for the controller,
//! its HTTP, and switches.
//!
//! Elliptic curves (P-256) throughout. A switch's certificate names its datapath id, to which
//! `aldis run` holds it. Bridges of one Open vSwitch have one certificate, for it has one for each
//! database: that names the datapath ids of all.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aldis_wire::DatapathId;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

/// What the authority is called in its certificate, and so in all that it signed.
const AUTHORITY: &str = "Aldis authority";

/// Names that the controller and its HTTP answer to anyway.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Days that an authority is good for: ten years.
const AUTHORITY_DAYS: u64 = 3650;

const DAY_S: u64 = 86_400;

/// Switches that share a certificate: with more it would be longer than a record of TLS, and no
/// Open vSwitch has as many bridges.
const SHARED_MAX: usize = 256;

/// Arguments of `aldis pki`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  aldis pki pki --name controller.example --switch 1 --switch 2
  aldis pki pki --switch 3,4,5                        one certificate for three bridges of one Open vSwitch
  aldis run --tls-certificate pki/controller.pem --tls-key pki/controller.key --tls-authority pki/ca.pem
  ovs-vsctl set-ssl pki/switch-0000000000000001.key pki/switch-0000000000000001.pem pki/ca.pem
  ovs-vsctl set-controller s1 ssl:127.0.0.1:6654

In the folder are afterwards: ca.pem and ca.key, the authority; controller.pem and .key, for switches to see; http.pem and .key,
for HTTP; switch-DPID.pem and .key for each switch, of several that share one by the first. Keys can be read by their owner alone.
Run again, it signs more switches with the same authority. No file is replaced, except with --renew, and never the authority. It
is meant for laboratories and small networks: whoever reads ca.key can pretend to be any switch.")]
pub(crate) struct Args {
    /// The folder, which is made where there is none
    folder: PathBuf,
    /// Make a certificate for the switch of this datapath id, or one for all of these: the bridges
    /// of an Open vSwitch share theirs; may be given several times
    #[arg(long, value_name = "DPID[,DPID…]")]
    switch: Vec<Bridges>,
    /// Another name or address of the controller; may be given several times
    #[arg(long, value_name = "HOST")]
    name: Vec<String>,
    /// Days that certificates are good for
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u64).range(1..=3650))]
    days: u64,
    /// Replace the certificates that are there already, with new keys; not the authority
    #[arg(long)]
    renew: bool,
}

/// Switches that share a certificate.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Bridges(Vec<DatapathId>);

impl FromStr for Bridges {
    type Err = String;

    fn from_str(text: &str) -> Result<Bridges, String> {
        let read = |part: &str| {
            let part = part.trim();
            part.parse::<DatapathId>().map_err(|why| format!("\"{part}\" is {why}"))
        };
        let all: Vec<_> = text.split(',').map(read).collect::<Result<_, _>>()?;
        match all.len() {
            1..=SHARED_MAX => Ok(Bridges(all)),
            many => Err(format!("{many} switches; accepted are {SHARED_MAX} for one certificate")),
        }
    }
}

/// Makes what is missing.
///
/// # Errors
/// One sentence: a file that is there already, or cannot be written.
pub(crate) fn run(args: Args) -> Result<ExitCode, String> {
    let folder = &args.folder;
    let wanted = wanted(&args)?;
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let authority = authority(folder)?;
    for WantedCertificate { file, params } in wanted {
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &authority).map_err(failed)?;
        let [pem, key_pem] = ends(folder, &file);
        write(&key_pem, &key.serialize_pem(), 0o600, args.renew)?;
        write(&pem, &certificate.pem(), 0o644, args.renew)?;
        println!("{}", pem.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// A certificate that is to be made, and its file without an end.
struct WantedCertificate {
    file: String,
    params: CertificateParams,
}

/// What is to be made: what is there already is refused where it was asked for by name, before
/// anything is written.
fn wanted(args: &Args) -> Result<Vec<WantedCertificate>, String> {
    let mut names: Vec<String> = NAMES.map(str::to_owned).into();
    names.extend(args.name.iter().cloned());
    let mut wanted = vec![];
    for file in ["controller", "http"] {
        let there = ends(&args.folder, file).iter().any(|file| file.exists());
        if args.renew || !there {
            let params =
                params(file, names.clone(), args.days, ExtendedKeyUsagePurpose::ServerAuth)?;
            wanted.push(WantedCertificate { file: file.into(), params });
        }
    }
    let all = args.switch.iter().flat_map(|Bridges(all)| all);
    let mut seen = HashSet::new();
    if let Some(twice) = all.copied().find(|dpid| !seen.insert(*dpid)) {
        return Err(format!("switch {twice} is named twice: one certificate is enough for it"));
    }
    for Bridges(all) in &args.switch {
        wanted.extend(shared(args, all)?);
    }
    Ok(wanted)
}

/// The certificate of these switches, after the first of them.
fn shared(args: &Args, all: &[DatapathId]) -> Result<Option<WantedCertificate>, String> {
    let Some(DatapathId(first)) = all.first() else { return Ok(None) };
    let file = format!("switch-{first:016x}");
    if let Some(there) = ends(&args.folder, &file).iter().find(|file| file.exists())
        && !args.renew
    {
        return Err(format!(
            "{} is there already: --renew replaces it, and the controller's certificates too",
            there.display()
        ));
    }
    let names: Vec<_> = all.iter().map(|DatapathId(dpid)| format!("dpid-{dpid:016x}")).collect();
    let name = names[0].clone();
    let params = params(&name, names, args.days, ExtendedKeyUsagePurpose::ClientAuth)?;
    Ok(Some(WantedCertificate { file, params }))
}

fn params(
    name: &str,
    names: Vec<String>,
    days: u64,
    purpose: ExtendedKeyUsagePurpose,
) -> Result<CertificateParams, String> {
    let mut params = CertificateParams::new(names)
        .map_err(|why| format!("a name of the controller cannot stand in a certificate: {why}"))?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages = vec![purpose];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    last(&mut params, days);
    Ok(params)
}

/// From yesterday, for clocks that differ, for so many days.
fn last(params: &mut CertificateParams, days: u64) {
    let today = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let today = today.as_secs() / DAY_S;
    let date = |day| {
        let (year, month, day) = aldis_http::date_of_day(day);
        date_time_ymd(year as i32, month as u8, day as u8)
    };
    params.not_before = date(today.saturating_sub(1));
    params.not_after = date(today + days + 1);
}

/// The one of the folder, or a new one.
fn authority(folder: &Path) -> Result<Issuer<'static, KeyPair>, String> {
    let [pem, key_pem] = ends(folder, "ca");
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    last(&mut params, AUTHORITY_DAYS);
    let key = match (pem.exists(), key_pem.exists()) {
        (true, true) => {
            let text = fs::read_to_string(&key_pem)
                .map_err(|error| format!("cannot read {}: {error}", key_pem.display()))?;
            let key = KeyPair::from_pem(&text);
            let key = key
                .map_err(|why| format!("{} is no key of an authority: {why}", key_pem.display()))?;
            name(&mut params, &key);
            key
        }
        (false, false) => {
            let key = KeyPair::generate().map_err(failed)?;
            name(&mut params, &key);
            write(&key_pem, &key.serialize_pem(), 0o600, false)?;
            let certificate = params.self_signed(&key).map_err(failed)?;
            write(&pem, &certificate.pem(), 0o644, false)?;
            println!("{}", pem.display());
            key
        }
        _ => {
            return Err(format!(
                "{} holds half of an authority: of ca.pem and ca.key one is missing",
                folder.display()
            ));
        }
    };
    Ok(Issuer::new(params, key))
}

/// After its key, so that two authorities are told apart.
fn name(params: &mut CertificateParams, key: &KeyPair) {
    let digits = key.public_key_raw().iter().skip(1).take(4).map(|byte| format!("{byte:02x}"));
    let name = format!("{AUTHORITY} {}", digits.collect::<String>());
    params.distinguished_name.push(DnType::CommonName, name);
}

/// Certificate and key.
fn ends(folder: &Path, file: &str) -> [PathBuf; 2] {
    ["pem", "key"].map(|end| folder.join(format!("{file}.{end}")))
}

/// Where it replaces a file, whole or not at all.
fn write(file: &Path, text: &str, mode: u32, replace: bool) -> Result<(), String> {
    let cannot = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            format!("{} is there already, and is not replaced", file.display())
        }
        _ => format!("cannot write {}: {error}", file.display()),
    };
    let new = if replace { file.with_extension("new") } else { file.to_owned() };
    if replace {
        // Of an attempt that was ended half-way.
        let _ = fs::remove_file(&new);
    }
    let mut open = OpenOptions::new();
    let written = open.write(true).create_new(true).mode(mode).open(&new);
    let written = written.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(cannot)?;
    if replace { fs::rename(&new, file).map_err(cannot) } else { Ok(()) }
}

fn failed(why: rcgen::Error) -> String {
    format!("cannot make a certificate: {why}")
}
