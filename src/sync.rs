//! The primitives under what two threads share.
//!
//! The queues that use them are compiled a second time in `models/`, where this module is another
//! one: there every order of the threads' steps is tried.

pub use std::sync::{Mutex, MutexGuard, PoisonError};

pub use tokio::sync::Notify;
