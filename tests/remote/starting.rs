//! From the constructor to the first reply.

use std::net::TcpListener;
use std::time::Duration;

use dialcache_native::remote::{ErrorKind, Event, LateReplies, Options, ReadOutcome, Status};

use crate::support::{Harness, PATIENCE, Server, alone, read, text, thread_names, write};

/// A listener whose backlog accepts connections that nobody answers.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    (listener, url)
}

#[test]
fn requests_before_the_first_connection_wait_for_it() {
    let server = Server::start();
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            url: server.url(),
            ..Options::default()
        })
        .unwrap();
    client.write(1, write("key", text("value"))).unwrap();
    client.read(2, read("none", Some(PATIENCE))).unwrap();
    client.ready(3, Some(PATIENCE)).unwrap();
    harness.written(1).unwrap();
    assert!(matches!(harness.outcome(2), ReadOutcome::Miss));
    harness.ready(3).unwrap();
    harness.expect_status(Status::Ready);
}

#[test]
fn a_dead_port_fails_what_waited_and_refuses_what_comes() {
    let server = Server::stopped(&[]);
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            url: server.url(),
            ..Options::default()
        })
        .unwrap();
    // The attempt may have failed before the request or after it.
    let kind = match client.read(1, read("key", Some(PATIENCE))) {
        Ok(()) => harness.failure(1).kind,
        Err(error) => error.kind,
    };
    assert_eq!(kind, ErrorKind::Disconnected);
    harness.expect_status(Status::Reconnecting);
    for ticket in 2..1_002 {
        let error = client.read(ticket, read("key", Some(PATIENCE))).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Disconnected);
    }
    assert_eq!(client.stats().last_error, Some(ErrorKind::Connect));
    harness.until(&client, |stats| stats.failed_attempts >= 3);
}

#[test]
fn a_first_attempt_that_hangs_holds_reads_to_their_deadline() {
    let (_listener, url) = silent();
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            url,
            connect_timeout: Duration::from_millis(400),
            ..Options::default()
        })
        .unwrap();
    client.read(1, read("key", Some(Duration::from_millis(20)))).unwrap();
    client.read(2, read("key", Some(PATIENCE))).unwrap();
    client.read(3, read("key", None)).unwrap();
    client.write(4, write("key", text("value"))).unwrap();
    assert!(matches!(harness.end_of(1), Event::Due { .. }));
    // It was never sent, so nothing of it is left.
    assert_eq!(client.stats().pending, 3);
    for ticket in [2, 3] {
        assert_eq!(harness.failure(ticket).kind, ErrorKind::Disconnected);
    }
    let error = harness.written(4).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Disconnected);
    harness.expect_status(Status::Reconnecting);
    assert_eq!(client.stats().pending, 0);
    assert_eq!(client.stats().late, LateReplies::default());
}

#[test]
fn a_read_that_was_due_before_the_connection_is_never_sent() {
    let server = Server::start();
    server.freeze();
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            url: server.url(),
            connect_timeout: PATIENCE,
            ..Options::default()
        })
        .unwrap();
    client.read(1, read("early", Some(Duration::from_millis(20)))).unwrap();
    assert!(matches!(harness.end_of(1), Event::Due { .. }));
    server.thaw();
    client.read(2, read("later", Some(PATIENCE))).unwrap();
    harness.outcome(2);
    let calls: String = redis::cmd("INFO")
        .arg("commandstats")
        .query(&mut server.connection())
        .unwrap();
    assert!(calls.contains("cmdstat_get:calls=1,"), "{calls}");
}

#[test]
fn a_server_that_comes_later_is_found() {
    let mut server = Server::stopped(&[]);
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            url: server.url(),
            ..Options::default()
        })
        .unwrap();
    client.ready(1, None).unwrap();
    harness.expect_status(Status::Reconnecting);
    server.launch();
    harness.ready(1).unwrap();
    harness.expect_status(Status::Ready);
    assert_eq!(client.status(), Status::Ready);
    assert_eq!(client.stats().reconnects, 0);
    client.ready(2, Some(Duration::ZERO)).unwrap();
    harness.ready(2).unwrap();
}

#[test]
fn ready_gives_up_with_the_reason() {
    let server = Server::stopped(&[]);
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            url: server.url(),
            ..Options::default()
        })
        .unwrap();
    harness.expect_status(Status::Reconnecting);
    client.ready(1, Some(Duration::from_millis(30))).unwrap();
    let error = harness.ready(1).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(error.to_string().contains("connection refused"), "{error}");
    assert_eq!(client.stats().pending, 0);
}

#[test]
fn a_host_without_an_address_fails_cleanly() {
    if !alone("starting::a_host_without_an_address_fails_cleanly") {
        return;
    }
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            url: String::from("redis://no-such-host.invalid:6379"),
            connect_timeout: Duration::from_millis(500),
            ..Options::default()
        })
        .unwrap();
    harness.expect_status(Status::Reconnecting);
    harness.until(&client, |stats| stats.failed_attempts >= 2);
    // Where no name server answers, the attempt's budget ends first.
    let kind = client.stats().last_error.unwrap();
    assert!(matches!(kind, ErrorKind::Dns | ErrorKind::Timeout), "{kind}");
    if let Some(names) = thread_names() {
        let lookups = names.iter().filter(|name| *name == "dialcache-dns").count();
        assert!(lookups <= 1, "{names:?}");
    }
}

#[test]
fn there_is_no_thread_before_the_first_client() {
    if !alone("starting::there_is_no_thread_before_the_first_client") {
        return;
    }
    let Some(names) = thread_names() else { return };
    assert!(!names.iter().any(|name| name == "dialcache-io"));
    let mut harness = Harness::new();
    let server = Server::stopped(&[]);
    let options = || Options {
        url: server.url(),
        ..Options::default()
    };
    let refused = harness.io.connect(Options {
        url: String::from("http://127.0.0.1"),
        ..Options::default()
    });
    assert_eq!(refused.unwrap_err().option, "url");
    let count = || {
        let names = thread_names().unwrap();
        names.iter().filter(|name| *name == "dialcache-io").count()
    };
    assert_eq!(count(), 0);
    let first = harness.io.connect(options()).unwrap();
    let second = harness.io.connect(options()).unwrap();
    harness.expect_status(Status::Reconnecting);
    assert_eq!(count(), 1);
    assert_ne!(first.id(), second.id());
    harness.io.shutdown();
    assert_eq!(count(), 0);
}
