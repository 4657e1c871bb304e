//! What a client's handles and its tasks on the I/O thread share.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::connection::Connection;
use super::error::{ErrorKind, RemoteError};
use super::event::{Event, Sink, Status};
use super::link::Link;
use super::options::{Credentials, Settings};
use super::stats::{LateReplies, Stats};

/// One client's state.
pub(super) struct Shared {
    pub id: u32,
    pub settings: Settings,
    pub sink: Arc<dyn Sink>,
    pub link: Link,
    pub pending: AtomicUsize,
    pub pending_bytes: AtomicUsize,
    /// Set at once by `close`; the link follows on the I/O thread.
    refusing: AtomicBool,
    counted: Mutex<Counted>,
    asked: Mutex<Asked>,
}

#[derive(Default)]
struct Counted {
    connections: u64,
    failed_attempts: u64,
    last_failure: Option<RemoteError>,
    late: LateReplies,
}

#[derive(Default)]
struct Asked {
    request: u64,
    answer: Option<oneshot::Sender<Option<Credentials>>>,
}

impl Shared {
    pub fn new(id: u32, settings: Settings, sink: Arc<dyn Sink>) -> Self {
        Self {
            id,
            settings,
            sink,
            link: Link::new(),
            pending: AtomicUsize::new(0),
            pending_bytes: AtomicUsize::new(0),
            refusing: AtomicBool::new(false),
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

    pub fn connected(&self, connection: &Arc<Connection>) {
        lock(&self.counted).connections += 1;
        self.tell(self.link.set_up(Arc::clone(connection)));
    }

    pub fn attempt_failed(&self, error: &RemoteError) {
        lock(&self.counted).failed_attempts += 1;
        self.disconnected(error);
    }

    pub fn disconnected(&self, error: &RemoteError) {
        lock(&self.counted).last_failure = Some(error.clone());
        self.tell(self.link.set_down(error.clone()));
    }

    pub fn closed(&self) {
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
            pending: self.pending.load(Ordering::Relaxed),
            pending_bytes: self.pending_bytes.load(Ordering::Relaxed),
            reconnects: counted.connections.saturating_sub(1),
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
            asked.answer = Some(sender);
            asked.request
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
        let mut asked = lock(&self.asked);
        if asked.request == request
            && let Some(answer) = asked.answer.take()
        {
            // The attempt may have given up since.
            let _ = answer.send(credentials);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
