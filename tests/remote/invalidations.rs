//! What an invalidation does when the server is away, frozen or odd.

use std::time::Duration;

use dialcache_native::remote::{ErrorKind, Options, Status};
use redis::Commands;

use crate::support::{Harness, PATIENCE, Script, Server, invalidation};

#[test]
fn an_invalidation_waits_for_a_connection_and_says_when_there_is_none() {
    let mut server = Server::start();
    let waiting = |response_timeout| Options {
        url: server.url(),
        response_timeout,
        ..Options::default()
    };
    let (mut harness, patient) = Harness::connected_with(waiting(PATIENCE));
    let hasty = harness.io.connect(waiting(Duration::from_millis(100))).unwrap();
    harness.expect_status(Status::Ready);
    server.kill();
    harness.expect_status(Status::Reconnecting);
    harness.expect_status(Status::Reconnecting);
    patient.invalidate(1, invalidation("id", 0)).unwrap();
    hasty.invalidate(2, invalidation("id", 0)).unwrap();
    assert_eq!(harness.invalidated(2).unwrap_err().kind, ErrorKind::Disconnected);
    server.launch();
    harness.invalidated(1).unwrap();
    assert!(server.connection().exists::<_, bool>("{id}#watermark").unwrap());
}

#[test]
fn an_invalidation_whose_connection_ends_is_tried_once_more() {
    let script = Script::start(|peer| {
        peer.greet()?;
        // Hangs up on the first command of every connection.
        peer.command().map(drop)
    });
    let (mut harness, client) = Harness::connected(&script.url());
    client.invalidate(1, invalidation("id", 0)).unwrap();
    assert_eq!(harness.invalidated(1).unwrap_err().kind, ErrorKind::Disconnected);
    let tries = script
        .commands()
        .iter()
        .filter(|command| command[0] == "EVALSHA")
        .count();
    assert_eq!(tries, 2);
}

#[test]
fn a_frozen_server_fails_an_invalidation_in_bounded_time_and_a_closed_client_at_once() {
    let server = Server::start();
    let options = Options {
        url: server.url(),
        connect_timeout: Duration::from_millis(200),
        response_timeout: Duration::from_millis(200),
        ..Options::default()
    };
    let (mut harness, client) = Harness::connected_with(options);
    server.freeze();
    client.invalidate(1, invalidation("id", 0)).unwrap();
    let error = harness.invalidated(1).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Disconnected, "{error}");
    client.invalidate(2, invalidation("id", 0)).unwrap();
    client.close();
    assert_eq!(harness.invalidated(2).unwrap_err().kind, ErrorKind::Closed);
    assert_eq!(
        client.invalidate(3, invalidation("id", 0)).unwrap_err().kind,
        ErrorKind::Closed
    );
    server.thaw();
}

#[test]
fn invalidations_that_are_not_answered_as_ours_are_errors() {
    for (reply, kind) in [
        (b":2\r\n".as_slice(), ErrorKind::Protocol),
        (b"+OK\r\n", ErrorKind::Protocol),
        (b"-NOPERM no permission\r\n", ErrorKind::Server),
    ] {
        let script = Script::answering(reply);
        let (mut harness, client) = Harness::connected(&script.url());
        client.invalidate(1, invalidation("id", 0)).unwrap();
        assert_eq!(harness.invalidated(1).unwrap_err().kind, kind);
    }
}
