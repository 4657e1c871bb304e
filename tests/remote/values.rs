//! What is written is what is read.

use dialcache_native::core::envelope::{Compression, OpenOutcome, Payload, SealOutcome};
use dialcache_native::core::frame::HEADER_BYTES;
use dialcache_native::remote::{Envelope, ErrorKind, Event, ReadOutcome, ReadRequest, WriteRequest};
use redis::Commands;

use crate::support::{Harness, PATIENCE, Server, read, text, write};

const COMPRESSED: Option<Compression> = Some(Compression {
    threshold_bytes: 1024,
    level: 3,
});

#[test]
fn a_missing_key_is_a_miss() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    client.read(1, read("none", Some(PATIENCE))).unwrap();
    assert!(matches!(harness.outcome(1), ReadOutcome::Miss));
    assert_eq!(client.stats().pending, 0);
}

#[test]
fn payloads_come_back_as_they_were() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    let noise: Vec<u8> = (0..300_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0])
        .collect();
    let payloads = [
        text(""),
        text("\u{fffd} {\"a\":\"ü\"}"),
        Payload::Bytes(vec![]),
        Payload::Bytes(vec![0]),
        Payload::Bytes(vec![1, 2, 3]),
        Payload::Bytes(b"bytes".to_vec()),
        text(&"long ".repeat(1000)),
        text(&"big ".repeat(500_000)),
        Payload::Bytes(noise),
    ];
    for compression in [None, COMPRESSED] {
        for (ticket, payload) in (0..).step_by(2).zip(&payloads) {
            let request = WriteRequest {
                envelope: Envelope::Ours,
                compression,
                ..write("key", payload.clone())
            };
            client.write(ticket, request).unwrap();
            let (sealing, outcome) = harness.sealed(ticket);
            assert!(outcome.unwrap());
            let sealing = sealing.unwrap();
            assert_eq!(sealing.payload_bytes, payload.len());

            client.read(ticket + 1, read("key", Some(PATIENCE))).unwrap();
            let hit = harness.hit(ticket + 1);
            assert_eq!(hit.payload, *payload);
            assert_eq!(hit.created_at_ms, 1_700_000_000_123);
            assert_eq!(hit.stored_bytes, HEADER_BYTES + sealing.sealed_bytes);
            assert_eq!(
                hit.opened == OpenOutcome::Decompressed,
                sealing.outcome == SealOutcome::Compressed
            );
        }
    }
    assert_eq!(client.stats().pending_bytes, 0);
}

#[test]
fn what_lies_in_redis_is_a_frame_with_a_ttl() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    client.write(1, write("key", text("value"))).unwrap();
    harness.written(1).unwrap();
    let mut redis = server.connection();
    let raw: Vec<u8> = redis.get("key").unwrap();
    assert_eq!(raw[0], 1);
    assert_eq!(raw[1..9], 1_700_000_000_123_u64.to_be_bytes());
    assert_eq!(raw[9..], *b"\0value");
    let ttl: i64 = redis.pttl("key").unwrap();
    assert!((1..=60_000).contains(&ttl), "{ttl}");
}

#[test]
fn frames_of_others_are_misses_and_unknown_encodings_are_failures() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    let mut redis = server.connection();
    for (ticket, frame) in (0..).zip([
        b"short".as_slice(),
        b"",
        b"\x02\0\0\0\0\0\0\0\x01\0value",
        b"\x00\0\0\0\0\0\0\0\x01\0value",
    ]) {
        let () = redis.set("key", frame).unwrap();
        client.read(ticket, read("key", Some(PATIENCE))).unwrap();
        assert!(matches!(harness.outcome(ticket), ReadOutcome::Miss));
    }
    let () = redis.set("key", b"\x01\0\0\0\0\0\0\0\x01\x07value").unwrap();
    client.read(9, read("key", Some(PATIENCE))).unwrap();
    assert_eq!(harness.failure(9).kind, ErrorKind::Encoding);
}

#[test]
fn an_error_reply_is_a_failure_with_redis_own_words() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    let () = server.connection().lpush("list", 1).unwrap();
    client.read(1, read("list", Some(PATIENCE))).unwrap();
    let error = harness.failure(1);
    assert_eq!(error.kind, ErrorKind::Server);
    assert!(error.to_string().starts_with("WRONGTYPE "), "{error}");
    assert_eq!(client.stats().last_error, Some(ErrorKind::Server));

    let () = redis::cmd("CONFIG")
        .arg(&["SET", "maxmemory", "1"])
        .query(&mut server.connection())
        .unwrap();
    client.write(2, write("key", text("value"))).unwrap();
    let error = harness.written(2).unwrap_err();
    assert!(error.to_string().starts_with("OOM "), "{error}");
}

#[test]
fn every_one_of_many_requests_ends_once() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    for ticket in 0..5_000 {
        let key = format!("key{}", ticket % 100);
        if ticket % 10 == 0 {
            client.write(ticket, write(&key, text(&key))).unwrap();
        } else {
            client.read(ticket, read(&key, Some(PATIENCE))).unwrap();
        }
    }
    for ticket in 0..5_000 {
        if ticket % 10 == 0 {
            harness.written(ticket).unwrap();
        } else if let ReadOutcome::Hit(hit) = harness.outcome(ticket) {
            assert_eq!(hit.payload, text(&format!("key{}", ticket % 100)));
        }
    }
    harness.expect_silence();
    let stats = client.stats();
    assert_eq!((stats.pending, stats.pending_bytes), (0, 0));
    assert_eq!((stats.reconnects, stats.last_error), (0, None));
}

#[test]
fn a_big_payload_holds_up_no_small_one() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    let request = WriteRequest {
        envelope: Envelope::Ours,
        compression: COMPRESSED,
        ..write("big", text(&"x".repeat(60 << 20)))
    };
    client.write(1, request).unwrap();
    harness.written(1).unwrap();
    client.write(2, write("small", text("value"))).unwrap();
    harness.written(2).unwrap();

    // Stored small, so the replies come together; opening the first takes tens of milliseconds.
    client.read(3, read("big", None)).unwrap();
    client.read(4, read("small", None)).unwrap();
    let (Event::Read { at: small, .. }, Event::Read { at: big, .. }) = (harness.end_of(4), harness.end_of(3)) else {
        panic!("a read was due");
    };
    assert!(small < big);
}

#[test]
fn an_envelope_that_is_the_callers_business_passes_untouched() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    for (ticket, bytes) in [&b"\x00\x00escaped"[..], b"\x01no zstd", b"\x02", b"plain", b""]
        .iter()
        .enumerate()
    {
        let (write_ticket, read_ticket) = (10 * ticket as u64, 10 * ticket as u64 + 1);
        let kept = WriteRequest {
            envelope: Envelope::Callers,
            ..write("kept", Payload::Bytes(bytes.to_vec()))
        };
        client.write(write_ticket, kept).unwrap();
        harness.written(write_ticket).unwrap();
        let request = ReadRequest {
            envelope: Envelope::Callers,
            ..read("kept", None)
        };
        client.read(read_ticket, request).unwrap();
        let ReadOutcome::Hit(hit) = harness.outcome(read_ticket) else {
            panic!("not a hit");
        };
        assert_eq!(hit.payload, Payload::Bytes(bytes.to_vec()));
    }
}
