//! The Redis side: everything that owns a socket.
//!
//! One [`IoThread`] carries any number of [`Client`]s. A client's methods never block: they check
//! the budgets, put the request into the I/O thread's inbox and return. What becomes of it arrives
//! as an [`Event`] at the [`Sink`].
//!
//! The `redis` crate multiplexes commands over a connection and parses replies. Everything about
//! time is decided here instead: its timeouts and retries are off, because a request's budget
//! belongs to whoever waits for it, and a command that was given up still occupies the connection.
//! For the same reason clusters are routed here: to each node its own connection and budgets.

mod alarm;
mod backoff;
mod blocking;
mod budget;
mod client;
mod cluster;
mod connect;
mod connection;
mod endpoint;
mod error;
mod event;
mod fetch;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod inbox;
mod invalidate;
mod io_thread;
mod limits;
mod link;
mod node;
mod options;
mod pending;
mod queue;
mod read;
mod read_batch;
mod ready;
mod reply_size;
mod resolve;
mod route;
mod scripts;
mod shared;
mod stats;
mod stream;
mod supervisor;
mod tls;
mod watchdog;
mod write;

pub use client::{Client, Envelope, InvalidateRequest, ReadRequest, WriteRequest};
pub use error::{ErrorKind, RemoteError};
pub use event::{Event, Hit, ReadOutcome, Room, Sealing, Sink, Status, Ticket};
pub use io_thread::IoThread;
pub use options::{Credentials, OptionError, Options, Reconnect, Secret, TlsOptions};
pub use stats::{LateReplies, Lateness, Stats};
