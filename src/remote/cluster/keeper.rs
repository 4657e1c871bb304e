//! Keeps a cluster's map true.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::remote::backoff::Backoff;
use crate::remote::connect;
use crate::remote::connection::Connection;
use crate::remote::endpoint::Endpoint;
use crate::remote::error::{ErrorKind, RemoteError};
use crate::remote::node::Node;
use crate::remote::shared::Shared;

use super::topology::Topology;
use super::{Cluster, Seed};

/// How often a map is asked for while nothing casts doubt on it.
const CALM: Duration = Duration::from_secs(30);

/// How soon when a slot has no connected owner: a promoted replica is found by asking. Doubles with
/// every time, up to the longest wait between connection attempts.
const WORRIED: Duration = Duration::from_millis(250);

/// The least time between two questions, however many redirections come.
const APART: Duration = Duration::from_millis(50);

/// Nodes asked at once, so that a frozen one among them costs no time.
const ASKED_AT_ONCE: usize = 3;

/// Asks for the map as often as needed, until the client is closed.
pub(in crate::remote) async fn run(client: Arc<Shared>, cluster: Arc<Cluster>) {
    tokio::select! {
        biased;
        () = client.link.until_closed() => {}
        () = keep(&client, &cluster) => {}
    }
}

async fn keep(client: &Arc<Shared>, cluster: &Cluster) {
    let mut backoff = Backoff::default();
    let limits = client.settings.reconnect;
    let mut worried = WORRIED;
    loop {
        match find(client, cluster).await {
            Ok(topology) => {
                cluster.replace(client, topology);
                client.refresh_status();
                backoff = Backoff::default();
            }
            Err(error) => {
                client.map_failed(&error);
                sleep(backoff.next_delay(limits)).await;
                continue;
            }
        }
        sleep(APART).await;
        let rest = if cluster.is_whole() {
            worried = WORRIED;
            CALM
        } else {
            let rest = worried;
            worried = (worried * 2).min(limits.max_delay.max(WORRIED));
            rest
        };
        tokio::select! {
            () = cluster.doubted.notified() => {}
            () = sleep(rest) => {}
        }
    }
}

/// A map from a node that is connected, or else from one that users named.
async fn find(client: &Arc<Shared>, cluster: &Cluster) -> Result<Topology, RemoteError> {
    let mut nodes = cluster.connected_nodes();
    shuffle(&mut nodes);
    if let Ok(topology) = first(
        nodes
            .into_iter()
            .take(ASKED_AT_ONCE)
            .map(|node| ask_node(Arc::clone(client), node)),
    )
    .await
    {
        return Ok(topology);
    }
    first(
        cluster
            .seeds
            .iter()
            .map(|seed| ask_seed(Arc::clone(client), Arc::clone(seed))),
    )
    .await
}

/// The first answer, or the last failure when there is none.
async fn first<F>(questions: impl Iterator<Item = F>) -> Result<Topology, RemoteError>
where
    F: Future<Output = Result<Topology, RemoteError>> + Send + 'static,
{
    let mut failure = RemoteError::fixed(ErrorKind::Cluster, "no node of the cluster is connected");
    let mut asked = JoinSet::new();
    for question in questions {
        asked.spawn(question);
    }
    while let Some(answer) = asked.join_next().await {
        match answer {
            Ok(Ok(topology)) => return Ok(topology),
            Ok(Err(error)) => failure = error,
            Err(_) => failure = RemoteError::internal("asking for the cluster's slots failed, which is a bug"),
        }
    }
    Err(failure)
}

async fn ask_node(client: Arc<Shared>, node: Arc<Node>) -> Result<Topology, RemoteError> {
    let connection = node.connection().await?;
    let endpoint = node.endpoint.clone();
    // A task of its own: the question must not be dropped when nobody waits for its answer any more.
    let answer = tokio::spawn(async move { ask(&connection, &endpoint).await });
    match timeout(client.settings.connect_timeout, answer).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(RemoteError::internal(
            "asking for the cluster's slots failed, which is a bug",
        )),
        Err(_) => Err(slow(&client)),
    }
}

async fn ask_seed(client: Arc<Shared>, seed: Arc<Seed>) -> Result<Topology, RemoteError> {
    let mut resolver = seed.resolver.lock().await;
    let (connection, driver) = connect::connect(&client, &seed.endpoint, &mut resolver).await?;
    let mut answer = pin!(ask(&connection, &seed.endpoint));
    tokio::select! {
        biased;
        outcome = &mut answer => outcome,
        () = driver => answer.await,
        () = sleep(client.settings.connect_timeout) => Err(slow(&client)),
    }
}

async fn ask(connection: &Connection, endpoint: &Endpoint) -> Result<Topology, RemoteError> {
    let mut command = redis::cmd("CLUSTER");
    command.arg("SLOTS");
    let reply = connection.send(&command).await?;
    Topology::from_reply(&reply, endpoint.host()).ok_or(RemoteError::fixed(
        ErrorKind::Cluster,
        "the node knows of no cluster whose slots are served",
    ))
}

fn slow(client: &Shared) -> RemoteError {
    let limit = client.settings.connect_timeout.as_millis();
    RemoteError::new(
        ErrorKind::Timeout,
        format!("the cluster did not say within {limit} ms who serves what"),
    )
}

/// Spreads the questions of many clients over the nodes.
fn shuffle(nodes: &mut [Arc<Node>]) {
    use std::hash::BuildHasher;
    let random = std::collections::hash_map::RandomState::new();
    nodes.sort_by_cached_key(|node| random.hash_one(node.endpoint.host()) ^ random.hash_one(Arc::as_ptr(node)));
}
