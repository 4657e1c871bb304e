//! The bytes stored under a value key.
//!
//! | bytes | |
//! |---|---|
//! | 0 | version: 1 served, 0 a placeholder that nobody serves |
//! | 1-8 | creation time in milliseconds, big-endian; a random nonce in a placeholder |
//! | 9 | encoding: 0 UTF-8, 1 binary |
//! | 10- | the payload, see [`super::envelope`] |

use super::envelope::Payload;
use super::error::{FrameError, FrameMiss};

/// Bytes before the payload.
pub const HEADER_BYTES: usize = 10;

/// The version that is served.
pub const VERSION: u8 = 1;

/// The version of a write that is not stamped yet.
pub const PLACEHOLDER_VERSION: u8 = 0;

/// JavaScript's `Number.MAX_SAFE_INTEGER`: later times cannot be told apart there.
const MAX_CREATED_AT_MS: u64 = (1 << 53) - 1;

/// How a payload's bytes are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Text, byte 9 = 0.
    Utf8,
    /// Bytes in an envelope, byte 9 = 1.
    Binary,
}

/// A frame that can be served, borrowed from the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Milliseconds since the epoch: the server's for tracked keys, the writer's for others.
    pub created_at_ms: u64,
    /// How to read the body.
    pub encoding: Encoding,
    /// The payload in its envelope.
    pub body: &'a [u8],
}

/// The first [`HEADER_BYTES`] of a served frame.
#[must_use]
pub fn header(created_at_ms: u64, encoding: Encoding) -> [u8; HEADER_BYTES] {
    write_header(VERSION, created_at_ms.to_be_bytes(), encoding)
}

/// Appends a served frame around a sealed payload.
pub fn encode(created_at_ms: u64, payload: &Payload, out: &mut Vec<u8>) {
    append(header(created_at_ms, payload.encoding()), payload, out);
}

/// Appends a placeholder: nobody serves it until the stamp script, finding this nonce, gives it
/// its version and its time.
pub fn encode_placeholder(nonce: [u8; 8], payload: &Payload, out: &mut Vec<u8>) {
    append(
        write_header(PLACEHOLDER_VERSION, nonce, payload.encoding()),
        payload,
        out,
    );
}

/// Reads a frame without copying its body.
///
/// # Errors
/// [`FrameError::Miss`] when there is nothing to serve, [`FrameError::UnknownEncoding`] when the
/// frame is one, but its payload cannot be understood.
pub fn decode(raw: &[u8]) -> Result<Frame<'_>, FrameError> {
    let Some((header, body)) = raw.split_first_chunk::<HEADER_BYTES>() else {
        return Err(FrameMiss::Short.into());
    };
    let [version, time @ .., encoding] = *header;
    match version {
        VERSION => {}
        PLACEHOLDER_VERSION => return Err(FrameMiss::Placeholder.into()),
        _ => return Err(FrameMiss::Version.into()),
    }
    let created_at_ms = u64::from_be_bytes(time);
    if created_at_ms > MAX_CREATED_AT_MS {
        return Err(FrameMiss::Timestamp.into());
    }
    let encoding = match encoding {
        0 => Encoding::Utf8,
        1 => Encoding::Binary,
        other => return Err(FrameError::UnknownEncoding(other)),
    };
    Ok(Frame {
        created_at_ms,
        encoding,
        body,
    })
}

/// The time a frame gives, whether or not the rest of it can be understood.
#[must_use]
pub fn created_at_ms(raw: &[u8]) -> Option<u64> {
    let (_, rest) = raw.split_first()?;
    rest.first_chunk().map(|time| u64::from_be_bytes(*time))
}

fn write_header(version: u8, time: [u8; 8], encoding: Encoding) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[0] = version;
    header[1..9].copy_from_slice(&time);
    header[9] = match encoding {
        Encoding::Utf8 => 0,
        Encoding::Binary => 1,
    };
    header
}

fn append(header: [u8; HEADER_BYTES], payload: &Payload, out: &mut Vec<u8>) {
    let body = payload.as_bytes();
    out.reserve(HEADER_BYTES + body.len());
    out.extend_from_slice(&header);
    out.extend_from_slice(body);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2023-11-14T22:13:20.123Z.
    const CREATED_AT_MS: u64 = 1_700_000_000_123;
    const CREATED_AT_BYTES: [u8; 8] = [0x00, 0x00, 0x01, 0x8b, 0xcf, 0xe5, 0x68, 0x7b];

    fn bytes(parts: &[&[u8]]) -> Vec<u8> {
        parts.concat()
    }

    #[test]
    fn a_text_frame_byte_by_byte() {
        let mut out = vec![0xff];
        encode(CREATED_AT_MS, &Payload::Text("é".into()), &mut out);
        let expected = bytes(&[&[0xff, 1], &CREATED_AT_BYTES, &[0, 0xc3, 0xa9]]);
        assert_eq!(out, expected, "appended after what was there");
        assert_eq!(
            decode(&out[1..]),
            Ok(Frame {
                created_at_ms: CREATED_AT_MS,
                encoding: Encoding::Utf8,
                body: "é".as_bytes(),
            })
        );
    }

    #[test]
    fn a_binary_frame_byte_by_byte() {
        let mut out = Vec::new();
        encode(CREATED_AT_MS, &Payload::Bytes(vec![0xde, 0xad]), &mut out);
        assert_eq!(out, bytes(&[&[1], &CREATED_AT_BYTES, &[1, 0xde, 0xad]]));
        let frame = decode(&out).unwrap();
        assert_eq!((frame.encoding, frame.body), (Encoding::Binary, &[0xde, 0xad][..]));
    }

    #[test]
    fn a_placeholder_holds_its_nonce_and_is_a_miss() {
        let nonce = [1, 2, 3, 4, 5, 6, 7, 8];
        let mut out = Vec::new();
        encode_placeholder(nonce, &Payload::Text("x".into()), &mut out);
        assert_eq!(out, [0, 1, 2, 3, 4, 5, 6, 7, 8, 0, b'x']);
        assert_eq!(decode(&out), Err(FrameMiss::Placeholder.into()));
    }

    #[test]
    fn a_frame_shorter_than_its_header_is_a_miss() {
        let whole = bytes(&[&[1], &CREATED_AT_BYTES, &[0]]);
        for length in 0..HEADER_BYTES {
            assert_eq!(decode(&whole[..length]), Err(FrameMiss::Short.into()), "{length}");
        }
        assert_eq!(decode(&whole).map(|frame| frame.body), Ok(&[][..]));
    }

    #[test]
    fn every_other_version_is_a_miss() {
        for version in (0..=u8::MAX).filter(|version| *version != VERSION) {
            // The encoding of another version may mean anything, so it is no error there.
            let raw = bytes(&[&[version], &CREATED_AT_BYTES, &[7, b'x']]);
            assert!(matches!(decode(&raw), Err(FrameError::Miss(_))), "{version}");
        }
    }

    #[test]
    fn an_unknown_encoding_is_an_error_and_not_a_miss() {
        for encoding in 2..=u8::MAX {
            let raw = bytes(&[&[1], &CREATED_AT_BYTES, &[encoding]]);
            assert_eq!(decode(&raw), Err(FrameError::UnknownEncoding(encoding)));
        }
    }

    #[test]
    fn a_creation_time_that_javascript_cannot_count_is_a_miss() {
        let at = |ms: u64| decode(&header(ms, Encoding::Utf8)).map(|frame| frame.created_at_ms);
        assert_eq!(at(9_007_199_254_740_991), Ok(9_007_199_254_740_991));
        assert_eq!(at(9_007_199_254_740_992), Err(FrameMiss::Timestamp.into()));
        assert_eq!(at(u64::MAX), Err(FrameMiss::Timestamp.into()));
        assert_eq!(at(0), Ok(0));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            created_at_ms in 0..=MAX_CREATED_AT_MS,
            text in ".*",
            raw: Vec<u8>,
        ) {
            for payload in [Payload::Text(text), Payload::Bytes(raw)] {
                let mut out = Vec::new();
                encode(created_at_ms, &payload, &mut out);
                let frame = decode(&out).unwrap();
                prop_assert_eq!(frame.created_at_ms, created_at_ms);
                prop_assert_eq!(frame.encoding, payload.encoding());
                prop_assert_eq!(frame.body, payload.as_bytes());
            }
        }

        #[test]
        fn any_bytes_decode_without_a_panic(raw: Vec<u8>) {
            if let Ok(frame) = decode(&raw) {
                prop_assert_eq!(frame.body.len(), raw.len() - HEADER_BYTES);
            }
        }
    }
}
