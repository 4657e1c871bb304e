//! Keeps one client connected.

use std::sync::Arc;

use tokio::task::JoinHandle;

use super::backoff::Backoff;
use super::cluster;
use super::connect;
use super::connection::{Connection, Driver};
use super::error::{ErrorKind, RemoteError};
use super::node::{self, Node};
use super::resolve::Resolver;
use super::shared::{Servers, Shared};
use super::watchdog;

/// Keeps a client's servers connected.
pub(super) fn start(client: &Arc<Shared>) {
    match &client.servers {
        Servers::One(node) => drop(tokio::spawn(run(Arc::clone(client), Arc::clone(node)))),
        Servers::Cluster(cluster) => drop(tokio::spawn(cluster::run(Arc::clone(client), Arc::clone(cluster)))),
    }
}

/// Connects, watches, reconnects, until the node's link is closed.
pub(super) async fn run(client: Arc<Shared>, node: Arc<Node>) {
    loop {
        let mut keeper = Keeper(tokio::spawn(keep_connected(Arc::clone(&client), Arc::clone(&node))));
        tokio::select! {
            biased;
            () = node.link.until_closed() => return,
            _ = &mut keeper.0 => {}
        }
        // Only a panic ends it, say in the parser. The next connection may fare better.
        client.disconnected(&node, &RemoteError::internal("the connection's task failed"));
        tokio::time::sleep(client.settings.reconnect.max_delay).await;
    }
}

struct Keeper(JoinHandle<()>);

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn keep_connected(client: Arc<Shared>, node: Arc<Node>) {
    let mut backoff = Backoff::default();
    let mut resolver = Resolver::default();
    let limits = client.settings.reconnect;
    loop {
        match connect::connect(&client, &node.endpoint, &mut resolver).await {
            Ok((connection, driver)) => {
                let connection = Arc::new(connection);
                client.connected(&node, &connection);
                let reason = hold(&client, &connection, driver).await;
                client.disconnected(&node, &reason);
                backoff.connection_ended(connection.activity().age(), limits);
            }
            Err(error) => client.attempt_failed(&node, &error),
        }
        tokio::time::sleep(backoff.next_delay(limits)).await;
    }
}

/// Moves the connection's bytes until it has ended, and says why it did.
async fn hold(client: &Shared, connection: &Connection, mut driver: Driver) -> RemoteError {
    let held = Held(client, connection);
    let limit = client.settings.response_timeout;
    // The driver is polled here and not in a task of its own: when the socket closes, the status is
    // down before any of the commands that this answers gets to run.
    let reason = tokio::select! {
        biased;
        () = &mut driver => match connection.activity().violation() {
            Some(violation) => RemoteError::violation(violation),
            None => RemoteError::connection_lost(),
        },
        () = watchdog::until_dead(connection, limit) => RemoteError::new(
            ErrorKind::ResponseTimeout,
            format!("Redis sent nothing for {} ms", limit.as_millis()),
        ),
    };
    let reason = connection.end(reason);
    drop(held);
    reason
}

/// The link's closing drops the future above where it stands.
struct Held<'a>(&'a Shared, &'a Connection);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let closed = self.0.is_closed();
        self.1.end(if closed { RemoteError::closed() } else { node::left() });
    }
}
