//! The rules of the cache as pure code: no sockets, no threads, no clock reads.

pub mod chain;
pub mod deadline;
pub mod engine;
pub mod envelope;
pub mod error;
pub mod flight;
pub mod frame;
pub mod hedge;
pub mod key;
pub mod local;
pub mod metrics;
pub mod policy;
pub mod ramp;
pub mod shadow;
pub mod slot;
pub mod source;
pub mod watermark;
mod zstd_codec;

/// Nanoseconds on a monotonic clock whose zero is nobody's business.
pub type Nanos = u64;
