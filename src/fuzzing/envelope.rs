use crate::core::envelope::{self, Compression, OpenOutcome, Payload, SealOutcome};
use crate::core::frame::Encoding;

/// Small enough that a fuzzer finds what is bigger.
const BOUND: usize = 1 << 16;

/// Opens the bytes as what they may be in Redis, and seals and opens them as what they may be here.
///
/// # Panics
/// When a payload does not come out as it went in, or comes out bigger than the bound.
pub fn envelope(data: &[u8]) {
    let Some((&settings, body)) = data.split_first() else {
        return;
    };
    for encoding in [Encoding::Utf8, Encoding::Binary] {
        let stated = envelope::decompressed_bytes(encoding, body);
        assert_eq!(stated.is_some(), envelope::is_compressed(encoding, body));
        let opened = envelope::open_within(encoding, body.to_vec(), BOUND);
        match opened.outcome {
            OpenOutcome::Decompressed => assert!(opened.payload.len() <= BOUND * 3, "U+FFFD has three bytes"),
            OpenOutcome::FallbackRaw | OpenOutcome::OverLimit => assert_eq!(opened.payload.as_bytes(), body),
            OpenOutcome::Passthrough => assert!(stated.is_none()),
        }
    }
    let compression = (settings & 1 == 0).then(|| Compression {
        threshold_bytes: usize::from(settings >> 4),
        level: 1 + i32::from(settings >> 1 & 7),
    });
    let text = String::from_utf8_lossy(body).into_owned();
    for payload in [Payload::Bytes(body.to_vec()), Payload::Text(text)] {
        let sealed = envelope::seal_within(payload.clone(), compression, BOUND);
        assert_eq!(sealed.original_bytes, payload.len());
        if sealed.outcome == SealOutcome::Compressed {
            assert!(sealed.payload.len() < payload.len() + 1, "stored only when smaller");
        } else {
            assert!(sealed.payload.len() <= payload.len() + 1);
        }
        let encoding = sealed.payload.encoding();
        let stored = sealed.payload.as_bytes().to_vec();
        let opened = envelope::open_within(encoding, stored, BOUND);
        assert_eq!(opened.payload, payload);
    }
}
