//! One established connection, and what is pending on it.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisError, Value};
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

use super::error::RemoteError;
use super::options::Secret;
use super::reply_size::ReplySize;
use super::stream::Activity;

/// Bytes of writes handed to the multiplexer at once. It keeps a command twice until the reply, so
/// what goes beyond this waits outside, where it exists once.
const WRITE_WINDOW_BYTES: usize = 4 << 20;

/// A connection that has answered its first command.
pub(super) struct Connection {
    multiplexer: MultiplexedConnection,
    activity: Arc<Activity>,
    /// When each unanswered command was handed over. Redis answers in order, so the front is the
    /// oldest one whichever command's reply is taken off.
    unanswered: Mutex<VecDeque<Instant>>,
    became_busy: Notify,
    write_window: Semaphore,
    pub reply_size: ReplySize,
    ended: OnceLock<RemoteError>,
    /// What the server was told when logging in.
    password: Option<Secret>,
}

impl Connection {
    pub fn new(multiplexer: MultiplexedConnection, activity: Arc<Activity>, password: Option<Secret>) -> Self {
        Self {
            multiplexer,
            activity,
            unanswered: Mutex::default(),
            became_busy: Notify::new(),
            write_window: Semaphore::new(WRITE_WINDOW_BYTES),
            reply_size: ReplySize::default(),
            ended: OnceLock::new(),
            password,
        }
    }

    /// Sends one command and waits for its reply, however long that takes; the connection's end
    /// answers it too. Must not be dropped before: the command would go on occupying the
    /// connection unseen.
    pub async fn send(&self, command: &Cmd) -> Result<Value, RemoteError> {
        checked(self.reply(command).await?)
    }

    /// Sends several commands that nothing comes between, and returns their replies, errors
    /// included. As [`Connection::send`] otherwise.
    pub async fn replies(&self, commands: &Pipeline) -> Result<Vec<Value>, RemoteError> {
        let count = commands.len();
        self.count_in();
        let replies = self.multiplexer.clone().send_packed_commands(commands, 0, count).await;
        self.count_out();
        let replies = replies.map_err(|error| self.failure(&error))?;
        self.reply_size.note(&replies);
        if replies.len() == count {
            let password = self.password.as_ref();
            Ok(replies.into_iter().map(|reply| veiled(reply, password)).collect())
        } else {
            Err(RemoteError::protocol())
        }
    }

    /// Sends one command and returns its reply, be it an error.
    pub async fn reply(&self, command: &Cmd) -> Result<Value, RemoteError> {
        self.count_in();
        let reply = self.multiplexer.clone().send_packed_command(command).await;
        self.count_out();
        let reply = reply.map_err(|error| self.failure(&error))?;
        self.reply_size.note(std::slice::from_ref(&reply));
        Ok(veiled(reply, self.password.as_ref()))
    }

    fn failure(&self, error: &RedisError) -> RemoteError {
        if let Some(violation) = self.activity.violation() {
            RemoteError::violation(violation)
        } else if is_unreadable(error) && !self.activity.has_ended() {
            // The parser's error goes to the oldest command alone; the others and the supervisor
            // only hear of the connection's end. A reply cut short is unreadable too.
            RemoteError::protocol()
        } else {
            self.end_reason()
        }
    }

    /// Waits until a write of `bytes` may be handed over.
    pub async fn write_window(&self, bytes: usize) -> Result<SemaphorePermit<'_>, RemoteError> {
        let permits = u32::try_from(bytes.min(WRITE_WINDOW_BYTES)).unwrap_or(u32::MAX);
        self.write_window
            .acquire_many(permits)
            .await
            .map_err(|_| self.end_reason())
    }

    /// Makes `reason` what the connection's end is reported as, unless another was known first, and
    /// lets no further write begin.
    pub fn end(&self, reason: RemoteError) -> RemoteError {
        let reason = self.ended.get_or_init(|| reason).clone();
        self.write_window.close();
        reason
    }

    /// When the oldest unanswered command was handed over.
    pub fn oldest_unanswered(&self) -> Option<Instant> {
        self.lock().front().copied()
    }

    /// Returns once there may be an unanswered command.
    pub async fn until_busy(&self) {
        self.became_busy.notified().await;
    }

    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    fn end_reason(&self) -> RemoteError {
        self.ended.get().cloned().unwrap_or_else(RemoteError::connection_lost)
    }

    fn count_in(&self) {
        let mut unanswered = self.lock();
        unanswered.push_back(Instant::now());
        if unanswered.len() == 1 {
            self.became_busy.notify_one();
        }
    }

    fn count_out(&self) {
        self.lock().pop_front();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Instant>> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reply with another error in the place of one that repeats the password.
pub(super) fn veiled(reply: Value, password: Option<&Secret>) -> Value {
    let Value::ServerError(error) = &reply else {
        return reply;
    };
    // As it came: a blank may be the password's own.
    let repeats =
        |password: &Secret| password.shows_in(&format!("{} {}", error.code(), error.details().unwrap_or_default()));
    // A redirection's address is not shown, and has to be followed.
    if !password.is_some_and(repeats) || matches!(error.code(), "MOVED" | "ASK") {
        return reply;
    }
    let instead = b"-ERR the server repeated the password in its error, which is left out\r\n";
    redis::parse_redis_value(instead).unwrap_or(Value::Nil)
}

/// An error reply as a failure.
pub(super) fn checked(reply: Value) -> Result<Value, RemoteError> {
    match reply {
        Value::ServerError(error) => Err(RemoteError::server(&error)),
        reply => Ok(reply),
    }
}

/// Whether bytes came that are not the Redis protocol.
pub(super) fn is_unreadable(error: &RedisError) -> bool {
    error.kind() == redis::ErrorKind::Parse
}

/// What moves a connection's bytes while it is polled. Dropping it closes the socket, which answers
/// every command still pending on it.
pub(super) type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;
