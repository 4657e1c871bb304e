//! One server of a client: the only one, or one of a cluster's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::budget::Budget;
use super::connection::Connection;
use super::endpoint::Endpoint;
use super::error::{ErrorKind, RemoteError};
use super::link::Link;

pub(super) struct Node {
    pub endpoint: Endpoint,
    pub link: Link<Arc<Connection>>,
    pub budget: Arc<Budget>,
    was_connected: AtomicBool,
}

impl Node {
    pub fn new(endpoint: Endpoint) -> Arc<Self> {
        Arc::new(Self {
            endpoint,
            link: Link::new(),
            budget: Arc::default(),
            was_connected: AtomicBool::new(false),
        })
    }

    /// The connection; waits for the first attempt's outcome, and no further.
    pub async fn connection(&self) -> Result<Arc<Connection>, RemoteError> {
        self.link.settled().await
    }

    /// Takes note of a connection; whether there was one before.
    pub fn reconnected(&self) -> bool {
        self.was_connected.swap(true, Ordering::Relaxed)
    }
}

/// Why a cluster's node serves nothing any more.
pub(super) const fn left() -> RemoteError {
    RemoteError::fixed(ErrorKind::Disconnected, "the node has left the cluster's slots")
}
