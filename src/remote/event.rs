//! What the I/O thread tells its owner.

use std::time::{Duration, Instant};

use tokio::sync::OwnedSemaphorePermit;

use crate::core::envelope::{OpenOutcome, Payload, SealOutcome};

use super::error::RemoteError;

/// Names one request. Chosen by the caller, never interpreted here.
pub type Ticket = u64;

/// One completion or change. Every accepted request gets exactly one of `Read`, `Due`, `Write`,
/// `Invalidate` or `Ready`; before it a read may get one `Hedge`.
#[derive(Debug)]
pub enum Event {
    /// A read ended before its deadline.
    Read {
        /// The request.
        ticket: Ticket,
        /// When the outcome was known; for a hit, when its payload was ready for the serializer.
        at: Instant,
        /// How it ended.
        outcome: ReadOutcome,
    },
    /// A read's deadline passed first. Whatever the reply turns out to be, only the statistics
    /// hear of it.
    Due {
        /// The request.
        ticket: Ticket,
        /// When this was noticed; never before the deadline.
        at: Instant,
    },
    /// A read has no reply at its [`hedge_at`](super::ReadRequest::hedge_at). It goes on.
    Hedge {
        /// The request.
        ticket: Ticket,
        /// When this was noticed; never before.
        at: Instant,
    },
    /// A write ended.
    Write {
        /// The request.
        ticket: Ticket,
        /// When the outcome was known.
        at: Instant,
        /// What sealing made of the payload; `None` when it did not come to that.
        sealing: Option<Sealing>,
        /// Whether the value was stored, rather than fenced off by an invalidation.
        outcome: Result<bool, RemoteError>,
    },
    /// An invalidation ended.
    Invalidate {
        /// The request.
        ticket: Ticket,
        /// When the outcome was known.
        at: Instant,
        /// Whether the watermark stands.
        outcome: Result<(), RemoteError>,
    },
    /// A wait for a connection ended.
    Ready {
        /// The request.
        ticket: Ticket,
        /// Whether there is a connection.
        outcome: Result<(), RemoteError>,
    },
    /// A client's status changed. Not sent for the first one, [`Status::Connecting`].
    Status {
        /// The client's [`id`](super::Client::id).
        client: u32,
        /// Its status from now on.
        status: Status,
    },
    /// A connection attempt needs credentials: answer with
    /// [`Client::provide_credentials`](super::Client::provide_credentials). Only sent for a client
    /// whose options say `dynamic_credentials`. The attempt's budget goes on running meanwhile.
    Credentials {
        /// The client's [`id`](super::Client::id).
        client: u32,
        /// Which attempt asks; an answer to an earlier one is ignored.
        request: u64,
    },
}

impl Event {
    /// The request this ends; `None` for what no request asked for.
    #[must_use]
    pub fn ticket(&self) -> Option<Ticket> {
        match *self {
            Self::Read { ticket, .. }
            | Self::Due { ticket, .. }
            | Self::Write { ticket, .. }
            | Self::Invalidate { ticket, .. }
            | Self::Ready { ticket, .. } => Some(ticket),
            Self::Hedge { .. } | Self::Status { .. } | Self::Credentials { .. } => None,
        }
    }
}

/// How a read that was in time ended.
#[derive(Debug)]
pub enum ReadOutcome {
    /// There is a value.
    Hit(Hit),
    /// There is none, or none this version may serve.
    Miss,
    /// Redis could not be asked, or answered with an error.
    Failed(RemoteError),
}

/// A value found in Redis.
#[derive(Debug)]
pub struct Hit {
    /// What the serializer once made.
    pub payload: Payload,
    /// When it was written, in milliseconds since the Unix epoch.
    pub created_at_ms: u64,
    /// What opening the envelope meant.
    pub opened: OpenOutcome,
    /// Bytes of the stored value, frame included.
    pub stored_bytes: usize,
    /// Time spent decompressing; zero when there was nothing to decompress.
    pub open_time: Duration,
    /// Its share of what may be decompressed and not taken yet. Dropped with the hit.
    pub room: Option<Room>,
}

/// Room for what was decompressed, given back when dropped.
#[derive(Debug)]
pub struct Room {
    _permit: OwnedSemaphorePermit,
}

impl Room {
    pub(super) const fn new(permit: OwnedSemaphorePermit) -> Self {
        Self { _permit: permit }
    }
}

/// A value made ready for Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealing {
    /// What sealing the envelope meant.
    pub outcome: SealOutcome,
    /// Bytes of the payload as the serializer made it.
    pub payload_bytes: usize,
    /// Bytes of the payload as it is stored, without the frame's header.
    pub sealed_bytes: usize,
    /// Time spent sealing the envelope.
    pub time: Duration,
}

/// Whether a client can serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// The first connection attempt is under way.
    Connecting,
    /// There is a connection.
    Ready,
    /// There is none; attempts go on in the background.
    Reconnecting,
    /// The client was closed.
    Closed,
}

impl Status {
    /// The name users see.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Ready => "ready",
            Self::Reconnecting => "reconnecting",
            Self::Closed => "closed",
        }
    }
}

/// Where events go.
pub trait Sink: Send + Sync + 'static {
    /// Takes one event. Called on the I/O thread, where every client waits meanwhile, and also
    /// during [`IoThread::shutdown`](super::IoThread::shutdown): it must neither block nor panic.
    fn deliver(&self, event: Event);
}
