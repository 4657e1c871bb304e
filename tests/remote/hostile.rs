//! Servers that mean harm, or are broken beyond what Redis does.

use std::io;
use std::time::Duration;

use dialcache_native::remote::{ErrorKind, Options, Reconnect, Secret, Status};

use crate::support::{Harness, PATIENCE, Peer, Script, read, text, write};

/// A read's failure at a server that answers it so, once the connection is up again.
fn failure_of(answer: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + Clone + 'static) -> (ErrorKind, String) {
    let script = Script::start(move |peer| {
        peer.greet()?;
        peer.command()?;
        answer(peer)?;
        // Its own end is not what ends the connection.
        peer.command().map(drop)
    });
    let (mut harness, client) = Harness::connected(&script.url());
    client.read(1, read("key", Some(PATIENCE))).unwrap();
    // The connection may be gone by now.
    let is_behind = client.read(2, read("behind", Some(PATIENCE))).is_ok();
    let error = harness.failure(1);
    if is_behind {
        harness.end_of(2);
    }
    harness.expect_status(Status::Reconnecting);
    harness.expect_status(Status::Ready);
    (error.kind, error.message.into_owned())
}

#[test]
fn lengths_beyond_every_bound_end_the_connection_at_once() {
    for (header, says) in [
        ("$10737418240\r\n", "more than 512 MiB"),
        ("$99999999999\r\n", "more than 512 MiB"),
        ("$9223372036854775807\r\n", "more than 512 MiB"),
        ("*1000000000\r\n", "a million elements"),
        ("*2\r\n*2147483647\r\n", "a million elements"),
        ("%9223372036854775807\r\n", "another version"),
        ("|9223372036854775807\r\n", "another version"),
        (">3\r\n+message\r\n+a\r\n+b\r\n", "another version"),
        ("=15\r\ntxt:Some string\r\n", "another version"),
        ("$-99999999999999999999\r\n", "not the Redis protocol"),
        ("$12 345\r\n", "not the Redis protocol"),
    ] {
        let (kind, message) = failure_of(move |peer| peer.send(header.as_bytes()));
        assert_eq!(kind, ErrorKind::Protocol, "{header}");
        assert!(message.contains(says), "{header}: {message}");
    }
}

#[test]
fn endless_lines_and_endless_nesting_end_the_connection_early() {
    for (piece, says) in [
        ("1", "a line of more than"),
        ("+", "a line of more than"),
        ("*1\r\n", "nested more than 8 deep"),
    ] {
        for kind in ["+", "-", ":", "$", "*"] {
            let (_, message) = failure_of(move |peer| {
                if piece != "*1\r\n" {
                    peer.send(kind.as_bytes())?;
                }
                // Until the client hangs up.
                while peer.send(piece.repeat(1024).as_bytes()).is_ok() {}
                Ok(())
            });
            assert!(message.contains(says), "{kind}{piece}: {message}");
        }
    }
}

#[test]
fn a_greeting_of_that_kind_is_a_failed_attempt_that_says_so() {
    let script = Script::start(|peer| {
        peer.command()?;
        peer.send(b"$99999999999\r\n")?;
        peer.command().map(drop)
    });
    let mut harness = Harness::new();
    let client = harness
        .io
        .connect(Options {
            url: script.url(),
            ..Options::default()
        })
        .unwrap();
    harness.expect_status(Status::Reconnecting);
    client.ready(1, Some(Duration::ZERO)).unwrap();
    let error = harness.ready(1).unwrap_err();
    assert!(error.to_string().contains("more than 512 MiB"), "{error}");
    assert_eq!(client.stats().last_error, Some(ErrorKind::Protocol));
}

#[test]
fn an_error_is_one_bounded_line_whatever_the_server_says() {
    let script = Script::start(|peer| {
        peer.greet()?;
        loop {
            peer.command()?;
            peer.send(format!("-{}\u{1b}[2J {}\nline\u{7}\r\n", "A".repeat(5000), "b".repeat(5000)).as_bytes())?;
        }
    });
    let (mut harness, client) = Harness::connected(&script.url());
    client.read(1, read("key", Some(PATIENCE))).unwrap();
    let message = harness.failure(1).to_string();
    assert!(message.chars().count() <= 300, "{} characters", message.len());
    assert!(!message.contains(char::is_control), "{message:?}");
}

#[test]
fn a_password_that_the_server_repeats_is_not_repeated_by_us() {
    // Also beyond what is kept of an error, beside control characters, and in the place of an error's code.
    for password in [
        "hunter2!",
        "%40p:w/d#",
        "päss wörd",
        "a\u{1}b\u{2}c",
        &"long".repeat(100),
    ] {
        let script = Script::start(|peer| {
            let auth = peer.command()?;
            let password = auth.last().cloned().unwrap_or_default();
            peer.send(b"+OK\r\n")?;
            peer.greet()?;
            for shape in ["-ERR no {}\r\n", "-{} no\r\n", "-ERR {}{}\r\n", "-MOVED 1 {}:1\r\n"] {
                peer.command()?;
                peer.send(shape.replace("{}", &password).as_bytes())?;
            }
            peer.command().map(drop)
        });
        let (mut harness, client) = Harness::connected_with(Options {
            url: script.url(),
            password: Some(Secret::new(password)),
            ..Options::default()
        });
        let part: String = password.chars().take(8).filter(|char| !char.is_control()).collect();
        for ticket in 1..=4 {
            if ticket == 3 {
                client.write(ticket, write("key", text("value"))).unwrap();
                let error = harness.written(ticket).unwrap_err();
                assert!(!format!("{error} {error:?}").contains(&part), "{error}");
                continue;
            }
            client.read(ticket, read("key", Some(PATIENCE))).unwrap();
            let error = harness.failure(ticket);
            assert!(!format!("{error} {error:?}").contains(&part), "{error}");
        }
        assert!(!format!("{:?} {client:?}", client.stats()).contains(&part));
    }
}

/// A node of a cluster that answers `CLUSTER SLOTS` with `slots`, and all else with `other`.
fn node(slots: fn(u16) -> Vec<u8>, other: fn(u16) -> Vec<u8>) -> Script {
    Script::start(move |peer| {
        let port = peer.port();
        loop {
            let command = peer.command()?;
            let reply = match command[0].as_str() {
                "PING" => b"+PONG\r\n".to_vec(),
                "CLUSTER" => slots(port),
                _ => other(port),
            };
            peer.send(&reply)?;
        }
    })
}

fn range(first: i64, last: i64, host: &str, port: u16) -> String {
    format!(
        "*3\r\n:{first}\r\n:{last}\r\n*3\r\n${}\r\n{host}\r\n:{port}\r\n$2\r\nid\r\n",
        host.len()
    )
}

fn whole(port: u16) -> Vec<u8> {
    format!("*1\r\n{}", range(0, 16_383, "127.0.0.1", port)).into_bytes()
}

fn cluster(script: &Script) -> Options {
    Options {
        nodes: vec![script.url()],
        reconnect: Reconnect {
            base_delay: Duration::from_millis(1),
            max_delay: Duration::from_millis(5),
        },
        ..Options::default()
    }
}

#[test]
fn a_cluster_map_that_cannot_be_is_none_and_asked_for_again() {
    let maps: [fn(u16) -> Vec<u8>; 6] = [
        // Backwards.
        |port| format!("*1\r\n{}", range(16_383, 0, "127.0.0.1", port)).into_bytes(),
        |port| format!("*1\r\n{}", range(-1, 16_384, "127.0.0.1", port)).into_bytes(),
        |_| b"*2000000\r\n".to_vec(),
        |port| format!("*1\r\n{}", range(0, 16_383, "no/such@host\0", port)).into_bytes(),
        |port| format!("*40000\r\n{}", range(0, 0, "127.0.0.1", port).repeat(40_000)).into_bytes(),
        |_| b"*1\r\n*3\r\n:0\r\n:1\r\n$1\r\nx\r\n".to_vec(),
    ];
    for (index, map) in maps.into_iter().enumerate() {
        let script = node(map, |_| b"$-1\r\n".to_vec());
        let mut harness = Harness::new();
        let client = harness.io.connect(cluster(&script)).unwrap();
        harness.expect_status(Status::Reconnecting);
        harness.until(&client, |stats| stats.failed_attempts >= 3);
        let kind = client.stats().last_error.unwrap();
        assert!(
            matches!(kind, ErrorKind::Cluster | ErrorKind::Protocol),
            "map {index}: {kind}"
        );
        client.read(1, read("key", Some(PATIENCE))).unwrap_err();
    }
}

#[test]
fn overlapping_ranges_and_many_names_of_one_node_serve_all_the_same() {
    let script = node(
        |port| {
            let ranges: String = (0..1000).map(|_| range(0, 16_383, "127.0.0.1", port)).collect();
            format!("*1000\r\n{ranges}").into_bytes()
        },
        |_| b"$-1\r\n".to_vec(),
    );
    let (mut harness, client) = Harness::connected_with(cluster(&script));
    client.read(1, read("key", Some(PATIENCE))).unwrap();
    harness.outcome(1);
}

#[test]
fn redirections_in_circles_and_to_ever_new_nodes_end() {
    let answers: [fn(u16) -> Vec<u8>; 3] = [
        |port| format!("-MOVED 1 127.0.0.1:{port}\r\n").into_bytes(),
        |port| format!("-ASK 1 127.0.0.1:{port}\r\n").into_bytes(),
        |_| {
            use std::sync::atomic::{AtomicU16, Ordering};
            static NEXT: AtomicU16 = AtomicU16::new(0);
            // Ports that nobody listens on.
            format!(
                "-MOVED 1 127.0.0.1:{}\r\n",
                1 + NEXT.fetch_add(1, Ordering::Relaxed) % 700
            )
            .into_bytes()
        },
    ];
    for answer in answers {
        let script = node(whole, answer);
        let (mut harness, client) = Harness::connected_with(cluster(&script));
        let asked: Vec<_> = (1..=300)
            .filter(|ticket| client.read(*ticket, read("key", Some(PATIENCE))).is_ok())
            .collect();
        for ticket in asked {
            harness.end_of(ticket);
        }
        harness.until(&client, |stats| stats.pending == 0);
    }
}
