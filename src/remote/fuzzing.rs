//! What a server's bytes and a user's URL may do: see [`crate::fuzzing`].

use redis::Value;

use super::client::{Envelope, ReadRequest};
use super::cluster::{Redirect, read_topology};
use super::connection::checked;
use super::endpoint::locate;
use super::options::Options;
use super::read::Found;
use super::{scripts, write};
use crate::core::envelope;
use crate::core::frame::{self, Encoding};
use crate::core::slot::SLOTS;

pub fn reply(data: &[u8]) {
    let Ok(reply) = redis::parse_redis_value(data) else {
        return;
    };
    for watermark_key in [None, Some(String::from("{k}#watermark"))] {
        for envelope in [Envelope::Ours, Envelope::Callers] {
            read(&reply, watermark_key.clone(), envelope);
        }
    }
    assert_eq!(write::is_stored(&reply).is_ok(), reply == Value::Okay);
    let stamped = write::is_accepted(&reply);
    assert!(stamped.is_err() || matches!(reply, Value::Int(0 | 1)));
    let _ = scripts::is_unknown(&reply);
    if let Some(redirect) = Redirect::from_reply(&reply, "asked") {
        assert!(matches!(reply, Value::ServerError(_)));
        if let Redirect::Moved { to: Some(address), .. } | Redirect::Ask(Some(address)) = redirect {
            assert!(!address.host.is_empty());
        }
    }
    if let Some(topology) = read_topology(&reply, "asked") {
        assert!(!topology.is_empty());
        for (first, last, host) in topology {
            assert!(first < SLOTS && last < SLOTS && !host.is_empty());
        }
    }
}

/// As a read takes it, whether or not it asked for a watermark too.
fn read(reply: &Value, watermark_key: Option<String>, envelope: Envelope) {
    let tracked = watermark_key.is_some();
    let request = ReadRequest {
        value_key: String::from("{k}"),
        watermark_key,
        deadline: None,
        hedge_at: None,
        envelope,
    };
    let Ok(Some(found)) = checked(reply.clone()).and_then(|reply| Found::new(reply, &request)) else {
        return;
    };
    let raw = match reply {
        Value::BulkString(raw) if !tracked => raw,
        Value::Array(pair) if tracked && pair.len() == 2 => match &pair[0] {
            Value::BulkString(raw) => raw,
            other => panic!("a hit of {other:?}"),
        },
        other => panic!("a hit of {other:?}"),
    };
    let frame = frame::decode(raw).expect("a hit is a frame");
    // Half a gigabyte takes longer than a fuzzer waits.
    if envelope::decompressed_bytes(frame.encoding, frame.body).is_some_and(|bytes| bytes > 1 << 20) {
        return;
    }
    let hit = found.open();
    assert_eq!((hit.created_at_ms, hit.stored_bytes), (frame.created_at_ms, raw.len()));
    if envelope == Envelope::Callers && frame.encoding == Encoding::Binary {
        assert_eq!(hit.payload.as_bytes(), frame.body, "the caller opens it");
    }
}

pub fn url(text: &str) {
    for text in [text, &masked(text)] {
        check(&Options {
            url: text.lines().next().unwrap_or_default().to_owned(),
            ..Options::default()
        });
        check(&Options {
            nodes: text.lines().map(String::from).collect(),
            ..Options::default()
        });
    }
}

/// What stands before the last `@` of each line, after a colon or slash: a password, if anything is.
fn secret(line: &str) -> Option<&str> {
    line.rsplit_once('@')?.0.rsplit([':', '/']).next()
}

/// The same with secrets that no error's own words contain.
fn masked(text: &str) -> String {
    let mask = |line: &str| match secret(line) {
        Some(secret) if !secret.is_empty() => {
            let mask = secret.replace(|letter: char| letter.is_alphanumeric(), "x");
            line.replacen(secret, &mask, 1)
        }
        _ => line.to_owned(),
    };
    text.lines().map(mask).collect::<Vec<_>>().join("\n")
}

fn check(options: &Options) {
    let Err(error) = locate(options) else { return };
    let message = error.to_string();
    for secret in options
        .nodes
        .iter()
        .chain([&options.url])
        .filter_map(|text| secret(text))
    {
        let is_masked = secret.matches('x').count() >= 8;
        assert!(
            !is_masked || !message.contains(secret),
            "the error quotes a password: {message}"
        );
    }
}
