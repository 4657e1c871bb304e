//! Reading a value inside a deadline.

use std::pin::pin;
use std::time::{Duration, Instant};

use redis::Value;

use crate::core::envelope::{self, OpenOutcome, Opened, Payload};
use crate::core::error::FrameError;
use crate::core::frame::{self, Encoding, HEADER_BYTES};
use crate::core::watermark;

use super::alarm::until;
use super::client::{Envelope, ReadRequest};
use super::error::{ErrorKind, RemoteError};
use super::event::{Hit, ReadOutcome};
use super::fetch::{Fetched, Progress, fetch};
use super::pending::Pending;
use super::shared::Shared;

/// Bytes up to which a payload is compressed and decompressed right here; the second thread does
/// more, 64 KiB.
pub(super) const INLINE_BYTES: usize = 64 << 10;

/// Bytes up to which a payload stored as it is gets checked and copied right here, 1 MiB.
const INLINE_PLAIN_BYTES: usize = 1 << 20;

/// Reads and answers. A read that is due keeps its share of the budget until the reply is there,
/// because the command goes on occupying the connection.
pub(super) async fn run(mut pending: Pending, request: ReadRequest) {
    let client = pending.client().clone();
    let deadline = request.deadline;
    let mut due = pin!(until(deadline));
    let mut hedge = pin!(until(request.hedge_at));
    let mut is_hedged = false;
    let progress = Progress::default();
    let mut reply = pin!(fetch(&client, &request, &progress));

    let reply = loop {
        tokio::select! {
            biased;
            reply = &mut reply => break reply,
            () = &mut due => {
                if !progress.is_sent() {
                    // Nothing of it is left anywhere.
                    return pending.finish_due();
                }
                pending.due();
                progress.give_up();
                if let Fetched::Reply(reply) = reply.await {
                    too_late(&client, &request, reply);
                }
                return;
            }
            () = &mut hedge, if !is_hedged => {
                is_hedged = true;
                pending.hedge();
            }
        }
    };
    let reply = match reply {
        Fetched::Reply(reply) => reply,
        Fetched::Over => return pending.finish_due(),
    };

    if let Some((pending, found)) = answer(pending, &request, reply) {
        open_beside(pending, deadline, found).await;
    }
}

/// Answers a read. A payload too big to be opened on this thread comes back.
pub(super) fn answer(
    pending: Pending,
    request: &ReadRequest,
    reply: Result<Value, RemoteError>,
) -> Option<(Pending, Found)> {
    let deadline = request.deadline;
    match reply.and_then(|reply| Found::new(reply, request)) {
        Ok(Some(found)) if found.is_big() => return Some((pending, found)),
        Ok(Some(found)) => finish_hit(pending, deadline, found.open()),
        other => {
            let at = Instant::now();
            if is_over(deadline, at) {
                record_late(pending.client(), deadline, &other);
                pending.finish_due();
            } else {
                let outcome = match other {
                    Err(error) => ReadOutcome::Failed(error),
                    Ok(_) => ReadOutcome::Miss,
                };
                pending.finish_read(at, outcome);
            }
        }
    }
    None
}

fn finish_hit(pending: Pending, deadline: Option<Instant>, hit: Hit) {
    let at = Instant::now();
    if is_over(deadline, at) {
        pending.client().record_late_hit(lateness(deadline, at));
        return pending.finish_due();
    }
    pending.finish_read(at, ReadOutcome::Hit(hit));
}

/// Opens a big payload on the second thread, once there is room for it. `None` when the deadline
/// passed before its turn came, or when opening panicked.
async fn open_apart(client: &Shared, found: Found, deadline: Option<Instant>) -> Option<Hit> {
    let room = client.room_for(found.opened_bytes()).await;
    let opened = tokio::task::spawn_blocking(move || {
        // Nobody wants it any more: those behind it have their turn.
        let is_wanted = !is_over(deadline, Instant::now());
        is_wanted.then(|| Hit { room, ..found.open() })
    });
    opened.await.ok().flatten()
}

/// Opens a big payload on the second thread and answers, in time or as due.
pub(super) async fn open_beside(pending: Pending, deadline: Option<Instant>, found: Found) {
    let client = pending.client().clone();
    tokio::select! {
        biased;
        opened = open_apart(&client, found, deadline) => match opened {
            Some(hit) => finish_hit(pending, deadline, hit),
            None if is_over(deadline, Instant::now()) => {
                client.record_late_hit(Duration::ZERO);
                pending.finish_due();
            }
            None => {}
        },
        () = until(deadline) => {
            client.record_late_hit(Duration::ZERO);
            pending.finish_due();
        }
        () = client.link.until_closed() => {
            let closed = ReadOutcome::Failed(RemoteError::closed());
            pending.finish_read(Instant::now(), closed);
        }
    }
}

/// Takes note of what came after the deadline.
pub(super) fn too_late(client: &Shared, request: &ReadRequest, reply: Result<Value, RemoteError>) {
    record_late(
        client,
        request.deadline,
        &reply.and_then(|reply| Found::new(reply, request)),
    );
}

pub(super) fn is_over(deadline: Option<Instant>, at: Instant) -> bool {
    deadline.is_some_and(|deadline| at >= deadline)
}

fn lateness(deadline: Option<Instant>, at: Instant) -> Duration {
    deadline.map_or(Duration::ZERO, |deadline| at.saturating_duration_since(deadline))
}

fn record_late(client: &Shared, deadline: Option<Instant>, outcome: &Result<Option<Found>, RemoteError>) {
    let late = lateness(deadline, Instant::now());
    match outcome {
        Ok(Some(_)) => client.record_late_hit(late),
        Ok(None) => client.record_late_miss(late),
        Err(error) => client.record_late_failure(error),
    }
}

fn text(reply: Value) -> Result<Option<Vec<u8>>, RemoteError> {
    match reply {
        Value::Nil => Ok(None),
        Value::BulkString(raw) => Ok(Some(raw)),
        _ => Err(RemoteError::unexpected_reply()),
    }
}

/// A frame that may be served, its envelope still closed.
pub(super) struct Found {
    created_at_ms: u64,
    encoding: Encoding,
    envelope: Envelope,
    body: Vec<u8>,
    stored_bytes: usize,
}

impl Found {
    pub fn new(reply: Value, request: &ReadRequest) -> Result<Option<Self>, RemoteError> {
        match (reply, &request.watermark_key) {
            (Value::Array(pair), Some(_)) => {
                let [value, watermark] = pair.try_into().map_err(|_| RemoteError::unexpected_reply())?;
                let watermark = text(watermark)?;
                Self::decode(value, request.envelope, |created_at_ms| {
                    watermark::admits(watermark.as_deref(), created_at_ms)
                })
            }
            (value, None) => Self::decode(value, request.envelope, |_| true),
            _ => Err(RemoteError::unexpected_reply()),
        }
    }

    fn decode(value: Value, envelope: Envelope, admits: impl FnOnce(u64) -> bool) -> Result<Option<Self>, RemoteError> {
        let Some(mut raw) = text(value)? else {
            return Ok(None);
        };
        // Barred is a miss, even for what could not be read.
        if frame::created_at_ms(&raw).is_some_and(|at| !admits(at)) {
            return Ok(None);
        }
        let (created_at_ms, encoding) = match frame::decode(&raw) {
            Ok(frame) => (frame.created_at_ms, frame.encoding),
            Err(FrameError::Miss(_)) => return Ok(None),
            Err(FrameError::UnknownEncoding(_)) => {
                return Err(RemoteError::fixed(
                    ErrorKind::Encoding,
                    "the stored value has an encoding this version does not know",
                ));
            }
        };
        let stored_bytes = raw.len();
        raw.drain(..HEADER_BYTES);
        Ok(Some(Self {
            created_at_ms,
            encoding,
            envelope,
            body: raw,
            stored_bytes,
        }))
    }

    fn is_kept(&self) -> bool {
        self.envelope == Envelope::Callers && self.encoding == Encoding::Binary
    }

    fn is_big(&self) -> bool {
        if self.is_kept() {
            return false;
        }
        match envelope::decompressed_bytes(self.encoding, &self.body) {
            Some(plain) => plain.max(self.body.len()) > INLINE_BYTES,
            None => self.body.len() > INLINE_PLAIN_BYTES,
        }
    }

    /// Bytes that opening it takes beside those that are there; none for what stays as it is.
    fn opened_bytes(&self) -> usize {
        envelope::decompressed_bytes(self.encoding, &self.body).unwrap_or(0)
    }

    pub fn open(self) -> Hit {
        let started = envelope::is_compressed(self.encoding, &self.body).then(Instant::now);
        let Opened { payload, outcome } = if self.is_kept() {
            Opened {
                payload: Payload::Bytes(self.body),
                outcome: OpenOutcome::Passthrough,
            }
        } else {
            envelope::open(self.encoding, self.body)
        };
        Hit {
            payload,
            created_at_ms: self.created_at_ms,
            opened: outcome,
            stored_bytes: self.stored_bytes,
            open_time: started.map_or(Duration::ZERO, |started| started.elapsed()),
            room: None,
        }
    }
}
