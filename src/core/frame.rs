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
