#![no_main]

use dialcache_native::fuzzing::envelope;

libfuzzer_sys::fuzz_target!(|data: &[u8]| envelope(data));
