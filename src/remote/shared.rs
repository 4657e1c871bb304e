//! What a client's handles and its tasks on the I/O thread share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};

use crate::core::envelope::MAX_DECOMPRESSED_BYTES;
use crate::core::slot::slot;

use super::budget::Budget;
use super::cluster::{Cluster, Reach};
use super::connection::Connection;
use super::error::{ErrorKind, RemoteError};
use super::event::{Event, Room, Sink, Status};
use super::link::Link;
use super::node::Node;
use super::options::{Credentials, Settings, Target};
use super::stats::{LateReplies, Stats};

/// As much as the biggest payload: one at a time, or many smaller ones. Without it, some kilobytes
/// from the server for each pending read become hundreds of megabytes each.
const ROOM_KIB: usize = MAX_DECOMPRESSED_BYTES >> 10;

/// One client's state.
pub(super) struct Shared {
    pub id: u32,
    pub settings: Settings,
    pub sink: Arc<dyn Sink>,
    pub servers: Servers,
    /// Whether any server can be reached.
    pub link: Link<()>,
    /// All that is pending, whichever server's budget it is under.
    pub total: Budget,
    /// Set at once by `close`; the link follows on the I/O thread.
    refusing: AtomicBool,
    /// KiB that big payloads may be decompressed to before the owner takes them.
    room: Arc<Semaphore>,
    counted: Mutex<Counted>,
    asked: Mutex<Asked>,
}

/// Who serves a client's requests.
pub(super) enum Servers {
    One(Arc<Node>),
    Cluster(Arc<Cluster>),
}

#[derive(Default)]
struct Counted {
    reconnects: u64,
    failed_attempts: u64,
    last_failure: Option<RemoteError>,
    late: LateReplies,
}

#[derive(Default)]
struct Asked {
    request: u64,
    /// Several nodes may connect at once.
    answers: HashMap<u64, oneshot::Sender<Option<Credentials>>>,
}

impl Shared {
    pub fn new(id: u32, settings: Settings, sink: Arc<dyn Sink>) -> Self {
        let servers = match &settings.target {
            Target::One(endpoint) => Servers::One(Node::new(endpoint.clone())),
            Target::Cluster(seeds) => Servers::Cluster(Arc::new(Cluster::new(seeds.clone(), settings.tls.is_some()))),
        };
        Self {
            id,
            settings,
            sink,
            servers,
            link: Link::new(),
            total: Budget::default(),
            refusing: AtomicBool::new(false),
            room: Arc::new(Semaphore::new(ROOM_KIB)),
            counted: Mutex::default(),
            asked: Mutex::default(),
        }
    }

    /// Refuses requests from now on. False when it did so already.
    pub fn refuse(&self) -> bool {
        !self.refusing.swap(true, Ordering::Relaxed)
    }

    pub fn is_closed(&self) -> bool {
        self.refusing.load(Ordering::Relaxed)
    }

    pub fn status(&self) -> Status {
        if self.is_closed() {
            Status::Closed
        } else {
            self.link.status()
        }
    }

    /// Whose budget a request for a key, and one beside it, is under; an error when it would fail anyway.
    pub fn place(&self, key: &str, other: Option<&str>) -> Result<Arc<Budget>, RemoteError> {
        match &self.servers {
            Servers::One(node) => match node.link.failure() {
                Some(error) => Err(error),
                None => Ok(Arc::clone(&node.budget)),
            },
            Servers::Cluster(cluster) => {
                let at = slot(key);
                if other.is_some_and(|other| slot(other) != at) {
                    return Err(RemoteError::fixed(
                        ErrorKind::Cluster,
                        "the keys of the value and its watermark are in different slots",
                    ));
                }
                cluster.place(at, &self.link)
            }
        }
    }

    pub fn connected(&self, node: &Node, connection: &Arc<Connection>) {
        if node.reconnected() {
            lock(&self.counted).reconnects += 1;
        }
        node.link.set_up(Arc::clone(connection));
        self.refresh_status();
    }

    pub fn attempt_failed(&self, node: &Node, error: &RemoteError) {
        lock(&self.counted).failed_attempts += 1;
        self.disconnected(node, error);
    }

    pub fn disconnected(&self, node: &Node, error: &RemoteError) {
        lock(&self.counted).last_failure = Some(error.clone());
        node.link.set_down(error.clone());
        if let Servers::Cluster(cluster) = &self.servers {
            cluster.doubt();
        }
        self.refresh_status();
    }

    /// A cluster could not be asked who serves what.
    pub fn map_failed(&self, error: &RemoteError) {
        {
            let mut counted = lock(&self.counted);
            counted.failed_attempts += 1;
            counted.last_failure = Some(error.clone());
        }
        if let Servers::Cluster(cluster) = &self.servers
            && !cluster.is_known()
        {
            self.tell(self.link.set_down(error.clone()));
        }
    }

    /// Makes the client's status follow its servers'.
    pub fn refresh_status(&self) {
        let changed = match &self.servers {
            Servers::One(node) => match (node.link.status(), node.link.reason()) {
                (_, Some(reason)) => self.link.set_down(reason),
                (Status::Ready, None) => self.link.set_up(()),
                _ => None,
            },
            Servers::Cluster(cluster) => match cluster.reach() {
                Reach::Some => self.link.set_up(()),
                Reach::None(reason) => self.link.set_down(reason),
                Reach::Open => None,
            },
        };
        self.tell(changed);
    }

    pub fn closed(&self) {
        match &self.servers {
            Servers::One(node) => drop(node.link.set_closed()),
            Servers::Cluster(cluster) => cluster.close(),
        }
        self.tell(self.link.set_closed());
    }

    fn tell(&self, changed: Option<Status>) {
        // Between `close` and the link's following it, users know it as closed already.
        if let Some(status) = changed
            && (status == Status::Closed || !self.is_closed())
        {
            let client = self.id;
            self.sink.deliver(Event::Status { client, status });
        }
    }

    /// Keeps a command's own failure as the last one. Failures that only pass on the connection's
    /// must not hide its reason.
    pub fn command_failed(&self, error: &RemoteError) {
        use ErrorKind::{Encoding, Internal, PlaceholderLost, Protocol, Server};
        if matches!(error.kind, Encoding | Internal | PlaceholderLost | Protocol | Server) {
            lock(&self.counted).last_failure = Some(error.clone());
        }
    }

    pub fn last_failure(&self) -> Option<RemoteError> {
        lock(&self.counted).last_failure.clone()
    }

    /// Why a request that waited for a connection did not get one.
    pub fn not_connected(&self) -> RemoteError {
        match self.last_failure() {
            Some(reason) => reason.not_connected(),
            None => RemoteError::fixed(ErrorKind::Disconnected, "not connected to Redis yet"),
        }
    }

    /// Waits for room for a payload of so many bytes.
    pub async fn room_for(&self, bytes: usize) -> Option<Room> {
        let kib = u32::try_from(bytes.div_ceil(1 << 10).min(ROOM_KIB)).ok()?;
        let permit = Arc::clone(&self.room).acquire_many_owned(kib).await.ok()?;
        Some(Room::new(permit))
    }

    pub fn record_late_hit(&self, late: Duration) {
        lock(&self.counted).late.hits.record(late);
    }

    pub fn record_late_miss(&self, late: Duration) {
        lock(&self.counted).late.misses.record(late);
    }

    pub fn record_late_failure(&self, error: &RemoteError) {
        let mut counted = lock(&self.counted);
        if matches!(error.kind, ErrorKind::Server | ErrorKind::Encoding) {
            counted.late.failed += 1;
        } else {
            counted.late.lost += 1;
        }
    }

    pub fn stats(&self) -> Stats {
        let counted = lock(&self.counted);
        Stats {
            pending: self.total.pending(),
            pending_bytes: self.total.bytes(),
            reconnects: counted.reconnects,
            failed_attempts: counted.failed_attempts,
            last_error: counted.last_failure.as_ref().map(|error| error.kind),
            late: counted.late.clone(),
        }
    }

    /// Asks the owner for credentials and waits for the answer.
    pub async fn ask_credentials(&self) -> Result<Credentials, RemoteError> {
        let (sender, receiver) = oneshot::channel();
        let request = {
            let mut asked = lock(&self.asked);
            asked.request += 1;
            let request = asked.request;
            // Those of attempts that gave up.
            asked.answers.retain(|_, answer| !answer.is_closed());
            asked.answers.insert(request, sender);
            request
        };
        let client = self.id;
        self.sink.deliver(Event::Credentials { client, request });
        // Fixed words: the callback's own error may hold what it could not use.
        receiver.await.ok().flatten().ok_or(RemoteError::fixed(
            ErrorKind::Credentials,
            "credentials() gave no credentials",
        ))
    }

    pub fn answer_credentials(&self, request: u64, credentials: Option<Credentials>) {
        let answer = lock(&self.asked).answers.remove(&request);
        if let Some(answer) = answer {
            // The attempt may have given up since.
            let _ = answer.send(credentials);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
