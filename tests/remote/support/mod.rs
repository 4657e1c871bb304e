//! What the tests share.

mod cluster;
mod harness;
mod process;
mod server;
mod socket;

pub use cluster::{Cluster, until};
pub use harness::{Harness, invalidation, read, text, tracked, tracked_write, write};
pub use process::{alone, resident_bytes, thread_names};
pub use server::Server;
pub use socket::{Peer, Script};

use std::time::Duration;

/// How long to wait for something that is going to happen: reached only by a failing test.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A read's deadline that passes, but not before the read is on its way.
pub const SOON: Duration = Duration::from_millis(700);

/// How long to watch for something that must not happen.
pub const QUIET: Duration = Duration::from_millis(300);
