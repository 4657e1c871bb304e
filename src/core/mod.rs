//! The rules of the cache as pure code: no sockets, no threads, no clock reads.

pub mod deadline;
pub mod envelope;
pub mod error;
pub mod frame;
pub mod key;
pub mod local;
pub mod policy;
pub mod ramp;
mod zstd_codec;
