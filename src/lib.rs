//! The native half of `dialcache-native`: a cache whose slow, dead or lying Redis never makes a
//! service slower than having no cache.
//!
//! [`core`] holds the rules and knows no sockets, threads or clocks; `remote`, under the feature of
//! that name, owns the sockets; the binding, under the feature `node`, brings both to Node.

pub mod core;
#[cfg(feature = "remote")]
pub mod remote;

#[cfg(feature = "node")]
mod binding;

#[cfg(feature = "remote")]
mod sync;

#[cfg(any(test, fuzzing))]
pub mod fuzzing;
