//! What the pure parts of the cache refuse.
//!
//! No message holds a key, an id or a payload: these errors end up in logs.

use thiserror::Error;

/// Why a key cannot be built. The call runs its source uncached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The namespace holds `{` or `}`, which would move a Redis Cluster hash tag.
    #[error("the namespace must not contain `{{` or `}}`")]
    BraceInNamespace,
    /// A tracked key's type holds `{` or `}`.
    #[error("the key type of a tracked key must not contain `{{` or `}}`")]
    BraceInKeyType,
    /// A tracked key's id holds `{` or `}`.
    #[error("the id of a tracked key must not contain `{{` or `}}`")]
    BraceInId,
}

/// Why the bytes under a value key are not a frame that can be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Nothing to serve; the read is a clean miss.
    #[error(transparent)]
    Miss(#[from] FrameMiss),
    /// Byte 9 is neither 0 nor 1; the read has failed.
    #[error("unknown payload encoding {0}")]
    UnknownEncoding(u8),
}

/// Why a frame counts as absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FrameMiss {
    /// Fewer bytes than a header.
    #[error("the frame is shorter than its header")]
    Short,
    /// A version this code does not know.
    #[error("the frame has another version")]
    Version,
    /// A write that has not been stamped yet.
    #[error("the frame is a placeholder")]
    Placeholder,
    /// A creation time past what JavaScript can count in milliseconds.
    #[error("the frame's creation time is out of range")]
    Timestamp,
}
