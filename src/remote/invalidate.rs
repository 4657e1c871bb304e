//! Raising a watermark, with more patience than reads and writes get: a lost invalidation is a
//! stale value.

use std::sync::Arc;

use redis::Value;
use tokio::time::{Instant, timeout_at};

use super::client::InvalidateRequest;
use super::connection::checked;
use super::error::{ErrorKind, RemoteError};
use super::pending::Pending;
use super::route::Route;
use super::scripts::{Call, INVALIDATE};
use super::shared::Shared;

/// Raises and answers.
pub(super) async fn run(pending: Pending, request: InvalidateRequest) {
    let client = pending.client().clone();
    let outcome = tokio::select! {
        biased;
        outcome = raise(&client, &request) => outcome,
        () = client.link.until_closed() => Err(RemoteError::closed()),
    };
    pending.finish_invalidate(outcome);
}

/// Tries twice. Raising a watermark twice does no harm, so it is retried even when the first try
/// may have arrived.
async fn raise(client: &Arc<Shared>, request: &InvalidateRequest) -> Result<(), RemoteError> {
    match attempt(client, request).await {
        Err(error) if is_passing(&error) => attempt(client, request).await,
        outcome => outcome,
    }
}

async fn attempt(client: &Arc<Shared>, request: &InvalidateRequest) -> Result<(), RemoteError> {
    let limit = Instant::now() + client.settings.response_timeout;
    let mut route = Route::new(client, &request.watermark_key);
    let Ok(connection) = timeout_at(limit, route.until_up()).await else {
        return Err(client.not_connected());
    };
    let mut connection = connection?;
    let call = Call {
        script: &INVALIDATE,
        keys: vec![request.watermark_key.clone()],
        arguments: vec![request.future_buffer_ms.to_string().into_bytes()],
    };
    loop {
        let reply = route.run(&connection, &call).await?;
        if route.follow(&reply).await {
            connection = route.connection().await?;
            continue;
        }
        return match checked(reply)? {
            Value::Int(1) => Ok(()),
            _ => Err(RemoteError::unexpected_reply()),
        };
    }
}

/// Whether another try may fare better.
fn is_passing(error: &RemoteError) -> bool {
    match error.kind {
        ErrorKind::Disconnected | ErrorKind::ResponseTimeout | ErrorKind::Protocol => true,
        ErrorKind::Server => {
            let code = error.message.split(' ').next().unwrap_or_default();
            matches!(
                code,
                "LOADING" | "MASTERDOWN" | "READONLY" | "MOVED" | "ASK" | "TRYAGAIN" | "CLUSTERDOWN"
            )
        }
        _ => false,
    }
}
