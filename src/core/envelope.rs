//! What stands in a frame after its header: text as it is, bytes with a marker where they need one.
//!
//! In binary encoding a payload that starts with 0x01 or 0x02 is zstd of a string or of bytes, and
//! 0x00 before a byte 0x00-0x02 is an escape. So raw bytes that begin with 0x00-0x02 are always
//! escaped, compression on or off: nothing a serializer writes can be taken for a marker.

use super::frame::Encoding;
use super::zstd_codec::{self, Refusal, Uncompressed, compress_after, decompress_within};

/// The most bytes a payload may decompress to: 512 MiB.
pub const MAX_DECOMPRESSED_BYTES: usize = 512 << 20;

const MARKER_ESCAPE: u8 = 0x00;
const MARKER_ZSTD_TEXT: u8 = 0x01;
const MARKER_ZSTD_BYTES: u8 = 0x02;

/// A serialized value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// What a serializer returned as a string.
    Text(String),
    /// What a serializer returned as a Buffer; and every sealed payload that needs a marker.
    Bytes(Vec<u8>),
}

impl Payload {
    /// The frame encoding this payload goes under.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        match self {
            Self::Text(_) => Encoding::Utf8,
            Self::Bytes(_) => Encoding::Binary,
        }
    }

    /// The bytes, UTF-8 of a text.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// True when there is not one byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }
}

/// When and how hard to compress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compression {
    /// Payloads of at least this many bytes are compressed.
    pub threshold_bytes: usize,
    /// zstd level, 1 to 22.
    pub level: i32,
}

/// What became of a payload on its way into a frame: a metric label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SealOutcome {
    /// Compression is off.
    Disabled,
    /// Too small to be compressed.
    BelowThreshold,
    /// Compressing would not have made it smaller.
    NotSmaller,
    /// Bigger than a reader may decompress, so stored as it is.
    OverLimit,
    /// The compressor failed for want of memory, so stored as it is.
    Failed,
    /// Stored compressed.
    Compressed,
}

/// A payload ready for [`super::frame::encode`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// What to store.
    pub payload: Payload,
    /// How it came to be that.
    pub outcome: SealOutcome,
    /// Bytes before sealing.
    pub original_bytes: usize,
}

/// What became of a payload on its way out of a frame: a metric label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpenOutcome {
    /// It was not compressed.
    Passthrough,
    /// It was decompressed.
    Decompressed,
    /// It looked compressed but is not, or is corrupt, and was handed on as it is.
    FallbackRaw,
    /// It is compressed, but of more than the permitted bytes, and was handed on as it is.
    OverLimit,
}

/// A payload for the serializer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// What the serializer gets.
    pub payload: Payload,
    /// How it came to be that.
    pub outcome: OpenOutcome,
}

/// How often the calling thread has compressed or decompressed a payload: which threads do is a promise.
#[must_use]
pub fn codec_runs_here() -> u32 {
    zstd_codec::runs_here()
}

/// Puts a payload into its envelope; `None` never compresses.
#[must_use]
pub fn seal(payload: Payload, compression: Option<Compression>) -> Sealed {
    seal_within(payload, compression, MAX_DECOMPRESSED_BYTES)
}

/// [`seal`] with another bound on what is compressed, in bytes.
#[must_use]
pub fn seal_within(payload: Payload, compression: Option<Compression>, max_bytes: usize) -> Sealed {
    let original_bytes = payload.len();
    let outcome = match compression {
        None => SealOutcome::Disabled,
        Some(compression) if original_bytes < compression.threshold_bytes || original_bytes == 0 => {
            SealOutcome::BelowThreshold
        }
        Some(_) if original_bytes > max_bytes => SealOutcome::OverLimit,
        Some(compression) => {
            // Raw bytes that need an escape are one longer when stored.
            let room = original_bytes - usize::from(!needs_escape(&payload));
            match compress_after(marker(&payload), payload.as_bytes(), compression.level, room) {
                Err(Uncompressed::NotSmaller) => SealOutcome::NotSmaller,
                Err(Uncompressed::Failed) => SealOutcome::Failed,
                Ok(compressed) => {
                    return Sealed {
                        payload: Payload::Bytes(compressed),
                        outcome: SealOutcome::Compressed,
                        original_bytes,
                    };
                }
            }
        }
    };
    Sealed {
        payload: escape(payload),
        outcome,
        original_bytes,
    }
}

/// Takes a frame's body out of its envelope. Never fails: what cannot be opened is handed on as it
/// is, for the serializer to refuse.
#[must_use]
pub fn open(encoding: Encoding, body: Vec<u8>) -> Opened {
    open_within(encoding, body, MAX_DECOMPRESSED_BYTES)
}

/// Whether [`open`] has something to decompress.
#[must_use]
pub const fn is_compressed(encoding: Encoding, body: &[u8]) -> bool {
    matches!(encoding, Encoding::Binary) && matches!(body, [MARKER_ZSTD_TEXT | MARKER_ZSTD_BYTES, ..])
}

/// Bytes that [`open`] decompresses a body to; `None` when it has nothing to decompress, and the
/// bound when the body does not say.
#[must_use]
pub fn decompressed_bytes(encoding: Encoding, body: &[u8]) -> Option<usize> {
    is_compressed(encoding, body).then(|| zstd_codec::stated_bytes(&body[1..]).unwrap_or(MAX_DECOMPRESSED_BYTES))
}

/// [`open`] with another bound on the decompressed size, in bytes.
#[must_use]
pub fn open_within(encoding: Encoding, mut body: Vec<u8>, max_bytes: usize) -> Opened {
    let passthrough = |payload| Opened {
        payload,
        outcome: OpenOutcome::Passthrough,
    };
    if encoding == Encoding::Utf8 {
        return passthrough(Payload::Text(into_text(body)));
    }
    match *body.as_slice() {
        [MARKER_ESCAPE, MARKER_ESCAPE..=MARKER_ZSTD_BYTES, ..] => {
            body.remove(0);
            passthrough(Payload::Bytes(body))
        }
        [marker @ (MARKER_ZSTD_TEXT | MARKER_ZSTD_BYTES), ref compressed @ ..] => {
            let (payload, outcome) = match decompress_within(compressed, max_bytes) {
                Ok(plain) if marker == MARKER_ZSTD_TEXT => (Payload::Text(into_text(plain)), OpenOutcome::Decompressed),
                Ok(plain) => (Payload::Bytes(plain), OpenOutcome::Decompressed),
                Err(Refusal::Corrupt) => (Payload::Bytes(body), OpenOutcome::FallbackRaw),
                Err(Refusal::TooBig) => (Payload::Bytes(body), OpenOutcome::OverLimit),
            };
            Opened { payload, outcome }
        }
        _ => passthrough(Payload::Bytes(body)),
    }
}

fn needs_escape(payload: &Payload) -> bool {
    matches!(payload, Payload::Bytes(bytes) if matches!(bytes.first(), Some(0x00..=0x02)))
}

fn escape(mut payload: Payload) -> Payload {
    if needs_escape(&payload)
        && let Payload::Bytes(bytes) = &mut payload
    {
        bytes.insert(0, MARKER_ESCAPE);
    }
    payload
}

fn marker(payload: &Payload) -> u8 {
    match payload {
        Payload::Text(_) => MARKER_ZSTD_TEXT,
        Payload::Bytes(_) => MARKER_ZSTD_BYTES,
    }
}

/// Like a JavaScript decoder: what is not UTF-8 becomes U+FFFD, and the serializer decides.
fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|broken| String::from_utf8_lossy(broken.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests;
