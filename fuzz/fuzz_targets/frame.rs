#![no_main]

use dialcache_native::fuzzing::frame;

libfuzzer_sys::fuzz_target!(|data: &[u8]| frame(data));
