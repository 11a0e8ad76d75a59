//! Strangers against a node that serves an honest client at the same time.
#![no_main]

#[path = "../../core/tests/support/hostile.rs"]
mod hostile;

libfuzzer_sys::fuzz_target!(|data: &[u8]| hostile::run(data));
