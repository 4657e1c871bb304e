//! Notices a connection that is dead without saying so.

use std::time::{Duration, Instant};

use super::connection::Connection;

/// Returns once a command has been pending for `limit` while not one byte came. A slow reply in
/// parts, or replies to other commands, keep a connection alive.
pub(super) async fn until_dead(connection: &Connection, limit: Duration) {
    loop {
        let Some(oldest) = connection.oldest_unanswered() else {
            connection.until_busy().await;
            continue;
        };
        let at = oldest.max(connection.activity().last()) + limit;
        if Instant::now() >= at {
            return;
        }
        tokio::time::sleep_until(at.into()).await;
    }
}
