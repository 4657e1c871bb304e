//! What a cluster's node says when a key is not its own.

use redis::{ServerError, Value};

/// A server's address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::remote) struct Address {
    pub host: String,
    pub port: u16,
}

impl Address {
    /// `None` for a question mark, by which a node says that it does not know, and for what is no
    /// host name and no IP address.
    pub fn new(host: String, port: u16) -> Option<Self> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:%".contains(&byte);
        let is_host = (1..=MAX_HOST_BYTES).contains(&host.len()) && host.bytes().all(allowed);
        is_host.then_some(Self { host, port })
    }
}

/// The most a host name may have.
const MAX_HOST_BYTES: usize = 253;

#[derive(Debug, PartialEq, Eq)]
pub(in crate::remote) enum Redirect {
    /// The slot is another node's now. Without an address when the node does not know it.
    Moved { slot: u16, to: Option<Address> },
    /// The slot is on its way to another node, and this key is there already, or new.
    Ask(Option<Address>),
    /// The slot is on its way, and the command's keys are not all at the same end.
    TryAgain,
    /// The node cannot serve; another may soon.
    Unfit,
}

impl Redirect {
    /// Whether a reply says that a command's keys are at both ends of a moving slot.
    pub fn is_split(reply: &Value) -> bool {
        matches!(reply, Value::ServerError(error) if error.code() == "TRYAGAIN")
    }

    /// Reads a reply of a node whose host is `asked`; `None` when it is about the command itself.
    pub fn from_reply(reply: &Value, asked: &str) -> Option<Self> {
        let Value::ServerError(error) = reply else { return None };
        Some(match error.code() {
            "MOVED" => {
                let (slot, to) = target(error, asked)?;
                Self::Moved { slot, to }
            }
            "ASK" => Self::Ask(target(error, asked)?.1),
            "TRYAGAIN" => Self::TryAgain,
            "CLUSTERDOWN" | "MASTERDOWN" | "READONLY" | "LOADING" => Self::Unfit,
            _ => return None,
        })
    }
}

/// `3999 127.0.0.1:6381`. An empty host is the one that was asked, a question mark none.
fn target(error: &ServerError, asked: &str) -> Option<(u16, Option<Address>)> {
    let mut words = error.details()?.split(' ');
    let slot = words.next()?.parse().ok()?;
    let (host, port) = words.next()?.rsplit_once(':')?;
    let port = port.parse().ok()?;
    let host = if host.is_empty() { asked } else { host };
    Some((slot, Address::new(host.to_owned(), port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<Redirect> {
        let reply = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap();
        Redirect::from_reply(&reply, "asked")
    }

    fn address(host: &str, port: u16) -> Address {
        let host = host.to_owned();
        Address { host, port }
    }

    #[test]
    fn redirections_name_a_slot_and_an_address() {
        for (text, host) in [
            ("127.0.0.1", "127.0.0.1"),
            ("::1", "::1"),
            ("redis.example", "redis.example"),
            ("", "asked"),
        ] {
            let moved = read(&format!("MOVED 3999 {text}:6381"));
            let to = Some(address(host, 6381));
            assert_eq!(moved, Some(Redirect::Moved { slot: 3999, to }));
            assert_eq!(
                read(&format!("ASK 1 {text}:6381")),
                Some(Redirect::Ask(Some(address(host, 6381))))
            );
        }
        let too_long = "a".repeat(254);
        for nowhere in ["?", "a/b", "a@b", "a\0b", "[::1]", "caf\u{e9}", too_long.as_str()] {
            let moved = read(&format!("MOVED 1 {nowhere}:6381"));
            assert_eq!(moved, Some(Redirect::Moved { slot: 1, to: None }), "{nowhere}");
        }
    }

    #[test]
    fn other_errors_are_told_apart() {
        assert_eq!(
            read("TRYAGAIN Multiple keys request during rehashing"),
            Some(Redirect::TryAgain)
        );
        assert_eq!(read("CLUSTERDOWN Hash slot not served"), Some(Redirect::Unfit));
        assert_eq!(read("WRONGTYPE Operation against a key"), None);
        for broken in [
            "MOVED",
            "MOVED x 127.0.0.1:1",
            "MOVED 1",
            "MOVED 1 127.0.0.1",
            "MOVED 1 127.0.0.1:99999",
        ] {
            assert_eq!(read(broken), None, "{broken}");
        }
        assert_eq!(Redirect::from_reply(&Value::Okay, "asked"), None);
    }
}
