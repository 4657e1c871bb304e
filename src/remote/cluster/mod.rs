//! Many servers that share the keys between them.
//!
//! Each primary gets a connection of its own, kept up like a single server's, with budgets of its
//! own: what becomes of one node does not concern the others' slots. A redirection is followed at
//! once and corrects the map; the whole map is asked for again in the background.

mod keeper;
mod map;
mod redirect;
mod topology;

use std::pin::pin;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Instant;

use tokio::sync::{Mutex, Notify};

use super::budget::Budget;
use super::endpoint::Endpoint;
use super::error::{ErrorKind, RemoteError};
use super::event::Status;
use super::link::Link;
use super::node::{self, Node};
use super::resolve::Resolver;
use super::shared::Shared;
use super::supervisor;

use map::{Change, Map};
use topology::Topology;

pub(super) use keeper::run;
pub(super) use redirect::{Address, Redirect};

/// First and last slot and host of each range that a reply names.
#[cfg(any(test, fuzzing))]
pub(super) fn read_topology(reply: &redis::Value, asked: &str) -> Option<Vec<(u16, u16, String)>> {
    let Topology(ranges) = Topology::from_reply(reply, asked)?;
    Some(
        ranges
            .into_iter()
            .map(|(first, last, to)| (first, last, to.host))
            .collect(),
    )
}

pub(super) struct Cluster {
    seeds: Vec<Arc<Seed>>,
    /// For requests that wait for the first map.
    lobby: Arc<Budget>,
    map: RwLock<Map>,
    /// Tells the keeper that the map may be wrong.
    doubted: Notify,
    /// Tells requests with patience that the map is another one.
    changed: Notify,
}

/// What of a cluster can be reached.
pub(super) enum Reach {
    Some,
    /// And why.
    None(RemoteError),
    /// Some attempt is still under way.
    Open,
}

/// A node that users named.
struct Seed {
    endpoint: Endpoint,
    resolver: Mutex<Resolver>,
}

impl Cluster {
    pub fn new(seeds: Vec<Endpoint>, tls: bool) -> Self {
        let seed = |endpoint| {
            Arc::new(Seed {
                endpoint,
                resolver: Mutex::default(),
            })
        };
        Self {
            seeds: seeds.into_iter().map(seed).collect(),
            lobby: Arc::default(),
            map: RwLock::new(Map::new(tls)),
            doubted: Notify::new(),
            changed: Notify::new(),
        }
    }

    /// Whose budget a request for a slot is under; an error when it would fail anyway.
    pub fn place(&self, slot: u16, link: &Link<()>) -> Result<Arc<Budget>, RemoteError> {
        let map = self.read();
        if !map.known {
            return match link.failure() {
                Some(error) => Err(error),
                None => Ok(Arc::clone(&self.lobby)),
            };
        }
        let owner = map.owner(slot).ok_or_else(unserved)?;
        match owner.link.failure() {
            Some(error) => Err(error),
            None => Ok(Arc::clone(&owner.budget)),
        }
    }

    /// Waits for the first map, or for the first failure to get one.
    pub async fn mapped(&self, link: &Link<()>) -> Result<(), RemoteError> {
        loop {
            let mut changed = pin!(self.changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            if self.is_known() {
                return Ok(());
            }
            if let Some(error) = link.failure() {
                return Err(error);
            }
            tokio::select! {
                () = changed => {}
                _ = link.settled() => {}
            }
        }
    }

    /// The node that serves a slot, as far as is known.
    pub fn owner(&self, slot: u16) -> Result<Arc<Node>, RemoteError> {
        self.read().owner(slot).cloned().ok_or_else(unserved)
    }

    /// Returns when the map has changed after this was called and first polled.
    pub async fn until_changed(&self) {
        self.changed.notified().await;
    }

    /// Has the map asked for again soon.
    pub fn doubt(&self) {
        self.doubted.notify_one();
    }

    /// A node found out that a slot is another's.
    pub fn moved(&self, client: &Arc<Shared>, slot: u16, to: Option<Address>) {
        if let Some(address) = to {
            let change = self.write().give(slot, address, Instant::now());
            self.carry_out(client, change);
        }
        self.doubt();
    }

    /// The node at an address; `None` when there are too many of them.
    pub fn at(&self, client: &Arc<Shared>, address: Address) -> Option<Arc<Node>> {
        let (node, change) = self.write().point_to(address, Instant::now())?;
        self.carry_out(client, change);
        Some(node)
    }

    /// Whether any node can serve.
    pub fn reach(&self) -> Reach {
        let map = self.read();
        let mut failure = None;
        let mut is_open = !map.known;
        for node in map.nodes() {
            match node.link.status() {
                Status::Ready => return Reach::Some,
                Status::Connecting => is_open = true,
                Status::Reconnecting | Status::Closed => failure = failure.or_else(|| node.link.reason()),
            }
        }
        match failure {
            Some(reason) if !is_open => Reach::None(reason),
            _ => Reach::Open,
        }
    }

    /// Ends every node's connection.
    pub fn close(&self) {
        let nodes: Vec<_> = {
            let mut map = self.write();
            map.closed = true;
            map.nodes().cloned().collect()
        };
        for node in nodes {
            node.link.set_closed();
        }
    }

    fn replace(&self, client: &Arc<Shared>, topology: Topology) {
        let change = self.write().replace(topology, Instant::now());
        self.carry_out(client, change);
    }

    pub fn is_known(&self) -> bool {
        self.read().known
    }

    fn is_whole(&self) -> bool {
        self.read().is_whole()
    }

    fn connected_nodes(&self) -> Vec<Arc<Node>> {
        let is_up = |node: &&Arc<Node>| node.link.status() == Status::Ready;
        self.read().nodes().filter(is_up).cloned().collect()
    }

    fn carry_out(&self, client: &Arc<Shared>, change: Change) {
        let closed = self.read().closed;
        for node in change.joined {
            if closed {
                node.link.set_closed();
            } else {
                tokio::spawn(supervisor::run(Arc::clone(client), node));
            }
        }
        for node in change.left {
            tokio::spawn(dismiss(Arc::clone(client), node));
        }
        self.changed.notify_waiters();
    }

    fn read(&self) -> RwLockReadGuard<'_, Map> {
        self.map.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Map> {
        self.map.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets go of a node when what is pending on it has had its time.
async fn dismiss(client: Arc<Shared>, node: Arc<Node>) {
    if node.link.status() == Status::Ready {
        tokio::select! {
            () = client.link.until_closed() => {}
            () = tokio::time::sleep(client.settings.response_timeout) => {}
        }
    }
    node.link.set_down(node::left());
    node.link.set_closed();
}

fn unserved() -> RemoteError {
    RemoteError::fixed(ErrorKind::Cluster, "no node of the cluster serves this key's slot")
}
