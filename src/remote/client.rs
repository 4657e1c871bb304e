//! The handle callers hold.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::core::envelope::{Compression, Payload};

use super::error::RemoteError;
use super::event::{Status, Ticket};
use super::inbox::{Inbox, Job};
use super::options::Credentials;
use super::pending::{Class, Pending};
use super::shared::Shared;
use super::stats::Stats;

/// Whose business the envelope of a binary payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Envelope {
    /// Opened and sealed here.
    Ours,
    /// The caller opens and seals it: payloads pass as they are.
    Callers,
}

/// Asks for a value.
#[derive(Clone, Debug)]
pub struct ReadRequest {
    /// Key of the value.
    pub value_key: String,
    /// Key of the watermark, for tracked keys.
    pub watermark_key: Option<String>,
    /// When the caller stops waiting. Without one it waits as long as the connection lives.
    pub deadline: Option<Instant>,
    /// When the caller is told that there is no reply yet, once and before the deadline.
    pub hedge_at: Option<Instant>,
    /// Who opens the envelope.
    pub envelope: Envelope,
}

/// Stores a value.
#[derive(Clone, Debug)]
pub struct WriteRequest {
    /// Key of the value.
    pub value_key: String,
    /// Key of the watermark, for tracked keys.
    pub watermark_key: Option<String>,
    /// How long Redis keeps it, in milliseconds; at least 1.
    pub ttl_ms: u64,
    /// What the serializer made.
    pub payload: Payload,
    /// Who seals the envelope.
    pub envelope: Envelope,
    /// Whether to compress it, when it is sealed here.
    pub compression: Option<Compression>,
    /// When the value was made, in milliseconds since the Unix epoch. Tracked writes take the
    /// server's time instead.
    pub created_at_ms: u64,
}

/// Bars what is stored for an id.
#[derive(Clone, Debug)]
pub struct InvalidateRequest {
    /// Key of the watermark.
    pub watermark_key: String,
    /// How far into the future writes are barred, in milliseconds.
    pub future_buffer_ms: u64,
}

/// A connection to Redis that keeps itself up. Clones are the same client; dropping the last one
/// closes it.
///
/// No method blocks or waits. A request that returns `Ok` gets exactly one event with its ticket;
/// one that returns an error gets none, since the error is the outcome already: over budget, not
/// connected, closed, not supported.
#[derive(Clone)]
pub struct Client(Arc<Handle>);

struct Handle {
    shared: Arc<Shared>,
    inbox: Arc<Inbox>,
}

impl Client {
    pub(super) fn new(shared: Arc<Shared>, inbox: Arc<Inbox>) -> Self {
        Self(Arc::new(Handle { shared, inbox }))
    }

    /// The number that events about this client carry; unique within its I/O thread.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.shared.id
    }

    /// Reads a value: [`Event::Read`](super::Event::Read), or [`Event::Due`](super::Event::Due) if
    /// the deadline passes first.
    ///
    /// # Errors
    /// When it fails at once: no event follows.
    pub fn read(&self, ticket: Ticket, request: ReadRequest) -> Result<(), RemoteError> {
        let (value, watermark) = (&request.value_key, request.watermark_key.as_deref());
        let pending = self.admit(ticket, Class::Read, value, watermark, 0)?;
        self.push(Job::Read(pending, request))
    }

    /// Writes a value: [`Event::Write`](super::Event::Write). Has no deadline; the connection's end
    /// ends it.
    ///
    /// # Errors
    /// When it fails at once: no event follows.
    pub fn write(&self, ticket: Ticket, request: WriteRequest) -> Result<(), RemoteError> {
        let (value, watermark) = (&request.value_key, request.watermark_key.as_deref());
        let pending = self.admit(ticket, Class::Write, value, watermark, request.payload.len())?;
        self.push(Job::Write(pending, request))
    }

    /// Raises a watermark: [`Event::Invalidate`](super::Event::Invalidate). Waits up to
    /// `response_timeout` for a connection, and is tried once more when that ends before the reply.
    /// The budgets, which reads may have used up, do not concern it.
    ///
    /// # Errors
    /// When the client is closed: no event follows.
    pub fn invalidate(&self, ticket: Ticket, request: InvalidateRequest) -> Result<(), RemoteError> {
        if self.0.shared.is_closed() {
            return Err(RemoteError::closed());
        }
        let pending = Pending::uncounted(&self.0.shared, ticket, Class::Invalidate);
        self.push(Job::Invalidate(pending, request))
    }

    /// Waits for a connection, for at most `limit`: [`Event::Ready`](super::Event::Ready).
    ///
    /// # Errors
    /// When the client is closed: no event follows.
    pub fn ready(&self, ticket: Ticket, limit: Option<Duration>) -> Result<(), RemoteError> {
        if self.0.shared.is_closed() {
            return Err(RemoteError::closed());
        }
        let pending = Pending::uncounted(&self.0.shared, ticket, Class::Ready);
        self.push(Job::Ready(pending, limit))
    }

    /// Answers [`Event::Credentials`](super::Event::Credentials); `None` when they could not be had,
    /// which fails the attempt. An answer that nobody waits for any more is ignored.
    pub fn provide_credentials(&self, request: u64, credentials: Option<Credentials>) {
        self.0.shared.answer_credentials(request, credentials);
    }

    /// Ends the client: what is pending fails at once, later requests are refused. Later calls do
    /// nothing.
    pub fn close(&self) {
        self.0.close();
    }

    /// Whether the client can serve.
    #[must_use]
    pub fn status(&self) -> Status {
        self.0.shared.status()
    }

    /// What was counted so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.0.shared.stats()
    }

    fn admit(
        &self,
        ticket: Ticket,
        class: Class,
        value_key: &str,
        watermark_key: Option<&str>,
        payload_bytes: usize,
    ) -> Result<Pending, RemoteError> {
        let shared = &self.0.shared;
        if shared.is_closed() {
            return Err(RemoteError::closed());
        }
        let budget = shared.place(value_key, watermark_key)?;
        let bytes = value_key.len() + watermark_key.map_or(0, str::len) + payload_bytes;
        Pending::admit(shared, budget, ticket, class, bytes)
    }

    fn push(&self, job: Job) -> Result<(), RemoteError> {
        if self.0.inbox.push(job) {
            Ok(())
        } else {
            Err(RemoteError::closed())
        }
    }
}

impl Handle {
    fn close(&self) {
        if self.shared.refuse() {
            self.inbox.push(Job::Close(Arc::clone(&self.shared)));
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close();
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("id", &self.id())
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
