//! OpenFlow messages of every version, from any bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| aldis_wire::fuzz::decode(bytes));
