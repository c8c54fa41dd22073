//! Any bytes between the controller and a sandboxed application, from either side.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| match bytes.split_first() {
    Some((0, commands)) => aldis_records::fuzz::commands(commands),
    Some((_, events)) => aldis_app::fuzz::events(events),
    None => {}
});
