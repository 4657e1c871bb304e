//! The native half of `dialcache-native`: a cache whose slow, dead or lying Redis never makes a
//! service slower than having no cache.
//!
//! [`core`] holds the rules and knows no sockets, threads or clocks.

pub mod core;
#[cfg(feature = "remote")]
pub mod remote;
