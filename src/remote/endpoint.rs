//! Where a client's URL points.

use std::path::PathBuf;

use redis::{ConnectionAddr, IntoConnectionInfo};

use super::options::{DEFAULT_URL, OptionError, Options, Secret, Target};

/// What to open a socket to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Tcp { host: String, port: u16, tls: bool },
    Unix(PathBuf),
}

impl Endpoint {
    fn is_tls(&self) -> bool {
        matches!(self, Self::Tcp { tls: true, .. })
    }

    /// The host's name or address; empty for a socket file.
    pub fn host(&self) -> &str {
        match self {
            Self::Tcp { host, .. } => host,
            Self::Unix(_) => "",
        }
    }
}

/// Everything an URL can say.
#[derive(Debug)]
pub(super) struct Parsed {
    pub endpoint: Endpoint,
    pub username: Option<String>,
    pub password: Option<Secret>,
    pub database: Option<u32>,
}

/// What the options point to.
#[derive(Debug)]
pub(super) struct Located {
    pub target: Target,
    pub tls: bool,
    /// What else the URL said, or the first node's.
    pub first: Parsed,
}

/// Finds out what the options point to.
pub(super) fn locate(options: &Options) -> Result<Located, OptionError> {
    if options.nodes.is_empty() {
        let first = parse("url", &options.url)?;
        return Ok(Located {
            target: Target::One(first.endpoint.clone()),
            tls: first.endpoint.is_tls(),
            first,
        });
    }
    if options.url != DEFAULT_URL {
        return Err(OptionError::new("nodes", "cannot be combined with url"));
    }
    let scheme = if options.tls.is_some() { "rediss" } else { "redis" };
    let mut nodes = Vec::with_capacity(options.nodes.len());
    for node in &options.nodes {
        nodes.push(if node.contains("://") {
            parse("nodes", node)?
        } else {
            parse("nodes", &format!("{scheme}://{node}"))?
        });
    }
    let seeds: Vec<_> = nodes.iter().map(|node| node.endpoint.clone()).collect();
    let first = nodes.swap_remove(0);
    let tls = first.endpoint.is_tls();
    if seeds.iter().any(|seed| matches!(seed, Endpoint::Unix(_))) {
        return Err(OptionError::new("nodes", "cannot be socket files"));
    }
    if seeds.iter().any(|seed| seed.is_tls() != tls) {
        return Err(OptionError::new("nodes", "must all use TLS, or none"));
    }
    Ok(Located {
        target: Target::Cluster(seeds),
        tls,
        first,
    })
}

/// Reads an URL. The error never quotes it: a URL that does not parse may still hold a password.
fn parse(option: &'static str, url: &str) -> Result<Parsed, OptionError> {
    let Some(parsed) = redis::parse_redis_url(url) else {
        return Err(OptionError::new(
            option,
            "must be a redis://, rediss://, unix:// or redis+unix:// URL",
        ));
    };
    let info = parsed.into_connection_info().map_err(|error| {
        // What stands after the dash may quote the URL.
        let text = error.to_string();
        let reason = text.split(" - ").next().unwrap_or_default();
        OptionError::new(option, format!("cannot be used: {reason}"))
    })?;
    let endpoint = match info.addr() {
        ConnectionAddr::Tcp(host, port) => tcp(host, *port, false),
        ConnectionAddr::TcpTls {
            host, port, insecure, ..
        } => {
            // Who reads the options must see it there.
            if *insecure {
                return Err(OptionError::new(
                    option,
                    "must not end in #insecure: say reject_unauthorized in tls",
                ));
            }
            tcp(host, *port, true)
        }
        ConnectionAddr::Unix(path) => Endpoint::Unix(path.clone()),
        _ => return Err(OptionError::new(option, "has an address of an unknown kind")),
    };
    let settings = info.redis_settings();
    let database = match settings.db() {
        0 => None,
        number => {
            Some(u32::try_from(number).map_err(|_| OptionError::new(option, "has a database number out of range"))?)
        }
    };
    Ok(Parsed {
        endpoint,
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
