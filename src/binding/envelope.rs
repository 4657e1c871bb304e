//! The envelope for clients in JavaScript, on Node's thread pool. Native clients use their own threads.

#![cfg_attr(
    test,
    allow(
        dead_code,
        reason = "the macros export nothing to unit tests, which run without Node"
    )
)]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use napi::bindgen_prelude::{AsyncTask, Buffer, Either, Env, Task};
use napi_derive::napi;

use super::client::CompressionConfig;
use super::passage::Passage;
use super::payload::{presentable, to_payload};
use crate::core::envelope::{self, Compression, Payload};
use crate::core::frame::Encoding;
use crate::remote::Sealing;

/// A payload on the other side of the envelope.
#[napi(object)]
pub struct PassedPayload {
    /// The payload.
    pub payload: Either<String, Buffer>,
    /// How it came there.
    pub passage: Passage,
}

/// Sealing under way.
pub struct Seal {
    payload: Option<Payload>,
    compression: Option<Compression>,
}

impl Task for Seal {
    type Output = (Payload, Passage);
    type JsValue = PassedPayload;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let payload = self.payload.take().unwrap_or(Payload::Bytes(Vec::new()));
        let compression = self.compression;
        contained(|| {
            let started = Instant::now();
            let sealed = envelope::seal(payload, compression);
            let sealing = Sealing {
                outcome: sealed.outcome,
                payload_bytes: sealed.original_bytes,
                sealed_bytes: sealed.payload.len(),
                time: started.elapsed(),
            };
            (sealed.payload, sealing.into())
        })
    }

    fn resolve(&mut self, _: Env, output: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(passed(output))
    }
}

/// Opening under way.
pub struct Open(Vec<u8>);

impl Task for Open {
    type Output = (Payload, Passage);
    type JsValue = PassedPayload;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let body = std::mem::take(&mut self.0);
        contained(|| {
            let started = envelope::is_compressed(Encoding::Binary, &body).then(Instant::now);
            let opened = envelope::open(Encoding::Binary, body);
            let time = started.map_or(Duration::ZERO, |started| started.elapsed());
            (opened.payload, Passage::opened(opened.outcome, time))
        })
    }

    fn resolve(&mut self, _: Env, output: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(passed(output))
    }
}

/// Compresses or escapes what a serializer made.
#[napi(catch_unwind, ts_return_type = "Promise<PassedPayload>")]
pub fn seal_payload(payload: Either<String, Buffer>, compression: Option<CompressionConfig>) -> AsyncTask<Seal> {
    AsyncTask::new(Seal {
        payload: Some(to_payload(payload)),
        compression: compression.map(Into::into),
    })
}

/// Makes of a binary payload what a serializer once made.
#[napi(catch_unwind, ts_return_type = "Promise<PassedPayload>")]
pub fn open_payload(body: &[u8]) -> AsyncTask<Open> {
    AsyncTask::new(Open(body.to_vec()))
}

/// Bytes that a binary payload is decompressed to: the most there can be when it does not say, 0 when it is not compressed.
#[napi(catch_unwind)]
pub fn opened_bytes(body: &[u8]) -> f64 {
    let bytes = envelope::decompressed_bytes(Encoding::Binary, body).unwrap_or(0);
    // A payload may state anything.
    f64::from(u32::try_from(bytes).unwrap_or(u32::MAX))
}

/// How often the calling JavaScript thread itself has compressed or decompressed: never.
#[napi(catch_unwind)]
pub fn codec_runs_here() -> u32 {
    envelope::codec_runs_here()
}

/// Runs on a thread of Node's, which a panic must not unwind into.
fn contained<T>(work: impl FnOnce() -> T) -> napi::Result<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| napi::Error::from_reason("a bug in the envelope was caught"))
}

fn passed((payload, passage): (Payload, Passage)) -> PassedPayload {
    let payload = match presentable(payload) {
        Payload::Text(text) => Either::A(text),
        Payload::Bytes(bytes) => Either::B(bytes.into()),
    };
    PassedPayload { payload, passage }
}
