//! A configuration without its secrets. What looks like one is taken for one.

use toml::{Table, Value};

/// What stands where a secret stood.
const LEFT_OUT: &str = "(left out)";

/// Keys whose values are secrets, or parts of such keys.
const SECRET: [&str; 6] = ["secret", "password", "passphrase", "hash", "token", "credential"];

/// What may be said of a secret: of which name it is, for example.
const ABOUT: [&str; 3] = ["name", "role", "expires"];

/// The configuration without secrets; comments go with them.
///
/// # Errors
/// It is no TOML, and so it is not known where its secrets are.
pub(super) fn configuration(text: &str) -> Result<String, String> {
    // What the parser says of a mistake quotes the line.
    let mut table: Table = text.parse().map_err(|_| "it is no TOML, and is left out whole")?;
    table.iter_mut().for_each(|(key, value)| clean(is_secret(key), value));
    Ok(table.to_string())
}

/// Leaves out what is secret of a value, which stands at a key that is one or is not.
fn clean(at_secret: bool, value: &mut Value) {
    match value {
        Value::Table(table) => table.iter_mut().for_each(|(key, value)| {
            clean(is_secret(key) || at_secret && !ABOUT.contains(&&**key), value);
        }),
        Value::Array(items) => items.iter_mut().for_each(|item| clean(at_secret, item)),
        other => {
            if at_secret || other.as_str().is_some_and(holds_secret) {
                *other = Value::String(LEFT_OUT.into());
            }
        }
    }
}

fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    SECRET.iter().any(|word| key.contains(word))
}

/// A key in place of its file, a hash, or an address with a password.
fn holds_secret(text: &str) -> bool {
    let with_password = text.split_once("://").is_some_and(|(_, rest)| {
        rest.split('/').next().is_some_and(|authority| authority.contains('@'))
    });
    text.contains("-----BEGIN") || text.starts_with("$argon2") || with_password
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_left_out_wherever_they_stand_and_nothing_else_is() {
        let text = r#"
            workers = 2   # password = planted-1
            [http]
            listen = ["127.0.0.1:8080"]
            key = "/etc/aldis/key.pem"
            certificate = "-----BEGIN PRIVATE KEY-----planted-2"
            [[http.token]]
            name = "ci"
            hash = "planted-3"
            [[http.user]]
            name = "ann"
            hash = { new = "planted-4" }
            [[guest]]
            name = "web"
            connect = "tcp://user:planted-5@10.0.0.1:6653"
            api-token = ["planted-6", { a = "planted-7" }]
            note = "$argon2id$planted-8"
        "#;
        let clean = configuration(text).unwrap();
        assert!(!clean.contains("planted"), "{clean}");
        for kept in ["workers = 2", "127.0.0.1:8080", "/etc/aldis/key.pem", "ann", "web"] {
            assert!(clean.contains(kept), "{kept}: {clean}");
        }
        assert!(configuration("password = planted").unwrap_err().find("planted").is_none());
    }
}
