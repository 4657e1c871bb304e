//! The native Redis client as JavaScript sees it.

use std::rc::Rc;
use std::time::{Duration, Instant};

use napi::bindgen_prelude::{Buffer, Either};
use napi_derive::napi;

use super::batch::Failure;
use super::engine::{millis, whole};
use super::lines::{Lines, call_ticket};
use super::payload::to_payload;
use crate::core::envelope::Compression;
use crate::remote::{
    Client, Credentials, Envelope, InvalidateRequest, Lateness, Options, ReadRequest, Reconnect, RemoteError, Secret,
    TlsOptions, WriteRequest,
};

/// How payloads are compressed.
#[napi(object)]
#[derive(Clone, Copy)]
pub struct CompressionConfig {
    /// Smaller payloads are left alone.
    pub threshold_bytes: f64,
    /// zstd level.
    pub level: i32,
}

impl From<CompressionConfig> for Compression {
    fn from(config: CompressionConfig) -> Self {
        Self {
            threshold_bytes: usize::try_from(whole(config.threshold_bytes)).unwrap_or(usize::MAX),
            level: config.level,
        }
    }
}

/// TLS settings.
#[napi(object)]
pub struct TlsConfig {
    /// PEM certificates to trust instead of the system's.
    pub ca: Option<Buffer>,
    /// PEM certificate chain to present.
    pub cert: Option<Buffer>,
    /// PEM private key of `cert`.
    pub key: Option<String>,
    /// Name to expect in the server's certificate.
    pub servername: Option<String>,
    /// Whether a certificate that is not trusted ends the attempt.
    pub reject_unauthorized: bool,
}

/// What a client is made with; checked by the facade.
#[napi(object)]
pub struct ClientConfig {
    /// Where the server is; absent for a cluster.
    pub url: Option<String>,
    /// Some nodes of a cluster; empty for a single server.
    pub nodes: Vec<String>,
    /// TLS settings.
    pub tls: Option<TlsConfig>,
    /// ACL user.
    pub username: Option<String>,
    /// Password.
    pub password: Option<String>,
    /// Whether each connection attempt asks for credentials.
    pub dynamic_credentials: bool,
    /// Database number.
    pub database: Option<u32>,
    /// Name in `CLIENT LIST`.
    pub client_name: Option<String>,
    /// Milliseconds.
    pub connect_timeout_ms: f64,
    /// Milliseconds.
    pub response_timeout_ms: f64,
    /// Requests.
    pub max_pending: f64,
    /// Bytes.
    pub max_pending_bytes: f64,
    /// Milliseconds.
    pub base_delay_ms: f64,
    /// Milliseconds.
    pub max_delay_ms: f64,
}

/// How late replies came that missed their deadline.
#[napi(object)]
pub struct LatenessStats {
    /// How many.
    pub count: f64,
    /// Milliseconds.
    pub max_ms: f64,
    /// Milliseconds; absent when there was none.
    pub p50_ms: Option<f64>,
    /// Milliseconds; absent when there was none.
    pub p99_ms: Option<f64>,
}

/// A client's figures.
#[napi(object)]
pub struct ClientStats {
    /// Requests that hold a place.
    pub pending: f64,
    /// Bytes that hold a place.
    pub pending_bytes: f64,
    /// Connections opened after the first one.
    pub reconnects: f64,
    /// Connection attempts that failed.
    pub failed_attempts: f64,
    /// Kind of the last failure.
    pub last_error_kind: Option<String>,
    /// Replies with a value.
    pub late_hits: LatenessStats,
    /// Replies without one.
    pub late_misses: LatenessStats,
    /// Error replies.
    pub late_failed: f64,
    /// Reads whose connection ended first.
    pub late_lost: f64,
}

/// A connection to Redis that keeps itself up.
#[napi]
pub struct NativeClient {
    client: Client,
    lines: Rc<Lines>,
}

impl NativeClient {
    /// Connects in the background.
    pub fn connect(config: ClientConfig, lines: Rc<Lines>) -> napi::Result<Self> {
        let client = lines
            .io()
            .connect(options(config))
            .map_err(|error| napi::Error::from_reason(error.to_string()))?;
        Ok(Self { client, lines })
    }

    /// The client.
    pub const fn client(&self) -> &Client {
        &self.client
    }

    fn accepted(&self, outcome: Result<(), RemoteError>) -> Option<Failure> {
        match outcome {
            Ok(()) => {
                self.lines.retain();
                None
            }
            Err(error) => Some(error.into()),
        }
    }
}

#[napi]
impl NativeClient {
    /// The number in its events.
    #[napi(catch_unwind)]
    pub fn id(&self) -> u32 {
        self.client.id()
    }

    /// Reads a value. A failure that is known at once is returned, and no event follows.
    #[napi(catch_unwind)]
    pub fn read(
        &self,
        call: u32,
        value_key: String,
        watermark_key: Option<String>,
        timeout_ms: Option<f64>,
    ) -> Option<Failure> {
        let deadline = timeout_ms.and_then(|ms| Instant::now().checked_add(millis(ms)));
        let request = ReadRequest {
            value_key,
            watermark_key,
            deadline,
            hedge_at: None,
            envelope: Envelope::Callers,
        };
        self.accepted(self.client.read(call_ticket(call), request))
    }

    /// Writes a value. A failure that is known at once is returned, and no event follows.
    #[napi(catch_unwind)]
    pub fn write(
        &self,
        call: u32,
        value_key: String,
        watermark_key: Option<String>,
        ttl_ms: f64,
        payload: Either<String, Buffer>,
        created_at_ms: f64,
    ) -> Option<Failure> {
        let request = WriteRequest {
            value_key,
            watermark_key,
            ttl_ms: whole(ttl_ms),
            payload: to_payload(payload),
            envelope: Envelope::Callers,
            compression: None,
            created_at_ms: whole(created_at_ms),
        };
        self.accepted(self.client.write(call_ticket(call), request))
    }

    /// Raises a watermark. A failure that is known at once is returned, and no event follows.
    #[napi(catch_unwind)]
    pub fn invalidate(&self, call: u32, watermark_key: String, future_buffer_ms: f64) -> Option<Failure> {
        let request = InvalidateRequest {
            watermark_key,
            future_buffer_ms: whole(future_buffer_ms),
        };
        self.accepted(self.client.invalidate(call_ticket(call), request))
    }

    /// Waits for a connection. A failure that is known at once is returned, and no event follows.
    #[napi(catch_unwind)]
    pub fn ready(&self, call: u32, timeout_ms: Option<f64>) -> Option<Failure> {
        self.accepted(self.client.ready(call_ticket(call), timeout_ms.map(millis)))
    }

    /// Answers a request for credentials; without a password, that there are none.
    #[napi(catch_unwind)]
    pub fn provide_credentials(&self, request: f64, username: Option<String>, password: Option<String>) {
        let credentials = password.map(|password| Credentials {
            username,
            password: Secret::new(password),
        });
        self.client.provide_credentials(whole(request), credentials);
    }

    /// Ends the client.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.client.close();
    }

    /// Whether the client can serve.
    #[napi(catch_unwind)]
    pub fn status(&self) -> &'static str {
        self.client.status().as_str()
    }

    /// What was counted so far.
    #[napi(catch_unwind)]
    pub fn stats(&self) -> ClientStats {
        let stats = self.client.stats();
        ClientStats {
            pending: float(stats.pending),
            pending_bytes: float(stats.pending_bytes),
            reconnects: float(stats.reconnects),
            failed_attempts: float(stats.failed_attempts),
            last_error_kind: stats.last_error.map(|kind| kind.as_str().into()),
            late_hits: lateness(&stats.late.hits),
            late_misses: lateness(&stats.late.misses),
            late_failed: float(stats.late.failed),
            late_lost: float(stats.late.lost),
        }
    }
}

fn options(config: ClientConfig) -> Options {
    Options {
        url: config.url.unwrap_or_else(|| Options::default().url),
        nodes: config.nodes,
        tls: config.tls.map(|tls| TlsOptions {
            ca: tls.ca.map(|ca| ca.to_vec()),
            cert: tls.cert.map(|cert| cert.to_vec()),
            key: tls.key.map(Secret::new),
            servername: tls.servername,
            reject_unauthorized: tls.reject_unauthorized,
        }),
        username: config.username,
        password: config.password.map(Secret::new),
        dynamic_credentials: config.dynamic_credentials,
        database: config.database,
        client_name: config.client_name,
        connect_timeout: millis(config.connect_timeout_ms),
        response_timeout: millis(config.response_timeout_ms),
        max_pending: usize::try_from(whole(config.max_pending)).unwrap_or(usize::MAX),
        max_pending_bytes: usize::try_from(whole(config.max_pending_bytes)).unwrap_or(usize::MAX),
        reconnect: Reconnect {
            base_delay: millis(config.base_delay_ms),
            max_delay: millis(config.max_delay_ms),
        },
    }
}

fn lateness(lateness: &Lateness) -> LatenessStats {
    let ms = |duration: Duration| duration.as_secs_f64() * 1_000.0;
    LatenessStats {
        count: float(lateness.count),
        max_ms: ms(lateness.max),
        p50_ms: lateness.percentile(50).map(ms),
        p99_ms: lateness.percentile(99).map(ms),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "JavaScript's numbers; counts stay far below 2^53"
)]
fn float(number: impl TryInto<u64>) -> f64 {
    number.try_into().unwrap_or(u64::MAX) as f64
}
