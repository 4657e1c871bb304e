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
    // Keys are percent-encoded, so this is the usual case.
    if text.is_ascii() {
        return text.bytes().fold(seed, |hash, byte| step(hash, u32::from(byte)));
    }
    text.encode_utf16().fold(seed, |hash, unit| step(hash, u32::from(unit)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Key, layer and FNV-1a of `key:layer` in UTF-16, computed by another implementation.
    const FIXTURES: [(&str, &str, u32); 10] = [
        ("", "local", 0x851e_c530),
        ("urn:user_id:123#GetUser", "local", 0x76f2_a590),
        ("urn:user_id:123#GetUser", "remote", 0xd5a5_15fb),
        ("urn:user_id:123#GetUser", "shadow", 0x7bf4_a309),
        ("{urn:user_id:123}?locale=en#GetUser", "remote", 0x0cb7_ceca),
        ("urn:t:1#Größe", "local", 0x4dd7_7384),
        ("urn:t:1#価格", "remote", 0xf0c5_23ef),
        ("urn:t:1#🚀", "local", 0x12f0_5cd4),
        ("urn:t:1#🚀", "remote", 0xdbf6_a737),
        ("urn:t:%F0%9F%9A%80#GetUser", "local", 0x707e_2f16),
    ];

    #[test]
    fn cohorts_are_those_of_other_implementations() {
        for (key, layer, hash) in FIXTURES {
            let expected = f64::from(hash) / 4_294_967_296.0 * 100.0;
            assert_eq!(cohort(key, layer).to_bits(), expected.to_bits(), "{key} {layer}");
        }
    }

    #[test]
    fn a_key_is_admitted_when_its_cohort_is_below_the_ramp() {
        for (key, layer, _) in FIXTURES {
            let cohort = cohort(key, layer);
            assert!(!admits(cohort, key, layer), "{key}: at its cohort");
            assert!(admits(cohort.next_up(), key, layer), "{key}: just above");
            assert!(!admits(cohort.next_down(), key, layer), "{key}: just below");
        }
    }

    #[test]
    fn the_ends_of_the_ramp_admit_nothing_and_everything() {
        for (key, layer, _) in FIXTURES {
            for nothing in [0.0, -0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
                assert!(!admits(nothing, key, layer), "{nothing}");
            }
            for everything in [100.0, 100.5, f64::INFINITY] {
                assert!(admits(everything, key, layer), "{everything}");
            }
        }
    }

    /// How many of `urn:user_id:0..10000#GetUser` each percentage lets in, counted elsewhere.
    #[test]
    fn a_ramp_admits_about_its_share_of_keys() {
        for (percent, expected) in [(1.0, 109), (10.0, 984), (50.0, 4949), (99.0, 9895)] {
            let admitted = (0..10_000)
                .filter(|id| admits(percent, &format!("urn:user_id:{id}#GetUser"), "local"))
                .count();
            assert_eq!(admitted, expected, "{percent} %");
        }
    }

    proptest! {
        #[test]
        fn a_cohort_is_a_percentage_of_the_whole_string(key in ".*", layer in "[a-z_]*") {
            let value = cohort(&key, &layer);
            prop_assert!((0.0..100.0).contains(&value));
            let mut hash = FNV_OFFSET;
            for unit in format!("{key}:{layer}").encode_utf16() {
                hash = (hash ^ u32::from(unit)).wrapping_mul(FNV_PRIME);
            }
            prop_assert_eq!(value.to_bits(), (f64::from(hash) / HASHES * 100.0).to_bits());
        }

        #[test]
        fn raising_a_ramp_never_drops_a_key(key in ".*", low in 0.0..100.0, more in 0.0..100.0) {
            if admits(low, &key, "local") {
                prop_assert!(admits(low + more, &key, "local"));
            }
        }
    }
}
