//! What a client can be told.

use std::fmt;
use std::time::Duration;

use super::endpoint::{self, Endpoint, Located};
use super::tls;

const MIN_SECRET_BYTES: usize = 4;

/// A text that never shows itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a password or key.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    /// Whether a text holds it. What is shorter than a few characters is found in any.
    pub(super) fn shows_in(&self, text: &str) -> bool {
        self.0.len() >= MIN_SECRET_BYTES && text.contains(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<redacted>")
    }
}

/// What to log in with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// ACL user; the server's default user when absent.
    pub username: Option<String>,
    /// Its password.
    pub password: Secret,
}

/// How to meet a server over TLS. Used with `rediss://` only.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    /// PEM certificates to trust instead of the system's.
    pub ca: Option<Vec<u8>>,
    /// PEM certificate chain to present. Together with `key`.
    pub cert: Option<Vec<u8>>,
    /// PEM private key of `cert`.
    pub key: Option<Secret>,
    /// Name to expect in the server's certificate. Default: the URL's host.
    pub servername: Option<String>,
    /// Whether an untrusted or wrongly named certificate ends the attempt. Default: true.
    pub reject_unauthorized: bool,
}

impl Default for TlsOptions {
    fn default() -> Self {
        Self {
            ca: None,
            cert: None,
            key: None,
            servername: None,
            reject_unauthorized: true,
        }
    }
}

/// How long to wait between connection attempts: a random time between 0 and
/// `base_delay * 2^n`, at most `max_delay`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconnect {
    /// Upper bound of the first wait. Default: 50 ms.
    pub base_delay: Duration,
    /// Upper bound of every wait. Default: 2 s.
    pub max_delay: Duration,
}

impl Default for Reconnect {
    fn default() -> Self {
        Self {
            base_delay: Duration::from_millis(50),
            max_delay: Duration::from_secs(2),
        }
    }
}

/// Everything a client is made of. Debug output shows no secret.
#[derive(Clone)]
pub struct Options {
    /// `redis://`, `rediss://`, `unix://` or `redis+unix://`. May hold user, password and database.
    /// Default: `redis://127.0.0.1:6379`.
    pub url: String,
    /// Some nodes of a cluster, as `host:port` or as URLs; the others are found by asking these.
    /// Excludes `url`. With `tls`, `host:port` is reached over TLS. Default: none, which means a
    /// single server.
    pub nodes: Vec<String>,
    /// TLS settings; an error with an URL that is not `rediss://`. A cluster's nodes are expected to
    /// have certificates for the addresses that the cluster announces, unless `servername` is given.
    pub tls: Option<TlsOptions>,
    /// ACL user. Wins over the URL's.
    pub username: Option<String>,
    /// Password. Wins over the URL's.
    pub password: Option<Secret>,
    /// Ask for credentials at every connection attempt, with [`Event::Credentials`](super::Event).
    /// Excludes `username` and `password`. Default: false.
    pub dynamic_credentials: bool,
    /// Database number. Wins over the URL's. Default: 0.
    pub database: Option<u32>,
    /// Name to show in `CLIENT LIST`.
    pub client_name: Option<String>,
    /// Budget of one connection attempt, from name resolution to the first answer. Default: 2 s.
    pub connect_timeout: Duration,
    /// How long the server may send nothing while a command that old is pending. Default: 2 s.
    pub response_timeout: Duration,
    /// Most requests pending at once. Default: 10,000.
    pub max_pending: usize,
    /// Most bytes of keys and payloads pending at once. Default: 64 MiB.
    pub max_pending_bytes: usize,
    /// Waits between connection attempts.
    pub reconnect: Reconnect,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            url: String::from(DEFAULT_URL),
            nodes: Vec::new(),
            tls: None,
            username: None,
            password: None,
            dynamic_credentials: false,
            database: None,
            client_name: None,
            connect_timeout: Duration::from_secs(2),
            response_timeout: Duration::from_secs(2),
            max_pending: 10_000,
            max_pending_bytes: 64 << 20,
            reconnect: Reconnect::default(),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("url", &"<redacted>")
            .field("nodes", &format_args!("<{} redacted>", self.nodes.len()))
            .field("tls", &self.tls)
            .field("username", &self.username)
            .field("password", &self.password)
            .field("dynamic_credentials", &self.dynamic_credentials)
            .field("database", &self.database)
            .field("client_name", &self.client_name)
            .field("connect_timeout", &self.connect_timeout)
            .field("response_timeout", &self.response_timeout)
            .field("max_pending", &self.max_pending)
            .field("max_pending_bytes", &self.max_pending_bytes)
            .field("reconnect", &self.reconnect)
            .finish()
    }
}

/// An option that cannot be used. Never quotes the value of `url` or a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option}: {message}")]
pub struct OptionError {
    /// Name of the option, as users write it.
    pub option: &'static str,
    /// What is wrong with it.
    pub message: String,
}

impl OptionError {
    pub(super) fn new(option: &'static str, message: impl Into<String>) -> Self {
        Self {
            option,
            message: message.into(),
        }
    }
}

/// Options that were found to be usable.
pub(super) struct Settings {
    pub target: Target,
    pub tls: Option<tls::Settings>,
    pub login: Login,
    pub database: u32,
    pub client_name: Option<String>,
    pub connect_timeout: Duration,
    pub response_timeout: Duration,
    pub max_pending: usize,
    pub max_pending_bytes: usize,
    pub reconnect: Reconnect,
}

/// What to connect to.
#[derive(Debug)]
pub(super) enum Target {
    One(Endpoint),
    /// Through any of these nodes.
    Cluster(Vec<Endpoint>),
}

/// Where a connection attempt gets its credentials from.
pub(super) enum Login {
    Anonymous,
    Fixed(Credentials),
    Asked,
}

impl Settings {
    pub fn new(options: Options) -> Result<Self, OptionError> {
        let Located { target, tls, first } = endpoint::locate(&options)?;
        let tls = match (tls, options.tls) {
            (true, given) => Some(tls::Settings::new(given.unwrap_or_default())?),
            (false, None) => None,
            (false, Some(_)) => {
                return Err(OptionError::new("tls", "needs a rediss:// url"));
            }
        };
        if options.dynamic_credentials && (options.username.is_some() || options.password.is_some()) {
            return Err(OptionError::new(
                "credentials",
                "cannot be combined with username or password",
            ));
        }
        let login = if options.dynamic_credentials {
            Login::Asked
        } else {
            let username = options.username.or(first.username);
            match (username, options.password.or(first.password)) {
                (None, None) => Login::Anonymous,
                (username, Some(password)) => Login::Fixed(Credentials { username, password }),
                (Some(_), None) => {
                    return Err(OptionError::new("username", "needs a password"));
                }
            }
        };
        if let Some(name) = &options.client_name {
            // Redis refuses anything else, and a refusal here is easier to find than one there.
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(OptionError::new("clientName", "must be printable ASCII without spaces"));
            }
        }
        for (option, duration) in [
            ("connectTimeoutMs", options.connect_timeout),
            ("responseTimeoutMs", options.response_timeout),
            ("reconnect.baseDelayMs", options.reconnect.base_delay),
            ("reconnect.maxDelayMs", options.reconnect.max_delay),
        ] {
            if duration.is_zero() || duration > LONGEST {
                return Err(OptionError::new(option, "must be from 1 to 2147483647 milliseconds"));
            }
        }
        for (option, count) in [
            ("maxPending", options.max_pending),
            ("maxPendingBytes", options.max_pending_bytes),
        ] {
            if count == 0 {
                return Err(OptionError::new(option, "must be at least 1"));
            }
        }
        Ok(Self {
            target,
            tls,
            login,
            database: options.database.or(first.database).unwrap_or(0),
            client_name: options.client_name,
            connect_timeout: options.connect_timeout,
            response_timeout: options.response_timeout,
            max_pending: options.max_pending,
            max_pending_bytes: options.max_pending_bytes,
            reconnect: options.reconnect,
        })
    }
}

/// Where a server is expected when nothing is said.
pub(super) const DEFAULT_URL: &str = "redis://127.0.0.1:6379";

/// The longest JavaScript timer; longer budgets mean a mistaken unit.
const LONGEST: Duration = Duration::from_millis(2_147_483_647);
