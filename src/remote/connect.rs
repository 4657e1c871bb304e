//! One connection attempt: resolve, open, secure, log in, ask for a first answer.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisConnectionInfo, ServerError, Value};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;

use super::connection::{Connection, Driver, is_unreadable, veiled};
use super::endpoint::Endpoint;
use super::error::{ErrorKind, RemoteError};
use super::options::{Credentials, Login, Settings};
use super::resolve::Resolver;
use super::shared::Shared;
use super::stream::{Activity, Socket, Stream};

/// Commands the multiplexer takes before it makes the next one wait. Only wakeups depend on it:
/// how much may be pending is the client's own budget.
const MULTIPLEXER_QUEUE: usize = 1024;

/// Bytes encoded before they are flushed to the socket.
const WRITE_BUFFER_BYTES: usize = 64 << 10;

/// Makes one attempt, inside `connect_timeout`.
pub(super) async fn connect(
    client: &Shared,
    endpoint: &Endpoint,
    resolver: &mut Resolver,
) -> Result<(Connection, Driver), RemoteError> {
    let limit = client.settings.connect_timeout;
    let phase = Phase::default();
    match tokio::time::timeout(limit, attempt(client, endpoint, resolver, &phase)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(RemoteError::new(
            ErrorKind::Timeout,
            format!(
                "no connection to Redis within {} ms, {}",
                limit.as_millis(),
                phase.name()
            ),
        )),
    }
}

/// How far an attempt has come: what a timeout can say about its reason.
#[derive(Default)]
struct Phase(AtomicUsize);

impl Phase {
    const NAMES: [&str; 5] = [
        "still resolving the host name",
        "still opening the socket",
        "still waiting for the TLS handshake",
        "still waiting for credentials()",
        "still waiting for its first answer",
    ];
    const RESOLVE: usize = 0;
    const OPEN: usize = 1;
    const SECURE: usize = 2;
    const ASK: usize = 3;
    const GREET: usize = 4;

    fn enter(&self, phase: usize) {
        self.0.store(phase, Ordering::Relaxed);
    }

    fn name(&self) -> &'static str {
        Self::NAMES[self.0.load(Ordering::Relaxed)]
    }
}

async fn attempt(
    client: &Shared,
    endpoint: &Endpoint,
    resolver: &mut Resolver,
    phase: &Phase,
) -> Result<(Connection, Driver), RemoteError> {
    let settings = &client.settings;
    let socket = open(settings, endpoint, resolver, phase).await?;
    let asked;
    let credentials = match &settings.login {
        Login::Anonymous => None,
        Login::Fixed(credentials) => Some(credentials),
        Login::Asked => {
            phase.enter(Phase::ASK);
            asked = client.ask_credentials().await?;
            Some(&asked)
        }
    };
    let activity = Activity::new();
    let stream = Stream::new(socket, activity.clone());
    // The crate's own setup stays empty: its errors would tell less.
    let nothing_to_set_up = RedisConnectionInfo::default().set_skip_set_lib_name();
    let config = AsyncConnectionConfig::new()
        .set_response_timeout(None)
        .set_connection_timeout(None)
        .set_pipeline_buffer_size(MULTIPLEXER_QUEUE)
        .set_write_backpressure_boundary(WRITE_BUFFER_BYTES);
    let (mut multiplexer, driver) = MultiplexedConnection::new_with_config(&nothing_to_set_up, stream, config)
        .await
        .map_err(|_| RemoteError::internal("the connection could not be set up"))?;
    phase.enter(Phase::GREET);
    let mut driver: Driver = Box::pin(driver);
    {
        let mut greeting = pin!(greet(&mut multiplexer, &activity, settings, credentials));
        tokio::select! {
            biased;
            outcome = &mut greeting => outcome?,
            // Its end has answered the greeting, which knows more about the reason.
            () = &mut driver => {
                greeting.await?;
                // Greeted and gone: whoever holds the connection must not poll its driver again.
                return Err(RemoteError::connection_lost());
            }
        }
    }
    let password = credentials.map(|credentials| credentials.password.clone());
    Ok((Connection::new(multiplexer, activity, password), driver))
}

async fn open(
    settings: &Settings,
    endpoint: &Endpoint,
    resolver: &mut Resolver,
    phase: &Phase,
) -> Result<Socket, RemoteError> {
    match endpoint {
        #[cfg(unix)]
        Endpoint::Unix(path) => {
            phase.enter(Phase::OPEN);
            let socket = UnixStream::connect(path).await;
            Ok(Socket::Unix(socket.map_err(|e| RemoteError::connect(&e))?))
        }
        #[cfg(not(unix))]
        Endpoint::Unix(_) => Err(RemoteError::unsupported("no unix sockets on this platform")),
        Endpoint::Tcp { host, port, .. } => {
            phase.enter(Phase::RESOLVE);
            let addresses = resolver.resolve(host, *port).await?;
            phase.enter(Phase::OPEN);
            let socket = open_any(&addresses, settings.connect_timeout)
                .await
                .map_err(|error| RemoteError::connect(&error))?;
            phase.enter(Phase::SECURE);
            match &settings.tls {
                None => Ok(Socket::Tcp(socket)),
                Some(tls) => Ok(Socket::Tls(Box::new(tls.connect(host, socket).await?))),
            }
        }
    }
}

/// Tries one address after the other, so that a name with a dead IPv6 address still works: each
/// gets an equal part of the time.
async fn open_any(addresses: &[SocketAddr], limit: Duration) -> io::Result<TcpStream> {
    let share = limit / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match tokio::time::timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(socket)) => {
                // Commands are small and written whole: waiting to fill a segment only delays them.
                socket.set_nodelay(true)?;
                return Ok(socket);
            }
            Ok(Err(error)) => last = error,
            Err(_) => last = io::Error::from(io::ErrorKind::TimedOut),
        }
    }
    Err(last)
}

/// Logs in and waits for an answer. A kernel accepts connections for a server that is frozen, and
/// anything may listen on a port: only a reply shows that Redis is there.
async fn greet(
    multiplexer: &mut MultiplexedConnection,
    activity: &Activity,
    settings: &Settings,
    credentials: Option<&Credentials>,
) -> Result<(), RemoteError> {
    let mut steps = Vec::with_capacity(4);
    if let Some(Credentials { username, password }) = credentials {
        let mut command = redis::cmd("AUTH");
        if let Some(username) = username {
            command.arg(username);
        }
        command.arg(password.expose());
        steps.push((Step::Auth, command));
    }
    if let Some(name) = &settings.client_name {
        let mut command = redis::cmd("CLIENT");
        command.arg("SETNAME").arg(name);
        steps.push((Step::SetName, command));
    }
    if settings.database != 0 {
        let mut command = redis::cmd("SELECT");
        command.arg(settings.database);
        steps.push((Step::Select, command));
    }
    steps.push((Step::Ping, redis::cmd("PING")));
    // One after the other: in a pipeline the crate keeps an unreadable reply to itself.
    for (step, command) in steps {
        let reply = multiplexer.send_packed_command(&command).await;
        let reply = reply.map_err(|error| {
            if let Some(violation) = activity.violation() {
                RemoteError::violation(violation)
            } else if is_unreadable(&error) && !activity.has_ended() {
                RemoteError::protocol()
            } else {
                RemoteError::fixed(
                    ErrorKind::Disconnected,
                    "the server closed the connection before it answered",
                )
            }
        })?;
        let password = credentials.map(|credentials| &credentials.password);
        step.check(&veiled(reply, password))?;
    }
    Ok(())
}

enum Step {
    Auth,
    SetName,
    Select,
    Ping,
}

impl Step {
    fn check(&self, reply: &Value) -> Result<(), RemoteError> {
        match (self, reply) {
            (Self::Auth | Self::SetName | Self::Select, Value::Okay)
            // The name is for people; a user who may not set it can still be served.
            | (Self::SetName, Value::ServerError(_)) => Ok(()),
            (Self::Auth, Value::ServerError(error)) => Err(refused_login(error)),
            (Self::Ping, Value::SimpleString(text)) if text == "PONG" => Ok(()),
            (Self::Ping, Value::ServerError(error)) if error.code() == "NOPERM" => Ok(()),
            (_, Value::ServerError(error)) if error.code() == "NOAUTH" => Err(RemoteError::fixed(
                ErrorKind::Auth,
                "the server wants a password",
            )),
            (_, Value::ServerError(error)) => Err(RemoteError::server(error)),
            _ => Err(RemoteError::protocol()),
        }
    }
}

/// Never the server's own words: a server without AUTH quotes its arguments.
fn refused_login(error: &ServerError) -> RemoteError {
    let open = error
        .details()
        .is_some_and(|text| text.contains("without any password configured"));
    RemoteError::fixed(
        ErrorKind::Auth,
        if open {
            "the server has no password configured, but one was given"
        } else {
            "the server refused the user name or password"
        },
    )
}
