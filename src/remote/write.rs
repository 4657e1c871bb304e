//! Writing a value.

use std::time::Instant;

use redis::{Cmd, Value};

use crate::core::envelope::{self, SealOutcome, Sealed};
use crate::core::frame::{self, HEADER_BYTES};

use super::client::{Envelope, WriteRequest};
use super::error::RemoteError;
use super::event::Written;
use super::pending::Pending;
use super::read::INLINE_BYTES;

/// Levels from here on take long even for a payload that is not big.
const SLOW_LEVEL: i32 = 10;

/// Writes and answers.
pub(super) async fn run(pending: Pending, request: WriteRequest) {
    let client = pending.client().clone();
    let outcome = tokio::select! {
        biased;
        outcome = write(&pending, request) => outcome,
        () = client.link.until_closed() => Err(RemoteError::closed()),
    };
    pending.finish_write(outcome);
}

async fn write(pending: &Pending, request: WriteRequest) -> Result<Written, RemoteError> {
    let connection = pending.client().link.connection().await?;
    let _window = connection.write_window(request.payload.len()).await?;
    let (command, mut written) = if is_slow(&request) {
        tokio::task::spawn_blocking(move || prepare(request))
            .await
            .map_err(|_| RemoteError::internal("compression failed, which is a bug"))?
    } else {
        prepare(request)
    };
    match connection.send(&command).await? {
        Value::Okay => {
            written.accepted = true;
            Ok(written)
        }
        _ => Err(RemoteError::protocol()),
    }
}

fn is_slow(request: &WriteRequest) -> bool {
    let bytes = request.payload.len();
    request.envelope == Envelope::Ours
        && request.compression.is_some_and(|compression| {
            bytes >= compression.threshold_bytes && (bytes > INLINE_BYTES || compression.level >= SLOW_LEVEL)
        })
}

fn prepare(request: WriteRequest) -> (Cmd, Written) {
    let payload_bytes = request.payload.len();
    let started = Instant::now();
    let sealed = match request.envelope {
        Envelope::Ours => envelope::seal(request.payload, request.compression),
        Envelope::Callers => Sealed {
            payload: request.payload,
            outcome: SealOutcome::Disabled,
            original_bytes: payload_bytes,
        },
    };
    let seal_time = started.elapsed();
    let mut framed = Vec::with_capacity(HEADER_BYTES + sealed.payload.len());
    frame::encode(request.created_at_ms, &sealed.payload, &mut framed);
    let written = Written {
        accepted: false,
        sealed: sealed.outcome,
        payload_bytes,
        stored_bytes: framed.len(),
        seal_time,
    };
    drop(sealed);
    let mut command = redis::cmd("SET");
    command
        .arg(&request.value_key)
        .arg(&framed)
        .arg("PX")
        .arg(request.ttl_ms);
    (command, written)
}
