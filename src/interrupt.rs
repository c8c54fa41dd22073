//! Ctrl-C and SIGTERM while a command works: the first asks it to come to its end, so that what
//! it has is kept and printed.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::EXIT_STOPPED;

/// What becomes true with the first signal; a second one ends the process at once, should anything
/// hang.
///
/// # Errors
/// One sentence: the system lets no signal be watched for.
pub(crate) fn watched() -> Result<Arc<AtomicBool>, String> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, EXIT_STOPPED.into(), Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| format!("cannot watch for signals: {error}"))?;
    }
    Ok(stop)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn the_first_signal_is_told_and_ends_nothing() {
        let stop = watched().unwrap();
        assert!(!stop.load(Ordering::Relaxed));
        signal_hook::low_level::raise(SIGTERM).unwrap();
        assert!(stop.load(Ordering::Relaxed));
    }
}
