//! Host names to addresses.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use tokio::sync::oneshot;

use super::blocking;
use super::error::{ErrorKind, RemoteError};

/// Looks names up, one lookup at a time: an attempt that gave up leaves its lookup running, and
/// the next attempt takes up that one instead of adding a thread for every attempt.
#[derive(Debug, Default)]
pub(super) struct Resolver {
    running: Option<oneshot::Receiver<Option<Vec<SocketAddr>>>>,
}

impl Resolver {
    /// The addresses of a host, in the order to try them; never empty.
    pub async fn resolve(&mut self, host: &str, port: u16) -> Result<Vec<SocketAddr>, RemoteError> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let running = self.running.get_or_insert_with(|| {
            let host = host.to_owned();
            blocking::spawn("dialcache-dns", move || {
                let found = (host.as_str(), port).to_socket_addrs().ok()?;
                Some(found.collect())
            })
        });
        let found = running.await;
        self.running = None;
        match found {
            Ok(Some(addresses)) if !addresses.is_empty() => Ok(addresses),
            _ => Err(RemoteError::fixed(
                ErrorKind::Dns,
                "the Redis host name could not be resolved",
            )),
        }
    }
}
