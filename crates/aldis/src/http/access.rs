//! `[http]`: the address, and the access to it.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aldis_http::access::{Access, AccessKey, KeyKind, REQUESTS_PER_S, check_name};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, de};
use toml::value::Datetime;

use super::ServeAt;
use crate::config::location::explain;
use crate::tls::{self, TlsIdentity};

/// The largest file of keys that is read, in bytes: thousands of keys.
const FILE_MAX: u64 = 1024 * 1024;

/// `[http]`, or the address alone.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Section {
    /// Where; [`super::DEFAULT`] when absent.
    pub(crate) at: Option<ServeAt>,
    /// Files of the certificate and its key.
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    /// A file with more keys.
    pub(crate) access: Option<PathBuf>,
    pub(crate) requests_per_s: Option<u32>,
    /// The folder of the laboratory's results, where they are shown.
    pub(crate) reports: Option<PathBuf>,
    pub(crate) keys: KeyRing,
}

/// The table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct HttpTable {
    listen: Option<ServeAt>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    access: Option<PathBuf>,
    requests_per_s: Option<RequestRate>,
    reports: Option<PathBuf>,
    #[serde(default)]
    token: Vec<ToldKey>,
    #[serde(default)]
    user: Vec<ToldKey>,
}

/// Keys as they are told, and a whole file of them.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct KeyRing {
    token: Vec<ToldKey>,
    user: Vec<ToldKey>,
}

/// A key.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToldKey {
    #[serde(deserialize_with = "name")]
    name: String,
    #[serde(deserialize_with = "crate::config::value::parsed")]
    hash: aldis_http::access::SecretHash,
    #[serde(deserialize_with = "crate::config::value::parsed")]
    role: aldis_http::access::AccessRole,
    #[serde(default, deserialize_with = "expiry")]
    expires: Option<SystemTime>,
}

/// Requests a second, 1 to 1000000.
struct RequestRate(u32);

impl<'de> Deserialize<'de> for RequestRate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match i64::deserialize(from)? {
            rate @ 1..=1_000_000 => Ok(RequestRate(rate as u32)),
            other => Err(de::Error::custom(format!("{other}; accepted are 1 to 1000000"))),
        }
    }
}

fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    check_name(&name).map(|()| name).map_err(de::Error::custom)
}

fn expiry<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SystemTime>, D::Error> {
    let moment = Datetime::deserialize(from)?;
    let refused =
        || de::Error::custom(format!("{moment} is no date; write it as 2027-01-31T12:00:00Z"));
    moment_of(&moment).map(Some).ok_or_else(refused)
}

/// A date; without a time its beginning, without an offset in UTC.
fn moment_of(moment: &Datetime) -> Option<SystemTime> {
    let date = moment.date?;
    let (year, month, day) = (i64::from(date.year), i64::from(date.month), i64::from(date.day));
    // Years that begin in March, so that the odd day comes last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let time = moment.time.map_or(0, |time| {
        let second = i64::from(time.second.unwrap_or(0));
        i64::from(time.hour) * 3600 + i64::from(time.minute) * 60 + second
    });
    let offset = match moment.offset {
        Some(toml::value::Offset::Custom { minutes }) => i64::from(minutes) * 60,
        _ => 0,
    };
    // 719468 days before 1970-01-01 is the first of March of the year 0.
    let seconds = (days - 719_468) * 86_400 + time - offset;
    Some(UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).ok()?))
}

impl<'de> Deserialize<'de> for Section {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(SectionVisitor)
    }
}

struct SectionVisitor;

impl<'de> Visitor<'de> for SectionVisitor {
    type Value = Section;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address as \"127.0.0.1:8080\", \"off\", or a table")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Section, E> {
        let at = text.parse().map_err(E::custom)?;
        Ok(Section { at: Some(at), ..Section::default() })
    }

    fn visit_i64<E: de::Error>(self, port: i64) -> Result<Section, E> {
        self.visit_str(&port.to_string())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Section, A::Error> {
        let table = HttpTable::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Section {
            at: table.listen,
            certificate: table.certificate,
            key: table.key,
            access: table.access,
            requests_per_s: table.requests_per_s.map(|RequestRate(rate)| rate),
            reports: table.reports,
            keys: KeyRing { token: table.token, user: table.user },
        })
    }
}

impl Section {
    /// What this comes to, with the files that it names.
    ///
    /// # Errors
    /// One sentence.
    pub(crate) fn access(&self) -> Result<Access, String> {
        let rate = self.requests_per_s.unwrap_or(REQUESTS_PER_S);
        let access = Access::of_this_machine().with_keys(self.keys()?).with_rate(rate);
        match (&self.certificate, &self.key) {
            (None, None) => Ok(access),
            (Some(certificate), Some(key)) => {
                let identity = TlsIdentity::read(certificate, key)?;
                let access = access.with_certificate(identity.chain, identity.key);
                access.map_err(|why| tls::mismatch(certificate, key, &why))
            }
            (Some(_), None) => Err(said_alone("certificate", "key")),
            (None, Some(_)) => Err(said_alone("key", "certificate")),
        }
    }

    fn keys(&self) -> Result<Vec<AccessKey>, String> {
        let mut rings = vec![(None, self.keys.clone())];
        if let Some(file) = &self.access {
            rings.push((Some(file), KeyRing::read(file)?));
        }
        let (mut keys, mut seen) = (vec![], HashSet::new());
        for (file, ring) in rings {
            for key in ring.keys() {
                if !seen.insert((key.kind, key.name.clone())) {
                    let place = file.map_or("[http]".into(), |file| file.display().to_string());
                    let kind = key.kind.name();
                    return Err(format!(
                        "{place}: there are two keys for the {kind} {:?}",
                        key.name
                    ));
                }
                keys.push(key);
            }
        }
        Ok(keys)
    }
}

fn said_alone(one: &str, other: &str) -> String {
    format!(
        "HTTP has a {one} and no {other}: it needs both (--http-certificate and --http-key), or neither"
    )
}

impl KeyRing {
    fn read(file: &Path) -> Result<KeyRing, String> {
        let shown = file.display();
        let text = std::fs::metadata(file).and_then(|about| {
            if about.len() > FILE_MAX {
                return Err(std::io::Error::other("it is larger than a megabyte"));
            }
            std::fs::read_to_string(file)
        });
        let text = text.map_err(|error| format!("cannot read {shown}: {error}"))?;
        toml::from_str(&text).map_err(|error| format!("{shown}:{}", explain(&text, &error)))
    }

    fn keys(self) -> impl Iterator<Item = AccessKey> {
        let key = |kind: KeyKind| {
            move |told: ToldKey| AccessKey {
                kind,
                name: told.name,
                hash: told.hash,
                role: told.role,
                expires: told.expires,
            }
        };
        self.token
            .into_iter()
            .map(key(KeyKind::Token))
            .chain(self.user.into_iter().map(key(KeyKind::User)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "$argon2id$v=19$m=8,t=1,p=1$BwcHBwcHBwcHBwcHBwcHBw$4R1PEQPItpvkTH5juMUak3oEb8rtWEdaRzGIjigkYIU";

    #[derive(Deserialize)]
    struct File {
        http: Section,
    }

    fn read(text: &str) -> Result<Section, String> {
        toml::from_str::<File>(text).map(|file| file.http).map_err(|error| explain(text, &error))
    }

    #[test]
    fn a_section_is_an_address_or_a_table() {
        let here = Some(ServeAt::Address("127.0.0.1:1".parse().unwrap()));
        assert_eq!(read("http = \"127.0.0.1:1\"").unwrap().at, here);
        let section = read("[http]\nlisten = \"127.0.0.1:1\"\nrequests-per-s = 7").unwrap();
        assert_eq!((section.at, section.requests_per_s), (here, Some(7)));
        assert!(section.access().unwrap().is_encrypted() == section.certificate.is_some());
        for (text, place, words) in [
            ("http = \"here\"", "1: http: ", "here:8080"),
            ("http = true", "1: http: ", "or a table"),
            ("[http]\nlisten = \"here\"", "2: listen: ", "here:8080"),
            ("[http]\nport = 7", "2: port: ", "`listen`"),
            ("[http]\nrequests-per-s = 0", "2: requests-per-s: ", "1 to 1000000"),
            ("[[http.token]]\nname = \"a b\"", "2: name: ", "letters, digits"),
            ("[[http.user]]\nname = \"a\"\nhash = \"secret\"", "3: hash: ", "aldis http"),
            ("[[http.user]]\nname = \"a\"\nrole = \"root\"", "3: role: ", "read, write, admin"),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.starts_with(place) && refused.contains(words), "{text}: {refused}");
        }
    }

    #[test]
    fn keys_are_read_with_their_dates() {
        let text = format!(
            "[[http.token]]\nname = \"a\"\nhash = \"{HASH}\"\nrole = \"read\"\nexpires = 2027-01-31T12:00:00+01:00\n\
             [[http.user]]\nname = \"a\"\nhash = \"{HASH}\"\nrole = \"admin\""
        );
        let keys = read(&text).unwrap().keys().unwrap();
        assert_eq!(keys.len(), 2);
        let expires = keys[0].expires.unwrap().duration_since(UNIX_EPOCH).unwrap();
        assert_eq!((expires.as_secs(), keys[1].expires), (1_801_393_200, None));
        let twice = text.replace("[[http.user]]", "[[http.token]]");
        let refused = read(&twice).unwrap().access().unwrap_err();
        assert!(refused.contains("two keys for the token \"a\""), "{refused}");
    }

    #[test]
    fn a_date_is_that_of_the_calendar() {
        for (text, seconds) in [
            ("1970-01-01", 0),
            ("2000-02-29T23:59:59Z", 951_868_799),
            ("2026-11-22T09:00:00", 1_795_338_000),
            ("2100-03-01", 4_107_542_400),
        ] {
            let moment = moment_of(&text.parse().unwrap()).unwrap();
            assert_eq!(moment, UNIX_EPOCH + Duration::from_secs(seconds), "{text}");
        }
        assert_eq!(moment_of(&"12:00:00".parse().unwrap()), None);
    }

    #[test]
    fn half_of_an_identity_is_refused() {
        let refused = read("[http]\nkey = \"a\"").unwrap().access().unwrap_err();
        assert!(refused.contains("a key and no certificate"), "{refused}");
        let section = read("[http]\nkey = \"/nowhere/a\"\ncertificate = \"/nowhere/b\"").unwrap();
        assert!(section.access().unwrap_err().contains("cannot read /nowhere/b"));
        let section = read("[http]\naccess = \"/nowhere/c\"").unwrap();
        assert!(section.access().unwrap_err().contains("cannot read /nowhere/c"));
    }
}
