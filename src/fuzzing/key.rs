use std::fmt::Write as _;

use crate::core::key::{FRAME_SUFFIX, KeyScheme};
use crate::core::ramp;
use crate::core::slot::{SLOTS, slot};

/// Four texts, cut at line ends: namespace, key type, use case and id.
///
/// # Panics
/// When a key does not tell its parts, when a value and its watermark are in two slots, or when a ramp
/// is not one.
pub fn key(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let mut lines = text.split('\n');
    let mut part = || lines.next().unwrap_or_default();
    let [namespace, key_type, use_case, id] = [part(), part(), part(), part()];
    for tracked in [false, true] {
        let Ok(scheme) = KeyScheme::new(namespace, key_type, use_case, tracked) else {
            let refused = has_brace(namespace) || (tracked && has_brace(key_type));
            assert!(refused, "refused without a reason");
            continue;
        };
        let Ok(value_key) = scheme.value_key(id, "?a=1") else {
            assert!(tracked && has_brace(id) && scheme.check_id(id).is_err());
            continue;
        };
        let parts = [namespace, key_type, id].map(reference).join(":");
        let parts = if tracked { format!("{{{parts}}}") } else { parts };
        let logical = format!("{parts}?a=1#{}", reference(use_case));
        assert_eq!(value_key, format!("{logical}{FRAME_SUFFIX}"));
        assert_eq!(scheme.prefix(id).as_deref(), Ok(parts.as_str()));
        assert!(slot(&value_key) < SLOTS);
        match scheme.watermark_key(id) {
            Ok(watermark) if tracked => assert_eq!(slot(&value_key), slot(&watermark)),
            Ok(_) => {}
            Err(_) => assert!(has_brace(id) || has_brace(key_type)),
        }
        let cohort = ramp::cohort(&logical, "local");
        assert!((0.0..100.0).contains(&cohort));
        assert!(ramp::admits(cohort.next_up(), &logical, "local") && !ramp::admits(cohort, &logical, "local"));
    }
}

fn has_brace(text: &str) -> bool {
    text.contains(['{', '}'])
}

/// `encodeURIComponent`, byte by byte as the standard has it.
fn reference(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").expect("a String takes everything");
        }
        encoded
    })
}
