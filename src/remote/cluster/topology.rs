//! Who serves which slots, as a node tells it.

use std::collections::HashSet;

use redis::Value;

use crate::core::slot::SLOTS;

use super::redirect::Address;

/// More ranges than there are slots name some of them twice.
const MAX_RANGES: usize = SLOTS as usize;

/// Twice what Redis recommends as the most.
const MAX_NODES: usize = 2000;

/// Ranges of slots, both ends inclusive, with the primary of each.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Topology(pub Vec<(u16, u16, Address)>);

impl Topology {
    /// Reads the reply to `CLUSTER SLOTS` of a node whose host is `asked`. `None` when it is none, or
    /// when it names no primary at all.
    pub fn from_reply(reply: &Value, asked: &str) -> Option<Self> {
        let Value::Array(ranges) = reply else { return None };
        if ranges.len() > MAX_RANGES {
            return None;
        }
        let mut nodes = HashSet::new();
        let mut found = Vec::with_capacity(ranges.len());
        for range in ranges {
            let Value::Array(parts) = range else { return None };
            // The primary comes first, replicas after it.
            let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = parts.as_slice() else {
                return None;
            };
            let (first, last) = (slot(*first)?, slot(*last)?);
            if first > last {
                return None;
            }
            if let Some(address) = address(primary, asked) {
                nodes.insert(address.clone());
                if nodes.len() > MAX_NODES {
                    return None;
                }
                found.push((first, last, address));
            }
        }
        (!found.is_empty()).then_some(Self(found))
    }
}

fn slot(number: i64) -> Option<u16> {
    u16::try_from(number).ok().filter(|slot| *slot < SLOTS)
}

/// A missing or empty host is the one that was asked, a question mark none.
fn address(node: &[Value], asked: &str) -> Option<Address> {
    let [host, Value::Int(port), ..] = node else {
        return None;
    };
    let host = match host {
        Value::Nil => asked.to_owned(),
        Value::BulkString(host) if host.is_empty() => asked.to_owned(),
        Value::BulkString(host) => String::from_utf8(host.clone()).ok()?,
        _ => return None,
    };
    let port = u16::try_from(*port).ok().filter(|port| *port != 0)?;
    Address::new(host, port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    fn range(first: i64, last: i64, host: Value, port: i64) -> Value {
        let node = |host, port| Value::Array(vec![host, Value::Int(port), text("id"), Value::Array(vec![])]);
        Value::Array(vec![
            Value::Int(first),
            Value::Int(last),
            node(host, port),
            node(text("replica"), 1),
        ])
    }

    fn read(ranges: Vec<Value>) -> Option<Vec<(u16, u16, String)>> {
        let found = Topology::from_reply(&Value::Array(ranges), "asked")?;
        let name = |(first, last, Address { host, port })| (first, last, format!("{host}:{port}"));
        Some(found.0.into_iter().map(name).collect())
    }

    #[test]
    fn every_range_has_the_first_node_as_its_primary() {
        let found = read(vec![
            range(0, 5460, text("a"), 6379),
            range(5461, 10_922, Value::Nil, 6380),
            range(10_923, 16_383, text(""), 6381),
        ]);
        let expected = [
            (0, 5460, "a:6379"),
            (5461, 10_922, "asked:6380"),
            (10_923, 16_383, "asked:6381"),
        ];
        let expected = expected.map(|(first, last, name)| (first, last, name.to_owned()));
        assert_eq!(found.unwrap(), expected);
    }

    #[test]
    fn a_range_without_a_usable_primary_is_left_out() {
        let found = read(vec![
            range(0, 1, text("?"), 6379),
            range(2, 3, text("a"), 0),
            range(4, 5, text("a"), 6379),
        ]);
        assert_eq!(found.unwrap().len(), 1);
        assert_eq!(read(vec![range(0, 1, text("?"), 6379)]), None);
    }

    #[test]
    fn more_ranges_or_nodes_than_a_cluster_has_are_none() {
        let ranges = |count: i64| {
            (0..count)
                .map(|slot| range(slot % 16_384, slot % 16_384, text("a"), 1))
                .collect()
        };
        assert_eq!(read(ranges(16_384)).map(|found| found.len()), Some(16_384));
        assert_eq!(read(ranges(16_385)), None);
        let nodes = |count: i64| (0..count).map(|slot| range(slot, slot, text("a"), slot + 1)).collect();
        assert_eq!(read(nodes(2000)).map(|found| found.len()), Some(2000));
        assert_eq!(read(nodes(2001)), None);
    }

    #[test]
    fn anything_else_is_no_topology() {
        assert_eq!(read(vec![]), None);
        assert_eq!(read(vec![range(0, 16_384, text("a"), 1)]), None);
        assert_eq!(read(vec![range(-1, 1, text("a"), 1)]), None);
        assert_eq!(read(vec![range(1, 0, text("a"), 1)]), None);
        assert_eq!(read(vec![range(0, 1, text("a\0b"), 1)]), None);
        assert_eq!(read(vec![Value::Int(1)]), None);
        assert_eq!(read(vec![Value::Array(vec![Value::Int(1), Value::Int(2)])]), None);
        assert_eq!(Topology::from_reply(&Value::Okay, "asked"), None);
    }
}
