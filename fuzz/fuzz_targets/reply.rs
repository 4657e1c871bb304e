#![no_main]

use dialcache_native::fuzzing::reply;

libfuzzer_sys::fuzz_target!(|data: &[u8]| reply(data));
