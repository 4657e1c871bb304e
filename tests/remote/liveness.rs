//! A dead connection is noticed, a living one is kept.

use std::thread;
use std::time::Duration;

use dialcache_native::remote::{ErrorKind, Event, Options, Status};

use crate::support::{Harness, PATIENCE, Peer, Script, Server, read, text, write};

#[test]
fn a_server_that_says_nothing_is_given_up_and_found_again() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected_with(Options {
        url: server.url(),
        connect_timeout: Duration::from_millis(200),
        response_timeout: Duration::from_millis(200),
        ..Options::default()
    });
    client.write(0, write("key", text("value"))).unwrap();
    harness.written(0).unwrap();
    server.freeze();
    client.read(1, read("key", None)).unwrap();
    client.read(2, read("key", Some(PATIENCE))).unwrap();
    client.read(3, read("key", Some(Duration::from_millis(20)))).unwrap();
    client.write(4, write("key", text("other"))).unwrap();
    assert!(matches!(harness.end_of(3), Event::Due { .. }));
    harness.expect_status(Status::Reconnecting);
    assert_eq!(client.status(), Status::Reconnecting);
    assert_eq!(client.stats().last_error, Some(ErrorKind::ResponseTimeout));
    for ticket in [1, 2] {
        assert_eq!(harness.failure(ticket).kind, ErrorKind::ResponseTimeout);
    }
    let error = harness.written(4).unwrap_err();
    assert_eq!(error.kind, ErrorKind::ResponseTimeout);
    harness.until(&client, |stats| stats.pending == 0);

    // The kernel goes on accepting connections for the frozen process, which is not enough.
    for ticket in 5..1_005 {
        let error = client.read(ticket, read("key", Some(PATIENCE))).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Disconnected);
    }
    harness.until(&client, |stats| stats.failed_attempts >= 2);
    harness.expect_silence();

    server.thaw();
    harness.expect_status(Status::Ready);
    client.read(1, read("key", Some(PATIENCE))).unwrap();
    // Whether the abandoned write took place is the server's secret; it was not sent again.
    harness.hit(1);
    assert_eq!(client.stats().reconnects, 1);
}

#[test]
fn an_idle_connection_to_a_frozen_server_is_kept() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected_with(Options {
        url: server.url(),
        response_timeout: Duration::from_millis(50),
        ..Options::default()
    });
    client.read(1, read("key", None)).unwrap();
    harness.outcome(1);
    server.freeze();
    harness.expect_silence();
    server.thaw();
    client.read(2, read("key", None)).unwrap();
    harness.outcome(2);
    assert_eq!(client.stats().reconnects, 0);
}

#[test]
fn a_reply_that_trickles_in_keeps_its_connection() {
    let script = Script::start(|peer| {
        peer.greet()?;
        peer.command()?;
        peer.send(b"$16\r\n")?;
        for part in [b"\x01\0\0\0", b"\0\0\0\0", b"\x05\0va", b"lue!"] {
            thread::sleep(Duration::from_millis(600));
            peer.send(part)?;
        }
        peer.send(b"\r\n")?;
        peer.command().map(drop)
    });
    let (mut harness, client) = Harness::connected_with(Options {
        url: script.url(),
        response_timeout: Duration::from_millis(1_500),
        ..Options::default()
    });
    client.read(1, read("key", None)).unwrap();
    assert_eq!(harness.hit(1).payload, text("value!"));
    assert_eq!(client.status(), Status::Ready);
}

#[test]
fn a_server_that_closes_an_idle_connection_is_noticed() {
    let mut server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    server.kill();
    harness.expect_status(Status::Reconnecting);
    assert_eq!(client.stats().last_error, Some(ErrorKind::Disconnected));
    let error = client.read(1, read("key", None)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Disconnected);

    server.launch();
    harness.expect_status(Status::Ready);
    client.read(2, read("key", Some(PATIENCE))).unwrap();
    harness.outcome(2);
    assert_eq!(client.stats().reconnects, 1);
}

#[test]
fn a_crash_answers_everything_that_is_pending_after_the_status() {
    let mut server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    server.freeze();
    for ticket in 0..1_000 {
        if ticket % 2 == 0 {
            client.read(ticket, read("key", Some(PATIENCE))).unwrap();
        } else {
            client.write(ticket, write("key", text("value"))).unwrap();
        }
    }
    server.kill();
    for ticket in 0..1_000 {
        let error = if ticket % 2 == 0 {
            harness.failure(ticket)
        } else {
            harness.written(ticket).unwrap_err()
        };
        assert_eq!(error.kind, ErrorKind::Disconnected);
        assert_eq!(client.status(), Status::Reconnecting);
    }
    harness.expect_status(Status::Reconnecting);
    harness.until(&client, |stats| stats.failed_attempts > 0);
    assert_eq!(client.stats().pending, 0);
}

#[test]
fn a_server_that_keeps_hanging_up_is_not_besieged() {
    let script = Script::start(Peer::greet);
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            url: script.url(),
            ..Options::default()
        })
        .unwrap();
    // Whether an end is seen with the greeting, as a failed attempt, or after it is chance.
    harness.until(&client, |stats| stats.reconnects + stats.failed_attempts >= 3);
    client.close();
    // Without growing waits this would be thousands within the time the first few take.
    assert!(script.commands().len() < 100);
}
