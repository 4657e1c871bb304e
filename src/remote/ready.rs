//! Waiting for a connection.

use std::time::Duration;

use super::error::{ErrorKind, RemoteError};
use super::pending::Pending;

/// Waits and answers.
pub(super) async fn run(pending: Pending, limit: Option<Duration>) {
    let client = pending.client().clone();
    let up = client.link.until_up();
    let outcome = match limit {
        None => up.await.map(drop),
        Some(limit) => match tokio::time::timeout(limit, up).await {
            Ok(outcome) => outcome.map(drop),
            Err(_) => Err(late(limit, client.last_failure())),
        },
    };
    pending.finish_ready(outcome);
}

fn late(limit: Duration, cause: Option<RemoteError>) -> RemoteError {
    let limit = limit.as_millis();
    RemoteError::new(
        ErrorKind::Timeout,
        match cause {
            None => format!("no connection to Redis within {limit} ms"),
            Some(cause) => format!("no connection to Redis within {limit} ms: {cause}"),
        },
    )
}
