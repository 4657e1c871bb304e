//! How much may be pending on one node.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::options::Settings;

/// What is pending, as a count and in bytes.
#[derive(Debug, Default)]
pub(super) struct Budget {
    pending: AtomicUsize,
    bytes: AtomicUsize,
}

impl Budget {
    /// Takes a share, which has to be given back even when this says why it is too much.
    pub fn take(&self, bytes: usize, limits: &Settings) -> Option<&'static str> {
        let pending = self.pending.fetch_add(1, Ordering::Relaxed);
        let held = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if pending >= limits.max_pending {
            Some("maxPending requests are pending already")
        } else if bytes > limits.max_pending_bytes {
            Some("the request has more bytes than maxPendingBytes")
        } else if bytes > limits.max_pending_bytes.saturating_sub(held) {
            Some("maxPendingBytes of requests are pending already")
        } else {
            None
        }
    }

    pub fn give_back(&self, bytes: usize) {
        self.pending.fetch_sub(1, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub fn pending(&self) -> usize {
        self.pending.load(Ordering::Relaxed)
    }

    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}
