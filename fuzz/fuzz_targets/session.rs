//! Any conversation with a switch.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| aldis_control::session::fuzz::conversation(bytes));
