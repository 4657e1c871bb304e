//! The end comes at once, whatever Redis does.

use std::net::TcpListener;
use std::time::Instant;

use dialcache_native::core::envelope::{Compression, Payload};
use dialcache_native::remote::{Envelope, ErrorKind, Event, Options, ReadOutcome, RemoteError, Status, WriteRequest};

use crate::support::{Harness, PATIENCE, SOON, Server, read, text, write};

/// Budgets that cannot be what ends anything here.
fn patient(url: String) -> Options {
    Options {
        url,
        connect_timeout: PATIENCE,
        response_timeout: PATIENCE,
        ..Options::default()
    }
}

#[test]
fn close_fails_what_is_pending_and_refuses_what_comes() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected_with(patient(server.url()));
    let other = harness.io.connect(patient(server.url())).unwrap();
    harness.expect_status(Status::Ready);
    server.freeze();
    client.read(1, read("key", Some(PATIENCE))).unwrap();
    client.write(2, write("key", text("value"))).unwrap();
    // More than the multiplexer takes at once, so that some still wait outside.
    for ticket in 10..20 {
        let payload = text(&"x".repeat(1 << 20));
        client.write(ticket, write("key", payload)).unwrap();
    }
    client.close();
    assert_eq!(client.status(), Status::Closed);
    client.close();
    assert_eq!(harness.failure(1).kind, ErrorKind::Closed);
    for ticket in [2].into_iter().chain(10..20) {
        assert_eq!(harness.written(ticket).unwrap_err().kind, ErrorKind::Closed);
    }
    harness.expect_status(Status::Closed);
    for outcome in [
        client.read(3, read("key", None)),
        client.write(4, write("key", text("value"))),
        client.ready(5, None),
    ] {
        assert_eq!(outcome.unwrap_err(), closed());
    }
    assert_eq!(client.stats().pending, 0);
    harness.expect_silence();

    // Another client on the same thread is none the wiser.
    assert_eq!(other.status(), Status::Ready);
    server.thaw();
    other.read(6, read("none", Some(PATIENCE))).unwrap();
    assert!(matches!(harness.outcome(6), ReadOutcome::Miss | ReadOutcome::Hit(_)));
}

fn closed() -> RemoteError {
    RemoteError {
        kind: ErrorKind::Closed,
        message: "the Redis client is closed".into(),
    }
}

#[test]
fn close_ends_waits_for_the_first_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut harness = Harness::new();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let client = harness.io.connect(patient(url)).unwrap();
    client.read(1, read("key", None)).unwrap();
    client.write(2, write("key", text("value"))).unwrap();
    client.ready(3, None).unwrap();
    client.close();
    assert_eq!(harness.failure(1), closed());
    assert_eq!(harness.written(2).unwrap_err(), closed());
    assert_eq!(harness.ready(3).unwrap_err(), closed());
    harness.expect_status(Status::Closed);
    harness.expect_silence();
}

#[test]
fn dropping_the_last_handle_closes_the_client() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected_with(patient(server.url()));
    server.freeze();
    client.read(1, read("key", None)).unwrap();
    let copy = client.clone();
    drop(client);
    harness.expect_silence();
    drop(copy);
    assert_eq!(harness.failure(1), closed());
    harness.expect_status(Status::Closed);
}

#[test]
fn a_read_that_was_due_frees_its_share_on_close() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected_with(patient(server.url()));
    server.freeze();
    client.read(1, read("key", Some(SOON))).unwrap();
    assert!(matches!(harness.end_of(1), Event::Due { .. }));
    client.close();
    harness.until(&client, |stats| stats.pending == 0);
    harness.expect_status(Status::Closed);
    harness.expect_silence();
    assert_eq!(client.stats().late.lost, 1);
}

#[test]
fn shutdown_does_not_wait_for_a_frozen_server() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected_with(patient(server.url()));
    server.freeze();
    for ticket in 0..1_000 {
        client.read(ticket, read("key", None)).unwrap();
    }
    for ticket in 1_000..1_050 {
        let payload = text(&"x".repeat(1 << 20));
        client.write(ticket, write("key", payload)).unwrap();
    }
    let start = Instant::now();
    harness.io.shutdown();
    harness.io.shutdown();
    // A hundredth of every budget there is.
    assert!(start.elapsed() < PATIENCE / 10, "{:?}", start.elapsed());
    for ticket in 0..1_000 {
        assert_eq!(harness.failure(ticket), closed());
    }
    for ticket in 1_000..1_050 {
        assert_eq!(harness.written(ticket).unwrap_err(), closed());
    }
    harness.expect_silence();
    assert_eq!(client.status(), Status::Closed);
    assert_eq!(client.read(1, read("key", None)).unwrap_err(), closed());
    client.close();
    let refused = harness.io.connect(patient(server.url())).unwrap_err();
    assert_eq!(refused.option, "client");
    assert_eq!((client.stats().pending, client.stats().pending_bytes), (0, 0));
}

#[test]
fn neither_end_waits_for_a_compression() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected_with(patient(server.url()));
    let other = harness.io.connect(patient(server.url())).unwrap();
    harness.expect_status(Status::Ready);
    // Many seconds of work.
    let slow = || {
        let noise = (0..5_000_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes());
        WriteRequest {
            envelope: Envelope::Ours,
            compression: Some(Compression {
                threshold_bytes: 1,
                level: 22,
            }),
            ..write("key", Payload::Bytes(noise.collect()))
        }
    };
    client.write(1, slow()).unwrap();
    other.write(2, slow()).unwrap();
    harness.expect_silence();
    let start = Instant::now();
    client.close();
    assert_eq!(harness.written(1).unwrap_err(), closed());
    harness.io.shutdown();
    assert_eq!(harness.written(2).unwrap_err(), closed());
    assert!(start.elapsed() < PATIENCE / 10, "{:?}", start.elapsed());
}

#[test]
fn shutdown_does_not_wait_for_an_attempt() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for url in [
        format!("redis://{}", listener.local_addr().unwrap()),
        String::from("redis://no-such-host.invalid"),
        String::from("redis://127.0.0.1:1"),
    ] {
        let mut harness = Harness::new();
        let client = harness.io.connect(patient(url)).unwrap();
        let accepted = client.ready(1, None).is_ok();
        let start = Instant::now();
        harness.io.shutdown();
        assert!(start.elapsed() < PATIENCE / 10);
        assert!(accepted);
        assert_eq!(harness.ready(1).unwrap_err(), closed());
    }
}

#[test]
fn shutdown_without_a_client_has_nothing_to_end() {
    let harness = Harness::new();
    harness.io.shutdown();
    let refused = harness.io.connect(Options::default()).unwrap_err();
    assert_eq!(refused.option, "client");
}
