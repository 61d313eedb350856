//! `cargo +nightly fuzz run scene`: bytes as a scene file.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| linkwork_fuzz::scene(bytes));
