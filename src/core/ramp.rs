//! Gradual rollout: which keys a partial ramp lets through.
//!
//! The cohort of a key is a hash and never a draw, so a key stays on its side of the ramp in every
//! process, and in `DialCache` for TypeScript, which computes the same one.

const FNV_OFFSET: u32 = 0x811c_9dc5;
const FNV_PRIME: u32 = 0x0100_0193;
const HASHES: f64 = 4_294_967_296.0;

/// Where `key` stands in `layer`'s rollout: 0 up to, not including, 100.
///
/// FNV-1a (32 bit) over the UTF-16 code units of `key:layer`, as a share of 2^32, in percent.
#[must_use]
pub fn cohort(key: &str, layer: &str) -> f64 {
    let hash = fnv_utf16(fnv_utf16(FNV_OFFSET, key), ":");
    f64::from(fnv_utf16(hash, layer)) / HASHES * 100.0
}

/// Whether a ramp of `percent` lets `key` into `layer`.
///
/// 0 or less, and NaN, let nothing in; 100 or more lets everything in without hashing.
#[must_use]
pub fn admits(percent: f64, key: &str, layer: &str) -> bool {
    if percent >= 100.0 {
        return true;
    }
    percent > 0.0 && cohort(key, layer) < percent
}

fn fnv_utf16(seed: u32, text: &str) -> u32 {
    let step = |hash: u32, unit: u32| (hash ^ unit).wrapping_mul(FNV_PRIME);
    // Keys are percent-encoded but for the use case's name, so this is the usual case.
    if text.is_ascii() {
        return text.bytes().fold(seed, |hash, byte| step(hash, u32::from(byte)));
    }
    text.encode_utf16().fold(seed, |hash, unit| step(hash, u32::from(unit)))
}
