//! Where a client's URL points.

use std::path::PathBuf;

use redis::{ConnectionAddr, IntoConnectionInfo};

use super::options::{OptionError, Secret};

/// What to open a socket to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Tcp { host: String, port: u16, tls: bool },
    Unix(PathBuf),
}

/// Everything an URL can say.
#[derive(Debug)]
pub(super) struct Target {
    pub endpoint: Endpoint,
    /// `rediss://...#insecure`.
    pub insecure: bool,
    pub username: Option<String>,
    pub password: Option<Secret>,
    pub database: Option<u32>,
}

/// Reads an URL. The error never quotes it: a URL that does not parse may still hold a password.
pub(super) fn parse(url: &str) -> Result<Target, OptionError> {
    let Some(parsed) = redis::parse_redis_url(url) else {
        return Err(invalid("must be a redis://, rediss://, unix:// or redis+unix:// URL"));
    };
    let info = parsed.into_connection_info().map_err(|error| {
        // What stands after the dash may quote the URL.
        let text = error.to_string();
        let reason = text.split(" - ").next().unwrap_or_default();
        OptionError::new("url", format!("cannot be used: {reason}"))
    })?;
    let (endpoint, insecure) = match info.addr() {
        ConnectionAddr::Tcp(host, port) => (tcp(host, *port, false), false),
        ConnectionAddr::TcpTls {
            host, port, insecure, ..
        } => (tcp(host, *port, true), *insecure),
        ConnectionAddr::Unix(path) => (Endpoint::Unix(path.clone()), false),
        _ => return Err(invalid("has an address of an unknown kind")),
    };
    let settings = info.redis_settings();
    let database = match settings.db() {
        0 => None,
        number => Some(u32::try_from(number).map_err(|_| invalid("has a database number out of range"))?),
    };
    Ok(Target {
        endpoint,
        insecure,
        username: settings.username().map(String::from),
        password: settings.password().map(Secret::new),
        database,
    })
}

fn tcp(host: &str, port: u16, tls: bool) -> Endpoint {
    Endpoint::Tcp {
        host: host.to_owned(),
        port,
        tls,
    }
}

fn invalid(message: &'static str) -> OptionError {
    OptionError::new("url", message)
}
