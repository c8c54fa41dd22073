//! Where to listen, as people write it: an address with a port, a port alone, or a name with a
//! port.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// One place to listen for switches at: a name may have several addresses. A port alone is that
/// port of all addresses, as the default is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Listen(pub(crate) Vec<SocketAddr>);

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        read(text, Ipv4Addr::UNSPECIFIED.into(), "0.0.0.0:6653").map(Listen)
    }
}

/// The address that a text names: a port alone is that port of `alone`, a name is looked up.
///
/// # Errors
/// One sentence, with `example` in it.
pub(crate) fn read(text: &str, alone: IpAddr, example: &str) -> Result<Vec<SocketAddr>, String> {
    if let Ok(address) = text.parse() {
        return Ok(vec![address]);
    }
    let refused = || format!("\"{text}\" is no address; write it as \"{example}\"");
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = |port: &str| match port.parse::<u16>() {
        Err(_) if is_number(port) => Err(format!("\"{text}\": a port is a number from 0 to 65535")),
        port => port.map_err(|_| refused()),
    };
    if is_number(text) {
        return Ok(vec![SocketAddr::new(alone, port(text)?)]);
    }
    let Some((name, number)) = text.rsplit_once(':').filter(|_| text.parse::<IpAddr>().is_err())
    else {
        let port = example.rsplit_once(':').map_or("", |(_, port)| port);
        let shown = if text.contains(':') { format!("[{text}]") } else { text.to_owned() };
        return Err(match text.is_empty() {
            true => refused(),
            false => format!("\"{text}\" has no port; write it as \"{shown}:{port}\""),
        });
    };
    let number = port(number)?;
    if name.is_empty() {
        return Ok(vec![SocketAddr::new(alone, number)]);
    }
    let found = (name, number).to_socket_addrs();
    let found = found.map_err(|error| {
        format!(
            "\"{text}\": the name {name} has no address here: {error}; write it as \"{example}\""
        )
    })?;
    // Those of IPv4 first: it is these that clients ask where nothing is said. Nothing twice.
    let mut addresses: Vec<SocketAddr> = found.collect();
    addresses.sort_by_key(SocketAddr::is_ipv6);
    addresses.dedup();
    if addresses.is_empty() { Err(refused()) } else { Ok(addresses) }
}

/// The addresses of `listen` in a file: a list of texts or ports, or one of them.
pub(crate) fn addresses<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<SocketAddr>, D::Error> {
    struct Addresses;
    impl<'de> Visitor<'de> for Addresses {
        type Value = Vec<SocketAddr>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "an address such as \"0.0.0.0:6653\", or a list of them")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            text.parse().map(|Listen(addresses)| addresses).map_err(E::custom)
        }

        fn visit_i64<E: de::Error>(self, port: i64) -> Result<Self::Value, E> {
            self.visit_str(&port.to_string())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut all = vec![];
            while let Some(One(addresses)) = list.next_element()? {
                all.extend(addresses);
            }
            if all.is_empty() {
                let why = "at least one address is needed, such as \"0.0.0.0:6653\"";
                return Err(de::Error::custom(why));
            }
            Ok(all)
        }
    }

    /// An item of the list, which is no list again.
    struct One(Vec<SocketAddr>);
    impl<'de> Deserialize<'de> for One {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            struct Item;
            impl Visitor<'_> for Item {
                type Value = One;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    write!(f, "an address such as \"0.0.0.0:6653\"")
                }

                fn visit_str<E: de::Error>(self, text: &str) -> Result<One, E> {
                    Addresses.visit_str(text).map(One)
                }

                fn visit_i64<E: de::Error>(self, port: i64) -> Result<One, E> {
                    Addresses.visit_i64(port).map(One)
                }
            }
            from.deserialize_any(Item)
        }
    }

    from.deserialize_any(Addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listen(text: &str) -> Result<Vec<String>, String> {
        let Listen(addresses) = text.parse()?;
        Ok(addresses.iter().map(SocketAddr::to_string).collect())
    }

    #[test]
    fn an_address_is_read_as_people_write_it() {
        for (text, address) in [
            ("0.0.0.0:6653", "0.0.0.0:6653"),
            ("6653", "0.0.0.0:6653"),
            (":6653", "0.0.0.0:6653"),
            ("[::1]:6653", "[::1]:6653"),
            ("0", "0.0.0.0:0"),
        ] {
            assert_eq!(listen(text), Ok(vec![address.into()]), "{text}");
        }
        assert_eq!(listen("localhost:6653").unwrap()[0], "127.0.0.1:6653");
        let alone = read("8090", Ipv4Addr::LOCALHOST.into(), "127.0.0.1:8080").unwrap();
        assert_eq!(alone, ["127.0.0.1:8090".parse().unwrap()]);
    }

    #[test]
    fn what_is_no_address_is_refused_with_one_that_is() {
        for (text, words) in [
            ("here", "\"here\" has no port; write it as \"here:6653\""),
            ("127.0.0.1", "write it as \"127.0.0.1:6653\""),
            ("::1", "write it as \"[::1]:6653\""),
            ("", "is no address; write it as \"0.0.0.0:6653\""),
            ("65536", "a port is a number from 0 to 65535"),
            ("127.0.0.1:65536", "a port is a number from 0 to 65535"),
            ("127.0.0.1:x", "is no address"),
            ("no such host.invalid:1", "the name no such host.invalid has no address here"),
        ] {
            let refused = listen(text).unwrap_err();
            assert!(refused.contains(words), "{text}: {refused}");
            assert_eq!(refused.lines().count(), 1);
        }
    }

    #[test]
    fn a_file_has_one_address_or_several() {
        #[derive(Deserialize, Debug)]
        struct File {
            #[serde(deserialize_with = "addresses")]
            listen: Vec<SocketAddr>,
        }
        for (text, count) in [
            ("listen = 6653", 1),
            ("listen = \":6653\"", 1),
            ("listen = [6653, \"127.0.0.1:6633\"]", 2),
        ] {
            assert_eq!(toml::from_str::<File>(text).unwrap().listen.len(), count, "{text}");
        }
        for text in ["listen = true", "listen = [[6653]]", "listen = []", "listen = 1.5"] {
            let refused = toml::from_str::<File>(text).unwrap_err();
            let words = aldis_plain::plain(refused.message());
            assert!(words.contains("0.0.0.0:6653") && !words.contains("expected"), "{words}");
        }
    }
}
