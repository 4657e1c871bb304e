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

/// Why options of a source or of a hedged read are refused. Each message names the option and its
/// value.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum OptionError {
    /// A policy that repeats calls, for a source that does not say that repeating is harmless.
    #[error("{policy} starts a call more than once: it needs idempotent: true, and idempotent is false")]
    NotIdempotent {
        /// `hedge`, `failover` or `retry`.
        policy: &'static str,
    },
    /// A number outside its range.
    #[error("{option} must be {rule}, got {value}")]
    OutOfRange {
        /// The option's name.
        option: &'static str,
        /// What it must be.
        rule: &'static str,
        /// What it was.
        value: f64,
    },
    /// A name that is none of the known ones.
    #[error("{option} must be one of {known}, got {value:?}")]
    UnknownName {
        /// The option's name.
        option: &'static str,
        /// The names there are.
        known: &'static str,
        /// What it was.
        value: Box<str>,
    },
    /// A delay that cannot end before the time is up.
    #[error("{option} must be below {limit} ({limit_ms}), got {value}: the hedge would never start")]
    BeyondLimit {
        /// The delay's name.
        option: &'static str,
        /// The time limit's name.
        limit: &'static str,
        /// The time limit in milliseconds.
        limit_ms: f64,
        /// The delay in milliseconds.
        value: f64,
    },
    /// A first wait above the longest one.
    #[error("retry.baseDelayMs must not be above retry.maxDelayMs ({max_ms}), got {value}")]
    BaseAboveMax {
        /// The longest wait in milliseconds.
        max_ms: f64,
        /// The first wait in milliseconds.
        value: f64,
    },
    /// An option that all calls of a source share, named for one call.
    #[error("{option} belongs to the source: it cannot be set for one call, got {value}")]
    SharedByCalls {
        /// The option's name.
        option: &'static str,
        /// What it was.
        value: f64,
    },
}
