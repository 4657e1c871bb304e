//! A byte stream of any kind that remembers when the last byte came.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio_rustls::client::TlsStream;

use super::limits::{Limits, Violation};

/// What a stream has seen so far.
#[derive(Debug)]
pub(super) struct Activity {
    opened: Instant,
    last: AtomicU64,
    ended: AtomicBool,
    violation: OnceLock<Violation>,
}

impl Activity {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            opened: Instant::now(),
            last: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            violation: OnceLock::new(),
        })
    }

    /// When the last byte came.
    pub fn last(&self) -> Instant {
        self.opened + Duration::from_nanos(self.last.load(Ordering::Relaxed))
    }

    /// Since the connection was opened.
    pub fn age(&self) -> Duration {
        self.opened.elapsed()
    }

    /// Whether the other side has said its last.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// What came that no server says, and ended the connection.
    pub fn violation(&self) -> Option<Violation> {
        self.violation.get().copied()
    }

    fn touch(&self) {
        let nanos = u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.last.store(nanos, Ordering::Relaxed);
    }
}

/// A connected socket.
pub(super) enum Socket {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    #[cfg(unix)]
    Unix(UnixStream),
}

/// A connected socket whose incoming bytes are noticed.
pub(super) struct Stream {
    socket: Socket,
    activity: Arc<Activity>,
    limits: Limits,
}

impl Stream {
    pub fn new(socket: Socket, activity: Arc<Activity>) -> Self {
        Self {
            socket,
            activity,
            limits: Limits::default(),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        let polled = match &mut this.socket {
            Socket::Tcp(socket) => Pin::new(socket).poll_read(cx, buf),
            Socket::Tls(socket) => Pin::new(socket).poll_read(cx, buf),
            #[cfg(unix)]
            Socket::Unix(socket) => Pin::new(socket).poll_read(cx, buf),
        };
        if buf.filled().len() > before {
            this.activity.touch();
            if let Err(violation) = this.limits.see(&buf.filled()[before..]) {
                buf.set_filled(before);
                let _ = this.activity.violation.set(violation);
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, violation.message())));
            }
        } else if polled.is_ready() {
            this.activity.ended.store(true, Ordering::Relaxed);
        }
        polled
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().socket {
            Socket::Tcp(socket) => Pin::new(socket).poll_write(cx, buf),
            Socket::Tls(socket) => Pin::new(socket).poll_write(cx, buf),
            #[cfg(unix)]
            Socket::Unix(socket) => Pin::new(socket).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().socket {
            Socket::Tcp(socket) => Pin::new(socket).poll_flush(cx),
            Socket::Tls(socket) => Pin::new(socket).poll_flush(cx),
            #[cfg(unix)]
            Socket::Unix(socket) => Pin::new(socket).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().socket {
            Socket::Tcp(socket) => Pin::new(socket).poll_shutdown(cx),
            Socket::Tls(socket) => Pin::new(socket).poll_shutdown(cx),
            #[cfg(unix)]
            Socket::Unix(socket) => Pin::new(socket).poll_shutdown(cx),
        }
    }
}
