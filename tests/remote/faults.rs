//! Servers that are not Redis, or not quite.

use std::time::Duration;

use dialcache_native::remote::{Credentials, ErrorKind, Options, ReadOutcome, Reconnect, Secret, Status};

use crate::support::{Harness, PATIENCE, Script, read, text, write};

fn attempt_fails_with(script: &Script, options: Options) -> ErrorKind {
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            url: script.url(),
            ..options
        })
        .unwrap();
    harness.expect_status(Status::Reconnecting);
    harness.until(&client, |stats| stats.failed_attempts >= 2);
    client.stats().last_error.unwrap()
}

#[test]
fn a_web_server_is_not_redis() {
    let script = Script::start(|peer| {
        peer.command()?;
        peer.send(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
    });
    let kind = attempt_fails_with(&script, Options::default());
    assert_eq!(kind, ErrorKind::Protocol);
}

#[test]
fn a_server_that_hangs_up_on_arrival_is_a_failed_attempt() {
    let script = Script::start(|_| Ok(()));
    let kind = attempt_fails_with(&script, Options::default());
    assert_eq!(kind, ErrorKind::Disconnected);
}

#[test]
fn a_server_that_is_loading_is_tried_again() {
    let script = Script::start(|peer| {
        peer.command()?;
        peer.send(b"-LOADING Redis is loading the dataset in memory\r\n")
    });
    let kind = attempt_fails_with(&script, Options::default());
    assert_eq!(kind, ErrorKind::Server);
}

#[test]
fn a_ping_answered_with_something_else_is_not_redis() {
    let script = Script::start(|peer| {
        peer.command()?;
        peer.send(b":1\r\n")
    });
    let kind = attempt_fails_with(&script, Options::default());
    assert_eq!(kind, ErrorKind::Protocol);
}

#[test]
fn a_server_that_quotes_the_password_back_does_not_get_it_into_an_error() {
    let script = Script::start(|peer| {
        let command = peer.command()?;
        let quoted = command.join("' '");
        peer.send(format!("-ERR unknown command, with args beginning with: '{quoted}'\r\n").as_bytes())?;
        peer.command()?;
        peer.send(format!("-ERR {quoted}\r\n").as_bytes())
    });
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            url: script.url(),
            password: Some(Secret::new("hunter2")),
            ..Options::default()
        })
        .unwrap();
    harness.expect_status(Status::Reconnecting);
    client.ready(1, Some(std::time::Duration::from_millis(50))).unwrap();
    let error = harness.ready(1).unwrap_err();
    assert!(error.to_string().contains("refused the user name or password"));
    assert!(!format!("{error} {error:?} {:?}", client.stats()).contains("hunter2"));
    assert_eq!(client.stats().last_error, Some(ErrorKind::Auth));
}

#[test]
fn an_error_reply_that_quotes_its_arguments_is_cut_before_them() {
    let script = Script::answering(b"-ERR unknown command 'GET', with args beginning with: 'secret-key' \r\n");
    let (mut harness, client) = Harness::connected(&script.url());
    client.read(1, read("secret-key", Some(PATIENCE))).unwrap();
    let error = harness.failure(1);
    assert_eq!(error.to_string(), "ERR unknown command 'GET'");
    assert!(!format!("{error:?}").contains("secret-key"));
    assert_eq!(client.status(), Status::Ready);
}

#[test]
fn a_reply_cut_in_the_middle_fails_its_read() {
    let script = Script::start(|peer| {
        peer.greet()?;
        peer.command()?;
        peer.send(b"$100\r\nonly a part")
    });
    let (mut harness, client) = Harness::connected(&script.url());
    client.read(1, read("key", None)).unwrap();
    client.read(2, read("behind", None)).unwrap();
    assert_eq!(harness.failure(1).kind, ErrorKind::Disconnected);
    assert_eq!(harness.failure(2).kind, ErrorKind::Disconnected);
    harness.expect_status(Status::Reconnecting);
}

#[test]
fn garbage_in_a_reply_ends_the_connection() {
    let script = Script::start(|peer| {
        peer.greet()?;
        peer.command()?;
        peer.send(b"?what\r\n")?;
        peer.command().map(drop)
    });
    let (mut harness, client) = Harness::connected(&script.url());
    client.read(1, read("key", None)).unwrap();
    assert_eq!(harness.failure(1).kind, ErrorKind::Protocol);
    harness.expect_status(Status::Reconnecting);
    harness.expect_status(Status::Ready);
}

#[test]
fn a_reply_of_another_shape_is_a_failed_read() {
    let script = Script::answering(b":7\r\n");
    let (mut harness, client) = Harness::connected(&script.url());
    client.read(1, read("key", None)).unwrap();
    assert_eq!(harness.failure(1).kind, ErrorKind::Protocol);
    client.write(2, write("key", text("value"))).unwrap();
    assert_eq!(harness.written(2).unwrap_err().kind, ErrorKind::Protocol);
    assert_eq!(client.status(), Status::Ready);
}

#[test]
fn a_reply_nobody_asked_for_does_no_harm() {
    let script = Script::start(|peer| {
        peer.greet()?;
        peer.send(b"+UNASKED\r\n")?;
        loop {
            peer.command()?;
            peer.send(b"$-1\r\n")?;
        }
    });
    let (mut harness, client) = Harness::connected(&script.url());
    client.read(1, read("key", None)).unwrap();
    harness.end_of(1);
    client.read(2, read("key", None)).unwrap();
    assert!(matches!(harness.outcome(2), ReadOutcome::Miss));
}

#[test]
fn credentials_show_themselves_nowhere() {
    let options = Options {
        url: String::from("redis://user:hunter2@127.0.0.1:1/0"),
        password: Some(Secret::new("hunter2")),
        ..Options::default()
    };
    let credentials = Credentials {
        username: Some(String::from("user")),
        password: Secret::new("hunter2"),
    };
    let harness = Harness::new();
    let client = harness.io.connect(options.clone()).unwrap();
    let shown = format!("{options:?} {credentials:?} {client:?} {:?}", client.stats());
    assert!(!shown.contains("hunter2"), "{shown}");
    for url in [
        "redis://user:hunter2@[bad",
        "http://user:hunter2@127.0.0.1",
        "redis://user:hunter2@127.0.0.1/hunter2",
        "redis://user:hunter2@127.0.0.1:99999",
        "rediss://user:hunter2@127.0.0.1/#hunter2",
        "redis://user:hunter2@127.0.0.1?protocol=hunter2",
    ] {
        let refused = harness.io.connect(Options {
            url: url.to_owned(),
            ..Options::default()
        });
        let error = refused.unwrap_err();
        assert_eq!(error.option, "url");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
}

#[test]
fn a_server_that_hangs_up_once_greeted_is_a_connection_lost_and_no_bug() {
    let script = Script::start(|peer| {
        peer.command()?;
        peer.send(b"+PONG\r\n")
    });
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            url: script.url(),
            reconnect: Reconnect {
                base_delay: Duration::from_millis(1),
                max_delay: Duration::from_millis(2),
            },
            ..Options::default()
        })
        .unwrap();
    // Whether the end is seen with the greeting or after it is chance: often enough for both.
    harness.until(&client, |stats| {
        assert_ne!(stats.last_error, Some(ErrorKind::Internal));
        stats.failed_attempts + stats.reconnects >= 60
    });
}
