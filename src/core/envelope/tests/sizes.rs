//! Which form is stored, to the byte.

use super::*;

#[test]
fn no_compressed_form_is_stored_that_is_not_smaller() {
    // The first needs no escape, the second does and is one longer for it.
    for first in [b'A', MARKER_ZSTD_TEXT] {
        let mut compressed = 0;
        for (random, run) in (1..60).flat_map(|random| (0..60).map(move |run| (random, run))) {
            let mut plain = noise(random);
            plain[0] = first;
            plain.resize(random + run, b'a');
            let stored = escape(bytes(&plain)).len();
            let sealed = seal(bytes(&plain), ALWAYS);
            if sealed.outcome == SealOutcome::Compressed {
                assert!(sealed.payload.len() < stored, "{random} and {run}");
                compressed += 1;
            } else {
                assert_eq!(sealed.payload.len(), stored);
            }
        }
        assert!(compressed > 100, "{compressed}");
    }
}
