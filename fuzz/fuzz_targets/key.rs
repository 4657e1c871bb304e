#![no_main]

use dialcache_native::fuzzing::key;

libfuzzer_sys::fuzz_target!(|data: &[u8]| key(data));
