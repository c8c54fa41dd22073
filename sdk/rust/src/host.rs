//! What the controller offers besides events and commands: typed calls.

use crate::guest::aldis::app::{host, kv, network};

/// Writes a line to the log at once; [`crate::Output::info`] writes one when the call returns.
pub fn log(text: &str) {
    host::log(host::Level::Info, text);
}

/// Writes a warning to the log at once.
pub fn warn(text: &str) {
    host::log(host::Level::Warning, text);
}

/// Nanoseconds since the controller started.
pub fn now() -> u64 {
    host::now()
}

/// The value of a key in the application's own space, which survives its restarts.
pub fn value(key: &str) -> Option<Vec<u8>> {
    kv::get(key)
}

/// Sets the value of a key.
///
/// # Errors
/// Which bound of the manifest (`kv-bytes`) does not allow it.
pub fn set_value(key: &str, value: &[u8]) -> Result<(), String> {
    kv::set(key, value)
}

/// Removes a key, if it is there.
pub fn remove_value(key: &str) {
    kv::remove(key);
}

/// What the controller knows of the whole network, as REST gives it below `/api/v1/`, in JSON:
/// `switches`, `hosts`, `links`, `ports` or `port-statistics`.
///
/// # Errors
/// Why there is none, for example that the manifest does not ask for it (`grants.snapshots`).
pub fn snapshot(name: &str) -> Result<Vec<u8>, String> {
    network::snapshot(name)
}
