//! Nothing grows beyond `max_pending` and `max_pending_bytes`.

use std::time::Duration;

use dialcache_native::core::envelope::Payload;
use dialcache_native::remote::{ErrorKind, Event, Options, Status};

use crate::support::{Harness, PATIENCE, SOON, Server, alone, read, resident_bytes, text, write};

#[test]
fn requests_over_max_pending_fail_at_once() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected_with(Options {
        url: server.url(),
        response_timeout: PATIENCE,
        max_pending: 10,
        ..Options::default()
    });
    server.freeze();
    let soon = Some(SOON);
    for ticket in 0..10 {
        client.read(ticket, read("key", soon)).unwrap();
    }
    let refused = client.read(10, read("key", soon)).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Overloaded);
    let refused = client.write(11, write("key", text("value"))).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Overloaded);
    for ticket in 0..10 {
        assert!(matches!(harness.end_of(ticket), Event::Due { .. }));
    }
    // The waits are over, the commands are not.
    let refused = client.read(12, read("key", soon)).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Overloaded);

    server.thaw();
    harness.until(&client, |stats| stats.pending == 0);
    client.read(13, read("key", Some(PATIENCE))).unwrap();
    harness.outcome(13);
    harness.expect_silence();
}

#[test]
fn keys_and_payloads_count_as_bytes() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected_with(Options {
        url: server.url(),
        response_timeout: PATIENCE,
        max_pending_bytes: 100,
        ..Options::default()
    });
    server.freeze();
    client.write(1, write("12345", text(&"x".repeat(45)))).unwrap();
    assert_eq!(client.stats().pending_bytes, 50);
    let refused = client.write(2, write("1", text(&"x".repeat(50)))).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Overloaded);
    client.read(3, read(&"k".repeat(50), None)).unwrap();
    assert_eq!(client.stats().pending_bytes, 100);
    let refused = client.read(4, read("k", None)).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Overloaded);
    assert_eq!(refused.message, "maxPendingBytes of requests are pending already");
    assert_eq!(client.stats().pending_bytes, 100);
    assert_eq!(client.stats().pending, 2);
    server.thaw();
    harness.written(1).unwrap();
    harness.outcome(3);
    assert_eq!(client.stats().pending_bytes, 0);
    let refused = client.write(5, write("key", text(&"x".repeat(100)))).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Overloaded);
    assert_eq!(refused.message, "the request has more bytes than maxPendingBytes");
}

#[test]
fn ten_thousand_big_writes_to_a_frozen_server_stay_inside_max_pending_bytes() {
    const LIMIT: usize = 64 << 20;
    const VALUE: usize = 100_000;
    if !alone("budgets::ten_thousand_big_writes_to_a_frozen_server_stay_inside_max_pending_bytes") {
        return;
    }
    let server = Server::start();
    let (mut harness, client) = Harness::connected_with(Options {
        url: server.url(),
        response_timeout: Duration::from_secs(2),
        max_pending_bytes: LIMIT,
        ..Options::default()
    });
    server.freeze();
    let before = resident_bytes();
    let mut accepted = Vec::new();
    for ticket in 0..10_000 {
        let request = write(&format!("key{ticket:06}"), Payload::Bytes(vec![7; VALUE]));
        match client.write(ticket, request) {
            Ok(()) => accepted.push(ticket),
            Err(error) => assert!(
                matches!(error.kind, ErrorKind::Overloaded | ErrorKind::Disconnected),
                "{error}"
            ),
        }
        assert!(client.stats().pending_bytes <= LIMIT);
    }
    assert!(accepted.len() >= LIMIT / (VALUE + 9));
    if let (Some(before), Some(after)) = (before, resident_bytes()) {
        let grown = after.saturating_sub(before);
        // Beyond the payloads: what the multiplexer holds twice, and the allocator's slack.
        assert!(grown < LIMIT + (24 << 20), "grown by {} MiB", grown >> 20);
    }
    harness.expect_status(Status::Reconnecting);
    for ticket in accepted {
        let error = harness.written(ticket).unwrap_err();
        assert_eq!(error.kind, ErrorKind::ResponseTimeout);
    }
    assert_eq!(client.stats().pending_bytes, 0);

    server.thaw();
    harness.expect_status(Status::Ready);
    client.write(1, write("key", text("value"))).unwrap();
    harness.written(1).unwrap();
}
