//! Getting the reply that a read is about.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use redis::{Cmd, Value};

use super::client::ReadRequest;
use super::cluster::Redirect;
use super::connection::checked;
use super::error::RemoteError;
use super::read::is_over;
use super::route::Route;
use super::shared::Shared;

/// How far a read has come, for whoever waits for it only so long.
#[derive(Default)]
pub(super) struct Progress(AtomicU8);

impl Progress {
    const SENT: u8 = 1;
    const GIVEN_UP: u8 = 2;

    /// Whether a command of it occupies a connection.
    pub fn is_sent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == Self::SENT
    }

    /// Lets it send nothing more.
    pub fn give_up(&self) {
        self.0.store(Self::GIVEN_UP, Ordering::Relaxed);
    }

    fn may_send(&self, deadline: Option<Instant>) -> bool {
        let may = self.0.load(Ordering::Relaxed) != Self::GIVEN_UP && !is_over(deadline, Instant::now());
        if may {
            self.0.store(Self::SENT, Ordering::Relaxed);
        }
        may
    }

    fn answered(&self) {
        let _ = self
            .0
            .compare_exchange(Self::SENT, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

pub(super) enum Fetched {
    Reply(Result<Value, RemoteError>),
    /// The deadline passed before it was sent, or sent again.
    Over,
}

impl Fetched {
    fn checked(self) -> Self {
        match self {
            Self::Reply(reply) => Self::Reply(reply.and_then(checked)),
            Self::Over => Self::Over,
        }
    }
}

/// Asks for what a request is about.
pub(super) async fn fetch(client: &Arc<Shared>, request: &ReadRequest, progress: &Progress) -> Fetched {
    let ask = Ask {
        client,
        deadline: request.deadline,
        progress,
    };
    match (
        ask.about(&request.value_key, &command(request)).await,
        &request.watermark_key,
    ) {
        (Fetched::Reply(Ok(reply)), Some(watermark_key)) if Redirect::is_split(&reply) => {
            ask.one_by_one(&request.value_key, watermark_key).await
        }
        (fetched, _) => fetched.checked(),
    }
}

/// What asks for a value, and its watermark.
pub(super) fn command(request: &ReadRequest) -> Cmd {
    let Some(watermark_key) = &request.watermark_key else {
        return get(&request.value_key);
    };
    // At one moment, or an invalidation could fall between.
    let mut mget = redis::cmd("MGET");
    mget.arg(&request.value_key).arg(watermark_key);
    mget
}

struct Ask<'a> {
    client: &'a Arc<Shared>,
    deadline: Option<Instant>,
    progress: &'a Progress,
}

impl Ask<'_> {
    /// The reply, be it an error.
    async fn about(&self, key: &str, command: &Cmd) -> Fetched {
        let mut route = Route::new(self.client, key);
        loop {
            let connection = match route.connection().await {
                Ok(connection) => connection,
                Err(error) => return Fetched::Reply(Err(error)),
            };
            if !self.progress.may_send(self.deadline) {
                return Fetched::Over;
            }
            let reply = route.send(&connection, command).await;
            self.progress.answered();
            match reply {
                // Trying again takes time, and there is another way.
                Ok(reply) if !Redirect::is_split(&reply) && route.follow(&reply).await => {}
                reply => return Fetched::Reply(reply),
            }
        }
    }

    /// While a slot is on its way to another node, a value may be here and its watermark there, and
    /// no single command reaches both. The value first: a watermark that is read after it is one
    /// that held at some moment since, so nothing is served that was barred when the read began.
    async fn one_by_one(&self, value_key: &str, watermark_key: &str) -> Fetched {
        let value = match self.about(value_key, &get(value_key)).await.checked() {
            Fetched::Reply(Ok(value)) => value,
            other => return other,
        };
        match self.about(watermark_key, &get(watermark_key)).await.checked() {
            Fetched::Reply(Ok(watermark)) => Fetched::Reply(Ok(Value::Array(vec![value, watermark]))),
            other => other,
        }
    }
}

fn get(key: &str) -> Cmd {
    let mut get = redis::cmd("GET");
    get.arg(key);
    get
}
