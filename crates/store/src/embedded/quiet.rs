//! Calls into the database that may panic over a file it did not expect: what they find is told in
//! a sentence, and not as a panic on the standard error.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// A panic of this thread is one of those that are told otherwise.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Does it, or none where it panicked. Panics elsewhere are shown as before.
pub(super) fn quietly<T>(call: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let shown = take_hook();
        set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                shown(info);
            }
        }));
    });
    let before = IS_QUIET.replace(true);
    // What the call worked on is dropped by the caller.
    let done = catch_unwind(AssertUnwindSafe(call));
    IS_QUIET.set(before);
    done.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_none_and_the_next_one_elsewhere_is_shown() {
        assert_eq!(quietly(|| 7), Some(7));
        assert_eq!(quietly(|| quietly(|| -> u32 { panic!("inside") })), Some(None));
        assert!(!IS_QUIET.get());
    }
}
