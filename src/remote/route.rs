//! Where a request goes, and where it goes when it was wrong there.

use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Pipeline, Value};

use crate::core::slot::slot;

use super::cluster::Redirect;
use super::connection::Connection;
use super::error::{ErrorKind, RemoteError};
use super::node::{self, Node};
use super::scripts::{self, Call};
use super::shared::{Servers, Shared};

/// Redirections that are followed: one from a stale map, one into a moving slot, and some more while
/// the cluster makes up its mind. A circle ends here.
const MAX_HOPS: u32 = 5;

/// What passes before a command is tried again whose keys are at both ends of a moving slot, times
/// the number of tries.
const PAUSE: Duration = Duration::from_millis(5);

/// The server of a key and its connection, when both are there at once.
pub(super) fn ready(client: &Shared, key: &str) -> Option<(Arc<Node>, Arc<Connection>)> {
    let node = match &client.servers {
        Servers::One(node) => Arc::clone(node),
        Servers::Cluster(cluster) => cluster.owner(slot(key)).ok()?,
    };
    let connection = node.link.now()?.ok()?;
    Some((node, connection))
}

/// The way of one request to its server.
pub(super) struct Route<'a> {
    client: &'a Arc<Shared>,
    slot: u16,
    node: Option<Arc<Node>>,
    /// Whether the node has to be told that it was pointed to.
    asking: bool,
    hops: u32,
}

impl<'a> Route<'a> {
    pub fn new(client: &'a Arc<Shared>, key: &str) -> Self {
        let slot = match client.servers {
            Servers::One(_) => 0,
            Servers::Cluster(_) => slot(key),
        };
        Self {
            client,
            slot,
            node: None,
            asking: false,
            hops: 0,
        }
    }

    /// A connection to the server; waits for its first attempt's outcome, and no further.
    pub async fn connection(&mut self) -> Result<Arc<Connection>, RemoteError> {
        let node = match self.node.take() {
            Some(node) => node,
            None => self.owner().await?,
        };
        let connection = node.connection().await;
        self.node = Some(node);
        connection.map_err(|error| match error.kind {
            ErrorKind::Closed if !self.client.is_closed() => node::left(),
            _ => error,
        })
    }

    /// A connection to the server, however many attempts it takes and whoever that is by then.
    pub async fn until_up(&mut self) -> Result<Arc<Connection>, RemoteError> {
        loop {
            let changed = async {
                match &self.client.servers {
                    Servers::One(_) => std::future::pending().await,
                    Servers::Cluster(cluster) => cluster.until_changed().await,
                }
            };
            let up = async {
                match self.owner_now() {
                    Some(node) => {
                        let connection = node.link.until_up().await;
                        (connection, node)
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = changed => {}
                (connection, node) = up => match connection {
                    Ok(connection) => {
                        self.node = Some(node);
                        self.asking = false;
                        return Ok(connection);
                    }
                    // It left the cluster; the map is another one already.
                    Err(_) if !self.client.is_closed() => tokio::task::yield_now().await,
                    Err(error) => return Err(error),
                },
            }
        }
    }

    /// Sends one command.
    pub async fn send(&self, connection: &Connection, command: &Cmd) -> Result<Value, RemoteError> {
        if !self.asking {
            return connection.reply(command).await;
        }
        let mut pipeline = Pipeline::with_capacity(2);
        pipeline.cmd("ASKING").add_command(command.clone());
        let replies = connection.replies(&pipeline).await?;
        replies.into_iter().nth(1).ok_or(RemoteError::protocol())
    }

    /// Sends several commands that nothing comes between.
    pub async fn send_all(&self, connection: &Connection, commands: &Pipeline) -> Result<Vec<Value>, RemoteError> {
        if !self.asking {
            return connection.replies(commands).await;
        }
        let mut pipeline = Pipeline::with_capacity(2 * commands.len());
        for command in commands.cmd_iter() {
            pipeline.cmd("ASKING").add_command(command.clone());
        }
        let replies = connection.replies(&pipeline).await?;
        Ok(replies.into_iter().skip(1).step_by(2).collect())
    }

    /// Runs a script, and sends it in full to a server that does not know it.
    pub async fn run(&self, connection: &Connection, call: &Call) -> Result<Value, RemoteError> {
        let reply = self.send(connection, &call.by_hash()).await?;
        if scripts::is_unknown(&reply) {
            return self.send(connection, &call.in_full()).await;
        }
        Ok(reply)
    }

    /// Takes in a reply; whether the command has to be sent again, to what
    /// [`connection`](Self::connection) then gives.
    pub async fn follow(&mut self, reply: &Value) -> bool {
        let Servers::Cluster(cluster) = &self.client.servers else {
            return false;
        };
        let Some(node) = &self.node else { return false };
        let Some(redirect) = Redirect::from_reply(reply, node.endpoint.host()) else {
            return false;
        };
        self.hops += 1;
        match redirect {
            Redirect::Moved { slot, to } => {
                cluster.moved(self.client, slot, to);
                self.node = None;
                self.asking = false;
            }
            Redirect::Ask(Some(address)) => {
                let Some(node) = cluster.at(self.client, address) else {
                    return false;
                };
                self.node = Some(node);
                self.asking = true;
            }
            Redirect::TryAgain if self.hops < MAX_HOPS => tokio::time::sleep(PAUSE * self.hops).await,
            Redirect::TryAgain => return false,
            Redirect::Ask(None) | Redirect::Unfit => {
                cluster.doubt();
                return false;
            }
        }
        self.hops < MAX_HOPS
    }

    async fn owner(&self) -> Result<Arc<Node>, RemoteError> {
        match &self.client.servers {
            Servers::One(node) => Ok(Arc::clone(node)),
            Servers::Cluster(cluster) => {
                cluster.mapped(&self.client.link).await?;
                cluster.owner(self.slot)
            }
        }
    }

    fn owner_now(&self) -> Option<Arc<Node>> {
        match &self.client.servers {
            Servers::One(node) => Some(Arc::clone(node)),
            Servers::Cluster(cluster) => cluster.owner(self.slot).ok(),
        }
    }
}
