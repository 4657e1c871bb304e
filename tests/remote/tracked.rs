//! Tracked values: what is stored, what bars it, and how scripts reach the server.

use std::thread;
use std::time::Duration;

use dialcache_native::core::envelope::{Compression, Payload};
use dialcache_native::remote::{Client, ErrorKind, ReadOutcome, WriteRequest};
use redis::Commands;

use crate::support::{Harness, PATIENCE, Script, Server, invalidation, text, tracked, tracked_write};

const VALUE: &str = "{id}#get";
const WATERMARK: &str = "{id}#watermark";

fn server_ms(redis: &mut redis::Connection) -> u64 {
    let (seconds, micros): (u64, u64) = redis::cmd("TIME").query(redis).unwrap();
    seconds * 1000 + micros / 1000
}

fn is_miss(harness: &mut Harness, client: &Client, ticket: u64) -> bool {
    client.read(ticket, tracked("id", "get", Some(PATIENCE))).unwrap();
    matches!(harness.outcome(ticket), ReadOutcome::Miss)
}

fn store(harness: &mut Harness, client: &Client, ticket: u64, value: &str) -> bool {
    client.write(ticket, tracked_write("id", "get", text(value))).unwrap();
    harness.written(ticket).unwrap()
}

#[test]
fn a_write_is_stamped_with_the_servers_time_and_read_back() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    let mut redis = server.connection();
    let before = server_ms(&mut redis);
    assert!(store(&mut harness, &client, 1, "value"));
    let after = server_ms(&mut redis);

    client.read(2, tracked("id", "get", Some(PATIENCE))).unwrap();
    let hit = harness.hit(2);
    assert_eq!(hit.payload, text("value"));
    assert!((before..=after).contains(&hit.created_at_ms));

    let raw: Vec<u8> = redis.get(VALUE).unwrap();
    assert_eq!(raw[0], 1);
    assert_eq!(raw[1..9], hit.created_at_ms.to_be_bytes());
    assert_eq!(&raw[9..], b"\0value");
    let watermark: u64 = redis.get(WATERMARK).unwrap();
    assert!(watermark < hit.created_at_ms);
    let (value_ms, watermark_ms): (i64, i64) = (redis.pttl(VALUE).unwrap(), redis.pttl(WATERMARK).unwrap());
    assert!((1..=60_000).contains(&value_ms), "{value_ms}");
    assert!((value_ms + 59_990..=120_000).contains(&watermark_ms), "{watermark_ms}");
    assert_eq!(client.stats().pending, 0);
}

#[test]
fn payloads_of_every_kind_and_size_come_back_as_they_were() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    let payloads = [
        text(""),
        Payload::Bytes(vec![0, 1, 2]),
        text(&"compressible ".repeat(20_000)),
        Payload::Bytes(
            (0..1_000_000_u32)
                .map(|n| (n.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0])
                .collect(),
        ),
    ];
    for (ticket, payload) in (0..).step_by(2).zip(payloads) {
        let request = WriteRequest {
            compression: Some(Compression {
                threshold_bytes: 1024,
                level: 3,
            }),
            ..tracked_write("id", "get", payload.clone())
        };
        client.write(ticket, request).unwrap();
        assert!(harness.written(ticket).unwrap());
        client.read(ticket + 1, tracked("id", "get", Some(PATIENCE))).unwrap();
        assert_eq!(harness.hit(ticket + 1).payload, payload);
    }
}

#[test]
fn an_invalidation_bars_every_use_case_of_the_id_until_the_buffer_is_over() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    let mut redis = server.connection();
    for (ticket, use_case) in [(1, "get"), (2, "list")] {
        client
            .write(ticket, tracked_write("id", use_case, text("old")))
            .unwrap();
        assert!(harness.written(ticket).unwrap());
    }
    client.write(3, tracked_write("other", "get", text("other"))).unwrap();
    assert!(harness.written(3).unwrap());

    let before = server_ms(&mut redis);
    client.invalidate(4, invalidation("id", 300)).unwrap();
    harness.invalidated(4).unwrap();
    let after = server_ms(&mut redis);
    let watermark: u64 = redis.get(WATERMARK).unwrap();
    assert!((before + 300..=after + 300).contains(&watermark));

    for (ticket, use_case) in [(5, "get"), (6, "list")] {
        client.read(ticket, tracked("id", use_case, Some(PATIENCE))).unwrap();
        assert!(matches!(harness.outcome(ticket), ReadOutcome::Miss));
    }
    client.read(7, tracked("other", "get", Some(PATIENCE))).unwrap();
    assert_eq!(harness.hit(7).payload, text("other"));

    assert!(!store(&mut harness, &client, 8, "barred"));
    assert!(!redis.exists::<_, bool>(VALUE).unwrap(), "a barred value is not kept");
    while server_ms(&mut redis) <= watermark {
        thread::sleep(Duration::from_millis(5));
    }
    assert!(store(&mut harness, &client, 9, "new"));
    client.read(10, tracked("id", "get", Some(PATIENCE))).unwrap();
    assert_eq!(harness.hit(10).payload, text("new"));
}

#[test]
fn neither_a_watermark_nor_its_ttl_gets_smaller() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    let mut redis = server.connection();
    client.invalidate(1, invalidation("id", 600_000)).unwrap();
    harness.invalidated(1).unwrap();
    let high: u64 = redis.get(WATERMARK).unwrap();
    let ttl: i64 = redis.pttl(WATERMARK).unwrap();
    assert!((659_000..=660_000).contains(&ttl), "{ttl}");

    client.invalidate(2, invalidation("id", 0)).unwrap();
    harness.invalidated(2).unwrap();
    assert_eq!(redis.get::<_, u64>(WATERMARK).unwrap(), high);
    let ttl: i64 = redis.pttl(WATERMARK).unwrap();
    assert!((655_000..=660_000).contains(&ttl), "{ttl}");

    let () = redis.persist(WATERMARK).unwrap();
    client.invalidate(3, invalidation("id", 900_000)).unwrap();
    harness.invalidated(3).unwrap();
    assert!(redis.get::<_, u64>(WATERMARK).unwrap() > high);
    assert_eq!(redis.pttl::<_, i64>(WATERMARK).unwrap(), -1);

    // A short remaining TTL is lengthened by an invalidation that changes nothing else.
    let () = redis.pexpire(WATERMARK, 20_000).unwrap();
    client.invalidate(4, invalidation("id", 0)).unwrap();
    harness.invalidated(4).unwrap();
    let ttl: i64 = redis.pttl(WATERMARK).unwrap();
    assert!((950_000..=960_000).contains(&ttl), "{ttl}");
}

#[test]
fn a_write_lengthens_its_watermarks_ttl_and_never_shortens_it() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    let mut redis = server.connection();
    for (ticket, ttl_ms, expected) in [(1, 1_000, 61_000), (2, 600_000, 660_000), (3, 1_000, 660_000)] {
        let request = WriteRequest {
            ttl_ms,
            ..tracked_write("id", "get", text("value"))
        };
        client.write(ticket, request).unwrap();
        assert!(harness.written(ticket).unwrap());
        let ttl: i64 = redis.pttl(WATERMARK).unwrap();
        assert!((expected - 5_000..=expected).contains(&ttl), "{ttl}");
    }
    let () = redis.persist(WATERMARK).unwrap();
    assert!(store(&mut harness, &client, 4, "value"));
    assert_eq!(redis.pttl::<_, i64>(WATERMARK).unwrap(), -1);
}

#[test]
fn the_longest_buffer_and_unreadable_watermarks_are_handled() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    let mut redis = server.connection();
    client.invalidate(1, invalidation("id", 31_536_000_000)).unwrap();
    harness.invalidated(1).unwrap();
    let ttl: i64 = redis.pttl(WATERMARK).unwrap();
    assert!((31_536_050_000..=31_536_060_000).contains(&ttl), "{ttl}");

    for (ticket, raw) in (10_u64..)
        .step_by(10)
        .zip(["", "-1", "1e3", "0x10", " 7", "text", "1.5"])
    {
        let () = redis.set(WATERMARK, raw).unwrap();
        let () = redis.set(VALUE, b"\x01\0\0\0\0\0\0\0\x02\0value").unwrap();
        assert!(is_miss(&mut harness, &client, ticket), "{raw:?}");
        assert!(!store(&mut harness, &client, ticket + 1, "value"), "{raw:?}");
        client.invalidate(ticket + 2, invalidation("id", 0)).unwrap();
        harness.invalidated(ticket + 2).unwrap();
        assert!(redis.get::<_, u64>(WATERMARK).is_ok(), "{raw:?}");
    }
    // A number no clock will ever reach stays, and bars.
    let huge = "9".repeat(400);
    let () = redis.set_ex(WATERMARK, &huge, 10).unwrap();
    client.invalidate(100, invalidation("id", 5)).unwrap();
    harness.invalidated(100).unwrap();
    assert_eq!(redis.get::<_, String>(WATERMARK).unwrap(), huge);
    assert!(redis.ttl::<_, i64>(WATERMARK).unwrap() > 1_000_000);
    assert!(!store(&mut harness, &client, 101, "value"));
}

#[test]
fn without_a_watermark_or_stamp_nothing_is_served() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    let mut redis = server.connection();
    assert!(is_miss(&mut harness, &client, 1));
    assert!(store(&mut harness, &client, 2, "value"));
    let () = redis.del(WATERMARK).unwrap();
    assert!(is_miss(&mut harness, &client, 3));

    // The watermark comes back with another use case's write; the value it may have barred does not.
    client.write(4, tracked_write("id", "list", text("value"))).unwrap();
    assert!(harness.written(4).unwrap());
    client.read(5, tracked("id", "list", Some(PATIENCE))).unwrap();
    harness.hit(5);

    let () = redis.set(VALUE, b"\0\x7f\xff\xff\xff\xff\xff\xff\xff\0value").unwrap();
    assert!(is_miss(&mut harness, &client, 6));
}

#[test]
fn an_unknown_encoding_is_a_failure_unless_the_value_is_barred() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    let mut redis = server.connection();
    let () = redis.set(VALUE, b"\x01\0\0\0\0\0\0\0\x09\x07value").unwrap();
    assert!(is_miss(&mut harness, &client, 1), "without a watermark");
    let () = redis.set(WATERMARK, 9).unwrap();
    assert!(is_miss(&mut harness, &client, 2));
    let () = redis.set(WATERMARK, 8).unwrap();
    client.read(3, tracked("id", "get", Some(PATIENCE))).unwrap();
    assert_eq!(harness.failure(3).kind, ErrorKind::Encoding);
}

#[test]
fn scripts_are_sent_again_after_the_server_forgot_them() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    let mut redis = server.connection();
    for ticket in [10, 20] {
        let () = redis::cmd("SCRIPT").arg("FLUSH").query(&mut redis).unwrap();
        assert!(store(&mut harness, &client, ticket, "value"));
        client.read(ticket + 1, tracked("id", "get", Some(PATIENCE))).unwrap();
        assert_eq!(harness.hit(ticket + 1).payload, text("value"));
        client.invalidate(ticket + 2, invalidation("id", 0)).unwrap();
        harness.invalidated(ticket + 2).unwrap();
        let watermark: u64 = redis.get(WATERMARK).unwrap();
        while server_ms(&mut redis) <= watermark {
            thread::yield_now();
        }
    }
}

#[test]
fn an_unknown_script_sends_the_stamp_again_but_not_the_value() {
    let script = Script::start(|peer| {
        peer.greet()?;
        loop {
            let reply: &[u8] = match peer.command()?[0].as_str() {
                "SET" => b"+OK\r\n",
                "EVALSHA" => b"-NOSCRIPT No matching script.\r\n",
                _ => b":1\r\n",
            };
            peer.send(reply)?;
        }
    });
    let (mut harness, client) = Harness::connected(&script.url());
    assert!(store(&mut harness, &client, 1, "value"));
    let commands = script.commands();
    let names: Vec<_> = commands.iter().map(|command| command[0].as_str()).collect();
    assert_eq!(names[names.len() - 3..], ["SET", "EVALSHA", "EVAL"]);
    let [.., by_hash, in_full] = commands.as_slice() else {
        panic!("{commands:?}")
    };
    assert_eq!(by_hash[2..], in_full[2..], "the same keys, nonce and TTL");
    assert!(in_full[1].contains("KEYS[2]"), "the script's text");
}

#[test]
fn replies_of_the_stamp_and_failures_of_the_set_are_the_writes_outcome() {
    for (set, stamp, expected) in [
        ("+OK", ":2", Err(ErrorKind::PlaceholderLost)),
        ("+OK", ":3", Err(ErrorKind::Protocol)),
        ("+OK", "$1\r\n1", Err(ErrorKind::Protocol)),
        ("+OK", "-ERR script failed", Err(ErrorKind::Server)),
        ("+OK", ":0", Ok(false)),
        ("+OK", ":1", Ok(true)),
        ("-OOM command not allowed", ":2", Err(ErrorKind::Server)),
        ("-OOM command not allowed", ":1", Err(ErrorKind::Server)),
        ("$-1", ":1", Err(ErrorKind::Protocol)),
    ] {
        let script = Script::start(move |peer| {
            peer.greet()?;
            loop {
                let reply = if peer.command()?[0] == "SET" { set } else { stamp };
                peer.send(format!("{reply}\r\n").as_bytes())?;
            }
        });
        let (mut harness, client) = Harness::connected(&script.url());
        client.write(1, tracked_write("id", "get", text("value"))).unwrap();
        let outcome = harness.written(1);
        let outcome = outcome.map_err(|error| error.kind);
        assert_eq!(outcome, expected, "{set} {stamp}");
    }
}

#[test]
fn a_full_server_refuses_the_set_and_the_stamp_finds_nothing() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    let () = redis::cmd("CONFIG")
        .arg(&["SET", "maxmemory", "1"])
        .query(&mut server.connection())
        .unwrap();
    client.write(1, tracked_write("id", "get", text("value"))).unwrap();
    let error = harness.written(1).unwrap_err();
    assert!(error.to_string().starts_with("OOM "), "{error}");
}

#[test]
fn a_tracked_read_needs_a_pair() {
    for reply in [
        b"*1\r\n$-1\r\n".as_slice(),
        b"$-1\r\n",
        b":1\r\n",
        b"*2\r\n:1\r\n:2\r\n",
        b"*0\r\n",
    ] {
        let script = Script::answering(reply);
        let (mut harness, client) = Harness::connected(&script.url());
        client.read(1, tracked("id", "get", Some(PATIENCE))).unwrap();
        assert_eq!(harness.failure(1).kind, ErrorKind::Protocol);
    }
}
