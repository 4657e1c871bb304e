//! What can go wrong between this process and Redis.

use std::borrow::Cow;
use std::fmt;
use std::io;

use redis::ServerError;

use super::limits::Violation;

/// Enough for every message Redis writes, and a bound for those it did not.
const MAX_DETAIL_CHARS: usize = 200;

/// Likewise for the word in front of them.
const MAX_CODE_CHARS: usize = 40;

/// What went wrong, as a bounded enumeration fit for a metric label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no connection, or it ended before the reply came.
    Disconnected,
    /// The connection could not be opened: refused, unreachable, no such socket.
    Connect,
    /// The host name could not be resolved.
    Dns,
    /// The TLS handshake failed.
    Tls,
    /// The server refused the credentials, or wants some.
    Auth,
    /// `credentials()` failed, so the connection attempt had nothing to log in with.
    Credentials,
    /// A connection attempt or `ready` took longer than its budget.
    Timeout,
    /// No byte came for `responseTimeoutMs` while a command that old was pending.
    ResponseTimeout,
    /// What answers does not speak the Redis protocol.
    Protocol,
    /// Redis answered the command with an error, such as `WRONGTYPE` or `OOM`.
    Server,
    /// The stored value has an encoding this version does not know.
    Encoding,
    /// The cluster has no node for the key's slot, or nobody who says who serves what.
    Cluster,
    /// A tracked value was gone before it could be stamped: another write of the same key came
    /// between, or it was deleted or evicted.
    PlaceholderLost,
    /// `maxPending` or `maxPendingBytes` is used up.
    Overloaded,
    /// The client was closed.
    Closed,
    /// Not available in this version.
    Unsupported,
    /// A bug in this package.
    Internal,
}

impl ErrorKind {
    /// The stable name, as it appears in error codes, statistics and labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disconnected => "disconnected",
            Self::Connect => "connect",
            Self::Dns => "dns",
            Self::Tls => "tls",
            Self::Auth => "auth",
            Self::Credentials => "credentials",
            Self::Timeout => "timeout",
            Self::ResponseTimeout => "response_timeout",
            Self::Protocol => "protocol",
            Self::Server => "server",
            Self::Encoding => "encoding",
            Self::Cluster => "cluster",
            Self::PlaceholderLost => "placeholder_lost",
            Self::Overloaded => "overloaded",
            Self::Closed => "closed",
            Self::Unsupported => "unsupported",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failure of the Redis side. Holds no key, value, URL or secret, so it may be logged as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RemoteError {
    /// What went wrong.
    pub kind: ErrorKind,
    /// One line for a person.
    pub message: Cow<'static, str>,
}

impl RemoteError {
    pub(super) const fn fixed(kind: ErrorKind, message: &'static str) -> Self {
        Self {
            kind,
            message: Cow::Borrowed(message),
        }
    }

    pub(super) fn new(kind: ErrorKind, message: String) -> Self {
        Self {
            kind,
            message: Cow::Owned(message),
        }
    }

    /// This failure as the reason why there is no connection now.
    pub(super) fn not_connected(&self) -> Self {
        Self::new(
            ErrorKind::Disconnected,
            format!("not connected to Redis: {}", self.message),
        )
    }

    pub(super) const fn connection_lost() -> Self {
        Self::fixed(
            ErrorKind::Disconnected,
            "the connection to Redis ended before the reply",
        )
    }

    pub(super) const fn closed() -> Self {
        Self::fixed(ErrorKind::Closed, "the Redis client is closed")
    }

    /// Never the parser's own words: they quote what the server sent.
    pub(super) const fn protocol() -> Self {
        Self::fixed(ErrorKind::Protocol, "the server's answer is not the Redis protocol")
    }

    /// What came is more than any server says.
    pub(super) const fn violation(violation: Violation) -> Self {
        Self::fixed(ErrorKind::Protocol, violation.message())
    }

    /// Well-formed, but not an answer to what was asked.
    pub(super) const fn unexpected_reply() -> Self {
        Self::fixed(ErrorKind::Protocol, "the server's answer is none this command has")
    }

    pub(super) const fn placeholder_lost() -> Self {
        Self::fixed(
            ErrorKind::PlaceholderLost,
            "the value was overwritten, deleted or evicted before it was stamped",
        )
    }

    #[cfg(not(unix))]
    pub(super) const fn unsupported(message: &'static str) -> Self {
        Self::fixed(ErrorKind::Unsupported, message)
    }

    pub(super) const fn internal(message: &'static str) -> Self {
        Self::fixed(ErrorKind::Internal, message)
    }

    /// An error reply. Servers echo arguments in some of them ("unknown command ... with args
    /// beginning with: ..."), and those are keys, values or passwords: the echo is cut off.
    pub(super) fn server(error: &ServerError) -> Self {
        let detail = match error.code() {
            // Told when they were followed in vain: the address is the server's, and may be anything.
            "MOVED" | "ASK" => "led to no node that serves the key",
            _ => error.details().unwrap_or_default(),
        };
        let detail = detail.split(", with args").next().unwrap_or_default();
        let mut text = printable(error.code(), MAX_CODE_CHARS);
        if !detail.is_empty() {
            text.push(' ');
            text.push_str(&printable(detail, MAX_DETAIL_CHARS));
        }
        Self::new(ErrorKind::Server, text)
    }

    /// A failure to open a connection.
    pub(super) fn connect(error: &io::Error) -> Self {
        Self::new(
            ErrorKind::Connect,
            format!("could not connect to Redis: {}", error.kind()),
        )
    }
}

/// What a server said as a part of one line: no line breaks, no terminal's control sequences.
fn printable(text: &str, max_chars: usize) -> String {
    let shown = |char: char| if char.is_control() { '\u{fffd}' } else { char };
    text.chars().take(max_chars).map(shown).collect()
}
