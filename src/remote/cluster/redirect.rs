//! What a cluster's node says when a key is not its own.

use redis::{ServerError, Value};

/// A server's address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::remote) struct Address {
    pub host: String,
    pub port: u16,
}

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
    let to = (host != "?").then(|| Address {
        host: host.to_owned(),
        port,
    });
    Some((slot, to))
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
        assert_eq!(read("MOVED 1 ?:6381"), Some(Redirect::Moved { slot: 1, to: None }));
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
