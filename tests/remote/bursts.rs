//! Many reads at once: they are asked together, and each ends by itself.

use std::time::{Duration, Instant};

use dialcache_native::core::envelope::{Compression, Payload};
use dialcache_native::remote::{ErrorKind, Event, Hit, ReadOutcome, WriteRequest};
use redis::Commands;

use crate::support::{
    Cluster, Harness, PATIENCE, SOON, Script, Server, invalidation, read, text, tracked, tracked_write, until, write,
};

const ROUNDS: u64 = 40;

fn payload(outcome: ReadOutcome) -> Result<Option<Payload>, ErrorKind> {
    match outcome {
        ReadOutcome::Hit(Hit { payload, .. }) => Ok(Some(payload)),
        ReadOutcome::Miss => Ok(None),
        ReadOutcome::Failed(error) => Err(error.kind),
    }
}

#[test]
fn reads_of_every_outcome_side_by_side_keep_their_own() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    let big: String = (0..300_000_u32).map(|n| char::from(b'a' + (n % 23) as u8)).collect();
    let huge = "x".repeat(2 << 20);
    client.write(0, write("hit", text("value"))).unwrap();
    client
        .write(
            1,
            WriteRequest {
                compression: Some(Compression {
                    threshold_bytes: 0,
                    level: 1,
                }),
                ..write("big", text(&big))
            },
        )
        .unwrap();
    client.write(2, write("huge", text(&huge))).unwrap();
    client.write(3, tracked_write("id", "get", text("tracked"))).unwrap();
    client.write(4, tracked_write("barred", "get", text("old"))).unwrap();
    for ticket in 0..5 {
        harness.written(ticket).unwrap();
    }
    client.invalidate(5, invalidation("barred", 60_000)).unwrap();
    harness.invalidated(5).unwrap();
    let mut other = server.connection();
    let () = other.lpush("list", "no text").unwrap();
    let () = other.set("foreign", b"no frame").unwrap();
    let () = other.set("encoding", b"\x01\0\0\0\0\0\0\0\x01\x07value").unwrap();

    let wanted = [
        (read("hit", None), Ok(Some(text("value")))),
        (read("nothing", None), Ok(None)),
        (read("list", None), Err(ErrorKind::Server)),
        (read("foreign", None), Ok(None)),
        (read("encoding", None), Err(ErrorKind::Encoding)),
        (read("big", None), Ok(Some(text(&big)))),
        (tracked("id", "get", None), Ok(Some(text("tracked")))),
        (tracked("barred", "get", None), Ok(None)),
        (tracked("list", "get", None), Ok(None)),
    ];
    let mut ticket = 100;
    for _ in 0..ROUNDS {
        for (request, _) in &wanted {
            client.read(ticket, request.clone()).unwrap();
            ticket += 1;
        }
    }
    client.read(ticket, read("huge", None)).unwrap();
    for (at, (_, outcome)) in (100..ticket).zip(wanted.iter().cycle()) {
        assert_eq!(&payload(harness.outcome(at)), outcome, "read {at}");
    }
    assert_eq!(payload(harness.outcome(ticket)), Ok(Some(text(&huge))));
    // What follows large replies is asked in other numbers, and ends no differently.
    for at in 1_000..1_300 {
        client.read(at, read("hit", None)).unwrap();
    }
    for at in 1_000..1_300 {
        assert_eq!(harness.hit(at).payload, text("value"));
    }
    harness.expect_silence();
    assert_eq!((client.stats().pending, client.stats().pending_bytes), (0, 0));
}

#[test]
fn each_read_of_a_burst_has_its_own_hedge_and_deadline() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    client.write(0, write("hit", text("value"))).unwrap();
    harness.written(0).unwrap();
    server.freeze();
    let began = Instant::now();
    let moments: Vec<_> = (1..=200_u64)
        .map(|ticket| {
            let hedge_at = (ticket % 2 == 0).then(|| began + Duration::from_millis(30 + ticket / 4));
            let deadline = (ticket % 3 == 0).then(|| began + Duration::from_millis(60 + ticket));
            (ticket, hedge_at, deadline)
        })
        .collect();
    for (ticket, hedge_at, deadline) in &moments {
        let mut request = read("hit", None);
        (request.hedge_at, request.deadline) = (*hedge_at, *deadline);
        client.read(*ticket, request).unwrap();
    }
    let mut hedged: Vec<_> = (0..100).map(|_| harness.hedged()).collect();
    hedged.sort_unstable();
    let wanted: Vec<_> = moments
        .iter()
        .filter_map(|(ticket, hedge_at, _)| hedge_at.map(|at| (*ticket, at)))
        .collect();
    for ((ticket, at), (wanted, hedge_at)) in hedged.into_iter().zip(wanted) {
        assert_eq!(ticket, wanted);
        assert!(at >= hedge_at, "read {ticket} was told {:?} early", hedge_at - at);
    }
    for (ticket, _, deadline) in &moments {
        let Some(deadline) = deadline else { continue };
        let Event::Due { at, .. } = harness.end_of(*ticket) else {
            panic!("read {ticket} cannot have been in time");
        };
        assert!(at >= *deadline, "read {ticket} ended {:?} early", *deadline - at);
    }
    server.thaw();
    for (ticket, _, deadline) in &moments {
        if deadline.is_none() {
            assert_eq!(harness.hit(*ticket).payload, text("value"));
        }
    }
    harness.until(&client, |stats| stats.pending == 0);
    assert_eq!(client.stats().late.hits.count, 66);
    harness.expect_silence();
}

#[test]
fn a_burst_whose_deadline_has_passed_sends_nothing() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    let mut other = server.connection();
    let commands = |other: &mut redis::Connection| {
        let text: String = redis::cmd("INFO").arg("commandstats").query(other).unwrap();
        text.lines()
            .find(|line| line.starts_with("cmdstat_get:"))
            .map(str::to_owned)
    };
    let before = commands(&mut other);
    for ticket in 0..50 {
        client.read(ticket, read("hit", Some(Duration::ZERO))).unwrap();
    }
    for ticket in 0..50 {
        assert!(matches!(harness.end_of(ticket), Event::Due { .. }));
    }
    assert_eq!(client.stats().pending, 0);
    assert_eq!(commands(&mut other), before);
}

#[test]
fn a_connection_cut_within_a_burst_ends_every_read_once() {
    let script = Script::start(|peer| {
        peer.greet()?;
        for _ in 0..3 {
            peer.command()?;
            peer.send(b"$-1\r\n")?;
        }
        peer.command()?;
        peer.send(b"$20\r\nhalf")
    });
    let (mut harness, client) = Harness::connected(&script.url());
    for ticket in 0..100 {
        client.read(ticket, read("key", Some(SOON))).unwrap();
    }
    for ticket in 0..100 {
        let ended = harness.end_of(ticket);
        assert!(
            matches!(
                &ended,
                Event::Read {
                    outcome: ReadOutcome::Miss | ReadOutcome::Failed(_),
                    ..
                } | Event::Due { .. }
            ),
            "{ended:?}"
        );
    }
    harness.until(&client, |stats| stats.pending == 0);
}

#[test]
fn a_burst_to_a_cluster_that_moves_its_slots_finds_every_value() {
    let cluster = Cluster::start();
    let (mut harness, client) = Harness::connected_with(cluster.options());
    let ids: Vec<_> = (0..60).map(|n| format!("id{n}")).collect();
    for (ticket, id) in (0..).zip(&ids) {
        client.write(ticket, tracked_write(id, "get", text(id))).unwrap();
        assert!(harness.written(ticket).unwrap(), "{id}");
    }
    // Some are elsewhere than the client thinks, and some are on their way.
    for (n, id) in ids.iter().enumerate() {
        let key = format!("{{{id}}}#get");
        let from = cluster.owner(&key, 0).unwrap();
        let to = (from + 1) % 3;
        match n % 20 {
            1 => {
                cluster.move_slot(&key, from, to);
                // A node that still has it otherwise may talk the new owner out of it.
                until(|| (0..3).all(|node| cluster.owner(&key, node) == Some(to)));
            }
            2 => {
                cluster.begin_move(&key, from, to);
                cluster.move_key(&key, from, to);
            }
            3 => {
                cluster.begin_move(&key, from, to);
                cluster.move_key(&key, from, to);
                cluster.move_key(&format!("{{{id}}}#watermark"), from, to);
            }
            _ => {}
        }
    }
    for (ticket, id) in (1_000..).zip(ids.iter().cycle()).take(600) {
        client.read(ticket, tracked(id, "get", Some(PATIENCE))).unwrap();
    }
    for (ticket, id) in (1_000..).zip(ids.iter().cycle()).take(600) {
        assert_eq!(harness.hit(ticket).payload, text(id), "{id}");
    }
    harness.expect_silence();
    assert_eq!(client.stats().pending, 0);
}

#[test]
fn no_read_sees_what_was_written_after_it_in_its_turn() {
    let server = Server::start();
    let (mut harness, client) = Harness::connected(&server.url());
    let mut ticket = 0;
    for round in 0..200 {
        let key = |n: u64| format!("key {round} {n}");
        for n in 0..8 {
            client.read(ticket + n, read(&key(n), None)).unwrap();
            // Of that key, of an earlier one, and of one that nobody reads.
            client.write(ticket + 100 + n, write(&key(n), text("own"))).unwrap();
            client
                .write(ticket + 200 + n, write(&key(n / 2), text("earlier")))
                .unwrap();
            client.write(ticket + 300 + n, write("other", text("other"))).unwrap();
        }
        for n in 0..8 {
            let outcome = harness.outcome(ticket + n);
            assert!(
                matches!(outcome, ReadOutcome::Miss),
                "read {n} of round {round}: {outcome:?}"
            );
            for write in [100, 200, 300] {
                assert!(harness.written(ticket + write + n).unwrap());
            }
        }
        // And one after it does.
        client.write(ticket + 400, write(&key(0), text("last"))).unwrap();
        client.read(ticket + 401, read(&key(0), None)).unwrap();
        assert_eq!(harness.hit(ticket + 401).payload, text("last"));
        harness.written(ticket + 400).unwrap();
        ticket += 1_000;
    }
}
