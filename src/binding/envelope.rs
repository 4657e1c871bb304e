//! The envelope for clients in JavaScript, on Node's thread pool. Native clients use their own threads.

#![cfg_attr(
    test,
    allow(
        dead_code,
        reason = "the macros export nothing to unit tests, which run without Node"
    )
)]
use std::panic::{AssertUnwindSafe, catch_unwind};

use napi::bindgen_prelude::{AsyncTask, Buffer, Either, Env, Task};
use napi_derive::napi;

use super::client::CompressionConfig;
use super::payload::{presentable, to_payload};
use crate::core::envelope::{self, Compression, Payload};
use crate::core::frame::Encoding;

/// Sealing under way.
pub struct Seal {
    payload: Option<Payload>,
    compression: Option<Compression>,
}

impl Task for Seal {
    type Output = Payload;
    type JsValue = Either<String, Buffer>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let payload = self.payload.take().unwrap_or(Payload::Bytes(Vec::new()));
        let compression = self.compression;
        contained(|| envelope::seal(payload, compression).payload)
    }

    fn resolve(&mut self, _: Env, output: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(from_payload(output))
    }
}

/// Opening under way.
pub struct Open(Vec<u8>);

impl Task for Open {
    type Output = Payload;
    type JsValue = Either<String, Buffer>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let body = std::mem::take(&mut self.0);
        contained(|| envelope::open(Encoding::Binary, body).payload)
    }

    fn resolve(&mut self, _: Env, output: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(from_payload(output))
    }
}

/// Compresses or escapes what a serializer made.
#[napi(catch_unwind, ts_return_type = "Promise<string | Buffer>")]
pub fn seal_payload(payload: Either<String, Buffer>, compression: Option<CompressionConfig>) -> AsyncTask<Seal> {
    AsyncTask::new(Seal {
        payload: Some(to_payload(payload)),
        compression: compression.map(Into::into),
    })
}

/// Makes of a binary payload what a serializer once made.
#[napi(catch_unwind, ts_return_type = "Promise<string | Buffer>")]
pub fn open_payload(body: &[u8]) -> AsyncTask<Open> {
    AsyncTask::new(Open(body.to_vec()))
}

/// How often the calling JavaScript thread itself has compressed or decompressed: never.
#[napi(catch_unwind)]
pub fn codec_runs_here() -> u32 {
    envelope::codec_runs_here()
}

/// Runs on a thread of Node's, which a panic must not unwind into.
fn contained(work: impl FnOnce() -> Payload) -> napi::Result<Payload> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| napi::Error::from_reason("a bug in the envelope was caught"))
}

fn from_payload(payload: Payload) -> Either<String, Buffer> {
    match presentable(payload) {
        Payload::Text(text) => Either::A(text),
        Payload::Bytes(bytes) => Either::B(bytes.into()),
    }
}
