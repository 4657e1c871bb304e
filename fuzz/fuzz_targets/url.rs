#![no_main]

use dialcache_native::fuzzing::url;

libfuzzer_sys::fuzz_target!(|data: &[u8]| url(data));
