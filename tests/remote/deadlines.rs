//! A read waits until its deadline and not a moment longer.

use std::time::{Duration, Instant};

use dialcache_native::remote::{ErrorKind, Event, LateReplies, Options, ReadOutcome};
use redis::Commands;

use crate::support::{Harness, PATIENCE, SOON, Script, Server, read, text, write};

#[test]
fn a_frozen_server_lets_every_read_go_at_its_deadline() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected_with(Options {
        url: server.url(),
        response_timeout: PATIENCE,
        ..Options::default()
    });
    client.write(0, write("hit", text("value"))).unwrap();
    harness.written(0).unwrap();
    server.freeze();
    let deadline = Instant::now() + Duration::from_millis(50);
    for ticket in 1..=1_000 {
        let key = if ticket % 4 == 0 { "miss" } else { "hit" };
        let mut request = read(key, None);
        request.deadline = Some(deadline);
        client.read(ticket, request).unwrap();
    }
    for ticket in 1..=1_000 {
        let Event::Due { at, .. } = harness.end_of(ticket) else {
            panic!("nothing can have been in time");
        };
        assert!(at >= deadline);
    }
    // They are answered, but their commands are still on the connection; all of them, unless this
    // machine took more than the deadline to send them.
    let unanswered = client.stats().pending;
    assert_eq!(client.stats().late, LateReplies::default());

    server.thaw();
    harness.until(&client, |stats| stats.pending == 0);
    let late = client.stats().late;
    let replies = late.hits.count + late.misses.count;
    assert_eq!(usize::try_from(replies), Ok(unanswered));
    if unanswered == 1_000 {
        assert_eq!(late.misses.count, 250);
    }
    assert_eq!((late.failed, late.lost), (0, 0));
    client.read(0, read("hit", Some(PATIENCE))).unwrap();
    assert_eq!(harness.hit(0).payload, text("value"));
    harness.expect_silence();
    assert_eq!(client.stats().reconnects, 0);
}

#[test]
fn a_read_without_a_reply_is_told_once_at_its_hedge_and_goes_on() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    client.write(0, write("hit", text("value"))).unwrap();
    harness.written(0).unwrap();
    server.freeze();
    let hedge_at = Instant::now() + Duration::from_millis(20);
    for (ticket, deadline) in [(1, Duration::from_millis(60)), (2, PATIENCE)] {
        let mut request = read("hit", Some(deadline));
        request.hedge_at = Some(hedge_at);
        client.read(ticket, request).unwrap();
    }
    let mut hedged = [harness.hedged(), harness.hedged()];
    hedged.sort_unstable();
    assert_eq!(hedged.map(|(ticket, _)| ticket), [1, 2]);
    assert!(hedged.iter().all(|(_, at)| *at >= hedge_at));
    assert!(matches!(harness.end_of(1), Event::Due { .. }));
    server.thaw();
    assert_eq!(harness.hit(2).payload, text("value"));
    harness.expect_silence();
}

#[test]
fn a_read_that_is_over_before_its_hedge_is_not_told() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    let mut request = read("nothing", Some(PATIENCE));
    request.hedge_at = Some(Instant::now() + Duration::from_secs(5));
    client.read(1, request).unwrap();
    assert!(matches!(harness.outcome(1), ReadOutcome::Miss));
    harness.expect_silence();
}

#[test]
fn a_deadline_holds_behind_writes_that_do_not_get_through() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected_with(Options {
        url: server.url(),
        response_timeout: PATIENCE,
        ..Options::default()
    });
    server.freeze();
    // More than any socket buffer takes, so the connection's sending side is wedged.
    for ticket in 0..20 {
        let request = write("big", text(&"x".repeat(1 << 20)));
        client.write(ticket, request).unwrap();
    }
    for ticket in 100..200 {
        client
            .read(ticket, read("key", Some(Duration::from_millis(50))))
            .unwrap();
    }
    for ticket in 100..200 {
        assert!(matches!(harness.end_of(ticket), Event::Due { .. }));
    }
    server.thaw();
    for ticket in 0..20 {
        harness.written(ticket).unwrap();
    }
    harness.until(&client, |stats| stats.pending == 0);
    assert_eq!(client.stats().pending_bytes, 0);
}

#[test]
fn a_deadline_that_has_passed_sends_nothing() {
    let script = Script::answering(b"$-1\r\n");
    let (mut harness, client) = Harness::connected(&script.url());
    for ticket in 0..10 {
        client.read(ticket, read("key", Some(Duration::ZERO))).unwrap();
    }
    for ticket in 0..10 {
        assert!(matches!(harness.end_of(ticket), Event::Due { .. }));
    }
    client.read(10, read("last", Some(PATIENCE))).unwrap();
    assert!(matches!(harness.outcome(10), ReadOutcome::Miss));
    assert_eq!(script.commands(), [vec!["PING"], vec!["GET", "last"]]);
    assert_eq!(client.stats().late, LateReplies::default());
}

#[test]
fn late_errors_and_lost_replies_are_counted_apart() {
    let mut server = Server::start();
    let (mut harness, client) = Harness::connected_with(Options {
        url: server.url(),
        response_timeout: PATIENCE,
        ..Options::default()
    });
    let () = server.connection().lpush("list", 1).unwrap();
    server.freeze();
    client.read(1, read("list", Some(SOON))).unwrap();
    assert!(matches!(harness.end_of(1), Event::Due { .. }));
    server.thaw();
    harness.until(&client, |stats| stats.late.failed == 1);

    server.freeze();
    client.read(2, read("key", Some(SOON))).unwrap();
    assert!(matches!(harness.end_of(2), Event::Due { .. }));
    server.kill();
    harness.until(&client, |stats| stats.late.lost == 1 && stats.pending == 0);
    assert_eq!(client.stats().late.failed, 1);
}

#[test]
fn without_a_deadline_a_read_waits_for_the_reply() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected_with(Options {
        url: server.url(),
        response_timeout: PATIENCE,
        ..Options::default()
    });
    server.freeze();
    client.read(1, read("key", None)).unwrap();
    harness.expect_silence();
    server.thaw();
    assert!(matches!(harness.outcome(1), ReadOutcome::Miss));
}

#[test]
fn a_read_that_is_due_is_not_answered_again_when_the_connection_ends() {
    let mut server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    server.freeze();
    client.read(1, read("due", Some(SOON))).unwrap();
    client.read(2, read("waiting", None)).unwrap();
    assert!(matches!(harness.end_of(1), Event::Due { .. }));
    server.kill();
    assert_eq!(harness.failure(2).kind, ErrorKind::Disconnected);
    harness.until(&client, |stats| stats.pending == 0);
    client.close();
    drop(harness.io);
}
