//! Any bytes of a guest, within one of several grants.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| aldis_guest::fuzz::inbound(bytes));
