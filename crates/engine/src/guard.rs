//! The guard: it catches the panic of an application, so that the worker goes on with the others.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Makes a call; what its panic said, where it panics.
pub(crate) fn guard(call: &mut dyn FnMut()) -> Result<(), String> {
    // What the call leaves half done is not looked at again: the application is left out, and what
    // it wrote is forgotten.
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| format!("it panicked: {}", text(&*panic)))
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a word")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_with_its_words() {
        let mut calls = 0;
        assert_eq!(guard(&mut || calls += 1), Ok(()));
        assert_eq!(calls, 1);
        let port = std::hint::black_box(7);
        let with_words = guard(&mut || panic!("no port {port}"));
        assert_eq!(with_words, Err("it panicked: no port 7".to_owned()));
        let without = guard(&mut || std::panic::panic_any(port));
        assert_eq!(without, Err("it panicked: without a word".to_owned()));
    }
}
